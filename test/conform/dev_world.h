/*
 * Contexts of one device stack in one process and one thread, for the device
 * conformance suite: nodes with their endpoints, and a stream of numbered
 * messages for each (sender, receiver, class) whose bytes follow from the
 * number, so that what arrives is checked by what it must be.
 */
#ifndef AM_TEST_CONFORM_DEV_WORLD_H
#define AM_TEST_CONFORM_DEV_WORLD_H

#include "chan/chan.h"
#include "support/pipe_dev.h"

#include <am.h>

#define WORLD_NODES_MAX   8
#define WORLD_OPTIONS_MAX 8
#define WORLD_STEPS_MAX   400000
#define WORLD_HDR_MAX     256

/* A device, or a stack of them, by its options. */
struct world_case {
    const char *name;
    const struct am_dev_ops *ops;
    bool alone;         /* reaches only itself */
    bool real; /* a network that needs the core, and time, to itself */
    uint32_t pipe_caps; /* of the pipe device */
    struct am_option options[WORLD_OPTIONS_MAX];
};

/* The environment of the next node; programs but those on simulated hosts
 * leave it out. */
struct am_env *world_env(void) __attribute__((weak));

struct world;
struct node;

/* What an endpoint's user is: one direction of traffic at one node. */
struct world_link {
    struct node *node;
    uint32_t peer; /* rank */
    struct am_dev_ep *ep;
    uint64_t sent[AM_DEV_CLASS_COUNT]; /* by this node to peer */
    uint64_t got[AM_DEV_CLASS_COUNT];  /* from peer by this node */
};

struct node {
    struct world *world;
    uint32_t rank;
    struct am_dev *dev; /* NULL when closed */
    uint64_t stats[AM_DEV_STAT_COUNT];
    struct world_link links[WORLD_NODES_MAX];
    bool ready; /* answer to the device */
    bool accepts;
    uint64_t refused, dead;
    bool replies; /* answer each request by the largest reply */
    uint64_t replied, reply_refused;
};

struct world {
    const struct world_case *dev_case;
    struct pipe_net net;
    uint32_t count;
    bool exact; /* reliable and ordered: nothing missing or twice */
    struct node nodes[WORLD_NODES_MAX];
    /* Lengths of message `number`; the default is 16 and 24. */
    void (*shape)(const struct world *world, uint32_t class, uint64_t number,
                  size_t *hdr_bytes, size_t *data_bytes);
    size_t hdr_max, packet_max, reply_max;
    char error[256];
    struct am_log log; /* silent */
};

/* Open `count` nodes (one when alone) and connect them.  The endpoints to and
 * from each other are there, and one request each way has passed. */
struct world *world_open(const struct world_case *dev_case, uint32_t count);
/* The same without any traffic: endpoints are made on first use. */
struct world *world_open_quiet(const struct world_case *dev_case,
                               uint32_t count);
void world_close(struct world *world);
void node_close(struct node *node);

/* Steps after which a loop of a test counts as one without an end. */
uint32_t world_steps_max(const struct world *world);
/* Poll every open node once; the sum of what they say. */
int world_poll(struct world *world);
/* Poll `least` times, and on (a network carries packets when it can) until `count`
 * of a class have arrived, or world_steps_max. */
void world_poll_for(struct world *world, uint32_t least, uint32_t from,
                    uint32_t to, uint32_t class, uint64_t count);
/* Poll until all that was sent has arrived and its sender knows (exact worlds),
 * or for a long time without news (others).  Fails the test when it does not end. */
void world_settle(struct world *world);

/* The link of two nodes with its endpoint, connected if it is not yet. */
struct world_link *world_link(struct world *world, uint32_t from, uint32_t to);
/* Send the next message of a stream; `fill` by send_fill. */
am_status_t world_send(struct world *world, uint32_t from, uint32_t to,
                       uint32_t class, bool fill);
/* The same, polling while the answer is AM_ERR_AGAIN. */
void world_push(struct world *world, uint32_t from, uint32_t to, uint32_t class,
                bool fill);
uint64_t world_got(const struct world *world, uint32_t from, uint32_t to,
                   uint32_t class);

#endif
