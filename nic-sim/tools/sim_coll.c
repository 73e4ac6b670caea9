/*
 * The programs of sim_coll.h: all nodes meet, begin a collective, and the time
 * is over when the last of them has its result.  Virtual time is one for all.
 */
#include "tools/sim_coll.h"

#include <stdlib.h>

enum {
    ROUNDS = 2,
    WARMUP = 1, /* the group's members tell each other what they have */
    GROUP = 1
};

struct coll {
    struct coll_test *test;
    char option[64]; /* AM_COLL_... */
    uint64_t begin_ps[WARMUP + ROUNDS], end_ps[WARMUP + ROUNDS];
    char error[512];
    bool failed;
};

static bool is_exchange(am_coll_kind_t kind)
{
    return kind == AM_COLL_ALLGATHER || kind == AM_COLL_REDUCE_SCATTER ||
           kind == AM_COLL_ALLTOALL;
}

static am_status_t kind_round(struct coll_node *node)
{
    const struct coll_test *test = node->test;
    bool is_sum = test->kind == AM_COLL_REDUCE ||
                  test->kind == AM_COLL_ALLREDUCE ||
                  test->kind == AM_COLL_REDUCE_SCATTER;
    struct am_coll_call call = {.kind = test->kind,
                                .send = node->send,
                                .recv = node->recv,
                                .count = test->bytes};

    if (is_sum) {
        call.count /= sizeof(double);
        (void)am_coll_operator_get(AM_COLL_SUM, AM_COLL_DOUBLE, &call.op);
    }
    return am_coll_run(node->group, &call);
}

static bool node_open(struct coll_node *node, struct coll *coll,
                      struct ns_sim_node *view)
{
    const struct coll_test *test = coll->test;
    const struct am_option option = {coll->option, test->algorithm};
    uint32_t blocks = is_exchange(test->kind) ? view->size : 1;

    *node = (struct coll_node){
            .test = test,
            .send = calloc(blocks, test->bytes + 1),
            .recv = calloc(blocks, test->bytes + 1)};
    return node->send != NULL && node->recv != NULL &&
           run_open_with(&node->run, view, &option, test->algorithm != NULL,
                         coll->error, sizeof(coll->error)) == 0 &&
           am_coll_group_open(node->run.ctx, GROUP, NULL, 0, &node->group) ==
                   AM_OK;
}

static void rounds_run(struct coll_node *node, struct coll *coll)
{
    coll_round_fn round =
            node->test->round == NULL ? kind_round : node->test->round;
    am_status_t status = AM_OK;

    for (uint32_t i = 0; i < WARMUP + ROUNDS && status == AM_OK; i++) {
        uint64_t now_ps;

        run_meet(&node->run);
        now_ps = run_now(&node->run);
        if (now_ps < coll->begin_ps[i]) {
            coll->begin_ps[i] = now_ps;
        }
        status = round(node);
        now_ps = run_now(&node->run);
        if (now_ps > coll->end_ps[i]) {
            coll->end_ps[i] = now_ps;
        }
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
        run_meet(&node.run);
        (void)am_coll_group_close(node.group);
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

static uint64_t mean_ps(const struct coll *coll)
{
    uint64_t sum_ps = 0;

    for (uint32_t i = WARMUP; i < WARMUP + ROUNDS; i++) {
        sum_ps += coll->end_ps[i] - coll->begin_ps[i];
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
    test->ps = mean_ps(&coll);
    return status != 0 || coll.failed ? sim_fail(coll.error) : EXIT_SUCCESS;
}
