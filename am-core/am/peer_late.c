/*
 * Late peers, those outside the job: which connection is used for one, and
 * letting go of them, on request and when nobody asked for them.
 * Nothing is ended by force: one that anything still refers to stays.
 */
#include "config.h"

#include "am/client.h"
#include "am/ctx.h"

#include <stdlib.h>

/* ------------------------------------------------------------- who is known */

/* Is it the one outside the job with this number, and to be used for it?  The
 * connection that the other one made is no substitute for an own one where there
 * can be both: it may let go of that at any time, and what is sent on it then is
 * lost.  So each sends on its own, and answers on the one that it was asked on. */
static bool is_late(const struct am_peer *peer, uint64_t nonce)
{
    const struct am_blob *blob = peer == NULL ? NULL : peer->blob;

    return blob != NULL && blob->nonce == nonce && !peer->dead &&
           (peer->named || !peer->dev->bottom->own_ends);
}

uint32_t am_peer_find(const struct am_ctx *ctx, const struct am_blob *blob)
{
    if (blob->rank < ctx->size && ctx->blobs != NULL &&
        ctx->blobs[blob->rank]->nonce == blob->nonce) {
        return blob->rank;
    }
    for (uint32_t i = ctx->size; i < ctx->peer_count; i++) {
        struct am_peer *peer = ctx->peers[i];

        if (is_late(peer, blob->nonce) &&
            peer->dev->ops->presence(peer->ep) == AM_DEV_HERE) {
            return i;
        }
    }
    return UINT32_MAX;
}

/* A late peer introduces itself. */
static void handle_hello(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_peer *peer = token->peer;
    struct am_blob blob;

    if (peer->index < token->ctx->size || peer->blob != NULL ||
        am_blob_read(data, bytes, &blob) != AM_OK) {
        token->ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        return;
    }
    peer->blob = am_blob_copy(&blob);
}

void am_peer_init(struct am_ctx *ctx)
{
    am_handler_set(ctx, AM_H_HELLO, handle_hello, NULL, "hello");
}

/* --------------------------------------------------------------- letting go */

/* Does a transfer or an operation that awaits an answer belong to it? */
static bool has_operation(const struct am_ctx *ctx, const struct am_peer *peer)
{
    const struct am_list *link;

    for (uint32_t i = 0; i < ctx->handle_count; i++) {
        const struct am_handle *handle = &ctx->handles[i];

        switch ((am_handle_kind_t)handle->kind) {
        case AM_HANDLE_BULK:
        case AM_HANDLE_FETCH:
        case AM_HANDLE_SEND: /* each begins with its op */
            if (((const struct am_op *)handle->object)->peer == peer) {
                return true;
            }
            break;
        case AM_HANDLE_FREE:
        case AM_HANDLE_REGION:
            break;
        }
    }
    for (link = ctx->finished.next; link != &ctx->finished; link = link->next) {
        if (am_container(link, struct am_op, link)->peer == peer) {
            return true;
        }
    }
    return false;
}

/* In am itself, without the modules. */
static bool has_work(const struct am_ctx *ctx, const struct am_peer *peer)
{
    return !am_list_is_empty(&peer->ordered) ||
           !am_list_is_empty(&peer->bulk) || peer->landing != 0 ||
           peer->pins != 0 || has_operation(ctx, peer);
}

bool am_peer_is_needed(struct am_ctx *ctx, struct am_peer *peer)
{
    bool needed = has_work(ctx, peer);

    for (uint32_t i = 0; !needed && am_modules[i] != NULL; i++) {
        needed = am_modules[i]->peer_needed != NULL &&
                 am_modules[i]->peer_needed(ctx, peer);
    }
    return needed;
}

bool am_peer_is_idle(struct am_ctx *ctx, struct am_peer *peer)
{
    if (has_work(ctx, peer)) {
        return false;
    }
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        if (am_modules[i]->peer_idle != NULL &&
            !am_modules[i]->peer_idle(ctx, peer)) {
            return false;
        }
    }
    return true;
}

static void let_go(struct am_ctx *ctx, struct am_peer *peer)
{
    am_list_remove(&peer->busy_link); /* its queues are empty */
    am_peer_free(ctx, peer);
}

am_status_t am_disconnect(struct am_ctx *ctx, uint32_t index)
{
    am_status_t status = am_owned(ctx);

    if (status != AM_OK) {
        return status;
    }
    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    if (index < ctx->size || index >= ctx->peer_count ||
        ctx->peers[index] == NULL) {
        return AM_ERR_INVALID;
    }
    if (!am_peer_is_idle(ctx, ctx->peers[index])) {
        return AM_ERR_AGAIN;
    }
    let_go(ctx, ctx->peers[index]);
    am_peers_reap(ctx);
    return AM_OK;
}

/* One that has closed takes nothing any more: what waits for it ends. */
void am_peers_reap(struct am_ctx *ctx)
{
    for (uint32_t i = ctx->size; i < ctx->peer_count; i++) {
        struct am_peer *peer = ctx->peers[i];
        bool has_left = peer != NULL && !peer->dead &&
                        peer->dev->ops->presence(peer->ep) == AM_DEV_LEFT;

        if (has_left && am_peer_is_needed(ctx, peer)) {
            am_peer_dead(peer, "it has closed");
        }
        if (peer != NULL && !peer->named && !peer->died_last &&
            (peer->dead || has_left) && am_peer_is_idle(ctx, peer)) {
            let_go(ctx, peer);
        }
    }
}
