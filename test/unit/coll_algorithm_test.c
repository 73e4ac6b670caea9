/*
 * Every algorithm of every kind, forced, against a serial reference: 1 to 17
 * members, sizes with 0 and long ones, roots, operators that commute and one
 * that does not, in place, vectors, pieces of one byte; members that start in
 * any order.  Seeded.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "collectives/algo/algo.h"

#include <stdio.h>
#include <string.h>

#ifndef MEMBERS_MAX
#define MEMBERS_MAX 17
#endif

static struct world world;
static struct am_prng prng;

/* Counts: around the limits of a packet, of the longest DATA (8 KiB), more. */
static const size_t counts[] = {0, 1, 3, 8, 17, 100, 1021, 1024, 1025, 20000};

enum {
    COUNTS = sizeof(counts) / sizeof(counts[0])
};

static bool has_root(am_coll_kind_t kind)
{
    return kind == AM_COLL_BCAST || kind == AM_COLL_REDUCE ||
           kind == AM_COLL_GATHER || kind == AM_COLL_SCATTER;
}

static bool has_operator(am_coll_kind_t kind)
{
    return kind == AM_COLL_REDUCE || kind == AM_COLL_ALLREDUCE ||
           kind == AM_COLL_REDUCE_SCATTER || kind == AM_COLL_SCAN ||
           kind == AM_COLL_EXSCAN;
}

static bool can_be_in_place(am_coll_kind_t kind)
{
    return kind == AM_COLL_REDUCE || kind == AM_COLL_ALLREDUCE ||
           kind == AM_COLL_GATHER || kind == AM_COLL_ALLGATHER ||
           kind == AM_COLL_SCAN || kind == AM_COLL_EXSCAN;
}

/* A group of the first `size` ranks in an order that is drawn. */
static void group_open(struct trial_group *tg, uint32_t id, uint32_t size)
{
    uint32_t ranks[WORLD_MAX];

    for (uint32_t i = 0; i < size; i++) {
        uint32_t with = (uint32_t)(am_prng_next(&prng) % (i + 1));

        ranks[i] = ranks[with];
        ranks[with] = i;
    }
    trial_group_open(tg, &world, id, ranks, size);
}

static void trials(struct trial_group *tg, am_coll_kind_t kind, size_t count,
                   uint32_t root)
{
    int ops = has_operator(kind) ? TRIAL_OPS : 1;

    for (int op = 0; op < ops; op++) {
        struct trial t = {.kind = kind,
                          .count = count,
                          .root = root,
                          .op = op,
                          .in_place = can_be_in_place(kind) &&
                                      am_prng_next(&prng) % 2,
                          .is_late = am_prng_next(&prng) % 2};

        trial(tg, &t, &prng);
    }
}

/* One algorithm: each count with a root that is drawn; each root, for groups of
 * up to 8 members, with a count. */
static void algorithm(struct trial_group *tg, am_coll_kind_t kind,
                      const char *name)
{
    trial_force(tg, kind, name);
    for (uint32_t i = 0; i < COUNTS; i++) {
        uint32_t root = (uint32_t)am_prng_next(&prng) % tg->size;

        if (i % 3 == tg->size % 3 || tg->size <= 5) {
            trials(tg, kind, counts[i], has_root(kind) ? root : 0);
        }
    }
    for (uint32_t root = 0; has_root(kind) && root < tg->size && tg->size <= 8;
         root++) {
        trials(tg, kind, counts[1 + root % (COUNTS - 2)], root);
    }
}

static void kind_all(am_coll_kind_t kind)
{
    for (uint32_t size = 1; size <= MEMBERS_MAX; size++) {
        const struct am_coll_algorithm *a = am_coll_algorithms[kind];
        struct trial_group tg;

        if (size > 9 && size % 4 > 1 && size != 15) {
            continue; /* the neighbours stand for it */
        }
        group_open(&tg, 100 + size, size);
        for (; a->name != NULL; a++) {
            char text[64];

            algorithm(&tg, kind, a->name);
            if (a->has_shape) {
                snprintf(text, sizeof(text), "%s:3", a->name);
                algorithm(&tg, kind, text);
            }
            if (a->has_chunk) {
                snprintf(text, sizeof(text), "%s/100", a->name);
                algorithm(&tg, kind, text);
            }
        }
        trial_force(&tg, kind, "auto");
        trial_group_close(&tg);
    }
}

#define KIND_TEST(_name, _kind)            \
    static void test_##_name(void **state) \
    {                                      \
        (void)state;                       \
        kind_all(_kind);                   \
    }

KIND_TEST(barrier, AM_COLL_BARRIER)
KIND_TEST(bcast, AM_COLL_BCAST)
KIND_TEST(reduce, AM_COLL_REDUCE)
KIND_TEST(allreduce, AM_COLL_ALLREDUCE)
KIND_TEST(gather, AM_COLL_GATHER)
KIND_TEST(scatter, AM_COLL_SCATTER)
KIND_TEST(allgather, AM_COLL_ALLGATHER)
KIND_TEST(reduce_scatter, AM_COLL_REDUCE_SCATTER)
KIND_TEST(alltoall, AM_COLL_ALLTOALL)
KIND_TEST(scan, AM_COLL_SCAN)
KIND_TEST(exscan, AM_COLL_EXSCAN)

/* Blocks of different lengths, with gaps between. */
static void test_vectors(void **state)
{
    static const am_coll_kind_t kinds[] = {
            AM_COLL_GATHER, AM_COLL_SCATTER, AM_COLL_ALLGATHER,
            AM_COLL_REDUCE_SCATTER, AM_COLL_ALLTOALL};

    (void)state;
    for (uint32_t i = 0; i < 5 * MEMBERS_MAX; i++) {
        am_coll_kind_t kind = kinds[i % 5];
        const struct am_coll_algorithm *a = am_coll_algorithms[kind];
        struct trial_group tg;

        group_open(&tg, 200, 1 + i / 5);
        for (; a->name != NULL; a++) {
            for (uint32_t j = 0; a->takes_vector && j < 5; j++) {
                struct trial t = {.kind = kind,
                                  .count = counts[(i + j) % COUNTS],
                                  .root = (i + j) % tg.size,
                                  .op = (int)(j % TRIAL_OPS),
                                  .is_vector = true,
                                  .is_late = j % 2 == 0};

                trial_force(&tg, kind, a->name);
                trial(&tg, &t, &prng);
            }
        }
        trial_force(&tg, kind, "auto");
        trial_group_close(&tg);
    }
}

/* Pieces of one byte, and of one element. */
static void test_smallest_pieces(void **state)
{
    struct trial_group tg;

    (void)state;
    group_open(&tg, 300, 7 < MEMBERS_MAX ? 7 : MEMBERS_MAX);
    for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
        const struct am_coll_algorithm *a = am_coll_algorithms[kind];

        for (; a->name != NULL; a++) {
            char text[64];

            snprintf(text, sizeof(text), "%s/1", a->name);
            if (a->has_chunk) {
                trial_force(&tg, (am_coll_kind_t)kind, text);
                trials(&tg, (am_coll_kind_t)kind, 37, 0);
            }
        }
        trial_force(&tg, (am_coll_kind_t)kind, "auto");
    }
    trial_group_close(&tg);
}

/* Long ones, by cost. */
static void test_long(void **state)
{
    struct trial_group tg;

    (void)state;
    group_open(&tg, 400, 5);
    for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
        trials(&tg, (am_coll_kind_t)kind, 300001, 0);
    }
    trial_group_close(&tg);
}

static int setup(void **state)
{
    (void)state;
    prng = test_prng("coll_algorithm_test");
    world_open(&world, MEMBERS_MAX, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_settle(&world);
    for (uint32_t i = 0; i < world.size; i++) {
        assert_int_equal(world_counter(&world, i, "coll_rx_bad"), 0);
        assert_int_equal(world_counter(&world, i, "coll_rx_bad_credit"), 0);
        assert_int_equal(world_counter(&world, i, "coll_held_now"), 0);
    }
    world_close(&world);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_barrier),
            cmocka_unit_test(test_bcast),
            cmocka_unit_test(test_reduce),
            cmocka_unit_test(test_allreduce),
            cmocka_unit_test(test_gather),
            cmocka_unit_test(test_scatter),
            cmocka_unit_test(test_allgather),
            cmocka_unit_test(test_reduce_scatter),
            cmocka_unit_test(test_alltoall),
            cmocka_unit_test(test_scan),
            cmocka_unit_test(test_exscan),
            cmocka_unit_test(test_vectors),
            cmocka_unit_test(test_smallest_pieces),
            cmocka_unit_test(test_long),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
