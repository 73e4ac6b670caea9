/*
 * The receiving side of transfers: pieces that land in a region, the gets that
 * are served, answers.  Every number is a peer's and is checked.
 */
#include "config.h"

#include "am/bulk_wire.h"
#include "am/ctx.h"

#include <string.h>

/* Put a piece in place; the region, or NULL when it was refused. */
static struct am_region *piece_land(struct am_ctx *ctx, uint64_t handle,
                                    size_t *offset, const void *data,
                                    size_t bytes)
{
    struct am_region *region = am_region_find(ctx, handle, offset, bytes);

    if (region == NULL) {
        return NULL;
    }
    am_data_write(&region->data, *offset, data, bytes);
    am_env_charge(ctx->env, AM_COST_COPY, bytes);
    region->landed_bytes += bytes;
    ctx->stats[AM_STAT_LANDED_BYTES] += bytes;
    return region;
}

static void region_landed(struct am_region *region)
{
    if (region->landed != NULL &&
        region->landed_bytes == region->expected_bytes) {
        region->landed(region->landed_arg, AM_OK);
    }
}

static void handle_stream(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    struct am_region *region;
    size_t offset;

    if (!am_token_has(token, word_count, 2)) {
        return;
    }
    offset = words[1];
    region = piece_land(token->ctx, words[0], &offset, data, bytes);
    if (region != NULL) {
        region_landed(region);
    }
}

static void handle_stream_last(struct am_token *token, const uint64_t *words,
                               uint32_t word_count, void *data, size_t bytes)
{
    struct am_ctx *ctx = token->ctx;
    size_t offset, total;
    uint64_t handler, ack;
    struct am_region *region;

    if (word_count < LAST_WORDS) {
        ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        return;
    }
    offset = words[LAST_OFFSET];
    total = words[LAST_BYTES];
    handler = words[LAST_HANDLER];
    ack = words[LAST_ACK];
    region = piece_land(ctx, words[LAST_REGION], &offset, data, bytes);
    if (ack != 0) {
        uint64_t answer[2] = {ack, region != NULL};

        (void)am_ctx_request(ctx, token->peer->index, AM_H_ACK, answer, 2, NULL,
                             0);
    }
    if (region == NULL) {
        return;
    }
    if (handler != 0) {
        size_t start = offset + bytes - total;
        const struct am_handler *to = &ctx->handlers[handler % AM_HANDLERS_MAX];

        if (handler < AM_HANDLER_MSG || handler >= AM_HANDLERS_MAX ||
            to->fn == NULL || total > offset + bytes) {
            ctx->stats[AM_STAT_RX_BAD_HANDLER]++;
        } else {
            token->arg = to->arg;
            to->fn(token, words + LAST_WORDS, word_count - LAST_WORDS,
                   am_data_at(&region->data, start, total), total);
            return; /* the handler owns what follows; region may be gone */
        }
    }
    region_landed(region);
}

static void handle_ack(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_bulk *bulk = NULL;

    if (am_token_has(token, word_count, 2)) {
        bulk = am_handle_find(token->ctx, words[0], AM_HANDLE_BULK);
    }
    if (bulk != NULL && bulk->op.peer == token->peer && !bulk->get) {
        am_bulk_end(bulk, words[1] != 0 ? AM_OK : AM_ERR_INVALID);
    }
}

static void served_done(void *arg, am_status_t status)
{
    struct am_bulk *bulk = arg;

    am_pool_put(bulk->op.peer->ctx->bulk_pool, bulk);
}

static void handle_get(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_ctx *ctx = token->ctx;
    size_t offset, length;
    uint64_t landing;
    struct am_region *region;
    struct am_bulk *bulk;
    struct am_key key = {{0}};

    if (!am_token_has(token, word_count, GET_WORDS)) {
        return;
    }
    offset = words[GET_OFFSET];
    length = words[GET_BYTES];
    landing = words[GET_LANDING];
    region = am_region_find(ctx, words[GET_REGION], &offset, length);
    bulk = region == NULL ? NULL : am_pool_get(ctx->bulk_pool);
    if (bulk == NULL) {
        (void)am_token_reply(token, AM_H_REFUSED, &landing, 1, NULL, 0);
        return;
    }
    memset(bulk, 0, sizeof(*bulk));
    bulk->source = region->handle;
    bulk->local_offset = offset;
    key.w[0] = landing;
    am_bulk_put(bulk, token->peer, &region->data, &key, 0, length, 0, NULL, 0,
                served_done, bulk);
}

static void handle_refused(struct am_token *token, const uint64_t *words,
                           uint32_t word_count, void *data, size_t bytes)
{
    struct am_region *region = NULL;

    if (am_token_has(token, word_count, 1)) {
        region = am_handle_find(token->ctx, words[0], AM_HANDLE_REGION);
    }
    if (region != NULL && region->landed != NULL) {
        region->landed(region->landed_arg, AM_ERR_INVALID);
    }
}

void am_bulk_init(struct am_ctx *ctx)
{
    am_handler_set(ctx, AM_H_STREAM, handle_stream, NULL, "stream");
    am_handler_set(ctx, AM_H_STREAM_LAST, handle_stream_last, NULL,
                   "stream_last");
    am_handler_set(ctx, AM_H_ACK, handle_ack, NULL, "ack");
    am_handler_set(ctx, AM_H_GET, handle_get, NULL, "get");
    am_handler_set(ctx, AM_H_REFUSED, handle_refused, NULL, "refused");
}
