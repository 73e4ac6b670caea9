/*
 * Messages that the receiver's device is to fetch: it does, whole and once; and where it
 * cannot (the kernel does not allow it, or the memory is in pieces) the sender puts them
 * instead, whatever else happens meanwhile.
 */
#include "config.h"

#include "support/cm.h"
#include "support/forged.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"
#include "msg/msg_core.h"

#include <string.h>

static const struct am_option fetched[] = {{"AM_PROTO", "get"},
                                           {"AM_SHM_CMA", "on"},
                                           {"AM_LOG", "none"},
                                           {NULL, NULL}};
static const struct am_option refused[] = {{"AM_PROTO", "get"},
                                           {"AM_SHM_CMA", "off"},
                                           {"AM_LOG", "none"},
                                           {NULL, NULL}};

static const size_t sizes[] = {1, 48, 4096, 100001, 1 << 20};

/* Rank 0 sends; false: there are no single copies here. */
static bool open_world(struct world *world, const struct am_option *receiver)
{
    const struct am_option *const lists[] = {fetched, receiver};
    am_status_t status;

    world_open(world, 2, lists);
    return (am_peer_get(world->ctx[0], 1, &status)->dev->attr.caps &
            AM_DEV_CAP_GET) != 0;
}

/* One message from rank 0; the receive is there before it, or after it. */
static void one(struct world *world, int shape, size_t bytes, size_t room,
                bool early)
{
    const struct am_msg_envelope envelope = {1, 0, 5};
    struct shaped source, target;
    struct ended sent, received;

    shaped_open(&source, SHAPE_CONTIG, bytes);
    shaped_open(&target, shape, room);
    shaped_fill(&source, (uint32_t)bytes);
    if (early) {
        world_recv(world, 1, envelope, MASK_EXACT, &target.data, &received);
    }
    world_send(world, 0, 1, envelope, &source.data, 0, &sent);
    assert_false(forged_has(world->ctx[0], AM_HANDLE_REGION));
    if (!early) {
        world_polls(world, 50);
        assert_int_equal(sent.count, 0);
        world_recv(world, 1, envelope, MASK_EXACT, &target.data, &received);
    }
    world_wait(world, &received);
    world_wait(world, &sent);
    assert_int_equal(received.status.status,
                     room < bytes ? AM_ERR_TRUNCATE : AM_OK);
    shaped_check(&target, (uint32_t)bytes, room < bytes ? room : bytes);
    shaped_close(&source);
    shaped_close(&target);
}

static void all(struct world *world, int shape)
{
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        one(world, shape, sizes[i], sizes[i], true);
        one(world, shape, sizes[i], sizes[i], false);
        one(world, shape, sizes[i], sizes[i] / 2, true);
        one(world, shape, sizes[i], sizes[i] / 2, false);
    }
    world_settle(world);
    for (int rank = 0; rank < 2; rank++) {
        assert_false(forged_has(world->ctx[rank], AM_HANDLE_REGION));
        assert_int_equal(am_msg_of(world->ctx[rank])->fetches, 0);
    }
}

static void test_fetched(void **state)
{
    struct world world;

    if (!open_world(&world, fetched)) {
        world_close(&world);
        skip();
    }
    all(&world, SHAPE_CONTIG);
    assert_in_range(world_counter(&world, 1, "device_gets"),
                    2 * sizeof(sizes) / sizeof(sizes[0]), 1000);
    assert_int_equal(world_counter(&world, 0, "device_puts"), 0);
    world_close(&world);
}

static void test_not_allowed(void **state)
{
    struct world world;

    if (!open_world(&world, refused)) {
        world_close(&world);
        skip();
    }
    for (int shape = 0; shape < SHAPE_COUNT; shape++) {
        all(&world, shape);
    }
    assert_int_equal(world_counter(&world, 1, "device_gets"), 0);
    world_close(&world);
}

static void test_in_pieces(void **state)
{
    struct world world;

    if (!open_world(&world, fetched)) {
        world_close(&world);
        skip();
    }
    all(&world, SHAPE_IOV);
    all(&world, SHAPE_PACK);
    /* but a byte, which is in no pieces */
    assert_in_range(world_counter(&world, 1, "device_gets"), 0, 4);
    world_close(&world);
}

/* The receiver has asked for a put when its peer dies, or the sender's does: each is told,
 * once. */
static void test_death(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 5};

    for (uint32_t told = 0; told < 2; told++) {
        struct shaped source, target;
        struct ended sent, received;
        struct world world;

        if (!open_world(&world, refused)) {
            world_close(&world);
            skip();
        }
        world_polls(&world, 2000);
        shaped_open(&source, SHAPE_CONTIG, 1 << 20);
        shaped_open(&target, SHAPE_IOV, 1 << 20);
        world_recv(&world, 1, envelope, MASK_EXACT, &target.data, &received);
        world_send(&world, 0, 1, envelope, &source.data, 0, &sent);
        for (int i = 0; i < 64; i++) {
            (void)am_ctx_poll(world.ctx[1]); /* its answer is on the way */
        }
        world.ctx[told]->polling = true;
        am_peer_dead(world.ctx[told]->peers[1 - told], "this test says so");
        world.ctx[told]->polling = false;
        for (int i = 0; i < 1000; i++) {
            (void)am_ctx_poll(world.ctx[told]);
        }
        assert_int_equal(told == 0 ? sent.count : received.count, 1);
        assert_int_equal(told == 0 ? sent.status.status
                                   : received.status.status,
                         AM_ERR_PEER);
        am_close(world.ctx[0]);
        am_close(world.ctx[1]);
        shaped_close(&source);
        shaped_close(&target);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_fetched),
            cmocka_unit_test(test_not_allowed),
            cmocka_unit_test(test_in_pieces),
            cmocka_unit_test(test_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
