/*
 * A run of the LANai's driver on some nodes, without contexts above it: each
 * node does what the scene's body says; packets that come must be the next of
 * their source, with its data.
 */
#ifndef AM_TEST_SUPPORT_SIM_SCENE_H
#define AM_TEST_SUPPORT_SIM_SCENE_H

#include "support/sim_dev.h"

enum {
    NODES_MAX = SIM_DEV_NODES_MAX,
    SETS_MAX = 6
};

struct scene {
    const char *sets[SETS_MAX];
    uint32_t set_count;
    struct ns_sim_params params;
    void (*body)(struct scene *scene, struct ns_sim_node *view);
    uint64_t answer;
    struct ns_sim_result result;
    char error[256];
};

struct node {
    struct ns_sim_node *view;
    struct am_dev *dev;
    struct sim_peer peers[NODES_MAX]; /* their packets come once, in order */
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint64_t got, done;
};

/* Byte `at` of packet `number` of a source. */
uint8_t data_byte(uint64_t source, uint64_t number, uint64_t at);

/* In a body: open the driver, connected with all nodes; meet them and close. */
struct node *node_open(struct ns_sim_node *view);
void node_close(struct node *node);

/* 0, or -1 with scene->error; the second fails the test then. */
int scene_run(struct scene *scene, const char *machine);
void scene_good(struct scene *scene, const char *machine);

#endif
