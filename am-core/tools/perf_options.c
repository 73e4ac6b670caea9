/*
 * am_perf's command line.
 */
#include "config.h"

#include "tools/perf.h"

#include "base/config.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIM_BYTES_MAX ((size_t)64 * 1024)

enum {
    OPT_HOSTS = 256,
    OPT_OP,
    OPT_SIZES,
    OPT_ITERATIONS,
    OPT_WARMUP,
    OPT_WINDOW,
    OPT_DEPTH,
    OPT_PIN,
    OPT_NO_VALIDATE,
    OPT_NO_PROGRESS,
    OPT_PROGRESS,
    OPT_JSON,
    OPT_SIM,
    OPT_SET,
    OPT_LIMIT,
    OPT_SEED,
    OPT_PROCESSES,
};

static const struct option longs[] = {
        {"hosts", required_argument, NULL, OPT_HOSTS},
        {"op", required_argument, NULL, OPT_OP},
        {"sizes", required_argument, NULL, OPT_SIZES},
        {"iterations", required_argument, NULL, OPT_ITERATIONS},
        {"warmup", required_argument, NULL, OPT_WARMUP},
        {"window", required_argument, NULL, OPT_WINDOW},
        {"depth", required_argument, NULL, OPT_DEPTH},
        {"pin", required_argument, NULL, OPT_PIN},
        {"no-validate", no_argument, NULL, OPT_NO_VALIDATE},
        {"no-progress", no_argument, NULL, OPT_NO_PROGRESS},
        {"progress", no_argument, NULL, OPT_PROGRESS},
        {"json", no_argument, NULL, OPT_JSON},
#ifdef AM_SIM
        {"sim", required_argument, NULL, OPT_SIM},
        {"set", required_argument, NULL, OPT_SET},
        {"limit", required_argument, NULL, OPT_LIMIT},
        {"seed", required_argument, NULL, OPT_SEED},
        {"processes", no_argument, NULL, OPT_PROCESSES},
#endif
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0}};

static void help_print(void)
{
    puts("usage: am_perf [options] TEST\n"
         "  -n RANKS          start that many ranks with mpiexec (default 2\n"
         "                    when not started by mpiexec itself)\n"
         "      --hosts LIST  on these hosts, the first rank on the first and "
         "so on,\n"
         "                    as mpiexec -hosts takes them\n"
         "      --op OP       how the test communicates, see below\n"
         "      --sizes LIST  message sizes, bytes: 0,8,4k or 1:4m:x1.4 or\n"
         "                    64:1k:+64 (first:last:step, k and m suffixes)\n"
         "      --iterations N, --warmup N\n"
         "                    for each size (default: by size)\n"
         "      --window N    messages in flight in bw and rate (default 64)\n"
         "      --depth N     longest queue of match (default 1k)\n"
         "      --pin LIST    rank i on the i-th core of the list, or auto\n"
         "                    (as many cores as ranks: one each; default), "
         "none\n"
         "      --no-validate do not check payload (never part of a timing)\n"
         "      --progress, --no-progress\n"
         "                    a bar on stderr (default: if it is a terminal)\n"
         "      --json        one JSON object a line\n"
#ifdef AM_SIM
         "      --sim MACHINE on as many simulated nodes, in virtual time "
         "(us;\n"
         "                    JSON has each number's unit): a machine of\n"
         "                    am_sim --list, or a file (default:\n"
         "                    AM_SIM_MACHINE)\n"
         "      --set KEY=VALUE  change a number of that machine\n"
         "      --limit MS    of virtual time, after which a run fails "
         "(100000)\n"
         "      --seed N      of the random numbers of its hosts and failing\n"
         "                    links (0)\n"
         "      --processes   its ranks are processes, as those of MPI are\n"
#endif
         "  -h, --help        this\n"
         "tests:");
    for (const struct perf_test *test = perf_tests; test->name != NULL;
         test++) {
        printf("  %-10s %s\n", test->name, test->help);
        if (test->ops != NULL && strchr(test->ops, '|') != NULL) {
            printf("             --op %s\n", test->ops);
        }
    }
}

/* The operation `name` of the list "a|b|c", or its first for NULL. */
static int choose_op(struct perf_options *options, const char *name)
{
    const char *at = options->test->ops;
    size_t length, name_length;

    if (at == NULL) {
        return name == NULL ? 0 : -1;
    }
    if (name == NULL) {
        name = at; /* up to its first bar */
    }
    name_length = strcspn(name, "|");
    snprintf(options->op, sizeof(options->op), "%.*s", (int)name_length, name);
    for (;; at += length + 1) {
        length = strcspn(at, "|");
        if (length == name_length && memcmp(at, name, length) == 0) {
            return 0;
        }
        if (at[length] == '\0') {
            return -1;
        }
    }
}

static int bad_value(const char *name, const char *text, const char *expected)
{
    fprintf(stderr, "am_perf: --%s \"%.80s\": expected %s\n", name, text,
            expected);
    return -1;
}

/* A number of `min`..`max`, with k and m suffixes. */
static int number(const char *name, const char *text, size_t min, size_t max,
                  uint64_t *value_p)
{
    char expected[80];
    size_t value;

    if (am_config_parse_bytes(text, &value) != AM_OK || value < min ||
        value > max) {
        snprintf(expected, sizeof(expected), "a number of %zu to %zu", min,
                 max);
        return bad_value(name, text, expected);
    }
    *value_p = value;
    return 0;
}

static int number32(const char *name, const char *text, uint32_t max,
                    uint32_t *value_p)
{
    uint64_t value;

    if (number(name, text, 1, max, &value) != 0) {
        return -1;
    }
    *value_p = (uint32_t)value;
    return 0;
}

static int set_add(struct perf_options *options, const char *text)
{
    if (options->set_count == PERF_SETS_MAX) {
        return bad_value("set", text, "no more of them");
    }
    options->sets[options->set_count++] = text;
    return 0;
}

static int seed_take(struct perf_options *options, const char *text)
{
    options->seeded = true;
    /* JSON's numbers have a sign */
    return number("seed", text, 0, INT64_MAX, &options->seed);
}

/* What was given as text and can be judged only when the test is known. */
struct raw {
    const char *op, *sizes;
    bool help;
};

static int unknown_option(const char *word)
{
    if (optopt != 0 && strncmp(word, "--", 2) != 0) {
        fprintf(stderr, "am_perf: unknown option -%c", optopt);
    } else {
        fprintf(stderr, "am_perf: unknown option %s", word);
    }
    fputs("; am_perf --help lists them\n", stderr);
    return -1;
}

static int flag_take(int c, struct perf_options *options)
{
    bool *flag = c == OPT_JSON        ? &options->json
                 : c == OPT_PROCESSES ? &options->processes
                                      : &options->progress;

    *flag = c != OPT_NO_PROGRESS;
    return 0;
}

static int text_take(int c, struct perf_options *options, struct raw *raw)
{
    const char **text = c == OPT_HOSTS   ? &options->hosts
                        : c == OPT_OP    ? &raw->op
                        : c == OPT_SIZES ? &raw->sizes
                        : c == OPT_PIN   ? &options->pin
                                         : &options->machine;

    *text = optarg;
    return 0;
}

static int parse_one(int c, char **argv, struct perf_options *options,
                     struct raw *raw)
{
    switch (c) {
    case 'n':
        return number32("n", optarg, 1u << 20, &options->ranks);
    case OPT_HOSTS:
    case OPT_OP:
    case OPT_SIZES:
    case OPT_PIN:
    case OPT_SIM:
        return text_take(c, options, raw);
    case OPT_ITERATIONS:
        return number("iterations", optarg, 1, SIZE_MAX / 16,
                      &options->iterations);
    case OPT_WARMUP:
        return number("warmup", optarg, 0, SIZE_MAX / 16, &options->warmup);
    case OPT_WINDOW:
        return number32("window", optarg, 1u << 16, &options->window);
    case OPT_DEPTH:
        return number32("depth", optarg, 1u << 20, &options->depth_max);
    case OPT_NO_VALIDATE:
        options->validate = false;
        return 0;
    case OPT_NO_PROGRESS:
    case OPT_PROGRESS:
    case OPT_JSON:
    case OPT_PROCESSES:
        return flag_take(c, options);
    case OPT_SET:
        return set_add(options, optarg);
    case OPT_LIMIT:
        return number("limit", optarg, 1, UINT32_MAX, &options->limit_ms);
    case OPT_SEED:
        return seed_take(options, optarg);
    case 'h':
        raw->help = true;
        return 0;
    case ':':
        fprintf(stderr, "am_perf: %s needs a value; see am_perf --help\n",
                argv[optind - 1]);
        return -1;
    default:
        return unknown_option(argv[optind - 1]);
    }
}

static int finish(struct perf_options *options, const struct raw *raw)
{
    struct perf_cores cores;
    const char *sizes = raw->sizes;
    size_t bytes_max = SIZE_MAX;
    char error[256];

    if (choose_op(options, raw->op) != 0) {
        fprintf(stderr, "am_perf: %s has no --op %s; it has %s\n",
                options->test->name, raw->op,
                options->test->ops != NULL ? options->test->ops : "none");
        return -1;
    }
    if (options->test->sizes == NULL && sizes != NULL) {
        fprintf(stderr, "am_perf: %s has no --sizes\n", options->test->name);
        return -1;
    }
    if (sizes == NULL) {
        sizes = options->test->sizes;
        /* What a simulated machine takes long for must be asked for. */
        bytes_max = options->machine != NULL ? SIM_BYTES_MAX : SIZE_MAX;
    }
    if ((sizes != NULL &&
         perf_sizes_parse(sizes, options->sizes, &options->size_count, error,
                          sizeof(error)) != 0) ||
        perf_cores_of(options->pin, 1, &cores, error, sizeof(error)) != 0) {
        fprintf(stderr, "am_perf: %s\n", error);
        return -1;
    }
    while (options->size_count > 1 &&
           options->sizes[options->size_count - 1] > bytes_max) {
        options->size_count--;
    }
    return 0;
}

/* What is simulated, if anything: --sim, or AM_SIM_MACHINE outside of a job. */
static int machine_choose(struct perf_options *options)
{
    const char *machine = am_config_getenv("AM_SIM_MACHINE");
    const char *alone = options->set_count > 0  ? "set"
                        : options->limit_ms > 0 ? "limit"
                        : options->seeded       ? "seed"
                        : options->processes    ? "processes"
                                                : NULL;

    if (options->machine == NULL && machine != NULL && *machine != '\0' &&
        am_config_getenv("PMI_SIZE") == NULL) {
        options->machine = machine;
    }
#ifndef AM_SIM
    if (options->machine != NULL) {
        fputs("am_perf: AM_SIM_MACHINE is set, but this build has no "
              "simulator\n",
              stderr);
        return -1;
    }
#endif
    if (options->machine != NULL && options->hosts != NULL) {
        fputs("am_perf: a simulated machine has no --hosts\n", stderr);
        return -1;
    }
    if (options->machine == NULL && alone != NULL) {
        fprintf(stderr,
                "am_perf: --%s is for a simulated machine; name one with "
                "--sim\n",
                alone);
        return -1;
    }
    return 0;
}

int perf_options_parse(int argc, char **argv, struct perf_options *options,
                       int *exit_p)
{
    struct raw raw = {0};
    int c;

    *options = (struct perf_options){.warmup = UINT64_MAX,
                                     .window = 64,
                                     .depth_max = 1024,
                                     .pin = "auto",
                                     .validate = true,
                                     .progress = isatty(STDERR_FILENO) == 1};
    *exit_p = PERF_EXIT_USAGE;
    opterr = 0;
    while ((c = getopt_long(argc, argv, ":n:h", longs, NULL)) != -1) {
        if (parse_one(c, argv, options, &raw) != 0) {
            return -1;
        }
    }
    if (raw.help) {
        help_print();
        *exit_p = EXIT_SUCCESS;
        return -1;
    }
    if (machine_choose(options) != 0) {
        return -1;
    }
    if (optind != argc - 1) {
        fprintf(stderr, "am_perf: give one test; am_perf --help lists them\n");
        return -1;
    }
    options->test = perf_test_find(argv[optind]);
    if (options->test == NULL) {
        fprintf(stderr,
                "am_perf: there is no test %s; am_perf --help lists them\n",
                argv[optind]);
        return -1;
    }
    return finish(options, &raw);
}
