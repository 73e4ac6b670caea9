/*
 * Messages over shared memory with a clock that the test sets: each look at it
 * is a step later, so a copy that is timed takes one step.  The costs follow, the
 * tables of protocols follow the costs, and messages pass meanwhile.
 */
#include "config.h"

#include "support/clock.h"
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/meter.h"
#include "dev/shm/shm.h"
#include "msg/proto_choice.h"

#include <stdlib.h>
#include <string.h>

#define LONG   ((size_t)200000)
#define PACKET ((size_t)60000) /* goes as one, and is long enough to be timed */

static struct clock clock = {.env = {.ops = &clock_ops}};

struct am_env *world_env(void)
{
    return &clock.env;
}

static void set_byte_fs(uint64_t byte_fs)
{
    clock.look_ps = PACKET * byte_fs / 1000;
}

static const struct am_proto_kind *kind_at(struct world *world, uint32_t rank)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(world->ctx[rank], 1 - rank, &status);

    assert_non_null(peer);
    return am_proto_kind_of(am_msg_of(world->ctx[rank]), peer);
}

static void pass(struct world *world, uint32_t from, int count)
{
    const struct am_msg_envelope envelope = {1, from, 5};
    struct shaped source, target;

    for (int i = 0; i < count; i++) {
        struct ended sent, received;

        shaped_open(&source, SHAPE_CONTIG, PACKET);
        shaped_open(&target, SHAPE_CONTIG, PACKET);
        shaped_fill(&source, (uint32_t)i);
        world_recv(world, 1 - from, envelope, MASK_EXACT, &target.data,
                   &received);
        world_send(world, from, 1 - from, envelope, &source.data, 0, &sent);
        world_wait(world, &received);
        world_wait(world, &sent);
        shaped_check(&target, (uint32_t)i, PACKET);
        shaped_close(&source);
        shaped_close(&target);
    }
}

/* Both ranks send; false where they share a core, where more is learned. */
static bool open_world(struct world *world, const struct am_option *options)
{
    const struct am_option *lists[] = {options, options};

    set_byte_fs(18000);
    world_open(world, 2, lists);
    for (uint32_t i = 0; i < 2;
         i++) { /* a line takes a step of this clock, too */
        shm_dev_of(world->ctx[i]->devs[0])->near_ps = UINT64_MAX;
    }
    pass(world, 0, 1);
    pass(world, 1, 1);
    world_settle(world);
    return !kind_at(world, 0)->cost.perf.shared_core;
}

static const struct am_option chosen[] = {{"AM_LEARN", "yes"},
                                          {"AM_SHM_CMA", "off"},
                                          {NULL, NULL}};
static const struct am_option eager[] = {{"AM_LEARN", "yes"},
                                         {"AM_PROTO", "eager"},
                                         {"AM_SHM_CMA", "off"},
                                         {NULL, NULL}};

static bool is_near(uint64_t value, uint64_t wanted)
{
    return value > wanted - wanted / 4 && value < wanted + wanted / 4;
}

static void test_follows(void **state)
{
    struct world world;

    if (!open_world(&world, eager)) {
        world_close(&world);
        skip();
    }
    assert_int_equal(world_counter(&world, 0, "msg_tables"), 0);
    set_byte_fs(200000);
    pass(&world, 0, 1600);
    /* the sender has learned what its copies cost, the receiver its own */
    assert_true(is_near(kind_at(&world, 0)->cost.perf.send_overhead.per_byte_fs,
                        200000));
    assert_int_equal(kind_at(&world, 0)->cost.perf.recv_overhead.per_byte_fs,
                     18000);
    assert_true(is_near(kind_at(&world, 1)->cost.perf.recv_overhead.per_byte_fs,
                        200000));
    assert_in_range(world_counter(&world, 0, "msg_tables"), 1, 10);
    set_byte_fs(18000);
    pass(&world, 0, 3200);
    assert_true(is_near(kind_at(&world, 0)->cost.perf.send_overhead.per_byte_fs,
                        18000));
    world_close(&world);
}

/* A receiver that is slow to copy: the second copy of an eager message that
 * comes too early is dear, and the table moves; the short way with it. */
static void test_table_moves(void **state)
{
    struct world world;
    size_t before;

    if (!open_world(&world, chosen)) {
        world_close(&world);
        skip();
    }
    before = kind_at(&world, 0)->rows[1][0].bytes_max;
    set_byte_fs(3000000);
    for (int i = 0; i < 160; i++) {
        pass(&world, 0, 10);
        pass(&world, 1, 10);
    }
    world_settle(&world);
    for (uint32_t rank = 0; rank < 2; rank++) {
        const struct am_proto_kind *kind = kind_at(&world, rank);
        assert_int_not_equal(kind->rows[1][0].bytes_max, before);
        assert_true(world_counter(&world, rank, "msg_tables") > 0);
        assert_true(kind->eager_limit <= kind->rows[1][0].bytes_max + 1);
    }
    world_close(&world);
}

static uint64_t copy_in_fs(const struct am_option *options, uint64_t byte_fs,
                           uint64_t *tables_p)
{
    struct world world;
    uint64_t fs;

    (void)open_world(&world, options);
    set_byte_fs(byte_fs);
    pass(&world, 0, 1600);
    fs = kind_at(&world, 0)->cost.perf.send_overhead.per_byte_fs;
    *tables_p = world_counter(&world, 0, "msg_tables");
    world_close(&world);
    return fs;
}

/* Somebody asked for none. */
static void test_is_off(void **state)
{
    static const struct am_option off[] = {{"AM_PROTO", "eager"},
                                           {"AM_SHM_CMA", "off"},
                                           {"AM_LEARN", "no"},
                                           {NULL, NULL}};
    uint64_t tables;

    assert_int_equal(copy_in_fs(off, 200000, &tables), 18000);
    assert_int_equal(tables, 0);
}

/* Nobody asked for anything: what is very different counts. */
static void test_by_default(void **state)
{
    static const struct am_option unsaid[] = {
            {"AM_PROTO", "eager"}, {"AM_SHM_CMA", "off"}, {NULL, NULL}};
    struct world world;
    uint64_t tables;
    bool learns;

    unsetenv("AM_LEARN");
    learns = open_world(&world, unsaid);
    world_close(&world);
    assert_int_equal(copy_in_fs(unsaid, 50000, &tables), 18000);
    assert_int_equal(tables, 0);
    if (!learns) {
        skip();
    }
    /* another of the sets that are built in */
    assert_int_equal(copy_in_fs(unsaid, 75000, &tables), 70000);
    assert_true(tables > 0);
    assert_int_equal(copy_in_fs(unsaid, 220000, &tables), 145000);
    assert_true(copy_in_fs(unsaid, 1500000, &tables) > 8 * 145000);
}

enum order {
    POSTED, /* each rank posts a receive and sends */
    TURNS,  /* rank 1 sends when it has received */
    LATE    /* rank 1 sends while it fetches what had come before it posted */
};

static void exchange(struct world *world, enum order order)
{
    const struct am_msg_envelope envelope[2] = {{1, 0, 5}, {1, 1, 5}};
    struct shaped source[2], target[2];
    struct ended sent[2], received[2];

    for (uint32_t rank = 0; rank < 2; rank++) {
        shaped_open(&source[rank], SHAPE_CONTIG, LONG);
        shaped_open(&target[rank], SHAPE_CONTIG, LONG);
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        uint32_t to = order == POSTED ? rank : 1 - rank;

        if (order != POSTED) {
            world_send(world, rank, 1 - rank, envelope[rank],
                       &source[rank].data, 0, &sent[rank]);
        }
        if (order == LATE && rank == 0) {
            world_settle(world);
        }
        world_recv(world, to, envelope[1 - to], MASK_EXACT, &target[to].data,
                   &received[to]);
        if (order == POSTED) {
            world_send(world, rank, 1 - rank, envelope[rank],
                       &source[rank].data, 0, &sent[rank]);
        } else if (order == TURNS) {
            world_wait(world, &received[to]);
        }
    }
    for (uint32_t rank = 0; rank < 2; rank++) {
        world_wait(world, &received[rank]);
        world_wait(world, &sent[rank]);
        shaped_close(&source[rank]);
        shaped_close(&target[rank]);
    }
}

static void test_both_ways(void **state)
{
    struct world world;
    bool learns = open_world(&world, chosen);

    for (int i = 0; i < 20; i++) {
        exchange(&world, TURNS);
    }
    assert_false(kind_at(&world, 0)->meter->perf.both_ways);
    for (int i = 0; learns && i < 20; i++) {
        exchange(&world, POSTED);
    }
    if (learns) {
        assert_true(kind_at(&world, 0)->meter->perf.both_ways);
        assert_true(kind_at(&world, 1)->meter->perf.both_ways);
    }
    for (int i = 0; i < 20; i++) {
        exchange(&world, TURNS);
    }
    assert_false(kind_at(&world, 0)->meter->perf.both_ways);
    world_close(&world);
}

/* Receives that have all met their messages are still receives. */
static void test_both_ways_late(void **state)
{
    static const struct am_option get[] = {
            {"AM_LEARN", "much"}, {"AM_PROTO", "get"}, {NULL, NULL}};
    struct world world;

    if (!open_world(&world, get)) {
        world_close(&world);
        skip();
    }
    for (int i = 0; i < 20; i++) {
        exchange(&world, LATE);
    }
    assert_true(kind_at(&world, 1)->meter->perf.both_ways);
    for (int i = 0; i < 20; i++) { /* ... until they are complete */
        exchange(&world, TURNS);
    }
    assert_false(kind_at(&world, 1)->meter->perf.both_ways);
    world_close(&world);
}

/* A message that waits is fetched by a poll, not by the call that posts. */
static void test_fetched_later(void **state)
{
    static const struct am_option get[] = {
            {"AM_PROTO", "get"}, {"AM_SHM_CMA", "on"}, {NULL, NULL}};
    const struct am_msg_envelope envelope = {1, 0, 5};
    struct shaped source, target;
    struct ended sent, received;
    struct world world;

    (void)open_world(&world, get);
    shaped_open(&source, SHAPE_CONTIG, LONG);
    shaped_open(&target, SHAPE_CONTIG, LONG);
    shaped_fill(&source, 3);
    world_send(&world, 0, 1, envelope, &source.data, 0, &sent);
    world_settle(&world);
    world_recv(&world, 1, envelope, MASK_EXACT, &target.data, &received);
    assert_int_equal(received.count, 0);
    shaped_check(&target, 3, 0);
    world_wait(&world, &received);
    world_wait(&world, &sent);
    shaped_check(&target, 3, LONG);
    shaped_close(&source);
    shaped_close(&target);
    world_close(&world);
}

/* What a device can do no more, no table counts on: also where nothing is
 * learned. */
static void test_refused(void **state)
{
    static const struct am_option single[] = {
            {"AM_LEARN", "no"}, {"AM_SHM_CMA", "on"}, {NULL, NULL}};
    struct world world;
    am_status_t status;
    struct am_dev *dev;

    (void)open_world(&world, single);
    dev = am_peer_get(world.ctx[0], 1, &status)->dev;
    if ((dev->attr.caps & AM_DEV_CAP_GET) == 0) {
        world_close(&world);
        skip();
    }
    assert_true(kind_at(&world, 0)->cost.caps & AM_DEV_CAP_GET);
    dev->attr.caps &= ~(uint32_t)(AM_DEV_CAP_GET | AM_DEV_CAP_PUT);
    dev->up.costs(dev->up.arg);
    pass(&world, 0, 1);
    assert_false(kind_at(&world, 0)->cost.caps & AM_DEV_CAP_GET);
    assert_int_equal(world_counter(&world, 0, "msg_tables"), 1);
    world_close(&world);
}

/* The same clock, the same costs. */
static void test_repeats(void **state)
{
    struct am_dev_perf first = {0};

    for (int run = 0; run < 2; run++) {
        struct world world;

        if (!open_world(&world, eager)) {
            world_close(&world);
            skip();
        }
        set_byte_fs(70000);
        pass(&world, 0, 400);
        set_byte_fs(20000);
        pass(&world, 1, 137);
        if (run == 0) {
            first = kind_at(&world, 0)->cost.perf;
        } else {
            assert_memory_equal(&first, &kind_at(&world, 0)->cost.perf,
                                sizeof(first));
        }
        world_close(&world);
    }
}

static void test_says_so(void **state)
{
    struct world world;
    char text[8192];

    if (!open_world(&world, eager)) {
        world_close(&world);
        skip();
    }
    (void)am_describe(world.ctx[0], "protocols", text, sizeof(text));
    assert_non_null(strstr(text, "copy in 18 ps/B (built in)"));
    set_byte_fs(200000);
    pass(&world, 0, 1600);
    (void)am_describe(world.ctx[0], "protocols", text, sizeof(text));
    assert_non_null(strstr(text, "ps/B (measured in this run)"));
    assert_non_null(strstr(text, "copy out 18 ps/B (built in)"));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_follows),
            cmocka_unit_test(test_table_moves),
            cmocka_unit_test(test_is_off),
            cmocka_unit_test(test_by_default),
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_both_ways),
            cmocka_unit_test(test_both_ways_late),
            cmocka_unit_test(test_fetched_later),
            cmocka_unit_test(test_repeats),
            cmocka_unit_test(test_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
