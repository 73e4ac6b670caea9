/*
 * A link that is cut and comes back, again and again, with polls that are far
 * apart (a core that others have, too): when it is up, both variants find that
 * out within the longest wait, and go on.
 */
#include "support/cm.h"
#include "support/window_pair.h"

#define PS_PER_MS UINT64_C(1000000000)

enum {
    CUTS = 5,
    UP_MS = 1500,
    LONGEST_MS = 100 /* AM_CHAN_RTO_MAX */
};

/* As over udp; the pair passes so much time with each poll. */
static struct pair *pair_open_slow(bool timer, uint64_t poll_ps)
{
    struct am_window_params params = pair_sp_params();
    struct pair *pair;

    params.adapts = true;
    params.timer = timer;
    params.chunk_packets = 8;
    params.chunks_max = AM_CHAN_WINDOW_MAX;
    params.early_packets = 256;
    params.keepalive_polls = 1000;
    params.rto_ps = PS_PER_MS;
    params.rto_max_ps = LONGEST_MS * PS_PER_MS;
    params.ack_delay_ps = PS_PER_MS / 10;
    params.asks_by_time = !timer;
    pair = pair_open(&params, 5, UINT32_MAX - 7);
    pair->tick_ps = poll_ps;
    return pair;
}

static fate_t fate_cut(struct pair *pair, uint32_t from,
                       const struct pair_packet *packet)
{
    (void)pair, (void)from, (void)packet;
    return FATE_LOSE;
}

/* Send in both directions, as much as there is room for, for so long or until
 * something of each has arrived; the time that took. */
static uint64_t flow(struct pair *pair, uint64_t ms, bool until_news)
{
    uint64_t start_ps = pair->now_ps;
    uint64_t got[2] = {pair->end[0].got[REQUEST], pair->end[1].got[REQUEST]};

    while (pair->now_ps - start_ps < ms * PS_PER_MS) {
        for (uint32_t i = 0; i < 2; i++) {
            while (pair_send(pair, i, REQUEST)) {
            }
        }
        pair_step(pair);
        if (until_news && pair->end[0].got[REQUEST] > got[0] &&
            pair->end[1].got[REQUEST] > got[1]) {
            break;
        }
    }
    return (pair->now_ps - start_ps) / PS_PER_MS;
}

/* Up for a while, down for `down_ms`, and so on.  Something of each end arrives
 * after one wait, or after two where acknowledgements were lost, and then it goes
 * on as before. */
static void cut_often(bool timer, uint64_t poll_ps, uint64_t down_ms)
{
    struct pair *pair = pair_open_slow(timer, poll_ps);
    uint64_t most_ms = 2 * LONGEST_MS + 10 * (1 + poll_ps / PS_PER_MS);
    uint64_t clean, got;
    uint32_t steps;

    (void)flow(pair, UP_MS, false);
    clean = pair->end[1].got[REQUEST];

    for (int i = 0; i < CUTS; i++) {
        pair->fate = fate_cut;
        (void)flow(pair, down_ms, false);
        pair->fate = NULL;
        got = pair->end[1].got[REQUEST];
        assert_true(flow(pair, UP_MS, true) <= most_ms);
        (void)flow(pair, UP_MS, false);
        assert_true(pair->end[1].got[REQUEST] - got > clean / 2);
    }
    /* what is under way at the end of all, when nothing follows it */
    pair->fate = fate_cut;
    (void)flow(pair, down_ms, false);
    pair->fate = NULL;
    steps = (uint32_t)(2 * most_ms * PS_PER_MS / poll_ps);
    assert_true(pair_settle(pair, steps) <= steps);
    pair_close(pair);
}

static void cut_all(bool timer)
{
    static const uint64_t polls_ps[] = {PS_PER_MS, 3 * PS_PER_MS,
                                        20 * PS_PER_MS};
    static const uint64_t downs_ms[] = {500, 3000, 10000, 30000};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) {
            cut_often(timer, polls_ps[i], downs_ms[k]);
        }
    }
}

static void test_nack(void **state)
{
    cut_all(false);
}

static void test_timer(void **state)
{
    cut_all(true);
}

/* Who opens the connection, or closes it, waits no longer. */
static void test_hello(void **state)
{
    struct pair *pair = pair_open_slow(false, 3 * PS_PER_MS);
    uint64_t start_ps;

    pair->fate = fate_cut;
    assert_true(pair_send(pair, 0, REQUEST));
    (void)flow(pair, 30000, false);
    pair->fate = NULL;
    assert_true(flow(pair, UP_MS, true) <= LONGEST_MS + 40);
    assert_true(pair_settle(pair, 1000) <= 1000);
    pair->fate = fate_cut;
    am_window_bye(&pair->end[0].window);
    for (int i = 0; i < 10000; i++) {
        pair_step(pair);
    }
    assert_int_equal(pair->end[0].window.state, AM_WINDOW_OPEN);
    pair->fate = NULL;
    start_ps = pair->now_ps;
    while (pair->end[0].window.state != AM_WINDOW_GONE) {
        assert_true(pair->now_ps - start_ps < (LONGEST_MS + 40) * PS_PER_MS);
        pair_step(pair);
    }
    pair_close(pair);
}

/* Polls that follow each other fast are counted as ever: the time is an upper
 * limit. */
static void test_counts_first(void **state)
{
    struct pair *pair = pair_open_slow(false, 1000);
    struct pair_end *end = &pair->end[0];
    uint32_t ticks = 0, probes;

    assert_true(pair_send(pair, 0, REQUEST));
    assert_true(pair_settle(pair, 5000) <= 5000); /* the last is asked after */
    probes = end->transmitted[AM_CHAN_PROBE];
    assert_true(pair_send(pair, 0, REQUEST));
    while (end->transmitted[AM_CHAN_PROBE] < probes + 2) {
        assert_true(++ticks < 10000);
        am_window_tick(&end->window, pair->now_ps += 1000);
    }
    assert_int_equal(ticks % 3, 0); /* one wait, and another twice as long */
    assert_true(ticks <= 3 * 1000);
    pair_close(pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_nack),
            cmocka_unit_test(test_timer),
            cmocka_unit_test(test_hello),
            cmocka_unit_test(test_counts_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
