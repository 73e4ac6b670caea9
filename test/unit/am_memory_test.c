/*
 * No memory: am_open fails in order whichever of its allocations does, and a
 * transfer that gets no handle ends with nothing sent.  The linker puts
 * __wrap_malloc and the others before the C library's.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"

#include <am.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPENS_MAX = 10000,
    POLLS = 1000,
    BYTES = 300000 /* more than a packet */
};

static const struct am_option shm[] = {{"AM_DEVICES", "shm"},
                                       {"AM_LOG", "none"},
                                       {NULL, NULL}};
static const struct am_option *const shm_only[] = {shm, shm};

static bool counts;
static uint32_t count, fails_at; /* allocations while `counts`; from 1 */
static uint32_t growths_to_fail; /* of a block that grows */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t items, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t items, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static bool fails(void)
{
    return counts && ++count == fails_at;
}

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t items, size_t bytes)
{
    return fails() ? NULL : __real_calloc(items, bytes);
}

void *__wrap_realloc(void *old, size_t bytes)
{
    if (growths_to_fail > 0) {
        growths_to_fail--;
        return NULL;
    }
    return fails() ? NULL : __real_realloc(old, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* The n-th allocation fails, for each n; then none is left to fail. */
static void test_open(void **state)
{
    const struct am_option options[] = {{"AM_DEVICES", "shm"},
                                        {"AM_LOG", "none"}};
    char error[256];
    struct am_params params = {.size = 1,
                               .options = options,
                               .option_count = 2,
                               .error = error,
                               .error_bytes = sizeof(error)};
    bool failed = true;

    for (fails_at = 1; failed; fails_at++) {
        struct am_ctx *ctx;
        am_status_t status;

        assert_true(fails_at < OPENS_MAX);
        count = 0;
        counts = true;
        status = am_open(&params, &ctx);
        counts = false;
        failed = count >= fails_at;
        if (status == AM_OK) {
            am_close(ctx);
        } else {
            assert_true(failed);
        }
    }
    assert_true(fails_at > 10);
}

/* Segments of shared memory that are mapped. */
static int segments(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    char line[512];
    int found = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        found += strstr(line, "/memfd:") != NULL;
    }
    fclose(file);
    return found;
}

/* The same of a context that connects to another, to which it makes a segment:
 * what of that was mapped goes with the contexts. */
static void test_connect(void **state)
{
    bool failed = true;

    for (fails_at = 1; failed; fails_at++) {
        unsigned char blob[AM_ADDRESS_BYTES];
        struct world worlds[2];
        am_status_t status;
        uint32_t peer;

        assert_true(fails_at < OPENS_MAX);
        world_open(&worlds[0], 1, shm_only);
        world_open(&worlds[1], 1, shm_only);
        assert_int_equal(am_address(worlds[1].ctx[0], blob), AM_OK);
        count = 0;
        counts = true;
        status = am_connect(worlds[0].ctx[0], blob, &peer);
        counts = false;
        failed = count >= fails_at;
        assert_true(status == AM_OK || failed);
        if (status == AM_OK && !failed) {
            assert_true(segments() > 0);
        }
        world_close(&worlds[0]);
        world_close(&worlds[1]);
        assert_int_equal(segments(), 0);
    }
}

/* Take all handles that there are.  They go with the context. */
static void handles_take(struct am_ctx *ctx)
{
    static char nothing;

    growths_to_fail = UINT32_MAX;
    while (am_handle_new(ctx, AM_HANDLE_FREE, &nothing) != 0) {
    }
    growths_to_fail = 0;
}

/* The one growth of the handles that a transfer asks for fails: it ends so, and
 * no byte of it is sent. */
static void test_transfers(void **state)
{
    static char mine[BYTES], theirs[BYTES], zeros[BYTES];
    struct am_data data = am_data_contig(mine, BYTES);
    struct world_done put = {0}, got = {0};
    struct am_region *region;
    struct world world;
    struct am_key key;

    world_open(&world, 2, shm_only);
    assert_int_equal(am_region_register(world.ctx[1], theirs, BYTES, &region),
                     AM_OK);
    am_region_key(region, &key);
    key.w[3] = 0; /* by the stream */
    memset(mine, 1, BYTES);
    handles_take(world.ctx[0]);
    growths_to_fail = 1;
    assert_int_equal(
            am_ctx_put(world.ctx[0], 1, &data, &key, 0, world_on_done, &put),
            AM_OK);
    assert_int_equal(growths_to_fail, 0);
    world_polls(&world, POLLS);
    world_check_done(&put, AM_ERR_MEMORY);
    assert_memory_equal(theirs, zeros, BYTES);

    growths_to_fail = 1;
    assert_int_equal(
            am_ctx_rget(world.ctx[0], 1, &data, &key, 0, world_on_done, &got),
            AM_OK);
    assert_int_equal(growths_to_fail, 0);
    world_polls(&world, POLLS);
    world_check_done(&got, AM_ERR_MEMORY);
    assert_int_equal(mine[0], 1);

    /* and there is memory again */
    put = got = (struct world_done){0};
    assert_int_equal(
            am_ctx_put(world.ctx[0], 1, &data, &key, 0, world_on_done, &put),
            AM_OK);
    world_wait_done(&world, &put);
    world_check_done(&put, AM_OK);
    assert_memory_equal(theirs, mine, BYTES);
    am_region_deregister(world.ctx[1], region);
    world_close(&world);
}

/* A rank is given up while there is no memory to tell of it: it is told when there
 * is. */
static void test_death(void **state)
{
    struct world world;

    world_open(&world, 2, shm_only);
    shm_dev_of(world.ctx[0]->devs[0])->locals[1].cut = "of this test";
    count = 0;
    fails_at = 1;
    counts = true;
    am_check_now(world.ctx[0]);
    counts = false;
    assert_true(count >= fails_at);
    assert_false(am_peer_is_dead(world.ctx[0], 1));
    am_check_now(world.ctx[0]);
    assert_true(am_peer_is_dead(world.ctx[0], 1));
    assert_non_null(strstr(am_peer_death(world.ctx[0], 1), "of this test"));
    assert_int_equal(am_ctx_poll(world.ctx[0]), AM_ERR_PEER);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_open),
            cmocka_unit_test(test_connect),
            cmocka_unit_test(test_transfers),
            cmocka_unit_test(test_death),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
