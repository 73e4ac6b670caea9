/*
 * Acknowledgements that name packets, but forged ones and old copies: what names
 * a packet that was not sent is refused, and whatever else they say, each message
 * arrives once, in order and whole.
 */
#include "support/cm.h"
#include "support/seed.h"
#include "support/window_sack.h"

#include <string.h>

static void forge(struct pair *pair, uint32_t class, uint32_t seq,
                  const uint8_t *bits, size_t bytes)
{
    struct am_window *window = &pair->end[0].window;
    uint8_t copy[64] = {0};
    struct am_chan_hdr hdr = {
            .type = AM_CHAN_SACK,
            .class = (uint8_t) class,
            .seq = seq,
            .conn = window->conn_rx,
            .ack = {window->tx[0].seq.una, window->tx[1].seq.una}};

    memcpy(copy, bits, bytes);
    am_window_packet(window, &hdr, copy, bytes);
}

/* What names a packet that was not sent is counted, and believed in no part. */
static void test_forged(void **state)
{
    static const uint8_t bits[33] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    struct pair *pair = sack_open(PAIR_KEPT);
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
    sack_check_clean(pair);
    pair_close(pair);
}

/* Who claims that lost packets are in delays them, and no more. */
static void test_forged_in(void **state)
{
    static const uint8_t bits[2] = {0xff, 0x7f};

    for (uint32_t what = 0; what < 3; what++) {
        struct pair *pair = sack_lose_some(0xffff, sack_fate_pass);
        const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];

        if (what == 0) { /* all but the first */
            forge(pair, REQUEST, tx->seq.una, bits, 2);
        } else if (what == 1) { /* all that was sent */
            forge(pair, REQUEST, tx->seq.sent, bits, 0);
        } else { /* some, in the middle */
            forge(pair, REQUEST, tx->seq.una + 8, bits, 1);
        }
        assert_true(pair_settle(pair, 1000) <= 1000);
        sack_check_clean(pair);
        pair_close(pair);
    }
}

/* Copies of all acknowledgements there ever were, at random times. */
static void test_old_copies(void **state)
{
    static struct pair_packet kept[256];
    uint32_t kept_count = 0;
    struct pair *pair = sack_open(PAIR_KEPT);
    struct am_prng prng = test_prng("old copies");
    uint64_t lost;

    am_prng_seed(&pair->prng, am_prng_next(&prng));
    sack_acks_fate = sack_fate_pass;
    pair->fate = sack_fate_mask;
    for (int i = 0; i < 2000; i++) {
        uint64_t mask = am_prng_next(&prng) & am_prng_next(&prng) &
                        am_prng_next(&prng) & am_prng_next(&prng);

        sack_lost_mask = mask;
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
    sack_check_clean(pair);
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
            cmocka_unit_test(test_forged),
            cmocka_unit_test(test_forged_in),
            cmocka_unit_test(test_old_copies),
            cmocka_unit_test(test_other_variant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
