/*
 * The timer wheel: never early, in order, jumps of any length, the limit of
 * one advance, and random runs against a plain array of deadlines.
 */
#include "base/twheel.h"

#include "support/cm.h"
#include "support/seed.h"

#define TICK (UINT64_C(1) << 20)

struct probe {
    struct am_timer timer;
    struct am_twheel *wheel;
    uint64_t tick;  /* when it must fire */
    uint64_t order; /* when it was started */
    uint32_t fired;
    struct probe *also_stop;
    uint64_t again_ps; /* start again at this time, if not 0 */
};

/* What fired, in order. */
static struct probe *fired[4096];
static uint32_t fired_count;

static void on_timer(struct am_timer *timer)
{
    struct probe *probe = am_container(timer, struct probe, timer);

    assert_false(am_timer_is_running(timer));
    probe->fired++;
    assert_true(fired_count < 4096);
    fired[fired_count++] = probe;
    if (probe->also_stop != NULL) {
        am_timer_stop(probe->wheel, &probe->also_stop->timer);
    }
    if (probe->again_ps != 0) {
        am_timer_start(probe->wheel, timer, probe->again_ps);
        probe->again_ps = 0;
    }
}

static void probe_init(struct probe *probe, struct am_twheel *wheel)
{
    *probe = (struct probe){.wheel = wheel};
    am_timer_init(&probe->timer, on_timer);
}

static uint32_t advance(struct am_twheel *wheel, uint64_t now_ps, uint32_t max)
{
    uint32_t count;

    fired_count = 0;
    count = am_twheel_advance(wheel, now_ps, max);
    assert_int_equal(count, fired_count);
    assert_true(am_twheel_is_valid(wheel));
    return count;
}

static void test_never_early(void **state)
{
    struct am_twheel wheel;
    struct probe probe;

    am_twheel_init(&wheel, 5 * TICK + 17, 20);
    assert_true(am_twheel_next_ps(&wheel) == UINT64_MAX);
    probe_init(&probe, &wheel);
    am_timer_start(&wheel, &probe.timer, 7 * TICK + 1);
    assert_true(am_timer_is_running(&probe.timer));
    assert_int_equal(am_twheel_next_ps(&wheel), 8 * TICK);
    assert_int_equal(advance(&wheel, 7 * TICK + 1, 10), 0);
    assert_int_equal(advance(&wheel, 8 * TICK - 1, 10), 0);
    assert_int_equal(advance(&wheel, 8 * TICK, 10), 1);
    assert_int_equal(advance(&wheel, 100 * TICK, 10), 0);
    am_timer_start(&wheel, &probe.timer, 200 * TICK); /* exact: on time */
    assert_int_equal(advance(&wheel, 200 * TICK - 1, 10), 0);
    assert_int_equal(advance(&wheel, 200 * TICK, 10), 1);
}

static void test_past_and_end_of_time(void **state)
{
    static const uint32_t shifts[] = {16, 20, 40};

    for (int i = 0; i < 3; i++) {
        struct am_twheel wheel;
        struct probe past, last;

        am_twheel_init(&wheel, UINT64_C(1) << 41, shifts[i]);
        probe_init(&past, &wheel);
        probe_init(&last, &wheel);
        am_timer_start(&wheel, &past.timer, 3);
        am_timer_start(&wheel, &last.timer, UINT64_MAX);
        assert_true(am_twheel_is_valid(&wheel));
        assert_int_equal(am_twheel_next_ps(&wheel), 0);
        assert_int_equal(advance(&wheel, 1, 10), 1); /* time stands still */
        assert_int_equal(past.fired, 1);
        assert_int_equal(advance(&wheel, UINT64_MAX / 2, 10), 0);
        assert_int_equal(advance(&wheel, UINT64_MAX, 10), 1);
    }
}

/* The clock goes round: all that runs is due, and what is started then is not. */
static void test_round(void **state)
{
    struct am_twheel wheel;
    struct probe probes[3];

    am_twheel_init(&wheel, UINT64_MAX - 5 * TICK, 20);
    for (int i = 0; i < 3; i++) {
        probe_init(&probes[i], &wheel);
    }
    am_timer_start(&wheel, &probes[0].timer, UINT64_MAX);
    am_timer_start(&wheel, &probes[1].timer, UINT64_MAX - 3 * TICK);
    assert_int_equal(advance(&wheel, UINT64_MAX - 4 * TICK, 10), 0);
    assert_int_equal(advance(&wheel, TICK, 10), 2);
    assert_ptr_equal(fired[0], &probes[1]);
    am_timer_start(&wheel, &probes[2].timer, 3 * TICK);
    assert_int_equal(advance(&wheel, 2 * TICK, 10), 0);
    assert_int_equal(advance(&wheel, 3 * TICK, 10), 1);
}

static void test_order_and_limit(void **state)
{
    struct am_twheel wheel;
    struct probe probes[40];

    am_twheel_init(&wheel, 0, 20);
    for (uint32_t i = 0; i < 40; i++) {
        probe_init(&probes[i], &wheel);
        /* four deadlines far apart, ten timers each, interleaved */
        am_timer_start(&wheel, &probes[i].timer,
                       (TICK * 3) << (6 * (3 - i % 4)));
    }
    assert_int_equal(advance(&wheel, UINT64_C(1) << 50, 7), 7);
    for (uint32_t i = 0; i < 7; i++) {
        assert_ptr_equal(fired[i], &probes[i * 4 + 3]);
    }
    assert_int_equal(am_twheel_next_ps(&wheel), 0); /* more are due */
    assert_int_equal(advance(&wheel, UINT64_C(1) << 50, 100), 33);
    for (uint32_t i = 0; i < 33; i++) {
        uint32_t rank = i + 7;

        assert_ptr_equal(fired[i], &probes[rank % 10 * 4 + 3 - rank / 10]);
    }
    assert_int_equal(advance(&wheel, UINT64_C(1) << 51, 0), 0);
}

/* A function may stop others that are due, and start its own again. */
static void test_change_while_firing(void **state)
{
    struct am_twheel wheel;
    struct probe a, b;

    am_twheel_init(&wheel, 0, 20);
    probe_init(&a, &wheel);
    probe_init(&b, &wheel);
    a.also_stop = &b;
    a.again_ps = 1; /* in the past: due at once, but in the next advance */
    am_timer_start(&wheel, &a.timer, 10 * TICK);
    am_timer_start(&wheel, &b.timer, 10 * TICK);
    assert_int_equal(advance(&wheel, 20 * TICK, 100), 1);
    assert_int_equal(b.fired, 0);
    assert_false(am_timer_is_running(&b.timer));
    a.also_stop = NULL;
    assert_int_equal(advance(&wheel, 20 * TICK, 100), 1);
    assert_int_equal(a.fired, 2);
    assert_int_equal(wheel.timer_count, 0);
}

static void test_move_and_stop(void **state)
{
    struct am_twheel wheel;
    struct probe probe;

    am_twheel_init(&wheel, 0, 20);
    probe_init(&probe, &wheel);
    am_timer_stop(&wheel, &probe.timer); /* not running: nothing */
    am_timer_start(&wheel, &probe.timer, 1000 * TICK);
    am_timer_start(&wheel, &probe.timer, 5 * TICK); /* moved */
    assert_int_equal(wheel.timer_count, 1);
    assert_int_equal(advance(&wheel, 5 * TICK, 100), 1);
    am_timer_start(&wheel, &probe.timer, 1000 * TICK);
    am_timer_stop(&wheel, &probe.timer);
    assert_true(am_twheel_next_ps(&wheel) == UINT64_MAX);
    assert_int_equal(advance(&wheel, 5000 * TICK, 100), 0);
}

/* The validator finds a timer in the wrong place, wrong bits, wrong counts. */
static void test_validator(void **state)
{
    struct am_twheel wheel;
    struct probe probe;

    am_twheel_init(&wheel, 0, 20);
    probe_init(&probe, &wheel);
    am_timer_start(&wheel, &probe.timer, 100 * TICK); /* level 1, slot 6 */
    assert_true(am_twheel_is_valid(&wheel));
    wheel.timer_count++;
    assert_false(am_twheel_is_valid(&wheel));
    wheel.timer_count--;
    wheel.slots[1] = 0;
    assert_false(am_twheel_is_valid(&wheel));
    wheel.slots[1] = 1 << 6 | 1 << 7;
    assert_false(am_twheel_is_valid(&wheel));
    wheel.slots[1] = 1 << 6;
    wheel.levels = 0;
    assert_false(am_twheel_is_valid(&wheel));
    wheel.levels = 2;
    probe.timer.tick = 120; /* belongs into slot 7 */
    assert_false(am_twheel_is_valid(&wheel));
    probe.timer.tick = 100;
    probe.timer.slot = 7;
    assert_false(am_twheel_is_valid(&wheel));
    probe.timer.slot = 6;
    probe.timer.level = 2;
    assert_false(am_twheel_is_valid(&wheel));
    probe.timer.level = 1;
    wheel.tick = 96; /* has passed the slot's start without entering it */
    assert_false(am_twheel_is_valid(&wheel));
    wheel.tick = 0;
    assert_true(am_twheel_is_valid(&wheel));
}

/* ------------------------------------------------------ random, with oracle */

#define PROBES 200

/* All that must have fired by `now` did, in order, and nothing else. */
static void check_fired(struct probe *probes, uint64_t now_ps)
{
    for (uint32_t i = 0; i < fired_count; i++) {
        assert_true(fired[i]->tick * TICK <= now_ps);
        if (i > 0) {
            assert_true(fired[i - 1]->tick < fired[i]->tick ||
                        (fired[i - 1]->tick == fired[i]->tick &&
                         fired[i - 1]->order < fired[i]->order));
        }
    }
    for (uint32_t i = 0; i < PROBES; i++) {
        if (am_timer_is_running(&probes[i].timer)) {
            assert_true(probes[i].tick * TICK > now_ps);
        }
    }
}

static void test_random(void **state)
{
    struct am_prng prng = test_prng("base_twheel_test");
    uint64_t now_ps = am_prng_next(&prng) >> 8;
    static struct probe probes[PROBES];
    struct am_twheel wheel;

    am_twheel_init(&wheel, now_ps, 20);
    for (uint32_t i = 0; i < PROBES; i++) {
        probe_init(&probes[i], &wheel);
    }
    for (uint64_t step = 1; step < 60000; step++) {
        struct probe *probe = &probes[am_prng_below(&prng, PROBES)];

        switch (am_prng_below(&prng, 8)) {
        case 0:
            am_timer_stop(&wheel, &probe->timer);
            break;
        case 1: {
            uint64_t next_ps = am_twheel_next_ps(&wheel);

            now_ps += am_prng_next(&prng) >> (24 + am_prng_below(&prng, 40));
            advance(&wheel, now_ps, UINT32_MAX);
            check_fired(probes, now_ps);
            /* the promised time was no later than what fired */
            if (fired_count > 0) {
                assert_true(next_ps <= fired[0]->tick * TICK);
            }
            break;
        }
        default: {
            uint64_t deadline_ps = now_ps + (am_prng_next(&prng) >>
                                             (20 + am_prng_below(&prng, 44)));

            probe->tick = (deadline_ps + TICK - 1) / TICK;
            if (probe->tick < now_ps / TICK) {
                probe->tick = now_ps / TICK;
            }
            probe->order = step;
            am_timer_start(&wheel, &probe->timer, deadline_ps);
            break;
        }
        }
        if (step % 64 == 0) {
            assert_true(am_twheel_is_valid(&wheel));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_never_early),
            cmocka_unit_test(test_past_and_end_of_time),
            cmocka_unit_test(test_round),
            cmocka_unit_test(test_order_and_limit),
            cmocka_unit_test(test_change_while_firing),
            cmocka_unit_test(test_move_and_stop),
            cmocka_unit_test(test_validator),
            cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
