/*
 * What member 0 tells again of its numbers, while collectives go on: all members choose
 * by the same, however far ahead one of them is.
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "collectives/coll.h"
#include "collectives/numbers.h"
#include "dev/shm/shm.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 3,
    LONG = 64
           << 10, /* bytes for which numbers are told after AM_COLL_TOLD_CALLS */
    CALLS = 4 * AM_COLL_TOLD_CALLS,
    SHORT_CALLS = 5 * AM_COLL_TOLD_AFTER / 4
};

static const uint64_t wire_ps = 1234567;
static const uint32_t all[] = {0, 1, 2};

struct member {
    char *data; /* of all calls */
    uint32_t started, done;
};

static void count_done(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(uint32_t *)arg;
}

/* The member's next broadcast, from each in turn. */
static void start(struct trial_group *tg, struct member *members, uint32_t i)
{
    struct member *member = &members[i];
    char *data = member->data + (size_t)member->started * LONG;
    struct am_coll_call call = {.kind = AM_COLL_BCAST,
                                .recv = data,
                                .count = LONG,
                                .root = member->started % SIZE};
    am_status_t status;

    memset(data, call.root == i ? (int)member->started : -1, LONG);
    status = am_coll_start(tg->group[i], &call, count_done, &member->done);
    assert_true(status == AM_OK || status == AM_DONE);
    member->done += status == AM_DONE;
    member->started++;
}

static void members_check(const struct trial_group *tg,
                          const struct member *members, uint64_t told_ps)
{
    for (uint32_t i = 0; i < SIZE; i++) {
        assert_int_equal(members[i].done, CALLS);
        assert_int_equal(tg->group[i]->numbers.perf.wire.fixed_ps, told_ps);
        for (size_t j = 0; j < CALLS; j++) {
            const char *data = members[i].data + j * LONG;

            assert_int_equal(data[0], (char)j);
            assert_int_equal(data[LONG - 1], (char)j);
        }
    }
}

/* The costs of member 0 change half-way, whatever the distance of the others; and stay so,
 * as no other numbers that are built in take their place. */
static void costs_change(struct world *world)
{
    struct shm_dev *dev = shm_dev_of(world->ctx[0]->devs[0]);

    for (int i = 0; i < AM_DISTANCE_COUNT; i++) {
        dev->meters[i].priors = NULL;
        dev->meters[i].perf.wire.fixed_ps = wire_ps;
    }
}

/* Member `first` calls all before the others call any; or there is none that does. */
static void followed(const char *learn, uint32_t first)
{
    const struct am_option list[] = {
            {"AM_DEVICES", "shm"}, {"AM_LEARN", learn}, {NULL, NULL}};
    const struct am_option *const options[] = {list, list, list};
    struct member members[SIZE] = {{0}};
    struct trial_group tg;
    struct world world;
    am_status_t status;
    uint64_t before;

    world_open(&world, SIZE, options);
    world_settle(&world);
    trial_group_open(&tg, &world, 1, all, SIZE);
    before = am_peer_perf(am_peer_get(world.ctx[0], 1, &status))->wire.fixed_ps;
    for (uint32_t i = 0; i < SIZE; i++) {
        members[i].data = malloc((size_t)CALLS * LONG);
        assert_non_null(members[i].data);
    }
    for (uint32_t j = 0; first < SIZE && j < CALLS; j++) {
        start(&tg, members, first);
    }
    for (uint32_t j = 0; j < CALLS; j++) {
        for (uint32_t i = 0; i < SIZE; i++) {
            if (i != first) {
                start(&tg, members, i);
            }
        }
        world_poll(&world);
        if (j == CALLS / 2) {
            world_settle(&world);
            costs_change(&world);
        }
    }
    world_settle(&world);
    members_check(&tg, members, strcmp(learn, "no") == 0 ? before : wire_ps);
    for (uint32_t i = 0; i < SIZE; i++) {
        free(members[i].data);
    }
    trial_group_close(&tg);
    world_close(&world);
}

static void test_followed(void **state)
{
    (void)state;
    for (uint32_t first = 1; first <= SIZE; first++) {
        followed("much", first);
        followed("yes", first);
    }
}

static void test_not_followed(void **state)
{
    (void)state;
    for (uint32_t first = 1; first <= SIZE; first++) {
        followed("no", first);
    }
}

/* Short ones are not told of so often: a telling is one message to each member. */
static void test_seldom(void **state)
{
    static const struct am_option list[] = {{"AM_LEARN", "much"}, {NULL, NULL}};
    static const struct am_option *const options[] = {list, list, list};
    struct trial t = {.kind = AM_COLL_BARRIER};
    struct am_prng prng = test_prng("coll_follow_test");
    struct trial_group tg;
    struct world world;
    uint64_t sent;

    (void)state;
    world_open(&world, SIZE, options);
    trial_group_open(&tg, &world, 1, all, SIZE);
    trial(&tg, &t, &prng);
    sent = world_counter(&world, 0, "coll_tx_data");
    for (int i = 0; i < SHORT_CALLS; i++) {
        trial(&tg, &t, &prng);
    }
    assert_int_equal(world_counter(&world, 0, "coll_tx_data"),
                     sent + 2 * (SIZE - 1)); /* at the first 64, and later */
    trial_group_close(&tg);
    world_close(&world);
}

/* Member 0 receives only; another, which sends to it, has seen that it is far. */
static void test_other_sees(void **state)
{
    static const struct am_option list[] = {
            {"AM_DEVICES", "shm"}, {"AM_LEARN", "much"}, {NULL, NULL}};
    static const struct am_option *const options[] = {list, list, list};
    struct trial t = {.kind = AM_COLL_REDUCE, .count = LONG};
    struct am_prng prng = test_prng("coll_follow_test");
    struct am_dev_ep *there, *back;
    struct trial_group tg;
    struct world world;
    am_status_t status;
    bool is_far = false;

    (void)state;
    world_open(&world, SIZE, options);
    world_settle(&world);
    trial_group_open(&tg, &world, 1, all, SIZE);
    there = am_peer_get(world.ctx[1], 0, &status)->ep;
    back = am_peer_get(world.ctx[0], 1, &status)->ep;
    shm_dev_of(world.ctx[0]->devs[0])->near_ps = UINT64_MAX;
    for (int i = 0; i < AM_METER_FAR_SURE; i++) {
        am_meter_seen(there, false);
    }
    assert_true(there->meter->distance >= AM_DISTANCE_NODE);
    for (int i = 0; i < 3 * AM_COLL_TOLD_AFTER && !is_far; i++) {
        trial(&tg, &t, &prng);
        is_far = back->meter->distance >= AM_DISTANCE_NODE;
    }
    assert_true(is_far);
    trial_group_close(&tg);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_followed),
            cmocka_unit_test(test_not_followed),
            cmocka_unit_test(test_seldom),
            cmocka_unit_test(test_other_sees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
