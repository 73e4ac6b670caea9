/*
 * The programs of sim_coll.h: all nodes meet, begin a collective, and the time
 * is over when the last of them has its result.  Virtual time is one for all.
 */
#include "tools/sim_coll.h"

#include <stdlib.h>

enum {
    ROUNDS = 2,
    WARMUP = 1, /* the group's members tell each other what they have */
    GROUP = 1,
    GROUP_LOCAL,
    LOCAL_MAX = 4
};

struct coll {
    struct coll_test *test;
    char option[64]; /* AM_COLL_... */
    uint64_t begin_ps[WARMUP + ROUNDS][COLL_STAGES];
    uint64_t end_ps[WARMUP + ROUNDS][COLL_STAGES];
    char error[512];
    bool failed;
};

static bool is_exchange(am_coll_kind_t kind)
{
    return kind == AM_COLL_ALLGATHER || kind == AM_COLL_REDUCE_SCATTER ||
           kind == AM_COLL_ALLTOALL;
}

/* The first and the last sum are looked at. */
static am_status_t words_sum(struct coll_node *node, struct am_coll_call *call)
{
    uint32_t size = node->run.node->size, *send = node->send,
             *recv = node->recv;
    size_t last = (call->count /= sizeof(uint32_t)) - 1;
    am_status_t status;

    (void)am_coll_operator_get(AM_COLL_SUM, AM_COLL_UINT32, &call->op);
    send[0] = send[last] = node->run.node->rank + 1;
    status = am_coll_run(node->group, call);
    return status == AM_OK && (recv[0] != size * (size + 1) / 2 ||
                               recv[last] != recv[0])
                   ? AM_ERR_INVALID
                   : status;
}

static bool is_sum(am_coll_kind_t kind)
{
    return kind == AM_COLL_REDUCE || kind == AM_COLL_ALLREDUCE ||
           kind == AM_COLL_REDUCE_SCATTER;
}

struct am_coll_call coll_call(const struct coll_node *node)
{
    const struct coll_test *test = node->test;
    struct am_coll_call call = {.kind = test->kind,
                                .send = node->send,
                                .recv = node->recv,
                                .count = test->bytes};

    if (is_sum(test->kind) && !test->words) {
        call.count /= sizeof(double);
        (void)am_coll_operator_get(AM_COLL_SUM, AM_COLL_DOUBLE, &call.op);
    }
    return call;
}

am_status_t coll_kind(struct coll_node *node)
{
    const struct coll_test *test = node->test;
    struct am_coll_call call = coll_call(node);

    return is_sum(test->kind) && test->words ? words_sum(node, &call)
                                             : am_coll_run(node->group, &call);
}

static am_status_t groups_open(struct coll_node *node)
{
    uint32_t ranks[LOCAL_MAX], local = node->test->local;
    am_status_t status =
            am_coll_group_open(node->run.ctx, GROUP, NULL, 0, &node->group);

    for (uint32_t i = 0; i < local; i++) {
        ranks[i] = node->run.node->rank / local * local + i;
    }
    return status != AM_OK || local == 0
                   ? status
                   : am_coll_group_open(node->run.ctx, GROUP_LOCAL, ranks,
                                        local, &node->local);
}

static bool node_open(struct coll_node *node, struct coll *coll,
                      struct ns_sim_node *view)
{
    const struct coll_test *test = coll->test;
    struct am_option options[1 + COLL_OPTIONS];
    uint32_t blocks = is_exchange(test->kind) ? view->size : 1, count = 0;

    if (test->algorithm != NULL) {
        options[count++] = (struct am_option){coll->option, test->algorithm};
    }
    for (uint32_t i = 0; i < COLL_OPTIONS; i++) {
        if (test->options[i].name != NULL) {
            options[count++] = test->options[i];
        }
    }

    *node = (struct coll_node){
            .test = test,
            .send = calloc(blocks, test->bytes + 1),
            .recv = calloc(blocks, test->bytes + 1)};
    return node->send != NULL && node->recv != NULL &&
           run_open_with(&node->run, view, options, count, coll->error,
                         sizeof(coll->error)) == 0 &&
           groups_open(node) == AM_OK;
}

/* All nodes are here. */
static void meet(struct coll_node *node)
{
    if (node->test->rests) {
        ns_sim_barrier(node->run.node);
    } else {
        run_meet(&node->run);
    }
}

static am_status_t stage_run(struct coll_node *node, uint64_t *begin_ps,
                             uint64_t *end_ps)
{
    coll_round_fn round =
            node->test->round == NULL ? coll_kind : node->test->round;
    am_status_t status;
    uint64_t now_ps;

    meet(node);
    now_ps = run_now(&node->run);
    *begin_ps = now_ps < *begin_ps ? now_ps : *begin_ps;
    status = round(node);
    now_ps = run_now(&node->run);
    *end_ps = now_ps > *end_ps ? now_ps : *end_ps;
    return status;
}

static void rounds_run(struct coll_node *node, struct coll *coll)
{
    uint32_t stages = node->test->stages == 0 ? 1 : node->test->stages;
    am_status_t status = AM_OK;

    for (uint32_t i = 0; i < (WARMUP + ROUNDS) * stages && status == AM_OK;
         i++) {
        node->stage = i % stages;
        status = stage_run(node, &coll->begin_ps[i / stages][i % stages],
                           &coll->end_ps[i / stages][i % stages]);
    }
    if (status != AM_OK && !coll->failed) {
        coll->failed = true;
        snprintf(coll->error, sizeof(coll->error), "a collective failed: %s",
                 am_status_text(status));
        ns_sim_abort(node->run.node);
    }
}

static void coll_body(void *arg, struct ns_sim_node *view)
{
    struct coll *coll = arg;
    struct coll_node node;

    if (node_open(&node, coll, view)) {
        rounds_run(&node, coll);
        meet(&node);
        (void)am_coll_group_close(node.group);
        if (node.local != NULL) {
            (void)am_coll_group_close(node.local);
        }
        run_close(&node.run);
    } else {
        coll->failed = true;
        ns_sim_abort(view);
    }
    free(node.send);
    free(node.recv);
}

/* The variable of the kind. */
static void option_name(struct coll *coll)
{
    static const char *const names[AM_COLL_KINDS] = {
            [AM_COLL_BARRIER] = "BARRIER",
            [AM_COLL_BCAST] = "BCAST",
            [AM_COLL_REDUCE] = "REDUCE",
            [AM_COLL_ALLREDUCE] = "ALLREDUCE",
            [AM_COLL_ALLGATHER] = "ALLGATHER",
            [AM_COLL_REDUCE_SCATTER] = "REDUCE_SCATTER",
            [AM_COLL_ALLTOALL] = "ALLTOALL",
    };

    snprintf(coll->option, sizeof(coll->option), "AM_COLL_%s",
             names[coll->test->kind]);
}

static uint64_t mean_ps(const struct coll *coll, uint32_t stage)
{
    uint64_t sum_ps = 0;

    for (uint32_t i = WARMUP; i < WARMUP + ROUNDS; i++) {
        sum_ps += coll->end_ps[i][stage] - coll->begin_ps[i][stage];
    }
    return sum_ps / ROUNDS;
}

int coll_run(const struct sim_options *options,
             const struct ns_machine *machine, struct coll_test *test)
{
    struct coll coll = {.test = test, .error = "out of memory"};
    struct ns_sim_params params = options->params;
    struct ns_sim_result result;
    struct ns_sim *sim;
    int status = -1;

    option_name(&coll);
    memset(coll.begin_ps, 0xff, sizeof(coll.begin_ps));
    params.nodes = test->nodes;
    sim = ns_sim_open(machine, &params, coll.error, sizeof(coll.error));
    if (sim != NULL) {
        status = ns_sim_run(sim, coll_body, &coll, &result, coll.error,
                            sizeof(coll.error));
        ns_sim_close(sim);
    }
    for (uint32_t i = 0; i < COLL_STAGES; i++) {
        test->stage_ps[i] = mean_ps(&coll, i);
    }
    test->ps = test->stage_ps[0];
    return status != 0 || coll.failed ? sim_fail(coll.error) : EXIT_SUCCESS;
}
