/*
 * Blue Gene/P's driver and DMA: remote gets that overflow a FIFO and raise its
 * interrupt; more operations than counters; dual and quad mode; messages to
 * several neighbours on several links; the same trace however it is run.
 * Its collective network is in sim_bgp_network_test.
 */
#include "support/cm.h"
#include "support/sim_bgp.h"

#include <stdlib.h>

enum {
    GETS = 100, /* more than there are counters */
    MIXED_GETS = 8,
    BYTES = 3000,
    MESSAGES = 64
};

/* ------------------------------------------------------------ puts and gets */

static uint8_t byte_of(uint32_t rank, uint32_t at)
{
    return (uint8_t)(rank * 31 + at * 7 + (at >> 8));
}

static void on_done(void *arg, am_status_t status)
{
    struct bgp_node *node = arg;

    assert_int_equal(status, AM_OK);
    node->done++;
}

static uint32_t op_start(struct bgp_node *node, bool get, uint32_t peer,
                         void *data, const struct am_dev_key *key)
{
    const struct iovec local = {data, BYTES};
    uint32_t again = 0;

    while ((get ? node->dev->ops->get
                : node->dev->ops->put)(node->eps[peer], &local, 1, key, 0,
                                       on_done, node) != AM_OK) {
        again++;
        sim_dev_poll(node->dev);
    }
    return again;
}

/* All get from node 0 at once, more than there are counters and FIFO entries;
 * then each puts to the next and its memory is looked at. */
static void body_gets(struct bgp_scene *scene, struct ns_sim_node *view)
{
    struct bgp_node *node = bgp_node_open(view);
    uint8_t *mine = malloc(BYTES), *got = calloc(GETS, BYTES);
    uint8_t *place = calloc(1, BYTES);
    struct am_dev_key key[2], keys[NODES_MAX][2];
    uint32_t next = (view->rank + 1) % view->size, again = 0;
    uint32_t before = (view->rank + view->size - 1) % view->size;

    for (uint32_t i = 0; i < BYTES; i++) {
        mine[i] = byte_of(view->rank, i);
    }
    assert_int_equal(node->dev->ops->mem_register(node->dev, mine, BYTES,
                                                  AM_DEV_RIGHTS_ALL, &key[0]),
                     AM_OK);
    assert_int_equal(node->dev->ops->mem_register(node->dev, place, BYTES,
                                                  AM_DEV_RIGHTS_ALL, &key[1]),
                     AM_OK);
    ns_sim_allgather(view, key, keys, sizeof(key));
    if (view->rank != 0) {
        for (uint32_t i = 0; i < GETS; i++) {
            again += op_start(node, true, 0, got + (size_t)i * BYTES,
                              &keys[0][0]);
        }
        assert_true(again > 0); /* there are 64 counters */
        while (node->done < GETS) {
            sim_dev_poll(node->dev);
        }
        for (uint32_t i = 0; i < GETS * BYTES; i++) {
            assert_int_equal(got[i], byte_of(0, i % BYTES));
        }
    }
    node->done = 0;
    op_start(node, false, next, mine, &keys[next][1]);
    while (node->done < 1) {
        sim_dev_poll(node->dev);
    }
    sim_dev_meet(view, node->dev);
    for (uint32_t i = 0; i < BYTES; i++) {
        assert_int_equal(place[i], byte_of(before, i));
    }
    scene->came++;
    bgp_node_close(node);
    free(mine);
    free(got);
    free(place);
}

/* A FIFO of one entry overflows: the interrupt makes it larger, and all is
 * well; one that is large enough raises none. */
static void test_overflow(void **state)
{
    struct bgp_scene scene = {.sets = {"nic.remote_fifo=1 entries",
                                       "nic.remote_fifo_max=16 entries"},
                              .params.nodes = 8,
                              .body = body_gets};
    struct bgp_scene large = {.sets = {"nic.remote_fifo=1024 entries",
                                       "nic.remote_fifo_max=1024 entries"},
                              .params.nodes = 8,
                              .body = body_gets};

    bgp_scene_run(&scene);
    assert_int_equal(scene.came, 8);
    assert_in_range(scene.stats[NS_BGP_STAT_INTERRUPTS], 4, 8 * 4);
    assert_true(scene.stats[NS_BGP_STAT_STALLS] > 0);
    /* some FIFOs are as large as they may be, and others not yet; while an
     * interrupt is on its way the FIFO that it is for drains */
    scene.sets[1] = "nic.remote_fifo_max=2 entries";
    scene.sets[2] = "host.interrupt=50 us";
    bgp_scene_run(&scene);
    assert_int_equal(scene.came, 8);
    /* what leaves a full FIFO is for the node itself */
    scene.sets[2] = "nic.processes=4 processes";
    bgp_scene_run(&scene);
    assert_int_equal(scene.came, 8);
    bgp_scene_run(&large);
    assert_int_equal(large.stats[NS_BGP_STAT_INTERRUPTS], 0);
    assert_int_equal(large.stats[NS_BGP_STAT_REMOTE_GETS], 7 * GETS + 8);
    assert_true(large.result.hash != scene.result.hash);
}

/* Processes of a node reach each other by the DMA's own copies. */
static void test_modes(void **state)
{
    static const char *const sets[] = {"nic.processes=1 processes",
                                       "nic.processes=2 processes",
                                       "nic.processes=4 processes"};
    uint64_t local = 0;

    for (uint32_t i = 0; i < 3; i++) {
        struct bgp_scene scene = {
                .sets = {sets[i]}, .params.nodes = 8, .body = body_gets};
        uint64_t hash;

        bgp_scene_run(&scene);
        assert_int_equal(scene.came, 8);
        assert_int_equal(i == 0, scene.stats[NS_BGP_STAT_LOCAL] == 0);
        assert_true(i == 0 || scene.stats[NS_BGP_STAT_LOCAL] > local);
        local = scene.stats[NS_BGP_STAT_LOCAL];
        hash = scene.result.hash;
        scene.params.threads = i == 1;
        scene.params.no_sleep = i != 1;
        bgp_scene_run(&scene);
        assert_true(scene.result.hash == hash);
    }
}

/* -------------------------------------------------------------- neighbours */

/* Node 0 of a 4x4x4 torus sends to some of its neighbours. */
static void body_neighbours(struct bgp_scene *scene, struct ns_sim_node *view)
{
    static const uint32_t neighbour[] = {1, 3, 4, 12, 16, 48};
    struct bgp_node *node = bgp_node_open(view);
    uint8_t data[1900] = {0};
    uint64_t from_ps = am_env_now(view->env), expected = 0;

    for (uint32_t i = 0; i < scene->neighbours; i++) {
        expected += view->rank == neighbour[i] ? MESSAGES : 0;
    }
    for (uint32_t i = 0; view->rank == 0 && i < MESSAGES * scene->neighbours;
         i++) {
        while (node->dev->ops->send(node->eps[neighbour[i % scene->neighbours]],
                                    AM_DEV_REPLY, NULL, 0, data,
                                    sizeof(data)) == AM_ERR_AGAIN) {
            sim_dev_poll(node->dev);
        }
    }
    while (node->got < expected) {
        sim_dev_poll(node->dev);
    }
    if (expected > 0 && am_env_now(view->env) - from_ps > scene->time_ps) {
        scene->time_ps = am_env_now(view->env) - from_ps;
    }
    bgp_node_close(node);
}

/* A FIFO for each destination: two neighbours take hardly longer than one, as
 * each has a link of its own. */
static void test_neighbours(void **state)
{
    struct bgp_scene one = {
            .params.nodes = 64, .body = body_neighbours, .neighbours = 1};
    struct bgp_scene two = {
            .params.nodes = 64, .body = body_neighbours, .neighbours = 2};

    bgp_scene_run(&one);
    bgp_scene_run(&two);
    assert_true(two.time_ps < one.time_ps + one.time_ps / 4);
}

/* ------------------------------------------------------------- determinism */

/* A little of all: the collective network, the global interrupt, gets from
 * node 0 by all at once, which raise the overflow's interrupt. */
static void body_mixed(struct bgp_scene *scene, struct ns_sim_node *view)
{
    struct bgp_node *node = bgp_node_open(view);
    uint8_t *mine = calloc(1, BYTES), *got = calloc(MIXED_GETS, BYTES);
    struct am_dev_key key, keys[NODES_MAX];

    assert_int_equal(node->dev->ops->mem_register(node->dev, mine, BYTES,
                                                  AM_DEV_RIGHTS_ALL, &key),
                     AM_OK);
    ns_sim_allgather(view, &key, keys, sizeof(key));
    bgp_combine_all(node, NS_BGP_TREE_ADD);
    bgp_broadcast_all(node);
    bgp_barrier_all(scene, node);
    for (uint32_t i = 0; view->rank != 0 && i < MIXED_GETS; i++) {
        op_start(node, true, 0, got + (size_t)i * BYTES, &keys[0]);
    }
    while (view->rank != 0 && node->done < MIXED_GETS) {
        sim_dev_poll(node->dev);
    }
    bgp_node_close(node);
    free(mine);
    free(got);
}

/* The same trace in 100 runs, and in every way to run it. */
static void test_determinism(void **state)
{
    static const struct ns_sim_params ways[] = {
            {.nodes = 4, .no_sleep = true},
            {.nodes = 4, .no_jump = true},
            {.nodes = 4, .threads = true},
            {.nodes = 4, .no_sleep = true, .no_jump = true, .threads = true},
    };
    struct bgp_scene scene = {.sets = {"nic.remote_fifo=1 entries"},
                              .params.nodes = 4,
                              .body = body_mixed};
    struct ns_sim_result first;

    bgp_scene_run(&scene);
    first = scene.result;
    assert_true(scene.stats[NS_BGP_STAT_INTERRUPTS] > 0);
    for (uint32_t i = 1; i < 100; i++) {
        bgp_scene_run(&scene);
        assert_true(scene.result.hash == first.hash);
        assert_int_equal(scene.result.events, first.events);
    }
    for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        scene.params = ways[i];
        bgp_scene_run(&scene);
        assert_true(scene.result.hash == first.hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_overflow),
            cmocka_unit_test(test_modes),
            cmocka_unit_test(test_neighbours),
            cmocka_unit_test(test_determinism),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
