/*
 * The choice where members share cores: by what a round of the ranks of a core takes
 * and how many they are, whatever the machine.  And that of two members with a core
 * each, where each of these was the fastest or within a tenth of it
 * (docs/performance.md, "Collectives of a node").
 */
#include "support/cm.h"

#include "collectives/sched/sched.h"
#include "collectives/select/select.h"
#include "dev/shm/shm.h"

#include <string.h>

#define US UINT64_C(1000000) /* ps */

static const struct am_coll_config config = {
        .algorithm = {"auto", "auto", "auto", "auto", "auto", "auto", "auto",
                      "auto", "auto", "auto", "auto"}};

/* Shared memory whose members go round in so long, so many to a core. */
static struct am_coll_numbers numbers_of(uint64_t round_ps, uint32_t share)
{
    return (struct am_coll_numbers){
            .perf = {.send_overhead = {15000, 18000},
                     .recv_overhead = {15000, 18000},
                     .wire = {55000, 0},
                     .gap_ps = 15000,
                     .own_byte_fs = 12000,
                     .step_ps = 100000,
                     .put = {1000000, 74000},
                     .get = {1000000, 66000},
                     .shared_core = share > 1,
                     .turn_ps = share > 1 ? 1100000 : 0,
                     .round_ps = round_ps,
                     .core_ranks = share},
            .caps = AM_DEV_CAP_GET | AM_DEV_CAP_PUT,
            .packet_bytes = 65488,
            .eager_max = 32768,
            .ready_bytes = SIZE_MAX,
            .shared = {.slot_bytes = AM_SHARED_SLOT_BYTES}};
}

static struct am_coll_plan plan_of(const struct am_coll_numbers *numbers,
                                   am_coll_kind_t kind, uint32_t size,
                                   size_t bytes)
{
    struct am_coll_wish wish = {.kind = kind,
                                .size = size,
                                .bytes = bytes,
                                .unit = 1,
                                .commutes = true};

    return am_coll_select(&config, numbers, &wish);
}

/* A reduction up a tree does not hold a whole of each child, however long it is. */
static void test_scratch(void **state)
{
    static const char *const names[] = {"flat", "binomial", "kary:4", "chain"};
    struct am_coll_config forced = config;
    struct am_coll_numbers numbers = numbers_of(4 * US, 8);
    struct am_coll_wish wish = {
            .kind = AM_COLL_ALLREDUCE, .size = 16, .unit = 8, .commutes = true};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        strcpy(forced.algorithm[AM_COLL_ALLREDUCE], names[i]);
        for (wish.bytes = 8; wish.bytes <= (size_t)1 << 30; wish.bytes *= 2) {
            struct am_coll_plan plan = am_coll_select(&forced, &numbers, &wish);
            size_t piece = plan.chunk_bytes < wish.bytes ? plan.chunk_bytes
                                                         : wish.bytes;
            size_t children = am_tree_child_count(
                    plan.shape, (struct am_tree_span){0, wish.size});

            assert_true(piece == wish.bytes || piece % 4096 == 0);
            assert_true(piece * (1 + children) <= (size_t)3 << 20);
            assert_true(wish.bytes > 65536 || piece == wish.bytes);
        }
    }
    strcpy(forced.algorithm[AM_COLL_ALLREDUCE], "flat/1m"); /* as it is told */
    assert_int_equal(am_coll_select(&forced, &numbers, &wish).chunk_bytes,
                     1 << 20);
}

/* Calls that are alike find the scratch memory of the one before, as one block. */
static void test_kept(void **state)
{
    struct am_sched sched = {0};
    char *few, *many, *before = NULL;

    for (int i = 0; i < 4; i++) {
        few = am_sched_scratch(&sched, 64);
        many = am_sched_scratch(&sched, (size_t)1 << 20);
        assert_true(am_sched_is_good(&sched));
        assert_true(i == 0 || many == few + 64);
        assert_true(i < 2 || few == before);
        before = few;
        am_sched_reset(&sched);
    }
    am_sched_fini(&sched);
}

static void assert_plan(const struct am_coll_numbers *numbers,
                        am_coll_kind_t kind, uint32_t size, size_t bytes,
                        const char *name)
{
    struct am_coll_plan plan = plan_of(numbers, kind, size, bytes);

    assert_string_equal(plan.algorithm->name, name);
}

/* A round costs more than to copy some 100 KiB: what has fewest waits is chosen. */
static void test_long_round(void **state)
{
    (void)state;
    for (uint32_t share = 2; share <= 4; share *= 2) {
        struct am_coll_numbers n = numbers_of((share - 1) * 12 * US, share);
        uint32_t size = 2 * share;

        assert_plan(&n, AM_COLL_BARRIER, size, 0, "shared");
        assert_plan(&n, AM_COLL_BCAST, size, 8, "shared");
        assert_plan(&n, AM_COLL_BCAST, size, 65536, "shared"); /* two turns */
        n.shared.slot_bytes = 0;
        assert_true(plan_of(&n, AM_COLL_BCAST, size, 65536).chunk_bytes ==
                    n.eager_max); /* pieces that wait for nobody */
        n.shared.slot_bytes = AM_SHARED_SLOT_BYTES;
        assert_plan(&n, AM_COLL_SCATTER, size, 65536, "reads");
        assert_plan(&n, AM_COLL_REDUCE, size, 8, "shared");
        assert_plan(&n, AM_COLL_ALLREDUCE, size, 8192, "shared");
        assert_plan(&n, AM_COLL_ALLREDUCE, size, 8, "shared");
        for (size_t bytes = 32768; bytes <= 262144; bytes *= 2) {
            struct am_coll_plan plan = plan_of(&n, AM_COLL_REDUCE, size, bytes);

            assert_int_equal(am_tree_depth(plan.shape, size), 1); /* one wait */
            assert_null(plan.algorithm->way);
            plan = plan_of(&n, AM_COLL_ALLREDUCE, size, bytes);
            assert_null(plan.algorithm->way);
        }
    }
}

/* Each piece would be a wait more, but for those that go at once. */
static void test_pieces(void **state)
{
    static const am_coll_kind_t kinds[] = {AM_COLL_BCAST, AM_COLL_REDUCE,
                                           AM_COLL_ALLREDUCE,
                                           AM_COLL_REDUCE_SCATTER};
    struct am_coll_numbers n = numbers_of(12 * US, 2), none = n;

    (void)state;
    none.eager_max = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (size_t bytes = 1; bytes <= (size_t)1 << 20; bytes *= 2) {
            size_t chunk = plan_of(&n, kinds[i], 4, bytes).chunk_bytes;

            assert_true(chunk == SIZE_MAX || chunk <= n.eager_max);
            assert_true(plan_of(&none, kinds[i], 4, bytes).chunk_bytes ==
                        SIZE_MAX);
        }
    }
}

/* Where pages are dear long blocks go round, through few lanes. */
static void test_pages(void **state)
{
    struct am_coll_numbers made = numbers_of(7 * US, 8), dear = made;

    (void)state;
    dear.ready_bytes = 8192;
    for (size_t bytes = 16384; bytes <= 65536; bytes *= 2) {
        assert_plan(&made, AM_COLL_REDUCE_SCATTER, 16, bytes, "direct");
        assert_plan(&dear, AM_COLL_REDUCE_SCATTER, 16, bytes,
                    bytes > dear.eager_max ? "ring" : "direct");
    }
}

/* What no core's cache holds, and lanes do not: the root of a broadcast would copy it to
 * each itself, so it is read; what all give to all the senders put, in parallel. */
static void test_long(void **state)
{
    struct am_coll_numbers n = numbers_of(13 * US, 4), pair = numbers_of(0, 1);
    const size_t mib = (size_t)1 << 20;
    struct am_coll_plan plan;

    (void)state;
    n.perf.get.per_byte_fs = 125000;
    n.perf.put.per_byte_fs = 140000;
    n.perf.cache_bytes = mib / 2;
    n.lane_bytes = mib / 4;
    n.ready_bytes = 8192;
    for (uint32_t size = 8; size <= 16; size *= 2) {
        n.perf.core_ranks = size / 2;
        for (size_t bytes = mib; bytes <= 4 * mib; bytes *= 2) {
            assert_plan(&n, AM_COLL_BCAST, size, bytes, "reads");
            assert_plan(&n, AM_COLL_ALLTOALL, size, bytes, "staggered");
        }
        n.shared.slot_bytes = 0;
        plan = plan_of(&n, AM_COLL_BCAST, size, n.lane_bytes / 4);
        n.shared.slot_bytes = AM_SHARED_SLOT_BYTES;
        assert_true(plan.chunk_bytes == n.eager_max); /* what lanes hold */
    }
    pair.lane_bytes = n.lane_bytes; /* where nobody waits for a core */
    assert_plan(&pair, AM_COLL_ALLTOALL, 2, mib, "staggered");
}

/* Slots for short ones; messages for those whose every turn would wait. */
static void test_pair(void **state)
{
    struct am_coll_numbers n = numbers_of(0, 1);

    (void)state;
    for (size_t bytes = 8; bytes <= 8192; bytes *= 4) {
        assert_plan(&n, AM_COLL_ALLREDUCE, 2, bytes, "shared");
        assert_plan(&n, AM_COLL_REDUCE_SCATTER, 2, bytes, "shared");
        assert_plan(&n, AM_COLL_ALLTOALL, 2, bytes, "shared");
        assert_plan(&n, AM_COLL_ALLGATHER, 2, bytes, "shared");
        assert_plan(&n, AM_COLL_REDUCE, 2, 4 * bytes, "shared");
        assert_plan(&n, AM_COLL_BCAST, 2, 32 * bytes, "shared");
    }
    for (size_t bytes = 32768; bytes <= (size_t)4 << 20; bytes *= 2) {
        assert_plan(&n, AM_COLL_ALLREDUCE, 2, bytes, "ring");
        assert_plan(&n, AM_COLL_REDUCE_SCATTER, 2, bytes, "ring");
        assert_null(plan_of(&n, AM_COLL_ALLTOALL, 2, bytes).algorithm->way);
        assert_null(plan_of(&n, AM_COLL_ALLGATHER, 2, bytes).algorithm->way);
        assert_null(plan_of(&n, AM_COLL_REDUCE, 2, 2 * bytes).algorithm->way);
    }
}

/* A copy of what is in the core's own cache costs as any other where nothing is known
 * of it, and no more where it is. */
static void test_own(void **state)
{
    struct am_coll_numbers n = numbers_of(0, 1), unknown = n;

    (void)state;
    unknown.perf.own_byte_fs = 0;
    assert_int_equal(am_cost_own_ps(&unknown.perf, 1000),
                     am_cost_copy_ps(&unknown.perf, 1000));
    assert_int_equal(am_cost_own_ps(&n.perf, 1000), 12000);
}

/* The same bytes and waits cost more with more ranks to a core, and with longer
 * rounds; without a measured round the built-in turn counts. */
static void test_costs(void **state)
{
    struct am_coll_numbers two = numbers_of(12 * US, 2);
    struct am_coll_numbers slow = numbers_of(24 * US, 2);
    struct am_coll_numbers four = numbers_of(12 * US, 4);
    struct am_coll_numbers unknown = numbers_of(0, 3);

    (void)state;
    assert_int_equal(am_coll_round_ps(&two), 12 * US);
    assert_int_equal(am_coll_round_ps(&unknown), 2 * 1100000);
    for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
        struct am_coll_wish wish = {.kind = (am_coll_kind_t)kind,
                                    .size = 8,
                                    .bytes = 65536,
                                    .unit = 1,
                                    .commutes = true};
        const struct am_coll_algorithm *a = am_coll_algorithms[kind];

        for (; a->name != NULL; a++) {
            struct am_coll_plan plan = {
                    .algorithm = a, .shape = a->shape, .chunk_bytes = SIZE_MAX};
            uint64_t ps;

            if (!am_coll_is_fit(a, &two, &wish)) {
                continue;
            }
            ps = am_coll_plan_ps(&two, &wish, &plan);
            assert_true(am_coll_plan_ps(&slow, &wish, &plan) >= ps);
            assert_true(am_coll_plan_ps(&four, &wish, &plan) >= ps);
        }
    }
}

/* Where no device reads, nothing is read, however long it is. */
static void test_no_reads(void **state)
{
    (void)state;
    for (uint32_t share = 1; share <= 4; share *= 2) {
        struct am_coll_numbers n = numbers_of(share > 1 ? 12 * US : 0, share);

        n.caps = 0;
        for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
            for (size_t bytes = 1; bytes <= (size_t)1 << 24; bytes *= 2) {
                struct am_coll_plan plan =
                        plan_of(&n, (am_coll_kind_t)kind, 4, bytes);

                assert_string_not_equal(plan.algorithm->name, "reads");
            }
        }
    }
}

/* Numbers that no member has still have costs. */
static void test_absurd(void **state)
{
    struct am_coll_numbers n = numbers_of(12 * US, UINT32_MAX);

    (void)state;
    n.perf.cache_bytes = UINT64_MAX;
    for (int kind = 0; kind < AM_COLL_KINDS; kind++) {
        assert_non_null(plan_of(&n, (am_coll_kind_t)kind, 2, 65536).algorithm);
    }
}

/* Of yields, those in which the others had work do not count. */
static void test_round(void **state)
{
    uint64_t yields[SHM_YIELDS_TIMED];

    (void)state;
    for (uint32_t i = 0; i < SHM_YIELDS_TIMED; i++) {
        yields[i] = (i % 2 == 0 ? 12 : 400) * US + i;
    }
    assert_in_range(shm_round_of(yields, SHM_YIELDS_TIMED), 12 * US,
                    12 * US + SHM_YIELDS_TIMED);
    yields[0] = 7;
    assert_int_equal(shm_round_of(yields, 1), 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_long_round), cmocka_unit_test(test_pieces),
            cmocka_unit_test(test_pair),       cmocka_unit_test(test_own),
            cmocka_unit_test(test_costs),      cmocka_unit_test(test_round),
            cmocka_unit_test(test_scratch),    cmocka_unit_test(test_kept),
            cmocka_unit_test(test_pages),      cmocka_unit_test(test_long),
            cmocka_unit_test(test_no_reads),   cmocka_unit_test(test_absurd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
