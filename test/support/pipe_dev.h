/*
 * The pipe device: a network inside the test, with virtual time.  Contexts
 * that were opened with the same struct pipe_net (through its env) reach each
 * other by lists of packets, of the size and depth that the test gives, so
 * that windows and limits can be met with a few messages.  By its own word it
 * is reliable and ordered or not; it always is.  With AM_DEV_CAP_PUT and GET it
 * copies from one context to the other.
 */
#ifndef AM_TEST_SUPPORT_PIPE_DEV_H
#define AM_TEST_SUPPORT_PIPE_DEV_H

#include "dev/dev.h"

#define PIPE_NODES_MAX 64

struct pipe_dev;

struct pipe_net {
    struct am_env env; /* give it as params->env */
    uint64_t now_ps;
    uint64_t poll_ps; /* passes with each poll of any context */
    uint64_t random;
    size_t packet_bytes, hdr_bytes;
    uint32_t poll_rest_max; /* the device's attribute */
    uint64_t polls;         /* of all contexts */
    uint32_t registered; /* regions, at this time */
    uint32_t depth; /* packets of a class on the way to an endpoint */
    uint32_t caps;  /* what the device says of itself */
    struct am_dev_perf perf; /* the same; all 0 at first */
    struct pipe_dev *nodes[PIPE_NODES_MAX];
};

/* A net of SP packets (256 bytes, 32 of header), 64 deep. */
void pipe_net_init(struct pipe_net *net, uint32_t caps);

extern const struct am_dev_ops pipe_dev_ops;

#endif
