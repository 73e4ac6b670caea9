/*
 * The formulas of cost.h.
 */
#include "am/cost.h"

static uint64_t line(const struct am_linfn *f, size_t bytes)
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
    return line(&perf->send_overhead, 64) + line(&perf->wire, 64) +
           line(&perf->recv_overhead, 64);
}

uint64_t am_cost_copy_ps(const struct am_dev_perf *perf, size_t bytes)
{
    struct am_linfn copy = {0, larger(perf->send_overhead.per_byte_fs,
                                      perf->recv_overhead.per_byte_fs)};

    return line(&copy, bytes);
}

uint64_t am_cost_stream_ps(const struct am_dev_perf *perf, size_t packet_bytes,
                           size_t bytes)
{
    size_t packet = packet_bytes == 0 ? 1 : packet_bytes;
    size_t first = bytes < packet ? bytes : packet;
    struct am_linfn send = perf->send_overhead;
    struct am_linfn recv = perf->recv_overhead;
    uint64_t first_ps = line(&send, first) + line(&perf->wire, first) +
                        recv.fixed_ps + am_cost_copy_ps(perf, first);
    uint64_t more = (bytes - first + packet - 1) / packet;
    uint64_t send_ps = more * send.fixed_ps;
    uint64_t recv_ps =
            more * recv.fixed_ps + am_cost_copy_ps(perf, bytes - first);

    send.fixed_ps = 0;
    send_ps += line(&send, bytes - first);
    return first_ps +
           (perf->shared_core ? send_ps + recv_ps : larger(send_ps, recv_ps));
}

uint64_t am_cost_bulk_stream_ps(const struct am_dev_perf *perf,
                                size_t packet_bytes, bool get, size_t bytes)
{
    return am_cost_stream_ps(perf, packet_bytes, bytes) +
           (get ? am_cost_short_ps(perf) + perf->turn_ps : 0);
}

uint64_t am_cost_single_ps(const struct am_dev_perf *perf, uint32_t caps,
                           bool get, size_t bytes)
{
    uint32_t need = get ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT;

    return (caps & need) == 0 ? AM_COST_NEVER
                              : line(get ? &perf->get : &perf->put, bytes);
}
