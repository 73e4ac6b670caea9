/*
 * Collectives of one turn that are done in the call that starts them
 * (collectives/shared/once.c): that they are, what they compute, that a call which
 * does not find all others there goes on as any other, and members that call
 * differently.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "collectives/coll.h"
#include "collectives/shared/layout.h"

enum {
    RANKS = 6,
    POLLS = 8000, /* more than a member looks before it sleeps, all together */
    AHEAD = 12,   /* broadcasts: more than the group's memory holds */
    CALLS = 60,
    POLLED = 100 /* calls in which the context is polled at least once */
};

static struct am_prng prng;
static const uint32_t all[] = {0, 1, 2, 3, 4, 5};
static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
static const struct am_option *const all_quiet[] = {quiet, quiet, quiet};

static const am_coll_kind_t kinds[] = {
        AM_COLL_BARRIER,   AM_COLL_BCAST,          AM_COLL_REDUCE,
        AM_COLL_ALLREDUCE, AM_COLL_REDUCE_SCATTER, AM_COLL_ALLTOALL,
        AM_COLL_ALLGATHER};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

/* A group of members that have met, and pass data through its memory. */
static void shared_open(struct world *world, struct trial_group *tg,
                        uint32_t size, const struct am_option *const *options)
{
    struct trial t = {.kind = AM_COLL_BARRIER};

    world_open(world, size, options);
    trial_group_open(tg, world, 1, all, size);
    trial(tg, &t, &prng);
    for (int i = 0; i < KINDS; i++) {
        trial_force(tg, kinds[i], "shared");
    }
}

static uint64_t at_once(struct world *world, uint32_t size)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < size; i++) {
        count += world_counter(world, i, "coll_at_once");
    }
    return count;
}

/* The same call again and again: who comes last at least finds all others there. */
static void check_again(struct world *world, struct trial_group *tg,
                        struct trial *t)
{
    uint64_t before = at_once(world, tg->size);

    for (int i = 0; i < 6; i++) {
        t->root = (uint32_t)am_prng_next(&prng) % tg->size;
        t->is_late = am_prng_next(&prng) % 2 == 0;
        t->in_place =
                (t->kind == AM_COLL_ALLREDUCE || t->kind == AM_COLL_REDUCE ||
                 t->kind == AM_COLL_ALLGATHER) &&
                am_prng_next(&prng) % 2 == 0;
        trial(tg, t, &prng);
    }
    assert_true(at_once(world, tg->size) > before);
}

static void test_values(void **state)
{
    static const size_t counts[] = {0, 1, 3, 17, 130, 1000};

    (void)state;
    for (uint32_t size = 2; size <= RANKS; size += size < 4 ? 1 : 2) {
        struct trial_group tg;
        struct world world;

        shared_open(&world, &tg, size, NULL);
        for (int i = 0; i < KINDS; i++) {
            for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++) {
                struct trial t = {.kind = kinds[i],
                                  .count = counts[j] / size,
                                  .op = (int)j % TRIAL_OPS};

                check_again(&world, &tg, &t);
            }
        }
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* Who comes first is queued, with its turn begun, and is done in a poll; nobody
 * counts twice. */
static void test_first_and_last(void **state)
{
    static const struct am_coll_call call = {.kind = AM_COLL_BARRIER};
    struct trial t = {.kind = AM_COLL_BARRIER};
    struct world_done first, last;
    struct trial_group tg;
    struct world world;

    (void)state;
    shared_open(&world, &tg, 2, NULL);
    trial(&tg, &t, &prng);
    for (uint32_t i = 0; i < 2 * AHEAD; i++) {
        uint32_t member = i % 2;
        uint64_t once[2], shared[2];

        for (uint32_t j = 0; j < 2; j++) {
            once[j] = world_counter(&world, j, "coll_at_once");
            shared[j] = world_counter(&world, j, "coll_shared");
        }
        trial_group_start(&tg, member, &call, &first);
        assert_int_equal(first.count, 0);
        trial_group_start(&tg, 1 - member, &call, &last);
        world_check_done(&last, AM_OK);
        world_wait_done(&world, &first);
        assert_int_equal(world_counter(&world, member, "coll_at_once"),
                         once[member]);
        assert_int_equal(world_counter(&world, 1 - member, "coll_at_once"),
                         once[1 - member] + 1);
        for (uint32_t j = 0; j < 2; j++) {
            assert_int_equal(world_counter(&world, j, "coll_shared"),
                             shared[j] + 1);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* A root that is ahead of the others fills the group's memory, and goes on when they
 * have taken what is there. */
static void test_ahead(void **state)
{
    static int64_t value[2][AHEAD];
    struct trial t = {.kind = AM_COLL_BCAST, .count = sizeof(int64_t)};
    struct world_done done[2][AHEAD];
    struct trial_group tg;
    struct world world;
    int ended = 0;

    (void)state;
    shared_open(&world, &tg, 2, NULL);
    trial(&tg, &t, &prng);
    for (uint32_t member = 0; member < 2; member++) {
        for (int i = 0; i < AHEAD; i++) {
            struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                        .recv = &value[member][i],
                                        .count = sizeof(int64_t)};

            value[member][i] = member == 0 ? 1000 + i : -1;
            trial_group_start(&tg, member, &call, &done[member][i]);
            ended += member == 0 && done[0][i].count > 0;
        }
    }
    assert_in_range(ended, 1, AM_SHARED_DEPTH);
    world_settle(&world);
    for (int i = 0; i < AHEAD; i++) {
        world_check_done(&done[0][i], AM_OK);
        world_check_done(&done[1][i], AM_OK);
        assert_int_equal(value[1][i], 1000 + i);
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* A barrier that a member leads: all others pass as soon as it has, and it when all have
 * come; in each order of two members, and of three. */
static void test_led(void **state)
{
    struct trial meet = {.kind = AM_COLL_BARRIER};
    struct trial given = {.kind = AM_COLL_BCAST, .count = 8};

    (void)state;
    for (uint32_t size = 2; size <= 3; size++) {
        struct trial_group tg;
        struct world world;
        uint64_t before;

        shared_open(&world, &tg, size, NULL);
        before = at_once(&world, size);
        for (uint32_t i = 0; i < CALLS; i++) {
            given.root = i / 8 % size;
            meet.is_late = i % 2 == 0;
            trial(&tg, &given, &prng);
            trial(&tg, &meet, &prng); /* led by who gave the last but one */
        }
        assert_true(at_once(&world, size) > before + CALLS / 4);
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* Two members call as before, one of them something else: it ends at all. */
static void test_disagreement(void **state)
{
    static char bytes[3][64];
    static const struct am_coll_call calls[] = {
            {.kind = AM_COLL_ALLGATHER, .send = bytes[0], .count = 8},
            {.kind = AM_COLL_BARRIER}};
    struct trial met = {.kind = AM_COLL_BARRIER};
    struct trial gather = {.kind = AM_COLL_ALLGATHER, .count = 8};

    (void)state;
    for (uint32_t odd = 0; odd < 2; odd++) {
        struct world_done done[2];
        struct trial_group tg;
        struct world world;

        shared_open(&world, &tg, 2, all_quiet);
        trial(&tg, &met, &prng);
        trial(&tg, &gather, &prng);
        for (uint32_t member = 0; member < 2; member++) {
            struct am_coll_call call = calls[member == odd];

            call.recv = bytes[1 + member];
            trial_group_start(&tg, member, &call, &done[member]);
        }
        for (int j = 0; j < POLLS; j++) {
            world_poll(&world);
        }
        world_check_done(&done[0], AM_ERR_INVALID);
        world_check_done(&done[1], AM_ERR_INVALID);
        trial_group_close(&tg);
        world_close(&world);
    }
}

static void on_request(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    int *count = am_token_arg(token);

    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    (*count)++;
}

static void request(struct world *world, uint32_t from, uint32_t to)
{
    while (am_ctx_try_request(world->ctx[from], to, AM_HANDLER_USER, NULL, 0,
                              NULL, 0) == AM_ERR_AGAIN) {
        world_poll(world);
    }
}

/* A caller whose collectives are all done at once gets the requests of others all the
 * same. */
static void test_polls(void **state)
{
    /* nor are numbers told again, which waits for a poll */
    static const struct am_option list[] = {{"AM_LEARN", "no"}, {NULL, NULL}};
    static const struct am_option *const options[] = {list, list};
    struct trial t = {.kind = AM_COLL_BCAST, .count = 1};
    char byte[2];
    struct am_coll_call call = {
            .kind = AM_COLL_BCAST, .recv = &byte[1], .count = 1};
    struct trial_group tg;
    struct world world;
    uint64_t before;
    int count = 0;

    (void)state;
    shared_open(&world, &tg, 2, options);
    trial(&tg, &t, &prng);
    assert_int_equal(am_handler_register(world.ctx[0], AM_HANDLER_USER,
                                         on_request, &count, "request"),
                     AM_OK);
    request(&world, 1, 0); /* connects the two */
    world_settle(&world);
    request(&world, 1, 0);
    assert_int_equal(count, 1);
    before = at_once(&world, 2);
    for (int i = 0; i < POLLED; i++) {
        struct world_done done;

        byte[0] = (char)i;
        assert_int_equal(am_coll_bcast(tg.group[0], &byte[0], 1, 0), AM_OK);
        trial_group_start(&tg, 1, &call, &done);
        world_check_done(&done, AM_OK);
        assert_int_equal(byte[1], byte[0]);
    }
    assert_true(at_once(&world, 2) >= before + 2 * (POLLED - 1));
    assert_int_equal(count, 2);
    trial_group_close(&tg);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_values),
            cmocka_unit_test(test_first_and_last),
            cmocka_unit_test(test_ahead),
            cmocka_unit_test(test_led),
            cmocka_unit_test(test_polls),
            cmocka_unit_test(test_disagreement),
    };

    prng = test_prng("coll_once_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
