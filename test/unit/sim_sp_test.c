/*
 * The networks alone.  The SP's switch: paths inside a board and between
 * boards, full bisection.  Its LogGP parameters and Myrinet's, fitted from runs.
 */
#include "support/cm.h"

#include "net/myrinet.h"
#include "net/sp.h"

#include <stdlib.h>

struct bisect {
    uint64_t last_ps;
    uint32_t count;
    struct ns_sp *sp;
};

static void bisect_deliver(void *nic, struct ns_packet *packet)
{
    struct bisect *bisect = nic;

    bisect->count++;
    bisect->last_ps = packet->tail_ps;
    ns_sp_taken(bisect->sp, packet->destination);
    ns_packet_put(&bisect->sp->pool, packet);
}

static void bisect_left(void *nic)
{
    (void)nic;
}

/* Each node of the first board sends 64 packets to its fellow on the second,
 * over the four routes in turn: how many links' worth of packets go at once? */
static uint64_t sp_bisect(const struct ns_machine *machine)
{
    const struct ns_engine_params params = {.seed = 1};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct bisect bisect = {.sp = ns_sp_open(engine, &machine->sp, 32, 8)};
    uint64_t packet_ps = ns_bytes_ps(256, machine->sp.link_bytes_per_second);
    uint64_t rate;

    for (uint32_t node = 0; node < 32; node++) {
        ns_sp_attach(bisect.sp, node, &bisect, bisect_deliver, bisect_left);
    }
    for (uint32_t i = 0; i < 16 * 64; i++) {
        struct ns_packet *packet = ns_packet_get(&bisect.sp->pool);

        packet->bytes = 256;
        packet->source = i % 16;
        packet->destination = 16 + i % 16;
        packet->route = (i / 16 + i % 16) % 4;
        ns_sp_inject(bisect.sp, packet);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_true(ns_sp_quiet(bisect.sp));
    assert_int_equal(bisect.count, 16 * 64);
    for (uint32_t i = 0; i < 16; i++) {
        assert_int_equal(bisect.sp->out[i].packets, 64);
    }
    rate = 16 * 64 * packet_ps / (bisect.last_ps - 6 * machine->sp.hop_ps);
    ns_sp_close(bisect.sp);
    ns_engine_close(engine);
    return rate;
}

/* One packet, or a stream of them, from node 0 to node 1: time of the last
 * byte of the last one. */
static uint64_t stream_ps(const struct ns_machine *machine, uint32_t bytes,
                          uint32_t count)
{
    const struct ns_engine_params params = {.seed = 1};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct bisect bisect = {.sp = ns_sp_open(engine, &machine->sp, 2, 8)};
    uint64_t last_ps;

    for (uint32_t node = 0; node < 2; node++) {
        ns_sp_attach(bisect.sp, node, &bisect, bisect_deliver, bisect_left);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ns_packet *packet = ns_packet_get(&bisect.sp->pool);

        packet->bytes = bytes;
        packet->source = 0;
        packet->destination = 1;
        packet->route = 1;
        ns_sp_inject(bisect.sp, packet);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_true(ns_sp_quiet(bisect.sp));
    last_ps = bisect.last_ps;
    ns_sp_close(bisect.sp);
    ns_engine_close(engine);
    return last_ps;
}

/* LogGP of the network, fitted from runs: L, G and g are those of the file,
 * and every run lies on the line. */
static void fit(const char *set, uint64_t hop_ps, uint64_t byte_ps)
{
    char error[200] = "";
    struct ns_machine *machine = ns_machine_load(
            "sp-thin", &set, set == NULL ? 0 : 1, error, sizeof(error));
    uint64_t low_ps, high_ps, slope_ps, intercept_ps;

    assert_non_null(machine);
    low_ps = stream_ps(machine, 40, 1);
    high_ps = stream_ps(machine, 256, 1);
    slope_ps = (high_ps - low_ps) / (256 - 40);
    intercept_ps = low_ps - 40 * slope_ps;
    assert_int_equal(slope_ps, byte_ps);        /* G */
    assert_int_equal(intercept_ps, 4 * hop_ps); /* L */
    for (uint32_t bytes = 8; bytes <= 256; bytes += 8) {
        uint64_t one_ps = stream_ps(machine, bytes, 1);

        assert_int_equal(one_ps, intercept_ps + bytes * slope_ps);
        /* g: a packet follows the last as soon as that has left */
        assert_int_equal(stream_ps(machine, bytes, 50) - one_ps,
                         49 * bytes * byte_ps);
    }
    free(machine);
}

static void test_loggp(void **state)
{
    (void)state;
    fit(NULL, 125000, 25000);
    fit("net.hop=300 ns", 300000, 25000);
    fit("net.link=80 MB/s", 125000, 12500);
}

/* ------------------------------------------------------------------ Myrinet */

struct crossbar {
    struct ns_myrinet *net;
    uint64_t last_ps;
};

static void crossbar_deliver(void *nic, struct ns_packet *packet)
{
    struct crossbar *crossbar = nic;

    crossbar->last_ps = packet->tail_ps;
    ns_myrinet_taken(crossbar->net, packet->destination);
    ns_packet_put(&crossbar->net->pool, packet);
}

/* As stream_ps, from node 0 to `to`. */
static uint64_t myrinet_ps(const struct ns_machine *machine, uint32_t to,
                           uint32_t bytes, uint32_t count)
{
    const struct ns_engine_params params = {.seed = 1};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct crossbar crossbar = {
            .net = ns_myrinet_open(engine, &machine->myrinet, 8)};

    ns_myrinet_attach(crossbar.net, 0, &crossbar, crossbar_deliver,
                      bisect_left);
    ns_myrinet_attach(crossbar.net, to, &crossbar, crossbar_deliver,
                      bisect_left);
    for (uint32_t i = 0; i < count; i++) {
        struct ns_packet *packet = ns_packet_get(&crossbar.net->pool);

        packet->bytes = bytes;
        packet->source = 0;
        packet->destination = to;
        ns_myrinet_inject(crossbar.net, packet);
    }
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_true(ns_myrinet_quiet(crossbar.net));
    ns_myrinet_close(crossbar.net);
    ns_engine_close(engine);
    return crossbar.last_ps;
}

/* L, G and g of Myrinet are those of the file: a switch holds one packet, so
 * the next one's head comes `gap_ps` after the last one's tail has left, or at
 * once where it holds more. */
static void fit_myrinet(const char *name, const char *set, uint32_t to,
                        uint64_t latency_ps, uint64_t byte_ps, uint64_t gap_ps)
{
    char error[200] = "";
    struct ns_machine *machine = ns_machine_load(
            name, &set, set == NULL ? 0 : 1, error, sizeof(error));
    uint64_t low_ps, slope_ps;

    assert_non_null(machine);
    low_ps = myrinet_ps(machine, to, 48, 1);
    slope_ps = (myrinet_ps(machine, to, 2064, 1) - low_ps) / (2064 - 48);
    assert_int_equal(slope_ps, byte_ps);
    assert_int_equal(low_ps - 48 * slope_ps, latency_ps);
    for (uint32_t bytes = 48; bytes <= 2064; bytes += 144) {
        uint64_t one_ps = myrinet_ps(machine, to, bytes, 1);

        assert_int_equal(one_ps, latency_ps + bytes * byte_ps);
        assert_int_equal(myrinet_ps(machine, to, bytes, 50) - one_ps,
                         49 * (bytes * byte_ps + gap_ps));
    }
    free(machine);
}

static void test_loggp_myrinet(void **state)
{
    (void)state;
    /* 10 switches, 100 ns each, from corner to corner; 1.28 Gb/s */
    fit_myrinet("myrinet-ppro", NULL, 63, 1000000, 6250, 100000);
    fit_myrinet("myrinet-ppro", NULL, 1, 200000, 6250, 100000);
    fit_myrinet("myrinet-ppro", "net.switch=250 ns", 63, 2500000, 6250, 250000);
    fit_myrinet("myrinet-ppro", "net.link=80 MB/s", 1, 200000, 12500, 100000);
    fit_myrinet("myrinet-ppro", "net.buffer=2 packets", 63, 1000000, 6250, 0);
    /* 3 switches, 100 ns each; light on both ends, 820 ns each, which holds one
     * packet as a switch does */
    fit_myrinet("myrinet-p3", "net.link=200 MB/s", 63, 1940000, 5000, 820000);
}

/* Boards of 16 nodes: two more links between them, and every one of them in
 * use when all nodes of one send to another. */
static void test_sp_boards(void **state)
{
    char error[200] = "";
    struct ns_machine *machine =
            ns_machine_load("sp-thin", NULL, 0, error, sizeof(error));

    (void)state;
    assert_non_null(machine);
    assert_int_equal(ns_sp_hops(&machine->sp, 0, 15), 4);
    assert_int_equal(ns_sp_hops(&machine->sp, 0, 16), 6);
    assert_int_equal(sp_bisect(machine), 16);
    free(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sp_boards),
            cmocka_unit_test(test_loggp),
            cmocka_unit_test(test_loggp_myrinet),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
