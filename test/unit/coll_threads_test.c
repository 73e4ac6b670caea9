/*
 * Collectives through the memory of a group (collectives/shared), with members
 * that are threads: the values are right whoever is late, and whoever sleeps is
 * woken.
 */
#include "support/cm.h"
#include "support/coll_trial.h"

#include "am/ctx.h"
#include "base/prng.h"
#include "collectives/coll.h"
#include "collectives/shared/layout.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

enum {
    RANKS = 6,
    ROUNDS = 3000,
    LIGHT_ROUNDS = 1000
};

static struct am_prng prng;
static const uint32_t all[] = {0, 1, 2, 3, 4, 5};

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

/* Of what all have given in round i, summed or the root's: is it all there? */
static bool is_right(const int64_t *values, size_t count, int round,
                     uint32_t first, uint32_t last)
{
    for (size_t j = 0; j < count; j++) {
        int64_t want = 0;

        for (uint32_t r = first; r <= last; r++) {
            want += (int64_t)(round + (r + 1) * j);
        }
        if (values[j] != want) {
            return false;
        }
    }
    return true;
}

static void *member_run(void *arg)
{
    struct member *member = arg;
    uint32_t rank = am_coll_group_rank(member->group);
    uint32_t size = am_coll_group_size(member->group);
    struct am_prng draws; /* the same at all */
    struct am_coll_operator op;
    size_t count = 1;
    bool reduces;
    uint32_t root;
    am_status_t status;

    am_prng_seed(&draws, member->seed);
    if (am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &op) != AM_OK) {
        member->failures++;
    }
    for (int i = 0; i < member->rounds; i++) {
        int64_t mine[600], out[600];

        if (i % 4 == 0) { /* and so some calls are as the one before */
            count = 1 + am_prng_next(&draws) % 600;
        }
        root = (uint32_t)am_prng_next(&draws) % size;
        reduces = am_prng_next(&draws) % 2 == 0;
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
        member->failures +=
                status != AM_OK ||
                !is_right(reduces ? out : mine, count, i, reduces ? 0 : root,
                          reduces ? size - 1 : root);
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
            cmocka_unit_test(test_threads),
            cmocka_unit_test(test_light_flags),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
