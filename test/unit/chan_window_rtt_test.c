/*
 * The window measures the way there and back while it streams and loses packets,
 * and waits no longer for an answer than follows from that.
 */
#include "support/cm.h"
#include "support/window_pair.h"

enum {
    STEPS = 20000,
    WAY_STEPS = 2 /* to a step of the pair, there and back */
};

/* Waits that were not measured take a hundred steps. */
static struct pair *pair_open_timed(bool timer)
{
    struct am_window_params params = pair_sp_params();

    params.timer = timer;
    params.asks_by_time = !timer;
    params.keepalive_polls = 1000000;
    params.rto_ps = 10000;
    params.rto_max_ps = 1000000000;
    return pair_open_grown(&params, PAIR_KEPT, 100);
}

static void flood(struct pair *pair)
{
    while (pair_send(pair, 0, REQUEST)) {
    }
    pair_step(pair);
}

/* Each acknowledgement lets another packet go before the next tick. */
static void measured(bool timer)
{
    struct pair *pair = pair_open_timed(timer);
    const struct am_window_rate *rate = &pair->end[0].window.tx[REQUEST].rate;

    for (int i = 0; i < 100; i++) {
        flood(pair);
    }
    assert_in_range(rate->rtt_ps, pair->tick_ps,
                    2 * WAY_STEPS * pair->tick_ps);
    assert_true(pair_settle(pair, 1000) <= 1000);
    pair_close(pair);
}

static void test_measured_nack(void **state)
{
    measured(false);
}

static void test_measured_timer(void **state)
{
    measured(true);
}

static fate_t fate_tenth(struct pair *pair, uint32_t from,
                         const struct pair_packet *packet)
{
    return am_prng_below(&pair->prng, 10) == 0 ? FATE_LOSE : FATE_PASS;
}

/* One packet in ten is lost, also of those that go again and of answers: thousands
 * of waits.  What they take does not grow with their number. */
static void random_losses(bool timer, uint64_t chunks_least)
{
    struct pair *pair = pair_open_timed(timer);
    uint64_t half;

    am_prng_seed(&pair->prng, 3);
    pair->fate = fate_tenth;
    for (int i = 0; i < STEPS / 2; i++) {
        flood(pair);
    }
    half = pair->end[1].got[REQUEST];
    for (int i = 0; i < STEPS / 2; i++) {
        flood(pair);
    }
    assert_true(half > chunks_least);
    assert_true(pair->end[1].got[REQUEST] - half > chunks_least);
    pair->fate = NULL;
    assert_true(pair_settle(pair, 5000) <= 5000);
    pair_close(pair);
}

static void test_losses_nack(void **state)
{
    random_losses(false, 4000);
}

static void test_losses_timer(void **state)
{
    random_losses(true, 15000);
}

/* The last packet is lost: the peer is asked, or it goes again, after some ways and
 * not after rto_ps. */
static void lost_end(bool timer)
{
    struct pair *pair = pair_open_timed(timer);

    for (int i = 0; i < 100; i++) {
        flood(pair);
    }
    assert_true(pair_settle(pair, 1000) <= 1000);
    pair_lose(pair, 0, AM_CHAN_DATA, REQUEST, PAIR_CHUNK - 1, 1);
    pair_send_all(pair, 1);
    assert_true(pair_settle(pair, 1000) <= 10 * WAY_STEPS);
    assert_in_range(pair_again(pair), 1, 2); /* timer: the first and the last */
    pair_close(pair);
}

static void test_lost_end_nack(void **state)
{
    lost_end(false);
}

static void test_lost_end_timer(void **state)
{
    lost_end(true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_measured_nack),
            cmocka_unit_test(test_measured_timer),
            cmocka_unit_test(test_losses_nack),
            cmocka_unit_test(test_losses_timer),
            cmocka_unit_test(test_lost_end_nack),
            cmocka_unit_test(test_lost_end_timer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
