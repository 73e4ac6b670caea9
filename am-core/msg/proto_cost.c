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

/* What several formulas ask of a size. */
struct terms {
    size_t bytes;
    uint64_t short_ps, copy_ps, stream_ps;
};

static uint64_t bulk_ps(const struct am_cost_in *in, am_cost_way_t way,
                        size_t bytes, uint64_t stream)
{
    bool single;

    return am_cost_bulk_of_ps(&in->perf, in->contiguous ? in->caps : 0, stream,
                              way, bytes, &single);
}

/* A sender that does not wait for an answer is ahead of its receiver by a turn:
 * more receives come too late. */
static uint64_t eager_ps(const struct am_cost_in *in, const struct terms *of)
{
    return of->stream_ps + of->copy_ps / (in->perf.turn_ps != 0 ? 2 : 16);
}

static uint64_t buffered_ps(const struct am_cost_in *in, const struct terms *of)
{
    bool mapped = (in->caps & AM_DEV_CAP_MAPPED) != 0;
    size_t bytes = of->bytes;

    if (bytes > in->region_bytes || in->region_bytes == 0) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + of->short_ps + of->copy_ps +
           (mapped ? of->copy_ps : of->stream_ps) +
           copy_ps(in, bytes * bytes / in->region_bytes) +
           in->perf.turn_ps * bytes / in->region_bytes;
}

static uint64_t put_ps(const struct am_cost_in *in, size_t bytes)
{
    return bulk_ps(in, AM_COST_PUT_TOLD, bytes, stream_ps(in, bytes));
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
                                size_t rest, uint64_t short_ps)
{
    return short_ps + copy_ps(in, prefix) +
           larger(short_ps, copy_ps(in, prefix)) + in->perf.turn_ps +
           (rest > 0 ? put_ps(in, rest) : 0);
}

/* A prefix in packets, which leave while the answer comes. */
static uint64_t prefix_behind_ps(const struct am_cost_in *in, size_t prefix,
                                 const struct terms *of)
{
    uint64_t answer_ps = 2 * of->short_ps + in->perf.turn_ps;
    uint64_t alone_ps =
            of->short_ps + stream_ps(in, prefix) + copy_ps(in, prefix);

    if (of->bytes == prefix) {
        return alone_ps;
    }
    return larger(alone_ps,
                  bulk_ps(in, AM_COST_PUT_TOLD, of->bytes, of->stream_ps) +
                          excess(answer_ps, leave_ps(in, prefix)) +
                          excess(copy_ps(in, prefix),
                                 copy_ps(in, of->bytes - prefix)));
}

static uint64_t prefix_ps(const struct am_cost_in *in, const struct terms *of)
{
    size_t prefix = of->bytes < in->prefix_bytes ? of->bytes : in->prefix_bytes;
    size_t rest = of->bytes - prefix;

    if (prefix > in->region_bytes) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + ((in->caps & AM_DEV_CAP_MAPPED) != 0
                               ? prefix_first_ps(in, prefix, rest, of->short_ps)
                               : prefix_behind_ps(in, prefix, of));
}

void am_proto_costs_ps(const struct am_cost_in *in, size_t bytes,
                       uint64_t costs_ps[AM_PROTO_COUNT])
{
    const struct terms of = {bytes, short_ps(in), copy_ps(in, bytes),
                             stream_ps(in, bytes)};

    costs_ps[AM_PROTO_EAGER] = eager_ps(in, &of);
    costs_ps[AM_PROTO_BUFFERED] = buffered_ps(in, &of);
    costs_ps[AM_PROTO_PREFIX] = prefix_ps(in, &of);
    costs_ps[AM_PROTO_GET] =
            5 * of.short_ps / 2 + bulk_ps(in, AM_COST_GET, bytes, of.stream_ps);
    costs_ps[AM_PROTO_PUT] = 2 * of.short_ps + in->perf.turn_ps +
                             bulk_ps(in, AM_COST_PUT_TOLD, bytes, of.stream_ps);
}

uint64_t am_proto_cost_ps(const struct am_cost_in *in, am_proto_t proto,
                          size_t bytes)
{
    uint64_t costs_ps[AM_PROTO_COUNT];

    am_proto_costs_ps(in, bytes, costs_ps);
    return costs_ps[proto];
}

/* One more message of a series, which the ends copy while others are under way. */
static bool eager_keeps_up(const struct am_cost_in *in, size_t bytes,
                           uint64_t times)
{
    return times * leave_ps(in, bytes) <=
           short_ps(in) +
                   am_cost_single_ps(&in->perf, in->caps, AM_COST_GET, bytes);
}

bool am_proto_streams_in_series(const struct am_cost_in *in, size_t bytes,
                                bool both_ways)
{
    return eager_keeps_up(in, bytes, both_ways ? 8 : 4);
}

bool am_proto_streams_alone(const struct am_cost_in *in, size_t bytes)
{
    uint64_t stream = am_cost_stream_ps(&in->perf, in->packet_max, bytes);
    uint64_t single = 2 * short_ps(in) + am_cost_single_ps(&in->perf, in->caps,
                                                           AM_COST_GET, bytes);

    return stream + stream / 2 <= single;
}

size_t am_proto_series_max(const struct am_cost_in *in)
{
    size_t low = 0, high = in->packet_max + 1;

    if ((in->caps & AM_DEV_CAP_MAPPED) == 0 ||
        (in->caps & AM_DEV_CAP_GET) == 0 || in->perf.shared_core) {
        return 0;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (eager_keeps_up(in, middle, 1)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}
