/*
 * Transfers as a single copy: by the device's put or get, or to this very
 * context; and whether that costs less than a stream.
 */
#include "config.h"

#include "am/bulk_wire.h"
#include "am/cost.h"
#include "am/ctx.h"

/* By the device, so that a stream does not use pages for the first time? */
static bool is_spared(const struct am_bulk *bulk, struct am_peer *peer,
                      am_cost_way_t way)
{
    const struct am_dev_perf *perf = am_peer_perf(peer);

    return !bulk->get && bulk->bytes > am_peer_ready_bytes(peer) &&
           am_peer_spares(peer, bulk->bytes,
                          am_cost_stream_ps(
                                  perf, am_peer_payload_max(peer, LAST_WORDS),
                                  bulk->bytes),
                          am_cost_single_ps(perf, peer->dev->attr.caps, way,
                                            bulk->bytes));
}

bool am_bulk_single(const struct am_bulk *bulk, struct am_peer *peer)
{
    uint32_t needed = bulk->get ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT;
    am_cost_way_t way = bulk->get            ? AM_COST_GET
                        : bulk->handler != 0 ? AM_COST_PUT_TOLD
                                             : AM_COST_PUT;
    bool single =
            bulk->by == AM_BY_SINGLE && (peer->dev->attr.caps & needed) != 0;

    if (bulk->by == AM_BY_STREAM ||
        am_key_device(&bulk->key) != peer->dev->bottom->number) {
        return false;
    }
    if (!single) {
        (void)am_cost_bulk_ps(am_peer_perf(peer), peer->dev->attr.caps,
                              am_peer_payload_max(peer, LAST_WORDS), way,
                              bulk->bytes, &single);
    }
    return am_data_at(&bulk->local, bulk->local_offset, bulk->bytes) != NULL &&
           (single || is_spared(bulk, peer, way));
}

/* To or from a region of this very context: one copy. */
static am_status_t self_copy(struct am_bulk *bulk)
{
    size_t offset = bulk->offset;
    struct am_region *region = am_region_find(
            bulk->op.peer, bulk->get ? AM_DEV_CAP_GET : AM_DEV_CAP_PUT,
            bulk->key.w[0], &offset, bulk->bytes);
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
                      bulk->bytes, false);
    } else if (am_data_at(to, to_at, bulk->bytes) != NULL) {
        am_data_read(from, from_at, am_data_at(to, to_at, bulk->bytes),
                     bulk->bytes);
    } else {
        for (size_t at = 0; at < bulk->bytes; at += sizeof(piece)) {
            size_t bytes = bulk->bytes - at < sizeof(piece) ? bulk->bytes - at
                                                            : sizeof(piece);

            am_data_read(from, from_at + at, piece, bytes);
            am_data_write(to, to_at + at, piece, bytes, false);
        }
    }
    return AM_DONE;
}

am_status_t am_bulk_copy(struct am_bulk *bulk, am_done_fn done)
{
    struct am_peer *peer = bulk->op.peer;
    const struct am_dev_ops *ops = peer->dev->ops;
    struct am_dev_key key = am_key_for_device(&bulk->key);
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
    return status;
}
