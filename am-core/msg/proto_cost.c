/*
 * The cost model's formulas, one function a protocol.
 *
 *   s       a short message: send overhead, wire, receive overhead
 *   c(n)    one copy of n bytes by the receiver's core
 *   x(n)    n bytes as a stream of packets, both cores at work
 *
 *   eager     s + x(n), and now and then the receive is not posted: c(n) / 4
 *   buffered  allocation + c(n) or x(n) + s + c(n)
 *   prefix    s + max(2 s, c(p)) + bulk(n - p), p the prefix
 *   get       s + get(n) + s / 2 (the acknowledgement delays the sender only)
 *   put       3 s + put(n)
 */
#include "msg/proto_cost.h"

#define ALLOC_PS UINT64_C(15000) /* two steps of the binned allocator */

static uint64_t line(const struct am_linfn *f, size_t bytes)
{
    /* bytes stay below 2^41 in the choice, so no product overflows */
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

/* The bytes of a stream: its packets overlap, the slowest stage decides;
 * on one core the stages add. */
static uint64_t stream_ps(const struct am_cost_in *in, size_t bytes)
{
    uint64_t packets = bytes / (in->packet_max == 0 ? 1 : in->packet_max);
    struct am_linfn send = in->perf.send_overhead;
    struct am_linfn recv = in->perf.recv_overhead;
    uint64_t send_ps = line(&send, bytes) + packets * send.fixed_ps;
    uint64_t recv_ps =
            line(&recv, 0) + copy_ps(in, bytes) + packets * recv.fixed_ps;
    uint64_t wire_ps = line(&in->perf.wire, bytes);

    if (packets == 0 || in->perf.shared_core) {
        return send_ps + recv_ps + wire_ps;
    }
    return larger(larger(send_ps, recv_ps), wire_ps) + short_ps(in);
}

static uint64_t bulk_ps(const struct am_cost_in *in, bool get, size_t bytes)
{
    return am_bulk_cost_ps(in->peer, get, bytes, in->contiguous);
}

static uint64_t eager_ps(const struct am_cost_in *in, size_t bytes)
{
    return stream_ps(in, bytes) + copy_ps(in, bytes) / 4;
}

static uint64_t buffered_ps(const struct am_cost_in *in, size_t bytes)
{
    if (bytes > in->region_bytes) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + short_ps(in) + copy_ps(in, bytes) +
           (in->mapped ? copy_ps(in, bytes) : stream_ps(in, bytes));
}

static uint64_t prefix_ps(const struct am_cost_in *in, size_t bytes)
{
    size_t prefix = bytes < in->prefix_bytes ? bytes : in->prefix_bytes;

    if (prefix > in->region_bytes) {
        return AM_COST_NEVER;
    }
    return ALLOC_PS + short_ps(in) + copy_ps(in, prefix) +
           larger(2 * short_ps(in), copy_ps(in, prefix)) +
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
        return 3 * short_ps(in) / 2 + bulk_ps(in, true, bytes);
    case AM_PROTO_PUT:
        return 3 * short_ps(in) + bulk_ps(in, false, bytes);
    default:
        return AM_COST_NEVER;
    }
}
