/*
 * Collectives of two levels (collectives/algo/nodes.c): members on several nodes, as
 * AM_COLL_NODE_RANKS makes believe.  Each kind against a serial reference, with
 * nodes of different numbers of members, in the order of members and not, in pieces
 * of any length; many at a time beside others; deaths; calls that do not agree;
 * closing with some under way.  Seeded.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/coll.h"

#include <stdio.h>
#include <string.h>

enum {
    RANKS = 8,
    POLLS_MAX = 3000000,
    SETTLE = 5000
};

static struct am_prng prng;

static const am_coll_kind_t kinds[] = {AM_COLL_BARRIER, AM_COLL_BCAST,
                                       AM_COLL_REDUCE, AM_COLL_ALLREDUCE,
                                       AM_COLL_ALLGATHER};

enum {
    KINDS = sizeof(kinds) / sizeof(kinds[0])
};

static uint64_t draw(uint64_t below)
{
    return am_prng_next(&prng) % below;
}

/* A node has `node_ranks` of the ranks. */
static void world_of(struct world *world, const char *node_ranks,
                     const char *shared)
{
    struct am_option list[] = {{"AM_COLL_NODE_RANKS", node_ranks},
                               {"AM_COLL_SHARED", shared},
                               {"AM_LOG", "none"},
                               {NULL, NULL}};
    const struct am_option *options[RANKS];

    for (int i = 0; i < RANKS; i++) {
        options[i] = list;
    }
    world_open(world, RANKS, options);
}

/* The first `size` ranks, in order or not. */
static void group_of(struct trial_group *tg, struct world *world, uint32_t id,
                     uint32_t size, bool is_mixed)
{
    uint32_t ranks[RANKS];

    for (uint32_t i = 0; i < size; i++) {
        uint32_t with = is_mixed ? (uint32_t)draw(i + 1) : i;

        ranks[i] = ranks[with];
        ranks[with] = i;
    }
    trial_group_open(tg, world, id, ranks, size);
}

static void force_all(struct trial_group *tg, const char *name)
{
    for (int i = 0; i < AM_COLL_KINDS; i++) {
        trial_force(tg, (am_coll_kind_t)i, "auto");
    }
    for (int i = 0; i < KINDS; i++) {
        bool has_pieces = kinds[i] != AM_COLL_BARRIER &&
                          kinds[i] != AM_COLL_ALLGATHER;

        trial_force(tg, kinds[i], has_pieces ? name : "nodes");
    }
}

static struct trial trial_of(am_coll_kind_t kind, uint32_t size)
{
    static const size_t counts[] = {0, 1, 7, 100, 1021, 3000, 20000};

    return (struct trial){.kind = kind,
                          .count = counts[draw(7)],
                          .root = (uint32_t)draw(size),
                          .op = (int)draw(TRIAL_OPS),
                          .in_place = kind >= AM_COLL_REDUCE && draw(2),
                          .is_late = draw(2)};
}

static bool uses_levels(const struct trial_group *tg)
{
    const struct am_coll_nodes *nodes = tg->group[0]->nodes;

    return nodes != NULL && nodes->inner != NULL;
}

static void nothing_bad(struct world *world)
{
    world_settle(world);
    for (uint32_t i = 0; i < world->size; i++) {
        assert_int_equal(world_counter(world, i, "coll_rx_bad"), 0);
        assert_int_equal(world_counter(world, i, "coll_rx_bad_credit"), 0);
        assert_int_equal(world_counter(world, i, "coll_held_now"), 0);
    }
}

/* Each kind, in one piece, in short ones, and by cost. */
static void test_results(void **state)
{
    static const char *const node_ranks[] = {"2", "3", "5", "7"};
    static const char *const names[] = {"nodes", "nodes/100", "nodes/8k",
                                        "auto"};

    (void)state;
    for (int n = 0; n < 8; n++) {
        struct world world;

        world_of(&world, node_ranks[n % 4], n < 4 ? "yes" : "no");
        for (uint32_t size = 3; size <= RANKS; size++) {
            struct trial_group tg;

            group_of(&tg, &world, size, size, draw(3) == 0);
            for (int i = 0; i < 25; i++) {
                struct trial t = trial_of(kinds[draw(KINDS)], size);

                force_all(&tg, names[draw(4)]);
                trial(&tg, &t, &prng);
            }
            trial_group_close(&tg);
        }
        nothing_bad(&world);
        world_close(&world);
    }
}

/* They are on when a node has two members or more, and there are two nodes. */
static void test_used(void **state)
{
    static const struct {
        const char *node_ranks;
        bool is_used;
    } cases[] = {{"0", false}, {"1", false}, {"8", false}, {"4", true}};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct trial t = {.kind = AM_COLL_BARRIER};
        struct trial_group tg;
        struct world world;

        world_of(&world, cases[i].node_ranks, "yes");
        group_of(&tg, &world, 1, RANKS, false);
        force_all(&tg, "nodes");
        trial(&tg, &t, &prng);
        trial(&tg, &t, &prng);
        assert_int_equal(uses_levels(&tg), cases[i].is_used);
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* Up to 12 under way on two groups, with levels and without. */
static void test_many(void **state)
{
    struct trial_run *runs[12] = {NULL};
    struct trial_group groups[2];
    struct world world;

    (void)state;
    world_of(&world, "3", "yes");
    group_of(&groups[0], &world, 1, RANKS, false);
    group_of(&groups[1], &world, 2, 6, true);
    force_all(&groups[0], "nodes/1k");
    for (int i = 0; i < 600 + 12; i++) {
        struct trial_run **run = &runs[i % 12];
        struct trial_group *tg = &groups[draw(2)];
        struct trial t = trial_of((am_coll_kind_t)draw(AM_COLL_KINDS),
                                  tg->size);

        t.in_place = false;
        for (int j = 0; *run != NULL && !trial_is_done(*run); j++) {
            assert_true(j < POLLS_MAX);
            world_poll(&world);
        }
        if (*run != NULL) {
            trial_check(*run);
        }
        *run = i < 600 ? trial_start(tg, &t, &prng) : NULL;
    }
    assert_true(uses_levels(&groups[0]));
    trial_group_close(&groups[0]);
    trial_group_close(&groups[1]);
    nothing_bad(&world);
    world_close(&world);
}

static int64_t values[RANKS][9000], sums[RANKS][9000];

static void start(struct trial_group *tg, uint32_t i, size_t count,
                  struct world_done *done)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
                                .send = values[i],
                                .recv = sums[i],
                                .count = count};
    assert_int_equal(am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT64, &call.op),
                     AM_OK);
    trial_group_start(tg, i, &call, done);
}

/* A first member dies, or another, or one that is alone on its node, while the others
 * wait for it: all end, those of other nodes as well. */
static void test_death(void **state)
{
    static const uint32_t who[] = {0, 3, 5, 7};

    (void)state;
    for (int n = 0; n < 4; n++) {
        struct trial t = {.kind = AM_COLL_ALLREDUCE, .count = 1};
        uint32_t dead = who[n];
        struct world_done done[RANKS][2];
        struct trial_group tg;
        struct world world;

        world_of(&world, dead == 7 ? "7" : "3", n % 2 == 0 ? "yes" : "no");
        group_of(&tg, &world, 1, RANKS, false);
        force_all(&tg, "nodes/8k");
        trial(&tg, &t, &prng);
        for (uint32_t i = 0; i < RANKS; i++) {
            for (int j = 0; i != dead && j < 2; j++) { /* one waits for levels */
                start(&tg, i, 9000, &done[i][j]);
            }
        }
        for (int i = 0; i < SETTLE; i++) {
            world_poll(&world);
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            am_status_t found;

            if (i != dead) {
                am_peer_dead(am_peer_get(world.ctx[i], dead, &found),
                             "the test says so");
                (void)am_ctx_poll(world.ctx[i]); /* says so once */
            }
        }
        for (int i = 0; i < SETTLE; i++) {
            world_poll(&world);
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            for (int j = 0; i != dead && j < 2; j++) {
                world_check_done(&done[i][j], AM_ERR_PEER);
            }
        }
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* A member gives another length: all get to know. */
static void test_disagreement(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < RANKS; n++) {
        struct trial t = {.kind = AM_COLL_ALLREDUCE, .count = 1};
        struct world_done done[RANKS];
        struct trial_group tg;
        struct world world;

        world_of(&world, "3", n % 2 == 0 ? "yes" : "no");
        group_of(&tg, &world, 1, RANKS, false);
        force_all(&tg, "nodes");
        trial(&tg, &t, &prng);
        for (uint32_t i = 0; i < RANKS; i++) {
            start(&tg, i, i == n ? 11 : 10, &done[i]);
        }
        for (int i = 0; i < 4 * SETTLE; i++) {
            world_poll(&world);
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            world_check_done(&done[i], AM_ERR_INVALID);
        }
        trial_group_close(&tg);
        world_close(&world);
    }
}

/* Contexts close while some wait between nodes, some within, some for the levels. */
static void test_close(void **state)
{
    (void)state;
    for (uint32_t missing = 0; missing < RANKS; missing += 3) {
        struct trial t = {.kind = AM_COLL_BARRIER};
        struct world_done done[RANKS][3];
        struct trial_group tg;
        struct world world;

        world_of(&world, "3", "yes");
        group_of(&tg, &world, 1, RANKS, false);
        force_all(&tg, "nodes/8k");
        trial(&tg, &t, &prng);
        for (uint32_t i = 0; i < RANKS; i++) {
            for (int j = 0; i != missing && j < 3; j++) {
                start(&tg, i, 9000, &done[i][j]);
            }
        }
        for (uint64_t i = draw(200); i > 0; i--) {
            world_poll(&world);
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            assert_int_equal(am_coll_group_close(tg.group[i]),
                             i == missing ? AM_OK : AM_ERR_AGAIN);
        }
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_results),      cmocka_unit_test(test_used),
            cmocka_unit_test(test_many),         cmocka_unit_test(test_death),
            cmocka_unit_test(test_disagreement), cmocka_unit_test(test_close),
    };

    prng = test_prng("coll_nodes_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
