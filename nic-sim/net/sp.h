/*
 * The SP switch.  A board has leaf chips of a few nodes each and a middle chip
 * for each route, every leaf linked to every middle chip in both directions.
 * Up to one board of nodes:
 *
 *   node -> leaf chip -> middle chip (the route) -> leaf chip -> node
 *
 * More boards are joined by chips of a third stage: the out port of a middle
 * chip that belongs to the sender's leaf leads to a chip that has one link from
 * and to each board.  As many links leave a board as nodes enter it: full
 * bisection.
 *
 *   ... -> middle chip -> third stage -> middle chip of the same route -> ...
 *
 * A path has 4 or 6 links, so a packet alone takes 4 or 6 * hop to its first
 * byte and its serialisation to its last.  Packets are never lost here: a full
 * buffer holds up the link before it.
 */
#ifndef NS_NET_SP_H
#define NS_NET_SP_H

#include "nicsim_machine.h"

/* A packet's head has come out at a node. */
typedef void (*ns_sp_deliver_fn)(void *nic, struct ns_packet *packet);

struct ns_sp;

struct ns_sp_port {
    struct ns_sp *sp;
    struct ns_link inject, eject;
    void *nic;
    ns_sp_deliver_fn deliver;
    void (*left)(void *nic); /* an injected packet's tail has left */
};

struct ns_sp {
    struct ns_sp_settings settings;
    uint32_t nodes, chips, boards;
    struct ns_sp_port *ports;  /* nodes */
    struct ns_link *up, *down; /* leaf to middle chip: chips * routes */
    struct ns_link *out, *in;  /* middle chip to third stage: boards * chips of
                                  a board * routes; none for one board */
    struct ns_packet_pool pool;
    uint64_t injected, delivered; /* statistics */
    uint64_t injected_bytes, delivered_bytes;
};

/* `eject_credits` packets fit into a NIC's input FIFO.  NULL: no memory. */
struct ns_sp *ns_sp_open(struct ns_engine *engine,
                         const struct ns_sp_settings *settings, uint32_t nodes,
                         uint32_t eject_credits);
void ns_sp_close(struct ns_sp *sp);
void ns_sp_attach(struct ns_sp *sp, uint32_t node, void *nic,
                  ns_sp_deliver_fn deliver, void (*left)(void *nic));
/* The packet's source, destination, route and bytes are set and in range. */
void ns_sp_inject(struct ns_sp *sp, struct ns_packet *packet);
/* The NIC has taken the packet out of its input FIFO. */
void ns_sp_taken(struct ns_sp *sp, uint32_t node);
/* Nothing is in the network, and every link has its credits. */
bool ns_sp_quiet(const struct ns_sp *sp);
/* Links between nodes of one board, for closed forms; and of any two. */
#define NS_SP_HOPS 4
uint32_t ns_sp_hops(const struct ns_sp_settings *settings, uint32_t from,
                    uint32_t to);

#endif
