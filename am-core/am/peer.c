/*
 * Peers: connecting on first use, late connections.
 */
#include "config.h"

#include "am/ctx.h"
#include "am/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct am_peer *am_peer_new(struct am_ctx *ctx, uint32_t index)
{
    struct am_peer *peer = calloc(1, sizeof(*peer));

    if (peer == NULL) {
        return NULL;
    }
    peer->ctx = ctx;
    peer->index = index;
    peer->send = am_send_to_dead;
    am_list_init(&peer->ordered);
    am_list_init(&peer->bulk);
    am_list_init(&peer->busy_link);
    ctx->peers[index] = peer;
    return peer;
}

static void peer_bind(struct am_peer *peer, struct am_dev_ep *ep)
{
    am_device_use(peer->ctx, ep->dev);
    peer->ep = ep;
    peer->dev = ep->dev;
    peer->send = peer->ctx->env->simulated ? am_peer_send_charged
                                           : ep->dev->ops->send_words;
}

/* Room for one more late peer; its index, or UINT32_MAX. */
static uint32_t peer_index_new(struct am_ctx *ctx)
{
    for (uint32_t i = ctx->size; i < ctx->peer_count; i++) {
        if (ctx->peers[i] == NULL) {
            return i; /* of one that was let go */
        }
    }
    if (ctx->peer_count == ctx->peer_max) {
        uint32_t max = ctx->peer_max + ctx->peer_max / 2 + 8;
        struct am_peer **peers = realloc(ctx->peers, max * sizeof(*peers));

        if (peers == NULL) {
            return UINT32_MAX;
        }
        ctx->peers = peers;
        ctx->peer_max = max;
    }
    ctx->peers[ctx->peer_count] = NULL;
    return ctx->peer_count++;
}

/* Connect through the device that costs least. */
static am_status_t peer_connect(struct am_ctx *ctx, struct am_peer *peer,
                                const struct am_blob *blob, uint32_t rank)
{
    const void *address;
    size_t bytes;
    struct am_dev *dev = am_device_for(ctx, blob, &address, &bytes);
    struct am_dev_ep *ep;
    am_status_t status;

    if (dev == NULL) {
        snprintf(ctx->error, sizeof(ctx->error),
                 "no device reaches rank %u (AM_DEVICES is %s)", blob->rank,
                 ctx->values.devices);
        return AM_ERR_PEER;
    }
    status = am_blob_agrees(ctx, blob, dev, rank);
    if (status != AM_OK) {
        return status;
    }
    status = dev->ops->connect(dev, address, bytes, rank, peer, &ep);
    if (status == AM_OK) {
        peer_bind(peer, ep);
    } else {
        snprintf(ctx->error, sizeof(ctx->error),
                 "cannot connect to rank %u by %s: %s", blob->rank,
                 dev->bottom->name,
                 dev->error != NULL ? dev->error : am_status_text(status));
    }
    return status;
}

/* The own rank: through the loop-back device, polled from now on. */
static am_status_t peer_connect_self(struct am_ctx *ctx, struct am_peer *peer)
{
    struct am_dev_ep *ep;
    uint8_t part[AM_ADDRESS_BYTES];
    size_t bytes = ctx->self->ops->address(ctx->self, part, sizeof(part));
    am_status_t status = ctx->self->ops->connect(ctx->self, part, bytes,
                                                 ctx->rank, peer, &ep);

    if (status == AM_OK) {
        ctx->devs[ctx->dev_count++] = ctx->self;
        peer_bind(peer, ep);
    }
    return status;
}

struct am_peer *am_peer_get(struct am_ctx *ctx, uint32_t index,
                            am_status_t *status_p)
{
    struct am_peer *peer;

    if (index >= ctx->peer_count) {
        *status_p = ctx->forked.is ? am_forked_refuse(ctx) : AM_ERR_INVALID;
        return NULL;
    }
    if (ctx->peers[index] != NULL) {
        return ctx->peers[index];
    }
    if (index >= ctx->size || (ctx->blobs == NULL && index != ctx->rank)) {
        *status_p = AM_ERR_INVALID;
        return NULL;
    }
    peer = am_peer_new(ctx, index);
    if (peer == NULL) {
        *status_p = AM_ERR_MEMORY;
        return NULL;
    }
    *status_p = index == ctx->rank
                        ? peer_connect_self(ctx, peer)
                        : peer_connect(ctx, peer, ctx->blobs[index], index);
    if (*status_p != AM_OK) {
        ctx->peers[index] = NULL;
        free(peer);
        return NULL;
    }
    return peer;
}

/* Introduce myself to a late peer: the first message on a new connection. */
static am_turn_t hello_run(struct am_op *op)
{
    struct am_ctx *ctx = op->peer->ctx;
    struct am_blob blob;
    am_status_t status;

    (void)am_address(ctx, &blob);
    status = am_op_send(op, AM_H_HELLO, 0, NULL, 0, &blob, blob.bytes);
    if (status != AM_ERR_AGAIN) {
        free(op);
    }
    return am_turn_of(status);
}

bool am_op_is_hello(const struct am_op *op)
{
    return op->run == hello_run;
}

/* A peer that is not known yet, and the introduction to it. */
static am_status_t connect_late(struct am_ctx *ctx, const struct am_blob *blob,
                                uint32_t *peer_p)
{
    uint32_t index = peer_index_new(ctx);
    struct am_peer *peer =
            index == UINT32_MAX ? NULL : am_peer_new(ctx, index);
    struct am_op *hello = calloc(1, sizeof(*hello));
    am_status_t status = AM_ERR_MEMORY;

    if (peer == NULL || hello == NULL) {
        goto err_peer;
    }
    peer->blob = am_blob_copy(blob);
    if (peer->blob == NULL) {
        goto err_peer;
    }
    status = peer_connect(ctx, peer, blob, UINT32_MAX);
    if (status != AM_OK) {
        goto err_peer;
    }
    am_op_queue(hello, peer, hello_run, AM_OP_ORDERED);
    peer->named = true;
    *peer_p = index;
    return AM_OK;

err_peer:
    free(hello);
    if (peer != NULL) {
        free(peer->blob);
        free(peer);
    }
    if (index != UINT32_MAX) {
        ctx->peers[index] = NULL;
    }
    return status;
}

am_status_t am_connect(struct am_ctx *ctx, const void *address,
                       uint32_t *peer_p)
{
    struct am_blob blob;
    uint32_t index;

    if (ctx->forked.is) {
        return am_forked_refuse(ctx);
    }
    if (am_blob_read(address, AM_ADDRESS_BYTES, &blob) != AM_OK) {
        return AM_ERR_INVALID;
    }
    index = blob.nonce == ctx->nonce ? ctx->rank : am_peer_find(ctx, &blob);
    if (index == UINT32_MAX) {
        return connect_late(ctx, &blob, peer_p);
    }
    if (index >= ctx->size) {
        ctx->peers[index]->named = true;
    }
    *peer_p = index;
    return AM_OK;
}

am_status_t am_peer_address(struct am_ctx *ctx, uint32_t index, void *blob)
{
    const struct am_blob *from = NULL;

    if (index == ctx->rank) {
        return am_address(ctx, blob);
    }
    if (index < ctx->size) {
        from = ctx->blobs == NULL ? NULL : ctx->blobs[index];
    } else if (index < ctx->peer_count && ctx->peers[index] != NULL) {
        from = ctx->peers[index]->blob;
    }
    if (from == NULL) {
        return AM_ERR_INVALID;
    }
    memset(blob, 0, AM_ADDRESS_BYTES);
    memcpy(blob, from, from->bytes);
    return AM_OK;
}

/* A rank that this context has reached stays where it is: both ends choose the
 * same device, so that who comes by another one, or once more, or as this very
 * rank, has no reason to, and is refused. */
void *am_peer_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct am_ctx *ctx = arg;
    struct am_peer *peer;
    uint32_t index = rank < ctx->size ? rank : peer_index_new(ctx);

    if (index == UINT32_MAX) {
        return NULL;
    }
    if (index == ctx->rank || ctx->peers[index] != NULL) {
        ctx->stats[AM_STAT_RX_BAD_CONNECTION]++;
        return NULL;
    }
    peer = am_peer_new(ctx, index);
    if (peer != NULL) {
        peer_bind(peer, ep);
    }
    return peer;
}

void am_peer_free(struct am_ctx *ctx, struct am_peer *peer)
{
    for (uint32_t m = 0; am_modules[m] != NULL; m++) {
        if (am_modules[m]->peer_close != NULL) {
            am_modules[m]->peer_close(ctx, peer);
        }
    }
    if (peer->ep != NULL) {
        peer->dev->ops->disconnect(peer->ep);
    }
    ctx->peers[peer->index] = NULL;
    free(peer->blob);
    free(peer->death);
    free(peer);
}

void am_peers_close(struct am_ctx *ctx)
{
    for (uint32_t i = 0; ctx->peers != NULL && i < ctx->peer_count; i++) {
        if (ctx->peers[i] != NULL) {
            am_peer_free(ctx, ctx->peers[i]);
        }
    }
    free(ctx->peers);
}
