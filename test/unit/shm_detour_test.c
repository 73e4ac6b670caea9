/*
 * Single copies between memories that lie badly for the processor go by way of memory
 * that lies well, and bring the same bytes: all distances about those, lengths from
 * none to several times that memory, one piece and several.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "base/copy.h"
#include "base/prng.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_mem.h"

#include <stdlib.h>

enum {
    BYTES = 200000,
    EDGE = 8192,
    TIMES = 400,
    PIECES = 3,
    DETOUR_PAGES = 9 /* of shm_mem.c */
};

static const struct am_option options[] = {{"AM_DEVICES", "shm"}, {NULL, NULL}};

static char theirs[BYTES + 2 * EDGE] __attribute__((aligned(4096)));
static char mine[BYTES + 2 * EDGE] __attribute__((aligned(4096)));
static char before[BYTES + 2 * EDGE];

/* A world whose member 0 takes 1 for another process, and thinks that single copies can
 * lie badly; false where the kernel allows none. */
static bool open_detour(struct world *world)
{
    const struct am_option *lists[] = {options, options};
    struct shm_dev *dev;

    world_open(world, 2, lists);
    world_settle(world);
    dev = shm_dev_of(world->ctx[0]->devs[0]);
    if (!dev->cma) {
        world_close(world);
        return false;
    }
    dev->pid = 0;
    if (dev->detour == NULL) {
        dev->detour = aligned_alloc(SHM_PAGE, DETOUR_PAGES * SHM_PAGE);
    }
    return true;
}

/* One transfer of so many bytes in so many pieces, and what it must have changed. */
static void transfer(struct shm_ep *ep, bool put, const struct am_dev_key *key,
                     size_t at, size_t my_at, size_t bytes, uint32_t count)
{
    char *to = put ? theirs + at : mine + my_at;
    char *from = put ? mine + my_at : theirs + at;
    char *all = put ? theirs : mine;
    struct iovec local[PIECES];
    size_t done = 0;

    for (uint32_t i = 0; i < count; i++) {
        size_t length = i + 1 == count ? bytes - done : bytes / count;

        local[i] = (struct iovec){mine + my_at + done, length};
        done += length;
    }
    memcpy(before, all, sizeof(before));
    assert_int_equal((put ? shm_put : shm_get)(&ep->ep, local, count, key, at,
                                               NULL, NULL),
                     AM_DONE);
    assert_memory_equal(to, from, bytes);
    assert_memory_equal(all, before, (size_t)(to - all));
    assert_memory_equal(to + bytes, before + (to - all) + bytes,
                        sizeof(before) - (size_t)(to - all) - bytes);
}

static void test_transfers(void **state)
{
    struct am_prng prng;
    struct am_dev_key key;
    struct world world;
    uint32_t unlucky = 0;
    struct shm_ep *ep;

    (void)state;
    if (!open_detour(&world)) {
        skip();
    }
    ep = shm_ep_of_local(shm_dev_of(world.ctx[0]->devs[0]), 1);
    assert_int_equal(shm_mem_register(world.ctx[1]->devs[0], theirs,
                                      sizeof(theirs), ~0u, &key),
                     AM_OK);
    am_prng_seed(&prng, 1);
    for (int i = 0; i < TIMES; i++) {
        size_t at = am_prng_below(&prng, EDGE);
        size_t my_at = at + 96 - am_prng_below(&prng, 192);
        size_t bytes = am_prng_below(&prng, i % 2 == 0 ? 4096 : BYTES);
        bool put = i % 3 == 0;

        my_at = my_at < EDGE ? my_at : at; /* none before the memory */
        for (size_t j = 0; j < bytes; j += 1 + j / 8) {
            theirs[at + j] = (char)am_prng_next(&prng);
            mine[my_at + j] = (char)am_prng_next(&prng);
        }
        unlucky += put ? am_copy_is_unlucky(theirs + at, mine + my_at)
                       : am_copy_is_unlucky(mine + my_at, theirs + at);
        transfer(ep, put, &key, at, my_at, bytes,
                 1 + (uint32_t)am_prng_below(&prng, PIECES));
    }
    assert_in_range(unlucky, TIMES / 8, TIMES / 2);
    world_close(&world);
}

/* Memory that is not there is told as without a detour. */
static void test_bad_address(void **state)
{
    struct iovec local = {mine + 16, 3 * 4096};
    struct am_dev_key key;
    struct world world;
    struct shm_ep *ep;

    (void)state;
    if (!open_detour(&world)) {
        skip();
    }
    ep = shm_ep_of_local(shm_dev_of(world.ctx[0]->devs[0]), 1);
    assert_int_equal(shm_mem_register(world.ctx[1]->devs[0], (void *)4096,
                                      sizeof(theirs), ~0u, &key),
                     AM_OK);
    assert_int_equal(shm_get(&ep->ep, &local, 1, &key, 0, NULL, NULL),
                     AM_ERR_UNSUPPORTED);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_transfers),
            cmocka_unit_test(test_bad_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
