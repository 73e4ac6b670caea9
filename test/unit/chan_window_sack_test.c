/*
 * The timer variant whose acknowledgements name packets: only what is missing is
 * sent again, before any time-out where later packets tell; whatever happens to
 * the acknowledgements themselves, each message arrives once, in order and whole
 * (what somebody writes into them: chan_window_sack_forged_test).
 */
#include "support/cm.h"
#include "support/window_sack.h"

static uint64_t stat(const struct pair *pair, int which)
{
    return pair->end[0].stats[which];
}

/* One packet in every place, and runs: each goes once more, and no time-out is
 * waited for. */
static void test_hole(void **state)
{
    for (uint32_t first = 0; first < 2 * PAIR_CHUNK; first++) {
        for (uint32_t count = 1; count <= PAIR_CHUNK; count += 3) {
            struct pair *pair = sack_lose_some(
                    ((UINT64_C(1) << count) - 1) << first, sack_fate_pass);

            assert_true(pair_settle(pair, 60) <= 60);
            assert_int_equal(pair_again(pair), count);
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_TIME), 0);
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_ACK), 1);
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 1);
            sack_check_clean(pair);
            pair_close(pair);
        }
    }
}

static const uint64_t masks[] = {0x000005,       0x010101,   0xaaaaaaa,
                                 0xff00ff,       0x7654321,  0x1000001,
                                 0x100000000001, 0x0ffffffff};

static void test_holes(void **state)
{
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        struct pair *pair = sack_lose_some(masks[i], sack_fate_pass);

        assert_true(pair_settle(pair, 60) <= 60);
        assert_int_equal(pair_again(pair), __builtin_popcountll(masks[i]));
        assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_TIME), 0);
        sack_check_clean(pair);
        pair_close(pair);
    }
}

static fate_t fate_acks_double(struct pair *pair, uint32_t from,
                               const struct pair_packet *packet)
{
    (void)pair, (void)from, (void)packet;
    return FATE_DOUBLE;
}

static fate_t fate_acks_late(struct pair *pair, uint32_t from,
                             const struct pair_packet *packet)
{
    (void)from, (void)packet;
    return am_prng_below(&pair->prng, 2) == 0 ? FATE_LATE : FATE_DOUBLE;
}

/* Acknowledgements that come twice or overtake each other make nothing go
 * again. */
static void test_acks_disordered(void **state)
{
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        for (int late = 0; late < 2; late++) {
            struct pair *pair = sack_lose_some(
                    masks[i], late == 1 ? fate_acks_late : fate_acks_double);

            assert_true(pair_settle(pair, 60) <= 60);
            assert_int_equal(pair_again(pair), __builtin_popcountll(masks[i]));
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_TIME), 0);
            pair_close(pair);
        }
    }
}

static fate_t fate_acks_lost(struct pair *pair, uint32_t from,
                             const struct pair_packet *packet)
{
    (void)from, (void)packet;
    return am_prng_below(&pair->prng, 4) != 0 ? FATE_LOSE : FATE_PASS;
}

/* Three acknowledgements of four are lost. */
static void test_acks_lost(void **state)
{
    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        struct pair *pair = sack_lose_some(masks[i], fate_acks_lost);

        assert_true(pair_settle(pair, 5000) <= 5000);
        sack_check_clean(pair);
        pair_close(pair);
    }
}

static uint32_t latest, lost_again;

/* Lose the packet of number 3, and what is sent again, twice. */
static fate_t fate_again(struct pair *pair, uint32_t from,
                         const struct pair_packet *packet)
{
    uint32_t number =
            packet->hdr.seq + packet->hdr.offset / pair->params.payload_bytes;

    if (from != 0 || packet->hdr.type != AM_CHAN_DATA) {
        return FATE_PASS;
    }
    if ((int32_t)(number - latest) > 0) {
        latest = number;
        return pair->rule[7]++ == 3 ? FATE_LOSE : FATE_PASS;
    }
    return lost_again++ < 2 ? FATE_LOSE : FATE_PASS;
}

/* What was sent again is lost again: those after it tell, with no time-out,
 * while there is room for some. */
static void test_lost_again(void **state)
{
    struct pair *pair = sack_open(PAIR_KEPT);

    latest = pair->end[0].window.tx[REQUEST].seq.sent - 1;
    lost_again = 0;
    pair->fate = fate_again;
    for (int i = 0; i < 100; i++) {
        (void)pair_send(pair, 0, REQUEST);
        pair_step(pair);
    }
    assert_true(pair_settle(pair, 100) <= 100);
    assert_int_equal(pair_again(pair), 3);
    assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_TIME), 0);
    pair_close(pair);
}

static fate_t fate_data_late(struct pair *pair, uint32_t from,
                             const struct pair_packet *packet)
{
    if (from == 0 && packet->hdr.type == AM_CHAN_DATA) {
        return am_prng_below(&pair->prng, 4) == 0 ? FATE_LATE : FATE_PASS;
    }
    return FATE_PASS;
}

/* Packets that change places with the one before are not lost. */
static void test_reorder(void **state)
{
    struct pair *pair = sack_open(PAIR_KEPT);

    am_prng_seed(&pair->prng, 3);
    pair->fate = fate_data_late;
    for (int i = 0; i < 200; i++) {
        while (pair_send(pair, 0, REQUEST)) {
        }
        pair_step(pair);
    }
    assert_true(pair_settle(pair, 100) <= 100);
    assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 0);
    assert_int_equal(pair_again(pair), 0);
    pair_close(pair);
}

/* ----------------------------------------------------------------- time-outs */

/* Steps until something was sent again. */
static uint32_t steps_to_again(struct pair *pair)
{
    uint64_t before = pair_again(pair);

    for (uint32_t steps = 1;; steps++) {
        assert_true(steps < 20000);
        pair_step(pair);
        if (pair_again(pair) != before) {
            return steps;
        }
    }
}

/* The end of all is lost: the time-out is what was measured, not the first one,
 * and the last packet, sent again, tells what else is missing. */
static void test_tail(void **state)
{
    for (uint32_t count = 1; count <= 3 * PAIR_CHUNK; count++) {
        uint32_t all = 6 * PAIR_CHUNK, steps;
        struct pair *pair = sack_lose_some(
                ((UINT64_C(1) << count) - 1) << (all - count), sack_fate_pass);

        steps = steps_to_again(pair);
        assert_in_range(steps, 3, 20); /* and not 1000 */
        assert_true(pair_settle(pair, 60) <= 60);
        assert_in_range(pair_again(pair), count, count + 2);
        sack_check_clean(pair);
        pair_close(pair);
    }
}

static fate_t fate_none(struct pair *pair, uint32_t from,
                        const struct pair_packet *packet)
{
    (void)pair, (void)from, (void)packet;
    return FATE_LOSE;
}

/* Nobody answers: two packets go, then all that are in the window, then two each
 * time, and the wait doubles. */
static void test_silence(void **state)
{
    struct pair *pair = sack_open(PAIR_KEPT);
    uint32_t first, second, third;

    pair->fate = fate_none;
    pair_send_all(pair, 4);
    first = steps_to_again(pair);
    assert_int_equal(pair_again(pair), 2);
    second = steps_to_again(pair);
    assert_int_equal(pair_again(pair), 2 + 4 * PAIR_CHUNK);
    third = steps_to_again(pair);
    assert_int_equal(pair_again(pair), 2 + 4 * PAIR_CHUNK + 2);
    assert_in_range(second, 2 * first - 2, 2 * first + 2);
    assert_in_range(third, 2 * second - 4, 2 * second + 4);
    assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 1);
    pair->fate = NULL;
    assert_true(pair_settle(pair, 2000) <= 2000);
    sack_check_clean(pair);
    pair_close(pair);
}

/* A way that is ten times as long is waited for, once it is known. */
static void test_slow_way(void **state)
{
    struct pair *pair = sack_open(PAIR_KEPT);
    uint64_t before;

    for (int round = 0; round < 60; round++) {
        if (round == 30) {
            before = pair_again(pair);
        }
        (void)pair_send(pair, 0, REQUEST);
        for (int i = 0; i < 10; i++) {
            pair->now_ps += 100;
            am_window_tick(&pair->end[0].window, pair->now_ps);
        }
        pair_step(pair);
    }
    assert_int_equal(pair_again(pair), before);
    pair_close(pair);
}

/* An acknowledgement that was delayed costs two packets, and no window. */
static void test_late_answer(void **state)
{
    struct pair *pair = sack_open(PAIR_KEPT);

    pair_send_all(pair, 6);
    while (pair_again(pair) == 0) {
        pair->now_ps += 100;
        am_window_tick(&pair->end[0].window, pair->now_ps);
    }
    assert_true(pair_settle(pair, 60) <= 60);
    assert_int_equal(pair_again(pair), 2);
    assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 0);
    sack_check_clean(pair);
    pair_close(pair);
}

/* The receiver keeps four, or has no memory at all. */
static void test_little_room(void **state)
{
    for (int poor = 0; poor < 2; poor++) {
        struct pair *pair = sack_open(4);

        pair->end[1].poor = poor == 1;
        pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 2, 1);
        pair_send_all(pair, 6);
        assert_true(pair_settle(pair, 2000) <= 2000);
        sack_check_clean(pair);
        pair_close(pair);
    }
}

/* Nobody is ready: the first packet goes now and then, the others are kept. */
static void test_not_ready(void **state)
{
    struct pair *pair = sack_open(PAIR_KEPT);
    uint64_t got = pair->end[1].got[REQUEST];

    pair->end[1].ready = false;
    pair_send_all(pair, 6);
    for (int i = 0; i < 1000; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].got[REQUEST], got);
    assert_in_range(pair_again(pair), 1, 300);
    assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 0);
    pair->end[1].ready = true;
    assert_true(pair_settle(pair, 100) <= 100);
    sack_check_clean(pair);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_hole),
            cmocka_unit_test(test_holes),
            cmocka_unit_test(test_acks_disordered),
            cmocka_unit_test(test_acks_lost),
            cmocka_unit_test(test_lost_again),
            cmocka_unit_test(test_reorder),
            cmocka_unit_test(test_tail),
            cmocka_unit_test(test_silence),
            cmocka_unit_test(test_slow_way),
            cmocka_unit_test(test_late_answer),
            cmocka_unit_test(test_little_room),
            cmocka_unit_test(test_not_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
