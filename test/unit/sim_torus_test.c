/*
 * The torus and the collective network: closed forms, LogGP parameters fitted
 * from runs, order, conservation, deposited copies, the check for deadlock, the
 * ALU.
 */
#include "net/torus.h"
#include "net/tree.h"
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

#define CLOCK_PS UINT64_C(2353)

enum {
    NODES_MAX = 64
};

struct net;

/* An adapter that takes a packet and is ready again after `hold_ps`. */
struct sink {
    struct net *net;
    struct ns_component component;
    struct ns_event event;
    uint32_t node;
    uint64_t hold_ps, last_ps;
    uint64_t count, last_id[NODES_MAX];
    uint32_t waiting; /* packets to be injected when there is room */
};

struct net {
    struct ns_engine *engine;
    struct ns_torus *torus;
    struct sink sink[NODES_MAX];
    uint64_t injected;
    uint8_t flags; /* of random packets: of every second one */
};

static void sink_ready(struct ns_event *event)
{
    struct sink *sink = am_container(event, struct sink, event);

    ns_torus_ready(sink->net->torus, sink->node);
}

static void sink_deliver(void *nic, struct ns_torus_packet *packet)
{
    struct sink *sink = nic;

    sink->count++;
    sink->last_ps = ns_engine_now(sink->net->engine);
    if (packet->flags == 0) { /* deterministic: in order for each pair */
        assert_true(packet->id > sink->last_id[packet->source]);
        sink->last_id[packet->source] = packet->id;
    }
    ns_torus_packet_put(sink->net->torus, packet);
    ns_event_schedule(&sink->component, &sink->event, NS_PHASE_NIC,
                      sink->last_ps + sink->hold_ps);
}

static struct ns_torus_packet *packet_new(struct net *net, uint32_t from,
                                          uint32_t to, uint32_t bytes,
                                          uint8_t flags)
{
    struct ns_torus_packet *packet = ns_torus_packet_get(net->torus);

    packet->id = ++net->injected;
    packet->source = from;
    packet->destination = to;
    packet->bytes = (uint16_t)bytes;
    packet->flags = flags;
    ns_torus_route(net->torus, packet);
    return packet;
}

static uint32_t draw(uint32_t below)
{
    static uint64_t state = 1;

    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (uint32_t)(state >> 33) % below;
}

/* Inject random packets as long as there is room. */
static void sink_room(void *nic)
{
    struct sink *sink = nic;
    uint32_t shape[3], nodes;

    ns_torus_shape(sink->net->torus, shape);
    nodes = shape[0] * shape[1] * shape[2];
    while (sink->waiting > 0) {
        uint32_t to = (sink->node + 1 + draw(nodes - 1)) % nodes;
        struct ns_torus_packet *packet =
                packet_new(sink->net, sink->node, to, 16 + draw(241),
                           draw(2) == 0 ? sink->net->flags : 0);

        if (!ns_torus_has_room(sink->net->torus, packet)) {
            ns_torus_packet_put(sink->net->torus, packet);
            return;
        }
        sink->waiting--;
        ns_torus_inject(sink->net->torus, packet);
    }
}

static const struct ns_torus_ops sink_ops = {sink_deliver, sink_room};

static void net_open_with(struct net *net, uint32_t nodes,
                          const struct ns_torus_settings *settings,
                          bool no_sleep)
{
    const struct ns_engine_params params = {.no_sleep = no_sleep};

    memset(net, 0, sizeof(*net));
    net->engine = ns_engine_open(&params, nodes);
    net->torus = ns_torus_open(net->engine, settings, nodes);
    assert_non_null(net->torus);
    for (uint32_t i = 0; i < nodes; i++) {
        struct sink *sink = &net->sink[i];

        sink->net = net;
        sink->node = i;
        ns_component_init(&sink->component, net->engine, "sink", i);
        ns_event_init(&sink->event, sink_ready);
        ns_torus_attach(net->torus, i, sink, &sink_ops);
    }
}

static void net_open(struct net *net, uint32_t nodes, uint64_t buffer_bytes,
                     bool no_sleep)
{
    const struct ns_torus_settings settings = {.clock_ps = CLOCK_PS,
                                               .hop_cycles = 32,
                                               .overhead_bytes = 16,
                                               .buffer_bytes = buffer_bytes};

    net_open_with(net, nodes, &settings, no_sleep);
}

static void net_close(struct net *net)
{
    assert_true(ns_torus_quiet(net->torus));
    ns_torus_close(net->torus);
    ns_engine_close(net->engine);
}

static void test_shape(void **state)
{
    static const uint32_t shapes[][4] = {
            {1, 1, 1, 1},  {2, 2, 1, 1},   {7, 7, 1, 1},      {12, 3, 2, 2},
            {27, 3, 3, 3}, {512, 8, 8, 8}, {4096, 16, 16, 16}};

    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        uint32_t side[3];

        ns_torus_sides(shapes[i][0], side);
        assert_int_equal(side[0], shapes[i][1]);
        assert_int_equal(side[1], shapes[i][2]);
        assert_int_equal(side[2], shapes[i][3]);
    }
}

/* The default routes are free of deadlock; with one turn more, or buffers for
 * one packet only, they are not. */
static void test_deadlock(void **state)
{
    const uint32_t side[3] = {4, 3, 2};
    struct ns_torus_settings settings = {.buffer_bytes = 512};
    uint8_t turns[NS_TORUS_WAYS];

    assert_null(ns_torus_deadlock(&settings, side, ns_torus_turns));
    memcpy(turns, ns_torus_turns, sizeof(turns));
    turns[4] |= 1u << 0; /* from z back to x */
    assert_non_null(ns_torus_deadlock(&settings, side, turns));
    settings.buffer_bytes = 256;
    assert_non_null(ns_torus_deadlock(&settings, side, ns_torus_turns));
}

/* One packet alone takes its hops and its bytes, to the picosecond. */
static void test_alone(void **state)
{
    for (uint32_t to = 1; to < 27; to++) {
        struct net net;
        uint32_t hops, bytes = 32 + to;

        net_open(&net, 27, 1024, to == 26);
        hops = ns_torus_distance(net.torus, 0, to);
        ns_torus_inject(net.torus, packet_new(&net, 0, to, bytes,
                                              to % 2 ? NS_TORUS_ADAPTIVE : 0));
        while (net.sink[to].count == 0) {
            assert_int_equal(ns_engine_step(net.engine), NS_RUN_STOPPED);
        }
        assert_int_equal(net.sink[to].last_ps,
                         (hops * 32 + bytes + 16) * CLOCK_PS);
        assert_int_equal(net.sink[to].last_ps,
                         ns_torus_alone_ps(net.torus, hops, bytes));
        net_close(&net);
    }
}

/* -------------------------------------------------------------------- LogGP */

/* A stream of packets, injected as there is room. */
struct stream {
    struct net net;
    uint32_t to, bytes, left;
};

static void stream_room(void *nic)
{
    struct stream *stream =
            am_container((struct sink *)nic, struct stream, net.sink[0]);
    struct net *net = &stream->net;

    while (stream->left > 0) {
        struct ns_torus_packet *packet =
                packet_new(net, 0, stream->to, stream->bytes, 0);

        if (!ns_torus_has_room(net->torus, packet)) {
            ns_torus_packet_put(net->torus, packet);
            return;
        }
        stream->left--;
        ns_torus_inject(net->torus, packet);
    }
}

static const struct ns_torus_ops stream_ops = {sink_deliver, stream_room};

/* Time of the last byte of `count` packets from node 0 of 64 to `to`. */
static uint64_t stream_ps(const struct ns_torus_settings *settings, uint32_t to,
                          uint32_t bytes, uint32_t count)
{
    struct stream stream = {.to = to, .bytes = bytes, .left = count};
    uint64_t last_ps;

    net_open_with(&stream.net, 64, settings, false);
    ns_torus_attach(stream.net.torus, 0, &stream.net.sink[0], &stream_ops);
    stream_room(&stream.net.sink[0]);
    assert_int_equal(ns_engine_run(stream.net.engine), NS_RUN_IDLE);
    assert_int_equal(stream.net.sink[to].count, count);
    last_ps = stream.net.sink[to].last_ps;
    net_close(&stream.net);
    return last_ps;
}

/* LogGP of the torus, fitted from runs: L, G and g are those of the file, and
 * every run lies on the line.  A link's byte takes a cycle, and so does each of
 * a packet's overhead, which is in L and in g. */
static void fit(const char *set, uint32_t to, uint64_t latency_ps,
                uint64_t byte_ps, uint64_t overhead_bytes)
{
    char error[200] = "";
    struct ns_machine *machine =
            ns_machine_load("bgp", &set, set != NULL, error, sizeof(error));
    const struct ns_torus_settings *torus;
    uint64_t low_ps, slope_ps, intercept_ps;

    assert_non_null(machine);
    torus = &machine->torus;
    low_ps = stream_ps(torus, to, 32, 1);
    slope_ps = (stream_ps(torus, to, 256, 1) - low_ps) / (256 - 32);
    intercept_ps = low_ps - 32 * slope_ps;
    assert_int_equal(slope_ps, byte_ps);
    assert_int_equal(intercept_ps, latency_ps + overhead_bytes * byte_ps);
    for (uint32_t bytes = 16; bytes <= 256; bytes += 16) {
        uint64_t one_ps = stream_ps(torus, to, bytes, 1);

        assert_int_equal(one_ps, intercept_ps + bytes * slope_ps);
        /* g: a packet follows the last as soon as that has left */
        assert_int_equal(stream_ps(torus, to, bytes, 50) - one_ps,
                         49 * (bytes + overhead_bytes) * byte_ps);
    }
    free(machine);
}

static void test_loggp(void **state)
{
    /* 32 cycles of 2353 ps a hop; node 42 is two hops away each way */
    fit(NULL, 1, 75296, 2353, 16);
    fit(NULL, 42, 451776, 2353, 16);
    fit("net.hop=100 cycles", 42, 1411800, 2353, 16);
    fit("net.clock=500 MHz", 1, 64000, 2000, 16);
    fit("net.overhead=40 B", 1, 75296, 2353, 40);
}

/* Far more than the buffers hold, slow receivers: all arrive, in order where
 * that is promised, and every buffer is empty at the end. */
static void heavy(uint32_t nodes, uint64_t buffer_bytes, uint8_t flags)
{
    enum {
        EACH = 300
    };

    struct net net;
    uint64_t count = 0;

    net_open(&net, nodes, buffer_bytes, false);
    net.flags = flags;
    for (uint32_t i = 0; i < nodes; i++) {
        net.sink[i].hold_ps = i % 3 * 400000;
        net.sink[i].waiting = EACH;
        sink_room(&net.sink[i]);
    }
    assert_int_equal(ns_engine_run(net.engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(net.sink[i].waiting, 0);
        count += net.sink[i].count;
    }
    assert_int_equal(count, (uint64_t)nodes * EACH);
    net_close(&net);
}

static void test_heavy(void **state)
{
    heavy(27, 512, NS_TORUS_ADAPTIVE);
    heavy(27, 512, 0);
    heavy(64, 1024, NS_TORUS_ADAPTIVE);
    heavy(5, 512, NS_TORUS_ADAPTIVE);
}

/* Along a line each node passed keeps a copy. */
static void test_deposit(void **state)
{
    struct net net;

    net_open(&net, 7, 1024, false);
    ns_torus_inject(net.torus, packet_new(&net, 1, 4, 100, NS_TORUS_DEPOSIT));
    assert_int_equal(ns_engine_run(net.engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(net.sink[i].count, i >= 2 && i <= 4);
    }
    assert_int_equal(ns_torus_stats(net.torus)->copied, 2);
    net_close(&net);
}

/* ------------------------------------------------------ collective network */

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

static void tree_all(uint32_t nodes, ns_bgp_tree_op_t op, uint32_t packets)
{
    const struct ns_engine_params params = {.seed = 1};
    const struct ns_tree_settings settings = {.bytes_per_second = 850000000,
                                              .overhead_bytes = 8,
                                              .hop_ps = 100000,
                                              .arity = 2,
                                              .buffer_packets = 4,
                                              .barrier_ps = 1300000};
    struct ns_engine *engine = ns_engine_open(&params, nodes);
    struct ns_tree *tree = ns_tree_open(engine, &settings, nodes, nodes);
    struct port port[NODES_MAX] = {{0}};
    struct ns_tree_packet packet;
    uint64_t last_ps = 0;

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
    if (packets == 1) {
        assert_int_equal(last_ps, ns_tree_alone_ps(tree, ns_tree_depth(tree)));
    }
    assert_true(ns_tree_quiet(tree));
    /* the global interrupt */
    last_ps = ns_engine_now(engine);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(port[i].barriers, 0);
        ns_tree_enter(tree);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < nodes; i++) {
        assert_int_equal(port[i].barriers, 1);
        assert_int_equal(port[i].arrived_ps, last_ps + settings.barrier_ps);
    }
    ns_tree_close(tree);
    ns_engine_close(engine);
}

static void test_tree(void **state)
{
    tree_all(1, NS_BGP_TREE_ADD, 1);
    tree_all(7, NS_BGP_TREE_ADD, 1);
    tree_all(12, NS_BGP_TREE_MAX, 1);
    tree_all(30, NS_BGP_TREE_MIN, 4);
    tree_all(64, NS_BGP_TREE_ADD, 4);
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
            cmocka_unit_test(test_shape), cmocka_unit_test(test_deadlock),
            cmocka_unit_test(test_alone), cmocka_unit_test(test_loggp),
            cmocka_unit_test(test_heavy), cmocka_unit_test(test_deposit),
            cmocka_unit_test(test_tree),  cmocka_unit_test(test_loggp_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
