/*
 * The driver of a simulated NIC on one node, without a context above it.
 */
#ifndef AM_TEST_SUPPORT_SIM_DEV_H
#define AM_TEST_SUPPORT_SIM_DEV_H

#include "dev/dev.h"
#include "nicsim_sim.h"

/* At most so many nodes. */
#define SIM_DEV_NODES_MAX 64

/* Open the driver on this node and connect it with all others; params need not
 * say who and how many.  users[i] goes with node i, and so does eps[i], which
 * is filled in for all but this node. */
struct am_dev *sim_dev_open(struct ns_sim_node *view,
                            struct am_dev_params params, void *const *users,
                            struct am_dev_ep **eps);

/* A node as another one's driver knows it: what upcalls get as `user`. */
struct sim_peer {
    void *node; /* whose driver it is */
    struct am_dev_ep *ep;
    uint64_t next; /* the test's: number of its next packet */
};

/* The same for `peers`, one for each node, with two upcalls of `up`: packet and
 * ready.  All nodes have opened theirs then. */
struct am_dev *sim_dev_open_peers(struct ns_sim_node *view,
                                  struct am_dev_params params, void *node,
                                  struct sim_peer *peers);

/* Poll once, and wait if nothing came. */
void sim_dev_poll(struct am_dev *dev);

/* Poll until all nodes are here; and close then. */
void sim_dev_meet(struct ns_sim_node *view, struct am_dev *dev);
void sim_dev_close(struct ns_sim_node *view, struct am_dev *dev);

#endif
