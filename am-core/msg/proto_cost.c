/*
 * The cost of a message by each protocol, one function a protocol, from the
 * costs of am/cost.h:
 *
 *   s       a short message
 *   x(n)    a stream of n bytes in packets
 *   c(n)    one more copy of n bytes
 *   b(n)    a bulk transfer: x(n), for a get after a request, or the device's
 *           single copy if that is cheaper
 *
 *   eager     x(n) + c(n) / 16: now and then the receive comes too late
 *   buffered  allocation + c(n) or x(n) + s + c(n) + c(n) n / r, where the region
 *             of r bytes has no room for the next message meanwhile
 *   prefix    allocation + s + c(k) + max(s, c(k)) + p(n - k), k the prefix, or
 *             allocation + s + x(k) + c(k) in packets, which leave while the answer
 *             comes, or if it is longer p(n) and what 2 s is longer than l(k) and c(k)
 *             than c(n - k)
 *   get       s + s + b(n), and half a message to end it
 *   put       s + s + p(n)
 *   l(k)      k more bytes of a stream
 *   p(n)      b(n), with s more for a single copy, which the receiver does not
 *             see; the last packet of a stream tells of itself
 *
 * Where ranks take turns on a core every second receive comes too late (eager:
 * x(n) + c(n) / 2), an answer costs a turn (prefix, put, and get but for a
 * single copy, which asks nobody), and so does a region that is full until the
 * receiver had its own (buffered: the part of a turn that the message fills of
 * the region).
 */
#include "msg/proto_cost.h"

#define ALLOC_PS UINT64_C(15000) /* two steps of the binned allocator */

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* What a is longer than b. */
static uint64_t excess(uint64_t a, uint64_t b)
{
    return larger(a, b) - b;
}

static uint64_t short_ps(const struct am_cost_in *in)
{
    return am_cost_short_ps(&in->perf);
}

static uint64_t copy_ps(const struct am_cost_in *in, size_t bytes)
{
    return am_cost_copy_ps(&in->perf, bytes);
}

static uint64_t stream_ps(const struct am_cost_in *in, size_t bytes)
{
    return am_cost_stream_ps(&in->perf, in->packet_max, bytes);
}

static uint64_t get_ps(const struct am_cost_in *in, size_t bytes)
{
    bool single;

    return am_cost_bulk_ps(&in->perf, in->contiguous ? in->caps : 0,
                           in->packet_max, AM_COST_GET, bytes, &single);
}

static uint64_t put_ps(const struct am_cost_in *in, size_t bytes)
{
    bool single;

    return am_cost_bulk_ps(&in->perf, in->contiguous ? in->caps : 0,
                           in->packet_max, AM_COST_PUT_TOLD, bytes, &single);
}

/* A sender that does not wait for an answer is ahead of its receiver by a turn:
 * more receives come too late. */
static uint64_t eager_ps(const struct am_cost_in *in, size_t bytes)
{
    return stream_ps(in, bytes) +
           copy_ps(in, bytes) / (in->perf.turn_ps != 0 ? 2 : 16);
}

static uint64_t buffered_ps(const struct am_cost_in *in, size_t bytes)
{
    bool mapped = (in->caps & AM_DEV_CAP_MAPPED) != 0;

    if (bytes > in->region_bytes || in->region_bytes == 0) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + short_ps(in) + copy_ps(in, bytes) +
           (mapped ? copy_ps(in, bytes) : stream_ps(in, bytes)) +
           copy_ps(in, bytes * bytes / in->region_bytes) +
           in->perf.turn_ps * bytes / in->region_bytes;
}

/* Until they have left, and what is behind them can. */
static uint64_t leave_ps(const struct am_cost_in *in, size_t bytes)
{
    return stream_ps(in, in->packet_max + bytes) -
           stream_ps(in, in->packet_max);
}

/* A prefix into memory that the sender has mapped: it is there before the answer
 * is asked for. */
static uint64_t prefix_first_ps(const struct am_cost_in *in, size_t prefix,
                                size_t rest)
{
    return short_ps(in) + copy_ps(in, prefix) +
           larger(short_ps(in), copy_ps(in, prefix)) + in->perf.turn_ps +
           (rest > 0 ? put_ps(in, rest) : 0);
}

/* A prefix in packets, which leave while the answer comes. */
static uint64_t prefix_behind_ps(const struct am_cost_in *in, size_t prefix,
                                 size_t rest)
{
    uint64_t answer_ps = 2 * short_ps(in) + in->perf.turn_ps;
    uint64_t alone_ps =
            short_ps(in) + stream_ps(in, prefix) + copy_ps(in, prefix);

    if (rest == 0) {
        return alone_ps;
    }
    return larger(alone_ps,
                  put_ps(in, prefix + rest) +
                          excess(answer_ps, leave_ps(in, prefix)) +
                          excess(copy_ps(in, prefix), copy_ps(in, rest)));
}

static uint64_t prefix_ps(const struct am_cost_in *in, size_t bytes)
{
    size_t prefix = bytes < in->prefix_bytes ? bytes : in->prefix_bytes;

    if (prefix > in->region_bytes) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + ((in->caps & AM_DEV_CAP_MAPPED) != 0
                               ? prefix_first_ps(in, prefix, bytes - prefix)
                               : prefix_behind_ps(in, prefix, bytes - prefix));
}

uint64_t am_proto_cost_ps(const struct am_cost_in *in, am_proto_t proto,
                          size_t bytes)
{
    switch (proto) {
    case AM_PROTO_EAGER:
        return eager_ps(in, bytes);
    case AM_PROTO_BUFFERED:
        return buffered_ps(in, bytes);
    case AM_PROTO_PREFIX:
        return prefix_ps(in, bytes);
    case AM_PROTO_GET:
        return 5 * short_ps(in) / 2 + get_ps(in, bytes);
    case AM_PROTO_PUT:
        return 2 * short_ps(in) + in->perf.turn_ps + put_ps(in, bytes);
    default:
        return AM_COST_NEVER;
    }
}
