/*
 * What it costs to move bytes by a device, from the device's numbers
 * (am_dev_perf): the one model that the choice of a protocol and the choice
 * between a stream of packets and a single copy both ask.  Pure arithmetic in
 * picoseconds; no floating point.  Bytes stay below 2^37, or a product could
 * overflow.
 */
#ifndef AM_AM_COST_H
#define AM_AM_COST_H

#include "dev/faster.h"

/* A way that does not exist: never the lowest. */
#define AM_COST_NEVER UINT64_MAX

/* What the line says of so many bytes. */
uint64_t am_cost_line_ps(const struct am_linfn *f, size_t bytes);

/* A short message: send overhead, wire, receive overhead. */
uint64_t am_cost_short_ps(const struct am_dev_perf *perf);

/* One copy in memory: what the slower end of the device pays for each byte. */
uint64_t am_cost_copy_ps(const struct am_dev_perf *perf, size_t bytes);

/* A copy or a reduction of what a core has in its own cache. */
uint64_t am_cost_own_ps(const struct am_dev_perf *perf, size_t bytes);

/* `bytes` in packets of `packet_bytes`: the first packet passes sender and
 * receiver one after the other; of the rest the slowest decides, an end or the
 * network between them.  Both ends add where they share a core, and where they
 * stream to each other, so that each core makes a copy of what it sends and one
 * of what it receives. */
uint64_t am_cost_stream_ps(const struct am_dev_perf *perf, size_t packet_bytes,
                           size_t bytes);

typedef enum {
    AM_COST_GET,
    AM_COST_PUT,
    AM_COST_PUT_TOLD /* a handler runs at the receiver when the bytes are there */
} am_cost_way_t;

/* A put or get by the device itself; AM_COST_NEVER: it has none. */
uint64_t am_cost_single_ps(const struct am_dev_perf *perf, uint32_t caps,
                           am_cost_way_t way, size_t bytes);

/* A put or get by the cheaper way: the device itself, where `caps`
 * (AM_DEV_CAP_*) say that it has one (then *single_p is true), or a stream.  For a
 * get as a stream the owner is asked first, and waits for its turn if the ends
 * share a core; the receiver of a put that the device makes is told by a message,
 * where the last packet of a stream tells of itself.  All who choose between the
 * two ask this function. */
uint64_t am_cost_bulk_ps(const struct am_dev_perf *perf, uint32_t caps,
                         size_t packet_bytes, am_cost_way_t way, size_t bytes,
                         bool *single_p);
/* The same, where it is known what am_cost_stream_ps says of so many bytes. */
uint64_t am_cost_bulk_of_ps(const struct am_dev_perf *perf, uint32_t caps,
                            uint64_t stream_ps, am_cost_way_t way, size_t bytes,
                            bool *single_p);

#endif
