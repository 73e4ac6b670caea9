/*
 * A flow: messages of one size from rank 0 to rank 1 (and, for lat, back) by
 * one of the operations request (one word), isend, put, store, store_async, get
 * and get_async.
 * Both ranks have a source and a landing buffer; what a peer must know of them
 * is exchanged at the start.
 */
#ifndef AM_TOOLS_PERF_FLOW_H
#define AM_TOOLS_PERF_FLOW_H

#include "tools/perf.h"

#include <am_msg.h>

struct perf_flow;

struct perf_flow_op {
    const char *name;
    am_status_t (*post)(struct perf_flow *flow); /* start one message */
    bool notifies;  /* the other side sees a message arrive */
    bool matched;   /* the other side posts a receive for each message */
    bool from_peer; /* it is the peer's data that moves (get) */
    bool blocking;  /* one message at a time, whatever the window */
};

struct perf_flow {
    struct perf *perf;
    const struct perf_flow_op *op;
    uint32_t peer;
    size_t bytes, buffer_bytes;
    unsigned char *source, *landing;
    struct am_region *source_region, *landing_region;
    void *peer_source, *peer_landing; /* addresses there */
    struct am_key peer_landing_key;
    uint64_t posted, completed; /* messages from here */
    uint64_t arrived;           /* messages to here */
    uint64_t expected, target;  /* receives posted, and to be posted */
    uint32_t ahead;             /* receives posted at any time */
    bool posting;               /* inside the function that posts them */
    am_status_t status;         /* first failure of a completion */
};

/* Buffers of up to `bytes_max`, handlers and regions, for the operation of
 * --op, or the one named; both ranks call it. */
int perf_flow_open(struct perf_flow *flow, struct perf *perf, size_t bytes_max);
int perf_flow_open_by(struct perf_flow *flow, struct perf *perf,
                      size_t bytes_max, const char *op);
void perf_flow_close(struct perf_flow *flow);
/* Post one message, first waiting while `window` of them are under way. */
int perf_flow_send(struct perf_flow *flow, uint32_t window);
/* Until all that was posted here is complete. */
int perf_flow_finish(struct perf_flow *flow);
/* Receive up to `count` messages in all, with `ahead` receives posted at any
 * time where the operation needs them. */
void perf_flow_expect(struct perf_flow *flow, uint64_t count, uint32_t ahead);
/* Until `count` messages in all have arrived here. */
int perf_flow_arrive(struct perf_flow *flow, uint64_t count);
/* Send a few messages with fresh patterns from rank 0 to rank 1, and check
 * each byte where they land.  Ranks 0 and 1 call it. */
int perf_flow_validate(struct perf_flow *flow);

#endif
