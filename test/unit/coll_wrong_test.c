/*
 * Collectives when something is wrong: calls that do not agree or cannot be,
 * forged messages, a member that dies, a context that closes.  Seeded.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/message.h"

#include <string.h>

enum {
    RANKS = 6
};

static struct am_prng prng;

static uint64_t draw(uint64_t below)
{
    return am_prng_next(&prng) % below;
}

static const uint32_t all[] = {0, 1, 2, 3, 4, 5};

/* Members that do not agree are told, and do not wait for ever. */
static void test_disagreement(void **state)
{
    char buffer[2][64] = {{0}};
    struct am_coll_group *group[2];
    struct world_done done[2] = {{0}};
    static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
    const struct am_option *options[] = {quiet, quiet};
    struct world world;

    (void)state;
    world_open(&world, 2, options);
    for (uint32_t i = 0; i < 2; i++) {
        struct am_coll_call call = {.kind = AM_COLL_ALLGATHER,
                                    .send = buffer[0],
                                    .recv = buffer[1],
                                    .count = 8 + i};

        assert_int_equal(
                am_coll_group_open(world.ctx[i], 9, NULL, 0, &group[i]), AM_OK);
        assert_int_equal(
                am_coll_start(group[i], &call, world_on_done, &done[i]), AM_OK);
    }
    world_settle(&world);
    for (uint32_t i = 0; i < 2; i++) {
        struct am_coll_call call = {.kind = AM_COLL_BARRIER};

        world_check_done(&done[i], AM_ERR_INVALID);
        assert_int_equal(
                am_coll_start(group[i], &call, world_on_done, &done[i]),
                AM_ERR_INVALID);
        assert_int_equal(am_coll_group_close(group[i]), AM_OK);
    }
    world_close(&world);
}

static void test_bad_calls(void **state)
{
    static const uint32_t twice[] = {0, 1, 1}, without[] = {1}, far[] = {0, 9};
    struct am_coll_group *group, *other;
    struct am_coll_operator op;
    struct am_coll_call call = {.kind = AM_COLL_BCAST, .root = 2};
    struct world world;
    struct am_ctx *ctx;

    (void)state;
    world_open(&world, 2, NULL);
    ctx = world.ctx[0];
    assert_int_equal(am_coll_group_open(ctx, 1, twice, 3, &group),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_group_open(ctx, 1, without, 1, &group),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_group_open(ctx, 1, far, 2, &group),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_group_open(ctx, 1, twice, 0, &group),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_group_open(ctx, 1, NULL, 0, &group), AM_OK);
    assert_int_equal(am_coll_group_open(ctx, 1, NULL, 0, &other),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_start(group, &call, world_on_done, NULL),
                     AM_ERR_INVALID);
    call = (struct am_coll_call){.kind = AM_COLL_ALLREDUCE, .count = 1};
    assert_int_equal(am_coll_start(group, &call, world_on_done, NULL),
                     AM_ERR_INVALID);
    call = (struct am_coll_call){
            .kind = AM_COLL_ALLTOALL, .send = &op, .count = SIZE_MAX};
    assert_int_equal(am_coll_start(group, &call, world_on_done, NULL),
                     AM_ERR_INVALID);
    call = (struct am_coll_call){
            .kind = AM_COLL_ALLTOALL, .send = &op, .is_vector = true};
    assert_int_equal(am_coll_start(group, &call, world_on_done, NULL),
                     AM_ERR_INVALID);
    /* in place */
    call = (struct am_coll_call){
            .kind = AM_COLL_ALLTOALL, .recv = &op, .count = 1};
    assert_int_equal(am_coll_start(group, &call, world_on_done, NULL),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_operator_get(AM_COLL_BAND, AM_COLL_DOUBLE, &op),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_group_close(group), AM_OK);
    world_close(&world);
}

/* Random words to all handlers, also to groups and collectives that are there:
 * nothing crashes, and another group goes on. */
static void test_forged(void **state)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
    const struct am_option *options[] = {quiet, quiet, quiet,
                                         quiet, quiet, quiet};
    struct trial_group good, victim;
    struct world world;
    uint64_t bad = 0;

    (void)state;
    world_open(&world, RANKS, options);
    trial_group_open(&good, &world, 1, all, RANKS);
    trial_group_open(&victim, &world, 2, all, RANKS);
    world_settle(&world);
    for (int i = 0; i < 3000; i++) {
        uint64_t words[8];
        char data[64] = {0};
        uint32_t from = (uint32_t)draw(2); /* two of them lie */
        uint32_t handler = draw(5) == 0 ? AM_COLL_H_NUDGE
                           : draw(200) == 0
                                   ? AM_COLL_H_FAILED
                                   : AM_COLL_H_DATA + (uint32_t)draw(4);

        for (int j = 0; j < 8; j++) {
            words[j] = draw(3) == 0 ? am_prng_next(&prng) : draw(9);
        }
        words[0] = (2 + draw(3)) << 32 | draw(5);
        if (draw(3) > 0) {
            words[1] = draw(9) << AM_COLL_MEMBER_AT |
                       (uint64_t)victim.group[0]->salt << AM_COLL_SALT_AT |
                       draw(9);
        }
        (void)am_ctx_try_request(world.ctx[from], 2 + (uint32_t)draw(RANKS - 2),
                                 handler, words,
                                 draw(4) == 0 ? (uint32_t)draw(9)
                                 : handler == AM_COLL_H_READY ? 7
                                 : handler == AM_COLL_H_RTS   ? 3 + 4 * draw(2)
                                                              : 2,
                                 data, draw(64));
        world_polls(&world, 1);
    }
    for (uint32_t i = 2; i < RANKS; i++) {
        bad += world_counter(&world, i, "coll_rx_bad") +
               world_counter(&world, i, "coll_rx_bad_credit");
    }
    assert_true(bad > 0);
    for (int i = 0; i < 20; i++) {
        static const uint32_t honest[] = {2, 3, 4, 5};
        struct trial_group tg;
        struct trial t = {.kind = (am_coll_kind_t)(i % AM_COLL_KINDS),
                          .count = draw(20000),
                          .is_late = true};

        trial_group_open(&tg, &world, 100 + (uint32_t)i, honest, 4);
        trial(&tg, &t, &prng);
        trial_group_close(&tg);
    }
    trial_group_close(&good);
    trial_group_close(&victim);
    world_close(&world);
}

/* A question of a group that is over comes before the next group of its id opens: it
 * says nothing about that one. */
static void test_asked_before(void **state)
{
    enum {
        ID = 7,
        NUMBERS = 2 * AM_COLL_KINDS
    };

    struct am_coll_group *before;
    struct trial_group tg;
    struct world world;

    (void)state;
    world_open(&world, RANKS, NULL);
    assert_int_equal(am_coll_group_open(world.ctx[1], ID, NULL, 0, &before),
                     AM_OK);
    for (uint32_t number = 0; number < NUMBERS; number++) {
        uint64_t words[2];

        am_coll_head_write(before, number, 1, words);
        while (am_ctx_try_request(world.ctx[1], 0, AM_COLL_H_NUDGE, words, 2,
                                  NULL, 0) == AM_ERR_AGAIN) {
            world_polls(&world, 1);
        }
    }
    world_settle(&world);
    assert_int_equal(am_coll_group_close(before), AM_OK);
    trial_group_open(&tg, &world, ID, all, RANKS);
    for (uint32_t i = 0; i < NUMBERS; i++) {
        struct trial t = {.kind = (am_coll_kind_t)(i % AM_COLL_KINDS),
                          .count = draw(2000)};

        trial(&tg, &t, &prng);
    }
    trial_group_close(&tg);
    world_close(&world);
}

static const struct am_option hushed[] = {{"AM_LOG", "none"}, {NULL, NULL}};
static const struct am_option *const all_hushed[] = {hushed, hushed, hushed,
                                                     hushed, hushed, hushed};

/* Start an all-reduce at a member. */
static void start_sum(struct trial_group *tg, uint32_t member, int64_t *values,
                      struct world_done *done)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
                                .send = &values[0],
                                .recv = &values[1],
                                .count = 1};

    assert_int_equal(am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT32, &call.op),
                     AM_OK);
    trial_group_start(tg, member, &call, done);
}

/* What fails at one member fails at all, and nobody waits for ever: those that wait
 * already, those that call later, and one that has not opened the group yet. */
static void test_failure_is_told(void **state)
{
    static const uint32_t few[] = {0, 1, 2, 3};
    int64_t values[RANKS][2] = {{0}};
    struct world_done done[RANKS] = {{0}};
    struct am_coll_call barrier = {.kind = AM_COLL_BARRIER};
    struct am_coll_group *late;
    struct trial_group tg;
    struct world world;

    world_open(&world, RANKS, all_hushed);
    trial_group_open(&tg, &world, 3, few, 4);
    assert_int_equal(am_coll_group_close(tg.group[3]), AM_OK); /* not yet */
    start_sum(&tg, 1, values[1], &done[1]);
    world_polls(&world, 20);
    assert_int_equal(done[1].count, 0);
    am_coll_group_fail(tg.group[0], AM_ERR_MEMORY);
    world_settle(&world);
    world_check_done(&done[1], AM_ERR_INVALID);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(
                am_coll_start(tg.group[i], &barrier, world_on_done, &done[i]),
                i == 0 ? AM_ERR_MEMORY : AM_ERR_INVALID);
        assert_int_equal(am_coll_group_close(tg.group[i]), AM_OK);
    }
    assert_int_equal(am_coll_group_open(world.ctx[3], 3, few, 4, &late), AM_OK);
    assert_int_equal(am_coll_start(late, &barrier, world_on_done, &done[3]),
                     AM_ERR_INVALID);
    assert_int_equal(am_coll_group_close(late), AM_OK);
    world_close(&world);
}

/* Also where there was no space for the word when it failed. */
static void test_failure_is_told_later(void **state)
{
    static const uint32_t few[] = {0, 1};
    int64_t values[2] = {0};
    struct world_done done = {0};
    uint64_t words[2] = {0};
    struct trial_group tg;
    struct world world;

    world_open(&world, 2, all_hushed);
    trial_group_open(&tg, &world, 3, few, 2);
    start_sum(&tg, 1, values, &done);
    world_settle(&world);
    while (am_ctx_try_request(world.ctx[0], 1, AM_COLL_H_NUDGE, words, 2, NULL,
                              0) == AM_OK) {
    }
    am_coll_group_fail(tg.group[0], AM_ERR_MEMORY);
    assert_int_equal(done.count, 0);
    world_settle(&world);
    world_check_done(&done, AM_ERR_INVALID);
    trial_group_close(&tg);
    world_close(&world);
}

/* Notes that a peer may not hold yet wait at their sender, and those that it waits for do
 * not: both members run far ahead. */
static void many_notes(bool has_long)
{
    enum {
        CALLS = 40,
        COUNT = 40000
    };

    static const struct am_option tight[] = {
            {"AM_COLL_SHARED", "no"}, {"AM_COLL_WINDOW", "2"}, {NULL, NULL}};
    static const struct am_option *const both[] = {tight, tight};
    static const uint32_t few[] = {0, 1};
    static char from[2][COUNT * 2], to[2][CALLS][COUNT * 2];
    struct world_done done[2][CALLS] = {{{0}}};
    struct trial_group tg;
    struct world world;

    world_open(&world, 2, both);
    trial_group_open(&tg, &world, 3, few, 2);
    for (uint32_t i = 0; i < 2; i++) {
        am_coll_of(world.ctx[i])->notes_max = 3;
        memset(from[i], 'a' + (int)i, sizeof(from[i]));
        for (int j = 0; j < CALLS; j++) {
            struct am_coll_call call = {.kind = AM_COLL_ALLGATHER,
                                        .send = from[i],
                                        .recv = to[i][j],
                                        .count = has_long && j % 3 == 0 ? COUNT
                                                                        : 64};

            trial_group_start(&tg, i, &call, &done[i][j]);
        }
    }
    world_settle(&world);
    for (uint32_t i = 0; i < 2; i++) {
        for (int j = 0; j < CALLS; j++) {
            size_t count = has_long && j % 3 == 0 ? COUNT : 64;

            world_check_done(&done[i][j], AM_OK);
            assert_memory_equal(to[i][j], from[0], count);
            assert_memory_equal(to[i][j] + count, from[1], count);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

static void test_many_notes(void **state)
{
    (void)state;
    many_notes(false);
    many_notes(true);
}

/* A group fails as a member dies, before member 0 has opened it: what the others have sent
 * to member 0 is not for the next group of this id, which those that live have. */
static void test_id_used_again(void **state)
{
    static const uint32_t living[] = {0, 1, 2, 3, 4};
    int64_t values[RANKS][2] = {{0}};
    struct world_done done[RANKS] = {{0}};
    struct trial_group tg, next;
    struct world world;

    world_open(&world, RANKS, all_hushed);
    trial_group_open(&tg, &world, 3, all, RANKS);
    assert_int_equal(am_coll_group_close(tg.group[0]), AM_OK); /* not yet */
    for (uint32_t i = 1; i < RANKS; i++) {
        start_sum(&tg, i, values[i], &done[i]);
    }
    world_settle(&world);
    for (uint32_t i = 1; i < RANKS; i++) {
        am_coll_group_abandon(tg.group[i]);
    }
    world_settle(&world);
    for (uint32_t i = 1; i < RANKS; i++) {
        world_check_done(&done[i], AM_ERR_PEER);
        assert_int_equal(am_coll_group_close(tg.group[i]), AM_OK);
    }
    assert_true(world_counter(&world, 0, "coll_held_now") > 0);
    trial_group_open(&next, &world, 3, living, 5);
    for (uint32_t i = 0; i < 2 * AM_COLL_KINDS; i++) {
        struct trial t = {.kind = (am_coll_kind_t)(i % AM_COLL_KINDS),
                          .count = draw(2000)};

        trial(&next, &t, &prng);
    }
    assert_int_equal(world_counter(&world, 0, "coll_held_now"), 0);
    trial_group_close(&next);
    world_close(&world);
}

/* A member dies: collectives under way end at all others with an error, those
 * that come later are refused, and groups without it go on. */
static void test_death(void **state)
{
    static const uint32_t living[] = {0, 1, 2, 3, 4};
    static char buffer[RANKS][RANKS * 9000], other[RANKS][RANKS * 9000];
    static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
    const struct am_option *options[] = {quiet, quiet, quiet,
                                         quiet, quiet, quiet};
    struct trial_group tg, rest;
    struct world_done done[RANKS] = {{0}};
    struct trial t = {.kind = AM_COLL_ALLREDUCE, .count = 5000};
    struct world world;

    (void)state;
    world_open(&world, RANKS, options);
    trial_group_open(&tg, &world, 1, all, RANKS);
    trial_group_open(&rest, &world, 2, living, 5);
    trial(&tg, &t, &prng);
    for (uint32_t i = 0; i < 5; i++) {
        struct am_coll_call call = {.kind = AM_COLL_ALLTOALL,
                                    .send = buffer[i],
                                    .recv = other[i],
                                    .count = 9000};

        assert_int_equal(
                am_coll_start(tg.group[i], &call, world_on_done, &done[i]),
                AM_OK);
    }
    world_polls(&world, 5);
    for (uint32_t i = 0; i < 5; i++) {
        am_status_t status;

        assert_int_equal(done[i].count, 0); /* under way */
        am_peer_dead(am_peer_get(world.ctx[i], 5, &status), "the test says so");
        (void)am_ctx_poll(world.ctx[i]); /* says so once */
    }
    for (int i = 0; i < 2000; i++) {
        world_poll(&world);
    }
    for (uint32_t i = 0; i < 5; i++) {
        struct am_coll_call call = {.kind = AM_COLL_BARRIER};

        world_check_done(&done[i], AM_ERR_PEER);
        assert_int_equal(
                am_coll_start(tg.group[i], &call, world_on_done, &done[i]),
                AM_ERR_PEER);
    }
    trial_group_close(&tg);
    trial(&rest, &t, &prng);
    trial_group_close(&rest);
    world_close(&world);
}

/* The death of another rank, which a poll within am_coll_run finds, is told by the next
 * one, whether the collective waits or is done at once. */
static void test_other_death(void **state)
{
    static const struct am_option list[][4] = {
            {{"AM_LOG", "none"},
             {"AM_LEARN", "no"}, /* and numbers are not told again */
             {"AM_COLL_SHARED", "no"},
             {NULL, NULL}},
            {{"AM_LOG", "none"}, {"AM_LEARN", "no"}, {NULL, NULL}}};
    static const struct am_coll_call barrier = {.kind = AM_COLL_BARRIER};

    (void)state;
    for (int at_once = 0; at_once < 2; at_once++) {
        const struct am_option *options[] = {list[at_once], list[at_once],
                                             list[at_once]};
        struct trial t = {.kind = AM_COLL_BARRIER};
        struct trial_group tg;
        struct world world;
        am_status_t found;

        world_open(&world, 3, options);
        trial_group_open(&tg, &world, 1, all, 2);
        for (int i = 0; i < 3; i++) {
            trial(&tg, &t, &prng);
        }
        am_peer_dead(am_peer_get(world.ctx[0], 2, &found), "the test says so");
        for (int i = 0; i < (at_once ? 64 : 1); i++) {
            struct world_done done;

            trial_group_start(&tg, 1, &barrier, &done);
            assert_int_equal(am_coll_barrier(tg.group[0]), AM_OK);
            while (done.count == 0) {
                (void)am_ctx_poll(world.ctx[1]);
            }
            world_check_done(&done, AM_OK);
        }
        assert_int_equal(am_ctx_poll(world.ctx[0]), AM_ERR_PEER);
        assert_true(am_ctx_poll(world.ctx[0]) >= 0);
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* A context closes with collectives under way: all that is theirs is freed. */
static void test_close(void **state)
{
    static char buffer[RANKS][40000], other[RANKS][40000];
    struct am_coll_group *group[RANKS];
    struct world_done done = {0};
    struct world world;

    (void)state;
    world_open(&world, RANKS, NULL);
    for (uint32_t i = 0; i + 1 < RANKS; i++) { /* the last does not come */
        struct am_coll_call call = {.kind = AM_COLL_ALLTOALL,
                                    .send = buffer[i],
                                    .recv = other[i],
                                    .count = sizeof(buffer[i]) / RANKS};

        assert_int_equal(
                am_coll_group_open(world.ctx[i], 4, NULL, 0, &group[i]), AM_OK);
        assert_int_equal(am_coll_start(group[i], &call, world_on_done, &done),
                         AM_OK);
        world_polls(&world, 3);
    }
    world_close(&world);
}

static int setup(void **state)
{
    (void)state;
    prng = test_prng("coll_wrong_test");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_disagreement),
            cmocka_unit_test(test_bad_calls),
            cmocka_unit_test(test_forged),
            cmocka_unit_test(test_asked_before),
            cmocka_unit_test(test_failure_is_told),
            cmocka_unit_test(test_failure_is_told_later),
            cmocka_unit_test(test_many_notes),
            cmocka_unit_test(test_id_used_again),
            cmocka_unit_test(test_death),
            cmocka_unit_test(test_other_death),
            cmocka_unit_test(test_close),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
