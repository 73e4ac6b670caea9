/*
 * The inside of the torus, for torus.c, torus_queue.c, torus_wheel.c and
 * torus_init.c.
 */
#ifndef NS_NET_TORUS_INNER_H
#define NS_NET_TORUS_INNER_H

#include "net/torus.h"

#define WHEEL_SLOTS UINT64_C(2048) /* more than any step is long */
#define OUT_NONE    UINT32_MAX
/* Outputs of a router, links and reception, and one unused: a power of two. */
#define OUTS  8
#define PLANE 4
/* Among the ways that a packet may take: it stays here. */
#define HERE_BIT (1u << NS_TORUS_HERE)

/* What leaves a router in one direction, on the wheel when it has work. */
struct ns_torus_out {
    uint64_t at;   /* cycle of its next step; NS_NEVER */
    uint64_t free; /* cycle from which the link is free */
    uint32_t next, prev;
};

/* A packet in a queue: all that routers need to know of it, so that the packet
 * itself is touched at its ends only. */
struct ns_torus_entry {
    struct ns_torus_packet *packet;
    uint64_t ready; /* cycle in which its head is here */
    struct ns_torus_route route;
};

/* What arbitration asks of a queue's first packet. */
struct ns_torus_head {
    uint8_t chunks;
    uint8_t wants; /* ways it may take from here, or 1 << HERE */
};

/*
 * Sets of queues, a bit for each: `want` of those whose first packet may go
 * there, `first` of those whose first packet goes there by the deterministic
 * route, `adaptive`, and `coming`, whose first packet was not here yet when it
 * became the first (and may be by now).
 */
struct ns_torus_router {
    uint32_t want[OUTS], first[NS_TORUS_WAYS];
    uint32_t adaptive, coming;
    uint8_t turn[OUTS];             /* queue to look at first */
    uint16_t room[NS_TORUS_LINKS];  /* chunks free behind a link's channel */
    uint16_t inject[NS_TORUS_WAYS]; /* chunks free in injection queues */
    bool takes;                     /* the adapter can take a packet */
    bool told; /* the adapter found an injection queue full */
    uint32_t neighbour[NS_TORUS_WAYS];
    struct ns_torus_head head[NS_TORUS_QUEUES];
    uint16_t count[NS_TORUS_QUEUES]; /* of a queue's packets */
    struct ns_torus_out out[OUTS];
    void *nic;
    const struct ns_torus_ops *ops;
} __attribute__((aligned(64)));

struct ns_torus_slot {
    uint32_t first, last;
};

struct ns_torus {
    struct ns_clock clock;
    struct ns_clocked clocked;
    struct ns_torus_settings settings;
    uint32_t nodes, side[3];
    uint32_t hop_cycles, buffer_chunks;
    struct ns_torus_router *routers;
    struct ns_torus_entry *entries; /* buffer_chunks for each queue: PLANE of
                                     * all, the next PLANE of all... */
    struct ns_torus_slot wheel[WHEEL_SLOTS];
    uint64_t busy[WHEEL_SLOTS / 64]; /* slots that are not empty */
    uint64_t cycle;                  /* the present one, while it runs */
    bool running;
    struct ns_torus_packet *unused; /* pool */
    struct ns_torus_packet **slabs;
    uint32_t slab_count;
    uint64_t out; /* packets that somebody has */
    struct ns_fault_port *ports; /* of each node's ways; NULL: none fails */
    bool broken;                 /* a link has been given up */
    struct ns_torus_stats stats;
};

/* torus_fault.c */
int ns_torus_fault_init(struct ns_torus *torus);
/* Cycles by which the link's faults make a packet late.  Not 0: the link ends
 * with it when these are over. */
uint64_t ns_torus_fault_cycles(struct ns_torus *torus, uint32_t node,
                               uint32_t way,
                               const struct ns_torus_packet *packet);

/* torus_wheel.c: the next cycle, when none runs. */
uint64_t ns_torus_now_outside(const struct ns_torus *torus);
/* The first cycle after the present one with work; NS_NEVER. */
uint64_t ns_torus_next(const struct ns_torus *torus);
/* Put an output where `cycle` is. */
void ns_torus_wheel_move(struct ns_torus *torus, uint32_t node, uint32_t way,
                         uint64_t cycle);
/* Take it off the wheel. */
void ns_torus_unkick(struct ns_torus *torus, struct ns_torus_out *out);

/* The cycle that runs now, or the next that will. */
static inline uint64_t ns_torus_now(const struct ns_torus *torus)
{
    return torus->running ? torus->cycle : ns_torus_now_outside(torus);
}

/* Let an output step in `cycle`, or now if that is over, or when its link is
 * free; or earlier if it will anyhow. */
static inline void ns_torus_kick(struct ns_torus *torus, uint32_t node,
                                 uint32_t way, uint64_t cycle)
{
    struct ns_torus_out *out = &torus->routers[node].out[way];
    uint64_t now = ns_torus_now(torus);

    cycle = cycle > now ? cycle : now;
    cycle = cycle > out->free ? cycle : out->free;
    if (out->at > cycle) {
        ns_torus_wheel_move(torus, node, way, cycle);
    }
}

static inline struct ns_torus_out *ns_torus_out_of(struct ns_torus *torus,
                                                   uint32_t index)
{
    return &torus->routers[index / OUTS].out[index % OUTS];
}

/* The first packet of queue q. */
static inline struct ns_torus_entry *
ns_torus_first_of(const struct ns_torus *torus, uint32_t node, uint32_t q)
{
    return &torus->entries[(size_t)(node * NS_TORUS_QUEUES + q) * PLANE];
}

/* torus_queue.c: the first packet of a queue is a new one, or is to go
 * elsewhere than before: the ways that it may take step when it is ready. */
void ns_torus_queue_head(struct ns_torus *torus, uint32_t node, uint32_t q);
/* No way is wanted by the first packet of queue q any more. */
void ns_torus_queue_unwant(struct ns_torus_router *router, uint32_t q);
void ns_torus_queue_push(struct ns_torus *torus, uint32_t node, uint32_t q,
                         const struct ns_torus_entry *entry);
/* Take the first packet out; who waited for its room may go on. */
struct ns_torus_entry ns_torus_queue_pop(struct ns_torus *torus, uint32_t node,
                                         uint32_t q);

extern const struct ns_clocked_ops ns_torus_clocked_ops;

#endif
