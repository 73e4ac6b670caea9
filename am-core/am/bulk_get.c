/*
 * Gets: by the device, or as a stream that the owner is asked for.  What a stream needs, the
 * handles by which it and its packets are found, is made when it begins.
 */
#include "config.h"

#include "am/bulk_wire.h"
#include "am/ctx.h"

/* A get goes on when the call that began it has returned: the death of its peer is to find
 * it.  Its handle is reserved. */
void am_bulk_get_lasts(struct am_bulk *bulk)
{
    if (bulk->handle == 0) {
        bulk->handle = am_handle_new(bulk->op.peer->ctx, AM_HANDLE_BULK, bulk);
    }
}

/* Where the packets of a get go.  A key without a handle names what only the device can
 * fetch, or is a bare address. */
static am_status_t landing_open(struct am_bulk *bulk)
{
    struct am_peer *peer = bulk->op.peer;
    struct am_data landing = bulk->local;
    am_status_t status = AM_OK;

    if (bulk->by == AM_BY_SINGLE && bulk->key.w[0] == 0) {
        return AM_ERR_UNSUPPORTED;
    }
    if (bulk->landing.handle == 0) {
        landing.bytes = bulk->bytes;
        status = am_region_open(peer->ctx, &bulk->landing, &landing,
                                AM_DEV_CAP_PUT, peer);
        bulk->landing.get = bulk;
        bulk->landing.landed_bytes = 0;
    }
    return status;
}

static am_status_t get_stream(struct am_bulk *bulk)
{
    am_status_t status = landing_open(bulk);
    uint64_t words[GET_WORDS] = {
            [GET_REGION] = bulk->key.w[0],
            [GET_OFFSET] = bulk->offset,
            [GET_BYTES] = bulk->bytes,
            [GET_LANDING] = bulk->landing.handle,
    };

    return status != AM_OK ? status
                           : am_op_send(&bulk->op, AM_H_GET, 0, words,
                                        GET_WORDS, NULL, 0);
}

am_turn_t am_bulk_get_run(struct am_op *op)
{
    struct am_bulk *bulk = am_container(op, struct am_bulk, op);
    am_status_t status = AM_OK;

    if (bulk->by_device || bulk->bytes == 0) {
        status = bulk->bytes == 0 ? AM_DONE
                                  : am_bulk_copy(bulk, am_bulk_device_done);
        if (status == AM_DONE) {
            am_bulk_end(bulk, AM_OK);
            return AM_TURN_LAST;
        }
        bulk->by_device = status != AM_ERR_UNSUPPORTED;
    }
    am_bulk_get_lasts(bulk);
    if (!bulk->by_device) {
        status = get_stream(bulk);
    }
    if (status != AM_OK && status != AM_ERR_AGAIN) {
        am_bulk_end(bulk, status);
    }
    return am_turn_of(status);
}
