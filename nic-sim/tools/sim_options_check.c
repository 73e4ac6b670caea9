/*
 * What does not go together on am_sim's command line.
 */
#include "tools/sim.h"

#define PATIENCE_SECONDS 600

/* What only some of the things to do have a use for. */
static int extras_check(const struct sim_options *options, bool nodes,
                        bool trace)
{
    if (options->trace != NULL && !trace) {
        fputs("am_sim: --trace is for --explain, --run and --mpi\n", stderr);
        return EXIT_USAGE;
    }
    if (options->nodes != 0 && !nodes) {
        fputs("am_sim: --nodes is for --run, --alltoall, --speed, --growth, "
              "and --reproduce of collectives and sp-nas\n",
              stderr);
        return EXIT_USAGE;
    }
    return 0;
}

int sim_options_modes(const struct sim_options *options)
{
    const struct {
        const char *name;
        bool given, nodes, trace, no_json;
    } modes[] = {
            {"--list", options->list, false, false, true},
            {"--print", options->print, false, false, true},
            {"--figure", options->figure != NULL, false, false, false},
            {"--check", options->check != NULL, false, false, false},
            {"--predict", options->predict, false, false, false},
            {"--sensitivity", options->sensitivity, false, false, false},
            {"--reproduce", options->reproduce != NULL,
             options->reproduce != NULL &&
                     sim_reproduce_takes_nodes(options->reproduce),
             false, true},
            {"--explain", options->explain, false, true, false},
            {"--run", options->run != NULL, true, true, false},
            {"--mpi", options->mpi, false, true, false},
            {"--speed", options->speed, true, false, false},
            {"--growth", options->growth, true, false, false},
            {"--alltoall", options->alltoall, true, false, false},
    };

    const char *mode = NULL;
    bool nodes = false, trace = false;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (!modes[i].given) {
            continue;
        }
        if (mode != NULL) {
            fprintf(stderr, "am_sim: give %s or %s, not both\n", mode,
                    modes[i].name);
            return EXIT_USAGE;
        }
        mode = modes[i].name;
        nodes = modes[i].nodes;
        trace = modes[i].trace;
        if (options->json && modes[i].no_json) {
            fprintf(stderr, "am_sim: %s has no JSON; leave --json out\n", mode);
            return EXIT_USAGE;
        }
    }
    return extras_check(options, nodes, trace);
}

/* --reproduce of jobs wants a launcher and kernels, and no other does.  Only a
 * process can take too long. */
static int jobs_check(struct sim_options *options)
{
    bool is_job = options->reproduce != NULL &&
                  sim_reproduce_is_job(options->reproduce);

    if (is_job && options->run_argc != 2) {
        fputs("am_sim: --reproduce sp-nas needs a launcher and the folder of "
              "the NAS kernels: am_sim --reproduce sp-nas -- mpiexec nas\n",
              stderr);
        return EXIT_USAGE;
    }
    if (is_job && options->plot != NULL) {
        fputs("am_sim: --reproduce sp-nas has no plot\n", stderr);
        return EXIT_USAGE;
    }
    if (!is_job && options->klass != '\0') {
        fputs("am_sim: --class is for --reproduce sp-nas\n", stderr);
        return EXIT_USAGE;
    }
    options->klass = options->klass != '\0' ? options->klass : 'S';
    if (!is_job && !options->params.processes &&
        options->params.patience_seconds != 0) {
        fputs("am_sim: --patience is for --mpi, --processes and --reproduce "
              "sp-nas\n",
              stderr);
        return EXIT_USAGE;
    }
    if (options->params.patience_seconds == 0) {
        options->params.patience_seconds = PATIENCE_SECONDS;
    }
    return 0;
}

int sim_options_ways(struct sim_options *options)
{
    if (options->mpi && options->params.threads) {
        fputs("am_sim: --mpi runs processes; leave --threads out\n", stderr);
        return EXIT_USAGE;
    }
    if (options->params.processes &&
        ((options->run == NULL && !options->mpi && !options->speed) ||
         options->params.threads)) {
        fputs("am_sim: --processes is for --run and --speed, without --threads\n",
              stderr);
        return EXIT_USAGE;
    }
    if (options->only != NULL && !options->predict && !options->sensitivity &&
        (options->reproduce == NULL ||
         !sim_reproduce_is_job(options->reproduce))) {
        fputs("am_sim: --only is for --predict, --sensitivity and --reproduce "
              "sp-nas\n",
              stderr);
        return EXIT_USAGE;
    }
    if (options->plot != NULL && options->reproduce == NULL) {
        fputs("am_sim: --plot is for --reproduce\n", stderr);
        return EXIT_USAGE;
    }
    if (options->mpi && options->run_argc == 0) {
        fputs("am_sim: --mpi needs a command, such as: am_sim --mpi sp-thin -- "
              "mpiexec -n 4 ./a.out\n",
              stderr);
        return EXIT_USAGE;
    }
    return jobs_check(options);
}
