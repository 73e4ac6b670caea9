/*
 * Collectives through the memory of a group (collectives/shared): that they are
 * used within a node, who waits long and is woken, deaths, calls that do not
 * agree, memory that is given back, what member 0 tells of cores that are shared.
 * What they compute is checked for every algorithm in coll_algorithm_test;
 * members that are threads in coll_threads_test.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/coll.h"
#include "collectives/shared/layout.h"
#include "dev/shm/shm_inl.h"

enum {
    RANKS = 6,
    LONG_WAIT = 2000, /* polls, more than a member looks before it sleeps */
    GROUPS = 300,
    CALLS = 150 /* more than are called before a round is told */
};

static struct am_prng prng;
static const uint32_t all[] = {0, 1, 2, 3, 4, 5};
static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
static const struct am_option *const all_quiet[] = {quiet, quiet, quiet,
                                                    quiet, quiet, quiet};

static struct am_coll_call sum_of(int64_t *value, int64_t *sum, size_t count)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
                                .send = value,
                                .recv = sum,
                                .count = count};

    assert_int_equal(am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &call.op),
                     AM_OK);
    return call;
}

/* Short ones of a group within a node send no message once it has its memory. */
static void test_used(void **state)
{
    struct trial t = {.kind = AM_COLL_ALLREDUCE, .count = 3};
    struct trial_group tg;
    struct world world;
    uint64_t sent, shared;

    (void)state;
    world_open(&world, RANKS, NULL);
    trial_group_open(&tg, &world, 1, all, RANKS);
    assert_int_equal(am_coll_group_shared_bytes(tg.group[0]), 0);
    trial(&tg, &t, &prng);
    sent = world_counter(&world, 1, "coll_tx_data");
    shared = world_counter(&world, 1, "coll_shared");
    for (int i = 0; i < 20; i++) {
        trial(&tg, &t, &prng);
    }
    assert_int_equal(world_counter(&world, 1, "coll_tx_data"), sent);
    assert_int_equal(world_counter(&world, 1, "coll_shared"), shared + 20);
    assert_true(am_coll_group_shared_bytes(tg.group[3]) > 0);
    trial_group_close(&tg);
    world_close(&world);
}

static void test_off(void **state)
{
    static const struct am_option list[] = {{"AM_COLL_SHARED", "no"},
                                            {NULL, NULL}};
    const struct am_option *options[] = {list, list, list};
    struct trial t = {.kind = AM_COLL_ALLREDUCE, .count = 3};
    struct trial_group tg;
    struct world world;

    (void)state;
    world_open(&world, 3, options);
    trial_group_open(&tg, &world, 1, all, 3);
    trial(&tg, &t, &prng);
    assert_int_equal(am_coll_group_shared_bytes(tg.group[0]), 0);
    assert_int_equal(world_counter(&world, 1, "coll_shared"), 0);
    trial_group_close(&tg);
    world_close(&world);
}

/* All but one wait for long, and then sleep: who comes last wakes them. */
static void test_asleep(void **state)
{
    struct trial t = {.kind = AM_COLL_BARRIER};
    int64_t value[RANKS], sum[RANKS];
    struct world_done done[RANKS];
    struct trial_group tg;
    struct world world;

    (void)state;
    world_open(&world, RANKS, NULL);
    trial_group_open(&tg, &world, 1, all, RANKS);
    trial(&tg, &t, &prng);
    for (uint32_t last = 0; last < RANKS; last++) {
        uint64_t nudges = world_counter(&world, last, "coll_tx_nudge");

        for (uint32_t step = 0; step < RANKS; step++) {
            uint32_t i = (last + 1 + step) % RANKS;
            struct am_coll_call call = sum_of(&value[i], &sum[i], 1);

            value[i] = i + 1;
            for (int j = 0; i == last && j < LONG_WAIT; j++) {
                world_poll(&world);
            }
            trial_group_start(&tg, i, &call, &done[i]);
        }
        world_settle(&world);
        for (uint32_t i = 0; i < RANKS; i++) {
            world_check_done(&done[i], AM_OK);
            assert_int_equal(sum[i], RANKS * (RANKS + 1) / 2);
        }
        assert_int_equal(world_counter(&world, last, "coll_tx_nudge"),
                         nudges + RANKS - 1);
    }
    trial_group_close(&tg);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(world_counter(&world, i, "coll_rx_bad"), 0);
    }
    world_close(&world);
}

/* A member dies while others wait for it, awake or asleep. */
static void test_death(void **state)
{
    struct trial t = {.kind = AM_COLL_BARRIER};

    (void)state;
    for (int sleeps = 0; sleeps < 2; sleeps++) {
        int64_t value[RANKS] = {0}, sum[RANKS];
        struct world_done done[RANKS];
        struct trial_group tg;
        struct world world;

        world_open(&world, RANKS, all_quiet);
        trial_group_open(&tg, &world, 1, all, RANKS);
        trial(&tg, &t, &prng);
        for (uint32_t i = 0; i < RANKS - 1; i++) {
            struct am_coll_call call = sum_of(&value[i], &sum[i], 1);

            trial_group_start(&tg, i, &call, &done[i]);
        }
        for (int i = 0; i < (sleeps ? LONG_WAIT : 5); i++) {
            world_poll(&world);
        }
        for (uint32_t i = 0; i < RANKS - 1; i++) {
            am_status_t found;
            struct am_peer *dead = am_peer_get(world.ctx[i], RANKS - 1, &found);

            assert_int_equal(done[i].count, 0);
            assert_non_null(dead);
            am_peer_dead(dead, "the test says so");
            (void)am_ctx_poll(world.ctx[i]); /* says so once */
        }
        world_settle(&world);
        for (uint32_t i = 0; i < RANKS - 1; i++) {
            world_check_done(&done[i], AM_ERR_PEER);
        }
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* One member calls something else: a root, a length that goes by messages, before
 * the others or long after. */
static void test_disagreement(void **state)
{
    static int64_t value[3][20000], sum[3][20000];
    struct trial t = {.kind = AM_COLL_BARRIER};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct world_done done[3];
        struct trial_group tg;
        struct world world;
        uint32_t odd = (uint32_t)i % 3;

        world_open(&world, 3, all_quiet);
        trial_group_open(&tg, &world, 1, all, 3);
        trial(&tg, &t, &prng);
        for (uint32_t j = 0; j < 3; j++) {
            uint32_t member = i % 2 == 0 ? j : 2 - j;
            struct am_coll_call call =
                    sum_of(value[member], sum[member],
                           member == odd ? i < 4 ? 20000 : 2 : 1);

            trial_group_start(&tg, member, &call, &done[member]);
            for (int k = 0; i / 2 % 2 == 0 && k < LONG_WAIT; k++) {
                world_poll(&world);
            }
        }
        for (int j = 0; j < 4 * LONG_WAIT; j++) {
            world_poll(&world);
        }
        for (uint32_t j = 0; j < 3; j++) {
            world_check_done(&done[j], AM_ERR_INVALID);
        }
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* `count` members start a barrier in the order of `order`, and nobody polls; true: it
 * ends at once for the last one. */
static bool last_goes_on(struct trial_group *tg, const uint32_t *order,
                         uint32_t count)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER};
    struct world_done done[3];
    bool goes_on;

    for (uint32_t i = 0; i < count; i++) {
        trial_group_start(tg, order[i], &call, &done[order[i]]);
        assert_true(i == count - 1 || done[order[i]].count == 0);
    }
    goes_on = done[order[count - 1]].count != 0;
    world_settle(tg->world);
    for (uint32_t i = 0; i < count; i++) {
        world_check_done(&done[i], AM_OK);
    }
    return goes_on;
}

/* A barrier ends with the member that gave all what followed the one before. */
static void test_led_barrier(void **state)
{
    static const uint32_t first[] = {2, 0, 1}, last[] = {0, 1, 2};
    struct trial meet = {.kind = AM_COLL_BARRIER};
    struct trial given = {.kind = AM_COLL_BCAST, .count = 100, .root = 2};
    struct trial made = {.kind = AM_COLL_REDUCE, .count = 100, .root = 2};
    struct trial_group tg;
    struct world world;

    (void)state;
    world_open(&world, 3, NULL);
    trial_group_open(&tg, &world, 1, all, 3);
    trial(&tg, &meet, &prng);
    trial(&tg, &given, &prng);
    assert_false(last_goes_on(&tg, first, 3));
    trial(&tg, &given, &prng);
    trial(&tg, &made, &prng);
    assert_true(last_goes_on(&tg, last, 3));
    assert_true(last_goes_on(&tg, first, 3)); /* a barrier followed */
    trial(&tg, &made, &prng);
    assert_true(last_goes_on(&tg, first, 3));
    trial_group_close(&tg);
    world_close(&world);
}

/* Of two members the one that a reduction is not for gives all. */
static void test_led_pair(void **state)
{
    static const uint32_t orders[2][2] = {{0, 1}, {1, 0}};
    static const am_coll_kind_t kinds[] = {AM_COLL_REDUCE, AM_COLL_GATHER};
    struct trial meet = {.kind = AM_COLL_BARRIER};
    struct trial_group tg;
    struct world world;

    (void)state;
    world_open(&world, 2, NULL);
    trial_group_open(&tg, &world, 1, all, 2);
    trial(&tg, &meet, &prng);
    for (uint32_t i = 0; i < 8; i++) {
        uint32_t root = i / 2 % 2;
        struct trial made = {.kind = kinds[i / 4], .count = 100, .root = root};

        trial(&tg, &made, &prng);
        assert_int_equal(last_goes_on(&tg, orders[i % 2], 2),
                         orders[i % 2][1] != root);
    }
    trial_group_close(&tg);
    world_close(&world);
}

static const uint64_t round_ps = 7000000;

static void count_done(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(uint32_t *)arg;
}

/* Begin the next sum at the member, of which it has done so many. */
static void sums_start(struct trial_group *tg, uint32_t member, int64_t *value,
                       int64_t *sums, uint32_t *done)
{
    struct am_coll_call call = sum_of(value, sums, 1);
    am_status_t status =
            am_coll_start(tg->group[member], &call, count_done, done);

    assert_true(status == AM_OK || status == AM_DONE);
    *done += status == AM_DONE;
}

/* Member `first` calls all before the others call any, so that it does not know
 * whether a round will be told; or there is none that does. */
static void told(bool crowded, uint32_t first)
{
    static const struct am_option list[] = {
            {"AM_DEVICES", "shm"}, {"AM_LEARN", "no"}, {NULL, NULL}};
    static const struct am_option *const options[] = {list, list, list};
    static int64_t value[3] = {1, 2, 3}, sums[3][CALLS];
    uint32_t done[3] = {0};
    struct trial_group tg;
    struct world world;
    struct shm_dev *dev;

    world_open(&world, 3, options);
    world_settle(&world);
    trial_group_open(&tg, &world, 1, all, 3);
    dev = shm_dev_of(world.ctx[0]->devs[0]);
    dev->crowd_known = true;
    dev->round.core_ranks = 2;
    shm_costs_crowd(dev, crowded, 1000000);
    for (uint32_t j = 0; first < 3 && j < CALLS; j++) {
        sums_start(&tg, first, &value[first], &sums[first][j], &done[first]);
    }
    for (uint32_t j = 0; j < CALLS; j++) {
        for (uint32_t i = 0; i < 3; i++) {
            if (i != first) {
                sums_start(&tg, i, &value[i], &sums[i][j], &done[i]);
            }
        }
        shm_costs_round(dev, round_ps);
        world_poll(&world);
    }
    world_settle(&world);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(done[i], CALLS);
        assert_int_equal(tg.group[i]->numbers.perf.round_ps,
                         crowded ? round_ps : 0);
        for (uint32_t j = 0; j < CALLS; j++) {
            assert_int_equal(sums[i][j], 6);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* Where members share cores, member 0 tells all what a round takes once it has
 * measured it; elsewhere it does not, however far ahead somebody is. */
static void test_round_told(void **state)
{
    (void)state;
    for (uint32_t first = 0; first <= 3; first++) {
        told(true, first);
        told(false, first);
    }
}

/* Groups come and go, closed by their members at different times; their memory is
 * there again. */
static void test_given_back(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, RANKS, NULL);
    for (uint32_t i = 0; i < GROUPS; i++) {
        struct trial t = {.kind = i % 2 == 0 ? AM_COLL_BCAST : AM_COLL_REDUCE,
                          .count = 2000,
                          .root = i % RANKS};
        struct trial_group tg;

        trial_group_open(&tg, &world, 1 + i, all, RANKS);
        trial(&tg, &t, &prng);
        assert_true(am_coll_group_shared_bytes(tg.group[0]) > 0);
        trial_group_close(&tg);
        assert_true(am_coll_of(world.ctx[0])->shared_bytes <= 1u << 20);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_used),
            cmocka_unit_test(test_off),
            cmocka_unit_test(test_asleep),
            cmocka_unit_test(test_death),
            cmocka_unit_test(test_disagreement),
            cmocka_unit_test(test_led_barrier),
            cmocka_unit_test(test_led_pair),
            cmocka_unit_test(test_round_told),
            cmocka_unit_test(test_given_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
