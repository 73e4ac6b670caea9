/*
 * The part of the device conformance suite about memory: put, get, fetch_add,
 * memory that peers map.
 */
#include "conform/dev_conform.h"
#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

struct done {
    uint32_t calls;
    am_status_t status;
};

static void on_done(void *arg, am_status_t status)
{
    struct done *done = arg;

    done->calls++;
    done->status = status;
}

/* The end of a put, get or fetch_add that returned `status`. */
static am_status_t wait_done(struct world *world, am_status_t status,
                             struct done *done)
{
    uint32_t steps = 0;

    if (status == AM_OK) {
        while (done->calls == 0) {
            assert_true(steps++ < world_steps_max(world));
            world_poll(world);
        }
    }
    for (int i = 0; i < 10; i++) {
        world_poll(world);
    }
    assert_int_equal(done->calls, status == AM_OK ? 1 : 0);
    if (status != AM_OK) {
        return status == AM_DONE ? AM_OK : status;
    }
    return done->status;
}

static uint64_t bad_count(const struct world *world)
{
    uint64_t count = 0;

    for (uint32_t i = 0; i < world->count; i++) {
        count += world->nodes[i].stats[AM_DEV_STAT_RX_BAD];
    }
    return count;
}

#define REGION_BYTES ((size_t)10000)

struct region {
    uint8_t *memory; /* 64 bytes of guard before and behind */
    uint8_t *base;
    struct am_dev_key key;
};

static void region_open(struct region *region, struct am_dev *dev)
{
    region->memory = malloc(REGION_BYTES + 128);
    assert_non_null(region->memory);
    memset(region->memory, 0x11, REGION_BYTES + 128);
    region->base = region->memory + 64;
    assert_int_equal(dev->ops->mem_register(dev, region->base, REGION_BYTES,
                                            AM_DEV_RIGHTS_ALL, &region->key),
                     AM_OK);
}

static void region_close(struct region *region, struct am_dev *dev)
{
    for (int i = 0; i < 64; i++) {
        assert_int_equal(region->memory[i], 0x11);
        assert_int_equal(region->base[REGION_BYTES + (size_t)i], 0x11);
    }
    dev->ops->mem_deregister(dev, &region->key);
    free(region->memory);
}

/* One put or get of [offset, offset + bytes), in three pieces. */
static am_status_t transfer(struct world *world, bool put,
                            const struct am_dev_key *key, size_t offset,
                            uint8_t *local, size_t bytes)
{
    struct world_link *link = world_link(world, 0, world_other(world));
    const struct am_dev_ops *ops = world->nodes[0].dev->ops;
    struct iovec iov[3] = {{local, bytes / 3},
                           {local + bytes / 3, 0},
                           {local + bytes / 3, bytes - bytes / 3}};
    struct done done = {0, AM_OK};
    am_status_t status;

    status = put ? ops->put(link->ep, iov, 3, key, offset, on_done, &done)
                 : ops->get(link->ep, iov, 3, key, offset, on_done, &done);
    return wait_done(world, status, &done);
}

static void put_get_good(struct world *world, bool put,
                         const struct region *region)
{
    static const size_t lengths[] = {0, 1, 7, 64, 4097, REGION_BYTES};
    uint8_t *local = malloc(REGION_BYTES);

    assert_non_null(local);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        size_t bytes = lengths[i], offset = REGION_BYTES - bytes;
        uint8_t *from = put ? local : region->base + offset;

        memset(put ? region->base : local, 0, REGION_BYTES);
        for (size_t k = 0; k < bytes; k++) {
            from[k] = (uint8_t)(k * 5 + i);
        }
        assert_int_equal(
                transfer(world, put, &region->key, offset, local, bytes),
                AM_OK);
        assert_memory_equal(region->base + offset, local, bytes);
        for (size_t k = 0; put && k < offset; k++) { /* and nothing else */
            assert_int_equal(region->base[k], 0);
        }
    }
    free(local);
}

/* Every way to leave the region is refused, and counted. */
static void put_get_bad(struct world *world, bool put,
                        const struct region *region)
{
    const size_t offsets[][2] = {{REGION_BYTES, 1},
                                 {REGION_BYTES - 99, 100},
                                 {REGION_BYTES + 1, 0},
                                 {SIZE_MAX, 1},
                                 {SIZE_MAX - 49, 100}};
    const struct am_dev_key no_key = {{0, 0, 0}};
    const struct am_dev_key ones = {{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    uint8_t local[100] = {0};
    uint64_t bad = bad_count(world), tries = 0;

    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        assert_true(transfer(world, put, &region->key, offsets[i][0], local,
                             offsets[i][1]) < 0);
        tries++;
    }
    assert_true(transfer(world, put, &no_key, 0, local, 8) < 0);
    assert_true(transfer(world, put, &ones, 0, local, 8) < 0);
    tries += 2;
    assert_int_equal(bad_count(world), bad + tries);
}

void test_put_get(void **state)
{
    static const uint32_t caps[] = {AM_DEV_CAP_GET, AM_DEV_CAP_PUT};
    struct world *world = world_open(*state, 2);
    struct am_dev *dev = world->nodes[world_other(world)].dev;
    const struct am_dev_perf *perf = &world_attr(world)->perf;

    for (int put = 0; put < 2; put++) {
        struct region region;

        if ((world_attr(world)->caps & caps[put]) != 0) {
            region_open(&region, dev);
            put_get_good(world, put == 1, &region);
            put_get_bad(world, put == 1, &region);
            region_close(&region, dev);
        } else {
            assert_int_equal((put == 1 ? perf->put : perf->get).fixed_ps, 0);
        }
    }
    world_close(world);
}

/* Regions come and go: none is used up, and none is mixed up with another. */
void test_regions(void **state)
{
    struct world *world = world_open(*state, 2);
    struct am_dev *dev = world->nodes[world_other(world)].dev;
    uint8_t bytes[64];

    for (int round = 0;
         (world_attr(world)->caps & AM_DEV_CAP_PUT) != 0 && round < 100;
         round++) {
        struct region region[3];

        memset(bytes, round, sizeof(bytes));
        for (int i = 0; i < 3; i++) {
            region_open(&region[i], dev);
        }
        assert_int_equal(transfer(world, true, &region[round % 3].key, 1000,
                                  bytes, sizeof(bytes)),
                         AM_OK);
        for (int i = 0; i < 3; i++) {
            int expected = i == round % 3 ? round : 0x11;

            assert_int_equal(region[i].base[1000], expected);
            assert_int_equal(region[i].base[1063], expected);
            assert_int_equal(region[i].base[1064], 0x11);
        }
        for (int i = 0; i < 3; i++) {
            region_close(&region[(i + round) % 3], dev);
        }
    }
    world_close(world);
}

static am_status_t add(struct world *world, const struct am_dev_key *key,
                       size_t offset, uint64_t value, uint64_t *old_p)
{
    struct world_link *link = world_link(world, 0, world_other(world));
    struct done done = {0, AM_OK};
    am_status_t status = world->nodes[0].dev->ops->fetch_add(
            link->ep, key, offset, value, old_p, on_done, &done);

    return wait_done(world, status, &done);
}

static void fetch_add_good(struct world *world, uint8_t *base,
                           const struct am_dev_key *key)
{
    uint64_t old = 0, word = 40;

    memcpy(base + 8, &word, sizeof(word));
    assert_int_equal(add(world, key, 8, 2, &old), AM_OK);
    assert_int_equal(old, 40);
    assert_int_equal(add(world, key, 8, UINT64_MAX, &old), AM_OK);
    assert_int_equal(old, 42);
    memcpy(&word, base + 8, sizeof(word));
    assert_int_equal(word, 41);
}

static void fetch_add_bad(struct world *world, const struct am_dev_key *key)
{
    const struct am_dev_key no_key = {{0, 0, 0}};
    uint64_t bad = bad_count(world), old = 0;

    assert_true(add(world, key, 4, 1, &old) < 0);
    assert_true(add(world, key, REGION_BYTES - 4, 1, &old) < 0);
    assert_true(add(world, key, SIZE_MAX - 7, 1, &old) < 0);
    assert_true(add(world, &no_key, 0, 1, &old) < 0);
    assert_int_equal(bad_count(world), bad + 4);
}

/* On registered memory, or, if the device can only there, on mapped memory. */
void test_fetch_add(void **state)
{
    struct world *world = world_open(*state, 2);
    uint32_t caps = world_attr(world)->caps;
    struct am_dev *dev = world->nodes[world_other(world)].dev;
    struct am_dev_key key;
    uint8_t *base;

    if ((caps & AM_DEV_CAP_FETCH_ADD) != 0) {
        if ((caps & AM_DEV_CAP_MAPPED) != 0) {
            base = dev->ops->alloc(dev, REGION_BYTES, &key);
            assert_non_null(base);
            fetch_add_good(world, base, &key);
            fetch_add_bad(world, &key);
            dev->ops->release(dev, base, REGION_BYTES);
        } else {
            struct region region;

            region_open(&region, dev);
            fetch_add_good(world, region.base, &region.key);
            fetch_add_bad(world, &region.key);
            region_close(&region, dev);
        }
    }
    world_close(world);
}

/* Memory that peers may write: what is stored through one view is seen in the
 * other, and no key reaches beyond it. */
void test_mapped(void **state)
{
    struct world *world = world_open(*state, 2);
    struct am_dev *dev = world->nodes[world_other(world)].dev;
    struct world_link *link = world_link(world, 0, world_other(world));
    const struct am_dev_ops *ops = world->nodes[0].dev->ops;
    struct am_dev_key key;
    uint8_t *mine, *theirs;

    if ((world_attr(world)->caps & AM_DEV_CAP_MAPPED) != 0) {
        theirs = ops->alloc(dev, 5000, &key);
        assert_non_null(theirs);
        mine = ops->map(link->ep, &key, 0, 5000);
        assert_non_null(mine);
        memset(mine, 0x42, 5000);
        assert_int_equal(theirs[4999], 0x42);
        assert_null(ops->map(link->ep, &key, 1, 5000));
        assert_null(ops->map(link->ep, &key, SIZE_MAX, 2));
        key.w[0] = key.w[1] = key.w[2] = UINT64_MAX;
        assert_null(ops->map(link->ep, &key, 0, 1));
        ops->release(dev, theirs, 5000);
    }
    world_close(world);
}
