/*
 * Streams and single copies are tried: the faster one is found and used, in each size and
 * flow by itself; noise, a core that is taken away and what is tried in vain cost little;
 * and messages arrive whole, however they go.  First the rule alone, then messages over
 * shared memory with a clock that the test sets.
 */
#include "config.h"

#include "support/clock.h"
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"
#include "msg/msg_core.h"
#include "msg/proto_choice.h"
#include "msg/proto_trial.h"

#include <stdlib.h>
#include <string.h>

#define SIZE ((size_t)64 * 1024)

static struct clock clock = {.env = {.ops = &clock_ops}};

struct am_env *world_env(void)
{
    return &clock.env;
}

/* ---------------------------------------------------------------- the rule */

struct counts {
    int begun, won, rounds_of[AM_BY_COUNT];
};

/* So many rounds, where a byte of the two takes so long, give or take a part of it. */
static void rounds(struct am_trial_size *at, am_by_t cost, int count,
                   const uint64_t byte_fs[AM_BY_COUNT], struct am_prng *prng,
                   uint64_t part, struct counts *counts)
{
    for (int i = 0; i < count; i++) {
        am_by_t by = am_trial_send(at, cost);
        uint64_t swing = part == 0 ? 0 : 2 * byte_fs[by] / part;
        uint64_t fs = byte_fs[by] - swing / 2 +
                      (swing == 0 ? 0 : am_prng_below(prng, swing));
        am_trial_event_t event = am_trial_see(at, cost, by, fs);

        counts->begun += event == AM_TRIAL_BEGINS;
        counts->won += event == AM_TRIAL_WON;
        counts->rounds_of[by]++;
    }
}

static struct am_trial_size begun(int flow, am_by_t cost)
{
    struct am_trial_size at;

    am_trial_begin(&at, &(struct am_trial_start){.flow = (am_flow_t)flow,
                                                 .cost = cost});
    return at;
}

static void test_finds_the_faster(void **state)
{
    static const uint64_t byte_fs[2][AM_BY_COUNT] = {{0, 100000, 60000},
                                                     {0, 60000, 100000}};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        for (int set = 0; set < 2; set++) {
            for (int cost = AM_BY_STREAM; cost <= AM_BY_SINGLE; cost++) {
                struct am_trial_size at = begun(flow, (am_by_t)cost);
                struct counts counts = {0};
                am_by_t best = set == 0 ? AM_BY_SINGLE : AM_BY_STREAM;

                rounds(&at, (am_by_t)cost, 24, byte_fs[set], NULL, 0, &counts);
                assert_int_equal(am_trial_send(&at, (am_by_t)cost), best);
                rounds(&at, (am_by_t)cost, 20000, byte_fs[set], NULL, 0,
                       &counts);
                assert_int_equal(counts.won, cost == (int)best ? 0 : 1);
                /* what loses is tried seldom */
                assert_in_range(counts.rounds_of[3 - best], 1, 60);
                assert_int_equal(at.best, best);
                assert_int_equal(at.cost, cost);
            }
        }
    }
}

/* With noise of a fifth: what takes a quarter less is used nearly always, and a tenth less,
 * mostly. */
static void test_noise(void **state)
{
    static const uint64_t quarter[AM_BY_COUNT] = {0, 100000, 75000};
    static const uint64_t little[AM_BY_COUNT] = {0, 100000, 90000};
    struct am_prng prng = test_prng("msg_trial_test");

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        struct counts counts = {0}, few = {0};

        for (int run = 0; run < 20; run++) {
            struct am_trial_size at = begun(flow, AM_BY_STREAM);

            rounds(&at, AM_BY_STREAM, 20000, quarter, &prng, 5, &counts);
            at = begun(flow, AM_BY_STREAM);
            rounds(&at, AM_BY_STREAM, 20000, little, &prng, 5, &few);
        }
        assert_in_range(counts.rounds_of[AM_BY_STREAM], 20, 20 * 600);
        assert_in_range(few.rounds_of[AM_BY_STREAM], 20, 20 * 4000);
    }
}

/* A round of 10 ms among others says nothing, in a trial or out of it. */
static void test_core_taken_away(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 60000, 100000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        for (int odd = 0; odd < 40; odd++) {
            struct am_trial_size at = begun(flow, AM_BY_STREAM);
            struct counts counts = {0};

            rounds(&at, AM_BY_STREAM, odd, byte_fs, NULL, 0, &counts);
            (void)am_trial_see(&at, AM_BY_STREAM,
                               am_trial_send(&at, AM_BY_STREAM),
                               UINT64_C(10000000000000) / SIZE);
            rounds(&at, AM_BY_STREAM, 400, byte_fs, NULL, 0, &counts);
            assert_int_equal(am_trial_send(&at, AM_BY_STREAM), AM_BY_STREAM);
        }
    }
}

/* What was faster is slower now: that is noticed, sooner or later. */
static void test_changes_its_mind(void **state)
{
    static const uint64_t before[AM_BY_COUNT] = {0, 100000, 60000};
    static const uint64_t after[AM_BY_COUNT] = {0, 100000, 200000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        struct am_trial_size at = begun(flow, AM_BY_STREAM);
        struct counts counts = {0};

        rounds(&at, AM_BY_STREAM, 1000, before, NULL, 0, &counts);
        assert_int_equal(at.best, AM_BY_SINGLE);
        rounds(&at, AM_BY_STREAM, 5000, after, NULL, 0, &counts);
        assert_int_equal(am_trial_send(&at, AM_BY_STREAM), AM_BY_STREAM);
    }
}

/* The costs say something else in the middle of a trial, or before the first. */
static void test_costs_change(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 60000, 100000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        for (int when = 0; when < 40; when++) {
            struct am_trial_size at = begun(flow, AM_BY_STREAM);
            struct counts counts = {0};

            rounds(&at, AM_BY_STREAM, when, byte_fs, NULL, 0, &counts);
            rounds(&at, AM_BY_SINGLE, 400, byte_fs, NULL, 0, &counts);
            assert_int_equal(am_trial_send(&at, AM_BY_SINGLE), AM_BY_STREAM);
        }
    }
}

/* Where the costs were wrong at a size, the next one begins with what was found there; and
 * what was much slower there is tried later. */
static void test_next_size(void **state)
{
    static const uint64_t against[AM_BY_COUNT] = {0, 100000, 60000};
    static const uint64_t with[AM_BY_COUNT] = {0, 60000, 100000};
    struct am_trial_size at, smaller = begun(AM_FLOW_ALONE, AM_BY_STREAM);
    struct counts counts = {0}, later = {0};

    rounds(&smaller, AM_BY_STREAM, 24, against, NULL, 0, &counts);
    am_trial_begin(&at, &(struct am_trial_start){.flow = AM_FLOW_ALONE,
                                                 .smaller = &smaller,
                                                 .cost = AM_BY_STREAM});
    assert_int_equal(am_trial_send(&at, AM_BY_STREAM), AM_BY_SINGLE);
    smaller = begun(AM_FLOW_SERIES, AM_BY_STREAM);
    rounds(&smaller, AM_BY_STREAM, 24, with, NULL, 0, &counts);
    am_trial_begin(&at, &(struct am_trial_start){.flow = AM_FLOW_SERIES,
                                                 .smaller = &smaller,
                                                 .cost = AM_BY_STREAM});
    assert_int_equal(am_trial_send(&at, AM_BY_STREAM), AM_BY_STREAM);
    rounds(&at, AM_BY_STREAM, 24, with, NULL, 0, &later);
    assert_int_equal(later.begun, 0);
    rounds(&at, AM_BY_STREAM, 24, with, NULL, 0, &later);
    assert_int_equal(later.begun, 1);
}

/* What a profile says is used from the beginning, whatever the costs and the next smaller size
 * say, and for long; where it is wrong, that is found. */
static void test_known(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 100000, 60000};
    static const uint64_t against[AM_BY_COUNT] = {0, 60000, 100000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        struct am_trial_size at, smaller = begun(flow, AM_BY_SINGLE);
        struct am_trial_start start = {.flow = (am_flow_t)flow,
                                       .smaller = &smaller,
                                       .cost = AM_BY_STREAM,
                                       .known = AM_BY_SINGLE};
        struct counts counts = {0}, wrong = {0};

        rounds(&smaller, AM_BY_SINGLE, 24, against, NULL, 0, &counts);
        assert_int_equal(smaller.best, AM_BY_STREAM);
        am_trial_begin(&at, &start);
        counts = (struct counts){0};
        rounds(&at, AM_BY_STREAM, 100, byte_fs, NULL, 0, &counts);
        assert_int_equal(counts.rounds_of[AM_BY_STREAM], 0);
        rounds(&at, AM_BY_STREAM, 2000, byte_fs, NULL, 0, &counts);
        assert_in_range(counts.rounds_of[AM_BY_STREAM], 1, 30);
        am_trial_begin(&at, &start);
        rounds(&at, AM_BY_STREAM, 2000, against, NULL, 0, &wrong);
        assert_int_equal(am_trial_send(&at, AM_BY_STREAM), AM_BY_STREAM);
    }
}

/* Rounds of one message need not be seen while what is used is known well.  They count before the
 * next trial, which begins no later for them. */
static void test_rests(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 60000, 100000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        struct am_trial_size at = begun(flow, AM_BY_STREAM);
        struct counts counts = {0}, next = {0};
        uint32_t before, rest;

        assert_int_equal(am_trial_rest(&at), 0);
        rounds(&at, AM_BY_STREAM, 60, byte_fs, NULL, 0, &counts);
        assert_int_equal(at.tried, AM_BY_COST);
        do {
            before = at.rounds_left;
            rest = am_trial_rest(&at);
            assert_int_equal(at.rounds_left + rest, before);
            assert_true(rest == 0 || flow == AM_FLOW_ALONE);
            counts.begun += rest > 0;
        } while (rest > 0);
        assert_true(counts.begun > 1 || flow != AM_FLOW_ALONE);
        rounds(&at, AM_BY_STREAM, (int)at.rounds_left, byte_fs, NULL, 0, &next);
        assert_int_equal(next.begun, 1);
        assert_int_equal(am_trial_rest(&at), 0);
    }
}

/* The first trial is put off when it is due, once. */
static void test_put_off(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 60000, 100000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        struct am_trial_size at = begun(flow, AM_BY_STREAM);
        struct counts counts = {0};

        while (flow != AM_FLOW_ALONE && !am_trial_is_due(&at)) {
            rounds(&at, AM_BY_STREAM, 1, byte_fs, NULL, 0, &counts);
        }
        if (flow == AM_FLOW_ALONE) { /* one costs little there */
            rounds(&at, AM_BY_STREAM, 11, byte_fs, NULL, 0, &counts);
            assert_false(am_trial_is_due(&at));
            continue;
        }
        am_trial_put_off(&at);
        assert_false(am_trial_is_due(&at));
        rounds(&at, AM_BY_STREAM, 24, byte_fs, NULL, 0, &counts);
        assert_int_equal(counts.begun, 0);
        while (counts.begun == 0) {
            assert_false(am_trial_is_due(&at));
            rounds(&at, AM_BY_STREAM, 1, byte_fs, NULL, 0, &counts);
        }
        rounds(&at, AM_BY_STREAM, 24, byte_fs, NULL, 0, &counts);
        assert_false(am_trial_is_due(&at));
    }
}

/* A trial in which no round tells anything ends, too. */
static void test_no_rounds(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 60000, 60000};

    for (int flow = 0; flow < AM_FLOW_COUNT; flow++) {
        struct am_trial_size at = begun(flow, AM_BY_STREAM);
        struct counts counts = {0};
        int sent = 0;

        while (counts.begun == 0) {
            rounds(&at, AM_BY_STREAM, 1, byte_fs, NULL, 0, &counts);
        }
        while (am_trial_send(&at, AM_BY_STREAM) == AM_BY_SINGLE) {
            sent++;
        }
        assert_in_range(sent, 64, 1024);
    }
}

/* Two ends that answer each other, in steps: the time of a round is of both.  Each finds its
 * own best, also where the two differ. */
static void test_two_ends(void **state)
{
    static const uint64_t times[][2][AM_BY_COUNT] = {
            {{0, 20000, 14000}, {0, 100000, 200000}},
            {{0, 14000, 20000}, {0, 200000, 100000}},
            {{0, 50000, 45000}, {0, 60000, 70000}},
            {{0, 60000, 30000}, {0, 60000, 30000}},
    };

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        struct am_trial_size ends[2];

        for (int end = 0; end < 2; end++) {
            am_trial_begin(&ends[end],
                           &(struct am_trial_start){.flow = AM_FLOW_ALONE,
                                                    .cost = AM_BY_STREAM,
                                                    .second = end == 1});
        }
        for (int k = 0; k < 20000; k++) {
            am_by_t by[2] = {am_trial_send(&ends[0], AM_BY_STREAM),
                             am_trial_send(&ends[1], AM_BY_STREAM)};
            uint64_t both = times[i][0][by[0]] + times[i][1][by[1]];

            for (int end = 0; end < 2; end++) {
                (void)am_trial_see(&ends[end], AM_BY_STREAM, by[end], both);
            }
        }
        for (int end = 0; end < 2; end++) {
            const uint64_t *mine = times[i][end];

            assert_int_equal(ends[end].best,
                             mine[AM_BY_SINGLE] < mine[AM_BY_STREAM]
                                     ? AM_BY_SINGLE
                                     : AM_BY_STREAM);
        }
    }
}

/* ------------------------------------------------------------ messages */

static const struct am_proto_kind *kind_at(struct world *world, uint32_t rank)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(world->ctx[rank], 1 - rank, &status);

    assert_non_null(peer);
    return am_proto_kind_of(am_msg_of(world->ctx[rank]), peer);
}

static const struct am_trial *trial_at(struct world *world, uint32_t rank)
{
    return am_msg_peer_at(am_msg_of(world->ctx[rank]), 1 - rank)->trial.trial;
}

/* False: ranks share a core here, or there are no single copies. */
static bool open_world(struct world *world, const struct am_option *options)
{
    const struct am_option *lists[] = {options, options};
    const struct am_proto_kind *kind;

    clock.look_ps = 0;
    world_open(world, 2, lists);
    kind = kind_at(world, 0);
    return (kind->cost.caps & AM_DEV_CAP_GET) != 0 &&
           !kind->cost.perf.shared_core;
}

/* Messages in a row, the time that they take by what has carried them, and an answer. */
static void send_row(struct world *world, uint32_t from, size_t bytes,
                     int count, const uint64_t byte_fs[AM_BY_COUNT])
{
    const struct am_msg_envelope envelope = {1, from, 5};
    const struct am_msg_envelope answer = {1, 1 - from, 6};
    struct shaped source[64], target[64];
    struct ended sent[64], received[64];
    uint64_t singles = world_counter(world, 1 - from, "device_gets");

    for (int i = 0; i < count; i++) {
        shaped_open(&source[i], SHAPE_CONTIG, bytes);
        shaped_open(&target[i], SHAPE_CONTIG, bytes);
        shaped_fill(&source[i], (uint32_t)i);
        world_recv(world, 1 - from, envelope, MASK_EXACT, &target[i].data,
                   &received[i]);
    }
    for (int i = 0; i < count; i++) {
        world_send(world, from, 1 - from, envelope, &source[i].data, 0,
                   &sent[i]);
    }
    for (int i = 0; i < count; i++) {
        world_wait(world, &received[i]);
        world_wait(world, &sent[i]);
        shaped_check(&target[i], (uint32_t)i, bytes);
        shaped_close(&source[i]);
        shaped_close(&target[i]);
    }
    singles = world_counter(world, 1 - from, "device_gets") - singles;
    clock.now_ps += bytes *
                    (singles * byte_fs[AM_BY_SINGLE] +
                     ((uint64_t)count - singles) * byte_fs[AM_BY_STREAM]) /
                    1000;
    shaped_open(&source[0], SHAPE_CONTIG, 8);
    shaped_open(&target[0], SHAPE_CONTIG, 8);
    shaped_fill(&source[0], 1);
    world_recv(world, from, answer, MASK_EXACT, &target[0].data, &received[0]);
    world_send(world, 1 - from, from, answer, &source[0].data, 0, &sent[0]);
    world_wait(world, &received[0]);
    world_wait(world, &sent[0]);
    shaped_close(&source[0]);
    shaped_close(&target[0]);
}

static const struct am_option much[] = {{"AM_LEARN", "much"}, {NULL, NULL}};

/* Alone the one is faster, in a row the other: each is found where it is. */
static void test_messages(void **state)
{
    static const uint64_t alone[AM_BY_COUNT] = {0, 300000, 100000};
    static const uint64_t row[AM_BY_COUNT] = {0, 100000, 300000};
    const struct am_trial *trial;
    struct world world;

    if (!open_world(&world, much)) {
        world_close(&world);
        skip();
    }
    assert_true(kind_at(&world, 0)->tries);
    for (int i = 0; i < 60; i++) {
        send_row(&world, 0, 2 * SIZE, 1, alone);
        send_row(&world, 0, 2 * SIZE, 32, row);
    }
    trial = trial_at(&world, 0);
    assert_int_equal(trial->sizes[AM_FLOW_ALONE][4].best, AM_BY_SINGLE);
    assert_int_equal(trial->sizes[AM_FLOW_SERIES][4].best, AM_BY_STREAM);
    assert_false(trial->sizes[AM_FLOW_BOTH][4].begun);
    assert_in_range(world_counter(&world, 0, "msg_trials"), 2, 10);
    assert_int_equal(world_counter(&world, 1, "msg_trials"), 0);
    world_close(&world);
}

/* Most messages of one size that are answered one by one go the short way, without a look; one of
 * another size, or a row, does not. */
static void test_messages_rest(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 60000, 300000};
    const struct am_round_rest *rest;
    struct world world;
    int rested = 0;

    if (!open_world(&world, much)) {
        world_close(&world);
        skip();
    }
    send_row(&world, 0, SIZE / 4, 1, byte_fs);
    rest = &am_msg_peer_at(am_msg_of(world.ctx[0]), 1)->trial.rest;
    for (int i = 0; i < 300; i++) { /* the first trial ends */
        send_row(&world, 0, SIZE / 4, 1, byte_fs);
    }
    for (int i = 0; i < 400; i++) {
        uint32_t left = rest->left;

        send_row(&world, 0, SIZE / 4, 1, byte_fs);
        rested += left > 0 && rest->left == left - 1;
    }
    assert_in_range(rested, 300, 399);
    while (rest->bytes == 0 || rest->left == 0) {
        send_row(&world, 0, SIZE / 4, 1, byte_fs);
    }
    send_row(&world, 0, SIZE / 4 + 1, 1, byte_fs);
    assert_int_equal(rest->bytes, 0);
    while (rest->bytes == 0 || rest->left < 4) {
        send_row(&world, 0, SIZE / 4, 1, byte_fs);
    }
    send_row(&world, 0, SIZE / 4, 4, byte_fs);
    assert_int_equal(rest->bytes, 0);
    world_close(&world);
}

/* A profile's is used from the first message on. */
static void test_messages_known(void **state)
{
    static const uint64_t byte_fs[AM_BY_COUNT] = {0, 100000, 100000};

    for (int by = AM_BY_STREAM; by <= AM_BY_SINGLE; by++) {
        struct am_faster faster;
        struct world world;
        uint64_t gets;

        if (!open_world(&world, much)) {
            world_close(&world);
            skip();
        }
        memset(&faster, by, sizeof(faster));
        kind_at(&world, 0)->meter->faster = &faster;
        gets = world_counter(&world, 1, "device_gets");
        send_row(&world, 0, 2 * SIZE, 1, byte_fs);
        send_row(&world, 0, 2 * SIZE, 32, byte_fs);
        gets = world_counter(&world, 1, "device_gets") - gets;
        assert_int_equal(gets, by == AM_BY_SINGLE ? 33 : 0);
        assert_int_equal(world_counter(&world, 0, "msg_trials"), 0);
        world_close(&world);
    }
}

/* Both ends send: the end of rank 0 tries, and that of rank 1 does as it does. */
static void send_both(struct world *world, size_t bytes, int count,
                      const uint64_t byte_fs[AM_BY_COUNT])
{
    struct shaped source[2][64], target[2][64];
    struct ended sent[2][64], received[2][64];
    uint64_t singles = 0;

    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct am_msg_envelope envelope = {1, 1 - rank, 5};

        singles -= world_counter(world, rank, "device_gets");
        for (int i = 0; i < count; i++) {
            shaped_open(&source[rank][i], SHAPE_CONTIG, bytes);
            shaped_open(&target[rank][i], SHAPE_CONTIG, bytes);
            shaped_fill(&source[rank][i], (uint32_t)i);
            world_recv(world, rank, envelope, MASK_EXACT, &target[rank][i].data,
                       &received[rank][i]);
        }
    }
    for (int i = 0; i < count; i++) {
        for (uint32_t rank = 0; rank < 2; rank++) {
            const struct am_msg_envelope envelope = {1, rank, 5};

            world_send(world, rank, 1 - rank, envelope, &source[rank][i].data,
                       0, &sent[rank][i]);
        }
    }
    for (int i = 0; i < 2 * count; i++) {
        world_wait(world, &received[i % 2][i / 2]);
        world_wait(world, &sent[i % 2][i / 2]);
        shaped_check(&target[i % 2][i / 2], (uint32_t)i / 2, bytes);
        shaped_close(&source[i % 2][i / 2]);
        shaped_close(&target[i % 2][i / 2]);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        singles += world_counter(world, rank, "device_gets");
    }
    clock.now_ps += bytes *
                    (singles * byte_fs[AM_BY_SINGLE] +
                     (2 * (uint64_t)count - singles) * byte_fs[AM_BY_STREAM]) /
                    1000;
}

static void test_both_ways(void **state)
{
    static const uint64_t byte_fs[2][AM_BY_COUNT] = {{0, 100000, 50000},
                                                     {0, 50000, 100000}};

    for (int set = 0; set < 2; set++) {
        struct world world;
        uint64_t gets;

        if (!open_world(&world, much)) {
            world_close(&world);
            skip();
        }
        for (int i = 0; i < 60; i++) {
            send_both(&world, 2 * SIZE, 64, byte_fs[set]);
        }
        assert_int_equal(trial_at(&world, 0)->sizes[AM_FLOW_BOTH][4].best,
                         set == 0 ? AM_BY_SINGLE : AM_BY_STREAM);
        assert_false(trial_at(&world, 1)->sizes[AM_FLOW_BOTH][4].begun);
        gets = world_counter(&world, 0, "device_gets");
        send_both(&world, 2 * SIZE, 64, byte_fs[set]);
        gets = world_counter(&world, 0, "device_gets") - gets;
        assert_in_range(gets, set == 0 ? 60 : 0, set == 0 ? 64 : 4);
        world_close(&world);
    }
}

/* Any lengths, either way, by what is tried just then: all is whole, and in order. */
static void test_any_lengths(void **state)
{
    struct am_prng prng = test_prng("msg_trial_test");
    struct world world;

    if (!open_world(&world, much)) {
        world_close(&world);
        skip();
    }
    for (int i = 0; i < 400; i++) {
        size_t bytes = AM_FASTER_BYTES + am_prng_below(&prng, 3 * SIZE);
        uint64_t byte_fs[AM_BY_COUNT] = {0, 1 + am_prng_below(&prng, 100000),
                                         1 + am_prng_below(&prng, 100000)};

        if (am_prng_below(&prng, 4) == 0) {
            send_both(&world, bytes, 1 + (int)am_prng_below(&prng, 20),
                      byte_fs);
        } else {
            send_row(&world, (uint32_t)am_prng_below(&prng, 2), bytes,
                     1 + (int)am_prng_below(&prng, 20), byte_fs);
        }
    }
    assert_true(world_counter(&world, 0, "msg_trials") +
                        world_counter(&world, 1, "msg_trials") >
                0);
    world_close(&world);
}

/* Who says how messages go, or that nothing is learned, is obeyed. */
static void test_is_off(void **state)
{
    static const struct am_option off[][3] = {
            {{"AM_LEARN", "no"}, {NULL, NULL}},
            {{"AM_LEARN", "yes"}, {NULL, NULL}},
            {{"AM_LEARN", "much"}, {"AM_PROTO", "eager"}, {NULL, NULL}},
            {{"AM_LEARN", "much"}, {"AM_RNDV", "put"}, {NULL, NULL}},
            {{"AM_LEARN", "much"}, {"AM_EAGER_MAX", "64k"}, {NULL, NULL}},
            {{"AM_LEARN", "much"}, {"AM_SHM_CMA", "off"}, {NULL, NULL}},
            {{"AM_LEARN", "much"}, {"AM_SHM_CMA", "on"}, {NULL, NULL}},
    };

    for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
        struct world world;

        (void)open_world(&world, off[i]);
        assert_false(kind_at(&world, 0)->tries);
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_finds_the_faster),
            cmocka_unit_test(test_noise),
            cmocka_unit_test(test_core_taken_away),
            cmocka_unit_test(test_changes_its_mind),
            cmocka_unit_test(test_costs_change),
            cmocka_unit_test(test_next_size),
            cmocka_unit_test(test_known),
            cmocka_unit_test(test_rests),
            cmocka_unit_test(test_put_off),
            cmocka_unit_test(test_no_rounds),
            cmocka_unit_test(test_two_ends),
            cmocka_unit_test(test_messages),
            cmocka_unit_test(test_messages_rest),
            cmocka_unit_test(test_messages_known),
            cmocka_unit_test(test_both_ways),
            cmocka_unit_test(test_any_lengths),
            cmocka_unit_test(test_is_off),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
