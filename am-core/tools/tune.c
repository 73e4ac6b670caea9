/*
 * am_tune: measures what libam's messages cost on this machine, for each
 * distance of cores, and writes the profile that libam begins with; or checks
 * the choice of protocols.
 */
#include "config.h"

#include "tools/tune.h"

#include "dev/shm/shm_near.h"
#include "tools/perf.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    EXIT_USAGE = 2
};

static const char usage[] =
        "usage: am_tune [-o FILE] [--check] [--help]\n"
        "  measures, for each distance of cores that this machine has, what\n"
        "  short packets and copies cost, and writes the profile that libam\n"
        "  begins with (AM_PROFILE); takes about a second for each distance.\n"
        "  Let nothing else run meanwhile.\n"
        "  -o, --output FILE  the profile; without it the user's own, which\n"
        "                     libam finds by itself; - prints it only\n"
        "      --check        writes nothing: runs each protocol beside the\n"
        "                     choice, there and back, one way and both ways, and\n"
        "                     says where the choice loses; takes some ten seconds\n"
        "  -h, --help         this\n";

struct tune_options {
    const char *output;
    bool check;
};

/* ------------------------------------------------------------- distances */

struct tune_cores {
    bool given;
    uint16_t core[2];
};

/* For each distance two cores that this process may use, the first of them the
 * first of all. */
static void cores_find(struct tune_cores found[AM_DISTANCE_COUNT])
{
    struct perf_cores cores;
    struct shm_near near;

    perf_cores_allowed(&cores);
    for (uint32_t i = 1; i < cores.count; i++) {
        uint64_t mine[SHM_CPU_WORDS] = {0}, theirs[SHM_CPU_WORDS] = {0};
        uint16_t a = cores.core[0], b = cores.core[i];
        struct tune_cores *pair;

        mine[a / 64 % SHM_CPU_WORDS] = UINT64_C(1) << a % 64;
        theirs[b / 64 % SHM_CPU_WORDS] = UINT64_C(1) << b % 64;
        shm_near_read("/sys", a, &near);
        pair = &found[shm_near_distance(&near, mine, theirs)];
        if (!pair->given) {
            *pair = (struct tune_cores){true, {a, b}};
        }
    }
}

/* ------------------------------------------------------------ the profile */

static void row_print(am_distance_t distance, const struct am_profile_row *row)
{
    printf("distance %s, cores %s: packets %" PRIu64 " ns (send %" PRIu64
           ", receive %" PRIu64 ")\n",
           am_distance_name(distance), row->cores,
           (row->send_ps + row->recv_ps + row->wire_ps) / 1000,
           row->send_ps / 1000, row->recv_ps / 1000);
    for (int ways = 0; ways < AM_WAYS_COUNT; ways++) {
        const uint64_t *fs = row->byte_fs[ways];

        printf("  %s: copy in %" PRIu64 " ps/B, copy out %" PRIu64
               ", single copy %" PRIu64 "\n",
               ways == AM_WAYS_ONE ? "one way" : "both ways",
               fs[AM_COPY_IN] / 1000, fs[AM_COPY_OUT] / 1000,
               fs[AM_COPY_SINGLE] / 1000);
    }
    fflush(stdout);
}

static void profile_begin(struct am_profile *profile)
{
    time_t now = time(NULL);
    struct tm tm;

    memset(profile, 0, sizeof(*profile));
    strftime(profile->measured, sizeof(profile->measured),
             "%Y-%m-%d %H:%M:%S UTC", gmtime_r(&now, &tm));
    if (gethostname(profile->host, sizeof(profile->host)) != 0) {
        profile->host[0] = '\0';
    }
    profile->host[sizeof(profile->host) - 1] = '\0';
    am_profile_machine(profile->processor, sizeof(profile->processor),
                       &profile->cpus);
}

/* The folders above a file that do not exist. */
static void folders_make(const char *path)
{
    char part[512];

    snprintf(part, sizeof(part), "%s", path);
    for (char *at = strchr(part + 1, '/'); at != NULL;
         at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(part, 0777);
        *at = '/';
    }
}

static int profile_save(const char *output, const struct am_profile *profile)
{
    char own[512];

    if (output == NULL) {
        if (!am_profile_path(own, sizeof(own))) {
            fputs("am_tune: HOME says no folder for the profile; use -o\n",
                  stderr);
            return -1;
        }
        folders_make(own);
        output = own;
    } else if (strcmp(output, "-") == 0) {
        output = "/dev/stdout";
    }
    if (!am_profile_write(output, profile)) {
        fprintf(stderr, "am_tune: cannot write %s: %s\n", output,
                strerror(errno));
        return -1;
    }
    if (strcmp(output, "/dev/stdout") != 0) {
        printf("the profile is %s\n", output);
    }
    return 0;
}

/* ------------------------------------------------------------------- main */

/* Both processes of a pair do what is asked; only this one comes back. */
static int pair_run(const struct tune_options *options,
                    const struct tune_cores *cores, struct am_profile_row *row)
{
    struct tune_pair pair;

    if (tune_pair_open(&pair, cores->core) != 0) {
        return -1;
    }
    return tune_pair_close(&pair, options->check ? tune_check(&pair, NULL)
                                                 : tune_measure(&pair, row));
}

static int run(const struct tune_options *options)
{
    struct tune_cores cores[AM_DISTANCE_COUNT] = {{0}};
    struct am_profile profile;
    uint32_t count = 0;

    cores_find(cores);
    profile_begin(&profile);
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        struct am_profile_row *row = &profile.shm[i];
        bool quiet =
                options->output != NULL && strcmp(options->output, "-") == 0;

        if (!cores[i].given) {
            continue;
        }
        count++;
        snprintf(row->cores, sizeof(row->cores), "%u,%u", cores[i].core[0],
                 cores[i].core[1]);
        if (options->check) {
            printf("# distance %s, cores %s\n",
                   am_distance_name((am_distance_t)i), row->cores);
        }
        if (pair_run(options, &cores[i], row) != 0) {
            return EXIT_FAILURE;
        }
        if (!options->check && !quiet) {
            row_print((am_distance_t)i, row);
        }
    }
    if (count == 0) {
        fputs("am_tune: this process may use one core only, and two are "
              "compared\n",
              stderr);
        return EXIT_FAILURE;
    }
    return options->check || profile_save(options->output, &profile) == 0
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    static const struct option longs[] = {
            {"output", required_argument, NULL, 'o'},
            {"check", no_argument, NULL, 'c'},
            {"help", no_argument, NULL, 'h'},
            {NULL, 0, NULL, 0}};
    struct tune_options options = {0};
    char error[512];
    int c;

    while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
        if (c == 'h') {
            fputs(usage, stdout);
            return EXIT_SUCCESS;
        }
        if (c == '?') { /* getopt has said what */
            return EXIT_USAGE;
        }
        options.check |= c == 'c';
        options.output = c == 'o' ? optarg : options.output;
    }
    if (optind < argc || (options.check && options.output != NULL)) {
        fprintf(stderr, "am_tune: %s; see am_tune --help\n",
                optind < argc ? "unexpected argument"
                              : "--check writes no profile");
        return EXIT_USAGE;
    }
    if (am_variables_check(error, sizeof(error)) != AM_OK) {
        fprintf(stderr, "am_tune: %s\n", error);
        return EXIT_FAILURE;
    }
    return run(&options);
}
