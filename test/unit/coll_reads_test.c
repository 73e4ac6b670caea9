/*
 * Collectives whose members read each other's memory (collectives/shared/reads.c):
 * that they send nothing, that what the device cannot read comes by messages, that
 * blocks of lengths of their own go so and need the caller's arrays no longer, and
 * that a death ends them while they wait and while they read.  What they compute
 * is checked for every algorithm in coll_algorithm_test, with threads in
 * coll_shared_test.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/coll.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    RANKS = 5,
    LONG_BYTES = 300001
};

static struct am_prng prng;
static const uint32_t all[] = {0, 1, 2, 3, 4};
static const am_coll_kind_t kinds[] = {
        AM_COLL_BCAST,          AM_COLL_REDUCE,   AM_COLL_ALLREDUCE,
        AM_COLL_REDUCE_SCATTER, AM_COLL_ALLTOALL, AM_COLL_ALLGATHER,
        AM_COLL_GATHER,         AM_COLL_SCATTER};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

static bool can_be_in_place(am_coll_kind_t kind)
{
    return kind == AM_COLL_REDUCE || kind == AM_COLL_ALLREDUCE ||
           kind == AM_COLL_ALLGATHER || kind == AM_COLL_GATHER;
}

/* A world whose groups read, and a first collective, after which they can. */
static void reads_open_of(struct world *world, struct trial_group *tg,
                          uint32_t size, const struct am_option *const *options)
{
    struct trial t = {.kind = AM_COLL_BARRIER};

    world_open(world, size, options);
    trial_group_open(tg, world, 1, all, size);
    trial(tg, &t, &prng);
    for (int i = 0; i < KINDS; i++) {
        trial_force(tg, kinds[i], "reads");
    }
}

static void reads_open(struct world *world, struct trial_group *tg,
                       const struct am_option *const *options)
{
    reads_open_of(world, tg, RANKS, options);
}

static uint64_t reads(struct world *world)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < RANKS; i++) {
        count += world_counter(world, i, "coll_reads");
    }
    return count;
}

/* Each kind, long and short, with each operator. */
static void each(struct trial_group *tg)
{
    for (int i = 0; i < 3 * KINDS; i++) {
        for (int j = 0; j < 2; j++) {
            struct trial t = {.kind = kinds[i % KINDS],
                              .count = j == 0 ? 3 : LONG_BYTES / 16,
                              .root = (uint32_t)i % RANKS,
                              .op = i / KINDS,
                              .in_place = can_be_in_place(kinds[i % KINDS]) &&
                                          am_prng_next(&prng) % 2 == 0,
                              .is_late = am_prng_next(&prng) % 2 == 0};

            trial(tg, &t, &prng);
        }
    }
}

/* Each block is read once, and no message goes unless somebody sleeps. */
static void test_silent(void **state)
{
    struct trial t = {.kind = AM_COLL_ALLGATHER, .count = LONG_BYTES};
    struct trial_group tg;
    struct world world;
    uint64_t data;

    (void)state;
    reads_open(&world, &tg, NULL);
    data = world_counter(&world, 1, "coll_tx_data") +
           world_counter(&world, 1, "coll_tx_put");
    trial(&tg, &t, &prng);
    assert_int_equal(reads(&world), RANKS * (RANKS - 1));
    assert_int_equal(world_counter(&world, 1, "coll_tx_data") +
                             world_counter(&world, 1, "coll_tx_put"),
                     data);
    each(&tg);
    trial_group_close(&tg);
    world_close(&world);
}

/* The system does not let any read, or some: what they miss comes by messages. */
static void test_by_messages(void **state)
{
    static const struct am_option no[] = {{"AM_SHM_CMA", "off"}, {NULL, NULL}};
    static const struct am_option *const options[][RANKS] = {
            {no, no, no, no, no}, {NULL, no, NULL, NULL, no}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct trial_group tg;
        struct world world;
        uint64_t before;

        reads_open(&world, &tg, options[i]);
        before = world_counter(&world, 1, "stream_bytes");
        each(&tg);
        assert_true(world_counter(&world, 1, "stream_bytes") > before);
        assert_true(reads(&world) > 0);
        trial_group_close(&tg);
        world_settle(&world);
        for (uint32_t j = 0; j < RANKS; j++) {
            assert_int_equal(world_counter(&world, j, "coll_rx_bad"), 0);
        }
        world_close(&world);
    }
}

/* Blocks of lengths of their own go so unless a variable says otherwise: short ones
 * out of the slots, long ones are read. */
static void test_vectors(void **state)
{
    static const am_coll_kind_t of_blocks[] = {
            AM_COLL_GATHER, AM_COLL_SCATTER, AM_COLL_ALLGATHER,
            AM_COLL_REDUCE_SCATTER, AM_COLL_ALLTOALL};
    struct trial_group tg;
    struct world world;
    uint64_t data;

    (void)state;
    reads_open(&world, &tg, NULL);
    data = world_counter(&world, 1, "coll_tx_data") +
           world_counter(&world, 1, "coll_tx_put");
    for (int i = 0; i < 10; i++) {
        struct trial t = {.kind = of_blocks[i % 5],
                          .count = i < 5 ? 300 : LONG_BYTES,
                          .root = 1,
                          .is_vector = true};
        uint64_t before = reads(&world);

        trial_force(&tg, t.kind, "auto");
        trial(&tg, &t, &prng);
        assert_int_equal(reads(&world) > before,
                         i >= 5 || t.kind == AM_COLL_REDUCE_SCATTER);
    }
    assert_int_equal(world_counter(&world, 1, "coll_tx_data") +
                             world_counter(&world, 1, "coll_tx_put"),
                     data);
    trial_group_close(&tg);
    world_close(&world);
}

/* The first call of a group waits for its numbers; the caller's arrays need not. */
static void test_arrays(void **state)
{
    char from[RANKS][RANKS] = {"", "abcde", "fghij", "klmno", "pqrst"};
    char to[RANKS][RANKS + 1] = {"", "", "", "", ""};
    struct world_done done[RANKS] = {{0}};
    struct trial_group tg;
    struct world world;

    (void)state;
    memcpy(from[0], "ABCDE", RANKS);
    world_open(&world, RANKS, NULL);
    trial_group_open(&tg, &world, 1, all, RANKS);
    for (uint32_t i = 0; i < RANKS; i++) {
        size_t counts[RANKS] = {1, 1, 1, 1, 1}, offsets[RANKS] = {4, 3, 2, 1};
        struct am_coll_call call = {.kind = AM_COLL_ALLTOALL,
                                    .send = from[i],
                                    .recv = to[i],
                                    .is_vector = true,
                                    .send_counts = counts,
                                    .recv_counts = counts,
                                    .send_offsets = offsets};

        assert_int_equal(
                am_coll_start(tg.group[i], &call, world_on_done, &done[i]),
                AM_OK);
        memset(counts, 0x7f, sizeof(counts));
        memset(offsets, 0x7f, sizeof(offsets));
    }
    world_settle(&world);
    for (uint32_t i = 0; i < RANKS; i++) {
        world_check_done(&done[i], AM_OK);
        for (uint32_t j = 0; j < RANKS; j++) {
            assert_int_equal(to[i][j], from[j][RANKS - 1 - i]);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* ------------------------------------------------------------------ deaths */

static void others_bury(struct world *world)
{
    for (uint32_t i = 0; i < RANKS - 1; i++) {
        am_status_t found;
        struct am_peer *dead = am_peer_get(world->ctx[i], RANKS - 1, &found);

        assert_non_null(dead);
        am_peer_dead(dead, "the test says so");
        (void)am_ctx_poll(world->ctx[i]); /* says so once */
    }
}

/* The last member does not come, or comes and dies while others read from it by
 * messages. */
static void test_death(void **state)
{
    static const struct am_option quiet[] = {
            {"AM_LOG", "none"}, {"AM_SHM_CMA", "off"}, {NULL, NULL}};
    static const struct am_option *const options[] = {quiet, quiet, quiet,
                                                      quiet, quiet};
    static char from[LONG_BYTES], to[RANKS][RANKS * LONG_BYTES];

    (void)state;
    for (uint32_t comes = 0; comes < 2; comes++) {
        struct world_done done[RANKS] = {{0}};
        struct trial_group tg;
        struct world world;

        reads_open(&world, &tg, options);
        for (uint32_t i = 0; i < RANKS - 1 + comes; i++) {
            struct am_coll_call call = {.kind = AM_COLL_ALLGATHER,
                                        .send = from,
                                        .recv = to[i],
                                        .count = LONG_BYTES};

            assert_int_equal(
                    am_coll_start(tg.group[i], &call, world_on_done, &done[i]),
                    AM_OK);
        }
        for (int polls = 0; polls < 3; polls++) {
            for (uint32_t i = 0; i < RANKS - 1; i++) {
                (void)am_ctx_poll(world.ctx[i]);
            }
        }
        others_bury(&world);
        world_settle(&world);
        for (uint32_t i = 0; i < RANKS - 1; i++) {
            world_check_done(&done[i], AM_ERR_PEER);
        }
        if (comes == 0) {
            trial_group_close(&tg);
        }
        world_close(&world); /* of a member that is in the middle of it, too */
    }
}

/* Two members that both reduce all find the same bits, also where operands do not
 * commute, as NaN and a number under MIN do not; in place, and longer than that way goes. */
static void test_pair(void **state)
{
    static const size_t counts[] = {1, 5000, (1 << 20) / sizeof(float),
                                    (1 << 20) / sizeof(float) + 4097};
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE};
    struct trial_group tg;
    struct world world;

    (void)state;
    assert_int_equal(am_coll_operator_get(AM_COLL_MIN, AM_COLL_FLOAT, &call.op),
                     AM_OK);
    reads_open_of(&world, &tg, 2, NULL);
    for (int i = 0; i < 8; i++) {
        size_t bytes = counts[i / 2] * sizeof(float);
        bool in_place = i % 2 == 0;
        struct world_done done[2];
        float *given[2], *result[2];

        call.count = counts[i / 2];
        for (uint32_t j = 0; j < 2; j++) {
            given[j] = malloc(bytes);
            result[j] = malloc(bytes);
            for (size_t k = 0; k < call.count; k++) {
                given[j][k] = k % 2 == j ? NAN : (float)(k + j);
            }
            memcpy(result[j], given[j], bytes);
            call.send = in_place ? NULL : given[j];
            call.recv = result[j];
            trial_group_start(&tg, j, &call, &done[j]);
        }
        world_settle(&world);
        world_check_done(&done[0], AM_OK);
        world_check_done(&done[1], AM_OK);
        assert_memory_equal(result[0], result[1], bytes);
        for (size_t k = 0; i < 6 && k < call.count; k++) {
            float a = given[0][k], b = given[1][k], least = a < b ? a : b;

            assert_memory_equal(&result[0][k], &least, sizeof(least));
        }
        for (uint32_t j = 0; j < 2; j++) {
            free(given[j]);
            free(result[j]);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* Where the blocks begin is written to a slot, which has room for some members. */
static void test_many_members(void **state)
{
    static const am_coll_kind_t blocks[] = {AM_COLL_ALLGATHER, AM_COLL_ALLTOALL,
                                            AM_COLL_GATHER, AM_COLL_SCATTER};
    struct am_coll_numbers numbers = {.shared = {.slot_bytes = 8192}};

    for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++) {
        struct am_coll_wish wish = {.kind = blocks[i],
                                    .size = 900,
                                    .bytes = 8,
                                    .unit = 1,
                                    .commutes = true};
        const struct am_coll_algorithm *algorithm =
                am_coll_algorithms[blocks[i]];

        while (strcmp(algorithm->name, "reads") != 0) {
            algorithm++;
        }
        assert_true(am_coll_is_fit(algorithm, &numbers, &wish));
        wish.size = 1100;
        assert_false(am_coll_is_fit(algorithm, &numbers, &wish));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_silent),  cmocka_unit_test(test_by_messages),
            cmocka_unit_test(test_vectors), cmocka_unit_test(test_arrays),
            cmocka_unit_test(test_pair),    cmocka_unit_test(test_many_members),
            cmocka_unit_test(test_death),
    };

    prng = test_prng("coll_reads_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
