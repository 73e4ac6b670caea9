/*
 * The window by script: which packet is lost is chosen, what must follow is
 * known; by nacks and keep-alive, and by time-outs.
 */
#include "support/cm.h"
#include "support/window_pair.h"

static uint32_t length_mixed(const struct pair *pair, uint32_t class,
                             uint64_t number)
{
    static const uint32_t lengths[] = {0, 1, 7, 8, 9, 223, 224, 225, 448, 1000};

    return lengths[number % 10];
}

/* ----------------------------------------------------------- scripted losses */

/* 40 messages, with one run of packets lost; no keep-alive may be needed when
 * something follows the loss. */
static uint32_t run_lost(uint32_t from, uint32_t type, uint32_t first,
                         uint32_t count, uint32_t epoch)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair = pair_open(&params, epoch, epoch + 99);
    uint32_t sent = 0, steps, probes;

    pair_connect(pair);
    pair->length = length_mixed;
    pair->end[0].sent[REQUEST] = pair->end[1].got[REQUEST] = 0;
    pair_lose(pair, from, type, REQUEST, first, count);
    for (steps = 0; sent < 200; steps++) {
        assert_true(steps < 5000);
        for (; sent < 200 && pair_send(pair, 0, REQUEST); sent++) {
        }
        pair_step(pair);
    }
    assert_true(pair_settle(pair, 1000) <= 1000);
    assert_int_equal(pair->end[1].got[REQUEST], 200);
    assert_true(pair->rule[5] > first); /* the rule did strike */
    probes = pair->end[0].transmitted[AM_CHAN_PROBE];
    pair_close(pair);
    return probes;
}

static void test_lost_first(void **state)
{
    run_lost(0, AM_CHAN_DATA, 0, 1, 7);
}

static void test_lost_each(void **state)
{
    for (uint32_t first = 0; first < 300; first++) {
        run_lost(0, AM_CHAN_DATA, first, 1, 7);
    }
}

static void test_lost_window(void **state)
{
    run_lost(0, AM_CHAN_DATA, 0, 75, 7);
    run_lost(0, AM_CHAN_DATA, 10, 150, 7);
}

static void test_lost_acks(void **state)
{
    for (uint32_t first = 0; first < 8; first++) {
        run_lost(1, AM_CHAN_ACK, first, 3, 7);
    }
}

/* Across the wrap of the sequence numbers, which start at the epoch. */
static void test_wrap(void **state)
{
    for (uint32_t first = 0; first < 100; first += 7) {
        run_lost(0, AM_CHAN_DATA, first, 1, UINT32_MAX - 60);
    }
}

/* A gap is asked for once; what was lost again is asked for again. */
static void test_nack_once(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
    for (int i = 0; i < 10; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
    }
    pair_step(pair);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_NACK], 1);
    assert_int_equal(pair->end[1].stats[AM_CHAN_STAT_RX_GAP], 9);
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1); /* the second time, too */
    pair_step(pair);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 10);
    pair_step(pair);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_NACK], 2);
    assert_true(pair_settle(pair, 50) <= 50);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_DATA], 30);
    pair_close(pair);
}

static void test_lost_nack(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    pair_lose(pair, 1, AM_CHAN_NACK, REQUEST, 0, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    for (int i = 0; i < 25; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].got[REQUEST], 3);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 1);
    pair_close(pair);
}

/* The last packet of a chunk: only that one is sent again, by the probe. */
static void test_lost_last_of_chunk(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    pair->length = pair_length_chunk;
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 35, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_settle(pair, 100) <= 100);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 1);
    pair_close(pair);
}

/* The keep-alive comes after keepalive_polls ticks and then backs off. */
static void test_keepalive(void **state)
{
    struct pair *pair = pair_open_sp();
    struct pair_end *end = &pair->end[0];
    uint32_t probes = 0, at[4], ticks;

    pair_connect(pair);
    assert_true(pair_send(pair, 0, REQUEST));
    for (ticks = 1; probes < 4; ticks++) {
        assert_true(ticks < 2000);
        am_window_tick(&end->window, 0); /* the peer never answers */
        if (end->transmitted[AM_CHAN_PROBE] > probes) {
            at[probes++] = ticks;
        }
    }
    assert_int_equal(at[0], 20);
    assert_int_equal(at[1], 20 + 40);
    assert_int_equal(at[2], 20 + 40 + 80);
    assert_int_equal(at[3], 20 + 40 + 80 + 160);
    pair_close(pair);
}

/* Ticks that are counted without being made come to the same. */
static void test_passed_ticks(void **state)
{
    struct pair *pair = pair_open_sp();
    struct pair_end *end = &pair->end[0];

    assert_int_equal(am_window_quiet_ticks(&end->window), UINT32_MAX);
    pair_connect(pair);
    assert_int_equal(am_window_quiet_ticks(&end->window), UINT32_MAX);
    assert_true(pair_send(pair, 0, REQUEST));
    for (uint32_t probes = 0, wait = 20; probes < 4; probes++, wait *= 2) {
        assert_int_equal(am_window_quiet_ticks(&end->window), wait - 1);
        am_window_tick(&end->window, 0);
        am_window_pass(&end->window, wait - 3);
        assert_int_equal(am_window_quiet_ticks(&end->window), 1);
        am_window_pass(&end->window, 1);
        assert_int_equal(end->transmitted[AM_CHAN_PROBE], probes);
        am_window_tick(&end->window, 0);
        assert_int_equal(end->transmitted[AM_CHAN_PROBE], probes + 1);
    }
    pair_close(pair);
}

/* HELLO is repeated alike; what waits for the device is asked for each tick. */
static void test_passed_hello(void **state)
{
    struct pair *pair = pair_open_sp();
    struct pair_end *end = &pair->end[0];

    pair_lose(pair, 0, AM_CHAN_HELLO, 0, 0, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_int_equal(end->transmitted[AM_CHAN_HELLO], 1);
    assert_int_equal(am_window_quiet_ticks(&end->window), 19);
    am_window_pass(&end->window, 19);
    am_window_tick(&end->window, 0);
    assert_int_equal(end->transmitted[AM_CHAN_HELLO], 2);
    assert_true(pair_settle(pair, 100) <= 100);
    pair->end[1].wire_count = PAIR_WIRE_MAX;
    assert_true(pair_send(pair, 0, REQUEST));
    assert_int_equal(am_window_quiet_ticks(&end->window), 0);
    pair->end[1].wire_count = 0;
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

/* No probe takes the space that data waits for: found by chan_mc. */
static void test_no_probe_before_data(void **state)
{
    struct pair *pair = pair_open_sp();
    struct pair_end *end = &pair->end[0], *peer = &pair->end[1];

    pair_connect(pair);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_int_equal(peer->wire_count, 1);
    peer->wire_count = PAIR_WIRE_MAX; /* no space for the second */
    assert_true(pair_send(pair, 0, REQUEST));
    for (int i = 0; i < 100; i++) {
        am_window_tick(&end->window, 0);
    }
    peer->wire_count = 1;
    am_window_tick(&end->window, 0);
    assert_int_equal(end->transmitted[AM_CHAN_PROBE], 0);
    assert_int_equal(end->transmitted[AM_CHAN_DATA], 2);
    assert_true(pair_settle(pair, 50) <= 50);
    pair_close(pair);
}

/* -------------------------------------------------------------- timer variant */

static void test_timer(void **state)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.timer = true;
    params.ack_fraction = 2;
    pair = pair_open(&params, 5, 6);
    pair_connect(pair);
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
    for (int i = 0; i < 10; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
    }
    for (int i = 0; i < 9; i++) { /* less than rto_ps = 10 ticks */
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].stats[AM_CHAN_STAT_RX_GAP], 9);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_NACK], 0);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 0);
    assert_true(pair_settle(pair, 20) <= 20);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 10);
    /* and the delayed acknowledgement was one packet, of half a window none */
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 1);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 0);
    pair_close(pair);
}

/* One end asks by nack, the other by timer: they understand each other. */
static void test_timer_and_nack(void **state)
{
    for (uint32_t first = 0; first < 40; first++) {
        struct am_window_params params = pair_sp_params(), timer = params;
        struct pair *pair = pair_open(&params, 5, 6);

        timer.timer = true;
        pair->end[first % 2].window.params = &timer;
        pair_connect(pair);
        pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, first, 2);
        for (int i = 0; i < 60; i++) {
            assert_true(pair_send(pair, 0, REQUEST));
        }
        assert_true(pair_settle(pair, 500) <= 500);
        pair_close(pair);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_lost_first),
            cmocka_unit_test(test_lost_each),
            cmocka_unit_test(test_lost_window),
            cmocka_unit_test(test_lost_acks),
            cmocka_unit_test(test_wrap),
            cmocka_unit_test(test_nack_once),
            cmocka_unit_test(test_lost_nack),
            cmocka_unit_test(test_lost_last_of_chunk),
            cmocka_unit_test(test_keepalive),
            cmocka_unit_test(test_passed_ticks),
            cmocka_unit_test(test_passed_hello),
            cmocka_unit_test(test_no_probe_before_data),
            cmocka_unit_test(test_timer),
            cmocka_unit_test(test_timer_and_nack),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
