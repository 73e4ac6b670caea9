/*
 * The simulated NICs with their drivers, below channels: loss by overflow,
 * conservation, and the same trace however it is run.
 */
#include "support/cm.h"
#include "support/sim_ping.h"

#include "dev/snic/snic.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------ loss and floods */

static void test_flood(void **state)
{
    struct scene scene = {
            .params = {.nodes = 8}, .flood = 100, .flood_bytes = 216};

    (void)state;
    ping_run(&scene, "sp-thin");
    assert_int_equal(scene.flood_received, 700);
    assert_int_equal(scene.result.dropped, 0);
    assert_int_equal(scene.result.packets, 700);
    ping_close(&scene);
}

/* Myrinet: back-pressure and credits, no loss, however slow the host is. */
static void test_no_loss(void **state)
{
    struct scene scene = {.params = {.nodes = 16},
                          .flood = 60,
                          .flood_bytes = 2000,
                          .slow = true};

    (void)state;
    ping_run(&scene, "myrinet-ppro");
    assert_int_equal(scene.flood_received, 900);
    assert_int_equal(scene.result.dropped, 0);
    ping_close(&scene);
}

/* A host that does not poll loses what its FIFO cannot hold, and only that. */
static void test_overflow(void **state)
{
    struct scene scene = {.params = {.nodes = 3},
                          .flood = 300,
                          .flood_bytes = 100,
                          .slow = true};
    uint64_t fifo;

    (void)state;
    ping_run(&scene, "sp-thin");
    fifo = scene.machine->tb2.receive_entries * 2; /* of two senders */
    assert_true(scene.result.dropped > 0);
    assert_true(scene.flood_received >= fifo);
    assert_int_equal(scene.flood_received + scene.result.dropped, 600);
    ping_close(&scene);
}

/* Requests wait while the layer above is not ready; none is lost below the
 * bound, and none overtakes. */
static void test_not_ready(void **state)
{
    struct scene scene = {
            .params = {.nodes = 2}, .flood = SNIC_HELD_MAX, .not_ready = true};

    (void)state;
    ping_run(&scene, "sp-thin");
    assert_int_equal(scene.flood_received, SNIC_HELD_MAX);
    ping_close(&scene);
}

/* -------------------------------------------------------------- determinism */

static uint64_t variant(const char *machine, const char *set, bool no_sleep,
                        bool no_jump, bool threads, uint64_t *events)
{
    struct scene scene = {.params = {.nodes = 4,
                                     .no_sleep = no_sleep,
                                     .no_jump = no_jump,
                                     .threads = threads},
                          .pings = 20,
                          .flood = 30,
                          .flood_bytes = 77,
                          .set = set};
    uint64_t hash = ping_run(&scene, machine);

    assert_int_equal(scene.flood_received, 90);
    *events = scene.result.events;
    ping_close(&scene);
    return hash;
}

static void determinism(const char *machine, const char *set)
{
    uint64_t events, other;
    uint64_t hash = variant(machine, set, false, false, false, &events);

    for (int i = 0; i < 100; i++) {
        assert_int_equal(variant(machine, set, false, false, false, &other),
                         hash);
        assert_int_equal(other, events);
    }
    assert_int_equal(variant(machine, set, true, false, false, &other), hash);
    assert_true(other > 10 * events); /* clocks did run all the time */
    assert_int_equal(variant(machine, set, false, true, false, &other), hash);
    assert_int_equal(variant(machine, set, false, false, true, &other), hash);
    assert_int_equal(other, events);
    assert_int_equal(variant(machine, set, true, true, true, &other), hash);
}

static void test_determinism(void **state)
{
    (void)state;
    determinism("sp-thin", NULL);
    determinism("sp-wide", NULL);
    determinism("myrinet-ppro", NULL);
    determinism("myrinet-ppro", "lanai.reliability=ni");
    determinism("myrinet-ppro", "lanai.reliability=host");
    determinism("myrinet-ppro", "lanai.transfer=pio");
    determinism("myrinet-ppro", "lanai.transfer=rcpy");
    determinism("myrinet-ppro", "lanai.mtu=4k");
    determinism("myrinet-p3", NULL);
    determinism("bgp", NULL);
    determinism("bgp", "nic.processes=4 processes");
    determinism("bgp", "net.fault.corrupt=1/5");
}

/* The sum is a different one when a number of the machine is. */
static void test_hash_differs(void **state)
{
    struct scene thin = {.params = {.nodes = 2}, .pings = 3};
    struct scene wide = {.params = {.nodes = 2}, .pings = 3};

    (void)state;
    assert_int_not_equal(ping_run(&thin, "sp-thin"),
                         ping_run(&wide, "sp-wide"));
    ping_close(&thin);
    ping_close(&wide);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_flood),
            cmocka_unit_test(test_no_loss),
            cmocka_unit_test(test_overflow),
            cmocka_unit_test(test_not_ready),
            cmocka_unit_test(test_determinism),
            cmocka_unit_test(test_hash_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
