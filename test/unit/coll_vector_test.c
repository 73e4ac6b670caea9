/*
 * What members give and get: in place where that cannot be, blocks of lengths of their
 * own, of which some are empty.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

static struct am_prng prng;
static const uint32_t all[] = {0, 1, 2};
static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
static const struct am_option *const all_quiet[] = {quiet, quiet, quiet};

/* A call that would be done at once, but for being in place where that cannot be. */
static void test_in_place(void **state)
{
    static const am_coll_kind_t kinds[] = {AM_COLL_ALLTOALL,
                                           AM_COLL_REDUCE_SCATTER};
    int64_t values[2] = {1, 2};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct trial t = {.kind = kinds[i], .count = 1, .op = TRIAL_SUM};
        struct am_coll_call call = {
                .kind = kinds[i], .recv = values, .count = 1};
        struct trial_group tg;
        struct world world;

        assert_int_equal(
                am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &call.op),
                AM_OK);
        trial_shared_open(&world, &tg, 2, &t, &prng);
        assert_int_equal(am_coll_start(tg.group[0], &call, world_on_done, NULL),
                         AM_ERR_INVALID);
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* In a vector all-to-all a member that gives nothing needs no memory for it. */
static void test_gives_nothing(void **state)
{
    static const size_t nothing[] = {0, 0}, gets[] = {0, 3}, given[] = {3, 2},
                        back[] = {0, 2};
    const char data[] = "abcde";
    char got[2][6] = {"", ""};
    const struct am_coll_call calls[] = {{.kind = AM_COLL_ALLTOALL,
                                          .recv = got[0],
                                          .is_vector = true,
                                          .send_counts = nothing,
                                          .recv_counts = gets},
                                         {.kind = AM_COLL_ALLTOALL,
                                          .send = data,
                                          .recv = got[1],
                                          .is_vector = true,
                                          .send_counts = given,
                                          .recv_counts = back}};
    struct trial t = {.kind = AM_COLL_ALLTOALL, .count = 1};
    struct world_done done[2];
    struct trial_group tg;
    struct world world;

    (void)state;
    trial_shared_open(&world, &tg, 2, &t, &prng);
    trial_force(&tg, AM_COLL_ALLTOALL, "auto");
    for (uint32_t i = 0; i < 2; i++) {
        trial_group_start(&tg, i, &calls[i], &done[i]);
    }
    world_settle(&world);
    world_check_done(&done[0], AM_OK);
    world_check_done(&done[1], AM_OK);
    assert_string_equal(got[0], "abc");
    assert_string_equal(got[1], "de");
    trial_group_close(&tg);
    world_close(&world);
}

/* The same in a reduce-scatter, where nobody gives or gets anything. */
static void test_reduces_nothing(void **state)
{
    static const size_t nothing[] = {0, 0};
    struct am_coll_call call = {.kind = AM_COLL_REDUCE_SCATTER,
                                .is_vector = true,
                                .recv_counts = nothing};
    struct trial t = {.kind = AM_COLL_REDUCE_SCATTER, .count = 1};

    (void)state;
    assert_int_equal(am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &call.op),
                     AM_OK);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"auto", "direct", "ring"};
        struct world_done done[2];
        struct trial_group tg;
        struct world world;

        trial_shared_open(&world, &tg, 2, &t, &prng);
        trial_force(&tg, AM_COLL_REDUCE_SCATTER, names[i]);
        for (uint32_t j = 0; j < 2; j++) {
            trial_group_start(&tg, j, &call, &done[j]);
        }
        world_settle(&world);
        world_check_done(&done[0], AM_OK);
        world_check_done(&done[1], AM_OK);
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* A member's own block is as long where it is given as where it goes: nobody else would
 * find out that it is not. */
static void test_own_block(void **state)
{
    static const size_t two[] = {2, 2}, three[] = {3, 3};
    char given[8] = "abcdef", got[8] = "";
    struct am_coll_call calls[] = {
            {.kind = AM_COLL_GATHER, .recv_counts = three, .count = 2},
            {.kind = AM_COLL_SCATTER, .send_counts = three, .count = 2},
            {.kind = AM_COLL_ALLTOALL,
             .send_counts = two,
             .recv_counts = three}};
    struct trial_group tg;
    struct world world;

    (void)state;
    world_open(&world, 2, all_quiet);
    trial_group_open(&tg, &world, 1, all, 2);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        calls[i].is_vector = true;
        calls[i].send = given;
        calls[i].recv = got;
        assert_int_equal(
                am_coll_start(tg.group[0], &calls[i], world_on_done, NULL),
                AM_ERR_INVALID);
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* A block that is longer than its receiver expects ends the collective, by whatever way
 * it goes. */
static void test_longer(void **state)
{
    static const am_coll_kind_t kinds[] = {AM_COLL_GATHER, AM_COLL_ALLGATHER};
    static const char *const names[] = {"direct", "reads", "reads"};
    static char given[20000], got[2][40000];

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        size_t longer = i / 2 == 2 ? sizeof(given) : 5;
        size_t right[2] = {3, longer}, wrong[2] = {3, longer - 1};
        struct trial t = {.kind = AM_COLL_BCAST, .count = 1};
        struct world_done done[2];
        struct trial_group tg;
        struct world world;

        trial_shared_open(&world, &tg, 2, &t, &prng);
        trial_force(&tg, kinds[i % 2], names[i / 2]);
        for (uint32_t j = 0; j < 2; j++) {
            struct am_coll_call call = {.kind = kinds[i % 2],
                                        .send = given,
                                        .recv = got[j],
                                        .count = right[j],
                                        .is_vector = true,
                                        .recv_counts = j == 0 ? wrong : right};

            trial_group_start(&tg, j, &call, &done[j]);
        }
        world_settle(&world);
        world_check_done(&done[0], AM_ERR_TRUNCATE);
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_in_place),
            cmocka_unit_test(test_gives_nothing),
            cmocka_unit_test(test_reduces_nothing),
            cmocka_unit_test(test_own_block),
            cmocka_unit_test(test_longer),
    };

    prng = test_prng("coll_vector_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
