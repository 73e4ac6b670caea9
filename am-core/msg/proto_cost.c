/*
 * The cost model's formulas, one function a protocol.
 *
 *   s       a short message: send overhead, wire, receive overhead
 *   x(n)    n bytes in packets: the first packet passes sender and receiver
 *           one after the other, the rest overlaps and the slower one decides
 *           (on one core all stages add)
 *   c(n)    one more copy of n bytes
 *   b(n)    a bulk transfer: x(n), or the device's single copy if that is
 *           cheaper
 *
 *   eager     x(n) + c(n) / 16: now and then the receive comes too late
 *   buffered  allocation + c(n) or x(n) + s + c(n) + c(n) n / r, where the region
 *             of r bytes has no room for the next message meanwhile
 *   prefix    allocation + s + c(p) + max(s, c(p)) + b(n - p), p the prefix
 *   get       s + s + b(n), and half a message to end it
 *   put       s + s + b(n)
 *
 * Where ranks take turns on a core every second receive comes too late (eager:
 * x(n) + c(n) / 2), an answer costs a turn (prefix, put, and get but for a
 * single copy, which asks nobody), and so does a region that is full until the
 * receiver had its own (buffered: the part of a turn that the message fills of
 * the region).
 */
#include "msg/proto_cost.h"

#define ALLOC_PS UINT64_C(15000) /* two steps of the binned allocator */

static uint64_t line(const struct am_linfn *f, size_t bytes)
{
    /* bytes stay below 2^37 in the choice, so no product overflows */
    return f->fixed_ps + bytes / 1000 * f->per_byte_fs +
           bytes % 1000 * f->per_byte_fs / 1000;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t short_ps(const struct am_cost_in *in)
{
    return line(&in->perf.send_overhead, 64) + line(&in->perf.wire, 64) +
           line(&in->perf.recv_overhead, 64);
}

/* One copy: what the slower end of the device pays for each byte. */
static uint64_t copy_ps(const struct am_cost_in *in, size_t bytes)
{
    struct am_linfn copy = {0, larger(in->perf.send_overhead.per_byte_fs,
                                      in->perf.recv_overhead.per_byte_fs)};

    return line(&copy, bytes);
}

static uint64_t stream_ps(const struct am_cost_in *in, size_t bytes)
{
    size_t packet = in->packet_max == 0 ? 1 : in->packet_max;
    size_t first = bytes < packet ? bytes : packet;
    struct am_linfn send = in->perf.send_overhead;
    struct am_linfn recv = in->perf.recv_overhead;
    uint64_t first_ps = line(&send, first) + line(&in->perf.wire, first) +
                        recv.fixed_ps + copy_ps(in, first);
    uint64_t more = (bytes - first + packet - 1) / packet;
    uint64_t send_ps = more * send.fixed_ps;
    uint64_t recv_ps = more * recv.fixed_ps + copy_ps(in, bytes - first);

    send.fixed_ps = 0;
    send_ps += line(&send, bytes - first);
    if (in->perf.shared_core) {
        return first_ps + send_ps + recv_ps;
    }
    return first_ps + larger(send_ps, recv_ps);
}

static uint64_t bulk_ps(const struct am_cost_in *in, bool get, size_t bytes)
{
    uint32_t need = get ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT;
    uint64_t stream = stream_ps(in, bytes) + (get ? in->perf.turn_ps : 0);
    uint64_t single = line(get ? &in->perf.get : &in->perf.put, bytes);

    return (in->caps & need) != 0 && in->contiguous && single < stream ? single
                                                                       : stream;
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

static uint64_t prefix_ps(const struct am_cost_in *in, size_t bytes)
{
    size_t prefix = bytes < in->prefix_bytes ? bytes : in->prefix_bytes;

    if (prefix > in->region_bytes) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + short_ps(in) + copy_ps(in, prefix) +
           larger(short_ps(in), copy_ps(in, prefix)) + in->perf.turn_ps +
           (bytes > prefix ? bulk_ps(in, false, bytes - prefix) : 0);
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
        return 5 * short_ps(in) / 2 + bulk_ps(in, true, bytes);
    case AM_PROTO_PUT:
        return 2 * short_ps(in) + in->perf.turn_ps + bulk_ps(in, false, bytes);
    default:
        return AM_COST_NEVER;
    }
}
