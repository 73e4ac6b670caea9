/*
 * am_tune: measures what libam's messages cost on this machine, for each
 * distance of cores, and writes the profile that libam begins with; or checks
 * the choice of protocols.
 */
#include "config.h"

#include "tools/tune.h"

#include "base/config.h"
#include "base/file.h"
#include "base/text.h"
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
        "usage: am_tune [-o FILE] [--check [--sizes LIST] [--rounds N]] "
        "[--help]\n"
        "  am_tune measures, for each distance of cores that this machine "
        "has,\n"
        "  what short packets and copies cost, and by which long messages go\n"
        "  faster, a stream of packets or a single copy, and writes the "
        "profile\n"
        "  that libam begins with (AM_PROFILE). It takes some seconds for "
        "each\n"
        "  distance.\n"
        "  Let nothing else run meanwhile.\n"
        "  -o, --output FILE  the profile; without it the user's own, which\n"
        "                     libam finds by itself; - prints it only\n"
        "      --check        writes nothing: runs each protocol beside the\n"
        "                     choice, there and back, one way and both ways,\n"
        "                     in rings that are warm and in new ones, on two\n"
        "                     cores and on one, and says where the choice\n"
        "                     loses; takes some minutes\n"
        "      --sizes LIST   what --check compares, in bytes, as 8,4k or\n"
        "                     1:4m:x4, at most 64m; else 1 to 4m, each twice\n"
        "                     the last\n"
        "      --rounds N     in each of which --check measures the choice\n"
        "                     and the others; 15, at most 64\n"
        "  -h, --help         this\n";

struct tune_options {
    const char *output;
    bool check;
    struct tune_plan plan; /* of the check */
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
    for (int flow = 0; row->compared && flow < AM_FLOW_COUNT; flow++) {
        char text[512] = "";
        struct am_text out = {.text = text, .bytes = sizeof(text)};

        am_faster_text(&out, &row->faster, (am_flow_t)flow);
        printf("  %s, faster is: %s\n", am_flow_text((am_flow_t)flow), text);
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
    return tune_pair_close(&pair, options->check
                                          ? tune_check(&pair, &options->plan)
                                          : tune_measure(&pair, row));
}

static int check(const struct tune_options *options, const char *distance,
                 const struct tune_cores *cores)
{
    printf("# %s, cores %u,%u\n", distance, cores->core[0], cores->core[1]);
    return pair_run(options, cores, NULL);
}

/* At each distance, then where both ends share a core: the first that this process
 * may use. */
static int check_all(const struct tune_options *options,
                     const struct tune_cores cores[AM_DISTANCE_COUNT])
{
    struct tune_cores one = {true, {0, 0}};
    struct perf_cores allowed;

    perf_cores_allowed(&allowed);
    one.core[0] = one.core[1] = allowed.core[0];

    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        char text[32];

        if (!cores[i].given) {
            continue;
        }
        snprintf(text, sizeof(text), "distance %s",
                 am_distance_name((am_distance_t)i));
        if (check(options, text, &cores[i]) != 0) {
            return -1;
        }
    }
    return check(options, "one core", &one);
}

static int measure_all(const struct tune_options *options,
                       const struct tune_cores cores[AM_DISTANCE_COUNT])
{
    bool quiet = options->output != NULL && strcmp(options->output, "-") == 0;
    struct am_profile profile;

    profile_begin(&profile);
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        struct am_profile_row *row = &profile.shm[i];

        if (!cores[i].given) {
            continue;
        }
        snprintf(row->cores, sizeof(row->cores), "%u,%u", cores[i].core[0],
                 cores[i].core[1]);
        if (pair_run(options, &cores[i], row) != 0) {
            return -1;
        }
        if (!quiet) {
            row_print((am_distance_t)i, row);
        }
    }
    return profile_save(options->output, &profile);
}

static int run(const struct tune_options *options)
{
    struct tune_cores cores[AM_DISTANCE_COUNT] = {{0}};
    struct perf_cores allowed;
    bool any = false;

    perf_cores_allowed(&allowed);
    if (allowed.count == 0) {
        fputs("am_tune: cannot see on which cores this process may run\n",
              stderr);
        return EXIT_FAILURE;
    }
    cores_find(cores);
    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        any = any || cores[i].given;
    }
    if (!any && !options->check) {
        fputs("am_tune: this process may use one core only, and the profile is "
              "of two\n",
              stderr);
        return EXIT_FAILURE;
    }
    return (options->check ? check_all(options, cores)
                           : measure_all(options, cores)) == 0
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
}

/* What --check is to compare, in how many rounds; NULL: not given.  False: *error says
 * what cannot be. */
static bool plan_parse(struct tune_plan *plan, const char *sizes,
                       const char *rounds, char *error, size_t error_bytes)
{
    size_t round_count = TUNE_ROUNDS;

    if (perf_sizes_parse(sizes == NULL ? "1:4m" : sizes, plan->sizes,
                         &plan->size_count, error, error_bytes) != 0) {
        return false;
    }
    for (uint32_t i = 0; i < plan->size_count; i++) {
        if (plan->sizes[i] > TUNE_BYTES_MOST) {
            snprintf(error, error_bytes,
                     "--sizes has %zu bytes; accepted: up to 64m (%zu)",
                     plan->sizes[i], TUNE_BYTES_MOST);
            return false;
        }
    }
    if (rounds != NULL &&
        (am_config_parse_bytes(rounds, &round_count) != AM_OK ||
         round_count < 1 || round_count > TUNE_ROUNDS_MOST)) {
        snprintf(error, error_bytes, "--rounds is a number from 1 to %d",
                 TUNE_ROUNDS_MOST);
        return false;
    }
    plan->rounds = (int)round_count;
    return true;
}

/* 0, or what the process ends with, after a sentence; *done_p: all is done. */
static int options_parse(int argc, char **argv, struct tune_options *options,
                         bool *done_p)
{
    static const struct option longs[] = {
            {"output", required_argument, NULL, 'o'},
            {"check", no_argument, NULL, 'c'},
            {"sizes", required_argument, NULL, 's'},
            {"rounds", required_argument, NULL, 'r'},
            {"help", no_argument, NULL, 'h'},
            {NULL, 0, NULL, 0}};
    const char *sizes = NULL, *rounds = NULL, *wrong = NULL;
    char error[512];
    int c;

    while ((c = getopt_long(argc, argv, "o:h", longs, NULL)) != -1) {
        if (c == 'h') {
            fputs(usage, stdout);
            *done_p = true;
            return 0;
        }
        if (c == '?') { /* getopt has said what */
            return EXIT_USAGE;
        }
        options->check |= c == 'c';
        options->output = c == 'o' ? optarg : options->output;
        sizes = c == 's' ? optarg : sizes;
        rounds = c == 'r' ? optarg : rounds;
    }
    if (optind < argc) {
        wrong = "unexpected argument";
    } else if (options->check && options->output != NULL) {
        wrong = "--check writes no profile";
    } else if ((sizes != NULL || rounds != NULL) && !options->check) {
        wrong = "--sizes and --rounds are for --check";
    } else if (!plan_parse(&options->plan, sizes, rounds, error,
                           sizeof(error))) {
        wrong = error;
    }
    if (wrong != NULL) {
        fprintf(stderr, "am_tune: %s; see am_tune --help\n", wrong);
        return EXIT_USAGE;
    }
    return 0;
}

/* What was found is where it belongs, or it is said that it is not. */
static int printed(int result)
{
    int error = am_file_flush(stdout);

    if (error == 0) {
        return result;
    }
    fprintf(stderr, "am_tune: cannot write what was found: %s\n",
            strerror(error));
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct tune_options options = {0};
    bool done = false;
    char error[512];
    int result = options_parse(argc, argv, &options, &done);

    if (done || result != 0) {
        return result;
    }
    if (am_variables_check(error, sizeof(error)) != AM_OK) {
        fprintf(stderr, "am_tune: %s\n", error);
        return EXIT_FAILURE;
    }
    return printed(run(&options));
}
