/*
 * --reproduce patterns (Dawson and Strazdins): row multi-broadcast and row
 * multi-reduce of matrices of doubles on 1 x Q nodes, made of plain sends and
 * receives, and by libam's collectives.
 *
 * An M x N matrix lies by rows, and each node has N / Q of its columns: a block of
 * M short rows, which is copied together (packed) before it can be sent as one
 * message, and apart when it has come.  Copies are charged by their bytes.
 */
#include "tools/sim_coll.h"
#include "tools/sim_reproduce.h"

#include <am_msg.h>
#include <stdlib.h>

enum {
    SHAPES = 4,
    QS = 3
};

static const uint32_t qs[QS] = {2, 4, 8};

/* Rows; columns, of which 0 and 1 stand for Q and 2 Q. */
static const struct {
    size_t rows, columns;
} shapes[SHAPES] = {{1000, 0}, {1000, 1}, {1000, 32}, {4000, 32}};

static size_t block_bytes(uint32_t shape, uint32_t q)
{
    size_t columns = shapes[shape].columns < 2 ? shapes[shape].columns + 1
                                               : shapes[shape].columns / q;

    return shapes[shape].rows * columns * sizeof(double);
}

static void copy(const struct coll_node *node)
{
    am_env_charge(node->run.node->env, AM_COST_COPY, node->test->bytes);
}

/* ------------------------------------------------ of plain sends and receives */

static void on_message(void *arg, const struct am_msg_status *status)
{
    (void)status;
    ++*(uint64_t *)arg;
}

/* A block to the node on the right, and one from that on the left. */
static void shift(struct coll_node *node)
{
    uint32_t rank = node->run.node->rank, size = node->run.node->size;
    const struct am_data from = am_data_contig(node->send, node->test->bytes);
    const struct am_data to = am_data_contig(node->recv, node->test->bytes);
    const struct am_msg_envelope mine = {.source = rank};
    const struct am_msg_envelope left = {.source = (rank + size - 1) % size};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_msg_status status;
    struct am_msg_req *req;
    uint64_t ended = 0;

    if (am_msg_irecv(node->run.ctx, &left, &mask, &to, on_message, &ended,
                     &status, &req) == AM_DONE) {
        ended++;
    }
    if (am_msg_isend(node->run.ctx, (rank + 1) % size, &mine, &from, 0,
                     on_message, &ended, &req) == AM_DONE) {
        ended++;
    }
    run_wait(&node->run, &ended, 2);
}

static am_status_t plain_broadcast(struct coll_node *node)
{
    for (uint32_t i = 1; i < node->run.node->size; i++) {
        copy(node); /* pack */
        shift(node);
        copy(node); /* to its place */
    }
    return AM_OK;
}

/* The sums of a node's block go round, and each adds its own to them. */
static am_status_t plain_reduce(struct coll_node *node)
{
    copy(node);
    for (uint32_t i = 1; i < node->run.node->size; i++) {
        shift(node);
        copy(node); /* pack */
        copy(node); /* add */
    }
    return AM_OK;
}

/* -------------------------------------------------------------- by collectives */

/* The own block is packed once, and what comes is sent on as it is. */
static am_status_t pattern_broadcast(struct coll_node *node)
{
    const struct am_coll_call call = {.kind = AM_COLL_ALLGATHER,
                                      .recv = node->recv, /* in place */
                                      .count = node->test->bytes};
    am_status_t status;

    copy(node);
    status = am_coll_run(node->group, &call);
    for (uint32_t i = 1; i < node->run.node->size; i++) {
        copy(node);
    }
    return status;
}

static am_status_t pattern_reduce(struct coll_node *node)
{
    am_status_t status;

    for (uint32_t i = 0; i < node->run.node->size; i++) {
        copy(node);
    }
    status = coll_kind(node);
    copy(node);
    return status;
}

/* ---------------------------------------------------------------------- tables */

enum {
    WAYS = 3
};

struct pattern {
    const char *titles[QS];
    am_coll_kind_t kind;
    const char *names[WAYS], *algorithms[WAYS];
    coll_round_fn rounds[WAYS];
};

static const struct pattern patterns[] = {
        {{"us of a row multi-broadcast on 2 nodes",
          "us of a row multi-broadcast on 4 nodes",
          "us of a row multi-broadcast on 8 nodes"},
         AM_COLL_ALLGATHER,
         {"plain", "ring", "by cost"},
         {NULL, "ring", NULL},
         {plain_broadcast, pattern_broadcast, pattern_broadcast}},
        {{"us of a row multi-reduce on 2 nodes",
          "us of a row multi-reduce on 4 nodes",
          "us of a row multi-reduce on 8 nodes"},
         AM_COLL_REDUCE_SCATTER,
         {"plain", "ring/16k", "by cost"},
         {NULL, "ring/16k", NULL},
         {plain_reduce, pattern_reduce, pattern_reduce}},
};

static int chart_fill(const struct sim_options *options,
                      const struct ns_machine *machine,
                      const struct pattern *pattern, uint32_t q,
                      struct sim_chart *chart)
{
    size_t sizes[SHAPES];
    int status = EXIT_SUCCESS;
    bool faster = true;

    chart->x = "bytes";
    chart->y = pattern->titles[q];
    chart->logarithmic = chart->logarithmic_y = true;
    chart->series_count = WAYS;
    chart->count = SHAPES;
    for (uint32_t i = 0; i < SHAPES; i++) {
        sizes[i] = block_bytes(i, qs[q]);
    }
    for (uint32_t i = 0; i < WAYS && status == EXIT_SUCCESS; i++) {
        struct coll_test test = {.kind = pattern->kind,
                                 .algorithm = pattern->algorithms[i],
                                 .nodes = qs[q],
                                 .round = pattern->rounds[i]};

        chart->series[i] = pattern->names[i];
        status = reproduce_series(options, machine, &test, i, sizes, chart);
    }
    for (uint32_t i = 0; i < SHAPES; i++) {
        faster = faster && chart->value[1][i] < chart->value[0][i];
    }
    if (status == EXIT_SUCCESS) {
        sim_chart_claim(chart, "a pattern gains, up to half, over the same of "
                               "plain sends and receives (here: at each size)",
                        faster);
    }
    return status;
}

int reproduce_patterns(const struct sim_options *options, const char *name,
                       struct sim_chart *charts)
{
    struct ns_machine *machine = reproduce_machine(options, name, NULL);
    int status = machine == NULL ? EXIT_FAILURE : EXIT_SUCCESS;

    for (uint32_t i = 0; i < 2 * QS && status == EXIT_SUCCESS; i++) {
        if (options->nodes == 0 || qs[i % QS] <= options->nodes) {
            status = chart_fill(options, machine, &patterns[i / QS], i % QS,
                                charts++);
        }
    }
    free(machine);
    return status;
}
