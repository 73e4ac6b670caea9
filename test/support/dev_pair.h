/*
 * Two ranks of a job over one device, in this process: devices without contexts
 * above them, which send each other requests of two words.
 */
#ifndef AM_TEST_SUPPORT_DEV_PAIR_H
#define AM_TEST_SUPPORT_DEV_PAIR_H

#include "dev/dev.h"

enum {
    DEV_PAIR_POLLS_MAX = 10000000 /* the kernel carries it when it gets to it */
};

struct dev_node {
    struct am_dev *dev;
    struct am_dev_ep *ep; /* to the other */
    uint64_t stats[AM_DEV_STAT_COUNT];
    uint32_t rank, got, dead;
    char why[256], error[256];
    struct am_log log; /* silent */
};

/* Open nodes[0] and nodes[1] in `env`, able to sleep; node 0 connects to node 1, which
 * hears nothing of it. */
void dev_pair_meet(struct dev_node nodes[2], const struct am_dev_ops *ops,
                   struct am_env *env, const struct am_option *options,
                   uint32_t option_count);
/* The same, and node 0 sends a request. */
void dev_pair_open(struct dev_node nodes[2], const struct am_dev_ops *ops,
                   struct am_env *env, const struct am_option *options,
                   uint32_t option_count);
void dev_pair_close(struct dev_node nodes[2]);
void dev_pair_poll(struct dev_node nodes[2]);
/* A request from node 0 to node 1, and polls until it is there. */
void dev_pair_send(struct dev_node nodes[2]);

#endif
