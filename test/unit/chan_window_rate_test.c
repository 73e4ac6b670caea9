/*
 * The window that adapts: how much it lets out, what a loss does to that, and
 * that a slow peer's answers make it send nothing twice.
 */
#include "support/cm.h"
#include "support/window_pair.h"

#include <string.h>

enum {
    WINDOW = 75,
    CHUNK = 8
};

static struct pair *pair_open_adapting(void)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.adapts = true;
    params.chunk_packets = CHUNK;
    params.chunks_max = AM_CHAN_WINDOW_MAX;
    pair = pair_open(&params, 11, 22);
    pair_connect(pair);
    return pair;
}

static uint32_t limit_of(const struct pair *pair)
{
    return pair->end[0].window.tx[REQUEST].rate.limit;
}

/* One step with all that the window takes. */
static void flood(struct pair *pair)
{
    while (pair_send(pair, 0, REQUEST)) {
    }
    pair_step(pair);
}

static void test_grows(void **state)
{
    struct pair *pair = pair_open_adapting();
    const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];
    uint32_t limit = limit_of(pair);

    assert_in_range(limit, 2 * CHUNK, 2 * CHUNK + 1); /* one opened it */
    while (pair_send(pair, 0, REQUEST)) {
    }
    assert_int_equal(pair->end[1].wire_count, limit); /* and not 75 */
    for (int i = 0; i < 100 && limit_of(pair) < WINDOW; i++) {
        flood(pair);
        assert_true(tx->seq.sent - tx->seq.una <= limit_of(pair));
    }
    assert_int_equal(limit_of(pair), WINDOW);
    assert_true(pair_settle(pair, 1000) <= 1000);
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_RETRANSMITTED], 0);
    pair_close(pair);
}

/* Losses in one window count once.  After that it grows fast to what was on its
 * way before, less one part in eight, and then slowly. */
static void test_halves(void **state)
{
    const uint32_t goal = WINDOW - WINDOW / 8;
    struct pair *pair = pair_open_adapting();
    uint32_t least = WINDOW;

    for (int i = 0; i < 100; i++) {
        flood(pair);
    }
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 3, 5);
    for (int i = 0; i < 12 && (least == WINDOW || limit_of(pair) < goal); i++) {
        flood(pair);
        least = limit_of(pair) < least ? limit_of(pair) : least;
    }
    assert_int_equal(pair->end[0].stats[AM_CHAN_STAT_TX_HALVED], 1);
    assert_in_range(least, WINDOW / 2, WINDOW / 2 + WINDOW / 4);
    assert_in_range(limit_of(pair), goal, WINDOW);
    for (int i = 0; i < 400; i++) {
        flood(pair);
    }
    assert_int_equal(limit_of(pair), WINDOW);
    pair_close(pair);
}

/* The end of what a loss counted for does not stay behind: once 2^31 packets have gone
 * it would be ahead, and no loss would count. */
static void test_stale(void **state)
{
    struct pair *pair = pair_open_adapting();
    const struct am_window_tx *tx = &pair->end[0].window.tx[REQUEST];

    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 3, 1);
    for (int i = 0; i < 100; i++) {
        flood(pair);
    }
    assert_true(tx->rate.lost);
    assert_false(am_seq_before(tx->rate.lost_end, tx->seq.una));
    pair_close(pair);
}

static fate_t fate_hundredth(struct pair *pair, uint32_t from,
                         const struct pair_packet *packet)
{
    return am_prng_below(&pair->prng, 100) == 0 ? FATE_LOSE : FATE_PASS;
}

/* One packet in a hundred is lost, at random: more than a third of the window
 * stays in use. */
static void test_random_losses(void **state)
{
    struct pair *pair = pair_open_adapting();
    uint64_t sum = 0;
    int rounds = 4000;

    am_prng_seed(&pair->prng, 7);
    pair->fate = fate_hundredth;
    for (int i = 0; i < rounds; i++) {
        flood(pair);
        sum += limit_of(pair);
    }
    assert_true(sum / (uint64_t)rounds > WINDOW / 3);
    pair->fate = NULL;
    assert_true(pair_settle(pair, 5000) <= 5000);
    pair_close(pair);
}

static fate_t fate_third(struct pair *pair, uint32_t from,
                         const struct pair_packet *packet)
{
    return am_prng_below(&pair->prng, 3) == 0 ? FATE_LOSE : FATE_PASS;
}

/* It goes on whatever is lost, and never below a chunk. */
static void test_least(void **state)
{
    struct pair *pair = pair_open_adapting();
    uint64_t sent;

    am_prng_seed(&pair->prng, 5);
    pair->fate = fate_third;
    pair->length = pair_length_chunk;
    for (int i = 0; i < 10000; i++) {
        flood(pair);
        assert_true(limit_of(pair) >= CHUNK);
    }
    sent = pair->end[0].sent[REQUEST];
    assert_true(sent > 20);
    assert_true(pair->end[0].stats[AM_CHAN_STAT_TX_HALVED] > 0);
    pair->fate = NULL;
    assert_true(pair_settle(pair, 5000) <= 5000);
    assert_int_equal(pair->end[1].got[REQUEST], sent);
    pair_close(pair);
}

/* A peer that does not poll is asked several times; its answers come when more
 * is on its way, and nothing is lost. */
static void test_slow_peer(void **state)
{
    struct pair *pair = pair_open_adapting();
    struct pair_end *end = &pair->end[0];

    for (int i = 0; i < 20; i++) {
        flood(pair);
    }
    for (int round = 0; round < 5; round++) {
        uint32_t probes = end->transmitted[AM_CHAN_PROBE];

        while (end->transmitted[AM_CHAN_PROBE] < probes + 3) {
            am_window_tick(&end->window, 0);
        }
        for (int i = 0; i < 20; i++) {
            flood(pair);
        }
    }
    assert_true(pair_settle(pair, 1000) <= 1000);
    assert_int_equal(end->stats[AM_CHAN_STAT_TX_RETRANSMITTED], 0);
    assert_int_equal(end->stats[AM_CHAN_STAT_TX_HALVED], 0);
    pair_close(pair);
}

/* What is lost at the end is sent again once, though three probes ask. */
static void test_lost_end(void **state)
{
    struct pair *pair = pair_open_adapting();
    struct pair_end *end = &pair->end[0];
    uint32_t probes;

    for (int i = 0; i < 20; i++) {
        flood(pair);
    }
    assert_true(pair_settle(pair, 1000) <= 1000);
    probes = end->transmitted[AM_CHAN_PROBE];
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 0, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    while (end->transmitted[AM_CHAN_PROBE] < probes + 3) {
        am_window_tick(&end->window, 0);
    }
    assert_true(pair_settle(pair, 1000) <= 1000);
    assert_int_equal(end->stats[AM_CHAN_STAT_TX_RETRANSMITTED], 1);
    assert_int_equal(end->stats[AM_CHAN_STAT_TX_AGAIN_PROBE], 1);
    pair_close(pair);
}

/* Memory is asked for when it is first needed, goes back when nothing in it is, and
 * is asked for again; without any, nothing is taken until there is some. */
static void test_rests(void **state)
{
    struct pair *pair = pair_open_adapting();
    struct pair_end *end = &pair->end[0], *peer = &pair->end[1];
    uint32_t taken;

    pair->length = pair_length_chunk;
    pair->end[0].sent[REQUEST] = pair->end[1].got[REQUEST] = 1; /* the first was short */
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, 3, 1);
    assert_true(pair_send(pair, 0, REQUEST));
    assert_false(am_window_rest(&end->window)); /* not acknowledged */
    (void)pair_deliver(pair, 1);
    assert_false(am_window_rest(&peer->window)); /* parts of a message */
    assert_true(pair_settle(pair, 1000) <= 1000);
    assert_int_equal(peer->taken, 0); /* it has sent nothing */
    taken = end->taken;
    assert_true(am_window_rest(&end->window));
    assert_true(am_window_rest(&peer->window));
    memset(end->memory, 0xdd, am_window_memory_bytes(&pair->params));
    end->broke = peer->broke = true;
    assert_false(am_window_has_room(&end->window, REQUEST));
    assert_false(pair_send(pair, 0, REQUEST));
    end->broke = false;
    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(end->taken > taken);
    for (int i = 0; i < 100; i++) {
        pair_step(pair);
    }
    assert_int_equal(peer->got[REQUEST], 2); /* nowhere to put it together */
    peer->broke = false;
    assert_true(pair_settle(pair, 10000) <= 10000);
    assert_int_equal(peer->got[REQUEST], 3);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_grows),
            cmocka_unit_test(test_halves),
            cmocka_unit_test(test_least),
            cmocka_unit_test(test_slow_peer),
            cmocka_unit_test(test_lost_end),
            cmocka_unit_test(test_rests),
            cmocka_unit_test(test_random_losses),
            cmocka_unit_test(test_stale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
