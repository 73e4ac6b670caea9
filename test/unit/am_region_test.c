/*
 * Regions and transfers: put, get, store, fetch-and-add, single copy and
 * streamed, every shape of data, and keys that are wrong.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

enum {
    H_STORED = AM_HANDLER_USER,
    H_GOT
};

static const struct am_option stream_only[] = {{"AM_SHM_CMA", "off"},
                                               {NULL, NULL}};
static const struct am_option tiny[] = {{"AM_SHM_CMA", "off"},
                                        {"AM_SHM_SLOTS", "2"},
                                        {"AM_SHM_RING", "8k"},
                                        {"AM_SHM_PACKET", "1k"},
                                        {"AM_CHAN_PACKET_BYTES", "1k"},
                                        {"AM_CHAN_REQUEST_WINDOW", "4"},
                                        {"AM_CHAN_REPLY_WINDOW", "4"},
                                        {"AM_CHAN_CHUNK", "2"},
                                        {NULL, NULL}};

static void put_and_get(struct world *world, uint32_t from, uint32_t to,
                        int shape, size_t bytes)
{
    struct shaped source, back;
    struct am_region *region;
    struct am_key key;
    unsigned char *memory = malloc(bytes + 128);
    struct world_done result = {0};

    memset(memory, 0xee, bytes + 128);
    shaped_open(&source, shape, bytes);
    shaped_open(&back, shape, bytes);
    shaped_fill(&source, (uint32_t)bytes + 1);
    assert_int_equal(
            am_region_register(world->ctx[to], memory, bytes + 128, &region),
            AM_OK);
    am_region_key(region, &key);
    assert_int_equal(am_ctx_put(world->ctx[from], to, &source.data, &key, 64,
                                world_on_done, &result),
                     AM_OK);
    world_wait_done(world, &result);
    assert_int_equal(result.status, AM_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(memory[i], 0xee);
        assert_int_equal(memory[64 + bytes + (size_t)i], 0xee);
    }
    result = (struct world_done){0};
    assert_int_equal(am_ctx_rget(world->ctx[from], to, &back.data, &key, 64,
                                 world_on_done, &result),
                     AM_OK);
    world_wait_done(world, &result);
    assert_int_equal(result.status, AM_OK);
    shaped_check(&back, (uint32_t)bytes + 1, bytes);
    am_region_deregister(world->ctx[to], region);
    shaped_close(&source);
    shaped_close(&back);
    free(memory);
}

static void put_and_get_all(const struct am_option *option)
{
    static const size_t sizes[] = {0,    1,     63,    64,    1000,
                                   4096, 16384, 16385, 65536, 1048579};
    const struct am_option *options[] = {option, option};
    struct world world;

    world_open(&world, 2, option == NULL ? NULL : options);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (int shape = 0; shape < SHAPE_COUNT; shape++) {
            put_and_get(&world, 0, 1, shape, sizes[i]);
            put_and_get(&world, 0, 0, shape, sizes[i]);
        }
    }
    world_close(&world);
}

static void test_put_get(void **state)
{
    put_and_get_all(NULL);
}

static void test_put_get_stream(void **state)
{
    put_and_get_all(stream_only);
}

static void test_put_get_tiny(void **state)
{
    put_and_get_all(tiny);
}

/* A peer's numbers are wrong: refused, counted, nothing written. */
static void test_bad_keys(void **state)
{
    const struct am_option *options[] = {stream_only, stream_only};
    unsigned char memory[256], data[64] = {1};
    struct am_data local = am_data_contig(data, sizeof(data));
    struct am_region *region;
    struct am_key key, wrong;
    struct world_done result = {0};
    struct world world;

    memset(memory, 0xee, sizeof(memory));
    world_open(&world, 2, options);
    am_region_register(world.ctx[1], memory, sizeof(memory), &region);
    am_region_key(region, &key);
    /* past the end, and wrapping round */
    am_ctx_put(world.ctx[0], 1, &local, &key, 193, world_on_done, &result);
    world_wait_done(&world, &result);
    assert_int_equal(result.status, AM_ERR_INVALID);
    result = (struct world_done){0};
    am_ctx_put(world.ctx[0], 1, &local, &key, SIZE_MAX - 10, world_on_done, &result);
    world_wait_done(&world, &result);
    assert_int_equal(result.status, AM_ERR_INVALID);
    result = (struct world_done){0};
    am_ctx_rget(world.ctx[0], 1, &local, &key, 193, world_on_done, &result);
    world_wait_done(&world, &result);
    assert_int_equal(result.status, AM_ERR_INVALID);
    /* a stale key */
    wrong = key;
    am_region_deregister(world.ctx[1], region);
    result = (struct world_done){0};
    am_ctx_put(world.ctx[0], 1, &local, &wrong, 0, world_on_done, &result);
    world_wait_done(&world, &result);
    assert_int_equal(result.status, AM_ERR_INVALID);
    for (size_t i = 0; i < sizeof(memory); i++) {
        assert_int_equal(memory[i], 0xee);
    }
    /* by the target's am, or by a device that puts and gets; what wraps has
     * not been sent */
    assert_true(world_counter(&world, 1, "rx_bad_region") +
                        world_counter(&world, 0, "rx_bad") >=
                3);
    world_close(&world);
}

/* A region that is closed while a get reads it: the getter is told. */
static void test_closed_under_get(void **state)
{
    enum {
        BYTES = 100000
    };

    const struct am_option *options[] = {tiny, tiny};
    unsigned char *memory = calloc(1, BYTES), *data = malloc(BYTES);
    struct am_data local = am_data_contig(data, BYTES);
    struct world_done result = {0};
    struct am_region *region;
    struct am_key key;
    struct world world;

    world_open(&world, 2, options);
    am_region_register(world.ctx[1], memory, BYTES, &region);
    am_region_key(region, &key);
    assert_int_equal(
            am_ctx_rget(world.ctx[0], 1, &local, &key, 0, world_on_done, &result),
            AM_OK);
    for (int i = 0; i < 4; i++) {
        world_poll(&world);
    }
    assert_int_equal(result.count, 0);
    am_region_deregister(world.ctx[1], region);
    world_wait_done(&world, &result);
    assert_int_equal(result.status, AM_ERR_INVALID);
    world_close(&world);
    free(memory);
    free(data);
}

/* More puts than what may be queued for a peer, which polls when all of them
 * are made: no acknowledgement is lost. */
static void test_many_puts(void **state)
{
    enum {
        COUNT = AM_QUEUE_MAX + 5000
    };

    uint64_t word = 7, memory = 0;
    struct am_data local = am_data_contig(&word, sizeof(word));
    struct world_done result = {0};
    struct am_region *region;
    struct am_key key;
    struct world world;

    world_open(&world, 2, NULL);
    am_region_register(world.ctx[1], &memory, sizeof(memory), &region);
    am_region_key(region, &key);
    world_settle(&world);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(
                am_ctx_put(world.ctx[0], 1, &local, &key, 0, world_on_done, &result),
                AM_OK);
        (void)am_ctx_poll(world.ctx[1]);
    }
    world_settle(&world);
    assert_int_equal(result.count, COUNT);
    assert_int_equal(result.status, AM_OK);
    world_close(&world);
}

struct stored {
    int count;
    void *data;
    size_t bytes;
    uint64_t word;
};

static void on_stored(struct am_token *token, const uint64_t *words,
                      uint32_t count, void *data, size_t bytes)
{
    struct stored *stored = am_token_arg(token);

    stored->count++;
    stored->data = data;
    stored->bytes = bytes;
    stored->word = count > 0 ? words[0] : 0;
}

/* GAM: addresses, a handler after the data, blocking and not. */
static void test_store_and_get(void **state)
{
    static const size_t sizes[] = {1, 100, 8064, 100000};
    struct stored stored[2] = {{0}}, got = {0};
    unsigned char *from = malloc(100000), *to = calloc(1, 100000);
    struct am_region *region;
    struct world world;
    uint64_t word = 77;

    world_open(&world, 2, NULL);
    am_handler_register(world.ctx[1], H_STORED, on_stored, &stored[1], "s");
    am_handler_register(world.ctx[0], H_GOT, on_stored, &got, "g");
    am_region_register(world.ctx[1], to, 100000, &region);
    for (size_t i = 0; i < 100000; i++) {
        from[i] = (unsigned char)(i % 251);
    }
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct world_done result = {0};
        int before = stored[1].count;

        assert_int_equal(am_ctx_store_async(world.ctx[0], 1, from, to, sizes[i],
                                            H_STORED, &word, 1, world_on_done,
                                            &result),
                         AM_OK);
        world_wait_done(&world, &result);
        assert_int_equal(result.status, AM_OK);
        world_settle(&world);
        assert_int_equal(stored[1].count, before + 1);
        assert_ptr_equal(stored[1].data, to);
        assert_int_equal(stored[1].bytes, sizes[i]);
        assert_int_equal(stored[1].word, 77);
        assert_memory_equal(from, to, sizes[i]);
    }
    memset(from, 0, 100000);
    assert_int_equal(
            am_ctx_get(world.ctx[0], 1, to, from, 100000, H_GOT, &word, 1),
            AM_OK);
    world_settle(&world);
    assert_int_equal(got.count, 1);
    assert_ptr_equal(got.data, from);
    assert_memory_equal(from, to, 100000);
    world_close(&world);
    free(from);
    free(to);
}

/* An address that no region holds is refused. */
static void test_store_outside(void **state)
{
    unsigned char secret[64] = {0}, open[64] = {0}, data[64];
    struct am_region *region;
    struct world_done result = {0};
    struct world world;

    memset(data, 0xff, sizeof(data));
    world_open(&world, 2, NULL);
    am_region_register(world.ctx[1], open, sizeof(open), &region);
    am_ctx_store_async(world.ctx[0], 1, data, secret, sizeof(secret), 0, NULL,
                       0, world_on_done, &result);
    world_wait_done(&world, &result);
    assert_int_equal(result.status, AM_ERR_INVALID);
    assert_int_equal(secret[0], 0);
    world_close(&world);
}

static void test_fetch_add(void **state)
{
    uint64_t counter[2] = {100, 0};
    struct am_region *region;
    struct am_key key;
    struct world world;

    enum {
        EACH = 500
    };

    unsigned char seen[3 * EACH] = {0};

    world_open(&world, 3, NULL);
    am_region_register(world.ctx[0], counter, sizeof(counter), &region);
    am_region_key(region, &key);
    for (int i = 0; i < EACH; i++) {
        for (uint32_t r = 0; r < 3; r++) {
            struct world_done result = {0};
            uint64_t old = 0;

            assert_int_equal(am_ctx_fetch_add(world.ctx[r], 0, &key, 0, 1, &old,
                                              world_on_done, &result),
                             AM_OK);
            world_wait_done(&world, &result);
            assert_int_equal(result.status, AM_OK);
            assert_true(old >= 100 && old < 100 + 3 * EACH);
            assert_int_equal(seen[old - 100], 0); /* each value once */
            seen[old - 100] = 1;
        }
    }
    assert_int_equal(counter[0], 100 + 3 * EACH);
    for (size_t bad = 1; bad <= 16; bad += 15) { /* unaligned; past the end */
        struct world_done result = {0};
        uint64_t old;

        am_ctx_fetch_add(world.ctx[1], 0, &key, bad, 1, &old, world_on_done, &result);
        world_wait_done(&world, &result);
        assert_int_equal(result.status, AM_ERR_INVALID);
    }
    world_close(&world);
}

/* Transfers that wait take turns, and a poll tries one of them when there is
 * no space, however many there are. */
static void test_queue_of_transfers(void **state)
{
    enum {
        COUNT = 60,
        BYTES = 20000,
        POLLS = 50
    };

    const struct am_option *options[] = {tiny, tiny};
    unsigned char *memory = calloc(COUNT, BYTES), *data = malloc(BYTES);
    struct am_data local = am_data_contig(data, BYTES);
    struct world_done results[COUNT] = {{0}};
    struct am_region *region;
    struct am_key key;
    struct world world;
    uint64_t again;
    int first = 0;

    memset(data, 0x5a, BYTES);
    world_open(&world, 2, options);
    am_region_register(world.ctx[1], memory, (size_t)COUNT * BYTES, &region);
    am_region_key(region, &key);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(am_ctx_put(world.ctx[0], 1, &local, &key, i * BYTES,
                                    world_on_done, &results[i]),
                         AM_OK);
    }
    (void)am_ctx_poll(world.ctx[0]);
    again = world_counter(&world, 0, "tx_again");
    for (int i = 0; i < POLLS; i++) { /* the target does not poll */
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_in_range(world_counter(&world, 0, "tx_again") - again, 0, POLLS);
    while (results[0].count == 0) {
        world_poll(&world);
    }
    for (size_t i = 0; i < COUNT; i++) { /* others have begun by now */
        first += memory[i * BYTES] == 0x5a;
    }
    assert_true(first > 1);
    for (size_t i = 0; i < COUNT; i++) {
        for (int n = 0; n < 10000000 && results[i].count == 0; n++) {
            world_poll(&world);
        }
        assert_int_equal(results[i].count, 1);
        assert_int_equal(results[i].status, AM_OK);
    }
    for (size_t i = 0; i < (size_t)COUNT * BYTES; i++) {
        assert_int_equal(memory[i], 0x5a);
    }
    world_close(&world);
    free(memory);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_put_get),
            cmocka_unit_test(test_put_get_stream),
            cmocka_unit_test(test_put_get_tiny),
            cmocka_unit_test(test_bad_keys),
            cmocka_unit_test(test_closed_under_get),
            cmocka_unit_test(test_many_puts),
            cmocka_unit_test(test_store_and_get),
            cmocka_unit_test(test_store_outside),
            cmocka_unit_test(test_fetch_add),
            cmocka_unit_test(test_queue_of_transfers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
