/*
 * A 3D torus of routers, one at each node, that loses nothing.  All of it is
 * one clocked component: a cycle moves one byte over each link, and a wheel of
 * cycles holds what will happen, so a packet costs one step a hop however many
 * nodes there are.
 *
 *   injection queues (one for each way) --\                /--> six links
 *   six links x virtual channels ----------> router, node --> reception
 *
 * Virtual channels: two dynamic ones, which adaptive packets take in any
 * minimal direction, and the bubble channel, whose packets go x, then y, then
 * z.  Deterministic packets use only the bubble channel, so those of one pair
 * stay in order; adaptive ones may escape to it.  A packet may enter a ring of
 * the bubble channel only if that leaves room for one more of the largest
 * size (the bubble rule), so a ring never fills up.
 *
 * A packet moves on when its head is here, the link is free and the next
 * buffer has room for all of it (virtual cut-through); its room here is free
 * again as it leaves, for both links run at the same rate.
 */
#ifndef NS_NET_TORUS_H
#define NS_NET_TORUS_H

#include "nicsim_machine.h"

enum {
    NS_TORUS_WAYS = 6, /* +x -x +y -y +z -z */
    NS_TORUS_HERE = 6, /* to this node */
    NS_TORUS_VCS = 3,  /* dynamic, dynamic, bubble */
    NS_TORUS_BUBBLE = 2,
    NS_TORUS_LINKS = NS_TORUS_WAYS * NS_TORUS_VCS,
    NS_TORUS_QUEUES = NS_TORUS_LINKS + NS_TORUS_WAYS, /* and injection */
    NS_TORUS_CHUNK = 32,      /* bytes: the unit of buffers */
    NS_TORUS_BYTES_MAX = 256, /* of a packet */
    NS_TORUS_CHUNKS_MAX = NS_TORUS_BYTES_MAX / NS_TORUS_CHUNK
};

/* Flags of a packet. */
enum {
    NS_TORUS_ADAPTIVE = 1 << 0,
    NS_TORUS_DEPOSIT = 1 << 1 /* leave a copy at each node passed (a line) */
};

/* Where a packet still has to go, and what it takes. */
struct ns_torus_route {
    uint16_t hops[3]; /* in each dimension */
    uint8_t way[3];
    uint8_t chunks;
    uint16_t cycles; /* on a link */
    uint8_t flags;
    bool left_here; /* a deposited copy has been taken here */
};

struct ns_torus_packet {
    struct ns_torus_packet *next; /* the owner's */
    uint64_t id;                  /* process << 40 | count */
    uint64_t started_ps;          /* first byte on the first link */
    uint32_t source, destination; /* nodes */
    uint32_t receiver;            /* the adapter's */
    uint16_t bytes;               /* of `data` */
    uint8_t flags;
    struct ns_torus_route route; /* from the source */
    uint8_t data[NS_TORUS_BYTES_MAX];
};

struct ns_torus;

/* What the adapter of a node offers to its router. */
struct ns_torus_ops {
    /* Own a packet whose tail is in; the next one comes only after
     * ns_torus_ready. */
    void (*deliver)(void *nic, struct ns_torus_packet *packet);
    /* An injection queue that was full has room. */
    void (*room)(void *nic);
};

struct ns_torus_stats {
    uint64_t injected, copied, delivered;
    uint64_t hops, escapes; /* escapes: adaptive packets in the bubble VC */
    uint64_t link_cycles;   /* links busy, all together */
};

/* NULL: out of memory.  The settings have been checked. */
struct ns_torus *ns_torus_open(struct ns_engine *engine,
                               const struct ns_torus_settings *settings,
                               uint32_t nodes);
void ns_torus_close(struct ns_torus *torus);
void ns_torus_attach(struct ns_torus *torus, uint32_t node, void *nic,
                     const struct ns_torus_ops *ops);

/* A packet with nothing set; NULL when out of memory. */
struct ns_torus_packet *ns_torus_packet_get(struct ns_torus *torus);
void ns_torus_packet_put(struct ns_torus *torus,
                         struct ns_torus_packet *packet);
/* Fill in the route from source, destination, bytes and flags. */
void ns_torus_route(const struct ns_torus *torus,
                    struct ns_torus_packet *packet);
/* Is there room for a routed packet in its injection queue? */
bool ns_torus_has_room(const struct ns_torus *torus,
                       const struct ns_torus_packet *packet);
/* Inject a routed packet; there is room, and it is not for this node. */
void ns_torus_inject(struct ns_torus *torus, struct ns_torus_packet *packet);
/* The adapter can take one more packet.  (At first it can.) */
void ns_torus_ready(struct ns_torus *torus, uint32_t node);

/* A link was given up: faults let nothing through.  The engine was stopped. */
bool ns_torus_broken(const struct ns_torus *torus);
/* No packet is in it or owned by an adapter, and all buffers are empty. */
bool ns_torus_quiet(const struct ns_torus *torus);
const struct ns_torus_stats *ns_torus_stats(const struct ns_torus *torus);
/* Nodes in each dimension. */
void ns_torus_shape(const struct ns_torus *torus, uint32_t shape[3]);
/* Sides of the torus of `nodes` nodes: as near to a cube as they divide. */
void ns_torus_sides(uint32_t nodes, uint32_t side[3]);
/* The node next to `node`. */
uint32_t ns_torus_neighbour(const struct ns_torus *torus, uint32_t node,
                            uint32_t way);
/* Hops of the shortest ways between two nodes. */
uint32_t ns_torus_distance(const struct ns_torus *torus, uint32_t from,
                           uint32_t to);
/* From injection, in a cycle, to the tail's arrival, alone in the network. */
uint64_t ns_torus_alone_ps(const struct ns_torus *torus, uint32_t hops,
                           uint32_t bytes);

/*
 * torus_check.c: can the bubble channel deadlock?  `turns[a]` is the set of
 * ways that a packet which came by way a may leave by.  NULL, or what waits
 * for itself.
 */
const char *ns_torus_deadlock(const struct ns_torus_settings *settings,
                              const uint32_t side[3],
                              const uint8_t turns[NS_TORUS_WAYS]);
/* The turns that ns_torus takes: along, or to a later dimension. */
extern const uint8_t ns_torus_turns[NS_TORUS_WAYS];

#endif
