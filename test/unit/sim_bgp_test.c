/*
 * Blue Gene/P's driver and DMA: the collective network and the global interrupt
 * with the values that they give; remote gets that overflow a FIFO and raise
 * its interrupt; more operations than counters; dual and quad mode; messages to
 * several neighbours on several links; the same trace however it is run.
 */
#include "support/cm.h"
#include "support/sim_dev.h"

#include "dev/snic/snic.h"
#include "nic/bgp/bgp.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES_MAX = SIM_DEV_NODES_MAX,
    SETS_MAX = 4,
    WORDS = AM_DEV_NETWORK_WORDS,
    ROUNDS = 20,
    GETS = 100, /* more than there are counters */
    MIXED_GETS = 8,
    BYTES = 3000,
    MESSAGES = 64
};

/* ---------------------------------------------------------------- a world */

struct scene {
    const char *sets[SETS_MAX];
    struct ns_sim_params params;
    void (*body)(struct scene *scene, struct ns_sim_node *view);
    uint64_t came; /* nodes at some point */
    uint32_t neighbours;
    uint64_t time_ps;
    uint64_t stats[NS_BGP_STAT_COUNT];
    struct ns_sim_result result;
};

struct node {
    struct ns_sim_node *view;
    struct am_dev *dev;
    struct am_dev_ep *eps[NODES_MAX];
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint64_t got, done;
};

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct node *node = user;

    node->got++;
}

static struct node *node_open(struct ns_sim_node *view)
{
    struct node *node = calloc(1, sizeof(*node));
    void *users[NODES_MAX];
    const struct am_dev_params params = {
            .up = {.arg = node, .packet = packet},
            .stats = node->stats,
            .error = node->error,
            .error_bytes = sizeof(node->error),
    };

    node->view = view;
    for (uint32_t i = 0; i < view->size; i++) {
        users[i] = node;
    }
    node->dev = sim_dev_open(view, params, users, node->eps);
    ns_sim_barrier(view);
    return node;
}

static void node_close(struct node *node)
{
    sim_dev_close(node->view, node->dev);
    free(node);
}

static void scene_body(void *arg, struct ns_sim_node *view)
{
    struct scene *scene = arg;

    scene->body(scene, view);
}

static void scene_run(struct scene *scene)
{
    char error[256] = "";
    uint32_t count = 0;
    struct ns_machine *machine;
    struct ns_sim *sim;

    while (count < SETS_MAX && scene->sets[count] != NULL) {
        count++;
    }
    scene->came = 0;
    scene->params.limit_ps = 20 * NS_PS_PER_SECOND;
    machine = ns_machine_load("bgp", scene->sets, count, error, sizeof(error));
    sim = machine == NULL
                  ? NULL
                  : ns_sim_open(machine, &scene->params, error, sizeof(error));
    if (sim == NULL || ns_sim_run(sim, scene_body, scene, &scene->result, error,
                                  sizeof(error)) != 0) {
        fail_msg("%s", error);
    }
    for (uint32_t stat = 0; stat < NS_BGP_STAT_COUNT; stat++) {
        scene->stats[stat] = 0;
        for (uint32_t i = 0; i < sim->node_count; i++) {
            scene->stats[stat] += sim->kind->stats(sim->nodes[i].nic)[stat];
        }
    }
    ns_sim_close(sim);
    free(machine);
}

/* ------------------------------------------------------ collective network */

static uint32_t word_of(uint32_t rank, uint32_t round, uint32_t i)
{
    return (rank + 1) * UINT32_C(2654435761) + round * 40503 + i * 2246822519u;
}

static uint32_t combined(uint32_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case NS_BGP_TREE_ADD:
        return a + b;
    case NS_BGP_TREE_MAX:
        return a > b ? a : b;
    case NS_BGP_TREE_MIN:
        return a < b ? a : b;
    case NS_BGP_TREE_AND:
        return a & b;
    case NS_BGP_TREE_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

static void take(struct node *node, uint32_t op, uint32_t words[WORDS])
{
    uint32_t came;

    while (snic_network_ops.combined(node->dev, &came, words) == AM_ERR_AGAIN) {
        am_env_relax(node->view->env, UINT64_MAX);
    }
    assert_int_equal(came, op);
}

/* What all nodes together must get. */
static void combined_check(struct node *node, uint32_t op, uint32_t round)
{
    uint32_t words[WORDS];

    take(node, op, words);
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t value = word_of(0, round, i);

        for (uint32_t rank = 1; rank < node->view->size; rank++) {
            value = combined(op, value, word_of(rank, round, i));
        }
        assert_int_equal(words[i], value);
    }
}

static void combine_all(struct node *node, uint32_t op)
{
    uint32_t words[WORDS], taken = 0, again = 0;

    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < WORDS; i++) {
            words[i] = word_of(node->view->rank, round, i);
        }
        while (snic_network_ops.combine(node->dev, op, words) == AM_ERR_AGAIN) {
            combined_check(node, op, taken++);
            again++;
        }
    }
    assert_true(again > 0); /* the port was full, and got room */
    while (taken < ROUNDS) {
        combined_check(node, op, taken++);
    }
}

static void broadcast_all(struct node *node)
{
    uint32_t words[WORDS];

    for (uint32_t root = 0; root < node->view->size; root++) {
        if (root == node->view->rank) {
            for (uint32_t i = 0; i < WORDS; i++) {
                words[i] = word_of(root, 7, i);
            }
            assert_int_equal(snic_network_ops.combine(node->dev,
                                                  NS_BGP_TREE_BROADCAST, words),
                             AM_OK);
        }
        take(node, NS_BGP_TREE_BROADCAST, words);
        for (uint32_t i = 0; i < WORDS; i++) {
            assert_int_equal(words[i], word_of(root, 7, i));
        }
    }
}

/* Nobody leaves before the last has come. */
static void barrier_all(struct scene *scene, struct node *node)
{
    for (uint64_t round = 1; round <= 5; round++) {
        ns_sim_compute(node->view, node->view->rank * UINT64_C(3000000));
        scene->came++;
        assert_int_equal(snic_network_ops.enter(node->dev), AM_OK);
        while (!snic_network_ops.has_met(node->dev)) {
            am_env_relax(node->view->env, UINT64_MAX);
        }
        assert_true(scene->came >= round * node->view->size);
    }
}

static void body_collective(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
    uint32_t words[WORDS] = {0};

    assert_true((node->dev->attr.caps & AM_DEV_CAP_COLLECTIVE) != 0);
    assert_int_equal(
            snic_network_ops.combine(node->dev, NS_BGP_TREE_XOR + 1, words),
            AM_ERR_INVALID);
    for (uint32_t op = NS_BGP_TREE_ADD; op <= NS_BGP_TREE_XOR; op++) {
        combine_all(node, op);
    }
    broadcast_all(node);
    barrier_all(scene, node);
    node_close(node);
}

static void test_collective(void **state)
{
    static const uint32_t sizes[] = {1, 2, 8, 13};

    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct scene scene = {.params.nodes = sizes[i],
                              .body = body_collective};
        uint64_t hash;

        scene_run(&scene);
        hash = scene.result.hash;
        scene.params.threads = i == 2;
        scene.params.no_sleep = true;
        scene_run(&scene);
        assert_true(scene.result.hash == hash);
    }
}

/* In quad mode a node's first process has the port. */
static void body_port(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
    uint32_t words[WORDS] = {view->rank}, op;
    bool port = (node->dev->attr.caps & AM_DEV_CAP_COLLECTIVE) != 0;

    assert_int_equal(port, view->rank % 4 == 0);
    if (port) {
        assert_int_equal(
                snic_network_ops.combine(node->dev, NS_BGP_TREE_ADD, words), AM_OK);
        take(node, NS_BGP_TREE_ADD, words);
        assert_int_equal(words[0], 0 + 4 + 8);
    } else {
        assert_int_equal(
                snic_network_ops.combine(node->dev, NS_BGP_TREE_ADD, words),
                AM_ERR_UNSUPPORTED);
        assert_int_equal(snic_network_ops.combined(node->dev, &op, words),
                         AM_ERR_UNSUPPORTED);
    }
    barrier_all(scene, node); /* which all processes have */
    node_close(node);
}

static void test_port(void **state)
{
    struct scene scene = {.sets = {"nic.processes=4 processes"},
                          .params.nodes = 12,
                          .body = body_port};

    scene_run(&scene);
}

/* ------------------------------------------------------------ puts and gets */

static uint8_t byte_of(uint32_t rank, uint32_t at)
{
    return (uint8_t)(rank * 31 + at * 7 + (at >> 8));
}

static void on_done(void *arg, am_status_t status)
{
    struct node *node = arg;

    assert_int_equal(status, AM_OK);
    node->done++;
}

static uint32_t op_start(struct node *node, bool get, uint32_t peer, void *data,
                         const struct am_dev_key *key)
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
static void body_gets(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
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
    node_close(node);
    free(mine);
    free(got);
    free(place);
}

/* A FIFO of one entry overflows: the interrupt makes it larger, and all is
 * well; one that is large enough raises none. */
static void test_overflow(void **state)
{
    struct scene scene = {.sets = {"nic.remote_fifo=1 entries",
                                   "nic.remote_fifo_max=16 entries"},
                          .params.nodes = 8,
                          .body = body_gets};
    struct scene large = {.sets = {"nic.remote_fifo=1024 entries",
                                   "nic.remote_fifo_max=1024 entries"},
                          .params.nodes = 8,
                          .body = body_gets};

    scene_run(&scene);
    assert_int_equal(scene.came, 8);
    assert_in_range(scene.stats[NS_BGP_STAT_INTERRUPTS], 4, 8 * 4);
    assert_true(scene.stats[NS_BGP_STAT_STALLS] > 0);
    scene_run(&large);
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
        struct scene scene = {
                .sets = {sets[i]}, .params.nodes = 8, .body = body_gets};
        uint64_t hash;

        scene_run(&scene);
        assert_int_equal(scene.came, 8);
        assert_int_equal(i == 0, scene.stats[NS_BGP_STAT_LOCAL] == 0);
        assert_true(i == 0 || scene.stats[NS_BGP_STAT_LOCAL] > local);
        local = scene.stats[NS_BGP_STAT_LOCAL];
        hash = scene.result.hash;
        scene.params.threads = i == 1;
        scene.params.no_sleep = i != 1;
        scene_run(&scene);
        assert_true(scene.result.hash == hash);
    }
}

/* -------------------------------------------------------------- neighbours */

/* Node 0 of a 4x4x4 torus sends to some of its neighbours. */
static void body_neighbours(struct scene *scene, struct ns_sim_node *view)
{
    static const uint32_t neighbour[] = {1, 3, 4, 12, 16, 48};
    struct node *node = node_open(view);
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
    node_close(node);
}

/* A FIFO for each destination: two neighbours take hardly longer than one, as
 * each has a link of its own. */
static void test_neighbours(void **state)
{
    struct scene one = {
            .params.nodes = 64, .body = body_neighbours, .neighbours = 1};
    struct scene two = {
            .params.nodes = 64, .body = body_neighbours, .neighbours = 2};

    scene_run(&one);
    scene_run(&two);
    assert_true(two.time_ps < one.time_ps + one.time_ps / 4);
}

/* ------------------------------------------------------------- determinism */

/* A little of all: the collective network, the global interrupt, gets from
 * node 0 by all at once, which raise the overflow's interrupt. */
static void body_mixed(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);
    uint8_t *mine = calloc(1, BYTES), *got = calloc(MIXED_GETS, BYTES);
    struct am_dev_key key, keys[NODES_MAX];

    assert_int_equal(node->dev->ops->mem_register(node->dev, mine, BYTES,
                                                  AM_DEV_RIGHTS_ALL, &key),
                     AM_OK);
    ns_sim_allgather(view, &key, keys, sizeof(key));
    combine_all(node, NS_BGP_TREE_ADD);
    broadcast_all(node);
    barrier_all(scene, node);
    for (uint32_t i = 0; view->rank != 0 && i < MIXED_GETS; i++) {
        op_start(node, true, 0, got + (size_t)i * BYTES, &keys[0]);
    }
    while (view->rank != 0 && node->done < MIXED_GETS) {
        sim_dev_poll(node->dev);
    }
    node_close(node);
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
    struct scene scene = {.sets = {"nic.remote_fifo=1 entries"},
                          .params.nodes = 4,
                          .body = body_mixed};
    struct ns_sim_result first;

    scene_run(&scene);
    first = scene.result;
    assert_true(scene.stats[NS_BGP_STAT_INTERRUPTS] > 0);
    for (uint32_t i = 1; i < 100; i++) {
        scene_run(&scene);
        assert_true(scene.result.hash == first.hash);
        assert_int_equal(scene.result.events, first.events);
    }
    for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        scene.params = ways[i];
        scene_run(&scene);
        assert_true(scene.result.hash == first.hash);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_collective),
            cmocka_unit_test(test_port),
            cmocka_unit_test(test_overflow),
            cmocka_unit_test(test_modes),
            cmocka_unit_test(test_neighbours),
            cmocka_unit_test(test_determinism),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
