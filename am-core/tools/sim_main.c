/*
 * am_sim: libam on a simulated machine, in virtual time.  Runs the figures of
 * the machine's paper, compares them with their targets, prints what the
 * machine predicts, and tells where a message's time goes.
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
    EXIT_USAGE = 2,
    OPTION_SET = 256,
    OPTION_CHECK,
    OPTION_FIGURE,
    OPTION_TRACE,
    OPTION_PREDICT,
    OPTION_EXPLAIN,
    OPTION_PRINT,
    OPTION_SPEED,
    OPTION_GROWTH,
    OPTION_LIST,
    OPTION_JSON,
    OPTION_SEED,
    OPTION_NO_SLEEP,
    OPTION_SPIN,
    OPTION_THREADS,
    OPTION_NO_PROGRESS,
    OPTION_NODES,
    OPTION_ALLTOALL,
    OPTION_RUN,
    OPTION_LIMIT,
    OPTION_HELP
};

#define LIMIT_PS  (100 * NS_PS_PER_SECOND)
#define PS_PER_MS (NS_PS_PER_SECOND / 1000)

static const char help[] =
        "usage: am_sim [options] MACHINE [-- ARGUMENTS]\n"
        "\n"
        "Runs libam on a simulated machine: a built-in one (--list) or a "
        "file; without one, AM_SIM_MACHINE.\n"
        "  --figure NAME    run this figure only\n"
        "  --check FILE     compare with the targets of FILE; fails on a miss\n"
        "  --predict        what the machine predicts: half-power points, "
        "curves\n"
        "  --explain        where a message's time goes, stage by stage\n"
        "  --run FILE       the scenario of this shared object on -n nodes;\n"
        "                   see am_sim.h.  It gets the ARGUMENTS\n"
        "  --limit MS       of virtual time, after which a run fails "
        "(100000)\n"
        "  --trace FILE     with --explain and --run: the timeline, for the\n"
        "                   Perfetto viewer\n"
        "  --set KEY=VALUE  change a number of the machine (\"host.pio=2 "
        "us\")\n"
        "  --speed          how fast the simulator is here: events a second\n"
        "  --growth         its time and memory as nodes and traffic grow\n"
        "  --alltoall       a packet from each node to each, on Blue Gene/P\n"
        "  -n, --nodes N    of --run (default: 2) and --alltoall (64); of\n"
        "                   --speed and --growth, at most (16)\n"
        "  --print          the machine's numbers and their sources\n"
        "  --list           the built-in machines and the figures\n"
        "  --json           one JSON object a line\n"
        "  --seed N         of the hosts' random numbers\n"
        "  --no-progress    no bar\n"
        "  --no-sleep, --spin, --threads   run it in another way: clocks that\n"
        "                   never sleep, hosts that poll in idle loops, hosts\n"
        "                   as threads; the trace hash must not change\n";

static const struct option long_options[] = {
        {"set", required_argument, NULL, OPTION_SET},
        {"check", required_argument, NULL, OPTION_CHECK},
        {"figure", required_argument, NULL, OPTION_FIGURE},
        {"trace", required_argument, NULL, OPTION_TRACE},
        {"predict", no_argument, NULL, OPTION_PREDICT},
        {"explain", no_argument, NULL, OPTION_EXPLAIN},
        {"print", no_argument, NULL, OPTION_PRINT},
        {"speed", no_argument, NULL, OPTION_SPEED},
        {"growth", no_argument, NULL, OPTION_GROWTH},
        {"nodes", required_argument, NULL, OPTION_NODES},
        {"alltoall", no_argument, NULL, OPTION_ALLTOALL},
        {"run", required_argument, NULL, OPTION_RUN},
        {"limit", required_argument, NULL, OPTION_LIMIT},
        {"list", no_argument, NULL, OPTION_LIST},
        {"json", no_argument, NULL, OPTION_JSON},
        {"seed", required_argument, NULL, OPTION_SEED},
        {"no-sleep", no_argument, NULL, OPTION_NO_SLEEP},
        {"spin", no_argument, NULL, OPTION_SPIN},
        {"threads", no_argument, NULL, OPTION_THREADS},
        {"no-progress", no_argument, NULL, OPTION_NO_PROGRESS},
        {"help", no_argument, NULL, OPTION_HELP},
        {NULL, 0, NULL, 0},
};

int sim_fail(const char *what)
{
    fprintf(stderr, "am_sim: %s\n", what);
    return EXIT_FAILURE;
}

static bool option_flag(struct sim_options *options, int option)
{
    bool *flags[] = {
            [OPTION_PREDICT - OPTION_PREDICT] = &options->predict,
            [OPTION_EXPLAIN - OPTION_PREDICT] = &options->explain,
            [OPTION_PRINT - OPTION_PREDICT] = &options->print,
            [OPTION_SPEED - OPTION_PREDICT] = &options->speed,
            [OPTION_GROWTH - OPTION_PREDICT] = &options->growth,
            [OPTION_LIST - OPTION_PREDICT] = &options->list,
            [OPTION_JSON - OPTION_PREDICT] = &options->json,
            [OPTION_SEED - OPTION_PREDICT] = NULL,
            [OPTION_NO_SLEEP - OPTION_PREDICT] = &options->params.no_sleep,
            [OPTION_SPIN - OPTION_PREDICT] = &options->params.no_jump,
            [OPTION_THREADS - OPTION_PREDICT] = &options->params.threads,
    };

    if (option < OPTION_PREDICT || option > OPTION_THREADS ||
        flags[option - OPTION_PREDICT] == NULL) {
        return false;
    }
    *flags[option - OPTION_PREDICT] = true;
    return true;
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
    case OPTION_CHECK:
        options->check = optarg;
        return 0;
    case OPTION_FIGURE:
        options->figure = optarg;
        return 0;
    case OPTION_TRACE:
        options->trace = optarg;
        return 0;
    case OPTION_SEED:
        return number_take("seed", 0, UINT64_MAX, &options->params.seed);
    case OPTION_ALLTOALL:
        options->alltoall = true;
        return 0;
    case OPTION_LIMIT:
        status = number_take("limit", 1, UINT32_MAX, &number);
        options->params.limit_ps = number * PS_PER_MS;
        return status;
    case OPTION_RUN:
        options->run = optarg;
        return 0;
    case 'n':
    case OPTION_NODES:
        status = number_take("nodes", 2, UINT32_MAX, &number);
        options->nodes = (uint32_t)number;
        return status;
    case OPTION_NO_PROGRESS:
        options->progress = false;
        return 0;
    default:
        return option_flag(options, option) ? 0 : EXIT_USAGE;
    }
}

static int options_parse(int argc, char **argv, struct sim_options *options)
{
    int option;

    *options = (struct sim_options){.progress = isatty(STDERR_FILENO) == 1};
    options->params.limit_ps = LIMIT_PS;
    while ((option = getopt_long(argc, argv, "n:", long_options, NULL)) != -1) {
        int status;

        if (option == OPTION_HELP) {
            fputs(help, stdout);
            exit(EXIT_SUCCESS);
        }
        status = option_take(options, option);
        if (status != 0) {
            return status;
        }
    }
    options->machine = optind == argc ? am_config_getenv("AM_SIM_MACHINE")
                       : optind + 1 == argc || options->run != NULL
                               ? argv[optind]
                               : NULL;
    if (options->run != NULL) {
        /* The path takes the place of what is before the arguments. */
        options->run_argv = argv + (optind == argc ? argc - 1 : optind);
        options->run_argv[0] = (char *)(uintptr_t)options->run;
        options->run_argc = optind == argc ? 1 : argc - optind;
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

static int list_all(void)
{
    puts("machines:");
    for (uint32_t i = 0; ns_machine_name(i) != NULL; i++) {
        printf("  %s\n", ns_machine_name(i));
    }
    puts("figures:");
    for (const struct figure *f = figures; f->name != NULL; f++) {
        printf("  %-18s %s\n", f->name, f->help);
    }
    return EXIT_SUCCESS;
}

/* ------------------------------------------------------------------ figures */

static int run_figure(const struct sim_options *options,
                      const struct ns_machine *machine,
                      const struct figure *figure,
                      const struct sim_target *target)
{
    struct ns_sim_result result;
    char error[512] = "";
    struct sim_row row = {.metric = figure->name,
                          .unit = figure->unit,
                          .result = &result,
                          .target = target};

    if (figure_run(figure, machine, &options->params, &row.value, &result, NULL,
                   error, sizeof(error)) != 0) {
        fprintf(stderr, "am_sim: %s: %s\n", figure->name, error);
        return EXIT_FAILURE;
    }
    sim_row_print(options, machine, &row);
    return sim_row_good(&row) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_figures(const struct sim_options *options,
                       const struct ns_machine *machine)
{
    int status = EXIT_SUCCESS;

    if (options->figure != NULL && sim_figure_find(options->figure) == NULL) {
        fprintf(stderr, "am_sim: there is no figure %s; --list tells them\n",
                options->figure);
        return EXIT_USAGE;
    }
    for (const struct figure *f = figures; f->name != NULL; f++) {
        bool has = f->nic == NULL || strcmp(f->nic, machine->nic) == 0;

        if (options->figure == NULL ? has
                                    : strcmp(options->figure, f->name) == 0) {
            status |= run_figure(options, machine, f, NULL);
        }
    }
    return status;
}

/* The machine with what the file of targets sets; the command line has the last
 * word. */
static struct ns_machine *check_machine(const struct sim_options *options,
                                        const struct sim_targets *targets,
                                        char *error, size_t error_bytes)
{
    const char *sets[SIM_SETS_MAX + SIM_TARGET_SETS_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < targets->set_count; i++) {
        sets[count++] = targets->set[i];
    }
    for (uint32_t i = 0; i < options->set_count; i++) {
        sets[count++] = options->sets[i];
    }
    return ns_machine_load(options->machine, sets, count, error, error_bytes);
}

static int run_check(const struct sim_options *options,
                     const struct ns_machine *machine)
{
    struct sim_targets targets;
    struct ns_machine *with;
    char error[512];
    int status = EXIT_SUCCESS;

    if (sim_targets_load(options->check, &targets, error, sizeof(error)) != 0) {
        return sim_fail(error);
    }
    if (strcmp(targets.machine, machine->name) != 0) {
        snprintf(error, sizeof(error), "%s is for the machine %s, not %s",
                 options->check, targets.machine, machine->name);
        return sim_fail(error);
    }
    with = check_machine(options, &targets, error, sizeof(error));
    if (with == NULL) {
        return sim_fail(error);
    }
    for (uint32_t i = 0; i < targets.count; i++) {
        status |= run_figure(options, with, targets.target[i].figure,
                             &targets.target[i]);
    }
    free(with);
    return status;
}

static int run_explain(const struct sim_options *options,
                       const struct ns_machine *machine)
{
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    struct ns_marks marks;
    char error[512] = "";
    uint64_t value;

    params.trace_path = options->trace;
    params.trace_records = options->trace != NULL ? SIM_TRACE_RECORDS : 0;
    if (figure_run(sim_figure_find("round_trip"), machine, &params, &value,
                   &result, &marks, error, sizeof(error)) != 0) {
        return sim_fail(error);
    }
    return sim_explain_print(options, machine, &marks, &result)
                   ? EXIT_SUCCESS
                   : sim_fail("the stages do not add up");
}

int main(int argc, char **argv)
{
    struct sim_options options;
    struct ns_machine *machine;
    char error[512];
    int status = options_parse(argc, argv, &options);

    if (status != 0) {
        return status;
    }
    if (options.list) {
        return list_all();
    }
    machine = ns_machine_load(options.machine, options.sets, options.set_count,
                              error, sizeof(error));
    if (machine == NULL) {
        fprintf(stderr, "am_sim: %s\n", error);
        return EXIT_USAGE;
    }
    if (options.print) {
        sim_machine_print(&options, machine);
    } else if (options.check != NULL) {
        status = run_check(&options, machine);
    } else if (options.run != NULL) {
        status = sim_scenario(&options, machine);
    } else if (options.explain) {
        status = run_explain(&options, machine);
    } else if (options.predict) {
        status = sim_predict(&options, machine);
    } else if (options.alltoall) {
        status = sim_alltoall(&options, machine);
    } else if (options.speed) {
        status = sim_speed(&options, machine);
    } else if (options.growth) {
        status = sim_growth(&options, machine);
    } else {
        status = run_figures(&options, machine);
    }
    free(machine);
    return status;
}
