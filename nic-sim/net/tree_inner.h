/*
 * The inside of the collective network, for tree.c and tree_init.c.
 */
#ifndef NS_NET_TREE_INNER_H
#define NS_NET_TREE_INNER_H

#include "net/tree.h"

enum {
    CLASS_COMBINE,
    CLASS_BROADCAST,
    CLASSES
};

/* Packets that wait at a router, a ring of tree_buffer of them.  `coming`
 * have room and are on the link. */
struct ns_tree_ring {
    struct ns_tree_packet *packet;
    uint64_t *head_ps; /* when its head is here */
    uint32_t first, count;
};

struct ns_tree_router {
    struct ns_component component;
    struct ns_tree *tree;
    uint32_t index, parent, child, children; /* children are in a row */
    struct ns_tree_ring
            *up; /* (children + 1) * CLASSES: from each, and its own */
    struct ns_tree_ring down, port;
    struct ns_event up_event, down_event, port_event;
    uint64_t up_free_ps, down_free_ps;
    struct ns_fault_port up_port, down_port; /* to and from the parent */
    void *nic;
    ns_tree_arrived_fn arrived;
};

struct ns_tree_member {
    void *nic;
    ns_tree_barrier_fn barrier;
};

struct ns_tree {
    struct ns_tree_settings settings;
    struct ns_component component;
    uint32_t nodes, members, entered;
    struct ns_tree_router *routers;
    struct ns_tree_member *member;
    struct ns_event barrier;
    uint64_t packet_ps;
    struct ns_resend resend;
    bool broken;
    uint64_t sent; /* packets in it, at any place */
};

/* tree.c */
void ns_tree_up_run(struct ns_event *event);
void ns_tree_down_run(struct ns_event *event);
void ns_tree_port_run(struct ns_event *event);
void ns_tree_barrier_run(struct ns_event *event);

#endif
