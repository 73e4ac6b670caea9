/*
 * nic-sim's links: serialisation, credits, virtual channels, the bubble rule.
 * Faults: sim_link_fault_test.
 */
#include "support/cm.h"
#include "support/sim_packet.h"

#include "nicsim_link.h"

#define BYTE_PS 25000 /* at 40 MB/s */
#define RATE    40000000

static struct ns_engine *open_engine(void)
{
    const struct ns_engine_params params = {.seed = 1};
    struct ns_engine *engine = ns_engine_open(&params, 2);

    assert_non_null(engine);
    return engine;
}

/* What came out of a link, in order. */
struct arrivals {
    uint64_t head_ps[16], tail_ps[16];
    struct ns_packet *packet[16];
    uint32_t count;
};

static void arrive(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct arrivals *arrivals = arg;

    arrivals->packet[arrivals->count] = packet;
    arrivals->tail_ps[arrivals->count] = packet->tail_ps;
    arrivals->head_ps[arrivals->count++] =
            ns_engine_now(link->component.engine);
}

/* Gives credits back at a time. */
struct credit_event {
    struct ns_component component;
    struct ns_event event;
    struct ns_link *link;
    uint32_t vc, units;
};

static void credit_run(struct ns_event *event)
{
    struct credit_event *credit =
            am_container(event, struct credit_event, event);

    ns_link_credit(credit->link, credit->vc, credit->units);
}

static void credit_at(struct credit_event *credit, struct ns_link *link,
                      uint32_t vc, uint32_t units, uint64_t time_ps)
{
    credit->link = link;
    credit->vc = vc;
    credit->units = units;
    ns_component_init(&credit->component, link->component.engine, "credit", 0);
    ns_event_init(&credit->event, credit_run);
    ns_event_schedule(&credit->component, &credit->event, NS_PHASE_NIC,
                      time_ps);
}

static void finish(struct ns_engine *engine, struct ns_packet_pool *pool)
{
    ns_packet_pool_fini(pool);
    ns_engine_close(engine);
}

static void test_link(void **state)
{
    struct ns_engine *engine = open_engine();
    struct ns_packet_pool pool = {0};
    struct arrivals arrivals = {0};
    struct ns_link link;
    struct credit_event credit;
    struct ns_packet *packets[3];

    (void)state;
    /* two buffers at the far end */
    ns_link_init(&link, engine, "link", NS_NODE_NONE, 125000, RATE, 2, arrive,
                 &arrivals);
    for (int i = 0; i < 3; i++) {
        packets[i] = packet_on(&pool, 0, 256);
        ns_link_send(&link, packets[i]);
    }
    credit_at(&credit, &link, 0, 1, 20000000);
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(arrivals.count, 3);
    assert_int_equal(arrivals.head_ps[0], 125000);
    assert_int_equal(arrivals.tail_ps[0], 256 * BYTE_PS + 125000);
    assert_int_equal(arrivals.head_ps[1], 256 * BYTE_PS + 125000);
    assert_int_equal(arrivals.head_ps[2], 20000000 + 125000); /* no credit */
    assert_int_equal(ns_link_stall_ps(&link), 20000000 - 2 * 256 * BYTE_PS);
    assert_int_equal(pool.out, 3);
    for (int i = 0; i < 3; i++) {
        ns_packet_put(&pool, packets[i]);
    }
    assert_int_equal(pool.out, 0);
    finish(engine, &pool);
}

/* A channel without credits holds up no other, and the wire goes round. */
static void test_channels(void **state)
{
    static const uint32_t expected[] = {0, 1, 2, 1, 2, 0};
    const struct ns_link_params params = {
            .name = "link",
            .node = NS_NODE_NONE,
            .latency_ps = 1000,
            .bytes_per_second = RATE,
            .vc_count = 3,
            .credits = {1, 2, 2},
            .sink = arrive,
    };
    struct ns_link_params with_arrivals = params;
    struct ns_engine *engine = open_engine();
    struct ns_packet_pool pool = {.data_bytes = 100};
    struct arrivals arrivals = {0};
    struct ns_link link;
    struct credit_event credit;

    (void)state;
    with_arrivals.sink_arg = &arrivals;
    ns_link_open(&link, engine, &with_arrivals);
    for (int i = 0; i < 6; i++) {
        ns_link_send(&link, packet_on(&pool, (uint32_t)i / 2, 100));
    }
    credit_at(&credit, &link, 0, 1, UINT64_C(1) << 30);
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(arrivals.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_int_equal(arrivals.packet[i]->vc, expected[i]);
        assert_int_equal(arrivals.head_ps[i],
                         i < 5 ? i * 100 * BYTE_PS + 1000
                               : (UINT64_C(1) << 30) + 1000);
    }
    assert_false(ns_link_home(&link));
    for (uint32_t i = 1; i < 6; i++) { /* the first one's is back */
        ns_link_release(arrivals.packet[i]);
    }
    assert_true(ns_link_home(&link));
    finish(engine, &pool);
}

/* Buffers in units of 32 bytes: a packet takes what it needs. */
static void test_units(void **state)
{
    struct ns_engine *engine = open_engine();
    struct ns_packet_pool pool = {0};
    struct arrivals arrivals = {0};
    const struct ns_link_params params = {
            .name = "link",
            .node = NS_NODE_NONE,
            .bytes_per_second = RATE,
            .unit_bytes = 32,
            .vc_count = 1,
            .credits = {9},
            .sink = arrive,
            .sink_arg = &arrivals,
    };
    struct ns_link link;
    struct credit_event credit;

    (void)state;
    ns_link_open(&link, engine, &params);
    ns_link_send(&link, packet_on(&pool, 0, 225)); /* 8 units */
    ns_link_send(&link, packet_on(&pool, 0, 32));  /* 1 */
    ns_link_send(&link, packet_on(&pool, 0, 33));  /* 2: not while 1 is free */
    credit_at(&credit, &link, 0, 8, 40000000);
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(arrivals.head_ps[1], 225 * BYTE_PS);
    assert_int_equal(arrivals.head_ps[2], 40000000);
    assert_int_equal(link.vc[0].credits, 6);
    finish(engine, &pool);
}

/* A packet that must leave units free waits, and one that need not passes. */
static void test_spare(void **state)
{
    struct ns_engine *engine = open_engine();
    struct ns_packet_pool pool = {0};
    struct arrivals arrivals = {0};
    struct ns_link link;
    struct ns_packet *entering = packet_on(&pool, 0, 64);
    struct ns_packet *through = packet_on(&pool, 0, 64);
    struct credit_event credit[2];

    (void)state;
    ns_link_init(&link, engine, "link", NS_NODE_NONE, 0, RATE, 2, arrive,
                 &arrivals);
    ns_link_send(&link, packet_on(&pool, 0, 64));
    entering->spare = 1;
    ns_link_send(&link, entering);
    ns_link_send(&link, through);
    credit_at(&credit[0], &link, 0, 1, 10000000);
    credit_at(&credit[1], &link, 0, 1, 20000000);
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(arrivals.count, 3);
    assert_ptr_equal(arrivals.packet[1], through);
    assert_int_equal(arrivals.head_ps[2], 20000000);
    finish(engine, &pool);
}

/* A faster link after a slower one: its tail waits for the tail. */
static void forward(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    (void)link;
    ns_link_send(arg, packet);
}

static void test_slow_fast(void **state)
{
    struct ns_engine *engine = open_engine();
    struct ns_packet_pool pool = {0};
    struct arrivals arrivals = {0};
    struct ns_link slow, fast;

    (void)state;
    ns_link_init(&fast, engine, "fast", NS_NODE_NONE, 7, 4 * RATE, 1, arrive,
                 &arrivals);
    ns_link_init(&slow, engine, "slow", NS_NODE_NONE, 5, RATE, 1, forward,
                 &fast);
    ns_link_send(&slow, packet_on(&pool, 0, 100));
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(arrivals.head_ps[0], 12);
    assert_int_equal(arrivals.tail_ps[0], 100 * BYTE_PS + 12);
    assert_true(ns_link_home(&slow)); /* its buffer came back by the link */
    assert_false(ns_link_home(&fast));
    finish(engine, &pool);
}

/* -------------------------------------------------------- choosing one's way */

struct chooser {
    struct ns_packet *waiting[4];
    uint32_t count;
};

static void choose(void *arg, struct ns_link *link)
{
    struct chooser *chooser = arg;

    if (chooser->count > 0 && ns_link_ready(link, 0, 64, 0)) {
        ns_link_send(link, chooser->waiting[--chooser->count]);
    }
}

static void test_freed(void **state)
{
    struct ns_engine *engine = open_engine();
    struct ns_packet_pool pool = {0};
    struct arrivals arrivals = {0};
    struct chooser chooser = {.count = 3};
    struct credit_event credit;
    struct ns_link link;

    (void)state;
    ns_link_init(&link, engine, "link", NS_NODE_NONE, 0, RATE, 2, arrive,
                 &arrivals);
    link.freed = choose;
    link.freed_arg = &chooser;
    for (int i = 0; i < 3; i++) {
        chooser.waiting[i] = packet_on(&pool, 0, 64);
    }
    choose(&chooser, &link);
    assert_int_equal(chooser.count, 2);
    assert_false(ns_link_ready(&link, 0, 64, 0)); /* the wire is busy */
    credit_at(&credit, &link, 0, 1, 9000000);
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(arrivals.count, 3);
    assert_ptr_equal(arrivals.packet[0], chooser.waiting[2]);
    assert_ptr_equal(arrivals.packet[2], chooser.waiting[0]);
    assert_int_equal(arrivals.head_ps[1], 64 * BYTE_PS);
    assert_int_equal(arrivals.head_ps[2], 9000000);
    finish(engine, &pool);
}

/* -------------------------------------------------------------- a ring fills */

#define RING 5

struct ring {
    struct ns_link link[RING];

    struct ring_node {
        struct ring *ring;
        uint32_t index;
    } node[RING];
    struct ns_packet_pool pool;
    uint32_t delivered;
};

static void ring_sink(void *arg, struct ns_link *link, struct ns_packet *packet)
{
    struct ring_node *node = arg;

    (void)link;
    if (packet->destination == node->index) {
        node->ring->delivered++;
        ns_link_release(packet);
        ns_packet_put(&node->ring->pool, packet);
    } else {
        ns_link_send(&node->ring->link[node->index], packet);
    }
}

/* All nodes send half-way round at once; how many packets arrive? */
static uint32_t ring_run(uint32_t spare)
{
    struct ns_engine *engine = open_engine();
    struct ring ring = {0};

    for (uint32_t i = 0; i < RING; i++) {
        ring.node[i] = (struct ring_node){&ring, i};
    }
    for (uint32_t i = 0; i < RING; i++) {
        ns_link_init(&ring.link[i], engine, "ring", NS_NODE_NONE, 100, RATE, 2,
                     ring_sink, &ring.node[(i + 1) % RING]);
    }
    for (uint32_t i = 0; i < 8 * RING; i++) {
        struct ns_packet *packet = packet_on(&ring.pool, 0, 256);

        packet->spare = (uint8_t)spare;
        packet->destination = (i + 3) % RING;
        ns_link_send(&ring.link[i % RING], packet);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    for (uint32_t i = 0; i < RING; i++) {
        assert_true(spare == 0 || ns_link_home(&ring.link[i]));
    }
    finish(engine, &ring.pool);
    return ring.delivered;
}

/* Entering with room for another keeps a ring alive; without, it dies. */
static void test_bubble(void **state)
{
    (void)state;
    assert_int_equal(ring_run(1), 8 * RING);
    assert_true(ring_run(0) < 8 * RING);
}

/* A host's copy is as long as its program likes. */
static void test_long(void **state)
{
    (void)state;
    assert_int_equal(ns_bytes_ps(1, RATE), BYTE_PS);
    for (uint64_t bytes = 1 << 20; bytes <= UINT64_C(1) << 40; bytes *= 2) {
        assert_int_equal(ns_bytes_ps(bytes, RATE), bytes * BYTE_PS);
        /* the sum's last bits are rounded up */
        assert_int_equal(ns_bytes_ps(bytes + 1, 2 * NS_PS_PER_SECOND),
                         bytes / 2 + 1);
    }
    assert_int_equal(ns_bytes_ps(18446744, NS_PS_PER_SECOND), 18446744);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_link),       cmocka_unit_test(test_channels),
            cmocka_unit_test(test_units),      cmocka_unit_test(test_spare),
            cmocka_unit_test(test_slow_fast),  cmocka_unit_test(test_freed),
            cmocka_unit_test(test_bubble),     cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
