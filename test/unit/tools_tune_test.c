/*
 * am_tune's parts: when a choice is said to lose; a process of the two that gives
 * up.
 */
#include "tools/tune.h"

#include "support/cm.h"
#include "support/seed.h"

#include <stdlib.h>
#include <unistd.h>

#define ROUNDS TUNE_ROUNDS

static void rounds_fill(uint64_t *values, uint64_t value)
{
    for (int i = 0; i < ROUNDS; i++) {
        values[i] = value;
    }
}

static bool loses(const uint64_t *choice, const uint64_t *other)
{
    const struct tune_ratio ratio = tune_ratio_of(choice, other, ROUNDS);

    assert_true(ratio.low <= ratio.middle && ratio.middle <= ratio.high);
    return tune_ratio_loses(&ratio);
}

static void test_loses(void **state)
{
    uint64_t choice[ROUNDS], other[ROUNDS];

    (void)state;
    rounds_fill(choice, 1049);
    rounds_fill(other, 1000);
    assert_false(loses(choice, other)); /* within what is allowed */
    rounds_fill(choice, 1060);
    assert_true(loses(choice, other));
    rounds_fill(choice, 900);
    assert_false(loses(choice, other));
    rounds_fill(other, 0); /* a clock that stood still: no division by it */
    (void)tune_ratio_of(choice, other, ROUNDS);
}

/* Some rounds in which one of the two was disturbed decide nothing. */
static void test_odd_rounds(void **state)
{
    uint64_t choice[ROUNDS], other[ROUNDS];

    (void)state;
    rounds_fill(choice, 1000);
    rounds_fill(other, 1000);
    for (int i = 0; i < ROUNDS - 3; i++) {
        choice[i] = 5000;
    }
    assert_false(loses(choice, other)); /* three rounds say that it is even */
    rounds_fill(choice, 1200);
    choice[3] = choice[9] = 500;
    assert_true(loses(choice, other)); /* two that say it wins are odd ones */
}

/* A machine that changes its speed from round to round changes both. */
static void test_states(void **state)
{
    uint64_t choice[ROUNDS], other[ROUNDS];

    (void)state;
    for (int i = 0; i < ROUNDS; i++) {
        other[i] = i % 2 == 0 ? 1000 : 4000;
        choice[i] = other[i] + other[i] / 100;
    }
    assert_false(loses(choice, other));
    for (int i = 0; i < ROUNDS; i++) {
        choice[i] = other[i] + other[i] / 10;
    }
    assert_true(loses(choice, other));
}

/* Two ways that are the same but for noise: the least of many that are compared
 * is always the least, and must not be said to win. */
static void test_same(void **state)
{
    struct am_prng prng = test_prng("tools_tune");
    uint32_t losses = 0;
    enum {
        TRIALS = 10000
    };

    (void)state;
    for (int trial = 0; trial < TRIALS; trial++) {
        uint64_t choice[ROUNDS], other[ROUNDS];

        for (int i = 0; i < ROUNDS; i++) { /* up to a fifth of noise */
            choice[i] = 1000000 + am_prng_next(&prng) % 200000;
            other[i] = 1000000 + am_prng_next(&prng) % 200000;
        }
        losses += loses(choice, other);
    }
    assert_true(losses < TRIALS / 200);
}

/* What one of the two cannot send, the other does not wait for: who gives up closes
 * in order, which is no death. */
static void test_gives_up(void **state)
{
    static const struct am_option none[] = {{NULL, NULL}};
    struct perf_cores cores;
    struct tune_pair pair;
    struct am_ctx *ctx;
    int result;

    (void)state;
    perf_cores_allowed(&cores);
    assert_true(cores.count > 0);
    assert_int_equal(
            tune_pair_open(&pair, (uint16_t[]){cores.core[0], cores.core[0]}),
            0);
    ctx = tune_ctx_open(&pair, none);
    result = ctx == NULL ? -1 : tune_move(&pair, ctx, 8, 1, 1);
    if (pair.rank == 1) {
        am_close(ctx);
        (void)tune_pair_close(&pair, result);
    }
    assert_int_equal(result, 0);
    assert_int_equal(tune_move(&pair, ctx, 8, 0, 1), -1);
    am_close(ctx);
    assert_int_equal(tune_pair_close(&pair, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_loses),    cmocka_unit_test(test_odd_rounds),
            cmocka_unit_test(test_states),   cmocka_unit_test(test_same),
            cmocka_unit_test(test_gives_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
