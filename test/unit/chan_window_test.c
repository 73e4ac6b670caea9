/*
 * The window by script: which packet is lost is chosen, what must follow is
 * known.  Random faults are in chan_window_random_test.c.
 */
#include "support/cm.h"
#include "support/window_pair.h"

#include <string.h>

enum {
    REQUEST,
    REPLY
};

static struct pair *open_sp(void)
{
    struct am_window_params params = pair_sp_params();

    return pair_open(&params, 0x1234, 0x9876);
}

/* ---------------------------------------------------------------- lengths */

static uint32_t length_chunk(const struct pair *pair, uint32_t class,
                             uint64_t number)
{
    return pair->params.chunk_packets * pair->params.payload_bytes;
}

static uint32_t length_mixed(const struct pair *pair, uint32_t class,
                             uint64_t number)
{
    static const uint32_t lengths[] = {0, 1, 7, 8, 9, 223, 224, 225, 448, 1000};

    return lengths[number % 10];
}

/* ------------------------------------------------------------------ fates */

/* Lose packets number rule[3].. rule[3]+rule[4]-1 of type rule[1], class
 * rule[2], from end rule[0]; rule[5] counts. */
static fate_t fate_rule(struct pair *pair, uint32_t from,
                        const struct pair_packet *packet)
{
    uint32_t *rule = pair->rule;

    if (from != rule[0] || packet->hdr.type != rule[1] ||
        packet->hdr.class != rule[2]) {
        return FATE_PASS;
    }
    rule[5]++;
    return rule[5] > rule[3] && rule[5] <= rule[3] + rule[4] ? FATE_LOSE
                                                             : FATE_PASS;
}

static void lose(struct pair *pair, uint32_t from, uint32_t type,
                 uint32_t class, uint32_t first, uint32_t count)
{
    const uint32_t rule[8] = {from, type, class, first, count};

    memcpy(pair->rule, rule, sizeof(rule));
    pair->fate = fate_rule;
}

/* --------------------------------------------------------------- connection */

static void test_handshake(void **state)
{
    struct pair *pair = open_sp();

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
    struct pair *pair = open_sp();

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
            struct pair *pair = open_sp();

            lose(pair, lost[i][0], lost[i][1], REQUEST, 0, count);
            assert_true(pair_send(pair, 0, REQUEST));
            assert_true(pair_settle(pair, 500) <= 500);
            pair_close(pair);
        }
    }
}

/* Packets of an earlier connection between the same two ends. */
static void test_stale(void **state)
{
    struct pair *pair = open_sp();
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
    struct pair *pair = open_sp();
    struct am_chan_hdr hdr = {.type = AM_CHAN_HELLO,
                              .seq = 0x777,
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

/* ------------------------------------------------------------------- window */

static void test_window_limit(void **state)
{
    struct pair *pair = open_sp();
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
    struct pair *pair = open_sp();
    const struct pair_packet *wire = pair->end[1].wire;

    pair_connect(pair);
    pair->length = length_chunk;
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
    struct pair *pair = open_sp();

    pair_connect(pair);
    pair->length = length_chunk;
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_settle(pair, 3) <= 3);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_ACK], 1);
    assert_int_equal(pair->end[0].transmitted[AM_CHAN_PROBE], 0);
    pair_close(pair);
}

/* An explicit acknowledgement at a quarter of the window: 75 / 4 = 18. */
static void test_quarter_ack(void **state)
{
    struct pair *pair = open_sp();

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
    struct pair *pair = open_sp();

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

static uint32_t length_two(const struct pair *pair, uint32_t class,
                           uint64_t number)
{
    return 2 * pair->params.payload_bytes;
}

/* Messages of two packets are no chunks: the window is their only limit, and
 * they are acknowledged by quarters. */
static void test_short_chunks(void **state)
{
    struct pair *pair = open_sp();
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
    pair->length = length_chunk;
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
    struct pair *pair = open_sp();

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
    lose(pair, from, type, REQUEST, first, count);
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
    struct pair *pair = open_sp();

    pair_connect(pair);
    lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
    for (int i = 0; i < 10; i++) {
        assert_true(pair_send(pair, 0, REQUEST));
    }
    pair_step(pair);
    assert_int_equal(pair->end[1].transmitted[AM_CHAN_NACK], 1);
    assert_int_equal(pair->end[1].stats[AM_CHAN_STAT_RX_GAP], 9);
    lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1); /* the second time, too */
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
    struct pair *pair = open_sp();

    pair_connect(pair);
    lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    lose(pair, 1, AM_CHAN_NACK, REQUEST, 0, 1);
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
    struct pair *pair = open_sp();

    pair_connect(pair);
    pair->length = length_chunk;
    lose(pair, 0, AM_CHAN_DATA, REQUEST, 35, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_settle(pair, 100) <= 100);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 1);
    pair_close(pair);
}

/* The keep-alive comes after keepalive_polls ticks and then backs off. */
static void test_keepalive(void **state)
{
    struct pair *pair = open_sp();
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

/* No probe takes the space that data waits for: found by chan_mc. */
static void test_no_probe_before_data(void **state)
{
    struct pair *pair = open_sp();
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

/* Requests wait while the receiver is not ready; replies pass. */
static void test_not_ready(void **state)
{
    struct pair *pair = open_sp();

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

static void test_bye(void **state)
{
    struct pair *pair = open_sp();

    pair_connect(pair);
    lose(pair, 0, AM_CHAN_BYE, REQUEST, 0, 1);
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

/* -------------------------------------------------------------- timer variant */

static void test_timer(void **state)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.timer = true;
    params.ack_fraction = 2;
    pair = pair_open(&params, 5, 6);
    pair_connect(pair);
    lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
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
        lose(pair, 0, AM_CHAN_DATA, REQUEST, first, 2);
        for (int i = 0; i < 60; i++) {
            assert_true(pair_send(pair, 0, REQUEST));
        }
        assert_true(pair_settle(pair, 500) <= 500);
        pair_close(pair);
    }
}

/* ------------------------------------------------------------ what a peer may do */

/* Every field of a packet of the open connection at its extremes. */
static void test_bad_fields(void **state)
{
    static const uint32_t values[] = {
            0,    1,    2,          7,     75,         76,         224,
            8064, 8065, 0x7fffffff, 65536, 0x80000000, 0xffffffff, 0x1234};
    struct pair *pair = open_sp();
    struct am_window *window = &pair->end[1].window;
    uint8_t data[PAIR_PAYLOAD_MAX] = {0};
    struct am_prng prng;

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

static void test_bad_hello(void **state)
{
    const struct am_chan_hdr good = {.type = AM_CHAN_HELLO,
                                     .seq = 0x1234,
                                     .offset = 0x9876,
                                     .ack = {75, 76},
                                     .hdr_bytes = AM_CHAN_WIRE_VERSION,
                                     .message_bytes = 8064};
    struct am_chan_hdr bad[7];
    struct pair *pair = open_sp();

    for (int i = 0; i < 7; i++) {
        bad[i] = good;
    }
    bad[0].seq = 0;
    bad[1].ack[0] = 0;
    bad[2].ack[1] = AM_CHAN_WINDOW_MAX + 1;
    bad[3].hdr_bytes = AM_CHAN_WIRE_VERSION + 1;
    bad[4].message_bytes = AM_CHAN_MESSAGE_MAX + 1;
    bad[5].message_bytes = 0;
    bad[6].message_bytes = PAIR_LANDING + 1; /* more than there is memory for */
    for (uint32_t i = 0; i < 7; i++) {
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
            cmocka_unit_test(test_handshake),
            cmocka_unit_test(test_handshake_both),
            cmocka_unit_test(test_handshake_lost),
            cmocka_unit_test(test_stale),
            cmocka_unit_test(test_stale_hello_first),
            cmocka_unit_test(test_window_limit),
            cmocka_unit_test(test_chunk_rule),
            cmocka_unit_test(test_chunk_ack),
            cmocka_unit_test(test_quarter_ack),
            cmocka_unit_test(test_less_than_a_quarter),
            cmocka_unit_test(test_short_chunks),
            cmocka_unit_test(test_chunks_in_large_window),
            cmocka_unit_test(test_piggyback),
            cmocka_unit_test(test_window_of_one),
            cmocka_unit_test(test_lost_first),
            cmocka_unit_test(test_lost_each),
            cmocka_unit_test(test_lost_window),
            cmocka_unit_test(test_lost_acks),
            cmocka_unit_test(test_wrap),
            cmocka_unit_test(test_nack_once),
            cmocka_unit_test(test_lost_nack),
            cmocka_unit_test(test_lost_last_of_chunk),
            cmocka_unit_test(test_keepalive),
            cmocka_unit_test(test_no_probe_before_data),
            cmocka_unit_test(test_not_ready),
            cmocka_unit_test(test_bye),
            cmocka_unit_test(test_timer),
            cmocka_unit_test(test_timer_and_nack),
            cmocka_unit_test(test_bad_fields),
            cmocka_unit_test(test_bad_hello),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
