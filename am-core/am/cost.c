/*
 * The formulas of cost.h.
 */
#include "am/cost.h"

uint64_t am_cost_line_ps(const struct am_linfn *f, size_t bytes)
{
    return f->fixed_ps + bytes / 1000 * f->per_byte_fs +
           bytes % 1000 * f->per_byte_fs / 1000;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t am_cost_short_ps(const struct am_dev_perf *perf)
{
    return am_cost_line_ps(&perf->send_overhead, 64) +
           am_cost_line_ps(&perf->wire, 64) +
           am_cost_line_ps(&perf->recv_overhead, 64);
}

static uint64_t copy_fs(const struct am_dev_perf *perf)
{
    return larger(perf->send_overhead.per_byte_fs,
                  perf->recv_overhead.per_byte_fs);
}

uint64_t am_cost_copy_ps(const struct am_dev_perf *perf, size_t bytes)
{
    struct am_linfn copy = {0, copy_fs(perf)};

    return am_cost_line_ps(&copy, bytes);
}

uint64_t am_cost_own_ps(const struct am_dev_perf *perf, size_t bytes)
{
    struct am_linfn own = {0, perf->own_byte_fs > 0 ? perf->own_byte_fs
                                                    : copy_fs(perf)};

    return am_cost_line_ps(&own, bytes);
}

uint64_t am_cost_stream_ps(const struct am_dev_perf *perf, size_t packet_bytes,
                           size_t bytes)
{
    size_t packet = packet_bytes == 0 ? 1 : packet_bytes;
    size_t first = bytes < packet ? bytes : packet;
    struct am_linfn send = perf->send_overhead;
    struct am_linfn recv = perf->recv_overhead;
    const struct am_linfn gap = {0, perf->gap_byte_fs};
    uint64_t first_ps = am_cost_line_ps(&send, first) +
                        am_cost_line_ps(&perf->wire, first) +
                        am_cost_line_ps(&recv, first);
    uint64_t more = (bytes - first + packet - 1) / packet;
    uint64_t send_ps = more * send.fixed_ps;
    uint64_t recv_ps = more * recv.fixed_ps;

    send.fixed_ps = recv.fixed_ps = 0;
    send_ps += am_cost_line_ps(&send, bytes - first);
    recv_ps += am_cost_line_ps(&recv, bytes - first);
    return first_ps + larger(am_cost_line_ps(&gap, bytes - first),
                             perf->shared_core || perf->both_ways
                                     ? send_ps + recv_ps
                                     : larger(send_ps, recv_ps));
}

uint64_t am_cost_single_ps(const struct am_dev_perf *perf, uint32_t caps,
                           am_cost_way_t way, size_t bytes)
{
    bool get = way == AM_COST_GET;
    uint32_t need = get ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT;

    if ((caps & need) == 0) {
        return AM_COST_NEVER;
    }
    return am_cost_line_ps(get ? &perf->get : &perf->put, bytes) +
           (way == AM_COST_PUT_TOLD ? am_cost_short_ps(perf) : 0);
}

uint64_t am_cost_bulk_of_ps(const struct am_dev_perf *perf, uint32_t caps,
                            uint64_t stream_ps, am_cost_way_t way, size_t bytes,
                            bool *single_p)
{
    uint64_t single = am_cost_single_ps(perf, caps, way, bytes);

    if (way == AM_COST_GET) {
        stream_ps += am_cost_short_ps(perf) + perf->turn_ps;
    }
    *single_p = single < stream_ps;
    return *single_p ? single : stream_ps;
}

uint64_t am_cost_bulk_ps(const struct am_dev_perf *perf, uint32_t caps,
                         size_t packet_bytes, am_cost_way_t way, size_t bytes,
                         bool *single_p)
{
    return am_cost_bulk_of_ps(perf, caps,
                              am_cost_stream_ps(perf, packet_bytes, bytes), way,
                              bytes, single_p);
}
