/*
 * Packets, the links that carry them, and the faults that links can have.
 */
#ifndef NS_NICSIM_LINK_H
#define NS_NICSIM_LINK_H

#include "nicsim.h"

/* ------------------------------------------------------- packets and links */

#define NS_PACKET_BYTES_MAX 4352 /* largest MTU and headers */
#define NS_LINK_VCS         4    /* virtual channels that a link can have */

struct ns_link;

/* One packet in a NIC or on the way.  Owned by the pool it came from. */
struct ns_packet {
    struct am_list link; /* on whatever queue holds it */
    struct ns_event event;
    uint64_t id; /* node << 40 | count: the same in every run */
    uint32_t source, destination, route;
    uint32_t bytes;      /* on the wire */
    uint32_t hop;        /* links passed */
    struct ns_link *at;  /* whose far buffer it holds */
    uint32_t at_units;   /* so many units of it */
    uint8_t at_vc;       /* of that virtual channel */
    uint8_t vc;          /* virtual channel that it goes on by */
    uint8_t spare;       /* units that must stay free behind it: see below */
    uint64_t started_ps; /* first byte on the first link */
    uint64_t tail_ps;    /* last byte where its head is now */
    void *receiver;      /* the NIC that takes it in */
    bool corrupt;        /* a bit was flipped: its CRC does not fit */
    struct ns_packet_pool *pool;
    struct ns_packet *free_next;
    uint8_t data[]; /* the pool's data_bytes */
};

struct ns_packet_pool {
    uint32_t data_bytes; /* of each packet; 0: NS_PACKET_BYTES_MAX */
    struct ns_packet *free;
    void **slabs;
    uint32_t slab_count;
    uint64_t out;              /* packets in use */
    uint64_t lost, lost_bytes; /* packets that a faulty link lost */
};

/*
 * Faults of links, for tests and what-if: each packet that a faulty link
 * carries is hit with these chances.  Random numbers are each link's own, from
 * the seed, so that a run can be repeated.
 */
struct ns_fault {
    char port[32];     /* "any", a link's name, or name.number */
    uint64_t drop;     /* NS_UNIT_RATIO: numerator << 32 | denominator */
    uint64_t corrupt;  /* one bit is flipped */
    uint64_t stall;    /* the link waits for stall_ps before the packet */
    uint64_t overflow; /* the far buffer loses all for overflow_ps */
    uint64_t stall_ps, overflow_ps;
};

struct ns_fault_counts {
    uint64_t dropped, corrupted, stalled, overflowed; /* packets */
    uint64_t resent; /* of these, by links that send again themselves */
};

/* One end of a link, as faults see it. */
struct ns_fault_port {
    const struct ns_fault *fault; /* NULL: never fails */
    uint64_t random, overflow_until_ps;
};

/* Times of a link that sends again what has not come well. */
struct ns_resend {
    uint64_t head_ps;       /* from the beginning of a packet to its arrival */
    uint64_t spoilt_ps;     /* until the next try, if its CRC was wrong */
    uint64_t lost_ps;       /* if the far end has seen nothing of it */
    uint64_t packet, bytes; /* for the trace */
};

/* So many tries, and the link is given up. */
#define NS_RESEND_MAX 1000

/* All links are there: a sentence in `text` when none is the fault's port, with
 * those that there are; else NULL. */
NS_API const char *ns_engine_fault_wrong(const struct ns_engine *engine,
                                         char *text, size_t bytes);
NS_API const struct ns_fault_counts *
ns_engine_faults(const struct ns_engine *engine);

/* Is any fault asked for? */
NS_API bool ns_engine_faulty(const struct ns_engine *engine);
/* The next link of that name; its number among them.  `stream` tells its random
 * numbers from those of others. */
NS_API uint32_t ns_fault_port_init(struct ns_fault_port *port,
                                   struct ns_engine *engine, const char *name,
                                   uint64_t stream);
/*
 * A link that sends again would begin with a packet now: how much later the
 * try begins that comes through.  NS_NEVER: it is given up.
 */
NS_API uint64_t ns_fault_resend_ps(struct ns_fault_port *port,
                                   struct ns_component *component,
                                   const struct ns_resend *resend);

/* NULL when out of memory.  Slabs are kept until fini. */
NS_API struct ns_packet *ns_packet_get(struct ns_packet_pool *pool);
NS_API void ns_packet_put(struct ns_packet_pool *pool,
                          struct ns_packet *packet);
NS_API void ns_packet_pool_fini(struct ns_packet_pool *pool);

/* A packet's head has arrived; its tail follows at packet->tail_ps. */
typedef void (*ns_link_sink_fn)(void *arg, struct ns_link *link,
                                struct ns_packet *packet);

/*
 * A one-way link: packets leave one after the other, each holds the wire for
 * bytes / rate and its head arrives `latency_ps` after it left (virtual
 * cut-through).  The link has virtual channels, each with a queue here and a
 * buffer at the far end.  A buffer is counted in units; a packet starts only
 * with credits for all of its units, which come back when its tail has left
 * that buffer.
 *
 *   send -> queue of packet->vc -> [credits?] -> wire --latency--> sink(head)
 *                                                 \--bytes/rate-> tail: next
 *
 * Free wire: the channels are asked in turn.  In one channel packets keep
 * their order, but for those with `spare` > 0: they start only if so many units
 * stay free behind them, and others pass them meanwhile.  (The bubble rule of a
 * torus: a packet that enters a ring leaves room for one that is in it.)
 *
 * A router that chooses its way late queues nothing here: it asks
 * ns_link_ready, sends, and is called by `freed` when that may have changed.
 */
struct ns_link_vc {
    struct am_list queue, entering; /* without and with spare */
    uint32_t queued;                /* in both */
    uint32_t credits, credits_max;  /* units */
    bool stalled;                   /* packets wait here for credits only */
    uint64_t stall_from_ps;
    uint64_t stall_ps; /* statistics */
};

struct ns_link {
    struct ns_component component;
    struct ns_event tail;
    uint64_t latency_ps;
    uint64_t bytes_per_second;
    uint32_t unit_bytes; /* of the buffers; 0: a packet is one unit */
    uint32_t vc_count;
    uint32_t vc_turn; /* asked first at the next start */
    uint32_t queued;  /* in all channels */
    bool busy;
    uint8_t behind_vc;      /* whose buffer it empties: channel, */
    uint32_t behind_units;  /* units, */
    struct ns_link *behind; /* link; NULL: none */
    uint32_t route;         /* of the packet on the wire */
    ns_link_sink_fn sink;
    void *sink_arg;
    void (*left)(void *arg);                        /* a tail has left */
    void (*freed)(void *arg, struct ns_link *link); /* see above */
    void *freed_arg;
    struct ns_link *next_link; /* of the engine */
    uint32_t number;           /* among the links of this name */
    struct ns_fault_port fault;
    uint64_t packets, bytes, busy_ps; /* statistics */
    struct ns_link_vc vc[NS_LINK_VCS];
};

struct ns_link_params {
    const char *name; /* static storage */
    uint32_t node;    /* or NS_NODE_NONE */
    uint64_t latency_ps;
    uint64_t bytes_per_second;
    uint32_t unit_bytes; /* 0: every packet takes one unit of a buffer */
    uint32_t vc_count;
    uint32_t credits[NS_LINK_VCS]; /* units of each channel's far buffer */
    ns_link_sink_fn sink;
    void *sink_arg;
};

NS_API void ns_link_open(struct ns_link *link, struct ns_engine *engine,
                         const struct ns_link_params *params);
/* One channel, buffers counted in packets. */
NS_API void ns_link_init(struct ns_link *link, struct ns_engine *engine,
                         const char *name, uint32_t node, uint64_t latency_ps,
                         uint64_t bytes_per_second, uint32_t credits,
                         ns_link_sink_fn sink, void *sink_arg);
/* Queue a packet for packet->vc; its head has arrived at this end now. */
NS_API void ns_link_send(struct ns_link *link, struct ns_packet *packet);
/* Would a packet of `bytes` on `vc` that needs `spare` units start now? */
NS_API bool ns_link_ready(const struct ns_link *link, uint32_t vc,
                          uint32_t bytes, uint32_t spare);
/* Units of a far buffer that a packet of `bytes` takes. */
NS_API uint32_t ns_link_units(const struct ns_link *link, uint32_t bytes);
/* `units` of channel `vc`'s buffer at the far end are free again. */
NS_API void ns_link_credit(struct ns_link *link, uint32_t vc, uint32_t units);
/* The packet has left the buffer that it holds, other than by a link. */
NS_API void ns_link_release(struct ns_packet *packet);
/* Nothing is queued or on the wire, and all credits are here. */
NS_API bool ns_link_home(const struct ns_link *link);
/* Time that packets waited for credits, over all channels. */
NS_API uint64_t ns_link_stall_ps(const struct ns_link *link);

/* Time that `bytes` take at `bytes_per_second`, rounded up to 1 ps.  A packet's
 * product has 64 bits; a copy of more than 18 MB needs more. */
static inline uint64_t ns_bytes_ps(uint64_t bytes, uint64_t bytes_per_second)
{
    uint64_t ps;

    if (__builtin_mul_overflow(bytes, NS_PS_PER_SECOND, &ps) ||
        __builtin_add_overflow(ps, bytes_per_second - 1, &ps)) {
        return (uint64_t)(((unsigned __int128)bytes * NS_PS_PER_SECOND +
                           bytes_per_second - 1) /
                          bytes_per_second);
    }
    return ps / bytes_per_second;
}

#endif
