/*
 * What a program's own computation takes under am_sim --mpi: AM_SIM_COMPUTE.
 */
#include "tools/sim.h"

#include "base/config.h"

#include <stdlib.h>
#include <string.h>

#define MEASURED     "measured:"
#define MEASURED_MAX 1000000

/* "12.5" as thousandths; 0: it is no such number. */
static uint64_t factor_parse(const char *text)
{
    uint64_t value = 0;
    uint32_t digits = 0, places = 0;
    bool point = false;

    for (; *text != '\0'; text++) {
        if (*text == '.' && !point) {
            point = true;
        } else if (*text >= '0' && *text <= '9' && digits < 9 && places < 3) {
            value = 10 * value + (uint64_t)(*text - '0');
            digits++;
            places += point;
        } else {
            return 0;
        }
    }
    for (; places < 3; places++) {
        value *= 10;
    }
    return value <= UINT64_C(1000) * MEASURED_MAX ? value : 0;
}

int sim_compute_choose(struct sim_options *options,
                       const struct ns_machine *machine)
{
    const char *choice = am_config_getenv("AM_SIM_COMPUTE");
    char text[512];

    options->compute = choice == NULL || *choice == '\0' ? "none" : choice;
    if (strcmp(options->compute, "none") == 0) {
        return 0;
    }
    if (strcmp(options->compute, "declared") == 0) {
        options->params.operation_ps = machine->host.operation_ps;
        if (options->params.operation_ps != 0) {
            return 0;
        }
        snprintf(text, sizeof(text),
                 "AM_SIM_COMPUTE=declared needs the time of an operation, of "
                 "which %s has no source: give it by --set "
                 "'host.operation=20 ns'",
                 machine->name);
        return sim_fail(text);
    }
    if (strncmp(options->compute, MEASURED, strlen(MEASURED)) == 0) {
        options->params.measured =
                factor_parse(options->compute + strlen(MEASURED));
        if (options->params.measured != 0) {
            return 0;
        }
    }
    snprintf(text, sizeof(text),
             "AM_SIM_COMPUTE=%s: it must be none, declared, or measured:F with "
             "a factor F of 0.001 to %d",
             options->compute, MEASURED_MAX);
    (void)sim_fail(text);
    return EXIT_USAGE;
}

const char *sim_compute_note(const struct sim_options *options)
{
    return options->params.measured != 0 ? ", not the same in each run" : "";
}
