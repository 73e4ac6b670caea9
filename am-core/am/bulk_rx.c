/*
 * The receiving side of transfers: pieces that land in a region, the gets that
 * are served, answers.  Every number is a peer's and is checked.
 */
#include "config.h"

#include "am/bulk_wire.h"
#include "am/ctx.h"

#include <string.h>

/* What a packet says of the transfer that it is a piece of. */
struct piece {
    uint64_t handle;
    size_t offset; /* of the piece */
    size_t start;  /* bytes of the transfer before it */
    size_t left;   /* and from it to the end */
};

/* Put a piece in place, if all of its transfer may go there; the region, or
 * NULL when it was refused. */
static struct am_region *piece_region(struct am_token *token,
                                      struct piece *piece, size_t bytes)
{
    size_t at = piece->offset - piece->start;
    struct am_region *region;

    if (bytes > piece->left || piece->start > piece->offset ||
        piece->left > SIZE_MAX - piece->start) {
        token->ctx->stats[AM_STAT_RX_BAD_REGION]++;
        return NULL;
    }
    region = am_region_find(token->peer, AM_DEV_CAP_PUT, piece->handle, &at,
                            piece->start + piece->left);
    piece->offset = at + piece->start;
    return region;
}

static void piece_land(const struct am_peer *from, struct am_region *region,
                       const struct piece *piece, const void *data,
                       size_t bytes)
{
    struct am_ctx *ctx = region->ctx;
    uint64_t start = am_peer_copy_start(from, bytes);

    am_data_write(&region->data, piece->offset, data, bytes, from->ep->near);
    am_peer_copy_stop(from, bytes, start);
    am_env_charge(ctx->env, AM_COST_COPY, bytes);
    ctx->stats[AM_STAT_LANDED_BYTES] += bytes;
}

/* A piece of a get: the next one, of what has been asked for. */
static void get_land(struct am_region *region, const struct piece *piece,
                     const void *data, size_t bytes)
{
    struct am_bulk *get = region->get;

    if (!am_bulk_is_out(get, region->peer) ||
        piece->offset != region->landed_bytes ||
        piece->left != get->bytes - region->landed_bytes) {
        region->ctx->stats[AM_STAT_RX_BAD_REGION]++;
        return;
    }
    piece_land(region->peer, region, piece, data, bytes);
    region->landed_bytes += bytes;
    if (region->landed_bytes == get->bytes) {
        am_bulk_end(get, AM_OK);
    }
}

static void handle_stream(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    struct am_region *region;
    struct piece piece;

    if (word_count != STREAM_LONG_WORDS &&
        !am_token_has(token, word_count, STREAM_WORDS)) {
        return;
    }
    piece.handle = am_word(words, STREAM_REGION);
    piece.offset = am_word(words, STREAM_OFFSET);
    if (word_count == STREAM_LONG_WORDS) {
        piece.start = am_word(words, STREAM_START);
        piece.left = am_word(words, STREAM_LEFT);
    } else {
        bool by_address = piece.handle <= UINT32_MAX;

        piece.start = by_address ? piece.handle : 0;
        piece.handle = by_address ? 0 : piece.handle;
        piece.left = token->aux;
    }
    region = piece_region(token, &piece, bytes);
    if (region == NULL) {
        return;
    }
    if (region->get != NULL) {
        get_land(region, &piece, data, bytes);
    } else {
        piece_land(token->peer, region, &piece, data, bytes);
    }
}

/* All is in place: run the handler that goes with it.  One of the library gets
 * its words only, as what it takes for a packet must have come as one. */
static void run_after(struct am_token *token, uint64_t handler,
                      const uint64_t *words, uint32_t word_count, void *data,
                      size_t bytes)
{
    struct am_ctx *ctx = token->ctx;
    const struct am_handler *to = &ctx->handlers[handler % AM_HANDLERS_MAX];
    bool is_user = handler >= AM_HANDLER_USER;

    if (handler < AM_HANDLER_MSG || handler >= AM_HANDLERS_MAX ||
        to->fn == NULL) {
        am_handler_missing(token->peer, handler);
        return;
    }
    if (is_user && data == NULL && bytes > 0) { /* it is in pieces */
        ctx->stats[AM_STAT_RX_BAD_HANDLER]++;
        return;
    }
    token->arg = to->arg;
    to->fn(token, words, word_count, is_user ? data : NULL,
           is_user ? bytes : 0);
}

/* As a reply, for which there is always room, unless a handler runs next, whose
 * reply that is. */
static void last_answer(struct am_token *token, uint64_t ack, bool in_place,
                        bool may_reply)
{
    uint64_t answer[2] = {ack, in_place};

    if (may_reply) {
        (void)am_token_reply(token, AM_H_ACK, answer, 2, NULL, 0);
    } else {
        (void)am_ctx_request(token->ctx, token->peer->index, AM_H_ACK, answer,
                             2, NULL, 0);
    }
}

static void handle_stream_last(struct am_token *token, const uint64_t *words,
                               uint32_t word_count, void *data, size_t bytes)
{
    struct am_region *region;
    struct piece piece;
    uint64_t handler, ack;
    size_t total;

    if (word_count < LAST_WORDS || word_count > LAST_WORDS + LAST_ARGUMENTS) {
        token->ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        return;
    }
    handler = am_word(words, LAST_HANDLER);
    ack = am_word(words, LAST_ACK);
    total = am_word(words, LAST_BYTES);
    /* of a total below `bytes` the start wraps, and is refused */
    piece = (struct piece){.handle = am_word(words, LAST_REGION),
                           .offset = am_word(words, LAST_OFFSET),
                           .start = total - bytes,
                           .left = bytes};
    region = piece_region(token, &piece, bytes);
    if (region != NULL && region->get != NULL) { /* not the way of a get */
        token->ctx->stats[AM_STAT_RX_BAD_REGION]++;
        region = NULL;
    }
    if (region != NULL) {
        piece_land(token->peer, region, &piece, data, bytes);
    }
    if (ack != 0) {
        last_answer(token, ack, region != NULL, handler == 0);
    }
    if (region != NULL && handler != 0) {
        run_after(token, handler, words + LAST_WORDS, word_count - LAST_WORDS,
                  am_data_at(&region->data, piece.offset - piece.start, total),
                  total);
    }
}

static void handle_ack(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_bulk *bulk = NULL;

    if (am_token_has(token, word_count, 2)) {
        bulk = am_handle_find(token->ctx, am_word(words, 0), AM_HANDLE_BULK);
    }
    if (bulk == NULL) {
        return;
    }
    if (bulk->get || !am_bulk_is_out(bulk, token->peer)) {
        token->ctx->stats[AM_STAT_RX_BAD_HANDLE]++;
        return;
    }
    am_bulk_end(bulk, am_word(words, 1) != 0 ? AM_OK : AM_ERR_INVALID);
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
    offset = am_word(words, GET_OFFSET);
    length = am_word(words, GET_BYTES);
    landing = am_word(words, GET_LANDING);
    region = am_region_find(token->peer, AM_DEV_CAP_GET,
                            am_word(words, GET_REGION), &offset, length);
    bulk = region == NULL ? NULL : am_pool_get(ctx->bulk_pool);
    if (bulk == NULL) {
        (void)am_token_reply(token, AM_H_REFUSED, &landing, 1, NULL, 0);
        return;
    }
    key.w[0] = landing;
    am_bulk_put(bulk, token->peer,
                &(struct am_transfer){.local = &region->data,
                                      .local_offset = offset,
                                      .key = &key,
                                      .bytes = length,
                                      .done = served_done,
                                      .arg = bulk,
                                      .source = region->handle});
}

/* The get that lands in a region of ours ends with this, if it is out. */
static void handle_refused(struct am_token *token, const uint64_t *words,
                           uint32_t word_count, void *data, size_t bytes)
{
    struct am_region *region = NULL;

    if (am_token_has(token, word_count, 1)) {
        region =
                am_handle_find(token->ctx, am_word(words, 0), AM_HANDLE_REGION);
    }
    if (region == NULL) {
        return;
    }
    if (region->get == NULL || !am_bulk_is_out(region->get, token->peer)) {
        token->ctx->stats[AM_STAT_RX_BAD_REGION]++;
        return;
    }
    am_bulk_end(region->get, AM_ERR_INVALID);
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
