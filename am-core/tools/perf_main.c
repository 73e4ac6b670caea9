/*
 * am_perf: measures libam on this machine.  This file starts the ranks, binds
 * them to cores, opens the default context and runs one test.
 */
#include "config.h"

#include "tools/perf.h"

#include "am/ctx.h"
#include "base/config.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A number that the launcher has set; `none` when it is not there. */
static uint32_t launcher_number(const char *name, uint32_t none)
{
    const char *text = am_config_getenv(name);

    return text == NULL ? none : (uint32_t)strtoul(text, NULL, 10);
}

/* Can all ranks be bound?  Only `rank` 0 says why not. */
static int pin_check(const struct perf_options *options, uint32_t rank,
                     uint32_t ranks)
{
    char error[256];
    int result = perf_pin_check(options->pin, ranks, error, sizeof(error));

    if (result != 0 && rank == 0) {
        fprintf(stderr, "am_perf: %s\n", error);
    }
    return result;
}

/* Bind this rank; `text` receives the cores of all ranks. */
static int pin_rank(const struct perf_options *options, uint32_t rank,
                    uint32_t ranks, char *text, size_t bytes)
{
    struct perf_cores cores;
    char error[256];
    size_t at = 0;

    snprintf(text, bytes, "none");
    if (pin_check(options, rank, ranks) != 0 ||
        perf_cores_of(options->pin, ranks, &cores, error, sizeof(error)) != 0) {
        return -1;
    }
    if (cores.count == 0) {
        return 0;
    }
    if (perf_pin(cores.core[rank % cores.count], error, sizeof(error)) != 0) {
        fprintf(stderr, "am_perf: %s\n", error);
        return -1;
    }
    for (uint32_t i = 0; i < ranks && at < bytes; i++) {
        at += (size_t)snprintf(text + at, bytes - at, "%s%u", i > 0 ? "," : "",
                               cores.core[i % cores.count]);
    }
    return 0;
}

/* A request that comes before its handler is registered would be dropped, so
 * nobody may send before all ranks are past this. */
static int open_job(struct perf *perf)
{
    if (perf_coll_open(perf) != 0) {
        return -1;
    }
    return perf->start(perf);
}

static int start_job(struct perf *perf)
{
    return perf_ok(perf, am_barrier(), "starting");
}

/* Are the results where they belong?  Only rank 0 has any. */
static int results_written(struct perf *perf)
{
    int error = am_file_flush(stdout);

    return error == 0 ? 0
                      : perf_fail(perf, "cannot write the results: %s",
                                  strerror(error));
}

int perf_run_test(struct perf *perf, const char *pinning)
{
    const struct perf_test *test = perf->options->test;
    int result;

    if (perf->size < test->ranks_min) {
        fprintf(stderr,
                "am_perf: %s needs at least %u ranks, this job has %u; use "
                "-n %u\n",
                test->name, test->ranks_min, perf->size, test->ranks_min);
        return PERF_EXIT_USAGE;
    }
    if (perf->rank == 0) {
        perf->report =
                perf_report_open(perf->ctx, perf->options, pinning, perf->size);
        if (perf->report == NULL) {
            fputs("am_perf: out of memory\n", stderr);
            return EXIT_FAILURE;
        }
    }
    result = test->no_job ? 0 : open_job(perf);
    if (result == 0 && (!test->pair || perf->rank < 2)) {
        perf->pair = test->pair;
        result = test->run(perf);
        perf->pair = false;
    }
    if (result == 0 && !test->no_job) {
        result = perf_barrier(perf);
    }
    perf_report_close(perf->report);
    if (result == 0) {
        result = results_written(perf);
    }
    if (result != 0) {
        fprintf(stderr, "am_perf: %s: %s\n", test->name, perf->error);
    }
    return result == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_in_job(struct perf *perf, const char *pinning)
{
    int exit_code;

    if (am_init() != AM_OK) {
        fprintf(stderr, "am_perf: %s\n", am_init_error());
        return EXIT_FAILURE;
    }
    perf->ctx = am_default();
    perf->env = perf->ctx->env;
    perf->rank = am_rank(perf->ctx);
    perf->size = am_size(perf->ctx);
    exit_code = perf_run_test(perf, pinning);
    if (exit_code != EXIT_FAILURE) {
        am_fini(); /* after a failure the others may not come to its barrier */
    }
    perf_coll_close(perf);
    return exit_code;
}

int main(int argc, char **argv)
{
    struct perf_options options;
    struct perf perf = {.env = am_env_real(),
                        .options = &options,
                        .size = 1,
                        .start = start_job};
    char pinning[512];
    int exit_code;
    uint32_t ranks = launcher_number("PMI_SIZE", 0);

    if (perf_options_parse(argc, argv, &options, &exit_code) != 0) {
        return exit_code;
    }
#ifdef AM_SIM
    if (options.machine != NULL) {
        return perf_sim(&options);
    }
#endif
    if (options.test->no_job) {
        if (launcher_number("PMI_RANK", 0) != 0) {
            return EXIT_SUCCESS; /* rank 0 probes alone */
        }
        return perf_run_test(&perf, options.pin);
    }
    if (ranks == 0) {
        ranks = options.ranks != 0 ? options.ranks : 2;
        if (pin_check(&options, 0, ranks) != 0) {
            return PERF_EXIT_USAGE;
        }
        perf_launch(argv, ranks, &options);
        return EXIT_FAILURE;
    }
    if (am_config_getenv("AM_SIM_ENGINE") != NULL) {
        return run_in_job(&perf, "simulated"); /* all share one core of here */
    }
    if (pin_rank(&options, launcher_number("PMI_RANK", 0), ranks, pinning,
                 sizeof(pinning)) != 0) {
        return PERF_EXIT_USAGE;
    }
    return run_in_job(&perf, pinning);
}
