/*
 * The torus and the collective network: closed forms, LogGP parameters fitted
 * from runs, order, conservation, deposited copies, the check for deadlock, the
 * ALU, links that fail.
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
                          const struct ns_engine_params *params)
{
    memset(net, 0, sizeof(*net));
    net->engine = ns_engine_open(params, nodes);
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

static const struct ns_torus_settings plain = {.clock_ps = CLOCK_PS,
                                               .hop_cycles = 32,
                                               .overhead_bytes = 16,
                                               .buffer_bytes = 1024,
                                               .nack_bytes = 20,
                                               .resend_ps = 1000 * CLOCK_PS};

static void net_open(struct net *net, uint32_t nodes, bool no_sleep)
{
    const struct ns_engine_params params = {.no_sleep = no_sleep};

    net_open_with(net, nodes, &plain, &params);
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

        net_open(&net, 27, to == 26);
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
                          uint32_t bytes, uint32_t count,
                          const struct ns_fault *fault)
{
    const struct ns_engine_params params = {.fault = fault};
    struct stream stream = {.to = to, .bytes = bytes, .left = count};
    uint64_t last_ps;

    net_open_with(&stream.net, 64, settings, &params);
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
    low_ps = stream_ps(torus, to, 32, 1, NULL);
    slope_ps = (stream_ps(torus, to, 256, 1, NULL) - low_ps) / (256 - 32);
    intercept_ps = low_ps - 32 * slope_ps;
    assert_int_equal(slope_ps, byte_ps);
    assert_int_equal(intercept_ps, latency_ps + overhead_bytes * byte_ps);
    for (uint32_t bytes = 16; bytes <= 256; bytes += 16) {
        uint64_t one_ps = stream_ps(torus, to, bytes, 1, NULL);

        assert_int_equal(one_ps, intercept_ps + bytes * slope_ps);
        /* g: a packet follows the last as soon as that has left */
        assert_int_equal(stream_ps(torus, to, bytes, 50, NULL) - one_ps,
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
static void heavy(uint32_t nodes, uint64_t buffer_bytes, uint8_t flags,
                  const struct ns_fault *fault)
{
    enum {
        EACH = 300
    };

    const struct ns_engine_params params = {.seed = 5, .fault = fault};
    struct ns_torus_settings settings = plain;
    const struct ns_fault_counts *faults;
    struct net net;
    uint64_t count = 0;

    settings.buffer_bytes = buffer_bytes;
    net_open_with(&net, nodes, &settings, &params);
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
    /* every step of a router counts as an event, however many share an edge;
     * and the sinks' own do */
    assert_true(ns_engine_hardware_events(net.engine) >=
                ns_torus_stats(net.torus)->hops +
                        2 * ns_torus_stats(net.torus)->delivered);
    faults = ns_engine_faults(net.engine);
    assert_int_equal(faults->resent,
                     faults->dropped + faults->corrupted + faults->overflowed);
    assert_true(fault == NULL || faults->resent + faults->stalled > 0);
    net_close(&net);
}

static void test_heavy(void **state)
{
    heavy(27, 512, NS_TORUS_ADAPTIVE, NULL);
    heavy(27, 512, 0, NULL);
    heavy(64, 1024, NS_TORUS_ADAPTIVE, NULL);
    heavy(5, 512, NS_TORUS_ADAPTIVE, NULL);
}

/* Along a line each node passed keeps a copy. */
static void test_deposit(void **state)
{
    struct net net;

    net_open(&net, 7, false);
    ns_torus_inject(net.torus, packet_new(&net, 1, 4, 100, NS_TORUS_DEPOSIT));
    assert_int_equal(ns_engine_run(net.engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < 7; i++) {
        assert_int_equal(net.sink[i].count, i >= 2 && i <= 4);
    }
    assert_int_equal(ns_torus_stats(net.torus)->copied, 2);
    net_close(&net);
}

/* -------------------------------------------------------- links that fail */

#define ONE_OF(_n) (UINT64_C(1) << 32 | (_n))

/* Cycles of a try that a link answers by a nack: the packet, there and back,
 * the nack. */
#define SPOILT(_bytes) ((_bytes) + 16 + 2 * 32 + 20)

/* One packet of 100 bytes, two hops alone; the links' faults, and its cycles
 * above those of links without. */
static uint64_t faulty_cycles(const struct ns_fault *fault, uint64_t seed,
                              struct ns_fault_counts *counts_p)
{
    const struct ns_engine_params params = {.seed = seed, .fault = fault};
    struct net net;
    uint64_t alone_ps;

    net_open_with(&net, 27, &plain, &params);
    alone_ps = ns_torus_alone_ps(net.torus, 2, 100);
    ns_torus_inject(net.torus, packet_new(&net, 0, 4, 100, 0));
    while (net.sink[4].count == 0) {
        assert_int_equal(ns_engine_step(net.engine), NS_RUN_STOPPED);
    }
    *counts_p = *ns_engine_faults(net.engine);
    assert_true(net.sink[4].last_ps >= alone_ps);
    assert_int_equal((net.sink[4].last_ps - alone_ps) % CLOCK_PS, 0);
    alone_ps = (net.sink[4].last_ps - alone_ps) / CLOCK_PS;
    net_close(&net);
    return alone_ps;
}

/* What a fault costs is exactly the tries that failed. */
static void test_resend(void **state)
{
    const struct ns_fault corrupt = {.port = "any", .corrupt = ONE_OF(4)};
    const struct ns_fault drop = {.port = "y+.1", .drop = ONE_OF(4)};
    const struct ns_fault other = {.port = "y+.2", .drop = ONE_OF(1)};
    /* farther than the torus's wheel */
    const struct ns_fault stall = {
            .port = "any", .stall = ONE_OF(1), .stall_ps = 5000 * CLOCK_PS};
    /* a try that comes into a full buffer finds it so for 100 cycles */
    const struct ns_fault overflow = {.port = "x+.0",
                                      .overflow = ONE_OF(4),
                                      .overflow_ps = 100 * CLOCK_PS};
    struct ns_fault_counts counts;
    uint64_t none = 0, one = 0, more = 0;

    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t cycles = faulty_cycles(&corrupt, seed, &counts);

        assert_int_equal(cycles, counts.corrupted * SPOILT(100));
        assert_int_equal(counts.resent, counts.corrupted);
        none += counts.corrupted == 0;
        one += counts.corrupted == 1;
        more += counts.corrupted > 1;
        cycles = faulty_cycles(&drop, seed, &counts);
        assert_int_equal(cycles, counts.dropped * (SPOILT(100) + 1000));
        assert_int_equal(counts.resent, counts.dropped);
        cycles = faulty_cycles(&overflow, seed, &counts);
        assert_int_equal(cycles, counts.overflowed * (SPOILT(100) + 1000));
    }
    assert_true(none > 0 && one > 0 && more > 0);
    assert_int_equal(faulty_cycles(&other, 1, &counts), 0);
    assert_int_equal(faulty_cycles(&stall, 1, &counts), 2 * 5000);
    assert_int_equal(counts.stalled, 2);
    assert_int_equal(counts.resent, 0);
    /* of a stream each packet waits once more: none passes the link meanwhile */
    assert_int_equal(stream_ps(&plain, 1, 100, 20, &stall),
                     (32 + 20 * (5000 + 100 + 16)) * CLOCK_PS);
}

/* All arrive, in order where that is promised, whatever the links do. */
static void test_heavy_faults(void **state)
{
    static const struct ns_fault faults[] = {
            {.port = "any", .corrupt = ONE_OF(10)},
            {.port = "any", .drop = ONE_OF(20)},
            {.port = "x-", .stall = ONE_OF(20), .stall_ps = 10000000},
            {.port = "z+.3", .overflow = ONE_OF(50), .overflow_ps = 10000000},
            {.port = "any",
             .corrupt = ONE_OF(50),
             .drop = ONE_OF(50),
             .stall = ONE_OF(50),
             .overflow = ONE_OF(500),
             .stall_ps = 5000000,
             .overflow_ps = 5000000},
    };

    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        heavy(27, 512, NS_TORUS_ADAPTIVE, &faults[i]);
        heavy(27, 1024, 0, &faults[i]);
    }
}

/* A link that lets nothing through is given up, and the run is over. */
static void test_given_up(void **state)
{
    const struct ns_fault fault = {.port = "x+.0", .drop = ONE_OF(1)};
    const struct ns_engine_params params = {.fault = &fault};
    struct net net;

    net_open_with(&net, 8, &plain, &params);
    assert_false(ns_torus_broken(net.torus));
    ns_torus_inject(net.torus, packet_new(&net, 0, 1, 100, 0));
    assert_int_equal(ns_engine_run(net.engine), NS_RUN_STOPPED);
    assert_true(ns_torus_broken(net.torus));
    assert_int_equal(ns_engine_faults(net.engine)->dropped, NS_RESEND_MAX);
    ns_torus_close(net.torus);
    ns_engine_close(net.engine);
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
            cmocka_unit_test(test_shape),
            cmocka_unit_test(test_deadlock),
            cmocka_unit_test(test_alone),
            cmocka_unit_test(test_loggp),
            cmocka_unit_test(test_heavy),
            cmocka_unit_test(test_deposit),
            cmocka_unit_test(test_resend),
            cmocka_unit_test(test_heavy_faults),
            cmocka_unit_test(test_given_up),
            cmocka_unit_test(test_tree),
            cmocka_unit_test(test_tree_faults),
            cmocka_unit_test(test_loggp_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
