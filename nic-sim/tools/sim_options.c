/*
 * am_sim's command line: its options, the machine, the scenario's arguments.
 * What does not go together is sim_options_check.c.
 */
#include "tools/sim.h"

#include "base/config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_SET = 256,
    OPTION_CHECK,
    OPTION_FIGURE,
    OPTION_TRACE,
    OPTION_PREDICT,
    OPTION_EXPLAIN,
    OPTION_PRINT,
    OPTION_SPEED,
    OPTION_ALLTOALL,
    OPTION_SENSITIVITY,
    OPTION_GROWTH,
    OPTION_LIST,
    OPTION_JSON,
    OPTION_SEED,
    OPTION_NO_SLEEP,
    OPTION_SPIN,
    OPTION_THREADS,
    OPTION_PROCESSES,
    OPTION_NO_PROGRESS,
    OPTION_RUN,
    OPTION_MPI,
    OPTION_PATIENCE,
    OPTION_ONLY,
    OPTION_REPRODUCE,
    OPTION_CLASS,
    OPTION_PLOT,
    OPTION_LIMIT,
    OPTION_HELP
};

#define LIMIT_PS  (100 * NS_PS_PER_SECOND)
#define PS_PER_MS (NS_PS_PER_SECOND / 1000)

static const struct option long_options[] = {
        {"set", required_argument, NULL, OPTION_SET},
        {"check", required_argument, NULL, OPTION_CHECK},
        {"figure", required_argument, NULL, OPTION_FIGURE},
        {"trace", required_argument, NULL, OPTION_TRACE},
        {"predict", no_argument, NULL, OPTION_PREDICT},
        {"sensitivity", no_argument, NULL, OPTION_SENSITIVITY},
        {"only", required_argument, NULL, OPTION_ONLY},
        {"reproduce", required_argument, NULL, OPTION_REPRODUCE},
        {"class", required_argument, NULL, OPTION_CLASS},
        {"plot", required_argument, NULL, OPTION_PLOT},
        {"explain", no_argument, NULL, OPTION_EXPLAIN},
        {"print", no_argument, NULL, OPTION_PRINT},
        {"speed", no_argument, NULL, OPTION_SPEED},
        {"growth", no_argument, NULL, OPTION_GROWTH},
        {"nodes", required_argument, NULL, 'n'},
        {"alltoall", no_argument, NULL, OPTION_ALLTOALL},
        {"run", required_argument, NULL, OPTION_RUN},
        {"mpi", no_argument, NULL, OPTION_MPI},
        {"patience", required_argument, NULL, OPTION_PATIENCE},
        {"limit", required_argument, NULL, OPTION_LIMIT},
        {"list", no_argument, NULL, OPTION_LIST},
        {"json", no_argument, NULL, OPTION_JSON},
        {"seed", required_argument, NULL, OPTION_SEED},
        {"no-sleep", no_argument, NULL, OPTION_NO_SLEEP},
        {"spin", no_argument, NULL, OPTION_SPIN},
        {"threads", no_argument, NULL, OPTION_THREADS},
        {"processes", no_argument, NULL, OPTION_PROCESSES},
        {"no-progress", no_argument, NULL, OPTION_NO_PROGRESS},
        {"help", no_argument, NULL, OPTION_HELP},
        {NULL, 0, NULL, 0},
};

static bool option_flag(struct sim_options *options, int option)
{
    bool *flags[] = {
            [OPTION_PREDICT - OPTION_PREDICT] = &options->predict,
            [OPTION_EXPLAIN - OPTION_PREDICT] = &options->explain,
            [OPTION_PRINT - OPTION_PREDICT] = &options->print,
            [OPTION_SPEED - OPTION_PREDICT] = &options->speed,
            [OPTION_ALLTOALL - OPTION_PREDICT] = &options->alltoall,
            [OPTION_SENSITIVITY - OPTION_PREDICT] = &options->sensitivity,
            [OPTION_GROWTH - OPTION_PREDICT] = &options->growth,
            [OPTION_LIST - OPTION_PREDICT] = &options->list,
            [OPTION_JSON - OPTION_PREDICT] = &options->json,
            [OPTION_SEED - OPTION_PREDICT] = NULL,
            [OPTION_NO_SLEEP - OPTION_PREDICT] = &options->params.no_sleep,
            [OPTION_SPIN - OPTION_PREDICT] = &options->params.no_jump,
            [OPTION_THREADS - OPTION_PREDICT] = &options->params.threads,
            [OPTION_PROCESSES - OPTION_PREDICT] = &options->params.processes,
    };

    if (option < OPTION_PREDICT || option > OPTION_PROCESSES ||
        flags[option - OPTION_PREDICT] == NULL) {
        return false;
    }
    *flags[option - OPTION_PREDICT] = true;
    return true;
}

static bool option_text(struct sim_options *options, int option)
{
    const struct {
        int option;
        const char **text;
    } texts[] = {
            {OPTION_CHECK, &options->check},
            {OPTION_FIGURE, &options->figure},
            {OPTION_TRACE, &options->trace},
            {OPTION_ONLY, &options->only},
            {OPTION_RUN, &options->run},
            {OPTION_REPRODUCE, &options->reproduce},
            {OPTION_PLOT, &options->plot},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].option == option) {
            *texts[i].text = optarg;
            return true;
        }
    }
    return false;
}

/* The number that the option has, `min` to `max`.  0, or the exit status. */
static int number_take(const char *name, uint64_t min, uint64_t max,
                       uint64_t *value_p)
{
    char *end;

    errno = 0;
    *value_p = strtoull(optarg, &end, 10);
    if (*optarg < '0' || *optarg > '9' || *end != '\0' || errno != 0 ||
        *value_p < min || *value_p > max) {
        fprintf(stderr,
                "am_sim: --%s %s: it must be a number of %" PRIu64
                " to %" PRIu64 "\n",
                name, optarg, min, max);
        return EXIT_USAGE;
    }
    return 0;
}

/* 0, or the exit status after saying what is wrong. */
static int option_take(struct sim_options *options, int option)
{
    uint64_t number;
    int status;

    switch (option) {
    case OPTION_SET:
        if (options->set_count == SIM_SETS_MAX) {
            return sim_fail("too many --set");
        }
        options->sets[options->set_count++] = optarg;
        return 0;
    case OPTION_SEED:
        /* JSON's numbers have a sign */
        return number_take("seed", 0, INT64_MAX, &options->params.seed);
    case OPTION_LIMIT:
        status = number_take("limit", 1, UINT32_MAX, &number);
        options->limit_ms = number;
        options->params.limit_ps = number * PS_PER_MS;
        return status;
    case OPTION_MPI:
        options->mpi = options->params.processes = true;
        return 0;
    case OPTION_PATIENCE:
        return number_take("patience", 1, UINT32_MAX,
                           &options->params.patience_seconds);
    case 'n':
        status = number_take("nodes", 2, UINT32_MAX, &number);
        options->nodes = (uint32_t)number;
        return status;
    case OPTION_CLASS:
        if (strlen(optarg) != 1 || strchr("SWAB", *optarg) == NULL) {
            fprintf(stderr, "am_sim: --class %s: it must be S, W, A or B\n",
                    optarg);
            return EXIT_USAGE;
        }
        options->klass = *optarg;
        return 0;
    case OPTION_NO_PROGRESS:
        options->params.tick = NULL;
        options->progress = false;
        return 0;
    default:
        return option_flag(options, option) || option_text(options, option)
                       ? 0
                       : EXIT_USAGE;
    }
}

/* --reproduce of jobs: what follows "--" is their launcher and so on.  How many
 * words are left. */
static int job_words_take(struct sim_options *options, int count, int after,
                          char **words)
{
    if (options->reproduce == NULL ||
        !sim_reproduce_is_job(options->reproduce)) {
        return count;
    }
    options->run_argv = words + after;
    options->run_argc = count - after;
    return after;
}

/*
 * `words` are what is no option, those after "--" from `after` on.  The machine
 * is the first; with --run what follows it are the scenario's arguments, and so
 * is what follows "--" where AM_SIM_MACHINE names the machine.
 */
static int words_take(struct sim_options *options, int count, int after,
                      char **words)
{
    const char *variable = am_config_getenv("AM_SIM_MACHINE");
    bool named = variable != NULL && *variable != '\0';
    int arguments = 0; /* from here on */

    count = job_words_take(options, count, after, words);
    if (count == 0 ||
        ((options->run != NULL || options->mpi) && after == 0 && named)) {
        options->machine = named ? variable : NULL;
    } else if (count == 1 || options->run != NULL || options->mpi) {
        options->machine = words[0];
        arguments = 1;
    }
    if (options->run != NULL) {
        /* The path takes the place before the arguments: the machine's, or
         * that of the program's name or an option. */
        options->run_argv = words + arguments - 1;
        options->run_argv[0] = (char *)(uintptr_t)options->run;
        options->run_argc = 1 + count - arguments;
    } else if (options->mpi) {
        options->run_argv = words + arguments;
        options->run_argv[count - arguments] = NULL;
        options->run_argc = count - arguments;
    }
    if (options->reproduce != NULL && count > 0 &&
        strcmp(options->reproduce, "collectives") == 0) {
        return sim_fail("--reproduce collectives runs on several machines; "
                        "leave the machine out");
    }
    if (options->reproduce != NULL && count == 0) {
        options->machine = sim_reproduce_machine(options->reproduce);
        options->every_machine = true;
    }
    if (options->reproduce != NULL &&
        sim_reproduce_machine(options->reproduce) == NULL) {
        return sim_fail("--reproduce has sp-mpi, sp-nas, lci-mpi, bgp-mpi, "
                        "buffering, and collectives, which is: sp-alltoall, "
                        "lci-bcast, bgp-allreduce, patterns, scaling, "
                        "overlap");
    }
    if (!options->list &&
        (options->machine == NULL || *options->machine == '\0')) {
        fputs("am_sim: give one machine, or set AM_SIM_MACHINE; am_sim --help "
              "tells more\n",
              stderr);
        return EXIT_USAGE;
    }
    return 0;
}

int sim_options_parse(int argc, char **argv, struct sim_options *options)
{
    int option, count = 0, after, status;

    *options = (struct sim_options){.progress = isatty(STDERR_FILENO) == 1};
    options->params.tick = options->progress ? sim_bar_tick : NULL;
    options->params.limit_ps = LIMIT_PS;
    /* "-": words come in turn, as option 1, so that it is known which of them
     * were before "--".  They are gathered from argv[1] on. */
    while ((option = getopt_long(argc, argv, "-n:", long_options, NULL)) !=
           -1) {
        if (option == OPTION_HELP) {
            fputs(sim_help, stdout);
            exit(EXIT_SUCCESS);
        }
        if (option == 1) {
            argv[++count] = optarg;
            continue;
        }
        status = option_take(options, option);
        if (status != 0) {
            return status;
        }
    }
    after = count;
    while (optind < argc) {
        argv[++count] = argv[optind++];
    }
    status = sim_options_modes(options);
    if (status == 0) {
        status = words_take(options, count, after, argv + 1);
    }
    return status != 0 ? status : sim_options_ways(options);
}
