/*
 * How long one message takes by each protocol, by the cost model of am/cost.h.
 */
#ifndef AM_MSG_PROTO_COST_H
#define AM_MSG_PROTO_COST_H

#include "am/cost.h"
#include "msg/msg_core.h"

/* What a cost depends on besides the size. */
struct am_cost_in {
    struct am_dev_perf perf;
    uint32_t caps;       /* AM_DEV_CAP_* */
    size_t packet_max;   /* payload of one packet */
    size_t region_bytes; /* largest buffered message */
    size_t prefix_bytes;
    bool contiguous;
};

/* Time from the send to the end of the receive; AM_COST_NEVER: the protocol
 * cannot carry that size. */
uint64_t am_proto_cost_ps(const struct am_cost_in *in, am_proto_t proto,
                          size_t bytes);

/* The same of all protocols at once, which takes little longer than one. */
void am_proto_costs_ps(const struct am_cost_in *in, size_t bytes,
                       uint64_t costs_ps[AM_PROTO_COUNT]);

/* The largest message of one packet that a series of such ones carries no slower as
 * eager than by a single copy, which one end makes for both: of eager messages the two
 * ends copy at the same time, each another one.  0: no single copy, or ranks take turns
 * on a core. */
size_t am_proto_series_max(const struct am_cost_in *in);

/* Does one more of a series of such messages cost the receiver, who makes a single copy, four
 * times what a stream costs the sender; or both ways, where each end makes both copies of a
 * stream, eight times as much? */
bool am_proto_streams_in_series(const struct am_cost_in *in, size_t bytes,
                                bool both_ways);
/* Does a single copy that is fetched cost half as much again as a stream, or more? */
bool am_proto_streams_alone(const struct am_cost_in *in, size_t bytes);

#endif
