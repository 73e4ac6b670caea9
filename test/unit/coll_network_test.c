/*
 * Collectives that the network itself carries, on simulated machines: values against
 * what they must be, with many under way at a time; whose the network is.
 */
#include "support/cm.h"
#include "support/sim_ctx.h"

#include "base/prng.h"
#include "collectives/coll.h"
#include "nicsim_port.h"
#include "nicsim_sim.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES = 9,
    ROUNDS = 60,
    FLYING = 4,   /* collectives of one group at a time */
    WORDS_MAX = 3000
};

struct node {
    struct ns_sim_node *view;
    struct am_ctx *ctx;
    uint32_t failures;
};

/* One collective under way. */
struct flight {
    am_coll_kind_t kind;
    am_coll_op_t op;
    am_coll_type_t type;
    uint32_t root, count, salt;
    uint32_t send[WORDS_MAX], recv[WORDS_MAX];
    bool is_done;
    am_status_t status;
};

static const struct {
    am_coll_op_t op;
    am_coll_type_t type;
} ops[] = {
        {AM_COLL_SUM, AM_COLL_INT32},   {AM_COLL_SUM, AM_COLL_UINT32},
        {AM_COLL_MAX, AM_COLL_INT32},   {AM_COLL_MIN, AM_COLL_INT32},
        {AM_COLL_MAX, AM_COLL_UINT32},  {AM_COLL_MIN, AM_COLL_UINT32},
        {AM_COLL_BXOR, AM_COLL_UINT64}, {AM_COLL_BOR, AM_COLL_UINT8},
        {AM_COLL_PROD, AM_COLL_INT32}, /* not of a network */
};

static uint32_t value_of(const struct flight *flight, uint32_t rank, uint32_t at)
{
    return (rank + 1) * 2654435761u + at * 40503u + flight->salt;
}

static void on_done(void *arg, am_status_t status)
{
    struct flight *flight = arg;

    flight->is_done = true;
    flight->status = status;
}

/* The same draws at all nodes. */
static void flight_draw(struct flight *flight, uint32_t size,
                        struct am_prng *prng)
{
    static const am_coll_kind_t kinds[] = {AM_COLL_BARRIER, AM_COLL_BCAST,
                                           AM_COLL_REDUCE, AM_COLL_ALLREDUCE};
    uint32_t op = am_prng_next(prng) % (sizeof(ops) / sizeof(ops[0]));
    bool is_short = am_prng_next(prng) % 4 != 0;

    flight->kind = kinds[am_prng_next(prng) % 4];
    flight->op = ops[op].op;
    flight->type = ops[op].type;
    flight->root = (uint32_t)am_prng_next(prng) % size;
    flight->count = am_prng_next(prng) % (is_short ? 70 : WORDS_MAX / 2) * 2;
    flight->salt = (uint32_t)am_prng_next(prng);
    flight->is_done = false;
}

static void flight_start(struct node *node, struct am_coll_group *group,
                         struct flight *flight)
{
    uint32_t rank = am_coll_group_rank(group);
    struct am_coll_call call = {.kind = flight->kind,
                                .root = flight->root,
                                .send = flight->send,
                                .recv = flight->recv,
                                .count = flight->count * sizeof(uint32_t)};
    am_status_t status;

    memset(flight->recv, 0x55, sizeof(flight->recv));
    for (uint32_t i = 0; i < flight->count; i++) {
        flight->send[i] = value_of(flight, rank, i);
    }
    if (flight->kind == AM_COLL_BCAST) {
        call.send = NULL;
        if (rank == flight->root) {
            memcpy(flight->recv, flight->send, sizeof(flight->recv));
        }
    } else if (flight->kind != AM_COLL_BARRIER) {
        (void)am_coll_operator_get(flight->op, flight->type, &call.op);
        call.count /= call.op.element_bytes;
    }
    status = am_coll_start(group, &call, on_done, flight);
    if (status == AM_DONE) {
        on_done(flight, AM_OK);
    }
    node->failures += status != AM_DONE && status != AM_OK;
}

/* What the operator makes of all members' values, at the place i. */
static uint32_t wanted(const struct flight *flight, uint32_t size, uint32_t i)
{
    struct am_coll_operator op;
    uint64_t pair[2], inout = 0;
    uint32_t at = i % 2, word[2];

    (void)am_coll_operator_get(flight->op, flight->type, &op);
    for (uint32_t rank = 0; rank < size; rank++) {
        word[0] = value_of(flight, rank, i - at);
        word[1] = value_of(flight, rank, i - at + 1);
        memcpy(&pair[0], word, sizeof(word));
        if (rank == 0) {
            inout = pair[0];
        } else {
            memcpy(&pair[1], &inout, sizeof(inout));
            op.reduce(op.arg, &pair[1], &pair[0], 8 / op.element_bytes);
            inout = pair[0];
        }
    }
    memcpy(word, &inout, sizeof(word));
    return word[at];
}

static void flight_check(struct node *node, struct am_coll_group *group,
                         const struct flight *flight)
{
    uint32_t rank = am_coll_group_rank(group);
    bool reduces = flight->kind == AM_COLL_REDUCE && rank == flight->root;

    node->failures += flight->status != AM_OK;
    for (uint32_t i = 0; i < flight->count; i++) {
        if (flight->kind == AM_COLL_BCAST) {
            node->failures += flight->recv[i] !=
                              value_of(flight, flight->root, i);
        } else if (flight->kind == AM_COLL_ALLREDUCE || reduces) {
            node->failures += flight->recv[i] !=
                              wanted(flight, am_coll_group_size(group), i);
        }
    }
    for (uint32_t i = flight->count; i < WORDS_MAX; i++) { /* nothing past it */
        node->failures += flight->kind != AM_COLL_BCAST &&
                          flight->recv[i] != 0x55555555u;
    }
}

/* Some at a time; now and then a node is late. */
static void rounds_run(struct node *node, struct am_coll_group *group,
                       uint64_t seed, int rounds)
{
    struct flight *flights = calloc(FLYING, sizeof(*flights));
    struct am_prng prng, own;

    am_prng_seed(&prng, seed);
    am_prng_seed(&own, seed + node->view->rank);
    for (int round = 0; round < rounds; round++) {
        uint32_t count = 1 + (uint32_t)am_prng_next(&prng) % FLYING;

        if (am_prng_next(&own) % 8 == 0) {
            am_env_charge(node->view->env, AM_COST_COPY, 100000);
        }
        for (uint32_t i = 0; i < count; i++) {
            flight_draw(&flights[i], am_coll_group_size(group), &prng);
            flight_start(node, group, &flights[i]);
        }
        for (uint32_t i = 0; i < count; i++) {
            while (!flights[i].is_done) {
                (void)am_ctx_poll_wait(node->ctx);
            }
            flight_check(node, group, &flights[i]);
        }
    }
    free(flights);
}

static uint64_t counter_of(const struct node *node, int which)
{
    return am_coll_of(node->ctx)->stats[which];
}

static bool machine_combines(const struct node *node)
{
    const struct ns_port *port = node->view->env->port;

    return strcmp(port->nic, "bgp") == 0;
}

/* The first group of all has the network, the second has not, and the third has it as
 * the first is closed.  Half of the ranks never have it. */
static void groups_run(struct node *node)
{
    uint32_t half[NODES], count = 0, rank = node->view->rank;
    struct am_coll_group *all[3], *some = NULL;
    bool combines = machine_combines(node);
    uint64_t before, after;

    for (uint32_t i = 0; i < NODES; i += 2) {
        half[count++] = i;
    }
    for (uint32_t i = 0; i < 2; i++) {
        node->failures += am_coll_group_open(node->ctx, 1 + i, NULL, 0,
                                             &all[i]) != AM_OK;
        rounds_run(node, all[i], 7 + i, ROUNDS);
    }
    before = counter_of(node, AM_COLL_STAT_NETWORK);
    node->failures += combines != (before > ROUNDS);
    node->failures += combines == (counter_of(node, AM_COLL_STAT_CAST) > 0);
    rounds_run(node, all[1], 11, 10);
    node->failures += counter_of(node, AM_COLL_STAT_NETWORK) != before;
    if (rank % 2 == 0) {
        node->failures += am_coll_group_open(node->ctx, 3, half, count,
                                             &some) != AM_OK;
        rounds_run(node, some, 12, 10);
        node->failures += am_coll_group_close(some) != AM_OK;
    }
    node->failures += am_coll_group_close(all[0]) != AM_OK;
    node->failures +=
            am_coll_group_open(node->ctx, 4, NULL, 0, &all[2]) != AM_OK;
    rounds_run(node, all[2], 13, 20);
    after = counter_of(node, AM_COLL_STAT_NETWORK);
    node->failures += combines != (after > before);
    node->failures += am_coll_group_close(all[1]) != AM_OK;
    node->failures += am_coll_group_close(all[2]) != AM_OK;
}

/* Without a window each message waits until it is asked for, so that none is cast. */
static void no_window_body(void *arg, struct ns_sim_node *view)
{
    static const struct am_option options[] = {{"AM_COLL_BCAST", "multicast"},
                                               {"AM_COLL_WINDOW", "0"}};
    struct node node = {.view = view};
    struct am_coll_group *all = NULL;
    uint32_t *failures = arg;

    node.ctx = sim_ctx_open(view, options, 2);
    if (node.ctx == NULL) {
        return;
    }
    sim_ctx_meet(view, node.ctx);
    node.failures += am_coll_group_open(node.ctx, 1, NULL, 0, &all) != AM_OK;
    rounds_run(&node, all, 3, 10);
    node.failures += counter_of(&node, AM_COLL_STAT_CAST) != 0;
    node.failures += am_coll_group_close(all) != AM_OK;
    failures[view->rank] = node.failures;
    sim_ctx_close(view, node.ctx);
}

static void body(void *arg, struct ns_sim_node *view)
{
    static const struct am_option combining[] = {
            {"AM_COLL_BARRIER", "network"},
            {"AM_COLL_BCAST", "network"},
            {"AM_COLL_REDUCE", "network"},
            {"AM_COLL_ALLREDUCE", "network"}};
    static const struct am_option casting[] = {{"AM_COLL_BCAST", "multicast"},
                                               {"AM_COLL_EAGER_MAX", "max"}};
    struct node node = {.view = view};
    uint32_t *failures = arg;
    bool combines = machine_combines(&node);

    node.ctx = sim_ctx_open(view, combines ? combining : casting,
                            combines ? 4 : 2);
    if (node.ctx == NULL) {
        return;
    }
    sim_ctx_meet(view, node.ctx);
    groups_run(&node);
    failures[view->rank] = node.failures;
    sim_ctx_close(view, node.ctx);
}

static void machine_run(const char *name, const char *const *sets,
                        uint32_t set_count,
                        void (*run)(void *arg, struct ns_sim_node *view))
{
    char error[256] = "";
    struct ns_machine *machine = ns_machine_load(name, sets, set_count, error,
                                                 sizeof(error));
    struct ns_sim_params params = {.nodes = NODES,
                                   .limit_ps = 10 * NS_PS_PER_SECOND};
    uint32_t failures[NODES];
    struct ns_sim_result result;
    struct ns_sim *sim;

    memset(failures, 0xff, sizeof(failures));
    assert_non_null(machine);
    sim = ns_sim_open(machine, &params, error, sizeof(error));
    if (sim == NULL ||
        ns_sim_run(sim, run, failures, &result, error, sizeof(error)) != 0) {
        fail_msg("%s: %s", name, error);
    }
    ns_sim_close(sim);
    free(machine);
    for (uint32_t i = 0; i < NODES; i++) {
        assert_int_equal(failures[i], 0);
    }
}

static void test_combined(void **state)
{
    (void)state;
    machine_run("bgp", NULL, 0, body);
}

static void test_combined_late(void **state)
{
    const char *const sets[] = {"net.fault.drop=1/50"};

    (void)state;
    machine_run("bgp", sets, 1, body);
}

static void test_multicast(void **state)
{
    (void)state;
    machine_run("myrinet-p3", NULL, 0, body);
}

static void test_no_window(void **state)
{
    (void)state;
    machine_run("myrinet-p3", NULL, 0, no_window_body);
}

static void test_multicast_by_hosts(void **state)
{
    const char *const sets[] = {"lanai.multicast=host"};

    (void)state;
    machine_run("myrinet-ppro", sets, 1, body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_combined),
            cmocka_unit_test(test_combined_late),
            cmocka_unit_test(test_multicast),
            cmocka_unit_test(test_multicast_by_hosts),
            cmocka_unit_test(test_no_window),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
