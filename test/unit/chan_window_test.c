/*
 * The window by script, nothing lost but what a step of the connection is: its
 * opening and end, its limits, its chunks and its acknowledgements.  Losses are
 * in chan_window_loss_test.c, what a bad peer sends in chan_window_peer_test.c,
 * random faults in chan_window_random_test.c.
 */
#include "support/cm.h"
#include "support/window_pair.h"

/* --------------------------------------------------------------- connection */

static void test_handshake(void **state)
{
    struct pair *pair = pair_open_sp();

    assert_true(pair_send(pair, 0, REQUEST));
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_HELLO], 1);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_DATA], 0);
    assert_true(pair_settle(pair, 50) <= 50);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_HELLO], 1);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_WELCOME], 1);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_DATA], 1);
    pair_close(pair);
}

static void test_handshake_both(void **state)
{
    struct pair *pair = pair_open_sp();

    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_send(pair, 1, REPLY));
    assert_true(pair_settle(pair, 50) <= 50);
    pair_close(pair);
}

/* Each packet of the handshake lost in turn, once, then three times. */
static void test_handshake_lost(void **state)
{
    static const uint32_t lost[][2] = {
            {0, AM_CHAN_HELLO}, {1, AM_CHAN_HELLO}, {0, AM_CHAN_WELCOME}};

    for (uint32_t i = 0; i < 3; i++) {
        for (uint32_t count = 1; count <= 3; count += 2) {
            struct pair *pair = pair_open_sp();

            pair_lose(pair, lost[i][0], lost[i][1], REQUEST, 0, count);
            assert_true(pair_send(pair, 0, REQUEST));
            assert_true(pair_settle(pair, 500) <= 500);
            pair_close(pair);
        }
    }
}

static void test_bye(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    pair_lose(pair, 0, AM_CHAN_BYE, REQUEST, 0, 1);
    assert_true(pair_send(pair, 1, REQUEST)); /* will never be acknowledged */
    pair->end[0].wire_count = 0;
    am_window_bye(&pair->end[0].window);
    for (int i = 0; i < 50; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[0].window.state, AM_WINDOW_GONE);
    assert_int_equal(pair->end[1].window.state, AM_WINDOW_GONE);
    assert_true(am_window_is_drained(&pair->end[1].window));
    assert_true(am_window_is_idle(&pair->end[1].window));
    assert_null(am_window_reserve(&pair->end[1].window, REQUEST, 8));
    pair_close(pair);
}

/* The one that answers a BYE goes at once, and its answer is lost, and the next;
 * the other learns it all the same, and from one that gave up waiting, too. */
static void test_farewell(void **state)
{
    for (uint32_t answers = 0; answers < 2; answers++) {
        struct pair *pair = pair_open_sp();
        struct am_window *first = &pair->end[0].window;
        struct am_window *last = &pair->end[1].window;

        pair_connect(pair);
        pair_lose(pair, 1, answers ? AM_CHAN_GONE : AM_CHAN_BYE, REQUEST, 0,
                  AM_WINDOW_FAREWELLS - 1);
        if (answers) {
            am_window_bye(first);
            for (int i = 0; i < 5 && last->state != AM_WINDOW_GONE; i++) {
                pair_step(pair);
            }
            assert_int_equal(last->state, AM_WINDOW_GONE);
        }
        am_window_farewell(last);
        am_window_farewell(last); /* once is enough */
        for (int i = 0; i < 5; i++) {
            pair_step(pair);
        }
        assert_int_equal(first->state, AM_WINDOW_GONE);
        assert_true(pair->end[1].transmitted[AM_CHAN_GONE] +
                            pair->end[1].transmitted[AM_CHAN_BYE] <=
                    AM_WINDOW_FAREWELLS + 1);
        pair_close(pair);
    }
}

/* ------------------------------------------------------------------- window */

static uint32_t length_two(const struct pair *pair, uint32_t class,
                           uint64_t number)
{
    return 2 * pair->params.payload_bytes;
}

static void test_window_limit(void **state)
{
    struct pair *pair = pair_open_sp();
    uint32_t count = 0;

    pair_connect(pair);
    while (pair_send(pair, 0, REQUEST)) {
        count++;
    }
    assert_int_equal(count, 75);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_WINDOW_FULL], 1);
    /* Replies have a window of their own. */
    for (count = 0; pair_send(pair, 0, REPLY);) {
        count++;
    }
    assert_int_equal(count, 76);
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

static void test_chunk_rule(void **state)
{
    struct pair *pair = pair_open_sp();
    const struct pair_packet *wire = pair->end[1].wire;

    pair_connect(pair);
    pair->length = pair_length_chunk;
    /* Message 0 was short; the peer knows lengths by number only. */
    pair->end[0].sent[REQUEST] = pair->end[1].got[REQUEST] = 1;
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_send(pair, 0, REQUEST));
    assert_false(pair_send(pair, 0, REQUEST)); /* after the first's ack */
    assert_int_equal(pair->end[1].wire_count, 72);
    for (uint32_t i = 0; i < 72; i++) {
        assert_int_equal(wire[i].hdr.seq - wire[0].hdr.seq, i / 36 * 36);
        assert_int_equal(wire[i].hdr.offset, i % 36 * 224);
        assert_int_equal(wire[i].hdr.message_bytes, 8064);
    }
    pair_step(pair);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 2);
    pair_step(pair);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

/* One chunk is one acknowledgement, and it comes without a keep-alive. */
static void test_chunk_ack(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    pair->length = pair_length_chunk;
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_settle(pair, 3) <= 3);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 1);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 0);
    pair_close(pair);
}

/* An explicit acknowledgement at a quarter of the window: 75 / 4 = 18. */
static void test_quarter_ack(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    for (int i = 0; i < 17; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
    }
    pair_step(pair);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 0);
    assert_true(pair_send(pair, 0, REQUEST));
    pair_step(pair);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 1);
    pair_step(pair);
    assert_true(am_window_is_drained(&pair->end[0].window));
    pair_close(pair);
}

/* Fewer than a quarter, and nothing to ride on: the keep-alive asks, the answer
 * acknowledges, and nothing is sent twice (Chang et al. 1996). */
static void test_less_than_a_quarter(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    for (int i = 0; i < 17; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
    }
    for (uint32_t i = 1; i < pair->params.keepalive_polls; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].got[REQUEST], 18);
    assert_false(am_window_is_drained(&pair->end[0].window));
    assert_true(pair_settle(pair, 4) <= 4);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 1);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 0);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_NACK], 1);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 0);
    pair_close(pair);
}

/* Messages of two packets are no chunks: the window is their only limit, and
 * they are acknowledged by quarters. */
static void test_short_chunks(void **state)
{
    struct pair *pair = pair_open_sp();
    uint32_t count = 0;

    pair_connect(pair);
    pair->length = length_two;
    pair->end[0].sent[REQUEST] = pair->end[1].got[REQUEST] = 1;
    for (; pair_send(pair, 0, REQUEST); count++) {
        if (count == 7) {
            pair_step(pair);
            assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 0);
        }
        if (count == 8) { /* 18 packets */
            pair_step(pair);
            assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 1);
        }
    }
    assert_int_equal(count, 37); /* 75 / 2: the acknowledgement is on its way */
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

/* Two full chunks in flight however large the window is, and the receiver lets
 * go of the third without a keep-alive, though they are no quarter of it. */
static void test_chunks_in_large_window(void **state)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.window_packets[0] = params.window_packets[1] = 400;
    pair = pair_open(&params, 5, 6);
    pair_connect(pair);
    pair->length = pair_length_chunk;
    pair->end[0].sent[REQUEST] = pair->end[1].got[REQUEST] = 1;
    for (int i = 0; i < 20; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
        assert_true(pair_send(pair, 0, REQUEST));
        assert_false(pair_send(pair, 0, REQUEST));
        assert_true(pair_settle(pair, 3) <= 3);
    }
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 0);
    pair_close(pair);
}

static void test_piggyback(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    for (int i = 0; i < 200; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
        pair_deliver(pair, 1);
        assert_true(pair_send(pair, 1, REPLY));
        pair_deliver(pair, 0);
        am_window_tick(&pair->end[0].window, 0);
        am_window_tick(&pair->end[1].window, 0);
    }
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_ACK], 0);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 0);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 0);
    pair_close(pair);
}

/* A window of one packet in each class, in both directions at once. */
static void test_window_of_one(void **state)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.window_packets[0] = params.window_packets[1] = 1;
    params.chunk_packets = 1;
    pair = pair_open(&params, 1, 2);
    for (uint32_t sent = 0, steps = 0; sent < 4 * 100; steps++) {
        assert_true(steps < 2000);
        for (uint32_t i = 0; i < 4; i++) {
            sent += pair_send(pair, i / 2, i % 2);
        }
        pair_step(pair);
    }
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

/* Requests wait while the receiver is not ready; replies pass. */
static void test_not_ready(void **state)
{
    struct pair *pair = pair_open_sp();

    pair_connect(pair);
    pair->end[1].ready = false;
    for (int i = 0; i < 10; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
        assert_true(pair_send(pair, 0, REPLY));
    }
    for (int i = 0; i < 200; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].got[REQUEST], 1); /* pair_connect's */
    assert_int_equal(pair->end[1].got[REPLY], 10);
    assert_false(am_window_is_idle(&pair->end[1].window));
    pair->end[1].ready = true;
    for (int i = 0; i < 3; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[1].got[REQUEST], 11); /* by a nack, at once */
    assert_true(pair_settle(pair, 100) <= 100);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_handshake),
            cmocka_unit_test(test_handshake_both),
            cmocka_unit_test(test_handshake_lost),
            cmocka_unit_test(test_bye),
            cmocka_unit_test(test_farewell),
            cmocka_unit_test(test_window_limit),
            cmocka_unit_test(test_chunk_rule),
            cmocka_unit_test(test_chunk_ack),
            cmocka_unit_test(test_quarter_ack),
            cmocka_unit_test(test_less_than_a_quarter),
            cmocka_unit_test(test_short_chunks),
            cmocka_unit_test(test_chunks_in_large_window),
            cmocka_unit_test(test_piggyback),
            cmocka_unit_test(test_window_of_one),
            cmocka_unit_test(test_not_ready),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
