/*
 * Every protocol, forced: sizes around the limits, receives posted before and
 * after, contiguous and other data on either side, synchronous sends, short
 * receives; and that the protocol asked for is the one that carried it.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include <stdio.h>
#include <stdlib.h>

static const struct am_msg_envelope envelope = {7, 0, 0x12345};

static const char *const protos[] = {"eager", "buffered", "prefix", "get",
                                     "put"};

struct transfer {
    size_t bytes, capacity;
    int from_shape, to_shape;
    bool posted;
    unsigned flags;
};

static void transfer_run(struct world *world, uint32_t from, uint32_t to,
                         const struct transfer *t)
{
    struct shaped source, target;
    struct ended sent, received;
    uint32_t seed = (uint32_t)t->bytes + 3 * (uint32_t)t->flags;
    size_t bytes = t->bytes < t->capacity ? t->bytes : t->capacity;

    shaped_open(&source, t->from_shape, t->bytes);
    shaped_open(&target, t->to_shape, t->capacity);
    shaped_fill(&source, seed);
    if (t->posted) {
        world_recv(world, to, envelope, MASK_EXACT, &target.data, &received);
        world_send(world, from, to, envelope, &source.data, t->flags, &sent);
    } else {
        world_send(world, from, to, envelope, &source.data, t->flags, &sent);
        for (int i = 0; i < 40; i++) {
            world_poll(world);
        }
        if ((t->flags & AM_MSG_SYNC) != 0) {
            assert_int_equal(sent.count, 0);
        }
        world_recv(world, to, envelope, MASK_EXACT, &target.data, &received);
    }
    world_wait(world, &received);
    world_wait(world, &sent);
    assert_int_equal(sent.status.status, AM_OK);
    assert_int_equal(received.status.status,
                     bytes < t->bytes ? AM_ERR_TRUNCATE : AM_OK);
    assert_int_equal(received.status.bytes, bytes);
    assert_int_equal(received.status.bytes_sent, t->bytes);
    assert_int_equal(received.status.peer, from);
    assert_int_equal(received.status.envelope.context, envelope.context);
    assert_int_equal(received.status.envelope.source, envelope.source);
    assert_int_equal(received.status.envelope.tag, envelope.tag);
    shaped_check(&target, seed, bytes);
    shaped_close(&source);
    shaped_close(&target);
}

static const size_t sizes[] = {0,    1,     3,     8,     63,    64,
                               65,   1000,  4095,  4096,  4097,  8191,
                               8193, 16384, 40000, 65536, 200001};

static void all_transfers(struct world *world, uint32_t from, uint32_t to)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int shapes = 0; shapes < SHAPE_COUNT * SHAPE_COUNT; shapes++) {
            for (int way = 0; way < 4; way++) {
                struct transfer t = {.bytes = sizes[i],
                                     .capacity = sizes[i] + 5 * (size_t)way,
                                     .from_shape = shapes % SHAPE_COUNT,
                                     .to_shape = shapes / SHAPE_COUNT,
                                     .posted = (way & 1) != 0,
                                     .flags = (way & 2) != 0 ? AM_MSG_SYNC : 0};

                transfer_run(world, from, to, &t);
            }
        }
    }
}

static void short_receives(struct world *world, uint32_t from, uint32_t to)
{
    static const size_t lengths[] = {1, 9, 64, 5000, 70000};

    for (int i = 0; i < 5 * 6 * SHAPE_COUNT; i++) {
        size_t bytes = lengths[i % 5];
        size_t capacities[] = {0, bytes / 2, bytes - 1};
        struct transfer t = {.bytes = bytes,
                             .capacity = capacities[i / 5 % 3],
                             .from_shape = SHAPE_CONTIG,
                             .to_shape = i / 30,
                             .posted = i / 15 % 2 == 0,
                             .flags = i % 2 == 0 ? AM_MSG_SYNC : 0};

        transfer_run(world, from, to, &t);
    }
}

static void large(struct world *world, uint32_t from, uint32_t to)
{
    for (int i = 0; i < 6; i++) {
        struct transfer t = {.bytes = (1 << 20) + 3,
                             .capacity = (1 << 20) + 3,
                             .from_shape = i % SHAPE_COUNT,
                             .to_shape = i / 2,
                             .posted = i % 2 == 0,
                             .flags = i == 5 ? AM_MSG_SYNC : 0};

        transfer_run(world, from, to, &t);
    }
}

static uint64_t carried(struct world *world, const char *way, uint32_t rank,
                        const char *proto)
{
    char name[64];

    snprintf(name, sizeof(name), "msg_%s_%s", way, proto);
    return world_counter(world, rank, name);
}

static void no_bad(struct world *world)
{
    static const char *const names[] = {"msg_rx_bad_id", "msg_rx_bad_length",
                                        "msg_rx_bad_credit",
                                        "msg_rx_bad_region"};

    for (uint32_t rank = 0; rank < world->size; rank++) {
        for (int i = 0; i < 4; i++) {
            if (world_counter(world, rank, names[i]) != 0) {
                fail_msg("%s is not 0 at rank %u", names[i], rank);
            }
        }
        assert_int_equal(world_counter(world, rank, "msg_unexpected_bytes"), 0);
    }
}

/* Force a protocol, with a region large enough for all of `sizes`. */
static void forced(const char *proto, uint32_t to)
{
    const struct am_option options[] = {
            {"AM_PROTO", proto}, {"AM_BUFFER_BYTES", "1m"}, {NULL, NULL}};
    const struct am_option *lists[] = {options, options};
    struct world world;
    struct transfer warm = {.bytes = 5, .capacity = 5, .posted = true};
    uint64_t before, messages = 0;

    world_open(&world, 2, lists);
    transfer_run(&world, 0, to, &warm); /* asks for region and credit */
    world_settle(&world);
    before = carried(&world, "tx", 0, proto);
    all_transfers(&world, 0, to);
    messages = sizeof(sizes) / sizeof(sizes[0]) * SHAPE_COUNT * SHAPE_COUNT * 4;
    assert_int_equal(carried(&world, "tx", 0, proto) - before, messages);
    short_receives(&world, 0, to);
    large(&world, 0, to);
    world_settle(&world);
    no_bad(&world);
    world_close(&world);
}

static void test_eager(void **state)
{
    forced("eager", 1);
}

static void test_buffered(void **state)
{
    forced("buffered", 1);
}

static void test_prefix(void **state)
{
    forced("prefix", 1);
}

static void test_get(void **state)
{
    forced("get", 1);
}

static void test_put(void **state)
{
    forced("put", 1);
}

/* A rank's messages to itself, by each protocol. */
static void test_self(void **state)
{
    for (int i = 0; i < 5; i++) {
        forced(protos[i], 0);
    }
}

/* Both directions at once, many messages under way, default settings. */
static void test_default(void **state)
{
    struct world world;

    world_open(&world, 2, NULL);
    all_transfers(&world, 0, 1);
    all_transfers(&world, 1, 0);
    large(&world, 1, 0);
    world_settle(&world);
    no_bad(&world);
    world_close(&world);
}

/* The short forms do nothing when it takes more than they do. */
static void test_short_forms(void **state)
{
    const uint64_t key = am_msg_key(envelope.context, envelope.source);
    static unsigned char out[1 << 20], in[8];
    struct ended ended = {0}, sent;
    struct am_data data = am_data_contig(out, sizeof(in));
    struct world world;

    world_open(&world, 2, NULL);
    world_send(&world, 0, 1, envelope, &data, 0, &sent);
    world_settle(&world); /* it waits there, and the peers are known */
    assert_int_equal(world_counter(&world, 1, "msg_unexpected_messages"), 1);
    assert_null(am_msg_post(world.ctx[1], key, envelope.tag, in, sizeof(in),
                            ended_done, &ended));
    world_recv(&world, 1, envelope, MASK_EXACT, &data, &ended);
    assert_int_equal(ended.count, 1);

    ended = (struct ended){0};
    ended.req = am_msg_post(world.ctx[1], key, envelope.tag, in, sizeof(in),
                            ended_done, &ended);
    assert_non_null(ended.req);
    assert_false(am_msg_send_now(world.ctx[0], 1, key, envelope.tag, out,
                                 sizeof(out)));
    assert_false(am_msg_send_now(world.ctx[0], 2, key, envelope.tag, out, 8));
    world_settle(&world);
    assert_int_equal(ended.count, 0);
    out[7] = 42;
    assert_true(am_msg_send_now(world.ctx[0], 1, key, envelope.tag, out, 8));
    world_wait(&world, &ended);
    assert_int_equal(ended.status.status, AM_OK);
    assert_int_equal(ended.status.envelope.tag, envelope.tag);
    assert_int_equal(in[7], 42);
    world_close(&world);
}

/* Each policy of AM_BUFFERING (Saphir 1994), and what it must count. */
static void test_policies(void **state)
{
    static const char *const names[] = {"nx", "cmmd", "pvm"};

    for (int i = 0; i < 3; i++) {
        const struct am_option options[] = {{"AM_BUFFERING", names[i]},
                                            {NULL, NULL}};
        const struct am_option *lists[] = {options, options};
        struct transfer t = {.bytes = 30000, .capacity = 30000, .posted = true};
        struct world world;
        uint64_t copies;

        world_open(&world, 2, lists);
        transfer_run(&world, 0, 1, &t);
        world_settle(&world);
        copies = world_counter(&world, 0, "msg_copy_bytes") +
                 world_counter(&world, 1, "msg_copy_bytes");
        transfer_run(&world, 0, 1, &t);
        world_settle(&world);
        copies = world_counter(&world, 0, "msg_copy_bytes") +
                 world_counter(&world, 1, "msg_copy_bytes") - copies;
        /* posted: nx copies in once, cmmd never (the transfer is am's), pvm
         * packs, stages and unpacks */
        assert_int_equal(copies, i == 0 ? 30000 : i == 1 ? 0 : 90000);
        all_transfers(&world, 0, 1);
        large(&world, 0, 1);
        world_settle(&world);
        assert_int_equal(carried(&world, "tx", 0, "eager") != 0, i != 1);
        no_bad(&world);
        world_close(&world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_eager),       cmocka_unit_test(test_buffered),
            cmocka_unit_test(test_prefix),      cmocka_unit_test(test_get),
            cmocka_unit_test(test_put),         cmocka_unit_test(test_self),
            cmocka_unit_test(test_default),     cmocka_unit_test(test_policies),
            cmocka_unit_test(test_short_forms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
