/*
 * Nodes of a Blue Gene/P, and what they do together by its collective network
 * and its global interrupt, with the values that must come out.
 */
#include "support/sim_bgp.h"
#include "support/cm.h"

#include "dev/snic/snic.h"

#include <stdlib.h>

enum {
    ROUNDS = 20
};

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct bgp_node *node = user;

    node->got++;
}

struct bgp_node *bgp_node_open(struct ns_sim_node *view)
{
    struct bgp_node *node = calloc(1, sizeof(*node));
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

void bgp_node_close(struct bgp_node *node)
{
    sim_dev_close(node->view, node->dev);
    free(node);
}

static void scene_body(void *arg, struct ns_sim_node *view)
{
    struct bgp_scene *scene = arg;

    scene->body(scene, view);
}

/* No interrupt has made a FIFO larger than its memory. */
static void fifos_check(const struct ns_sim *sim)
{
    for (uint32_t i = 0; i < sim->node_count; i++) {
        const struct ns_bgp_process *process = sim->nodes[i].nic;
        const struct ns_bgp_group *group =
                &process->node->group[process->group];

        for (uint32_t f = 0; f < NS_BGP_INJECTION_FIFOS; f++) {
            const struct ns_bgp_fifo *fifo = &group->injection[f];

            assert_true(fifo->size_max == 0 || fifo->size <= fifo->size_max);
        }
    }
}

void bgp_scene_run(struct bgp_scene *scene)
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
    fifos_check(sim);
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

void bgp_take(struct bgp_node *node, uint32_t op, uint32_t words[WORDS])
{
    uint32_t came;

    while (snic_network_ops.combined(node->dev, &came, words) == AM_ERR_AGAIN) {
        am_env_relax(node->view->env, UINT64_MAX);
    }
    assert_int_equal(came, op);
}

/* What all nodes together must get. */
static void combined_check(struct bgp_node *node, uint32_t op, uint32_t round)
{
    uint32_t words[WORDS];

    bgp_take(node, op, words);
    for (uint32_t i = 0; i < WORDS; i++) {
        uint32_t value = word_of(0, round, i);

        for (uint32_t rank = 1; rank < node->view->size; rank++) {
            value = combined(op, value, word_of(rank, round, i));
        }
        assert_int_equal(words[i], value);
    }
}

void bgp_combine_all(struct bgp_node *node, uint32_t op)
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

void bgp_broadcast_all(struct bgp_node *node)
{
    uint32_t words[WORDS];

    for (uint32_t root = 0; root < node->view->size; root++) {
        if (root == node->view->rank) {
            for (uint32_t i = 0; i < WORDS; i++) {
                words[i] = word_of(root, 7, i);
            }
            assert_int_equal(snic_network_ops.combine(
                                     node->dev, NS_BGP_TREE_BROADCAST, words),
                             AM_OK);
        }
        bgp_take(node, NS_BGP_TREE_BROADCAST, words);
        for (uint32_t i = 0; i < WORDS; i++) {
            assert_int_equal(words[i], word_of(root, 7, i));
        }
    }
}

/* Nobody leaves before the last has come. */
void bgp_barrier_all(struct bgp_scene *scene, struct bgp_node *node)
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
