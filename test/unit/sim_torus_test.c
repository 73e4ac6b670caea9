/*
 * The torus: shape, closed forms, LogGP parameters fitted from runs, order,
 * conservation, deposited copies, the check for deadlock.
 */
#include "support/cm.h"
#include "support/sim_torus.h"

#include <stdlib.h>
#include <string.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_shape), cmocka_unit_test(test_deadlock),
            cmocka_unit_test(test_alone), cmocka_unit_test(test_loggp),
            cmocka_unit_test(test_heavy), cmocka_unit_test(test_deposit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
