/*
 * Pages of lanes before the first packet: few contexts of a node have them made and
 * mapped, many have not.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/pagemap.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"

#include <am.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
    H_NONE = AM_HANDLER_USER,
    FEW = 4,
    MANY = 5
};

static void on_none(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
}

static struct shm_dev *dev_of(struct world *world, uint32_t rank)
{
    return shm_dev_of(world->ctx[rank]->devs[0]);
}

/* Pages of a lane's slots, and of its front, that `rank` has mapped. */
static uint32_t lane_pages(struct world *world, uint32_t rank, uint32_t to,
                           uint32_t from)
{
    struct shm_seg *seg = dev_of(world, rank)->job;

    return mapped_pages(shm_seg_lane(seg, to, from), seg->geometry.lane_bytes) +
           mapped_pages(shm_seg_rings(seg, to, from), SHM_FRONT_MADE);
}

/* Of both lanes between two ranks. */
static uint32_t pages_of(struct world *world, uint32_t rank, uint32_t other)
{
    return lane_pages(world, rank, rank, other) +
           lane_pages(world, rank, other, rank);
}

static uint32_t pages_all(struct world *world)
{
    struct shm_seg *seg = dev_of(world, 0)->job;

    return 2 *
           (uint32_t)((seg->geometry.lane_bytes + SHM_FRONT_MADE) / SHM_PAGE);
}

static int by_address(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;

    return (x > y) - (x < y);
}

/* All lie in their part of the segment, and so far from each other. */
static void places_check(char **places, uint32_t count, const char *from,
                         const char *to, uint64_t bytes)
{
    qsort(places, count, sizeof(*places), by_address);
    assert_true(places[0] >= from && places[count - 1] + bytes <= to);
    for (uint32_t i = 1; i < count; i++) {
        assert_true(places[i] - places[i - 1] >= (ptrdiff_t)bytes);
    }
}

/* No two lanes share a byte, however many contexts there are. */
static void test_apart(void **state)
{
    enum {
        MOST = 40
    };

    static char nowhere[1]; /* only an address */
    char *lanes[MOST * MOST], *rings[MOST * MOST];

    for (uint32_t n = 1; n <= MOST; n++) {
        struct shm_seg seg = {.base = nowhere,
                              .header = {.magic = SHM_MAGIC,
                                         .count = n,
                                         .depth = {256, 16},
                                         .ring_bytes = {65536, 4096},
                                         .packet_bytes = {16384, 1024},
                                         .heap_bytes = SHM_PAGE}};
        const struct shm_geometry *g = &seg.geometry;

        assert_int_equal(shm_geometry_compute(&seg.header, &seg.geometry), 0);
        for (uint32_t i = 0; i < n * n; i++) {
            lanes[i] = shm_seg_lane(&seg, i / n, i % n);
            rings[i] = shm_seg_rings(&seg, i / n, i % n);
        }
        places_check(lanes, n * n, seg.base + g->lanes, seg.base + g->rings,
                     g->lane_bytes);
        places_check(rings, n * n, seg.base + g->rings, seg.base + g->heaps,
                     g->rings_bytes);
    }
}

/* The kernel may be too old for it. */
static bool can_make(void)
{
    char *page = mmap(NULL, SHM_PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool can = shm_pages_make(page, SHM_PAGE);

    munmap(page, SHM_PAGE);
    return can;
}

static void test_few(void **state)
{
    static const struct am_option large[] = {{"AM_SHM_RING", "1m"}, {NULL}};
    const struct am_option *options[FEW] = {large, large, large, large};
    struct world world;

    if (!can_make()) {
        skip();
    }
    world_open(&world, FEW, options);
    world_settle(&world);
    for (uint32_t rank = 0; rank < FEW; rank++) {
        assert_true(dev_of(&world, rank)->page_ps > 0);
        assert_int_equal(dev_of(&world, rank)->job->front_bytes,
                         SHM_FRONT_FIRST);
        for (uint32_t other = 0; other < FEW; other++) {
            assert_int_equal(pages_of(&world, rank, other),
                             other == rank ? 0 : pages_all(&world));
        }
    }
    world_close(&world);
}

/* A ring that is shorter than the front is made whole, and no more. */
static void test_short_ring(void **state)
{
    static const struct am_option small[] = {
            {"AM_SHM_RING", "4k"}, {"AM_SHM_PACKET", "1k"}, {NULL}};
    const struct am_option *options[] = {small, small};
    struct world world;

    if (!can_make()) {
        skip();
    }
    world_open(&world, 2, options);
    assert_int_equal(dev_of(&world, 0)->job->front_bytes, 4096);
    assert_true(pages_of(&world, 0, 1) > 0);
    assert_true(pages_of(&world, 0, 1) < pages_all(&world));
    world_close(&world);
}

/* With many contexts a lane gets pages when it is used; what one costs is measured
 * with the first payload in a large ring. */
static void test_many(void **state)
{
    static const struct am_option large[] = {{"AM_SHM_RING", "1m"}, {NULL}};
    const struct am_option *options[MANY] = {large, large, large, large, large};
    char payload[SHM_PAGE] = {0};
    struct world world;

    world_open(&world, MANY, options);
    world_settle(&world);
    for (uint32_t other = 1; other < MANY; other++) {
        assert_int_equal(pages_of(&world, 0, other), 0);
    }
    am_handler_register(world.ctx[1], H_NONE, on_none, NULL, "none");
    assert_int_equal(am_ctx_try_request(world.ctx[0], 1, H_NONE, NULL, 0,
                                        payload, sizeof(payload)),
                     AM_OK);
    assert_true(dev_of(&world, 0)->page_ps > 0);
    world_settle(&world);
    assert_in_range(pages_of(&world, 0, 1), 1, pages_all(&world) - 1);
    assert_int_equal(pages_of(&world, 0, 2), 0);
    world_close(&world);
}

/* A pair that connects late gets its pages when they are used, as a process may have
 * many of them. */
static void test_late(void **state)
{
    char blob[AM_ADDRESS_BYTES];
    struct world a, b;
    struct shm_seg *seg;
    uint32_t peer;

    world_open(&a, 1, NULL);
    world_open(&b, 1, NULL);
    assert_int_equal(am_address(b.ctx[0], blob), AM_OK);
    assert_int_equal(am_connect(a.ctx[0], blob, &peer), AM_OK);
    seg = dev_of(&a, 0)->segs;
    assert_non_null(seg);
    assert_int_equal(seg->front_bytes, 0);
    assert_in_range(mapped_pages(shm_seg_rings(seg, 1, 0), SHM_FRONT_MADE), 0,
                    1);
    for (int i = 0; i < 1000; i++) {
        (void)world_poll(&a);
        (void)world_poll(&b);
    }
    world_close(&a);
    world_close(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_apart),      cmocka_unit_test(test_few),
            cmocka_unit_test(test_short_ring), cmocka_unit_test(test_many),
            cmocka_unit_test(test_late),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
