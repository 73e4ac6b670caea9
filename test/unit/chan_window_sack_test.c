/*
 * The timer variant whose acknowledgements name packets: only what is missing is
 * sent again, before any time-out where later packets tell; whatever happens to
 * the acknowledgements themselves, and whatever somebody writes into them, each
 * message arrives once, in order and whole.
 */
#include "support/cm.h"
#include "support/seed.h"
#include "support/window_pair.h"

#include <string.h>

static struct pair *pair_open_naming(uint32_t kept)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.timer = true;
    params.rto_ps = 100000; /* until it is measured */
    params.rto_max_ps = 1000000;
    params.ack_delay_ps = 1000;
    pair = pair_open_grown(&params, kept, 60);
    assert_int_equal(pair_again(pair), 0);
    return pair;
}

static uint64_t stat(const struct pair *pair, int which)
{
    return pair->end[0].stats[which];
}

static void check_clean(const struct pair *pair)
{
    const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];

    assert_int_equal(tx->flying, 0);
    assert_int_equal(tx->lost, 0);
    assert_int_equal(tx->again_next, tx->again_end);
    for (uint32_t i = 0; i <= tx->chunk_mask; i++) {
        assert_int_equal(tx->sent[i].state, 0);
    }
}

static fate_t fate_pass(struct pair *pair, uint32_t from,
                        const struct pair_packet *packet)
{
    (void)pair, (void)from, (void)packet;
    return FATE_PASS;
}

/* What happens to acknowledgements, beside what is lost by lost_mask. */
static fate_t (*acks_fate)(struct pair *pair, uint32_t from,
                           const struct pair_packet *packet);
static uint64_t lost_mask;

/* Of the next 64 packets with data, those in the mask are lost. */
static fate_t fate_mask(struct pair *pair, uint32_t from,
                        const struct pair_packet *packet)
{
    if (from == 1) {
        return acks_fate(pair, from, packet);
    }
    if (packet->hdr.type == AM_CHAN_DATA) {
        bool lose = (lost_mask & 1) != 0;

        lost_mask >>= 1;
        return lose ? FATE_LOSE : FATE_PASS;
    }
    return FATE_PASS;
}

/* A pair that loses those in the mask of the next packets, of four chunks and
 * more that follow them. */
static struct pair *lose_some(uint64_t mask,
                              fate_t (*acks)(struct pair *, uint32_t,
                                             const struct pair_packet *))
{
    struct pair *pair = pair_open_naming(PAIR_KEPT);

    lost_mask = mask;
    acks_fate = acks;
    pair->fate = fate_mask;
    am_prng_seed(&pair->prng, mask);
    pair_send_all(pair, 6);
    return pair;
}

/* One packet in every place, and runs: each goes once more, and no time-out is
 * waited for. */
static void test_hole(void **state)
{
    for (uint32_t first = 0; first < 2 * PAIR_CHUNK; first++) {
        for (uint32_t count = 1; count <= PAIR_CHUNK; count += 3) {
            struct pair *pair = lose_some(
                    ((UINT64_C(1) << count) - 1) << first, fate_pass);

            assert_true(pair_settle(pair, 60) <= 60);
            assert_int_equal(pair_again(pair), count);
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_TIME), 0);
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_ACK), 1);
            assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 1);
            check_clean(pair);
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
        struct pair *pair = lose_some(masks[i], fate_pass);

        assert_true(pair_settle(pair, 60) <= 60);
        assert_int_equal(pair_again(pair), __builtin_popcountll(masks[i]));
        assert_int_equal(stat(pair, AM_CHAN_STAT_TX_AGAIN_TIME), 0);
        check_clean(pair);
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
            struct pair *pair = lose_some(
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
        struct pair *pair = lose_some(masks[i], fate_acks_lost);

        assert_true(pair_settle(pair, 5000) <= 5000);
        check_clean(pair);
        pair_close(pair);
    }
}

static uint32_t latest, lost_again;

/* Lose the packet of number 3, and what is sent again, twice. */
static fate_t fate_again(struct pair *pair, uint32_t from,
                         const struct pair_packet *packet)
{
    uint32_t number = packet->hdr.seq +
                      packet->hdr.offset / pair->params.payload_bytes;

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
    struct pair *pair = pair_open_naming(PAIR_KEPT);

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
    struct pair *pair = pair_open_naming(PAIR_KEPT);

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
        struct pair *pair = lose_some(((UINT64_C(1) << count) - 1)
                                              << (all - count),
                                      fate_pass);

        steps = steps_to_again(pair);
        assert_in_range(steps, 3, 20); /* and not 1000 */
        assert_true(pair_settle(pair, 60) <= 60);
        assert_in_range(pair_again(pair), count, count + 2);
        check_clean(pair);
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
    struct pair *pair = pair_open_naming(PAIR_KEPT);
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
    check_clean(pair);
    pair_close(pair);
}

/* A way that is ten times as long is waited for, once it is known. */
static void test_slow_way(void **state)
{
    struct pair *pair = pair_open_naming(PAIR_KEPT);
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
    struct pair *pair = pair_open_naming(PAIR_KEPT);

    pair_send_all(pair, 6);
    while (pair_again(pair) == 0) {
        pair->now_ps += 100;
        am_window_tick(&pair->end[0].window, pair->now_ps);
    }
    assert_true(pair_settle(pair, 60) <= 60);
    assert_int_equal(pair_again(pair), 2);
    assert_int_equal(stat(pair, AM_CHAN_STAT_TX_HALVED), 0);
    check_clean(pair);
    pair_close(pair);
}

/* The receiver keeps four, or has no memory at all. */
static void test_little_room(void **state)
{
    for (int poor = 0; poor < 2; poor++) {
        struct pair *pair = pair_open_naming(4);

        pair->end[1].poor = poor == 1;
        pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 2, 1);
        pair_send_all(pair, 6);
        assert_true(pair_settle(pair, 2000) <= 2000);
        check_clean(pair);
        pair_close(pair);
    }
}

/* Nobody is ready: the first packet goes now and then, the others are kept. */
static void test_not_ready(void **state)
{
    struct pair *pair = pair_open_naming(PAIR_KEPT);
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
    check_clean(pair);
    pair_close(pair);
}

/* ------------------------------------------------------ forged and old ones */

static void forge(struct pair *pair, uint32_t class, uint32_t seq,
                  const uint8_t *bits, size_t bytes)
{
    struct am_window *window = &pair->end[0].window;
    uint8_t copy[64] = {0};
    struct am_chan_hdr hdr = {.type = AM_CHAN_SACK,
                              .class = (uint8_t)class,
                              .seq = seq,
                              .conn = window->conn_rx,
                              .ack = {window->tx[0].seq.una,
                                      window->tx[1].seq.una}};

    memcpy(copy, bits, bytes);
    am_window_packet(window, &hdr, copy, bytes);
}

/* What names a packet that was not sent is counted, and believed in no part. */
static void test_forged(void **state)
{
    static const uint8_t bits[33] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct pair *pair = pair_open_naming(PAIR_KEPT);
    const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];
    uint64_t *bad = &pair->end[0].stats[AM_CHAN_STAT_RX_BAD], before = *bad;

    pair_send_all(pair, 2); /* 16 packets */
    forge(pair, REQUEST, tx->seq.sent + 1, bits, 0);
    forge(pair, REQUEST, tx->seq.sent, bits, 1);
    forge(pair, REQUEST, tx->seq.una + 10, bits, 1); /* up to number 18 */
    forge(pair, REQUEST, tx->seq.una, bits, 2);      /* number 16 */
    forge(pair, REQUEST, tx->seq.una + INT32_MAX, bits, 6);
    forge(pair, REPLY, pair->end[0].window.tx[REPLY].seq.sent, bits, 1);
    assert_int_equal(*bad, before + 6);
    forge(pair, REQUEST, tx->seq.una, bits, 33); /* longer than any */
    forge(pair, 2, tx->seq.una, bits, 1);
    assert_int_equal(*bad, before + 8);
    assert_int_equal(tx->flying, 16);
    forge(pair, REQUEST, tx->seq.una - 1, bits, 6); /* old */
    forge(pair, REQUEST, tx->seq.una - 1000, bits, 6);
    assert_int_equal(tx->flying, 16);
    assert_int_equal(*bad, before + 8);
    assert_true(pair_settle(pair, 60) <= 60);
    assert_int_equal(pair_again(pair), 0);
    check_clean(pair);
    pair_close(pair);
}

/* Who claims that lost packets are in delays them, and no more. */
static void test_forged_in(void **state)
{
    static const uint8_t bits[2] = {0xff, 0x7f};

    for (uint32_t what = 0; what < 3; what++) {
        struct pair *pair = lose_some(0xffff, fate_pass);
        const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];

        if (what == 0) { /* all but the first */
            forge(pair, REQUEST, tx->seq.una, bits, 2);
        } else if (what == 1) { /* all that was sent */
            forge(pair, REQUEST, tx->seq.sent, bits, 0);
        } else { /* some, in the middle */
            forge(pair, REQUEST, tx->seq.una + 8, bits, 1);
        }
        assert_true(pair_settle(pair, 1000) <= 1000);
        check_clean(pair);
        pair_close(pair);
    }
}

/* Copies of all acknowledgements there ever were, at random times. */
static void test_old_copies(void **state)
{
    static struct pair_packet kept[256];
    uint32_t kept_count = 0;
    struct pair *pair = pair_open_naming(PAIR_KEPT);
    struct am_prng prng = test_prng("old copies");
    uint64_t lost;

    am_prng_seed(&pair->prng, am_prng_next(&prng));
    acks_fate = fate_pass;
    pair->fate = fate_mask;
    for (int i = 0; i < 2000; i++) {
        uint64_t mask = am_prng_next(&prng) & am_prng_next(&prng) &
                        am_prng_next(&prng) & am_prng_next(&prng);

        lost_mask = mask;
        while (pair_send(pair, 0, REQUEST)) {
        }
        for (uint32_t j = 0; j < pair->end[0].wire_count; j++) {
            kept[kept_count++ % 256] = pair->end[0].wire[j];
        }
        for (int j = 0; j < 4 && kept_count > 0; j++) {
            const struct pair_packet *old = &kept[am_prng_below(
                    &prng, kept_count < 256 ? kept_count : 256)];
            uint8_t data[PAIR_PAYLOAD_MAX];

            memcpy(data, old->data, sizeof(data));
            am_window_packet(&pair->end[0].window, &old->hdr, data,
                             old->data_bytes);
        }
        pair_step(pair);
    }
    pair->fate = NULL;
    assert_true(pair_settle(pair, 2000) <= 2000);
    lost = pair->end[1].stats[AM_CHAN_STAT_RX_DUPLICATE];
    assert_true(lost * 10 < pair_again(pair)); /* few went without need */
    check_clean(pair);
    pair_close(pair);
}

/* A sender of the other variant has no use for it. */
static void test_other_variant(void **state)
{
    static const uint8_t bits[1] = {0x06};
    struct am_window_params params = pair_sp_params();
    struct pair *pair = pair_open(&params, 5, 6);

    pair_connect(pair);
    pair_send_all(pair, 8);
    forge(pair, REQUEST, pair->end[0].window.tx[REQUEST].seq.una, bits, 1);
    assert_true(pair_settle(pair, 60) <= 60);
    assert_int_equal(pair_again(pair), 0);
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
            cmocka_unit_test(test_forged),
            cmocka_unit_test(test_forged_in),
            cmocka_unit_test(test_old_copies),
            cmocka_unit_test(test_other_variant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
