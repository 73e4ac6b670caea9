/*
 * Transfers as a single copy: by the device's put or get, or to this very
 * context; and what that costs, compared with a stream.
 */
#include "config.h"

#include "am/ctx.h"

static uint64_t linfn_ps(const struct am_linfn *f, size_t bytes)
{
    return f->fixed_ps + f->per_byte_fs * (uint64_t)bytes / 1000;
}

/* What the two ways cost, by the device's numbers. */
static uint64_t stream_ps(const struct am_dev_attr *attr, bool get,
                          size_t bytes)
{
    const struct am_dev_perf *perf = &attr->perf;
    uint64_t packets = bytes / attr->packet_bytes_max + 1;
    uint64_t send = perf->send_overhead.per_byte_fs;
    uint64_t recv = perf->recv_overhead.per_byte_fs;
    uint64_t per_byte = perf->shared_core ? send + recv
                        : send > recv     ? send
                                          : recv;
    /* the owner is asked, and waits for its turn on the core if it shares one */
    uint64_t request =
            get ? perf->wire.fixed_ps + perf->send_overhead.fixed_ps +
                            perf->recv_overhead.fixed_ps + perf->turn_ps
                : 0;

    return linfn_ps(&perf->wire, bytes) +
           packets * perf->send_overhead.fixed_ps +
           perf->recv_overhead.fixed_ps + per_byte * (uint64_t)bytes / 1000 +
           request;
}

/* UINT64_MAX: the device has no such thing. */
static uint64_t single_ps(const struct am_dev_attr *attr, bool get,
                          size_t bytes)
{
    uint32_t need = get ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT;

    return (attr->caps & need) == 0
                   ? UINT64_MAX
                   : linfn_ps(get ? &attr->perf.get : &attr->perf.put, bytes);
}

uint64_t am_bulk_cost_ps(const struct am_peer *peer, bool get, size_t bytes,
                         bool contiguous)
{
    const struct am_dev_attr *attr = &peer->dev->attr;
    uint64_t stream = stream_ps(attr, get, bytes);
    uint64_t single = contiguous ? single_ps(attr, get, bytes) : UINT64_MAX;

    return single < stream ? single : stream;
}

bool am_bulk_single(const struct am_bulk *bulk, const struct am_peer *peer)
{
    const struct am_dev_attr *attr = &peer->dev->attr;

    return bulk->key.w[3] != 0 &&
           single_ps(attr, bulk->get, bulk->bytes) <
                   stream_ps(attr, bulk->get, bulk->bytes) &&
           am_data_at(&bulk->local, bulk->local_offset, bulk->bytes) != NULL;
}

/* To or from a region of this very context: one copy. */
static am_status_t self_copy(struct am_bulk *bulk)
{
    struct am_ctx *ctx = bulk->op.peer->ctx;
    size_t offset = bulk->offset;
    struct am_region *region =
            am_region_find(ctx, bulk->key.w[0], &offset, bulk->bytes);
    const struct am_data *from = bulk->get ? NULL : &bulk->local;
    const struct am_data *to = bulk->get ? &bulk->local : NULL;
    size_t from_at = bulk->local_offset, to_at = bulk->local_offset;
    char piece[4096];

    if (region == NULL) {
        return AM_ERR_INVALID;
    }
    if (bulk->get) {
        from = &region->data;
        from_at = offset;
    } else {
        to = &region->data;
        to_at = offset;
    }
    if (am_data_at(from, from_at, bulk->bytes) != NULL) {
        am_data_write(to, to_at, am_data_at(from, from_at, bulk->bytes),
                      bulk->bytes);
    } else if (am_data_at(to, to_at, bulk->bytes) != NULL) {
        am_data_read(from, from_at, am_data_at(to, to_at, bulk->bytes),
                     bulk->bytes);
    } else {
        for (size_t at = 0; at < bulk->bytes; at += sizeof(piece)) {
            size_t bytes = bulk->bytes - at < sizeof(piece) ? bulk->bytes - at
                                                            : sizeof(piece);

            am_data_read(from, from_at + at, piece, bytes);
            am_data_write(to, to_at + at, piece, bytes);
        }
    }
    return AM_OK;
}

am_status_t am_bulk_copy(struct am_bulk *bulk, am_done_fn done)
{
    struct am_peer *peer = bulk->op.peer;
    const struct am_dev_ops *ops = peer->dev->ops;
    struct am_dev_key key = {{bulk->key.w[1], bulk->key.w[2], bulk->key.w[3]}};
    struct iovec local = {
            am_data_at(&bulk->local, bulk->local_offset, bulk->bytes),
            bulk->bytes};
    am_status_t status;

    if (peer->index == peer->ctx->rank) {
        return self_copy(bulk);
    }
    status = (bulk->get ? ops->get : ops->put)(peer->ep, &local, 1, &key,
                                               bulk->offset, done, bulk);
    if (status != AM_OK && status != AM_DONE) {
        return status;
    }
    peer->ctx->stats[bulk->get ? AM_STAT_DEVICE_GETS : AM_STAT_DEVICE_PUTS]++;
    bulk->in_device = status == AM_OK;
    return bulk->in_device ? AM_DONE : AM_OK;
}
