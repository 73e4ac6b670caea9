/*
 * Requests: the public calls, and the queues of work that waits for space.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdlib.h>
#include <string.h>

/* A request that a handler issued when there was no space. */
struct queued_request {
    struct am_op op; /* first: ops_drop frees it */
    uint32_t handler, word_count;
    uint64_t words[AM_WORDS_MAX];
    size_t bytes;
    char data[];
};

static am_turn_t queued_run(struct am_op *op)
{
    struct queued_request *queued = am_container(op, struct queued_request, op);
    struct am_peer *peer = op->peer;
    am_status_t status =
            am_op_send(op, queued->handler, 0, queued->words,
                       queued->word_count, queued->data, queued->bytes);

    if (status != AM_ERR_AGAIN) {
        peer->queued_count--;
        free(queued);
    }
    return am_turn_of(status);
}

/* Of what waits, am's own requests are in no pool. */
static void ops_drop(struct am_list *ops)
{
    struct am_list *at;

    while ((at = am_list_pop(ops)) != NULL) {
        struct am_op *op = am_container(at, struct am_op, link);

        op->queued = false;
        if (op->run == queued_run || am_op_is_hello(op)) {
            free(op);
        }
    }
}

void am_peers_drop_ops(struct am_ctx *ctx)
{
    for (uint32_t i = 0; ctx->peers != NULL && i < ctx->peer_count; i++) {
        if (ctx->peers[i] != NULL) {
            ops_drop(&ctx->peers[i]->ordered);
            ops_drop(&ctx->peers[i]->bulk);
            ctx->peers[i]->ordered_count = 0;
        }
    }
}

/* Answers of am's own that may wait for a peer.  It waits for no more of them, as what it
 * asks with is of two pools. */
#define ANSWERS_MAX (2 * AM_OPS_MAX)

/* Is there room for one more?  A peer waits for am's own answers, so none that it may
 * need is dropped; but one that asks on and on and reads nothing shall not fill the
 * memory. */
static bool queue_has_room(struct am_peer *peer, uint32_t handler)
{
    if (handler >= AM_HANDLER_USER) {
        return peer->queued_count < AM_QUEUE_MAX;
    }
    if (peer->queued_count < AM_QUEUE_MAX + ANSWERS_MAX) {
        return true;
    }
    peer->ctx->stats[AM_STAT_RX_BAD_PACKET]++;
    return false;
}

/* Off the fast path: a handler may neither wait nor fail for lack of space. */
__attribute__((noinline)) am_status_t
am_request_queue(struct am_peer *peer, uint32_t handler, const uint64_t *words,
                 uint32_t word_count, const void *data, size_t bytes)
{
    struct am_ctx *ctx = peer->ctx;
    struct queued_request *queued;

    if (bytes > am_peer_payload_max(peer, word_count)) {
        return AM_ERR_INVALID; /* as the device says when there is space */
    }
    if (!queue_has_room(peer, handler)) {
        return AM_ERR_MEMORY;
    }
    queued = malloc(sizeof(*queued) + bytes);
    if (queued == NULL) {
        if (handler < AM_HANDLER_USER) {
            am_log(&ctx->log, AM_LOG_ERROR,
                   "out of memory: an answer to peer %u is lost", peer->index);
        }
        return AM_ERR_MEMORY;
    }
    queued->op.queued = false;
    queued->handler = handler;
    queued->word_count = word_count;
    queued->bytes = bytes;
    if (word_count > 0) {
        memcpy(queued->words, words, word_count * sizeof(*words));
    }
    if (bytes > 0) {
        memcpy(queued->data, data, bytes);
    }
    peer->queued_count++;
    ctx->stats[AM_STAT_QUEUED]++;
    am_op_queue(&queued->op, peer, queued_run, AM_OP_ORDERED);
    return AM_OK;
}

static __attribute__((noinline)) am_status_t
request_wait(struct am_peer *peer, uint32_t handler, const uint64_t *words,
             uint32_t word_count, const void *data, size_t bytes)
{
    struct am_ctx *ctx = peer->ctx;
    am_status_t status;
    bool died = false; /* somebody, as a poll said */

    if (ctx->polling) {
        return am_request_queue(peer, handler, words, word_count, data, bytes);
    }
    peer->pins++; /* it may be a late one, which a poll lets go of */
    do {
        died = am_poll_blocked(ctx, true) == AM_ERR_PEER || died;
        status = am_peer_send(peer, handler, 0, words, word_count, data, bytes);
    } while (status == AM_ERR_AGAIN);
    peer->pins--;
    if (died) {
        am_poll_owe(ctx);
    }
    return status;
}

static inline struct am_peer *request_peer(struct am_ctx *ctx, uint32_t dest,
                                           uint32_t handler,
                                           uint32_t word_count,
                                           am_status_t *status_p)
{
    if (am_unlikely(handler >= AM_HANDLERS_MAX || word_count > AM_WORDS_MAX)) {
        *status_p = AM_ERR_INVALID;
        return NULL;
    }
    if (am_likely(dest < ctx->peer_count && ctx->peers[dest] != NULL)) {
        return ctx->peers[dest];
    }
    return am_peer_get(ctx, dest, status_p);
}

am_status_t am_ctx_try_request(struct am_ctx *ctx, uint32_t dest,
                               uint32_t handler, const uint64_t *words,
                               uint32_t word_count, const void *data,
                               size_t bytes)
{
    am_status_t status;
    struct am_peer *peer =
            request_peer(ctx, dest, handler, word_count, &status);

    if (am_unlikely(peer == NULL)) {
        return status;
    }
    status = am_peer_send(peer, handler, 0, words, word_count, data, bytes);
    ctx->stats[AM_STAT_TX_REQUESTS] += status == AM_OK;
    return status;
}

am_status_t am_ctx_request(struct am_ctx *ctx, uint32_t dest, uint32_t handler,
                           const uint64_t *words, uint32_t word_count,
                           const void *data, size_t bytes)
{
    am_status_t status;
    struct am_peer *peer =
            request_peer(ctx, dest, handler, word_count, &status);

    if (am_unlikely(peer == NULL)) {
        return status;
    }
    status = am_peer_send(peer, handler, 0, words, word_count, data, bytes);
    if (am_unlikely(status == AM_ERR_AGAIN)) {
        status = request_wait(peer, handler, words, word_count, data, bytes);
    }
    if (am_unlikely(status != AM_OK)) {
        return status;
    }
    ctx->stats[AM_STAT_TX_REQUESTS]++;
    if (!ctx->polling && am_unlikely(am_ctx_poll(ctx) == AM_ERR_PEER)) {
        am_poll_owe(ctx);
    }
    return AM_OK;
}

size_t am_dev_payload_max(const struct am_dev *dev, uint32_t word_count)
{
    return dev->attr.packet_bytes_max - sizeof(struct am_hdr) -
           word_count * sizeof(uint64_t);
}

size_t am_peer_payload_max(const struct am_peer *peer, uint32_t word_count)
{
    return am_dev_payload_max(peer->dev, word_count);
}

size_t am_payload_max(struct am_ctx *ctx, uint32_t dest)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(ctx, dest, &status);

    return peer == NULL ? 0 : am_peer_payload_max(peer, AM_WORDS_MAX);
}

void am_peer_charge(struct am_peer *peer, uint32_t word_count)
{
    if (!peer->paid) {
        am_env_charge(peer->ctx->env, AM_COST_SEND, word_count);
    }
}

/* What every message to a peer goes through on a simulated host. */
am_status_t am_peer_send_charged(struct am_dev_ep *ep, uint32_t class,
                                 uint64_t first, const uint64_t *words,
                                 const void *data, size_t data_bytes)
{
    struct am_peer *peer = ep->user;
    am_status_t status;

    am_peer_charge(peer, am_dev_word_count(first));
    status =
            ep->dev->ops->send_words(ep, class, first, words, data, data_bytes);
    peer->paid = status == AM_ERR_AGAIN;
    return status;
}

static am_status_t send_fill(struct am_peer *peer, uint32_t handler,
                             uint32_t aux, const uint64_t *words,
                             uint32_t word_count, am_dev_fill_fn fill,
                             void *arg, size_t bytes)
{
    struct am_packet_hdr packet;
    size_t hdr_bytes = am_hdr_fill(&packet, handler, aux, words, word_count);
    am_status_t status;

    am_peer_charge(peer, word_count);
    status = peer->dev->ops->send_fill(peer->ep, AM_DEV_REQUEST, &packet,
                                       hdr_bytes, fill, arg, bytes);
    peer->paid = status == AM_ERR_AGAIN;
    return status;
}

am_status_t am_peer_send_fill(struct am_peer *peer, uint32_t handler,
                              uint32_t aux, const uint64_t *words,
                              uint32_t word_count, am_dev_fill_fn fill,
                              void *arg, size_t bytes)
{
    if (peer->ordered_count != 0) {
        return peer->dead ? AM_ERR_PEER : AM_ERR_AGAIN;
    }
    return send_fill(peer, handler, aux, words, word_count, fill, arg, bytes);
}

am_status_t am_op_send(struct am_op *op, uint32_t handler, uint32_t aux,
                       const uint64_t *words, uint32_t word_count,
                       const void *data, size_t bytes)
{
    struct am_peer *peer = op->peer;

    return peer->send(peer->ep, AM_DEV_REQUEST,
                      am_hdr_bits(handler, aux, word_count), words, data,
                      bytes);
}

am_status_t am_op_send_fill(struct am_op *op, uint32_t handler, uint32_t aux,
                            const uint64_t *words, uint32_t word_count,
                            am_dev_fill_fn fill, void *arg, size_t bytes)
{
    return op->peer->dead ? AM_ERR_PEER
                          : send_fill(op->peer, handler, aux, words, word_count,
                                      fill, arg, bytes);
}

void am_op_queue(struct am_op *op, struct am_peer *peer, am_op_run_fn run,
                 am_op_kind_t kind)
{
    op->peer = peer;
    op->run = run;
    op->queued = true;
    op->kind = kind;
    am_list_push(kind == AM_OP_ORDERED ? &peer->ordered : &peer->bulk,
                 &op->link);
    peer->ordered_count += kind == AM_OP_ORDERED;
    if (am_list_is_empty(&peer->busy_link)) {
        am_list_push(&peer->ctx->busy, &peer->busy_link);
    }
    peer->ctx->attention = true;
}

void am_op_cancel(struct am_op *op)
{
    if (!op->queued) {
        return;
    }
    op->queued = false;
    am_list_remove(&op->link);
    op->peer->ordered_count -= op->kind == AM_OP_ORDERED;
}
