/*
 * The nets of sim_torus.h.
 */
#include "support/sim_torus.h"

#include "support/cm.h"

#include <string.h>

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

struct ns_torus_packet *packet_new(struct net *net, uint32_t from, uint32_t to,
                                   uint32_t bytes, uint8_t flags)
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

void net_open_with(struct net *net, uint32_t nodes,
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

const struct ns_torus_settings plain = {.clock_ps = CLOCK_PS,
                                        .hop_cycles = 32,
                                        .overhead_bytes = 16,
                                        .buffer_bytes = 1024,
                                        .nack_bytes = 20,
                                        .resend_ps = 1000 * CLOCK_PS};

void net_open(struct net *net, uint32_t nodes, bool no_sleep)
{
    const struct ns_engine_params params = {.no_sleep = no_sleep};

    net_open_with(net, nodes, &plain, &params);
}

void net_close(struct net *net)
{
    assert_true(ns_torus_quiet(net->torus));
    ns_torus_close(net->torus);
    ns_engine_close(net->engine);
}

/* ------------------------------------------------------------------ streams */

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

uint64_t stream_ps(const struct ns_torus_settings *settings, uint32_t to,
                   uint32_t bytes, uint32_t count, const struct ns_fault *fault)
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

/* -------------------------------------------------------------------- crowds */

void heavy(uint32_t nodes, uint64_t buffer_bytes, uint8_t flags,
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
