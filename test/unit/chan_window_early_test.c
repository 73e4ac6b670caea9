/*
 * The window that keeps packets that come too early: only what is missing is sent
 * again, whatever is lost, and nothing that a peer writes breaks the rest.
 */
#include "support/cm.h"
#include "support/window_pair.h"

static struct pair *pair_open_keeping(uint32_t kept)
{
    struct am_window_params params = pair_sp_params();

    return pair_open_grown(&params, kept, 30);
}

/* One packet, in every place of three chunks; and runs of them. */
static void test_hole(void **state)
{
    for (uint32_t first = 0; first < 2 * PAIR_CHUNK; first++) {
        for (uint32_t count = 1; count <= PAIR_CHUNK; count += 3) {
            struct pair *pair = pair_open_keeping(PAIR_KEPT);

            pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, first, count);
            pair_send_all(pair, 4);
            assert_true(pair_settle(pair, 60) <= 60);
            assert_int_equal(pair_again(pair), count);
            assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_AGAIN_PROBE],
                             0);
            assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_HALVED], 1);
            pair_close(pair);
        }
    }
}

static uint32_t lost_mask;

/* Of the next 32 packets with data, those in the mask. */
static fate_t fate_mask(struct pair *pair, uint32_t from,
                        const struct pair_packet *packet)
{
    (void)pair;
    if (from == 0 && packet->hdr.type == AM_CHAN_DATA) {
        bool lose = (lost_mask & 1) != 0;

        lost_mask >>= 1;
        return lose ? FATE_LOSE : FATE_PASS;
    }
    return FATE_PASS;
}

/* Numbers wrap: what is remembered of the latest early packet keeps up. */
static void test_keeps_up(void **state)
{
    struct pair *pair = pair_open_keeping(PAIR_KEPT);
    const struct am_window_rx *rx = &pair->end[1].window.rx[REQUEST];

    assert_int_equal(rx->early_end, rx->seq.next);
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 2, 1);
    pair_send_all(pair, 4);
    assert_true(pair_settle(pair, 60) <= 60);
    assert_int_equal(rx->early_end, rx->seq.next);
    pair_close(pair);
}

/* Several holes: each is asked for when it is seen, and sent once. */
static void test_holes(void **state)
{
    static const uint32_t masks[] = {0x00000005, 0x00010101, 0x0aaaaaaa,
                                     0x00ff00ff, 0x07654321, 0x08000001};

    for (size_t i = 0; i < sizeof(masks) / sizeof(masks[0]); i++) {
        struct pair *pair = pair_open_keeping(PAIR_KEPT);

        lost_mask = masks[i];
        pair->fate = fate_mask;
        pair_send_all(pair, 4);
        assert_true(pair_settle(pair, 60) <= 60);
        assert_int_equal(pair_again(pair), __builtin_popcount(masks[i]));
        pair_close(pair);
    }
}

/* What was sent again is lost as well, twice; and so is the question. */
static void test_lost_again(void **state)
{
    struct pair *pair = pair_open_keeping(PAIR_KEPT);

    lost_mask = 0x00000008 | 7u << 29; /* the fourth, and 30th to 32nd */
    pair->fate = fate_mask;
    pair_send_all(pair, 4);
    assert_true(pair_settle(pair, 1000) <= 1000);
    pair->fate = NULL;
    pair_lose(pair, 1, AM_CHAN_NACK, REQUEST, 0, 2);
    lost_mask = 0x00000010;
    pair_send_all(pair, 4);
    assert_true(pair_settle(pair, 1000) <= 1000);
    pair_close(pair);
}

/* The receiver keeps four, or has no memory at all: the rest is sent again. */
static void test_little_room(void **state)
{
    for (int poor = 0; poor < 2; poor++) {
        struct pair *pair = pair_open_keeping(4);

        pair->end[1].poor = poor == 1;
        pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 2, 1);
        pair_send_all(pair, 4);
        assert_true(pair_settle(pair, 1000) <= 1000);
        pair_close(pair);
    }
}

/* A message that nobody is ready for is kept, with those behind it. */
static void test_not_ready(void **state)
{
    struct pair *pair = pair_open_keeping(PAIR_KEPT);
    uint64_t got = pair->end[1].got[REQUEST];

    pair->end[1].ready = false;
    pair_send_all(pair, 4);
    for (int i = 0; i < 100; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].got[REQUEST], got);
    pair->end[1].ready = true;
    assert_true(pair_settle(pair, 100) <= 100);
    assert_int_equal(pair_again(pair), 0);
    pair_close(pair);
}

static void forge(struct pair *pair, struct am_chan_hdr hdr, size_t bytes)
{
    static uint8_t data[4096];
    struct am_window *window = &pair->end[1].window;

    hdr.conn = window->conn_rx;
    hdr.ack[0] = window->tx[0].seq.una;
    hdr.ack[1] = window->tx[1].seq.una;
    am_window_packet(window, &hdr, data, bytes);
}

/* Lengths and offsets that no packet can have are counted and not kept. */
static void test_forged(void **state)
{
    struct pair *pair = pair_open_keeping(PAIR_KEPT);
    uint32_t payload = pair->params.payload_bytes;
    uint32_t next = pair->end[1].window.rx[REQUEST].seq.next;
    const struct am_chan_hdr data = {.type = AM_CHAN_DATA,
                                     .seq = next + 1,
                                     .message_bytes = PAIR_CHUNK * payload};
    struct am_chan_hdr hdr;
    uint64_t bad = pair->end[1].stats[AM_CHAN_STAT_RX_BAD];

    hdr = data;
    hdr.offset = 1; /* between packets */
    forge(pair, hdr, payload);
    hdr.offset = PAIR_CHUNK * payload; /* past the end */
    forge(pair, hdr, payload);
    hdr.offset = UINT32_MAX - payload + 1;
    forge(pair, hdr, payload);
    forge(pair, data, payload - 1); /* short, and not the last */
    forge(pair, data, payload + 1);
    hdr = data;
    hdr.message_bytes = (PAIR_CHUNK + 1) * payload; /* more than a chunk */
    forge(pair, hdr, payload);
    assert_int_equal(pair->end[1].stats[AM_CHAN_STAT_RX_BAD], bad + 6);
    assert_int_equal(pair->end[1].stats[AM_CHAN_STAT_RX_GAP], 0);
    hdr = (struct am_chan_hdr){.type = AM_CHAN_NACK,
                               .seq = next + 5,
                               .offset = next + 4}; /* ends before it begins */
    forge(pair, hdr, 0);
    hdr.offset = next + 9; /* of what was never sent */
    forge(pair, hdr, 0);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_hole),       cmocka_unit_test(test_holes),
            cmocka_unit_test(test_lost_again), cmocka_unit_test(test_little_room),
            cmocka_unit_test(test_not_ready),  cmocka_unit_test(test_forged),
            cmocka_unit_test(test_keeps_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
