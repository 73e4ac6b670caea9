/*
 * Links of the torus that fail send again: what that costs, that all arrives,
 * when a link is given up.
 */
#include "support/cm.h"
#include "support/sim_torus.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_resend),
            cmocka_unit_test(test_heavy_faults),
            cmocka_unit_test(test_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
