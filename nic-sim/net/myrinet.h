/*
 * Myrinet: crossbar switches, source routes, cut-through, back-pressure through
 * credits.  Nothing is lost or spoilt but by faults of links (net.fault).
 *
 *   NI -> switch -> ... -> switch -> NI      every switch passed costs switch_ps
 *
 * grid  A 3D grid of switches with one host at each; routes go along x, then
 *       y, then z, which has no cycle of waiting.
 * clos  One large switch of full bisection: leaves with `side` hosts each and
 *       as many middle switches, each joined to all leaves.  A route is up to a
 *       middle switch (source + destination, so that neighbours spread and a
 *       pair keeps its order) and down again: no cycle.
 *
 *   NI -> leaf [-> middle -> leaf] -> NI
 */
#ifndef NS_NET_MYRINET_H
#define NS_NET_MYRINET_H

#include "base/crc32c.h"
#include "nicsim_machine.h"

typedef void (*ns_myrinet_deliver_fn)(void *nic, struct ns_packet *packet);

struct ns_myrinet;

enum {
    NS_MYRINET_WAYS = 6, /* +x -x +y -y +z -z */
    NS_MYRINET_UP = 0,
    NS_MYRINET_DOWN = 1
};

/* A host's links, and of its switch those that go with its index: in a grid to
 * the neighbours; in one large switch from leaf to middle (host i's: from leaf
 * i / side to middle i % side) and back. */
struct ns_myrinet_port {
    struct ns_myrinet *net;
    uint32_t index;
    struct ns_link inject, eject;
    struct ns_link mesh[NS_MYRINET_WAYS]; /* clos: UP and DOWN only */
    void *nic;
    ns_myrinet_deliver_fn deliver;
    void (*left)(void *nic); /* an injected packet's tail has left */
};

struct ns_myrinet {
    struct ns_myrinet_settings settings;
    uint32_t nodes;
    struct ns_myrinet_port *ports;
    struct ns_packet_pool pool;
    struct am_crc32c crc32c; /* of packets; NIs make and check it */
    uint64_t injected, delivered; /* statistics */
    uint64_t injected_bytes, delivered_bytes;
};

/* `eject_credits` packets fit into a NI.  NULL: out of memory. */
struct ns_myrinet *ns_myrinet_open(struct ns_engine *engine,
                                   const struct ns_myrinet_settings *settings,
                                   uint32_t eject_credits);
void ns_myrinet_close(struct ns_myrinet *net);
void ns_myrinet_attach(struct ns_myrinet *net, uint32_t node, void *nic,
                       ns_myrinet_deliver_fn deliver, void (*left)(void *nic));
/* The packet's source, destination and bytes are set and in range. */
void ns_myrinet_inject(struct ns_myrinet *net, struct ns_packet *packet);
/* The NI has freed the packet's buffer. */
void ns_myrinet_taken(struct ns_myrinet *net, uint32_t node);
bool ns_myrinet_quiet(const struct ns_myrinet *net);
uint32_t ns_myrinet_nodes_max(const struct ns_myrinet_settings *settings);
/* Switches on the way between two nodes, for closed forms. */
uint32_t ns_myrinet_switches(const struct ns_myrinet_settings *settings,
                             uint32_t from, uint32_t to);

#endif
