/*
 * --reproduce scaling: barrier, broadcast and allreduce of 8 bytes on 64 to 4,096
 * Blue Gene/P nodes, against log P: by algorithms over the torus, and by those of the
 * hardware's collective network and global interrupt.
 */
#include "tools/sim_coll.h"
#include "tools/sim_reproduce.h"

#include <stdlib.h>

#define NODES_MIN UINT32_C(64)

enum {
    POINTS = 7,
    BYTES = 8,
    SERIES = 3,
    HARDWARE = 2 /* this series */
};

/* What the stages of a run are, each with a chart. */
static const struct {
    am_coll_kind_t kind;
    const char *variable, *y;
    const char *series[SERIES]; /* and algorithms */
} kinds[COLL_STAGES] = {
        {AM_COLL_BARRIER,
         "AM_COLL_BARRIER",
         "us of a barrier",
         {"dissemination", "binomial", "network"}},
        {AM_COLL_BCAST,
         "AM_COLL_BCAST",
         "us of a broadcast, 8 bytes",
         {"binomial", "kary:4", "network"}},
        {AM_COLL_ALLREDUCE,
         "AM_COLL_ALLREDUCE",
         "us of an allreduce, 8 bytes",
         {"doubling", "binomial", "network"}},
};

static am_status_t stage(struct coll_node *node)
{
    struct am_coll_call call = {.kind = kinds[node->stage].kind,
                                .send = node->send,
                                .recv = node->recv,
                                .count = BYTES};

    if (call.kind == AM_COLL_ALLREDUCE) { /* the network adds such words */
        call.count = BYTES / sizeof(uint32_t);
        (void)am_coll_operator_get(AM_COLL_SUM, AM_COLL_UINT32, &call.op);
    }
    return am_coll_run(node->group, &call);
}

/* At the first point: fewer only where no more are wanted. */
static uint32_t nodes_min(const struct sim_options *options)
{
    return options->nodes != 0 && options->nodes < NODES_MIN ? options->nodes
                                                             : NODES_MIN;
}

/* One series of all three charts at one number of nodes. */
static int point(const struct sim_options *options,
                 const struct ns_machine *machine, uint32_t series,
                 uint32_t at, struct sim_chart *charts)
{
    struct coll_test test = {.nodes = nodes_min(options) << at,
                             .bytes = BYTES,
                             .round = stage,
                             .stages = COLL_STAGES,
                             .rests = true};
    int status;

    for (uint32_t i = 0; i < COLL_STAGES; i++) {
        test.options[i] = (struct am_option){kinds[i].variable,
                                             kinds[i].series[series]};
    }
    status = coll_run(options, machine, &test);
    for (uint32_t i = 0; i < COLL_STAGES; i++) {
        charts[i].at[at] = test.nodes;
        charts[i].value[series][at] = (double)test.stage_ps[i] / 1e6;
    }
    return status;
}

static void chart_begin(struct sim_chart *chart, uint32_t kind, uint32_t count)
{
    chart->x = "nodes";
    chart->y = kinds[kind].y;
    chart->logarithmic = true;
    chart->count = count;
    chart->series_count = SERIES;
    for (uint32_t i = 0; i < SERIES; i++) {
        chart->series[i] = kinds[kind].series[i];
    }
}

/* Rounds are log2 P, and each costs a bit more as nodes are farther apart.  One
 * point says nothing of it. */
static void claims(struct sim_chart *chart)
{
    const double *v = chart->value[0];
    uint32_t last = chart->count - 1;
    double rounds = 6, low = v[last] / v[0] * rounds / (rounds + last);

    chart->claims = "log P";
    sim_chart_claim(chart, "from the first to the last as many times longer as "
                           "there are more rounds, within a quarter (first "
                           "series)",
                    low > 0.8 && low < 1.25);
    sim_chart_claim(chart, "the hardware is faster, and the more so the more "
                           "nodes there are",
                    chart->value[HARDWARE][0] < v[0] &&
                            chart->value[HARDWARE][last] / v[last] <=
                                    chart->value[HARDWARE][0] / v[0]);
}

int reproduce_scaling(const struct sim_options *options, const char *name,
                      struct sim_chart *charts)
{
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;
    uint32_t count = 1;

    while (count < POINTS &&
           (options->nodes == 0 || NODES_MIN << count <= options->nodes)) {
        count++;
    }
    for (uint32_t i = 0; i < COLL_STAGES; i++) {
        chart_begin(&charts[i], i, count);
    }
    for (uint32_t i = 0; i < SERIES * count && status == EXIT_SUCCESS; i++) {
        status = point(options, machine, i % SERIES, i / SERIES, charts);
        sim_progress(options, i + 1, SERIES * count, 0);
    }
    for (uint32_t i = 0; i < COLL_STAGES && count > 1 && status == EXIT_SUCCESS;
         i++) {
        claims(&charts[i]);
    }
    free(machine);
    return status;
}
