/*
 * --reproduce overlap: how much of a non-blocking collective of 64 KiB is hidden behind
 * computation that polls now and then, as the OSU benchmarks tell it: the computation
 * takes as long as the collective takes alone, and what both take beyond it is not
 * hidden.  A poll counts as what is not hidden.
 */
#include "tools/sim_coll.h"
#include "tools/sim_reproduce.h"

#include <stdlib.h>

enum {
    NODES = 8,
    BYTES = 65536,
    POINTS = 9,
    BAR = 80, /* per cent */
    KINDS = 2
};

static const uint32_t polls[POINTS] = {1, 2, 5, 10, 20, 50, 100, 200, 500};

static const struct {
    am_coll_kind_t kind;
    const char *name, *alone, *beyond;
} kinds[KINDS] = {
        {AM_COLL_ALLTOALL, "all-to-all", "all-to-all alone",
         "all-to-all beyond"},
        {AM_COLL_ALLREDUCE, "allreduce", "allreduce alone", "allreduce beyond"},
};

struct end {
    uint64_t count;
    am_status_t status;
};

static void ended(void *arg, am_status_t status)
{
    struct end *end = arg;

    end->status = status;
    end->count++;
}

/* Begin, compute in test->polls parts with a poll after each, wait. */
static am_status_t overlap(struct coll_node *node)
{
    const struct coll_test *test = node->test;
    struct run *run = &node->run;
    struct am_coll_call call = coll_call(node);
    struct end end = {0};
    am_status_t status = am_coll_start(node->group, &call, ended, &end);

    for (uint32_t i = 0; i < test->polls; i++) {
        ns_sim_compute(run->node, test->work_ps / test->polls);
        (void)am_ctx_poll(run->ctx);
    }
    if (status == AM_OK) {
        run_wait(run, &end.count, 1);
        status = end.status;
    }
    return status == AM_DONE ? AM_OK : status;
}

/* One kind: alone, then with computation. */
static int kind_run(const struct sim_options *options,
                    const struct ns_machine *machine, uint32_t kind,
                    struct sim_chart *hidden, struct sim_chart *us)
{
    struct coll_test test = {.kind = kinds[kind].kind,
                             .round = overlap,
                             .bytes = BYTES,
                             .nodes = options->nodes != 0 ? options->nodes
                                                          : NODES};
    int status = coll_run(options, machine, &test);
    uint64_t alone_ps = test.ps;

    for (uint32_t i = 0; i < POINTS && status == EXIT_SUCCESS; i++) {
        double beyond_ps;

        test.polls = polls[i];
        test.work_ps = alone_ps / test.polls * test.polls;
        status = coll_run(options, machine, &test);
        beyond_ps = (double)test.ps - (double)test.work_ps;
        hidden->value[kind][i] =
                beyond_ps > (double)alone_ps
                        ? 0
                        : 100 * (1 - beyond_ps / (double)alone_ps);
        us->value[2 * kind][i] = (double)alone_ps / 1e6;
        us->value[2 * kind + 1][i] = beyond_ps / 1e6;
        sim_progress(options, kind * POINTS + i + 1, KINDS * POINTS, test.ps);
    }
    return status;
}

/* Does any number of polls hide so much of it? */
static bool reaches_bar(const struct sim_chart *hidden, uint32_t kind)
{
    bool reaches = false;

    for (uint32_t i = 0; i < POINTS; i++) {
        reaches = reaches || hidden->value[kind][i] >= BAR;
    }
    return reaches;
}

int reproduce_overlap(const struct sim_options *options, const char *name,
                      struct sim_chart *charts)
{
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    struct sim_chart *hidden = &charts[0], *us = &charts[1];
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    hidden->y = "per cent hidden behind computation";
    us->y = "us alone, and beyond the computation";
    hidden->series_count = KINDS;
    us->series_count = 2 * KINDS;
    for (uint32_t i = 0; i < 2; i++) {
        charts[i].x = "polls";
        charts[i].logarithmic = true;
        charts[i].count = POINTS;
        for (uint32_t p = 0; p < POINTS; p++) {
            charts[i].at[p] = polls[p];
        }
    }
    for (uint32_t i = 0; i < KINDS && status == EXIT_SUCCESS; i++) {
        hidden->series[i] = kinds[i].name;
        us->series[2 * i] = kinds[i].alone;
        us->series[2 * i + 1] = kinds[i].beyond;
        status = kind_run(options, machine, i, hidden, us);
    }
    if (status == EXIT_SUCCESS) {
        hidden->claims = "the bar";
        sim_chart_claim(hidden, "at least 80% of an all-to-all is hidden",
                        reaches_bar(hidden, 0));
        sim_chart_claim(hidden, "at least 80% of an allreduce is hidden",
                        reaches_bar(hidden, 1));
    }
    free(machine);
    return status;
}
