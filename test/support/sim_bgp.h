/*
 * Nodes of a simulated Blue Gene/P, each with the driver of its DMA, for tests
 * of what they do together.
 */
#ifndef AM_TEST_SUPPORT_SIM_BGP_H
#define AM_TEST_SUPPORT_SIM_BGP_H

#include "support/sim_dev.h"

#include "nic/bgp/bgp.h"
#include "sim.h"

enum {
    NODES_MAX = SIM_DEV_NODES_MAX,
    SETS_MAX = 4,
    WORDS = AM_DEV_NETWORK_WORDS
};

/* A run: what it is set to, and what came out. */
struct bgp_scene {
    const char *sets[SETS_MAX];
    struct ns_sim_params params;
    void (*body)(struct bgp_scene *scene, struct ns_sim_node *view);
    uint64_t came;       /* nodes at some point */
    uint32_t neighbours; /* for the body's use, like the next */
    uint64_t time_ps;
    uint64_t stats[NS_BGP_STAT_COUNT];
    struct ns_sim_result result;
};

struct bgp_node {
    struct ns_sim_node *view;
    struct am_dev *dev;
    struct am_dev_ep *eps[NODES_MAX];
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint64_t got, done;
};

/* Run the body on each of params.nodes; the test fails when it cannot be run.
 * Stats are those of all nodes together. */
void bgp_scene_run(struct bgp_scene *scene);

/* What a body begins and ends with. */
struct bgp_node *bgp_node_open(struct ns_sim_node *view);
void bgp_node_close(struct bgp_node *node);

/* All nodes, in the same order: combine words by an operator (NS_BGP_TREE_*),
 * and look at what comes out; each broadcasts to all; some barriers, which
 * nobody leaves before the last has come. */
void bgp_combine_all(struct bgp_node *node, uint32_t op);
void bgp_broadcast_all(struct bgp_node *node);
void bgp_barrier_all(struct bgp_scene *scene, struct bgp_node *node);
/* Wait for the next words that come out, which must be of this operator. */
void bgp_take(struct bgp_node *node, uint32_t op, uint32_t words[WORDS]);

#endif
