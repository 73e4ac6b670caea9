/*
 * The simulated NICs with their drivers, below channels: loss by overflow,
 * conservation, and the same trace however it is run.
 */
#include "support/cm.h"
#include "support/sim_dev.h"
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

/* --------------------------------------------------- words of 32 bits on the SP */

enum {
    WORDS = 12, /* more than are looked at, after a header of four */
    HDR_WORDS = 4
};

struct words {
    uint64_t hdr[HDR_WORDS], data[WORDS]; /* sent */
    bool said;                            /* that the data is words */
    uint32_t got;
};

static void words_packet(void *user, uint32_t class, const void *hdr,
                         size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct words *words = ((struct sim_peer *)user)->node;

    (void)class;
    assert_int_equal(hdr_bytes, sizeof(words->hdr));
    assert_memory_equal(hdr, words->hdr, hdr_bytes);
    assert_int_equal(data_bytes, sizeof(words->data));
    assert_memory_equal(data, words->data, data_bytes);
    words->got++;
}

static void words_body(void *arg, struct ns_sim_node *view)
{
    struct words *words = arg;
    struct sim_peer peers[2] = {0};
    uint64_t stats[AM_DEV_STAT_COUNT] = {0};
    char error[128];
    const struct am_dev_params params = {.up = {.packet = words_packet},
                                         .stats = stats,
                                         .error = error,
                                         .error_bytes = sizeof(error)};
    struct am_dev *dev = sim_dev_open_peers(view, params, words, peers);

    if (view->rank == 0) {
        dev->words = words->said;
        assert_int_equal(dev->ops->send(peers[1].ep, AM_DEV_REQUEST, words->hdr,
                                        sizeof(words->hdr), words->data,
                                        sizeof(words->data)),
                         AM_OK);
        dev->words = false;
    }
    while (view->rank == 1 && words->got == 0) {
        sim_dev_poll(dev);
    }
    sim_dev_close(view, dev);
}

/* Time of a packet on the wire, in which the words whose bit is set need more
 * than 32 bits; all words must come as they went. */
static uint64_t words_ps(uint32_t wide, bool said)
{
    char error[256] = "";
    struct words words = {.said = said};
    const struct ns_sim_params params = {.nodes = 2,
                                         .limit_ps = NS_PS_PER_SECOND};
    struct ns_machine *machine =
            ns_machine_load("sp-thin", NULL, 0, error, sizeof(error));
    struct ns_sim_result result;
    struct ns_sim *sim = ns_sim_open(machine, &params, error, sizeof(error));

    for (uint32_t i = 0; i < WORDS; i++) {
        words.data[i] = UINT32_MAX - i;
        words.data[i] += (wide >> i & 1) != 0 ? UINT64_C(7) << 32 : 0;
    }
    assert_non_null(sim);
    if (ns_sim_run(sim, words_body, &words, &result, error, sizeof(error)) !=
        0) {
        fail_msg("%s", error);
    }
    assert_int_equal(words.got, 1);
    ns_sim_close(sim);
    free(machine);
    return result.end_ps;
}

/* Of the words of a message that is words only, the last eight need 4 bytes
 * each on their way if their values allow it, whichever they are. */
static void test_words(void **state)
{
    uint64_t whole_ps = words_ps(0xfff, true);

    (void)state;
    assert_true(words_ps(0, true) < whole_ps);
    assert_int_equal(words_ps(0, false), whole_ps);
    assert_int_equal(words_ps(0x00f, true), words_ps(0, true));
    for (uint32_t i = 0; i < WORDS; i++) {
        (void)words_ps(1u << i, true);
        (void)words_ps(0xfff & ~(1u << i), true);
    }
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
            cmocka_unit_test(test_words),
            cmocka_unit_test(test_determinism),
            cmocka_unit_test(test_hash_differs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
