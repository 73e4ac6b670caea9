/*
 * The inside of the torus, for torus.c, torus_wheel.c and torus_init.c.
 */
#ifndef NS_NET_TORUS_INNER_H
#define NS_NET_TORUS_INNER_H

#include "net/torus.h"

#define WHEEL_SLOTS UINT64_C(2048) /* more than any step is long */
#define OUT_NONE    UINT32_MAX
#define OUTS        (NS_TORUS_WAYS + 1) /* of a router: links and reception */

/* What leaves a router in one direction, on the wheel when it has work. */
struct ns_torus_out {
    uint64_t at;   /* cycle of its next step; NS_NEVER */
    uint64_t free; /* cycle from which the link is free */
    uint32_t next, prev;
};

struct ns_torus_queue {
    struct ns_torus_packet *first, *last;
};

struct ns_torus_router {
    struct ns_torus_queue queue[NS_TORUS_QUEUES];
    struct ns_torus_out out[OUTS];
    uint32_t want[OUTS];            /* queues whose first packet may go there */
    uint8_t turn[OUTS];             /* queue to look at first */
    uint16_t room[NS_TORUS_LINKS];  /* chunks free behind a link's channel */
    uint16_t inject[NS_TORUS_WAYS]; /* chunks free in injection queues */
    uint32_t neighbour[NS_TORUS_WAYS];
    void *nic;
    const struct ns_torus_ops *ops;
    bool takes; /* the adapter can take a packet */
    bool told;  /* the adapter found an injection queue full */
};

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
    struct ns_torus_slot wheel[WHEEL_SLOTS];
    uint64_t busy[WHEEL_SLOTS / 64]; /* slots that are not empty */
    uint64_t cycle;                  /* the present one, while it runs */
    bool running;
    struct ns_torus_packet *unused; /* pool */
    struct ns_torus_packet **slabs;
    uint32_t slab_count;
    uint64_t out; /* packets that somebody has */
    struct ns_torus_stats stats;
};

/* torus_wheel.c: the cycle that runs now, or the next that will. */
uint64_t ns_torus_now(const struct ns_torus *torus);
/* The first cycle after the present one with work; NS_NEVER. */
uint64_t ns_torus_next(const struct ns_torus *torus);
/* Let an output step in `cycle`, or now if that is over, or when its link is
 * free. */
void ns_torus_kick(struct ns_torus *torus, uint32_t node, uint32_t way,
                   uint64_t cycle);
/* Take it off the wheel. */
void ns_torus_unkick(struct ns_torus *torus, struct ns_torus_out *out);

static inline struct ns_torus_out *ns_torus_out_of(struct ns_torus *torus,
                                                   uint32_t index)
{
    return &torus->routers[index / OUTS].out[index % OUTS];
}

extern const struct ns_clocked_ops ns_torus_clocked_ops;

#endif
