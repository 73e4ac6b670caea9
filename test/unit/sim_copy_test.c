/*
 * Remote copies of the LANai: bytes come where they belong, TLB misses or not,
 * aligned or not; regions come and go; what is wrong ends with an error.
 */
#include "support/cm.h"
#include "support/sim_scene.h"

#include "dev/snic/snic.h"
#include "dev/snic/snic_lanai_page.h"
#include "nicsim_lanai.h"

#include <stdlib.h>
#include <string.h>

#define COPY_BYTES 300000

static void copied(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(uint64_t *)arg;
}

/* Node 0 copies to all others, in pieces of many sizes; then again, when both
 * TLBs know the pages. */
static void body_copy(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
    uint8_t *memory = aligned_alloc(64, COPY_BYTES / 64 * 64 + 64);
    struct am_dev_key mine, keys[NODES_MAX];
    uint64_t started = 0;

    memset(memory, 0, COPY_BYTES);
    for (size_t i = 0; i < COPY_BYTES && view->rank == 0; i++) {
        memory[i] = data_byte(5, 9, i);
    }
    assert_int_equal(node->dev->ops->mem_register(node->dev, memory, COPY_BYTES,
                                                  AM_DEV_RIGHTS_ALL, &mine),
                     AM_OK);
    (void)ns_sim_allgather(view, &mine, keys, sizeof(mine));
    for (int turn = 0; turn < 2 && view->rank == 0; turn++) {
        for (uint32_t to = 1; to < view->size; to++) {
            size_t at = 0;

            while (at < COPY_BYTES) {
                size_t bytes = 4 + started * 404 % 20000 / 4 * 4;
                struct iovec local = {memory + at, bytes};

                local.iov_len =
                        bytes < COPY_BYTES - at ? bytes : COPY_BYTES - at;
                while (node->dev->ops->put(node->peers[to].ep, &local, 1,
                                           &keys[to], at, copied,
                                           &node->done) == AM_ERR_AGAIN) {
                    sim_dev_poll(node->dev);
                }
                at += local.iov_len;
                started++;
            }
        }
    }
    while (node->done < started) {
        sim_dev_poll(node->dev);
    }
    sim_dev_meet(view, node->dev);
    for (size_t i = 0; i < COPY_BYTES; i++) {
        assert_int_equal(memory[i], data_byte(5, 9, i));
    }
    node_close(node);
    free(memory);
    scene->answer++;
}

static void test_remote_copy(void **state)
{
    struct scene scene = {.sets = {"lanai.transfer=rcpy"},
                          .set_count = 1,
                          .params = {.nodes = 3},
                          .body = body_copy};

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    scene.sets[1] = "lanai.reliability=ni";
    scene.sets[2] = "net.fault.corrupt=1/100";
    scene.sets[3] = "lanai.mtu=4k";
    scene.set_count = 4;
    scene_good(&scene, "myrinet-p3");
    assert_int_equal(scene.answer, 6);
}

/* ------------------------------------------------------------------ regions */

struct end {
    uint32_t count;
    am_status_t status;
};

static void ended(void *arg, am_status_t status)
{
    struct end *end = arg;

    end->count++;
    end->status = status;
}

/* Put to node 1, and how it ends. */
static am_status_t put_wait(struct node *node, void *from, size_t bytes,
                            const struct am_dev_key *key, size_t offset)
{
    const struct iovec local = {from, bytes};
    struct end end = {0, AM_OK};
    am_status_t status = node->dev->ops->put(node->peers[1].ep, &local, 1, key,
                                             offset, ended, &end);

    while (status == AM_OK && end.count == 0) {
        sim_dev_poll(node->dev);
    }
    return status == AM_OK ? end.status : status;
}

static struct am_dev_key registered(struct node *node, void *base, size_t bytes)
{
    struct am_dev_key key;

    assert_int_equal(node->dev->ops->mem_register(node->dev, base, bytes,
                                                  AM_DEV_RIGHTS_ALL, &key),
                     AM_OK);
    return key;
}

/* Node 1's key, at node 0. */
static struct am_dev_key key_of_peer(struct node *node, struct am_dev_key mine)
{
    struct am_dev_key keys[NODES_MAX];

    sim_dev_meet(node->view, node->dev);
    (void)ns_sim_allgather(node->view, &mine, keys, sizeof(mine));
    return keys[1];
}

#define REGION_BYTES 10000

/* The number of a region's first page. */
static uint32_t page_of(const struct am_dev_key *key)
{
    return (uint32_t)key->w[0] / NS_LANAI_PAGE_BYTES;
}

/* Node 1's memory one after the other in regions of the same numbers: a put
 * comes into the new one, and not into what was there, pinned and in the TLB.
 * Where no region is any more the put is refused, also when a new one has the
 * numbers. */
static void body_regions(struct scene *scene, struct ns_sim_node *view)
{
    static uint8_t memory[2][REGION_BYTES];
    static uint8_t from[REGION_BYTES];
    struct node *node = node_open(view);
    struct am_dev_key stale = {{0}};
    uint64_t first = 0;

    for (uint32_t round = 0; round < 6; round++) {
        uint8_t *mine = memory[round % 2];
        struct am_dev_key key = {{0}};

        if (view->rank == 1) {
            memset(memory, 0, sizeof(memory));
            key = registered(node, mine, REGION_BYTES);
            first = round == 0 ? page_of(&key) : first;
            assert_int_equal(page_of(&key), first);
        }
        key = key_of_peer(node, key);
        memset(from, (int)round + 1, REGION_BYTES);
        if (view->rank == 0 && round > 0) {
            assert_int_equal(put_wait(node, from, REGION_BYTES, &stale, 0),
                             AM_ERR_INVALID);
        }
        sim_dev_meet(view, node->dev);
        assert_int_equal(mine[0], 0);
        assert_int_equal(mine[REGION_BYTES - 1], 0);
        if (view->rank == 0) {
            assert_int_equal(put_wait(node, from, REGION_BYTES, &key, 0),
                             AM_OK);
        }
        sim_dev_meet(view, node->dev);
        if (view->rank == 1) {
            assert_memory_equal(mine, from, REGION_BYTES);
            assert_int_equal(memory[(round + 1) % 2][0], 0);
            node->dev->ops->mem_deregister(node->dev, &key);
            memset(mine, 0, REGION_BYTES);
        }
        sim_dev_meet(view, node->dev);
        if (view->rank == 0) {
            assert_int_equal(put_wait(node, from, REGION_BYTES, &key, 0),
                             AM_ERR_INVALID);
            assert_int_equal(put_wait(node, from, 4, &key, 5000),
                             AM_ERR_INVALID);
        }
        sim_dev_meet(view, node->dev);
        assert_int_equal(mine[0], 0);
        assert_int_equal(mine[5000], 0);
        stale = key;
    }
    assert_true(view->rank == 0 || node->stats[AM_DEV_STAT_RX_BAD] > 0);
    node_close(node);
    scene->answer++;
}

static void test_regions(void **state)
{
    struct scene scene = {.sets = {"lanai.transfer=rcpy"},
                          .set_count = 1,
                          .params = {.nodes = 2},
                          .body = body_regions};

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.answer, 2);
}

/* All numbers of pages are used up: an error, until some are free again.  The
 * memory is not touched. */
static void body_exhausted(struct scene *scene, struct ns_sim_node *view)
{
    const size_t half = ((size_t)1 << 30) - NS_LANAI_PAGE_BYTES;
    struct node *node = node_open(view);
    uint8_t *base = (uint8_t *)(uintptr_t)NS_LANAI_PAGE_BYTES;
    const struct am_dev_ops *ops = node->dev->ops;
    struct am_dev_key keys[2], more;

    assert_int_equal(ops->mem_register(node->dev, base, 3 * half,
                                       AM_DEV_RIGHTS_ALL, &more),
                     AM_ERR_MEMORY);
    keys[0] = registered(node, base, half);
    for (int round = 0; round < 5; round++) {
        keys[1] = registered(node, base, half);
        assert_int_equal(
                ops->mem_register(node->dev, base, 1, AM_DEV_RIGHTS_ALL, &more),
                AM_ERR_MEMORY);
        ops->mem_deregister(node->dev, &keys[0]);
        keys[0] = keys[1];
    }
    ops->mem_deregister(node->dev, &keys[0]);
    ops->mem_deregister(node->dev, &keys[0]); /* and is not mixed up by that */
    more = registered(node, base, 1);
    ops->mem_deregister(node->dev, &more);
    node_close(node);
    scene->answer++;
}

static void test_exhausted(void **state)
{
    struct scene scene = {.sets = {"lanai.transfer=rcpy"},
                          .set_count = 1,
                          .params = {.nodes = 2},
                          .body = body_exhausted};

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.answer, 2);
}

static uint8_t *page_at(uintptr_t number)
{
    return (uint8_t *)(number * NS_LANAI_PAGE_BYTES);
}

/* Pages that are sent from: each keeps its number until as many others have
 * come as there is room for. */
static void test_known(void **state)
{
    struct lanai_known *known = calloc(1, sizeof(*known));

    (void)state;
    for (uintptr_t i = 1; i <= 3 * LANAI_KNOWN_MAX; i++) {
        uintptr_t oldest = i <= LANAI_KNOWN_MAX ? 1 : i - LANAI_KNOWN_MAX;

        assert_int_equal(lanai_known_find(known, page_at(i)), LANAI_PAGE_NONE);
        if (i > 1) {
            assert_int_equal(lanai_known_find(known, page_at(oldest)),
                             (oldest - 1) % LANAI_KNOWN_MAX);
        }
        assert_int_equal(lanai_known_add(known, page_at(i)),
                         (i - 1) % LANAI_KNOWN_MAX);
        if (i > LANAI_KNOWN_MAX) {
            assert_int_equal(lanai_known_find(known, page_at(oldest)),
                             LANAI_PAGE_NONE);
        }
    }
    for (uintptr_t i = 1; i <= 3 * LANAI_KNOWN_MAX; i++) {
        assert_int_equal(lanai_known_find(known, page_at(i)) != LANAI_PAGE_NONE,
                         i > 2 * LANAI_KNOWN_MAX);
    }
    free(known);
}

/* --------------------------------------------------------------------- cost */

/* What a put takes when both TLBs know its pages is what the device says. */
static void body_cost(struct scene *scene, struct ns_sim_node *view)
{
    /* whole pages, wherever the linker would have them: each has 64 */
    static _Alignas(4096) uint8_t from[1 << 18], to[1 << 18];
    static const size_t sizes[] = {4, 65536, 1 << 18};
    struct node *node = node_open(view);
    const struct am_linfn *row = &node->dev->attr.perf.put;
    struct am_dev_key key = registered(node, to, sizeof(to));
    struct am_dev_key mine = key;

    key = key_of_peer(node, key);
    for (size_t i = 0; i < 2 * 3 && view->rank == 0; i++) {
        uint64_t from_ps = am_env_now(view->env);
        uint64_t said_ps =
                row->fixed_ps + row->per_byte_fs * sizes[i % 3] / 1000;
        uint64_t took_ps;

        assert_int_equal(put_wait(node, from, sizes[i % 3], &key, 0), AM_OK);
        took_ps = am_env_now(view->env) - from_ps;
        if (i >= 3) { /* the pages are known */
            assert_in_range(took_ps, said_ps * 3 / 4, said_ps * 5 / 4);
        }
    }
    sim_dev_meet(view, node->dev);
    node->dev->ops->mem_deregister(node->dev, &mine);
    node_close(node);
    scene->answer++;
}

static void test_cost(void **state)
{
    static const char *const machines[] = {"myrinet-ppro", "myrinet-p3"};
    static const char *const flows[] = {"lanai.reliability=none",
                                        "lanai.reliability=ni"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct scene scene = {.sets = {"lanai.transfer=rcpy", flows[i / 2]},
                              .set_count = 2,
                              .params = {.nodes = 2},
                              .body = body_cost};

        scene_good(&scene, machines[i % 2]);
        assert_int_equal(scene.answer, 2);
    }
}

static void body_caps(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
    const struct am_dev_attr *attr = &node->dev->attr;

    scene->answer = (attr->caps & AM_DEV_CAP_PUT) != 0;
    assert_int_equal(attr->perf.put.fixed_ps != 0, scene->answer);
    assert_int_equal(attr->caps & AM_DEV_CAP_GET, 0);
    node_close(node);
}

static void test_caps(void **state)
{
    static const char *const sets[] = {
            "lanai.transfer=dma", "lanai.transfer=pio", "lanai.transfer=rcpy"};

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        struct scene scene = {.sets = {sets[i]},
                              .set_count = 1,
                              .params = {.nodes = 2},
                              .body = body_caps};

        scene_good(&scene, "myrinet-p3");
        assert_int_equal(scene.answer, i == 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_remote_copy), cmocka_unit_test(test_regions),
            cmocka_unit_test(test_exhausted),   cmocka_unit_test(test_known),
            cmocka_unit_test(test_cost),        cmocka_unit_test(test_caps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
