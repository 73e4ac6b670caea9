/*
 * A torus with an adapter at each node that takes packets at its own pace, for
 * tests of routing and of links that fail.
 */
#ifndef AM_TEST_SUPPORT_SIM_TORUS_H
#define AM_TEST_SUPPORT_SIM_TORUS_H

#include "net/torus.h"

#define CLOCK_PS UINT64_C(2353)

/* A fault at one packet of `_n`. */
#define ONE_OF(_n) (UINT64_C(1) << 32 | (_n))

enum {
    NODES_MAX = 64
};

struct net;

/* An adapter that takes a packet and is ready again after `hold_ps`. */
struct sink {
    struct net *net;
    struct ns_component component;
    struct ns_event event;
    uint32_t node;
    uint64_t hold_ps, last_ps;
    uint64_t count, last_id[NODES_MAX];
    uint32_t waiting; /* packets to be injected when there is room */
};

struct net {
    struct ns_engine *engine;
    struct ns_torus *torus;
    struct sink sink[NODES_MAX];
    uint64_t injected;
    uint8_t flags; /* of random packets: of every second one */
};

/* Of no machine: numbers that are easily told apart. */
extern const struct ns_torus_settings plain;

void net_open_with(struct net *net, uint32_t nodes,
                   const struct ns_torus_settings *settings,
                   const struct ns_engine_params *params);
/* With `plain` settings. */
void net_open(struct net *net, uint32_t nodes, bool no_sleep);
/* All of it must be empty. */
void net_close(struct net *net);
/* A routed packet, the next that the net has. */
struct ns_torus_packet *packet_new(struct net *net, uint32_t from, uint32_t to,
                                   uint32_t bytes, uint8_t flags);

/* Time of the last byte of `count` packets from node 0 of 64 to `to`. */
uint64_t stream_ps(const struct ns_torus_settings *settings, uint32_t to,
                   uint32_t bytes, uint32_t count,
                   const struct ns_fault *fault);

/* Far more than the buffers hold, slow receivers: all arrive, in order where
 * that is promised, and every buffer is empty at the end. */
void heavy(uint32_t nodes, uint64_t buffer_bytes, uint8_t flags,
           const struct ns_fault *fault);

#endif
