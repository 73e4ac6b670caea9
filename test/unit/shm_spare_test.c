/*
 * Pages of a small data ring: a lane that keeps up uses the first ones only, and longer
 * messages are copied once until that has cost as much more as new pages do
 * (am/spare.h).
 */
#include "support/cm.h"
#include "support/coll_trial.h"
#include "support/pagemap.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"

#include <am.h>

enum {
    RANKS = 5, /* the pages of so many are not made ahead */
    H_COUNT = AM_HANDLER_USER,
    LONG_BYTES = 16 * 1024
};

#define PRICELESS UINT64_C(1000000000) /* fs: 1 us for each byte */

static struct am_prng prng;
static uint32_t came, came_wrong;

static struct shm_dev *dev_of(struct world *world, uint32_t rank)
{
    return shm_dev_of(world->ctx[rank]->devs[0]);
}

/* Pages of the ring from 0 to 1 that are mapped. */
static uint32_t ring_pages(struct world *world)
{
    struct shm_seg *seg = dev_of(world, 0)->job;

    return mapped_pages(shm_seg_rings(seg, 1, 0),
                        seg->header.ring_bytes[AM_DEV_REQUEST]);
}

/* A world whose new pages cost so much for each byte, whatever they take. */
static void priced_open(struct world *world, const struct am_option *options,
                        uint64_t byte_fs)
{
    const struct am_option *all[] = {options, options, options, options,
                                     options};

    world_open(world, RANKS, all);
    world_settle(world);
    for (uint32_t i = 0; i < RANKS; i++) {
        dev_of(world, i)->page_ps = 1;
        dev_of(world, i)->pages.byte_fs = byte_fs;
    }
}

static void on_count(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    came_wrong += count != 1 || words[0] != came || bytes == 0 ||
                  ((char *)data)[0] != (char)came ||
                  ((char *)data)[bytes - 1] != (char)came;
    came++;
}

/* A world in which rank 1 counts the payloads that come. */
static void counting_open(struct world *world)
{
    came = came_wrong = 0;
    world_open(world, RANKS, NULL);
    world_settle(world);
    am_handler_register(world->ctx[1], H_COUNT, on_count, NULL, "count");
}

/* One more payload from 0 to 1. */
static am_status_t payload_try(struct world *world, uint32_t number,
                               size_t bytes)
{
    static char payload[SHM_PAGE];
    uint64_t word = number;

    memset(payload, (char)number, bytes);
    return am_ctx_try_request(world->ctx[0], 1, H_COUNT, &word, 1, payload,
                              bytes);
}

static void payload_send(struct world *world, uint32_t number, size_t bytes)
{
    assert_int_equal(payload_try(world, number, bytes), AM_OK);
}

/* Payloads that are read before the next comes stay in the first pages; those that wait
 * get new ones, in order.  What the receiver has said is sound all the time, also when
 * the sender has begun again and it has not come there. */
static void test_first_pages(void **state)
{
    struct world world;
    struct shm_tx *tx;
    uint32_t sent = 0;

    counting_open(&world);
    for (; sent < 1000; sent++) {
        payload_send(&world, sent, 100 + am_prng_next(&prng) % 1000);
        tx = &dev_of(&world, 0)->job->eps[1]->tx[AM_DEV_REQUEST];
        assert_true(shm_tx_refresh(tx));
        world_polls(&world, 1);
    }
    world_settle(&world);
    assert_int_equal(came, sent);
    assert_in_range(ring_pages(&world), 1, 2);
    assert_true(dev_of(&world, 0)->page_ps > 0);
    for (; sent < 1020; sent++) {
        payload_send(&world, sent, SHM_PAGE);
    }
    assert_in_range(ring_pages(&world), 20, 32);
    world_settle(&world);
    assert_int_equal(came, sent);
    assert_int_equal(came_wrong, 0);
    world_close(&world);
}

/* The same where each finds the one before it unread: in a burst after that the ring is
 * full once, and from then on all of it is used. */
static void test_two_on_their_way(void **state)
{
    struct world world;
    struct shm_tx *tx;
    uint32_t sent = 0;

    counting_open(&world);
    for (; sent < 1000; sent++) {
        payload_send(&world, sent, SHM_PAGE - 100);
        for (int i = 0; came < sent; i++) {
            assert_true(i < 1000);
            (void)shm_poll(&dev_of(&world, 1)->base, 1);
        }
    }
    tx = &dev_of(&world, 0)->job->eps[1]->tx[AM_DEV_REQUEST];
    assert_int_equal(came, sent - 1);
    assert_in_range(ring_pages(&world), 2, 4);
    assert_false(tx->tight);
    for (int burst = 0; burst < 2; burst++) {
        while (payload_try(&world, sent, SHM_PAGE - 100) == AM_OK) {
            sent++;
        }
        assert_true(tx->tight);
        world_settle(&world);
        assert_int_equal(came, sent);
    }
    assert_true(tx->made == tx->ring_bytes);
    assert_int_equal(came_wrong, 0);
    world_close(&world);
}

/* One message of the kind from 0 to 1, whose receive is there. */
static void message(struct world *world, size_t bytes, uint32_t seed)
{
    struct am_msg_envelope envelope = {.source = 0, .tag = seed};
    struct ended sent = {0}, got = {0};
    struct shaped from, to;

    shaped_open(&from, SHAPE_CONTIG, bytes);
    shaped_open(&to, SHAPE_CONTIG, bytes);
    shaped_fill(&from, seed);
    world_recv(world, 1, envelope, MASK_EXACT, &to.data, &got);
    world_send(world, 0, 1, envelope, &from.data, 0, &sent);
    world_wait(world, &got);
    world_wait(world, &sent);
    shaped_check(&to, seed, bytes);
    shaped_close(&from);
    shaped_close(&to);
}

static uint64_t spared(struct world *world)
{
    return world_counter(world, 0, "spared");
}

/* While pages are dear each long message is copied once, and short ones are not; when
 * they cost nothing the next long one uses them, and so do all that are no longer. */
static void test_rent_and_buy(void **state)
{
    struct world world;

    priced_open(&world, NULL, PRICELESS);
    for (uint32_t i = 0; i < 20; i++) {
        message(&world, LONG_BYTES, i);
        message(&world, 2000, i);
    }
    assert_int_equal(spared(&world), 20);
    assert_int_equal(world_counter(&world, 1, "device_gets"), 20);
    assert_in_range(ring_pages(&world), 1, 2);
    dev_of(&world, 0)->pages.byte_fs = 0;
    message(&world, LONG_BYTES, 20);
    dev_of(&world, 0)->pages.byte_fs = PRICELESS;
    message(&world, LONG_BYTES, 21);
    assert_int_equal(spared(&world), 20);
    assert_in_range(ring_pages(&world), 4, 8);
    message(&world, 2 * LONG_BYTES, 22);
    assert_int_equal(spared(&world), 21);
    world_close(&world);
}

/* What the ring does not hold is copied once where ranks share cores, though pages cost
 * nothing. */
static void test_longer_than_ring(void **state)
{
    struct world world;
    uint32_t ring_bytes;

    priced_open(&world, NULL, 0);
    ring_bytes = dev_of(&world, 0)->job->header.ring_bytes[AM_DEV_REQUEST];
    shm_costs_crowd(dev_of(&world, 0), true, 1000);
    message(&world, LONG_BYTES, 1);
    assert_int_equal(spared(&world), 0);
    message(&world, ring_bytes, 2);
    message(&world, ring_bytes, 3);
    assert_int_equal(spared(&world), 2);
    world_close(&world);
}

/* 8 KiB of new pages at 10 ns a byte are worth 82 us of copies, each of which takes one or
 * a few more than a stream. */
static void test_price(void **state)
{
    struct world world;
    uint32_t count = 0;

    priced_open(&world, NULL, UINT64_C(10000000));
    while (spared(&world) == count) {
        message(&world, LONG_BYTES, count++);
        assert_true(count < 1000);
    }
    assert_in_range(spared(&world), 1, 200);
    world_close(&world);
}

/* The user says how messages go, or the device cannot copy them. */
static void test_not(void **state)
{
    static const struct am_option eager[] = {{"AM_PROTO", "eager"}, {NULL}};
    static const struct am_option off[] = {{"AM_SHM_CMA", "off"}, {NULL}};
    const struct am_option *options[] = {eager, off};
    struct world world;
    am_status_t status;

    for (int i = 0; i < 2; i++) {
        priced_open(&world, options[i], PRICELESS);
        message(&world, LONG_BYTES, 1);
        assert_int_equal(spared(&world), 0);
        world_close(&world);
    }
    world_open(&world, 2, NULL); /* whose pages are made */
    assert_true(am_peer_ready_bytes(am_peer_get(world.ctx[0], 1, &status)) ==
                SIZE_MAX);
    message(&world, LONG_BYTES, 1);
    assert_int_equal(spared(&world), 0);
    world_close(&world);
}

/* The messages of collectives, of one packet and of several. */
static void test_collective(void **state)
{
    static const uint32_t all[] = {0, 1, 2, 3, 4};
    struct trial first = {.kind = AM_COLL_BARRIER};
    struct trial_group tg;
    struct world world;

    priced_open(&world, NULL, PRICELESS);
    trial_group_open(&tg, &world, 1, all, RANKS);
    trial(&tg, &first, &prng);
    trial_force(&tg, AM_COLL_ALLTOALL, "staggered");
    for (uint32_t i = 1; i <= 2; i++) {
        struct trial t = {.kind = AM_COLL_ALLTOALL,
                          .count = i == 1 ? LONG_BYTES : 100000,
                          .is_late = i == 1};

        trial(&tg, &t, &prng);
        assert_int_equal(world_counter(&world, 0, "device_gets"), RANKS - 1);
        assert_int_equal(world_counter(&world, 0, "device_puts"),
                         (i - 1) * (RANKS - 1));
        assert_int_equal(spared(&world), i * (RANKS - 1));
    }
    assert_in_range(ring_pages(&world), 0, 2);
    trial_group_close(&tg);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_first_pages),
            cmocka_unit_test(test_two_on_their_way),
            cmocka_unit_test(test_rent_and_buy),
            cmocka_unit_test(test_longer_than_ring),
            cmocka_unit_test(test_price),
            cmocka_unit_test(test_not),
            cmocka_unit_test(test_collective),
    };

    prng = test_prng("shm_spare_test");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
