/*
 * A lane of shared memory whose words are wrong: both its ends find out, say so
 * by an error that names the other, and no other rank sees anything of it.
 */
#include "support/cm.h"
#include "support/shm_two.h"

#include <am.h>
#include <stdio.h>
#include <string.h>

/* What polls do now and then by the clock. */
static void look(struct am_ctx *ctx)
{
    struct am_dev *dev = ctx->devs[0];

    dev->ops->check(dev);
}

/* Rank `at` knows that its lane to `peer` is broken: its sends say so. */
static void assert_told(struct world *world, uint32_t at, uint32_t peer)
{
    struct am_ctx *ctx = world->ctx[at];
    uint64_t word = 0;
    char rank[16];

    snprintf(rank, sizeof(rank), "rank %u", peer);
    assert_non_null(strstr(am_error_text(ctx), rank));
    assert_non_null(strstr(am_error_text(ctx), "shared memory lane"));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
                am_ctx_request(ctx, peer, AM_HANDLER_USER, &word, 1, NULL, 0),
                AM_ERR_PEER);
    }
    assert_true(am_peer_is_dead(ctx, peer));
}

/* A poll of rank 0 and one of rank 1 tell that the lane of the two is broken,
 * and no poll of another. */
static void assert_broken(struct world *world)
{
    bool told[WORLD_MAX] = {false};

    for (int i = 0; i < 200; i++) {
        uint32_t rank = (uint32_t)i % world->size;
        int status = am_ctx_poll(world->ctx[rank]);

        assert_true(status >= 0 || status == AM_ERR_PEER);
        told[rank] = told[rank] || status < 0;
    }
    for (uint32_t rank = 0; rank < world->size; rank++) {
        assert_int_equal(told[rank], rank < 2);
    }
    assert_told(world, 0, 1);
    assert_told(world, 1, 0);
}

struct lanes {
    struct shm_dev *dev[2];
    struct shm_ep *ep[2]; /* of rank 0 to 1, and back */
};

static void look_at_both(struct lanes *lanes)
{
    for (int i = 0; i < 4; i++) {
        shm_look(lanes->dev[i % 2]);
    }
}

static struct shm_slot *last_sent(struct lanes *lanes)
{
    return lanes->ep[0]->tx[AM_DEV_REQUEST].next - 1;
}

static void spoil_kind(struct lanes *lanes)
{
    atomic_fetch_xor(&last_sent(lanes)->ctl, 1ull << 60);
}

static void spoil_hdr_bytes(struct lanes *lanes)
{
    atomic_fetch_add(&last_sent(lanes)->ctl, 8ull << 32);
}

static void spoil_bytes(struct lanes *lanes)
{
    atomic_fetch_add(&last_sent(lanes)->ctl, 1ull << 40);
}

/* As if it had not been sent. */
static void spoil_stamp_old(struct lanes *lanes)
{
    atomic_fetch_sub(&last_sent(lanes)->ctl, 1);
}

static void spoil_stamp_far(struct lanes *lanes)
{
    atomic_fetch_xor(&last_sent(lanes)->ctl, 0x80000000);
}

static void spoil_all(struct lanes *lanes)
{
    atomic_store(&last_sent(lanes)->ctl, 0xfedcba9876543210);
}

/* As if the next had been sent already. */
static void spoil_next(struct lanes *lanes)
{
    struct shm_slot *next = last_sent(lanes) + 1;
    uint64_t ctl = atomic_load(&last_sent(lanes)->ctl);

    atomic_store(&next->ctl, (uint32_t)ctl);
}

static void spoil_head(struct lanes *lanes)
{
    atomic_fetch_add(&lanes->ep[0]->tx[AM_DEV_REQUEST].shared->slots, 99);
}

static void spoil_head_back(struct lanes *lanes)
{
    look_at_both(lanes);
    atomic_fetch_sub(&lanes->ep[0]->tx[AM_DEV_REQUEST].shared->slots, 1);
}

static void spoil_head_zero(struct lanes *lanes)
{
    look_at_both(lanes);
    atomic_store(&lanes->ep[0]->tx[AM_DEV_REQUEST].shared->slots, 0);
}

static void spoil_data_head(struct lanes *lanes)
{
    atomic_store(&lanes->ep[0]->tx[AM_DEV_REQUEST].shared->data_bytes, 64);
}

static void spoil_tail(struct lanes *lanes)
{
    atomic_store(&lanes->ep[0]->tail_out->slots[AM_DEV_REQUEST], 1 << 20);
}

static void spoil_tail_zero(struct lanes *lanes)
{
    look_at_both(lanes);
    atomic_store(&lanes->ep[0]->tail_out->slots[AM_DEV_REQUEST], 0);
}

static void spoil_broken(struct lanes *lanes)
{
    atomic_store(&lanes->ep[0]->tail_out->broken, 7);
}

/* One wrong word on the way from rank 0 to rank 1: both are told, and rank 2
 * sees nothing of it. */
static void break_lane(void (*spoil)(struct lanes *lanes))
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}, {NULL, NULL}};
    const struct am_option *options[] = {quiet, quiet, quiet};
    struct world world;
    struct lanes lanes;
    uint32_t got = 0;
    uint64_t word = 1;

    world_open(&world, 3, options);
    world_settle(&world);
    for (uint32_t i = 0; i < 3; i++) {
        am_handler_register(world.ctx[i], AM_HANDLER_USER, shm_two_count, &got,
                            "word");
    }
    for (uint32_t i = 0; i < 9; i++) {
        assert_int_equal(am_ctx_request(world.ctx[i / 3], i % 3,
                                        AM_HANDLER_USER, &word, 1, NULL, 0),
                         AM_OK);
    }
    world_settle(&world);
    assert_int_equal(got, 9);
    for (uint32_t i = 0; i < 2; i++) {
        lanes.dev[i] = shm_of(world.ctx[i]);
        lanes.ep[i] = shm_ep_of(world.ctx[i]->peers[1 - i]->ep);
    }
    look_at_both(&lanes);
    assert_int_equal(am_ctx_try_request(world.ctx[0], 1, AM_HANDLER_USER, &word,
                                        1, NULL, 0),
                     AM_OK);
    spoil(&lanes);
    for (uint32_t i = 0; i < 6; i++) {
        look(world.ctx[i % 3]);
    }
    assert_broken(&world);
    got = 0;
    for (uint32_t i = 0; i < 9; i++) {
        if (i % 3 == i / 3 || i % 3 == 2 || i / 3 == 2) {
            assert_int_equal(am_ctx_request(world.ctx[i / 3], i % 3,
                                            AM_HANDLER_USER, &word, 1, NULL, 0),
                             AM_OK);
        }
    }
    world_settle(&world);
    assert_int_equal(got, 7);
    world_close(&world);
}

static void test_broken_lanes(void **state)
{
    static void (*const spoils[])(struct lanes * lanes) = {
            spoil_kind,      spoil_hdr_bytes, spoil_bytes,     spoil_stamp_old,
            spoil_stamp_far, spoil_all,       spoil_next,      spoil_head,
            spoil_head_back, spoil_head_zero, spoil_data_head, spoil_tail,
            spoil_tail_zero, spoil_broken};

    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        print_message("word %zu\n", i);
        break_lane(spoils[i]);
    }
}

/* A header of more words than handlers are promised does not reach one; who
 * sends it is no sender any more. */
static void test_long_header(void **state)
{
    uint64_t hdr[31] = {AM_HANDLER_USER | 30 << 8};
    struct world world;
    uint64_t bad;
    uint32_t got;

    shm_two_open(&world, &got);
    bad = world_counter(&world, 0, "rx_bad");
    assert_int_equal(shm_send(world.ctx[1]->peers[0]->ep, AM_DEV_REQUEST, hdr,
                              sizeof(hdr), NULL, 0),
                     AM_OK);
    assert_broken(&world);
    assert_int_equal(got, 2);
    assert_int_equal(world_counter(&world, 0, "rx_bad"), bad + 1);
    for (uint32_t i = 0; i < 2; i++) {
        am_close(world.ctx[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_broken_lanes),
            cmocka_unit_test(test_long_header),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
