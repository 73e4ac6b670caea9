/*
 * How much of a large data ring is used: its front while the receiver keeps
 * up, more of it by and by, all of it at once where the receiver is behind.
 * Pages that exist are counted, since a page costs both sides a fault.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    H_CHECK = AM_HANDLER_USER,
    RING_BYTES = 1 << 20,
    PAYLOAD_MOST = 16 << 10
};

static struct {
    uint32_t arrived;
    uint32_t wrong;
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

static struct shm_tx *sender(struct world *world)
{
    struct shm_dev *dev = shm_dev_of(world->ctx[0]->devs[0]);

    return &shm_ep_of_local(dev, 1)->tx[AM_DEV_REQUEST];
}

/* Pages of the sender's ring that exist. */
static uint32_t ring_pages(struct world *world)
{
    unsigned char there[RING_BYTES / SHM_PAGE + 1];
    uintptr_t from =
            (uintptr_t)sender(world)->data & ~(uintptr_t)(SHM_PAGE - 1);
    uint32_t count = 0;

    assert_int_equal(mincore((void *)from, sizeof(there) * SHM_PAGE, there), 0);
    for (size_t i = 0; i < sizeof(there); i++) {
        count += there[i] & 1;
    }
    return count;
}

/* A receiver that keeps up: thousands of messages in a few pages. */
static void test_kept_up(void **state)
{
    struct world world;

    open_two(&world);
    for (uint64_t i = 0; i < 4000; i++) {
        assert_true(send_one(&world, i, 200));
        world_poll(&world);
    }
    world_settle(&world);
    assert_int_equal(got.arrived, 4000);
    assert_int_equal(got.wrong, 0);
    /* 4000 * 256 bytes are 250 pages; the front has 8 */
    assert_in_range(ring_pages(&world), 1, 10);
    world_close(&world);
}

/* After enough payload the whole ring is used, a page for many of payload. */
static void test_by_and_by(void **state)
{
    struct world world;
    uint64_t sent = 0, bytes = 0;

    open_two(&world);
    while (bytes < (uint64_t)2 * SHM_FRONT_LAPS * RING_BYTES) {
        assert_true(send_one(&world, sent++, 4000));
        bytes += 4096;
        world_poll(&world);
        if (bytes % (1 << 20) == 0) {
            assert_true((uint64_t)ring_pages(&world) * SHM_PAGE <=
                        2 * SHM_FRONT_BYTES + 4 * bytes / SHM_FRONT_LAPS);
        }
    }
    world_settle(&world);
    assert_int_equal(got.arrived, sent);
    assert_int_equal(got.wrong, 0);
    assert_true(ring_pages(&world) >= RING_BYTES / SHM_PAGE);
    world_close(&world);
}

/* A receiver that is behind: no message waits while the ring has room. */
static void test_behind(void **state)
{
    struct world world;
    struct shm_tx *tx;
    uint64_t sent = 0;

    open_two(&world);
    tx = sender(&world);
    while (tx->data_limit - tx->data_tail >= PAYLOAD_MOST) {
        assert_true(send_one(&world, sent++, PAYLOAD_MOST));
    }
    assert_int_equal(sent, RING_BYTES / PAYLOAD_MOST);
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

    open_two(&world);
    for (int i = 0; i < 20000; i++) {
        uint32_t burst = am_prng_below(&prng, 16) == 0 ? 200 : 2;

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

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_kept_up),
            cmocka_unit_test(test_by_and_by),
            cmocka_unit_test(test_behind),
            cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
