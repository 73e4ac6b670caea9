/*
 * Collectives through the memory of a group (collectives/shared): that they are
 * used within a node, who waits long and is woken, deaths, calls that do not
 * agree, memory that is given back, members that are threads, what member 0 tells of
 * cores that are shared.  What they compute
 * is checked for every algorithm in coll_algorithm_test.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/coll.h"
#include "collectives/shared/layout.h"
#include "dev/shm/shm_inl.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    RANKS = 6,
    LONG_WAIT = 2000, /* polls, more than a member looks before it sleeps */
    GROUPS = 300,
    CALLS = 150, /* more than are called before a round is told */
    ROUNDS = 3000,
    LIGHT_ROUNDS = 1000
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

/* Members 0, 1, 2 start a barrier in the order of `order`, and nobody polls; true: it
 * ends at once for the last one. */
static bool last_goes_on(struct trial_group *tg, const uint32_t *order)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER};
    struct world_done done[3];
    bool goes_on;

    for (uint32_t i = 0; i < 3; i++) {
        trial_group_start(tg, order[i], &call, &done[order[i]]);
        assert_true(i == 2 || done[order[i]].count == 0);
    }
    goes_on = done[order[2]].count != 0;
    world_settle(tg->world);
    for (uint32_t i = 0; i < 3; i++) {
        world_check_done(&done[i], AM_OK);
    }
    return goes_on;
}

/* Where members share cores, a barrier ends with the member that gave all what
 * followed the one before. */
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
    for (uint32_t crowded = 0; crowded < 2; crowded++) {
        for (uint32_t i = 0; i < 3; i++) {
            tg.group[i]->numbers.perf.turn_ps = crowded;
        }
        trial(&tg, &given, &prng);
        assert_int_equal(last_goes_on(&tg, first), !crowded);
        trial(&tg, &given, &prng);
        trial(&tg, &made, &prng);
        assert_true(last_goes_on(&tg, last));
        assert_true(last_goes_on(&tg, first)); /* a barrier followed */
        trial(&tg, &made, &prng);
        assert_true(last_goes_on(&tg, first));
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
    static const struct am_option list[] = {{"AM_DEVICES", "shm"},
                                            {NULL, NULL}};
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

/* ---------------------------------------------------------------- threads */

struct member {
    struct am_coll_group *group;
    uint64_t seed;
    int rounds;
    bool is_late; /* now and then, so that the other of the two sleeps */
    int failures;
};

/* Late by a moment; until the other was once seen to sleep and was told, until it
 * does, since its looks may take as long as the machine likes (one core). */
static void be_late(const struct am_coll_group *group, int round)
{
    uint32_t rank = am_coll_group_rank(group);
    _Atomic uint32_t *sleeps = am_shared_sleeps(group->shared, 1 - rank);
    bool has_told = group->coll->stats[AM_COLL_STAT_NUDGES] > 0;
    int moments = has_told || round > 16 ? 1 : 2500;

    for (int i = 0; i < moments && atomic_load(sleeps) != rank + 1; i++) {
        usleep(200);
    }
}

static void *member_run(void *arg)
{
    struct member *member = arg;
    uint32_t rank = am_coll_group_rank(member->group);
    uint32_t size = am_coll_group_size(member->group);
    struct am_prng draws; /* the same at all */
    struct am_coll_operator op;

    am_prng_seed(&draws, member->seed);
    if (am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &op) != AM_OK) {
        member->failures++;
    }
    for (int i = 0; i < member->rounds; i++) {
        int64_t mine[600], out[600], want = 0, last;
        size_t count = 1 + am_prng_next(&draws) % 600;
        uint32_t root = (uint32_t)am_prng_next(&draws) % size;
        bool reduces = am_prng_next(&draws) % 2 == 0;
        am_status_t status;

        if (member->is_late && i % 2 == (int)(rank % 2)) {
            be_late(member->group, i);
        }
        for (size_t j = 0; j < count; j++) {
            mine[j] = reduces || rank == root ? (int64_t)(i + (rank + 1) * j)
                                              : -1;
        }
        status = reduces ? am_coll_allreduce(member->group, mine, out, count,
                                             &op)
                         : am_coll_bcast(member->group, mine,
                                         count * sizeof(*mine), root);
        if (am_prng_next(&draws) % 3 == 0) {
            member->failures += am_coll_barrier(member->group) != AM_OK;
        }
        for (uint32_t r = 0; r < size; r++) {
            want += reduces || r == root ? (int64_t)(i + (r + 1) * (count - 1))
                                         : 0;
        }
        last = reduces ? out[count - 1] : mine[count - 1];
        member->failures += status != AM_OK || last != want;
    }
    return NULL;
}

static void members_run(const struct trial_group *tg, int rounds, bool are_late)
{
    struct member members[RANKS];
    pthread_t threads[RANKS];
    uint64_t seed = am_prng_next(&prng);

    for (uint32_t i = 0; i < tg->size; i++) {
        members[i] = (struct member){tg->group[i], seed, rounds, are_late, 0};
        assert_int_equal(
                pthread_create(&threads[i], NULL, member_run, &members[i]), 0);
    }
    for (uint32_t i = 0; i < tg->size; i++) {
        pthread_join(threads[i], NULL);
    }
    for (uint32_t i = 0; i < tg->size; i++) {
        assert_int_equal(members[i].failures, 0);
    }
}

static void threads_run(const char *bcast, const char *allreduce)
{
    struct trial t = {.kind = AM_COLL_BARRIER};
    struct trial_group tg;
    struct world world;

    world_open(&world, RANKS, NULL);
    trial_group_open(&tg, &world, 1, all, RANKS);
    trial(&tg, &t, &prng);
    trial_force(&tg, AM_COLL_BCAST, bcast);
    trial_force(&tg, AM_COLL_ALLREDUCE, allreduce);
    assert_int_equal(am_coll_is_named(tg.group[0], AM_COLL_BCAST),
                     strcmp(bcast, "auto") != 0);
    assert_false(am_coll_is_named(tg.group[0], AM_COLL_REDUCE));
    members_run(&tg, ROUNDS, false);
    trial_group_close(&tg);
    world_close(&world);
}

static void test_threads(void **state)
{
    (void)state;
    threads_run("auto", "auto");
    threads_run("reads", "reads");
}

/* As where each member has a core of its own: who writes passes no fence, and who
 * sleeps passes it for all.  A sleeper that is not seen would sleep for ever. */
static void test_light_flags(void **state)
{
    struct trial t = {.kind = AM_COLL_BARRIER};
    struct trial_group tg;
    struct world world;
    uint64_t nudges = 0;

    (void)state;
    world_open(&world, 2, NULL);
    trial_group_open(&tg, &world, 1, all, 2);
    trial(&tg, &t, &prng);
    for (uint32_t i = 0; i < 2; i++) {
        tg.group[i]->numbers.perf.turn_ps = 0;
        tg.group[i]->shared->has_met_all = false;
    }
    members_run(&tg, LIGHT_ROUNDS, true);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(tg.group[i]->shared->is_light,
                         tg.group[i]->coll->can_fence);
        nudges += tg.group[i]->coll->stats[AM_COLL_STAT_NUDGES];
    }
    assert_true(nudges > 0);
    trial_group_close(&tg);
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
            cmocka_unit_test(test_round_told),
            cmocka_unit_test(test_given_back),
            cmocka_unit_test(test_threads),
            cmocka_unit_test(test_light_flags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
