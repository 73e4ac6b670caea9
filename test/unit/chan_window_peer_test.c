/*
 * What a peer may send to a window: packets of an earlier connection, and every
 * field at its extremes.
 */
#include "support/cm.h"
#include "support/window_pair.h"

/* Packets of an earlier connection between the same two ends. */
static void test_stale(void **state)
{
    struct pair *pair = pair_open_sp();
    struct pair *next;
    struct am_window_params params = pair_sp_params();
    struct pair_packet old;

    pair_connect(pair);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_int_equal(pair->end[1].wire_count, 1);
    old = pair->end[1].wire[0];
    pair_close(pair);

    next = pair_open(&params, 0x4321, 0x9876);
    am_window_packet(&next->end[1].window, &old.hdr, old.data, old.data_bytes);
    assert_int_equal(next->end[1].got[REQUEST], 0);
    pair_connect(next);
    am_window_packet(&next->end[1].window, &old.hdr, old.data, old.data_bytes);
    assert_int_equal(next->end[1].stats[AM_CHAN_STAT_RX_STALE], 1);
    /* A HELLO of the dead connection does not disturb the living one. */
    old.hdr.type = AM_CHAN_HELLO;
    old.hdr.seq = 0x1234;
    old.hdr.conn = 224;
    old.hdr.offset = 0x9876;
    old.hdr.ack[0] = old.hdr.ack[1] = 75;
    old.hdr.hdr_bytes = AM_CHAN_WIRE_VERSION;
    old.hdr.message_bytes = 8064;
    am_window_packet(&next->end[1].window, &old.hdr, NULL, 0);
    assert_int_equal(next->end[1].stats[AM_CHAN_STAT_RX_STALE], 2);
    assert_true(pair_send(next, 0, REQUEST));
    assert_true(pair_settle(next, 100) <= 100);
    pair_close(next);
}

/* A stale HELLO comes first; the true peer gets in all the same. */
static void test_stale_hello_first(void **state)
{
    struct pair *pair = pair_open_sp();
    struct am_chan_hdr hdr = {.type = AM_CHAN_HELLO,
                              .seq = 0x777,
                              .conn = 224,
                              .ack = {75, 76},
                              .hdr_bytes = AM_CHAN_WIRE_VERSION,
                              .message_bytes = 8064};

    am_window_packet(&pair->end[1].window, &hdr, NULL, 0);
    assert_int_equal(pair->end[1].window.state, AM_WINDOW_OPENING);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_send(pair, 1, REQUEST));
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

/* Every field of a packet of the open connection at its extremes. */
static void bad_fields(uint32_t early_packets)
{
    static const uint32_t values[] = {
            0,    1,    2,          7,     75,         76,         224,
            8064, 8065, 0x7fffffff, 65536, 0x80000000, 0xffffffff, 0x1234};
    struct am_window_params params = pair_sp_params();
    struct pair *pair;
    struct am_window *window;
    uint8_t data[PAIR_PAYLOAD_MAX] = {0};
    struct am_prng prng;

    params.early_packets = early_packets;
    pair = pair_open(&params, 0x1234, 0x9876);
    window = &pair->end[1].window;
    pair_connect(pair);
    pair->end[1].ready = false; /* nothing is delivered by this */
    am_prng_seed(&prng, 1);
    for (int i = 0; i < 200000; i++) {
        struct am_chan_hdr hdr = {
                .conn = window->conn_rx,
                .seq = window->rx[0].seq.next,
                .ack = {window->tx[0].seq.una, window->tx[1].seq.una}};
        uint32_t value = values[am_prng_below(&prng, 14)];

        hdr.type = (uint8_t)am_prng_below(&prng, AM_CHAN_BYE);
        hdr.class = am_prng_below(&prng, 8) == 0 ? (uint8_t)value : REQUEST;
        hdr.message_bytes = values[am_prng_below(&prng, 14)];
        hdr.hdr_bytes = (uint16_t)values[am_prng_below(&prng, 14)];
        hdr.offset = values[am_prng_below(&prng, 14)];
        switch (am_prng_below(&prng, 4)) {
        case 0:
            hdr.seq += value;
            break;
        case 1:
            hdr.ack[am_prng_below(&prng, 2)] += value;
            break;
        case 2:
            hdr.offset = window->rx[0].offset;
            break;
        default:
            break;
        }
        if (hdr.class == REPLY && hdr.type == AM_CHAN_DATA) {
            continue;
        }
        am_window_packet(window, &hdr, data,
                         am_prng_below(&prng, 4) == 0
                                 ? 0
                                 : am_prng_below(&prng, sizeof(data) + 1));
        pair->end[0].wire_count = 0;
    }
    assert_int_equal(window->state, AM_WINDOW_OPEN);
    assert_int_equal(pair->end[1].got[REQUEST], 1);
    assert_true(pair->end[1].stats[AM_CHAN_STAT_RX_BAD] > 10000);
    pair_close(pair);
}

static void test_bad_fields(void **state)
{
    bad_fields(0);
    bad_fields(20);
}

static void test_bad_hello(void **state)
{
    const struct am_chan_hdr good = {.type = AM_CHAN_HELLO,
                                     .seq = 0x1234,
                                     .conn = 224,
                                     .offset = 0x9876,
                                     .ack = {75, 76},
                                     .hdr_bytes = AM_CHAN_WIRE_VERSION,
                                     .message_bytes = 8064};
    struct am_chan_hdr bad[8];
    struct pair *pair = pair_open_sp();

    for (int i = 0; i < 8; i++) {
        bad[i] = good;
    }
    bad[0].seq = 0;
    bad[1].ack[0] = 0;
    bad[2].ack[1] = AM_CHAN_WINDOW_MAX + 1;
    bad[3].hdr_bytes = AM_CHAN_WIRE_VERSION + 1;
    bad[4].message_bytes = AM_CHAN_MESSAGE_MAX + 1;
    bad[5].message_bytes = 0;
    bad[6].conn = 0;
    bad[7].conn = 8065; /* a packet larger than a chunk */
    for (uint32_t i = 0; i < 8; i++) {
        am_window_packet(&pair->end[1].window, &bad[i], NULL, 0);
        assert_int_equal(pair->end[1].stats[AM_CHAN_STAT_RX_BAD], i + 1);
        assert_int_equal(pair->end[1].window.state, AM_WINDOW_OPENING);
    }
    am_window_packet(&pair->end[1].window, &good, NULL, 0);
    assert_int_equal(pair->end[1].window.state, AM_WINDOW_OPEN);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_stale),
            cmocka_unit_test(test_stale_hello_first),
            cmocka_unit_test(test_bad_fields),
            cmocka_unit_test(test_bad_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
