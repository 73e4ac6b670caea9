/*
 * The collective network: a tree of routers whose ALU combines packets on the
 * way up; at the top they turn round and go down to everybody.  And the global
 * interrupt: a barrier of all.
 *
 *   up:    [child]... [own] -all there-> ALU -> parent      (combining)
 *          [child] or [own] -----------------> parent       (broadcast)
 *   down:  [parent] -> every child, and the node's port
 *
 * Heads go on as soon as they have come (a hop each); a packet holds a link
 * for its bytes.  The n-th combining packet of a node meets the n-th of all
 * others.  A packet moves only when there is room for it, so nothing is lost;
 * links that fail send again, as those of the torus (torus_fault.c).
 */
#ifndef NS_NET_TREE_H
#define NS_NET_TREE_H

#include "nicsim_bgp.h"
#include "nicsim_machine.h"

struct ns_tree_packet {
    uint32_t word; /* operation and root */
    uint32_t data[NS_BGP_TREE_BYTES / 4];
};

struct ns_tree;

/* A packet's tail has come out at a node, to its port: see ns_tree_take. */
typedef void (*ns_tree_arrived_fn)(void *nic);
typedef void (*ns_tree_barrier_fn)(void *nic);

/* NULL: out of memory.  `members` enter the barrier. */
struct ns_tree *ns_tree_open(struct ns_engine *engine,
                             const struct ns_tree_settings *settings,
                             uint32_t nodes, uint32_t members);
void ns_tree_close(struct ns_tree *tree);
void ns_tree_attach(struct ns_tree *tree, uint32_t node, void *nic,
                    ns_tree_arrived_fn arrived);
void ns_tree_member(struct ns_tree *tree, uint32_t member, void *nic,
                    ns_tree_barrier_fn barrier);

/* False: the node's port is full. */
bool ns_tree_send(struct ns_tree *tree, uint32_t node,
                  const struct ns_tree_packet *packet);
/* Take the next packet out of the node's port; false: there is none. */
bool ns_tree_take(struct ns_tree *tree, uint32_t node,
                  struct ns_tree_packet *packet);
/* One member has come; when all have, each is told after barrier_ps. */
void ns_tree_enter(struct ns_tree *tree);

/* A link was given up: faults let nothing through.  The engine was stopped. */
bool ns_tree_broken(const struct ns_tree *tree);
bool ns_tree_quiet(const struct ns_tree *tree);
/* No node hears of anything before, if nobody sends or enters before next_ps. */
uint64_t ns_tree_ahead_ps(const struct ns_tree *tree, uint64_t next_ps);
/* Hops from the farthest node to the top. */
uint32_t ns_tree_depth(const struct ns_tree *tree);
/* All send at once, alone: from then to the last tail at a node `depth` hops
 * below the top. */
uint64_t ns_tree_alone_ps(const struct ns_tree *tree, uint32_t depth);

#endif
