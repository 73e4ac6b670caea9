/*
 * The window under random loss, duplication and reordering (and corruption,
 * which the checksum turns into loss), each 0 to 20% and mixed: every message
 * once, in order, byte by byte, and an end within a bound of steps.
 */
#include "support/cm.h"
#include "support/seed.h"
#include "support/window_pair.h"

#include <string.h>

#define MESSAGES  300
#define STEPS_MAX 100000
/* Without nacks a chunk grows by what one time-out brings, and the waits are
 * 16 times the first. */
#define STEPS_MAX_TIMER 2000000

enum {
    LOSE,
    DOUBLE,
    LATE,
    RATIO_COUNT
};

static uint32_t length_random(const struct pair *pair, uint32_t class,
                              uint64_t number)
{
    uint32_t payload_bytes = pair->params.payload_bytes;
    uint32_t message_max = pair->params.chunk_packets * payload_bytes;
    uint64_t mix = (number * 2 + class + 1) * UINT64_C(0x9e3779b97f4a7c15);

    switch (mix >> 62) { /* half short, a quarter of one packet's edge */
    case 0:
    case 1:
        return (uint32_t)(mix >> 32) % (payload_bytes + 1);
    case 2:
        return payload_bytes;
    default:
        return (uint32_t)(mix >> 32) % (message_max + 1);
    }
}

static fate_t fate_random(struct pair *pair, uint32_t from,
                          const struct pair_packet *packet)
{
    if (am_prng_below(&pair->prng, 100) < pair->rule[LOSE]) {
        return FATE_LOSE;
    }
    if (am_prng_below(&pair->prng, 100) < pair->rule[DOUBLE]) {
        return FATE_DOUBLE;
    }
    if (am_prng_below(&pair->prng, 100) < pair->rule[LATE]) {
        return FATE_LATE;
    }
    return FATE_PASS;
}

/* Both ends send both classes; the receivers are not ready now and then. */
static void run(const struct am_window_params *params, uint64_t seed,
                const uint32_t ratios[RATIO_COUNT])
{
    struct am_prng prng;
    struct pair *pair;
    uint32_t steps_max = params->timer ? STEPS_MAX_TIMER : STEPS_MAX;
    uint32_t epochs[2], steps = 0, sent = 0;

    am_prng_seed(&prng, seed);
    epochs[0] = (uint32_t)am_prng_next(&prng) | 1;
    epochs[1] = UINT32_MAX - (uint32_t)am_prng_below(&prng, 200); /* wraps */
    pair = pair_open(params, epochs[0], epochs[1]);
    pair->prng = prng;
    pair->length = length_random;
    pair->fate = fate_random;
    memcpy(pair->rule, ratios, RATIO_COUNT * sizeof(ratios[0]));
    for (; sent < 4 * MESSAGES; steps++) {
        assert_true(steps < steps_max);
        for (uint32_t i = 0; i < 4; i++) {
            struct pair_end *end = &pair->end[i / 2];
            uint64_t burst = am_prng_below(&prng, 12);

            while (burst-- > 0 && end->sent[i % 2] < MESSAGES &&
                   pair_send(pair, i / 2, i % 2)) {
                sent++;
            }
            end->ready = am_prng_below(&prng, 10) != 0;
        }
        pair_step(pair);
    }
    pair->end[0].ready = pair->end[1].ready = true;
    assert_true(pair_settle(pair, steps_max) <= steps_max);
    pair_close(pair);
}

static void run_grid(const struct am_window_params *params, uint64_t seed)
{
    for (uint32_t kind = 0; kind < RATIO_COUNT; kind++) {
        for (uint32_t percent = 0; percent <= 20; percent += 5) {
            uint32_t ratios[RATIO_COUNT] = {0};

            ratios[kind] = percent;
            run(params, seed++, ratios);
        }
    }
    for (int i = 0; i < 10; i++) {
        struct am_prng prng;
        uint32_t ratios[RATIO_COUNT];

        am_prng_seed(&prng, seed);
        for (uint32_t kind = 0; kind < RATIO_COUNT; kind++) {
            ratios[kind] = (uint32_t)am_prng_below(&prng, 21);
        }
        run(params, seed++, ratios);
    }
}

static void test_sp(void **state)
{
    struct am_window_params params = pair_sp_params();
    struct am_prng prng = test_prng("sp");

    run_grid(&params, am_prng_next(&prng));
}

static void test_timer(void **state)
{
    struct am_window_params params = pair_sp_params();
    struct am_prng prng = test_prng("timer");

    params.timer = true;
    params.ack_fraction = 2;
    run_grid(&params, am_prng_next(&prng));
}

/* Any window, chunk, payload and fraction. */
static void test_shapes(void **state)
{
    struct am_prng prng = test_prng("shapes");

    for (int i = 0; i < 200; i++) {
        struct am_window_params params = pair_sp_params();
        uint32_t ratios[RATIO_COUNT];
        uint32_t window_min;

        params.window_packets[0] = 1 + (uint32_t)am_prng_below(&prng, 20);
        params.window_packets[1] = 1 + (uint32_t)am_prng_below(&prng, 20);
        window_min = params.window_packets[0] < params.window_packets[1]
                             ? params.window_packets[0]
                             : params.window_packets[1];
        params.chunk_packets =
                1 + (uint32_t)am_prng_below(&prng, (window_min + 1) / 2);
        params.chunks_max = 1 + (uint32_t)am_prng_below(&prng, 3);
        params.payload_bytes = 8 + (uint32_t)am_prng_below(&prng, 100);
        params.ack_fraction = 1 + (uint32_t)am_prng_below(&prng, 8);
        params.keepalive_polls = 1 + (uint32_t)am_prng_below(&prng, 30);
        params.timer = am_prng_below(&prng, 2) == 1;
        params.adapts = am_prng_below(&prng, 2) == 1;
        params.early_packets = (uint32_t)am_prng_below(&prng, 3) *
                               (uint32_t)am_prng_below(&prng, 12);
        for (uint32_t kind = 0; kind < RATIO_COUNT; kind++) {
            ratios[kind] = (uint32_t)am_prng_below(&prng, 21);
        }
        run(&params, am_prng_next(&prng), ratios);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sp),
            cmocka_unit_test(test_timer),
            cmocka_unit_test(test_shapes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
