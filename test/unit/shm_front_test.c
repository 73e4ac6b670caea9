/*
 * How much of a large data ring is used: its front while the receiver keeps
 * up, what is made for a stream, all of it in the end where that gains something, and
 * at once where the receiver is behind.
 * Pages that exist are counted, since a page costs both sides a fault.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    H_CHECK = AM_HANDLER_USER,
    RING_BYTES = 1 << 20,
    PAYLOAD_MOST = 16 << 10,
    FRONT_PAGES =
            SHM_FRONT_MADE / SHM_PAGE + 1 /* and what lies behind the ring */
};

static struct {
    uint32_t arrived;
    uint32_t wrong;
    const void *at; /* the last payload */
} got;

/* The byte at `at` of payload number `number`. */
static unsigned char pattern(uint64_t number, size_t at)
{
    return (unsigned char)(number * 37 + at);
}

static void on_check(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    const unsigned char *payload = data;
    bool right = count == 2 && words[0] == got.arrived && words[1] == bytes;

    for (size_t i = 0; i < bytes && right; i++) {
        right = payload[i] == pattern(words[0], i);
    }
    got.wrong += !right;
    got.at = data;
    got.arrived++;
}

static void open_two(struct world *world)
{
    static const struct am_option large[] = {{"AM_SHM_RING", "1m"}, {NULL}};
    const struct am_option *options[] = {large, large};

    memset(&got, 0, sizeof(got));
    world_open(world, 2, options);
    world_settle(world);
    am_handler_register(world->ctx[1], H_CHECK, on_check, NULL, "check");
}

/* Send payload number `number`; false: no room. */
static bool send_one(struct world *world, uint64_t number, size_t bytes)
{
    static _Alignas(64) unsigned char payload[PAYLOAD_MOST];
    uint64_t words[2] = {number, bytes};

    for (size_t i = 0; i < bytes; i++) {
        payload[i] = pattern(number, i);
    }
    return am_ctx_try_request(world->ctx[0], 1, H_CHECK, words, 2, payload,
                              bytes) == AM_OK;
}

static struct shm_dev *sender_dev(struct world *world)
{
    return shm_dev_of(world->ctx[0]->devs[0]);
}

static struct shm_tx *sender(struct world *world)
{
    return &shm_ep_of_local(sender_dev(world), 1)->tx[AM_DEV_REQUEST];
}

/* The first page of the sender's ring. */
static char *ring_begin(struct world *world)
{
    char *data = sender(world)->data;

    return data - (uintptr_t)data % SHM_PAGE;
}

/* Where pages are dear no more of the ring is made ahead of need: what was is given back. */
static void open_dear(struct world *world)
{
    open_two(world);
    sender(world)->made = SHM_FRONT_MADE;
    assert_int_equal(madvise(ring_begin(world) + SHM_FRONT_MADE + SHM_PAGE,
                             RING_BYTES - SHM_FRONT_MADE, MADV_REMOVE),
                     0);
}

static bool is_near(struct world *world)
{
    return shm_ep_of_local(sender_dev(world), 1)->ep.near;
}

/* Pages of the sender's ring that exist. */
static uint32_t ring_pages(struct world *world)
{
    unsigned char there[RING_BYTES / SHM_PAGE + 1];
    uint32_t count = 0;

    assert_int_equal(
            mincore(ring_begin(world), sizeof(there) * SHM_PAGE, there), 0);
    for (size_t i = 0; i < sizeof(there); i++) {
        count += there[i] & 1;
    }
    return count;
}

/* A receiver that keeps up: thousands of messages in a few pages. */
static void test_kept_up(void **state)
{
    struct world world;

    open_dear(&world);
    for (uint64_t i = 0; i < 4000; i++) {
        assert_true(send_one(&world, i, 200));
        world_poll(&world);
    }
    world_settle(&world);
    assert_int_equal(got.arrived, 4000);
    assert_int_equal(got.wrong, 0);
    /* 4000 * 1280 bytes are 1250 pages */
    assert_in_range(ring_pages(&world), 1, FRONT_PAGES);
    world_close(&world);
}

/* Whatever things take here: a page of a ring so much, and to load a line of the
 * receiver's at most so much where the cores count as near. */
static void set_costs(struct world *world, uint64_t page_ps, uint64_t near_ps)
{
    sender_dev(world)->page_ps = page_ps;
    sender_dev(world)->near_ps = near_ps;
}

/* Send so many packets of 8 KiB, each received at once; the first, which opens the
 * lane, after some polls. */
static void send_packets(struct world *world, uint64_t *sent, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        assert_true(send_one(world, (*sent)++, 8192));
        if (*sent == 1) {
            world_settle(world);
        }
        world_poll(world);
    }
}

/* What a page costs here. */
static const uint64_t cost_ps = UINT64_C(1000000);

enum {
    RING_PACKETS = RING_BYTES / 8192,
    PACKET_PAGES = 8192 / SHM_PAGE,
    TIMED_PACKETS =
            16 * SHM_FRONT_MADE / 8192 /* one lap in 16 counts for all */
};

/* When as many pages have gone through the front as the ring's pages are worth, the whole
 * ring is used. */
static void test_by_and_by(void **state)
{
    const uint64_t worth =
            shm_front_worth(RING_BYTES - SHM_FRONT_MADE, cost_ps);
    struct world world;
    uint64_t sent = 0;

    open_dear(&world);
    send_packets(&world, &sent, 1);
    set_costs(&world, cost_ps, UINT64_MAX);
    send_packets(&world, &sent, worth / PACKET_PAGES - TIMED_PACKETS);
    assert_in_range(ring_pages(&world), 1, FRONT_PAGES);
    send_packets(&world, &sent, 100 * RING_PACKETS);
    assert_true(ring_pages(&world) >= RING_BYTES / SHM_PAGE);
    world_settle(&world);
    assert_int_equal(got.arrived, sent);
    assert_int_equal(got.wrong, 0);
    world_close(&world);
}

/* What the last look at the receiver's line took tells how far it is, with a short
 * front as with the whole ring. */
static void test_near(void **state)
{
    struct world world;
    uint64_t sent = 0;

    open_dear(&world);
    send_packets(&world, &sent, 1);
    assert_false(is_near(&world));
    for (int i = 0; i < 2; i++) {
        set_costs(&world, cost_ps, UINT64_MAX);
        send_packets(&world, &sent, 17 * RING_PACKETS);
        assert_true(is_near(&world));
        set_costs(&world, cost_ps, 0);
        send_packets(&world, &sent, 17 * RING_PACKETS);
        assert_false(is_near(&world));
        set_costs(&world, 0, UINT64_MAX);
        send_packets(&world, &sent, 100 * RING_PACKETS);
        assert_int_equal(sender(&world)->front_bytes, RING_BYTES);
    }
    assert_int_equal(got.wrong, 0);
    world_close(&world);
}

/* Who only receives looks at what it receives. */
static void test_near_receiver(void **state)
{
    struct world world;
    struct shm_dev *dev;
    const struct shm_ep *ep;
    uint64_t sent = 0;

    (void)state;
    open_dear(&world);
    dev = shm_dev_of(world.ctx[1]->devs[0]);
    ep = shm_ep_of_local(dev, 0);
    assert_false(ep->ep.near);
    for (int i = 0; i < 3; i++) {
        dev->near_ps = UINT64_MAX;
        send_packets(&world, &sent, 2 * 61);
        assert_true(ep->ep.near);
        dev->near_ps = 0;
        send_packets(&world, &sent, 2 * 61);
        assert_false(ep->ep.near);
    }
    assert_int_equal(got.wrong, 0);
    world_close(&world);
}

/* Cores that share no cache gain nothing by more than the front. */
static void test_far(void **state)
{
    struct world world;
    uint64_t sent = 0;

    open_dear(&world);
    send_packets(&world, &sent, 1);
    set_costs(&world, cost_ps, 0);
    send_packets(&world, &sent, 2 * shm_front_worth(RING_BYTES, cost_ps));
    world_settle(&world);
    assert_int_equal(got.arrived, sent);
    assert_int_equal(got.wrong, 0);
    assert_in_range(ring_pages(&world), 1, FRONT_PAGES);
    world_close(&world);
}

/* Short payloads gain nothing either. */
static void test_short(void **state)
{
    struct world world;

    open_dear(&world);
    assert_true(send_one(&world, 0, 500));
    world_settle(&world);
    set_costs(&world, cost_ps, UINT64_MAX);
    for (uint64_t i = 1; i < 2 * shm_front_worth(RING_BYTES, cost_ps); i++) {
        assert_true(send_one(&world, i, 500));
        world_poll(&world);
    }
    world_settle(&world);
    assert_int_equal(got.wrong, 0);
    assert_in_range(ring_pages(&world), 1, FRONT_PAGES);
    world_close(&world);
}

/* The dearer a page, the more goes through the front first, but not for ever. */
static void test_dear_pages(void **state)
{
    uint64_t before = shm_front_worth(RING_BYTES, 0);

    assert_true(before >= 4 * RING_PACKETS && before <= 64 * RING_PACKETS);
    for (uint64_t page_ps = 1000; page_ps < UINT64_C(1) << 62; page_ps *= 2) {
        uint64_t worth = shm_front_worth(RING_BYTES, page_ps);

        assert_true(worth >= before);
        before = worth;
    }
    assert_true(before > 100 * RING_PACKETS &&
                before < (uint64_t)2000 * RING_PACKETS);
    assert_true(shm_front_worth(UINT32_C(1) << 30, UINT64_MAX) >
                UINT32_MAX / 64);
}

/* Where the receiver expects the next short payload is where it comes, but for the
 * start of a lap; after a longer one, and after a while of packets without one, it
 * expects none. */
static void test_expected(void **state)
{
    struct shm_dev *dev;
    struct world world;
    const char *expected = NULL;
    uint64_t sent = 0, missed = 0;

    open_dear(&world);
    dev = shm_dev_of(world.ctx[1]->devs[0]);
    for (; sent < 4000; sent++) {
        assert_true(send_one(&world, sent, 64));
        world_poll(&world);
        if (sent == 0) {
            world_settle(&world);
        }
        missed += got.at != expected;
        expected = dev->expected;
    }
    /* each takes a line, and a slot; the first is not expected */
    assert_in_range(missed, 1,
                    1 + 4000 * SHM_LINE / SHM_FRONT_FIRST + 4000 / 64);
    assert_true(send_one(&world, sent++, 1000));
    world_settle(&world);
    assert_null(dev->expected);
    assert_true(send_one(&world, sent++, 64));
    world_settle(&world);
    assert_non_null(dev->expected);
    for (int i = 0; i < 300; i++) {
        assert_true(send_one(&world, sent++, 1));
        world_poll(&world);
    }
    world_settle(&world);
    assert_null(dev->expected);
    assert_int_equal(got.arrived, sent);
    assert_int_equal(got.wrong, 0);
    world_close(&world);
}

/* Lines are fetched once: the front's first lap is, and no other. */
static void test_fetched(void **state)
{
    struct world world;
    struct shm_tx *tx;
    uint32_t before = 0;
    uint64_t sent = 0;

    open_dear(&world);
    tx = sender(&world);
    while (tx->data_tail < RING_BYTES) {
        assert_true(tx->fetched >= before);
        assert_true(tx->fetched <= tx->front_bytes);
        before = tx->fetched;
        assert_true(send_one(&world, sent++, 200));
        world_settle(&world);
    }
    assert_true(before > tx->front_bytes - SHM_PAGE);
    before = tx->fetched;
    for (int i = 0; i < 100; i++) {
        assert_true(send_one(&world, sent++, 200));
        world_settle(&world);
    }
    assert_int_equal(tx->fetched, before);
    world_close(&world);
}

/* A receiver that is behind: at first packets wait for it when the pages that were
 * made ahead are full; when they have waited enough, the ring is used whole. */
static void test_behind(void **state)
{
    struct world world;
    struct shm_tx *tx;
    uint64_t sent = 0, before;

    open_dear(&world);
    set_costs(&world, 1, UINT64_MAX);
    tx = sender(&world);
    while (send_one(&world, sent, PAYLOAD_MOST)) {
        sent++;
    }
    assert_int_equal(tx->front_bytes, SHM_FRONT_MADE);
    for (int i = 0; i < 100000 && tx->front_bytes < RING_BYTES; i++) {
        if (send_one(&world, sent, PAYLOAD_MOST)) {
            sent++;
        } else {
            world_poll(&world);
        }
    }
    assert_int_equal(tx->front_bytes, RING_BYTES);
    world_settle(&world);
    before = sent;
    while (send_one(&world, sent, PAYLOAD_MOST)) {
        sent++;
    }
    assert_true(sent - before >= RING_BYTES / PAYLOAD_MOST - 1);
    world_settle(&world);
    assert_int_equal(got.arrived, sent);
    assert_int_equal(got.wrong, 0);
    world_close(&world);
}

/* Any sizes, a receiver that is ahead or behind by turns. */
static void test_random(void **state)
{
    struct am_prng prng = test_prng("shm_front_test random");
    struct world world;
    uint64_t sent = 0;

    open_dear(&world);
    for (int i = 0; i < 20000; i++) {
        uint32_t burst = am_prng_below(&prng, 16) == 0 ? 200 : 2;

        set_costs(&world, am_prng_below(&prng, 2) == 0 ? 1 : UINT64_MAX,
                  am_prng_below(&prng, 2) == 0 ? 0 : UINT64_MAX);
        for (uint32_t j = am_prng_below(&prng, burst); j > 0; j--) {
            uint32_t most = am_prng_below(&prng, 8) == 0 ? PAYLOAD_MOST : 600;

            sent += send_one(&world, sent, am_prng_below(&prng, most + 1));
        }
        if (am_prng_below(&prng, 4) != 0) {
            world_poll(&world);
        }
    }
    world_settle(&world);
    assert_true(sent > 20000);
    assert_int_equal(got.arrived, sent);
    assert_int_equal(got.wrong, 0);
    world_close(&world);
}

/* All make as much ahead as the first to know has said, if that can be. */
static void test_made_as_said(void **state)
{
    static const uint32_t said[] = {
            SHM_FRONT_MADE,     RING_BYTES,     1,
            3 * SHM_FRONT_MADE, 2 * RING_BYTES, UINT32_MAX};
    struct world world;
    struct shm_seg *segs[2];
    uint32_t made;

    open_two(&world);
    for (int i = 0; i < 2; i++) {
        segs[i] =
                shm_ep_of_local(shm_dev_of(world.ctx[i]->devs[0]), 1 - i)->seg;
    }
    made = segs[0]->made_bytes;
    assert_int_equal(segs[1]->made_bytes, made);
    for (size_t k = 0; k < sizeof(said) / sizeof(said[0]); k++) {
        atomic_store(&shm_seg_rank(segs[0], 0)->made_bytes, said[k]);
        shm_seg_pages_make(segs[1]);
        made = segs[1]->made_bytes;
        if (k < 2) {
            assert_int_equal(made, said[k]);
        }
        assert_in_range(made, SHM_FRONT_MADE, RING_BYTES);
        assert_int_equal(made & (made - 1), 0);
    }
    world_close(&world);
}

/* Where pages are cheap more of the ring is made, and long packets use all that is. */
static void test_made(void **state)
{
    struct world world;
    const struct shm_tx *tx;

    open_two(&world);
    tx = sender(&world);
    assert_in_range(tx->made, SHM_FRONT_MADE, RING_BYTES);
    assert_int_equal(tx->made & (tx->made - 1), 0);
    if (sender_dev(&world)->page_ps > UINT64_C(40000000)) { /* or was more */
        assert_int_equal(tx->made, SHM_FRONT_MADE);
    }
    assert_true(send_one(&world, 0, SHM_PAGE));
    world_settle(&world);
    assert_int_equal(tx->front_bytes, SHM_FRONT_FIRST);
    assert_true(send_one(&world, 1, 2 * SHM_PAGE));
    assert_int_equal(tx->front_bytes, SHM_FRONT_FIRST); /* it is not full */
    for (uint64_t i = 2; i < 10; i++) {
        world_settle(&world);
        assert_true(send_one(&world, i, 2 * SHM_PAGE));
    }
    assert_int_equal(tx->front_bytes, tx->made);
    world_close(&world);
}

static void on_answer(struct am_token *token, const uint64_t *words,
                      uint32_t count, void *data, size_t bytes)
{
}

/* A stream has more than a short front, if that is made, wherever the receiver is, though it
 * keeps up; packets that are answered one by one keep to the short one. */
static void test_stream(void **state)
{
    for (int answers = 0; answers < 2; answers++) {
        const uint64_t word = 0;
        const struct shm_tx *tx;
        struct world world;

        open_dear(&world);
        am_handler_register(world.ctx[0], H_CHECK, on_answer, NULL, "answer");
        assert_true(send_one(&world, 0, 1024));
        world_settle(&world);
        set_costs(&world, cost_ps, 0);
        tx = sender(&world);
        for (uint64_t i = 1; i < 1000; i++) {
            assert_true(send_one(&world, i, 1024));
            world_poll(&world);
            if (answers != 0) {
                assert_int_equal(am_ctx_try_request(world.ctx[1], 0, H_CHECK,
                                                    &word, 1, NULL, 0),
                                 AM_OK);
                world_poll(&world);
            }
        }
        assert_int_equal(tx->front_bytes,
                         answers != 0 ? SHM_FRONT_FIRST : SHM_FRONT_MADE);
        assert_int_equal(tx->made, SHM_FRONT_MADE);
        assert_in_range(ring_pages(&world), 1, FRONT_PAGES);
        world_settle(&world);
        assert_int_equal(got.arrived, 1000);
        assert_int_equal(got.wrong, 0);
        world_close(&world);
    }
}

/* Of a large ring for replies nothing is made ahead, and nobody takes it for made. */
static void test_reply(void **state)
{
    static const struct am_option list[] = {{"AM_SHM_RING", "4m"}, {NULL}};
    const struct am_option *options[] = {list, list};
    const struct shm_tx *tx;
    struct world world;

    (void)state;
    world_open(&world, 2, options);
    world_settle(&world);
    tx = &shm_ep_of_local(sender_dev(&world), 1)->tx[AM_DEV_REPLY];
    assert_int_equal(tx->ring_bytes, RING_BYTES);
    assert_int_equal(tx->made, 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_made_as_said),
            cmocka_unit_test(test_made),
            cmocka_unit_test(test_kept_up),
            cmocka_unit_test(test_by_and_by),
            cmocka_unit_test(test_far),
            cmocka_unit_test(test_short),
            cmocka_unit_test(test_dear_pages),
            cmocka_unit_test(test_behind),
            cmocka_unit_test(test_random),
            cmocka_unit_test(test_expected),
            cmocka_unit_test(test_fetched),
            cmocka_unit_test(test_near),
            cmocka_unit_test(test_reply),
            cmocka_unit_test(test_stream),
            cmocka_unit_test(test_near_receiver),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
