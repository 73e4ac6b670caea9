/*
 * What arrives for clients: offered to the reception callback, landed at once
 * or when the client supplies a buffer.
 */
#include "config.h"

#include "am/client.h"
#include "base/copy.h"

#include <stdlib.h>
#include <string.h>

static void recv_end(struct am_recv *recv, am_status_t status)
{
    struct am_ctx *ctx = recv->ctx;
    am_done_fn done = recv->done;
    void *arg = recv->arg;

    if (recv->copy != NULL) {
        am_list_remove(&recv->link);
        free(recv->copy);
    }
    recv->peer->landing--;
    am_pool_put(ctx->send_pool, recv);
    if (done != NULL) {
        done(arg, status);
    }
}

/* A long send is over here, whether it was fetched or not: its sender may
 * reuse the data, and learns how it ended. */
static void fin_send(struct am_peer *peer, uint64_t sender, am_status_t status)
{
    uint64_t words[FIN_WORDS] = {sender, (uint64_t)(int64_t)status};

    (void)am_ctx_request(peer->ctx, peer->index, AM_H_SEND_FIN, words,
                         FIN_WORDS, NULL, 0);
}

static void long_end(void *arg, am_status_t status)
{
    struct am_recv *recv = arg;

    fin_send(recv->peer, recv->sender, status);
    recv_end(recv, status);
}

/* The buffer is known: copy, or fetch. */
static void recv_land(struct am_recv *recv, const struct am_data *landing,
                      const void *payload)
{
    if (!recv->is_long) {
        am_data_write(landing, 0, payload, recv->bytes, false);
        recv_end(recv, AM_OK);
        return;
    }
    am_bulk_get(&recv->bulk, recv->peer,
                &(struct am_transfer){.local = landing,
                                      .key = &recv->key,
                                      .bytes = recv->bytes,
                                      .done = long_end,
                                      .arg = recv});
}

/* Keep it until its client supplies a buffer; a short payload is copied. */
static void recv_defer(struct am_recv *recv, const void *payload)
{
    recv->deferred = true;
    if (!recv->is_long && recv->bytes > 0) {
        recv->copy = malloc(recv->bytes);
        if (recv->copy != NULL) {
            am_copy(recv->copy, payload, recv->bytes);
            am_list_push(&recv->ctx->deferred, &recv->link);
        }
    }
}

/* Offer an arrival to its client. */
static void recv_offer(struct am_recv *recv, struct am_client *client,
                       const void *info, size_t info_bytes, const void *payload)
{
    struct am_data landing = {.kind = AM_DATA_CONTIG};
    am_status_t status;

    recv->payload = payload;
    status = client->receive(client->arg, recv, recv->peer->index, info,
                             info_bytes, recv->bytes, &landing, &recv->done,
                             &recv->arg);
    recv->payload = NULL;
    if (status == AM_DONE && !recv->is_long) { /* the client has used it */
        recv->done = NULL;
        recv_end(recv, AM_OK);
        return;
    }
    if (status == AM_OK && landing.bytes >= recv->bytes) {
        recv_land(recv, &landing, payload);
        return;
    }
    if (status == AM_ERR_AGAIN) {
        recv_defer(recv, payload);
        return;
    }
    /* too small a buffer, no payload to be done with, or refused */
    status = status == AM_OK     ? AM_ERR_TRUNCATE
             : status == AM_DONE ? AM_ERR_INVALID
                                 : status;
    if (recv->is_long) {
        long_end(recv, status);
    } else {
        recv_end(recv, status);
    }
}

const void *am_recv_payload(const struct am_recv *recv)
{
    return recv->payload;
}

am_status_t am_recv_supply(struct am_recv *recv, const struct am_data *landing,
                           am_done_fn done, void *arg)
{
    am_status_t status = am_owned(recv->ctx);

    if (status != AM_OK) {
        return status;
    }
    if (!recv->deferred) {
        return AM_ERR_INVALID;
    }
    recv->done = done;
    recv->arg = arg;
    if (landing->bytes < recv->bytes) {
        return AM_ERR_TRUNCATE;
    }
    if (!recv->is_long && recv->bytes > 0 && recv->copy == NULL) {
        recv_end(recv, AM_ERR_MEMORY);
        return AM_OK;
    }
    recv->deferred = false;
    recv_land(recv, landing, recv->copy);
    return AM_OK;
}

/* A send is for a client that nobody registered: say so, once for each peer. */
static void client_missing(struct am_peer *peer, uint32_t id)
{
    struct am_ctx *ctx = peer->ctx;

    if (!peer->client_said) {
        peer->client_said = true;
        am_log(&ctx->log, AM_LOG_WARN,
               "a send from %s %u is lost: it is for client %u, which is not "
               "registered (others are counted as rx_bad_packet)",
               peer->index < ctx->size ? "rank" : "late peer", peer->index, id);
    }
}

/* Check what a send names, and how long it is.  AM_ERR_INVALID is counted as
 * bad; AM_ERR_MEMORY. */
static am_status_t recv_new(struct am_token *token, uint64_t client_word,
                            size_t payload_bytes, uint64_t bytes,
                            struct am_client **client_p,
                            struct am_recv **recv_p)
{
    struct am_ctx *ctx = token->ctx;
    uint32_t id = (uint32_t)client_word;
    size_t info_bytes = client_word >> 32;
    struct am_recv *recv;

    if (id >= ctx->client_count || info_bytes > AM_INFO_BYTES_MAX ||
        info_bytes > payload_bytes || bytes > PTRDIFF_MAX) {
        ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        if (id >= ctx->client_count) {
            client_missing(token->peer, id);
        }
        return AM_ERR_INVALID;
    }
    recv = am_pool_get(ctx->send_pool);
    if (recv == NULL) {
        am_log(&ctx->log, AM_LOG_ERROR, "out of memory: a send is lost");
        return AM_ERR_MEMORY;
    }
    memset(recv, 0, sizeof(*recv));
    recv->ctx = ctx;
    recv->peer = token->peer;
    recv->peer->landing++;
    recv->bytes = bytes;
    *client_p = ctx->clients[id];
    *recv_p = recv;
    return AM_OK;
}

static void handle_send(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    struct am_client *client;
    struct am_recv *recv;
    uint64_t client_word;
    size_t info_bytes;

    if (!am_token_has(token, word_count, SEND_WORDS)) {
        return;
    }
    client_word = am_word(words, SEND_CLIENT);
    info_bytes = client_word >> 32;
    if (am_word(words, SEND_BYTES) != bytes - info_bytes) {
        token->ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        return;
    }
    if (recv_new(token, client_word, bytes, bytes - info_bytes, &client,
                 &recv) == AM_OK) {
        recv_offer(recv, client, data, info_bytes,
                   (const char *)data + info_bytes);
    }
}

static void handle_rts(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_client *client;
    struct am_recv *recv;
    uint64_t client_word;
    am_status_t status;

    if (!am_token_has(token, word_count, RTS_WORDS)) {
        return;
    }
    client_word = am_word(words, RTS_CLIENT);
    status = recv_new(token, client_word, bytes, am_word(words, RTS_BYTES),
                      &client, &recv);
    if (status != AM_OK) {
        fin_send(token->peer, am_word(words, RTS_HANDLE), status);
        return;
    }
    recv->is_long = true;
    recv->sender = am_word(words, RTS_HANDLE);
    for (uint32_t i = 0; i < 4; i++) {
        recv->key.w[i] = am_word(words, RTS_KEY + i);
    }
    recv_offer(recv, client, data, client_word >> 32, NULL);
}

static void handle_fin(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_ctx *ctx = token->ctx;
    struct am_send *send;
    int64_t status;

    if (!am_token_has(token, word_count, FIN_WORDS)) {
        return;
    }
    send = am_handle_find(ctx, am_word(words, FIN_HANDLE), AM_HANDLE_SEND);
    status = (int64_t)am_word(words, FIN_STATUS);
    if (send == NULL) {
        return;
    }
    if (!am_op_is_out(&send->op, token->peer)) {
        ctx->stats[AM_STAT_RX_BAD_HANDLE]++;
        return;
    }
    if (status > AM_OK || status < AM_ERR_CANCELLED) {
        ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        status = AM_ERR_INVALID;
    }
    am_send_end(send, (am_status_t)status);
}

void am_client_init(struct am_ctx *ctx)
{
    am_handler_set(ctx, AM_H_SEND, handle_send, NULL, "send");
    am_handler_set(ctx, AM_H_SEND_RTS, handle_rts, NULL, "send_rts");
    am_handler_set(ctx, AM_H_SEND_FIN, handle_fin, NULL, "send_fin");
}
