/*
 * Faults of nic-sim's links: packets that are dropped, spoilt or held up, as
 * often as is asked for, at the ports that are named, and by the seed alone.
 */
#include "support/cm.h"
#include "support/sim_packet.h"

#include "nicsim_link.h"

#include <string.h>

#define BYTE_PS 25000 /* at 40 MB/s */
#define RATE    40000000

enum {
    FAULT_PACKETS = 2000
};

struct faulty {
    uint32_t arrived, corrupt, bits;
    uint64_t last_ps;
};

static void faulty_sink(void *arg, struct ns_link *link,
                        struct ns_packet *packet)
{
    struct faulty *faulty = arg;

    faulty->arrived++;
    faulty->corrupt += packet->corrupt;
    faulty->last_ps = ns_engine_now(link->component.engine);
    for (uint32_t i = 0; i < 64; i++) {
        faulty->bits += (uint32_t)__builtin_popcount(packet->data[i]);
    }
    ns_link_release(packet);
    ns_packet_put(packet->pool, packet);
}

static struct ns_fault_counts faults_run(const struct ns_fault *fault,
                                         uint64_t seed, struct faulty *faulty)
{
    const struct ns_engine_params params = {.seed = seed, .fault = fault};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct ns_packet_pool pool = {.data_bytes = 64};
    struct ns_fault_counts counts;
    struct ns_link other, link;
    char text[200];

    *faulty = (struct faulty){0};
    ns_link_init(&other, engine, "link", NS_NODE_NONE, 0, RATE, 1, faulty_sink,
                 faulty);
    ns_link_init(&link, engine, "link", NS_NODE_NONE, 0, RATE, 1, faulty_sink,
                 faulty);
    assert_null(ns_engine_fault_wrong(engine, text, sizeof(text)));
    for (uint32_t i = 0; i < FAULT_PACKETS; i++) {
        struct ns_packet *packet = packet_on(&pool, 0, 64);

        memset(packet->data, 0, 64);
        ns_link_send(i % 2 == 0 ? &link : &other, packet);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_true(ns_link_home(&link) && ns_link_home(&other));
    assert_int_equal(pool.out, 0);
    counts = *ns_engine_faults(engine);
    assert_int_equal(pool.lost, counts.dropped + counts.overflowed);
    assert_int_equal(faulty->arrived + pool.lost, FAULT_PACKETS);
    assert_int_equal(faulty->corrupt, counts.corrupted);
    assert_int_equal(faulty->bits, counts.corrupted);
    ns_packet_pool_fini(&pool);
    ns_engine_close(engine);
    return counts;
}

#define ONE_OF(_n) (UINT64_C(1) << 32 | (_n))

static void test_faults(void **state)
{
    const struct ns_fault drop = {.port = "link.1", .drop = ONE_OF(10)};
    const struct ns_fault both = {.port = "link", .drop = ONE_OF(10)};
    const struct ns_fault corrupt = {.port = "any", .corrupt = ONE_OF(10)};
    const struct ns_fault stall = {
            .port = "any", .stall = ONE_OF(1), .stall_ps = 1000};
    const struct ns_fault overflow = {.port = "link.0",
                                      .overflow = ONE_OF(100),
                                      .overflow_ps = 20 * 64 * BYTE_PS};
    struct ns_fault_counts counts, again;
    struct faulty faulty;

    (void)state;
    counts = faults_run(&drop, 1, &faulty);
    assert_in_range(counts.dropped, 60, 140); /* of 1000 */
    again = faults_run(&drop, 1, &faulty);
    assert_memory_equal(&counts, &again, sizeof(counts));
    again = faults_run(&drop, 2, &faulty);
    assert_int_not_equal(counts.dropped, again.dropped);
    assert_in_range(faults_run(&both, 1, &faulty).dropped, 140, 260);
    assert_in_range(faults_run(&corrupt, 1, &faulty).corrupted, 140, 260);
    /* the last of 1000 packets starts after 999 others and 1000 stalls */
    assert_int_equal(faults_run(&stall, 1, &faulty).stalled, FAULT_PACKETS);
    assert_int_equal(faulty.last_ps, 999 * 64 * BYTE_PS + 1000 * 1000);
    /* a hit costs twenty packets, and hits while it lasts prolong it */
    assert_in_range(faults_run(&overflow, 1, &faulty).overflowed, 60, 500);
}

static void test_fault_port(void **state)
{
    const struct ns_fault fault = {.port = "lnk", .drop = ONE_OF(2)};
    const struct ns_engine_params params = {.fault = &fault};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct ns_link link;
    char text[200];

    (void)state;
    ns_link_init(&link, engine, "link", NS_NODE_NONE, 0, RATE, 1, faulty_sink,
                 NULL);
    assert_string_equal(ns_engine_fault_wrong(engine, text, sizeof(text)),
                        "net.fault.port is \"lnk\"; there are any, link, "
                        "link.0 to 0");
    ns_engine_close(engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_faults),
            cmocka_unit_test(test_fault_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
