/*
 * Collectives beside each other: several at once on groups that overlap, members
 * far ahead of others, groups that are opened late, lost packets.  Seeded.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/coll.h"

#include <string.h>

enum {
    RANKS = 6,
    AHEAD = 300, /* collectives: more than the window */
    POLLS_MAX = 3000000
};

static struct am_prng prng;

static uint64_t draw(uint64_t below)
{
    return am_prng_next(&prng) % below;
}

static const uint32_t all[] = {0, 1, 2, 3, 4, 5};

/* Random collectives on three groups, up to 12 under way; every member starts
 * those of a group in the same order. */
static void many(struct world *world, int total)
{
    static const uint32_t even[] = {4, 0, 2}, some[] = {5, 4, 1, 0};
    struct trial_group groups[3];
    struct trial_run *runs[12] = {NULL};

    trial_group_open(&groups[0], world, 1, all, RANKS);
    trial_group_open(&groups[1], world, 2, even, 3);
    trial_group_open(&groups[2], world, 3, some, 4);
    for (int i = 0; i < total + 12; i++) {
        struct trial_run **run = &runs[i % 12];
        struct trial_group *tg = &groups[draw(3)];
        am_coll_kind_t kind = (am_coll_kind_t)draw(AM_COLL_KINDS);
        struct trial t = {.kind = kind,
                          .count = draw(4) == 0 ? draw(30000) : draw(300),
                          .root = (uint32_t)draw(tg->size),
                          .op = (int)draw(TRIAL_OPS),
                          .is_late = draw(2) == 0};

        for (int j = 0; *run != NULL && !trial_is_done(*run); j++) {
            assert_true(j < POLLS_MAX);
            world_polls(world, 1);
        }
        if (*run != NULL) {
            trial_check(*run);
        }
        *run = i < total ? trial_start(tg, &t, &prng) : NULL;
    }
    for (int i = 0; i < 3; i++) {
        trial_group_close(&groups[i]);
    }
}

static void no_bad(struct world *world)
{
    world_settle(world);
    for (uint32_t i = 0; i < world->size; i++) {
        assert_int_equal(world_counter(world, i, "coll_rx_bad"), 0);
        assert_int_equal(world_counter(world, i, "coll_rx_bad_credit"), 0);
        assert_int_equal(world_counter(world, i, "coll_held_now"), 0);
    }
}

static void test_many(void **state)
{
    struct world world;

    (void)state;
    world_open(&world, RANKS, NULL);
    many(&world, 600);
    no_bad(&world);
    world_close(&world);
}

/* The smallest window, with messages that nearly all are put, and the largest of
 * both. */
static void test_extremes(void **state)
{
    static const struct am_option list[] = {
            {"AM_COLL_WINDOW", "1"}, {"AM_COLL_EAGER_MAX", "16"}, {NULL, NULL}};
    static const struct am_option none[] = {
            {"AM_COLL_WINDOW", "0"}, {"AM_COLL_EAGER_MAX", "0"}, {NULL, NULL}};
    static const struct am_option most[] = {{"AM_COLL_WINDOW", "max"},
                                            {"AM_COLL_EAGER_MAX", "max"},
                                            {NULL, NULL}};
    static const struct am_option *const lists[] = {list, none, most};
    struct world world;

    (void)state;
    for (int i = 0; i < 3; i++) {
        const struct am_option *o = lists[i];
        const struct am_option *options[] = {o, o, o, o, o, o};

        world_open(&world, RANKS, options);
        many(&world, 150);
        no_bad(&world);
        world_close(&world);
    }
}

/* Packets are lost, doubled and swapped below: the channel mends it. */
static void test_lossy(void **state)
{
    static const struct am_option list[] = {
            {"AM_FAULT", "drop=1/50,dup=1/50,reorder=1/20,seed=5"},
            {NULL, NULL}};
    const struct am_option *options[] = {list, list, list, list, list, list};
    struct world world;

    (void)state;
    world_open(&world, RANKS, options);
    many(&world, 150);
    no_bad(&world);
    world_close(&world);
}

/* --------------------------------------------------------------- far ahead */

static void count_done(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(uint32_t *)arg;
}

static void start_bcast(struct am_coll_group *group, void *buffer, size_t bytes,
                        uint32_t root, uint32_t *done)
{
    struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                .root = root,
                                .recv = buffer,
                                .count = bytes};
    am_status_t status = am_coll_start(group, &call, count_done, done);

    if (status == AM_DONE) {
        count_done(done, AM_OK);
    } else {
        assert_int_equal(status, AM_OK);
    }
}

static void group_open(struct world *world, uint32_t rank,
                       struct am_coll_group **group_p)
{
    assert_int_equal(am_coll_group_open(world->ctx[rank], 9, NULL, 0, group_p),
                     AM_OK);
}

/* The root starts many broadcasts before the others do: what waits at a receiver
 * is bounded, the rest waits at the root, nothing is lost.  When the others have
 * not even opened the group (`met` is false), it all waits at the root, as the
 * members of a group first tell each other where they are. */
static void ahead(bool met)
{
    static unsigned char first[RANKS][32], from[AHEAD][32],
            to[RANKS][AHEAD][32];
    struct am_coll_group *group[RANKS];
    uint32_t done[RANKS] = {0}, once[RANKS] = {0};
    static const struct am_option list[] = {{"AM_COLL_SHARED", "no"},
                                            {NULL, NULL}};
    const struct am_option *options[] = {list, list, list, list, list, list};
    struct world world;

    world_open(&world, RANKS, options);
    memset(to, 0, sizeof(to));
    for (uint32_t i = 0; i < (met ? RANKS : 1); i++) {
        group_open(&world, i, &group[i]);
    }
    for (uint32_t i = 0; met && i < RANKS; i++) {
        start_bcast(group[i], first[i], sizeof(first[i]), 0, &once[i]);
    }
    world_settle(&world);
    for (uint32_t i = 0; i < AHEAD; i++) {
        memset(from[i], (int)i + 1, sizeof(from[i]));
        start_bcast(group[0], from[i], sizeof(from[i]), 0, &done[0]);
        world_polls(&world, 1);
    }
    world_settle(&world);
    assert_true(done[0] < AHEAD);
    assert_int_equal(world_counter(&world, 0, "coll_tx_no_credit") > 0, met);
    assert_true(am_coll_group_close(group[0]) == AM_ERR_AGAIN);
    for (uint32_t i = 1; i < RANKS; i++) {
        if (!met) {
            group_open(&world, i, &group[i]);
        }
        for (uint32_t j = 0; j < AHEAD; j++) {
            start_bcast(group[i], to[i][j], sizeof(to[i][j]), 0, &done[i]);
            world_polls(&world, (int)draw(2));
        }
    }
    world_settle(&world);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(done[i], AHEAD);
        assert_int_equal(once[i], met);
        assert_true(i == 0 || memcmp(to[i], from, sizeof(from)) == 0);
        assert_int_equal(am_coll_group_close(group[i]), AM_OK);
    }
    no_bad(&world);
    world_close(&world);
}

static void test_ahead(void **state)
{
    (void)state;
    ahead(true);
    ahead(false);
}

static int setup(void **state)
{
    (void)state;
    prng = test_prng("coll_flow_test");
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_many),
            cmocka_unit_test(test_extremes),
            cmocka_unit_test(test_lossy),
            cmocka_unit_test(test_ahead),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
