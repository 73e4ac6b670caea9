/*
 * Starting am_perf's ranks: this process becomes mpiexec.  What all ranks would
 * refuse it refuses before, once.
 */
#include "config.h"

#include "tools/perf.h"

#include "am/ctx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ARGUMENTS_MAX = 256
};

/* Hydra under the name that Debian gives it beside other MPIs, then plain. */
static const char *const launchers[] = {"mpiexec.hydra", "mpiexec"};

/* Copy the arguments after the program's name, but for -n and its number. */
static int copy_arguments(char **from, char **to, int count)
{
    for (from++; *from != NULL; from++) {
        if (strcmp(*from, "-n") == 0 && from[1] != NULL) {
            from++;
            continue;
        }
        if (strncmp(*from, "-n", 2) == 0 && from[0][2] >= '0' &&
            from[0][2] <= '9') {
            continue;
        }
        if (count == ARGUMENTS_MAX - 1) {
            break;
        }
        to[count++] = *from;
    }
    return count;
}

void perf_launch(char **argv, uint32_t ranks,
                 const struct perf_options *options)
{
    char number[16], self[4096], error[512] = "";
    char *arguments[ARGUMENTS_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    int count = 1; /* the launcher's name comes first */

    if (am_variables_check(error, sizeof(error)) != AM_OK) {
        fprintf(stderr, "am_perf: %s\n", error);
        return;
    }
    if (length <= 0) {
        fprintf(stderr, "am_perf: cannot find its own executable: %s\n",
                strerror(errno));
        return;
    }
    self[length] = '\0';
    snprintf(number, sizeof(number), "%u", ranks);
    if (options->hosts != NULL) {
        arguments[count++] = "-hosts";
        arguments[count++] = (char *)(uintptr_t)options->hosts;
    }
    arguments[count++] = "-n";
    arguments[count++] = number;
    arguments[count++] = self;
    arguments[count++] = options->progress ? "--progress" : "--no-progress";
    count = copy_arguments(argv, arguments, count);
    arguments[count] = NULL;
    for (size_t i = 0; i < sizeof(launchers) / sizeof(launchers[0]); i++) {
        arguments[0] = (char *)(uintptr_t)launchers[i];
        execvp(launchers[i], arguments);
    }
    fprintf(stderr,
            "am_perf: cannot start mpiexec.hydra or mpiexec (Debian package "
            "mpich): %s\n",
            strerror(errno));
}
