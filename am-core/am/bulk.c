/*
 * Transfers between local data and a peer's region, of any size, both ways:
 *
 *   single copy   the device's put or get, where it has them and they cost less
 *   stream        packets that the target's CPU copies into place
 *
 *   put over send:   STREAM, STREAM, ... STREAM_LAST(handler, ack) -->
 *                    <-- ACK (when asked for)
 *   get over send:   GET(region, offset, bytes, landing) -->
 *                    <-- STREAM, STREAM, ...   (or REFUSED)
 *
 * Where all of a transfer lies goes with each piece of it, and an answer counts
 * once the last packet has gone; am/bulk_rx.c checks both.
 */
#include "config.h"

#include "am/bulk_wire.h"
#include "am/ctx.h"

#include <string.h>

void am_bulk_end(struct am_bulk *bulk, am_status_t status)
{
    struct am_ctx *ctx = bulk->op.peer->ctx;

    bulk->status = status;
    if (bulk->handle != 0) {
        am_handle_free(ctx, bulk->handle);
        bulk->handle = 0;
    }
    am_region_close(&bulk->landing);
    am_list_push(&ctx->finished, &bulk->op.link);
    ctx->attention = true;
}

int am_bulk_finish(struct am_ctx *ctx)
{
    struct am_list *node;
    int count = 0;

    while ((node = am_list_pop(&ctx->finished)) != NULL) {
        struct am_bulk *bulk = am_container(node, struct am_bulk, op.link);

        count++;
        bulk->done(bulk->arg, bulk->status);
    }
    return count;
}

/* The bytes are in place: no answer is needed, unless a handler's. */
static void device_put_ended(struct am_bulk *bulk)
{
    bulk->sent_bytes = bulk->bytes;
    if (bulk->handle != 0 && bulk->handler == 0) {
        am_handle_free(bulk->op.peer->ctx, bulk->handle);
        bulk->handle = 0;
    }
}

struct fill {
    const struct am_data *data;
    size_t offset;
};

static void fill_from_data(void *arg, void *to, size_t bytes)
{
    struct fill *fill = arg;

    am_data_read(fill->data, fill->offset, to, bytes);
}

static am_status_t stream_packet(struct am_bulk *bulk, uint32_t handler,
                                 uint32_t aux, const uint64_t *words,
                                 uint32_t word_count, size_t bytes)
{
    size_t at = bulk->local_offset + bulk->sent_bytes;
    void *base = bytes == 0 ? NULL : am_data_at(&bulk->local, at, bytes);
    struct fill fill = {&bulk->local, at};

    if (base == NULL && bytes > 0) {
        return am_op_send_fill(&bulk->op, handler, aux, words, word_count,
                               fill_from_data, &fill, bytes);
    }
    return am_op_send(&bulk->op, handler, aux, words, word_count, base, bytes);
}

/* Does a piece need words to say where the whole lies? */
static uint32_t stream_words(const struct am_bulk *bulk)
{
    return bulk->bytes > UINT32_MAX ? STREAM_LONG_WORDS : STREAM_WORDS;
}

/* Any packet but the last. */
static am_status_t stream_piece(struct am_bulk *bulk, size_t bytes)
{
    size_t left = bulk->bytes - bulk->sent_bytes;
    uint32_t word_count = stream_words(bulk);
    uint64_t words[STREAM_LONG_WORDS] = {
            [STREAM_REGION] = bulk->key.w[0],
            [STREAM_OFFSET] = bulk->offset + bulk->sent_bytes,
            [STREAM_START] = bulk->sent_bytes,
            [STREAM_LEFT] = left,
    };

    if (word_count == STREAM_WORDS && bulk->key.w[0] == 0) {
        words[STREAM_REGION] = bulk->sent_bytes;
    }
    return stream_packet(bulk, AM_H_STREAM,
                         word_count == STREAM_WORDS ? (uint32_t)left : 0, words,
                         word_count, bytes);
}

/* The final packet: what is left, the handler, the wish for an answer. */
static am_status_t stream_last(struct am_bulk *bulk, size_t bytes)
{
    uint64_t words[LAST_WORDS + LAST_ARGUMENTS] = {
            [LAST_REGION] = bulk->key.w[0],
            [LAST_OFFSET] = bulk->offset + bulk->sent_bytes,
            [LAST_HANDLER] = bulk->handler,
            [LAST_ACK] = bulk->handle,
            [LAST_BYTES] = bulk->bytes,
    };

    memcpy(words + LAST_WORDS, bulk->words,
           bulk->word_count * sizeof(uint64_t));
    return stream_packet(bulk, AM_H_STREAM_LAST, 0, words,
                         LAST_WORDS + bulk->word_count, bytes);
}

/* Bytes of each packet; short ones, of slow networks, are filled. */
static size_t stream_step(const struct am_bulk *bulk)
{
    const size_t page = 4096;
    size_t last_max =
            am_peer_payload_max(bulk->op.peer, LAST_WORDS + LAST_ARGUMENTS);

    return last_max < page
                   ? am_peer_payload_max(bulk->op.peer, stream_words(bulk))
                   : am_packet_step(bulk->bytes, last_max);
}

/* Send what there is space for.  AM_ERR_AGAIN: more later. */
static am_status_t stream_run(struct am_bulk *bulk)
{
    struct am_peer *peer = bulk->op.peer;
    uint64_t *stats = peer->ctx->stats;
    bool last_matters = bulk->handler != 0 || bulk->handle != 0;
    size_t packet = stream_step(bulk);
    size_t last_max = am_peer_payload_max(peer, LAST_WORDS + LAST_ARGUMENTS);
    am_status_t status = AM_OK;

    while (bulk->sent_bytes < bulk->bytes || last_matters) {
        size_t left = bulk->bytes - bulk->sent_bytes;
        size_t bytes = left < packet ? left : packet;

        if (last_matters && left <= last_max) {
            status = stream_last(bulk, left);
            last_matters = status != AM_OK;
            bytes = left;
        } else {
            status = stream_piece(bulk, bytes);
        }
        if (status != AM_OK) {
            return status;
        }
        bulk->sent_bytes += bytes;
        stats[AM_STAT_STREAM_BYTES] += bytes;
    }
    return AM_OK;
}

/* A get that is served ends when its region is closed under it. */
static bool source_is_gone(struct am_bulk *bulk)
{
    return bulk->source != 0 && am_handle_find(bulk->op.peer->ctx, bulk->source,
                                               AM_HANDLE_REGION) == NULL;
}

/* ... and who waits for the rest is told. */
static am_turn_t refuse_rest(struct am_bulk *bulk)
{
    am_status_t status =
            am_op_send(&bulk->op, AM_H_REFUSED, 0, &bulk->key.w[0], 1, NULL, 0);

    if (status != AM_ERR_AGAIN) {
        am_bulk_end(bulk, AM_ERR_INVALID);
    }
    return am_turn_of(status);
}

static am_turn_t put_run(struct am_op *op)
{
    struct am_bulk *bulk = am_container(op, struct am_bulk, op);
    am_status_t status = AM_OK;

    if (source_is_gone(bulk)) {
        return refuse_rest(bulk);
    }
    if (bulk->by_device && bulk->sent_bytes < bulk->bytes) {
        status = am_bulk_copy(bulk, am_bulk_device_done);
        if (status == AM_OK) {
            return AM_TURN_LAST;
        }
        if (status == AM_DONE) {
            device_put_ended(bulk);
            status = AM_OK;
        } else if (status == AM_ERR_UNSUPPORTED) {
            bulk->by_device = false;
            status = AM_OK;
        }
    }
    if (status == AM_OK) {
        status = stream_run(bulk);
    }
    if (status != AM_ERR_AGAIN && (status != AM_OK || bulk->handle == 0)) {
        am_bulk_end(bulk, status);
    }
    return am_turn_of(status);
}

void am_bulk_device_done(void *arg, am_status_t status)
{
    struct am_bulk *bulk = arg;

    bulk->in_device = false;
    if (bulk->status != AM_OK) { /* the peer died meanwhile */
        status = bulk->status;
    }
    if (bulk->get || status != AM_OK) {
        am_bulk_end(bulk, status);
        return;
    }
    device_put_ended(bulk);
    if (put_run(&bulk->op) == AM_TURN_NO_SPACE) {
        am_op_queue(&bulk->op, bulk->op.peer, put_run, AM_OP_BULK);
    }
}

/* Can there be a region that holds this?  A range that wraps is found here, as
 * its later pieces look sound by themselves. */
static bool bulk_is_sound(const struct am_bulk *bulk)
{
    return bulk->offset <= SIZE_MAX - bulk->bytes &&
           (bulk->key.w[0] == 0 || bulk->key.w[0] > UINT32_MAX);
}

/* Start at once unless others wait; what is left is queued. */
static void bulk_start(struct am_bulk *bulk, struct am_peer *peer,
                       am_op_run_fn run, bool later)
{
    am_list_init(&bulk->op.link);
    bulk->op.queued = false;
    bulk->op.peer = peer;
    bulk->in_device = false;
    if (bulk->status != AM_OK || !bulk_is_sound(bulk)) {
        am_bulk_end(bulk,
                    bulk->status != AM_OK ? bulk->status : AM_ERR_INVALID);
        return;
    }
    bulk->by_device =
            peer->index == peer->ctx->rank || am_bulk_single(bulk, peer);
    later = later || !am_list_is_empty(&peer->bulk);
    if (later && bulk->get) {
        am_bulk_get_lasts(bulk);
    }
    if (later || run(&bulk->op) == AM_TURN_NO_SPACE) {
        am_op_queue(&bulk->op, peer, run, AM_OP_BULK);
    }
}

/* All but how it goes.  AM_ERR_MEMORY in bulk->status: there is no handle for the
 * answer, or for a get that lasts, so that nothing may be sent. */
static void bulk_fill(struct am_bulk *bulk, struct am_peer *peer,
                      const struct am_transfer *transfer, bool get)
{
    struct am_ctx *ctx = peer->ctx;
    bool wants = !get && transfer->acknowledged; /* an answer */

    bulk->op.peer = peer;
    bulk->local = *transfer->local;
    bulk->local_offset = transfer->local_offset;
    bulk->key = *transfer->key;
    bulk->offset = transfer->offset;
    bulk->bytes = transfer->bytes;
    bulk->sent_bytes = 0;
    bulk->get = get;
    bulk->by = transfer->by;
    bulk->handler = transfer->handler;
    bulk->word_count = transfer->word_count < 4 ? transfer->word_count : 4;
    if (bulk->word_count > 0) {
        memcpy(bulk->words, transfer->words,
               bulk->word_count * sizeof(*bulk->words));
    }
    bulk->done = transfer->done;
    bulk->arg = transfer->arg;
    bulk->source = transfer->source;
    bulk->landing.handle = 0;
    bulk->handle = wants ? am_handle_new(ctx, AM_HANDLE_BULK, bulk) : 0;
    bulk->status = get                          ? am_handle_reserve(ctx)
                   : wants && bulk->handle == 0 ? AM_ERR_MEMORY
                                                : AM_OK;
}

void am_bulk_put(struct am_bulk *bulk, struct am_peer *peer,
                 const struct am_transfer *transfer)
{
    bulk_fill(bulk, peer, transfer, false);
    bulk_start(bulk, peer, put_run, transfer->later);
}

void am_bulk_get(struct am_bulk *bulk, struct am_peer *peer,
                 const struct am_transfer *transfer)
{
    bulk_fill(bulk, peer, transfer, true);
    bulk_start(bulk, peer, am_bulk_get_run, transfer->later);
}

void am_bulk_cancel(struct am_bulk *bulk)
{
    am_op_cancel(&bulk->op);
    am_list_remove(&bulk->op.link);
    am_region_close(&bulk->landing);
    if (bulk->handle != 0) {
        am_handle_free(bulk->op.peer->ctx, bulk->handle);
        bulk->handle = 0;
    }
}

void am_bulk_fail(struct am_bulk *bulk, am_status_t status)
{
    if (bulk->in_device) { /* it still has the memory: device_done ends it */
        bulk->status = status;
        return;
    }
    am_op_cancel(&bulk->op);
    am_bulk_end(bulk, status);
}
