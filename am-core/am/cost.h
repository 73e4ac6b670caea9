/*
 * What it costs to move bytes by a device, from the device's numbers
 * (am_dev_perf): the one model that the choice of a protocol and the choice
 * between a stream of packets and a single copy both ask.  Pure arithmetic in
 * picoseconds; no floating point.  Bytes stay below 2^37, or a product could
 * overflow.
 */
#ifndef AM_AM_COST_H
#define AM_AM_COST_H

#include "dev/dev.h"

/* A way that does not exist: never the lowest. */
#define AM_COST_NEVER UINT64_MAX

/* A short message: send overhead, wire, receive overhead. */
uint64_t am_cost_short_ps(const struct am_dev_perf *perf);

/* One copy in memory: what the slower end of the device pays for each byte. */
uint64_t am_cost_copy_ps(const struct am_dev_perf *perf, size_t bytes);

/* `bytes` in packets of `packet_bytes`: the first packet passes sender and
 * receiver one after the other; of the rest the slower end decides, or on one
 * core both ends add. */
uint64_t am_cost_stream_ps(const struct am_dev_perf *perf, size_t packet_bytes,
                           size_t bytes);

/* A put or get as a stream; for a get the owner is asked first, and waits for
 * its turn if the ends share a core. */
uint64_t am_cost_bulk_stream_ps(const struct am_dev_perf *perf,
                                size_t packet_bytes, bool get, size_t bytes);

/* A put or get by the device itself; AM_COST_NEVER where `caps` (AM_DEV_CAP_*)
 * say that the device has none. */
uint64_t am_cost_single_ps(const struct am_dev_perf *perf, uint32_t caps,
                           bool get, size_t bytes);

#endif
