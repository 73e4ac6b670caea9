/*
 * The collective network and the global interrupt: closed forms, the ALU, links
 * that fail, LogGP parameters fitted from runs.
 */
#include "net/tree.h"
#include "support/cm.h"

#include <stdlib.h>

#define ONE_OF(_n) (UINT64_C(1) << 32 | (_n))

enum {
    NODES_MAX = 64
};

struct port {
    struct ns_engine *engine;
    uint64_t arrived_ps;
    uint32_t arrived, barriers;
};

static void port_arrived(void *nic)
{
    struct port *port = nic;

    port->arrived++;
    port->arrived_ps = ns_engine_now(port->engine);
}

static void port_barrier(void *nic)
{
    struct port *port = nic;

    port->barriers++;
    port->arrived_ps = ns_engine_now(port->engine);
}

/* The global interrupt. */
static void interrupt_all(struct ns_tree *tree, const struct port *port,
                          uint32_t nodes, uint64_t barrier_ps)
{
    struct ns_engine *engine = port[0].engine;
    uint64_t last_ps = ns_engine_now(engine);

    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(port[i].barriers, 0);
        ns_tree_enter(tree);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(port[i].barriers, 1);
        assert_int_equal(port[i].arrived_ps, last_ps + barrier_ps);
    }
}

/* Returns its tries that failed. */
static uint64_t tree_all(uint32_t nodes, ns_bgp_tree_op_t op, uint32_t packets,
                         const struct ns_fault *fault, uint64_t seed)
{
    const struct ns_engine_params params = {.seed = seed, .fault = fault};
    const struct ns_tree_settings settings = {.bytes_per_second = 850000000,
                                              .overhead_bytes = 8,
                                              .hop_ps = 100000,
                                              .arity = 2,
                                              .buffer_packets = 4,
                                              .nack_bytes = 17,
                                              .resend_ps = 3000000,
                                              .barrier_ps = 1300000};
    struct ns_engine *engine = ns_engine_open(&params, nodes);
    struct ns_tree *tree = ns_tree_open(engine, &settings, nodes, nodes);
    struct port port[NODES_MAX] = {{0}};
    struct ns_tree_packet packet;
    uint64_t last_ps = 0, resent;

    for (uint32_t i = 0; i < nodes; i++) {
        port[i].engine = engine;
        ns_tree_attach(tree, i, &port[i], port_arrived);
        ns_tree_member(tree, i, &port[i], port_barrier);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        for (uint32_t k = 0; k < packets; k++) {
            packet.word = NS_BGP_TREE_WORD(op, 0);
            for (uint32_t w = 0; w < NS_BGP_TREE_BYTES / 4; w++) {
                packet.data[w] = i + 10 * k + w;
            }
            assert_true(ns_tree_send(tree, i, &packet));
        }
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(port[i].arrived, packets);
        last_ps = port[i].arrived_ps > last_ps ? port[i].arrived_ps : last_ps;
        for (uint32_t k = 0; k < packets; k++) {
            assert_true(ns_tree_take(tree, i, &packet));
            for (uint32_t w = 0; w < NS_BGP_TREE_BYTES / 4; w++) {
                uint32_t first = 10 * k + w;

                assert_int_equal(packet.data[w],
                                 op == NS_BGP_TREE_ADD
                                         ? nodes * first +
                                                   nodes * (nodes - 1) / 2
                                 : op == NS_BGP_TREE_MAX ? first + nodes - 1
                                                         : first);
            }
        }
        assert_false(ns_tree_take(tree, i, &packet));
    }
    resent = ns_engine_faults(engine)->resent;
    if (packets == 1 && (fault == NULL || nodes == 2)) {
        /* a try: 264 bytes, there and back, 17 bytes; and what is waited for */
        assert_int_equal(last_ps,
                         ns_tree_alone_ps(tree, ns_tree_depth(tree)) +
                                 resent * (310589 + 2 * 100000 + 20000) +
                                 ns_engine_faults(engine)->dropped * 3000000);
    }
    assert_true(ns_tree_quiet(tree));
    interrupt_all(tree, port, nodes, settings.barrier_ps);
    ns_tree_close(tree);
    ns_engine_close(engine);
    return resent;
}

static void test_tree(void **state)
{
    tree_all(1, NS_BGP_TREE_ADD, 1, NULL, 1);
    tree_all(7, NS_BGP_TREE_ADD, 1, NULL, 1);
    tree_all(12, NS_BGP_TREE_MAX, 1, NULL, 1);
    tree_all(30, NS_BGP_TREE_MIN, 4, NULL, 1);
    tree_all(64, NS_BGP_TREE_ADD, 4, NULL, 1);
}

/* Its links that fail send again: the values are right, and between two nodes
 * the time is the sum of the tries. */
static void test_tree_faults(void **state)
{
    const struct ns_fault up = {.port = "tree-up", .corrupt = ONE_OF(3)};
    const struct ns_fault down = {.port = "tree-down.0", .drop = ONE_OF(3)};
    const struct ns_fault all = {.port = "any",
                                 .corrupt = ONE_OF(9),
                                 .drop = ONE_OF(9),
                                 .stall = ONE_OF(9),
                                 .stall_ps = 700000,
                                 .overflow = ONE_OF(99),
                                 .overflow_ps = 700000};
    uint64_t none = 0, some = 0;

    for (uint64_t seed = 1; seed <= 30; seed++) {
        uint64_t resent = tree_all(2, NS_BGP_TREE_ADD, 1, &up, seed);

        none += resent == 0;
        some += resent > 0;
        resent = tree_all(2, NS_BGP_TREE_MAX, 1, &down, seed);
        none += resent == 0;
        some += resent > 0;
        assert_true(tree_all(30, NS_BGP_TREE_MIN, 4, &all, seed) > 0);
        assert_true(tree_all(64, NS_BGP_TREE_ADD, 4, &all, seed) > 0);
    }
    assert_true(none > 0 && some > 0);
}

/* A node's port in a stream: what has come is taken at once. */
struct drain {
    struct ns_engine *engine;
    struct ns_tree *tree;
    uint32_t node, count;
    uint64_t last_ps;
};

static void drain_arrived(void *nic)
{
    struct drain *drain = nic;
    struct ns_tree_packet packet;

    assert_true(ns_tree_take(drain->tree, drain->node, &packet));
    drain->count++;
    drain->last_ps = ns_engine_now(drain->engine);
}

/* All nodes add `count` packets: when the last has come to the last; hops
 * from there to the top. */
static uint64_t tree_stream_ps(const struct ns_tree_settings *settings,
                               uint32_t nodes, uint32_t count,
                               uint32_t *depth_p)
{
    const struct ns_engine_params params = {.seed = 1};
    const struct ns_tree_packet packet = {
            .word = NS_BGP_TREE_WORD(NS_BGP_TREE_ADD, 0)};
    struct ns_engine *engine = ns_engine_open(&params, nodes);
    struct ns_tree *tree = ns_tree_open(engine, settings, nodes, nodes);
    struct drain drain[NODES_MAX];
    uint64_t last_ps = 0;

    for (uint32_t i = 0; i < nodes; i++) {
        drain[i] = (struct drain){engine, tree, i, 0, 0};
        ns_tree_attach(tree, i, &drain[i], drain_arrived);
        for (uint32_t k = 0; k < count; k++) {
            assert_true(ns_tree_send(tree, i, &packet));
        }
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(drain[i].count, count);
        last_ps = drain[i].last_ps > last_ps ? drain[i].last_ps : last_ps;
    }
    assert_true(ns_tree_quiet(tree));
    *depth_p = ns_tree_depth(tree);
    ns_tree_close(tree);
    ns_engine_close(engine);
    return last_ps;
}

/* A hop, fitted from trees of two depths, and g, which is what a packet's bytes
 * take on a link, are those of the file; every tree lies on the line. */
static void fit_tree(const char *set, uint64_t hop_ps, uint64_t gap_ps)
{
    char error[200] = "";
    struct ns_machine *machine =
            ns_machine_load("bgp", &set, set != NULL, error, sizeof(error));
    uint64_t low_ps, high_ps;
    uint32_t low, high, depth;

    assert_non_null(machine);
    low_ps = tree_stream_ps(&machine->tree, 3, 1, &low);
    high_ps = tree_stream_ps(&machine->tree, NODES_MAX, 1, &high);
    assert_true(high > low);
    assert_int_equal((high_ps - low_ps) / (2 * (high - low)), hop_ps);
    assert_int_equal(low_ps - 2 * low * hop_ps, gap_ps);
    for (uint32_t nodes = 1; nodes <= NODES_MAX; nodes++) {
        uint64_t one_ps = tree_stream_ps(&machine->tree, nodes, 1, &depth);

        assert_int_equal(one_ps, 2 * depth * hop_ps + gap_ps);
        /* as many as the port has room for */
        assert_int_equal(tree_stream_ps(&machine->tree, nodes, 8, &depth) -
                                 one_ps,
                         7 * gap_ps);
    }
    free(machine);
}

static void test_loggp_tree(void **state)
{
    /* 256 + 8 bytes at 850 MB/s */
    fit_tree(NULL, 100000, 310589);
    fit_tree("net.tree_hop=170 ns", 170000, 310589);
    fit_tree("net.tree_rate=1 GB/s", 100000, 264000);
    fit_tree("net.tree_overhead=24 B", 100000, 329412);
    fit_tree("net.tree_arity=4 children", 100000, 310589);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_tree),
            cmocka_unit_test(test_tree_faults),
            cmocka_unit_test(test_loggp_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
