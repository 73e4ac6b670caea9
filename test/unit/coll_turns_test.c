/*
 * The turns of a group's memory where they are at an edge: nudges that find no space,
 * turns whose numbers come again, a collective that an operator starts.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/shared/flags.h"
#include "collectives/shared/way.h"

enum {
    POLLS = 8000, /* more than a member looks before it sleeps, all together */
    AHEAD = 12,   /* broadcasts: more than the group's memory holds */
    OLD = 20,
    TURNS = 100
};

static struct am_prng prng;
static struct trial meet = {.kind = AM_COLL_BARRIER};

static void count_request(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    (void)words;
    (void)word_count;
    (void)data;
    (void)bytes;
    ++*(int *)am_token_arg(token);
}

/* As many requests as there is space for. */
static int fill(struct am_ctx *ctx, uint32_t to)
{
    int sent = 0;

    while (am_ctx_try_request(ctx, to, AM_HANDLER_USER, NULL, 0, NULL, 0) ==
           AM_OK) {
        sent++;
    }
    return sent;
}

/* A member sleeps until another one gives, which is done at once and finds no space for
 * the nudge: it is sent when there is some. */
static void test_owed(void **state)
{
    struct trial t = {.kind = AM_COLL_BCAST, .count = sizeof(int64_t)};
    int64_t value[2] = {7, -1};
    struct world_done done[2];
    struct trial_group tg;
    struct world world;
    int count = 0, sent = 0;

    (void)state;
    trial_shared_open(&world, &tg, 2, &t, &prng);
    assert_int_equal(am_handler_register(world.ctx[1], AM_HANDLER_USER,
                                         count_request, &count, "count"),
                     AM_OK);
    while (sent == 0) { /* connects the two */
        sent = fill(world.ctx[0], 1);
        world_poll(&world);
    }
    world_settle(&world);
    for (uint32_t i = 2; i-- > 0;) {
        struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                    .recv = &value[i],
                                    .count = sizeof(int64_t)};

        trial_group_start(&tg, i, &call, &done[i]);
        for (int j = 0; i == 1 && j < POLLS; j++) {
            world_poll(&world);
        }
        assert_true(tg.group[1]->shared->is_asleep);
        sent += i == 1 ? fill(world.ctx[0], 1) : 0;
    }
    world_check_done(&done[0], AM_OK);
    assert_true(tg.group[0]->shared->owes_nudges);
    for (int j = 0; j < POLLS; j++) {
        world_poll(&world);
    }
    world_check_done(&done[1], AM_OK);
    assert_int_equal(value[1], 7);
    assert_int_equal(count, sent);
    trial_group_close(&tg);
    world_close(&world);
}

/* As if 2^31 turns had been made in which only member 0 gives. */
static void turns_pass(struct trial_group *tg)
{
    for (uint32_t i = 0; i < tg->size; i++) {
        struct am_shared *shared = tg->group[i]->shared;

        for (uint32_t back = 1; back <= AM_SHARED_DEPTH; back++) {
            _Atomic uint64_t *flag =
                    &am_shared_slot(shared, i, shared->next - back)->flag;

            atomic_fetch_add(flag, UINT64_C(1) << 63);
        }
        for (int j = 0; j < 8; j++) {
            shared->next += UINT32_C(1) << 28;
            am_shared_forget(shared);
        }
    }
}

/* Member 1 gives for the first time after that: it waits for the others to take it. */
static void test_old(void **state)
{
    static int64_t values[3][AHEAD];
    static struct world_done done[3][AHEAD];
    struct trial t = {.kind = AM_COLL_BCAST, .count = sizeof(int64_t)};
    struct trial_group tg;
    struct world world;
    int ended = 0;

    (void)state;
    trial_shared_open(&world, &tg, 3, &t, &prng);
    for (int i = 0; i < OLD; i++) {
        trial(&tg, &t, &prng);
    }
    turns_pass(&tg);
    trial(&tg, &t, &prng);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t member = (i + 1) % 3;

        for (int j = 0; j < AHEAD; j++) {
            struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                        .root = 1,
                                        .recv = &values[member][j],
                                        .count = sizeof(int64_t)};

            values[member][j] = member == 1 ? 1000 + j : -1;
            trial_group_start(&tg, member, &call, &done[member][j]);
            ended += member == 1 && done[1][j].count > 0;
        }
    }
    assert_in_range(ended, 1, AM_SHARED_DEPTH);
    world_settle(&world);
    for (uint32_t i = 0; i < 3; i++) {
        for (int j = 0; j < AHEAD; j++) {
            world_check_done(&done[i][j], AM_OK);
            assert_int_equal(values[i][j], 1000 + j);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* A collective of very many turns, in each of which member 0 gives the turn's number. */
static uint32_t numbers_open(struct am_coll_req *req)
{
    (void)req;
    return AM_SHARED_OLD + TURNS;
}

static size_t numbers_give(const struct am_coll_req *req)
{
    return req->group->rank == 0 ? sizeof(uint32_t) : 0;
}

static void numbers_write(const struct am_coll_req *req, void *to)
{
    *(uint32_t *)to = req->shared.turn;
}

static am_shared_whose_t numbers_whose(const struct am_coll_req *req)
{
    return req->group->rank == 0 ? AM_SHARED_NOBODYS : AM_SHARED_ROOTS;
}

static bool numbers_take(struct am_coll_req *req)
{
    const uint32_t *given = am_shared_payload(
            req->group->shared, 0, req->shared.turn, sizeof(uint32_t));

    assert_int_equal(*given, req->shared.turn);
    return true;
}

static void numbers_close(struct am_coll_req *req, bool at_close)
{
    (void)req;
    (void)at_close;
}

static const struct am_shared_way by_numbers = {.fits = NULL,
                                                .open = numbers_open,
                                                .gives = numbers_give,
                                                .write = numbers_write,
                                                .whose = numbers_whose,
                                                .take = numbers_take,
                                                .close = numbers_close};

/* Who gives in more turns than are remembered waits for the others in the first of them,
 * too. */
static void test_many_turns(void **state)
{
    struct trial t = {.kind = AM_COLL_BCAST, .count = sizeof(int64_t)};
    struct am_coll_req *reqs[2];
    struct world_done done[2] = {{0}};
    struct trial_group tg;
    struct world world;

    (void)state;
    trial_shared_open(&world, &tg, 2, &t, &prng);
    for (uint32_t i = 0; i < 2; i++) {
        reqs[i] = am_coll_req_open(tg.group[i], world_on_done, &done[i]);
        assert_non_null(reqs[i]);
        reqs[i]->call = (struct am_coll_call){.kind = AM_COLL_BCAST};
        reqs[i]->is_built = reqs[i]->is_shared = true;
        reqs[i]->print = 0;
        assert_int_equal(am_shared_queue(reqs[i], &by_numbers), AM_OK);
        am_shared_nudged(tg.group[i]);
    }
    for (int i = 0; i < POLLS; i++) {
        world_poll(&world);
        assert_in_range(reqs[0]->shared.stage - reqs[1]->shared.stage, 0,
                        AM_SHARED_DEPTH);
    }
    assert_true(reqs[1]->shared.stage > TURNS);
    assert_int_equal(done[0].count + done[1].count, 0);
    world_close(&world); /* in the middle of it */
}

static void on_done(void *arg, am_status_t status)
{
    (void)arg;
    (void)status;
    fail();
}

/* Members 0 and 1 learn that member 2 is dead. */
static void learn_death(struct world *world)
{
    for (uint32_t i = 0; i < 2; i++) {
        am_status_t found;
        struct am_peer *dead = am_peer_get(world->ctx[i], 2, &found);

        assert_non_null(dead);
        am_peer_dead(dead, "the test says so");
        (void)am_ctx_poll(world->ctx[i]); /* says so once */
    }
    world_settle(world);
}

/* Member 2 dies while a root is ahead of it, or between the turns of a barrier: what
 * could be done at once is, and the rest ends with an error, as do later calls. */
static void test_death(void **state)
{
    struct trial t = {.kind = AM_COLL_BCAST, .count = sizeof(int64_t)};
    static const struct am_coll_call barrier = {.kind = AM_COLL_BARRIER};

    (void)state;
    for (int is_barrier = 0; is_barrier < 2; is_barrier++) {
        static struct world_done done[2][AHEAD];
        int64_t value[2] = {1, 0};
        struct trial_group tg;
        struct world world;
        int calls = is_barrier ? 1 : AHEAD;

        trial_shared_open(&world, &tg, 3, &t, &prng);
        t.root = 2 * (uint32_t)is_barrier; /* who leads the barriers */
        for (int i = 0; i < 2; i++) {
            trial(&tg, &meet, &prng);
            trial(&tg, &t, &prng);
        }
        for (int i = 0; i < calls; i++) {
            for (uint32_t k = 0; k < 2; k++) {
                struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                            .recv = &value[k],
                                            .count = sizeof(int64_t)};

                trial_group_start(&tg, k, is_barrier ? &barrier : &call,
                                  &done[k][i]);
            }
        }
        learn_death(&world);
        for (int i = 0; i < calls; i++) {
            bool is_first = !is_barrier && i < AM_SHARED_DEPTH - 1;

            for (uint32_t k = 0; k < 2; k++) {
                world_check_done(&done[k][i], is_first ? AM_OK : AM_ERR_PEER);
            }
        }
        for (uint32_t k = 0; k < 2; k++) {
            assert_int_equal(
                    am_coll_start(tg.group[k], &barrier, on_done, NULL),
                    AM_ERR_PEER);
        }
        trial_group_close(&tg);
        world_close(&world);
    }
}

struct starter {
    struct am_coll_group *group;
    int calls;
};

/* An operator that wants to start a collective as well. */
static void sum_and_start(void *arg, const void *left, void *inout,
                          size_t count)
{
    static const struct am_coll_call barrier = {.kind = AM_COLL_BARRIER};
    struct starter *starter = arg;

    for (size_t i = 0; i < count; i++) {
        ((int64_t *)inout)[i] += ((const int64_t *)left)[i];
    }
    assert_int_equal(am_coll_start(starter->group, &barrier, on_done, NULL),
                     AM_ERR_HANDLER);
    assert_int_equal(am_coll_run(starter->group, &barrier), AM_ERR_HANDLER);
    starter->calls++;
}

/* It is refused, and both collectives go on: at once, queued, and by messages. */
static void test_operator(void **state)
{
    static const char *const names[] = {"shared", "reads", "ring"};
    struct trial t = {.kind = AM_COLL_ALLREDUCE, .count = 2, .op = TRIAL_SUM};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct starter starters[2] = {{NULL, 0}};
        struct trial_group tg;
        struct world world;

        trial_shared_open(&world, &tg, 2, &t, &prng);
        trial_force(&tg, AM_COLL_ALLREDUCE, names[i]);
        for (int j = 0; j < OLD; j++) {
            int64_t given[2][2] = {{j, 1}, {2, j}}, sums[2][2];
            struct world_done done[2];

            for (uint32_t k = 0; k < 2; k++) {
                struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
                                            .send = given[k],
                                            .recv = sums[k],
                                            .count = 2,
                                            .op = {sum_and_start, &starters[k],
                                                   sizeof(int64_t), true}};

                starters[k].group = tg.group[k];
                trial_group_start(&tg, k, &call, &done[k]);
            }
            world_settle(&world);
            for (uint32_t k = 0; k < 2; k++) {
                world_check_done(&done[k], AM_OK);
                assert_int_equal(sums[k][0], j + 2);
                assert_int_equal(sums[k][1], 1 + j);
            }
        }
        assert_true(starters[0].calls >= OLD && starters[1].calls >= OLD);
        trial_group_close(&tg);
        world_close(&world);
    }
}

static void crowd_set(struct trial_group *tg, uint32_t size, bool crowded)
{
    for (uint32_t i = 0; i < size; i++) {
        tg->group[i]->numbers.perf.turn_ps = crowded ? 1100000 : 0;
    }
}

/* Where members share cores a broadcast's root has the room of all: what it writes in a turn
 * arrives from each root, however much it is more or less than that. */
static void test_room(void **state)
{
    enum {
        SIZE = 3,
        SLOT = AM_SHARED_SLOT_BYTES,
        ALL = SIZE * SLOT
    };

    static const struct {
        size_t bytes;
        uint32_t turns, few; /* `few`: where members share cores */
    } rows[] = {
            {2 * SLOT, 2, 2},
            {2 * SLOT + 1, 3, 1},
            {ALL, SIZE, 1},
            {ALL + 1, SIZE + 1, 2},
            {9 * ALL + 7, 3 * 9 + 1, 10},
    };
    struct trial t = {.kind = AM_COLL_BCAST, .count = 8};
    struct trial_group tg;
    struct world world;

    (void)state;
    trial_shared_open(&world, &tg, SIZE, &t, &prng);
    for (size_t i = 0; i < 2 * sizeof(rows) / sizeof(rows[0]); i++) {
        t.count = rows[i / 2].bytes;
        crowd_set(&tg, SIZE, i % 2 == 1);
        for (t.root = 0; t.root < SIZE; t.root++) {
            uint32_t turn = tg.group[0]->shared->next;

            trial(&tg, &t, &prng);
            assert_int_equal(tg.group[0]->shared->next - turn,
                             i % 2 == 1 ? rows[i / 2].few : rows[i / 2].turns);
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

/* Broadcasts of more than a slot, of which a root writes as many as there is room for
 * before anybody reads. */
static void test_room_ahead(void **state)
{
    enum {
        SIZE = 4,
        BYTES = 3 * AM_SHARED_SLOT_BYTES
    };

    static char values[SIZE][AHEAD][BYTES];
    static struct world_done done[SIZE][AHEAD];
    struct trial t = {.kind = AM_COLL_BCAST, .count = 8};
    struct trial_group tg;
    struct world world;
    int ended = 0;

    (void)state;
    trial_shared_open(&world, &tg, SIZE, &t, &prng);
    crowd_set(&tg, SIZE, true);
    for (uint32_t i = 0; i < SIZE; i++) {
        uint32_t member = (i + 2) % SIZE;

        for (int j = 0; j < AHEAD; j++) {
            struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                        .root = 2,
                                        .recv = values[member][j],
                                        .count = BYTES};

            memset(values[member][j], member == 2 ? 'a' + j : 0, BYTES);
            trial_group_start(&tg, member, &call, &done[member][j]);
            ended += member == 2 && done[2][j].count > 0;
        }
    }
    assert_in_range(ended, 2, AM_SHARED_DEPTH);
    world_settle(&world);
    for (uint32_t i = 0; i < SIZE; i++) {
        for (int j = 0; j < AHEAD; j++) {
            world_check_done(&done[i][j], AM_OK);
            for (int k = 0; k < BYTES; k++) {
                assert_int_equal(values[i][j][k], 'a' + j);
            }
        }
    }
    trial_group_close(&tg);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_owed),       cmocka_unit_test(test_old),
            cmocka_unit_test(test_many_turns), cmocka_unit_test(test_death),
            cmocka_unit_test(test_operator),   cmocka_unit_test(test_room),
            cmocka_unit_test(test_room_ahead),
    };

    prng = test_prng("coll_turns_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
