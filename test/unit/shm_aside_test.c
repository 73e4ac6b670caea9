/*
 * Where payloads lie in the data ring.  In a large ring those of whole pages do not begin
 * in a page's first lines; and wherever in a ring of any length a packet comes to lie, and
 * whether or not it skips the ring's rest, the receiver finds the same bytes.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "base/prng.h"
#include "dev/shm/shm_inl.h"

enum {
    H_CHECK = AM_HANDLER_USER,
    MOST = 16384 - 256,
    TIMES = 3000
};

static struct {
    _Alignas(SHM_PAGE) unsigned char data[MOST + SHM_PAGE];
    uint64_t expected, received;
    size_t at; /* in its page the last one began there */
} test;

static void on_check(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    test.received++;
    assert_int_equal(bytes, test.expected);
    assert_memory_equal(data, test.data + words[0], bytes);
    test.at = (uintptr_t)data % SHM_PAGE;
}

static void send_one(struct world *world, uint64_t at, size_t bytes)
{
    uint64_t words[1] = {at};
    uint64_t before = test.received;
    am_status_t status;

    test.expected = bytes;
    do {
        status = am_ctx_try_request(world->ctx[0], 1, H_CHECK, words, 1,
                                    test.data + at, bytes);
        world_poll(world);
    } while (status == AM_ERR_AGAIN);
    assert_int_equal(status, AM_OK);
    while (test.received == before) {
        world_poll(world);
    }
}

static void open_two(struct world *world, const char *ring)
{
    const struct am_option options[] = {
            {"AM_DEVICES", "shm"}, {"AM_SHM_RING", ring}, {NULL, NULL}};
    const struct am_option *lists[] = {options, options};

    world_open(world, 2, lists);
    world_settle(world);
    am_handler_register(world->ctx[1], H_CHECK, on_check, NULL, "check");
    for (size_t i = 0; i < sizeof(test.data); i++) {
        test.data[i] = (unsigned char)(i * 31 % 251);
    }
}

static void send_any(const char *ring)
{
    struct am_prng prng;
    struct world world;

    open_two(&world, ring);
    am_prng_seed(&prng, 1);
    for (uint32_t i = 0; i < TIMES; i++) {
        /* from the ring's start to a line near it, and then more than is left */
        if (i % 3 == 0) {
            send_one(&world, 0, 65 + 64 * am_prng_below(&prng, 4));
        }
        send_one(&world, am_prng_below(&prng, SHM_PAGE),
                 1 + am_prng_below(&prng, i % 2 == 0 ? MOST : 4096));
    }
    world_close(&world);
}

static void test_small(void **state)
{
    (void)state;
    send_any("64k");
}

static void test_large(void **state)
{
    (void)state;
    send_any("1m");
}

static void test_pages(void **state)
{
    struct world world;

    (void)state;
    open_two(&world, "1m");
    for (int i = 0; i < TIMES; i++) {
        send_one(&world, 0, 2 * SHM_PAGE);
        assert_int_equal(test.at, SHM_RING_ASIDE);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_small),
            cmocka_unit_test(test_large),
            cmocka_unit_test(test_pages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
