/*
 * am_perf --sim: the same tests on N simulated nodes in this process, in
 * virtual time.
 */
#include "tools/perf.h"

#include "nicsim_sim.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    SIM_ITERATIONS = 200, /* virtual time does not scatter: few are enough */
    SIM_RANKS = 2,
    SIM_LIMIT_MS = 100000 /* a test that takes longer waits for nothing */
};

struct job {
    struct perf_options options; /* .machine: the name that it has itself */
    const char *given;           /* and what the command line calls it */
    const struct ns_machine *machine;
    int exit_code;
};

static void poll_once(void *arg)
{
    struct perf *perf = arg;

    (void)am_ctx_poll(perf->ctx);
}

static int start(struct perf *perf)
{
    ns_sim_meet(perf->start_arg, poll_once, perf);
    return 0;
}

static int node_open(struct perf *perf, const struct job *job,
                     struct ns_sim_node *node)
{
    const struct am_option machine = {"AM_SIM_MACHINE", job->given};
    const struct am_params params = {
            .options = &machine,
            .option_count = 1,
            .rank = node->rank,
            .size = node->size,
            .allgather = ns_sim_allgather,
            .allgather_arg = node,
            .env = node->env,
            .error = perf->error,
            .error_bytes = sizeof(perf->error),
    };

    return am_open(&params, &perf->ctx) == AM_OK ? 0 : -1;
}

static void node_main(void *arg, struct ns_sim_node *node)
{
    struct job *job = arg;
    struct perf perf = {.env = node->env,
                        .options = &job->options,
                        .rank = node->rank,
                        .size = node->size,
                        .start = start,
                        .start_arg = node};
    int exit_code;

    if (node_open(&perf, job, node) != 0) {
        fprintf(stderr, "am_perf: %s\n", perf.error);
        job->exit_code = EXIT_FAILURE;
        ns_sim_abort(node);
        return;
    }
    exit_code = perf_run_test(&perf, "simulated");
    if (exit_code != EXIT_SUCCESS) {
        job->exit_code = exit_code;
        ns_sim_abort(node); /* the others would wait for this one */
        return;
    }
    (void)am_flush(perf.ctx);
    ns_sim_meet(node, poll_once, &perf);
    am_close(perf.ctx);
    perf_coll_close(&perf);
}

/* One last line: what the simulation was, and the hash of its trace. */
static void summary_print(const struct job *job,
                          const struct ns_sim_result *result)
{
    json_t *numbers;
    char hash[24];

    snprintf(hash, sizeof(hash), "%016" PRIx64, result->hash);
    if (!job->options.json) {
        printf("# simulated %s: %.3f us of virtual time, %" PRIu64
               " events, %" PRIu64 " packets, %" PRIu64 " dropped, %" PRIu64
               " sent again by links, trace %s\n",
               job->machine->name, (double)result->end_ps / 1e6, result->events,
               result->packets, result->dropped, result->faults.resent, hash);
        return;
    }
    numbers = json_object();
    for (uint32_t i = 0; i < job->machine->setting_count; i++) {
        json_object_set_new(numbers, job->machine->settings[i].key,
                            json_string(job->machine->settings[i].value));
    }
    numbers = json_pack(
            "{s:s, s:s, s:i, s:f, s:s, s:s, s:I, s:I, s:I, s:I, s:{s:s, s:I, "
            "s:o}}",
            "test", job->options.test->name, "metric", "virtual_time", "bytes",
            0, "value", (double)result->end_ps / 1e3, "unit", "ns",
            "trace_hash", hash, "events", (json_int_t)result->events, "packets",
            (json_int_t)result->packets, "dropped", (json_int_t)result->dropped,
            "resent", (json_int_t)result->faults.resent, "settings", "machine",
            job->machine->name, "seed", (json_int_t)job->options.seed,
            "numbers", numbers);
    json_dumpf(numbers, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(numbers);
}

static int machine_run(struct job *job)
{
    const uint64_t limit_ms =
            job->options.limit_ms != 0 ? job->options.limit_ms : SIM_LIMIT_MS;
    const struct ns_sim_params params = {
            .nodes = job->options.ranks != 0 ? job->options.ranks : SIM_RANKS,
            .seed = job->options.seed,
            .processes = job->options.processes,
            .limit_ps = limit_ms * (NS_PS_PER_SECOND / 1000)};
    struct ns_sim_result result;
    char error[512] = "";
    struct ns_sim *sim =
            ns_sim_open(job->machine, &params, error, sizeof(error));
    int status = -1;

    if (sim != NULL) {
        status = ns_sim_run(sim, node_main, job, &result, error, sizeof(error));
        ns_sim_close(sim);
    }
    if (job->exit_code != EXIT_SUCCESS) {
        return job->exit_code;
    }
    if (status != 0) {
        fprintf(stderr, "am_perf: %s\n", error);
        return sim == NULL ? PERF_EXIT_USAGE : EXIT_FAILURE;
    }
    summary_print(job, &result);
    return EXIT_SUCCESS;
}

/* In memory that is the same for all ranks, when they are processes. */
static struct job *job_new(void)
{
    void *job = mmap(NULL, sizeof(struct job), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return job == MAP_FAILED ? NULL : job;
}

static int job_run(const struct perf_options *options,
                   const struct ns_machine *machine)
{
    struct job *job = job_new();
    int exit_code;

    if (job == NULL) {
        fputs("am_perf: out of memory\n", stderr);
        return EXIT_FAILURE;
    }
    job->options = *options;
    if (job->options.iterations == 0) {
        job->options.iterations = SIM_ITERATIONS;
    }
    job->machine = machine;
    job->given = options->machine;
    job->options.machine = machine->name;
    exit_code = machine_run(job);
    munmap(job, sizeof(*job));
    return exit_code;
}

int perf_sim(const struct perf_options *options)
{
    char error[512];
    struct ns_machine *machine;
    int exit_code = PERF_EXIT_USAGE;

    if (options->test->no_job) {
        fprintf(stderr,
                "am_perf: %s probes this machine, not a simulated one\n",
                options->test->name);
        return exit_code;
    }
    machine = ns_machine_load(options->machine, options->sets,
                              options->set_count, error, sizeof(error));
    if (machine == NULL) {
        fprintf(stderr, "am_perf: %s\n", error);
    } else {
        exit_code = job_run(options, machine);
    }
    free(machine);
    return exit_code;
}
