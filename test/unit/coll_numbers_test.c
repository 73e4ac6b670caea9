/*
 * What member 0 tells the others of its device: numbers that cannot be end the group
 * with an error, whenever they come, and crash nobody.
 */
#include "support/cm.h"
#include "support/coll_trial.h"

#include "am/ctx.h"
#include "collectives/algo/algo.h"
#include "collectives/message.h"

#include <string.h>

enum {
    ID = 3,
    TAG_TREE = 8, /* of algo/bcast.c */
    MEMBERS_MAX = 3
};

static const uint32_t all[] = {0, 1, 2};
static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
static const struct am_option *const all_quiet[] = {quiet, quiet, quiet};

/* What goes down the tree. */
struct exchange {
    struct am_coll_numbers numbers;
    uint32_t first[MEMBERS_MAX];
};

static void no_packet(struct am_coll_numbers *numbers)
{
    numbers->packet_bytes = 0;
}

static void no_near_packet(struct am_coll_numbers *numbers)
{
    numbers->near.packet_bytes = 0;
}

static void long_eager(struct am_coll_numbers *numbers)
{
    numbers->eager_max = numbers->packet_bytes + 1;
}

static void no_memory(struct am_coll_numbers *numbers)
{
    numbers->shared.slot_bytes = AM_SHARED_SLOT_BYTES;
    memset(&numbers->shared.key, 0x7f, sizeof(numbers->shared.key));
}

static void combines(struct am_coll_numbers *numbers)
{
    numbers->may_combine = true;
}

static void casts(struct am_coll_numbers *numbers)
{
    numbers->network.multicast_ps = 1;
}

/* Groups of two do not look who is where. */
static void has_nodes(struct am_coll_numbers *numbers)
{
    numbers->node_count = 2;
    numbers->node_members_max = 2;
}

static void crowd(struct am_coll_numbers *numbers)
{
    numbers->perf.turn_ps = 1;
    numbers->perf.round_ps = 1;
    numbers->perf.core_ranks = UINT32_MAX;
}

/* Member 0 lies to member 1: on three nodes, or two of one. */
static void forge(struct world *world, const struct am_coll_group *group,
                  void (*spoil)(struct am_coll_numbers *))
{
    struct am_coll *coll = am_coll_of(world->ctx[0]);
    struct exchange told = {.first = {0, 0, 2}};
    uint64_t words[2];
    size_t bytes = sizeof(told.numbers) +
                   (world->size > 2 ? world->size * sizeof(uint32_t) : 0);
    am_status_t status;
    struct am_peer *peer = am_peer_get(world->ctx[0], 1, &status);

    assert_non_null(peer);
    assert_true(
            am_coll_numbers_of(world->ctx[0], 1, coll->config, &told.numbers));
    told.numbers.near =
            (struct am_coll_near){.perf = told.numbers.perf,
                                  .caps = told.numbers.caps,
                                  .packet_bytes = told.numbers.packet_bytes,
                                  .eager_max = told.numbers.eager_max};
    spoil(&told.numbers);
    am_coll_head_write(group, 0, AM_TAG(TAG_TREE, 0), words);
    assert_int_equal(am_peer_send(peer, AM_COLL_H_DATA,
                                  (uint32_t)sizeof(told.numbers), words, 2,
                                  &told, bytes),
                     AM_OK);
}

/* Member 1 calls when the numbers are here, or before.  The outcome of its call. */
static struct world_done told(uint32_t size, bool is_early,
                              void (*spoil)(struct am_coll_numbers *))
{
    int64_t value = 1, sum;
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
                                .send = &value,
                                .recv = &sum,
                                .count = 1};
    struct world_done done = {0};
    struct trial_group tg;
    struct world world;

    assert_int_equal(am_coll_operator_get(AM_COLL_SUM, AM_COLL_INT32, &call.op),
                     AM_OK);
    world_open(&world, size, all_quiet);
    trial_group_open(&tg, &world, ID, all, size);
    if (is_early) {
        forge(&world, tg.group[0], spoil);
        world_settle(&world);
    }
    trial_group_start(&tg, 1, &call, &done);
    if (!is_early) {
        forge(&world, tg.group[0], spoil);
    }
    world_settle(&world);
    world_close(&world);
    return done;
}

static void test_refused(void **state)
{
    static void (*const spoils[])(struct am_coll_numbers *) = {
            no_packet, no_near_packet, long_eager, no_memory, combines, casts};

    (void)state;
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        for (uint32_t size = spoils[i] == no_near_packet ? 3 : 2;
             size <= MEMBERS_MAX; size++) {
            for (int is_early = 0; is_early < 2; is_early++) {
                struct world_done done = told(size, is_early, spoils[i]);

                world_check_done(&done, AM_ERR_INVALID);
            }
        }
    }
}

/* What is only odd is of no use to anybody, but the member goes on: it waits. */
static void test_odd(void **state)
{
    static void (*const spoils[])(struct am_coll_numbers *) = {has_nodes,
                                                               crowd};

    (void)state;
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        for (uint32_t size = 2; size <= MEMBERS_MAX; size++) {
            struct world_done done = told(size, true, spoils[i]);

            assert_int_equal(done.count, 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_odd),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
