/*
 * Clients and their sends, after DCMF: the first packet of a send brings
 * metadata and size to the client's reception callback, which names the buffer
 * or defers.
 *
 *   short:  SEND(client, info, data) -->
 *   long:   RTS(client, info, region of the data) -->
 *           <-- get of the data, when the buffer is known
 *           FIN <--
 *
 * Ordered sends to a peer start in the order made, so their callbacks run in
 * that order.  Unordered ones neither wait for ordered ones nor hold them up.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdlib.h>
#include <string.h>

struct am_client {
    struct am_ctx *ctx;
    uint32_t id;
    am_order_t order;
    am_receive_fn receive;
    void *arg;
};

struct send {
    struct am_op op;
    struct am_client *client;
    struct am_data data;
    struct am_region region; /* long */
    uint64_t handle;
    am_done_fn done;
    void *arg;
    uint32_t info_bytes;
    char info[AM_INFO_BYTES_MAX];
};

struct am_recv {
    struct am_ctx *ctx;
    struct am_peer *peer;
    size_t bytes;
    bool is_long;
    bool deferred;
    char *copy;       /* short and deferred: the payload */
    struct am_key key;
    uint64_t sender;  /* long: the sender's handle */
    struct am_bulk bulk;
    am_done_fn done;
    void *arg;
};

AM_STATIC_ASSERT(sizeof(struct send) <= AM_SEND_BYTES, "fits its pool");
AM_STATIC_ASSERT(sizeof(struct am_recv) <= AM_SEND_BYTES, "fits its pool");

enum { SEND_CLIENT, SEND_BYTES, SEND_WORDS };
enum { RTS_CLIENT, RTS_BYTES, RTS_HANDLE, RTS_KEY, RTS_WORDS = RTS_KEY + 4 };

am_status_t am_client_register(struct am_ctx *ctx, am_order_t order,
                               am_receive_fn receive, void *arg,
                               struct am_client **client_p)
{
    struct am_client **clients =
            realloc(ctx->clients, (ctx->client_count + 1) * sizeof(*clients));
    struct am_client *client = calloc(1, sizeof(*client));

    if (clients != NULL) {
        ctx->clients = clients;
    }
    if (clients == NULL || client == NULL) {
        free(client);
        return AM_ERR_MEMORY;
    }
    *client = (struct am_client){ctx, ctx->client_count, order, receive, arg};
    clients[ctx->client_count++] = client;
    *client_p = client;
    return AM_OK;
}

/* ---------------------------------------------------------------- sending */

static void send_end(struct send *send, am_status_t status)
{
    struct am_ctx *ctx = send->client->ctx;
    am_done_fn done = send->done;
    void *arg = send->arg;

    am_region_close(&send->region);
    if (send->handle != 0) {
        am_handle_free(ctx, send->handle);
    }
    am_pool_put(ctx->send_pool, send);
    if (done != NULL) {
        done(arg, status);
    }
}

void am_send_fail(struct am_ctx *ctx, void *object, struct am_peer *peer)
{
    struct send *send = object;

    if (send->op.peer == peer) {
        am_op_cancel(&send->op);
        send_end(send, AM_ERR_PEER);
    }
}

static void fill_short(void *arg, void *to, size_t bytes)
{
    struct send *send = arg;

    memcpy(to, send->info, send->info_bytes);
    am_data_read(&send->data, 0, (char *) to + send->info_bytes,
                 send->data.bytes);
}

static am_status_t short_run(struct am_op *op)
{
    struct send *send = am_container(op, struct send, op);
    uint64_t words[SEND_WORDS] = {
            send->client->id | (uint64_t) send->info_bytes << 32,
            send->data.bytes};
    am_status_t status =
            am_op_send_fill(op, AM_H_SEND, 0, words, SEND_WORDS, fill_short,
                            send, send->info_bytes + send->data.bytes);

    if (status != AM_ERR_AGAIN) {
        send_end(send, status);
        return AM_OK;
    }
    return status;
}

static am_status_t rts_run(struct am_op *op)
{
    struct send *send = am_container(op, struct send, op);
    struct am_key key;
    uint64_t words[RTS_WORDS] = {
            send->client->id | (uint64_t) send->info_bytes << 32,
            send->data.bytes, send->handle};
    am_status_t status;

    am_region_key_for(&send->region, op->peer, &key);
    memcpy(words + RTS_KEY, key.w, sizeof(key.w));
    status = am_op_send(op, AM_H_SEND_RTS, 0, words, RTS_WORDS, send->info,
                        send->info_bytes);
    if (status != AM_OK && status != AM_ERR_AGAIN) {
        send_end(send, status);
        return AM_OK;
    }
    return status;
}

static am_status_t send_prepare_long(struct send *send)
{
    struct am_ctx *ctx = send->client->ctx;
    am_status_t status = am_region_open(ctx, &send->region, &send->data);

    if (status == AM_OK) {
        send->handle = am_handle_new(ctx, AM_HANDLE_SEND, send);
        status = send->handle == 0 ? AM_ERR_MEMORY : AM_OK;
    }
    return status;
}

am_status_t am_send(struct am_client *client, uint32_t dest, const void *info,
                    size_t info_bytes, const struct am_data *data,
                    am_done_fn done, void *arg)
{
    struct am_ctx *ctx = client->ctx;
    am_op_run_fn run = short_run;
    am_op_kind_t kind =
            client->order == AM_ORDERED ? AM_OP_ORDERED : AM_OP_BULK;
    am_status_t status;
    struct am_peer *peer = am_peer_get(ctx, dest, &status);
    struct send *send;

    if (info_bytes > AM_INFO_BYTES_MAX) {
        return AM_ERR_INVALID;
    }
    if (peer == NULL) {
        return status;
    }
    send = am_pool_get(ctx->send_pool);
    if (send == NULL) {
        return AM_ERR_MEMORY;
    }
    *send = (struct send){.client = client,
                          .data = *data,
                          .done = done,
                          .arg = arg,
                          .info_bytes = (uint32_t) info_bytes};
    if (info_bytes > 0) {
        memcpy(send->info, info, info_bytes);
    }
    send->op.peer = peer;
    if (info_bytes + data->bytes > am_peer_payload_max(peer, RTS_WORDS)) {
        run = rts_run;
        status = send_prepare_long(send);
        if (status != AM_OK) {
            send->done = NULL;
            send_end(send, status);
            return status;
        }
    }
    if ((kind == AM_OP_ORDERED && peer->ordered_count > 0)
        || run(&send->op) == AM_ERR_AGAIN) {
        am_op_queue(&send->op, peer, run, kind);
    }
    return AM_OK;
}

/* Many sends, one completion. */
struct many {
    uint32_t left;
    am_status_t status;
    am_done_fn done;
    void *arg;
};

static void many_done(void *arg, am_status_t status)
{
    struct many *many = arg;

    if (status != AM_OK) {
        many->status = status;
    }
    if (--many->left == 0) {
        if (many->done != NULL) {
            many->done(many->arg, many->status);
        }
        free(many);
    }
}

static struct many *many_new(am_done_fn done, void *arg)
{
    struct many *many = malloc(sizeof(*many));

    if (many != NULL) {
        *many = (struct many){1, AM_OK, done, arg};
    }
    return many;
}

static void many_add(struct many *many, struct am_client *client, uint32_t dest,
                     const void *info, size_t info_bytes,
                     const struct am_data *data)
{
    am_status_t status;

    many->left++;
    status = am_send(client, dest, info, info_bytes, data, many_done, many);
    if (status != AM_OK) {
        many->status = status;
        many->left--; /* the caller's own count keeps it above 0 */
    }
}

am_status_t am_multicast(struct am_client *client, const uint32_t *dests,
                         uint32_t dest_count, const void *info,
                         size_t info_bytes, const struct am_data *data,
                         am_done_fn done, void *arg)
{
    struct many *many = many_new(done, arg);

    if (many == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < dest_count; i++) {
        many_add(many, client, dests[i], info, info_bytes, data);
    }
    many_done(many, AM_OK);
    return AM_OK;
}

am_status_t am_many_to_many(struct am_client *client, const struct am_many *to,
                            uint32_t to_count, const void *info,
                            size_t info_bytes, am_done_fn done, void *arg)
{
    struct many *many = many_new(done, arg);

    if (many == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t i = 0; i < to_count; i++) {
        many_add(many, client, to[i].dest, info, info_bytes, &to[i].data);
    }
    many_done(many, AM_OK);
    return AM_OK;
}

/* -------------------------------------------------------------- receiving */

static void recv_end(struct am_recv *recv, am_status_t status)
{
    struct am_ctx *ctx = recv->ctx;
    am_done_fn done = recv->done;
    void *arg = recv->arg;

    free(recv->copy);
    am_pool_put(ctx->send_pool, recv);
    if (done != NULL) {
        done(arg, status);
    }
}

static void got_long(void *arg, am_status_t status)
{
    struct am_recv *recv = arg;

    (void) am_ctx_request(recv->ctx, recv->peer->index, AM_H_SEND_FIN,
                          &recv->sender, 1, NULL, 0);
    recv_end(recv, status);
}

/* The buffer is known: copy, or fetch. */
static void recv_land(struct am_recv *recv, const struct am_data *landing,
                      const void *payload)
{
    if (!recv->is_long) {
        am_data_write(landing, 0, payload, recv->bytes);
        recv_end(recv, AM_OK);
        return;
    }
    am_bulk_get(&recv->bulk, recv->peer, landing, &recv->key, 0, recv->bytes,
                got_long, recv);
}

/* Offer an arrival to its client. */
static void recv_offer(struct am_recv *recv, struct am_client *client,
                       const void *info, size_t info_bytes,
                       const void *payload)
{
    struct am_data landing = {.kind = AM_DATA_CONTIG};
    am_status_t status =
            client->receive(client->arg, recv, recv->peer->index, info,
                            info_bytes, recv->bytes, &landing, &recv->done,
                            &recv->arg);

    if (status == AM_OK && landing.bytes >= recv->bytes) {
        recv_land(recv, &landing, payload);
        return;
    }
    if (status == AM_OK) { /* too small a buffer: the client's mistake */
        recv_end(recv, AM_ERR_TRUNCATE);
        return;
    }
    recv->deferred = true;
    if (!recv->is_long && recv->bytes > 0) {
        recv->copy = malloc(recv->bytes);
        if (recv->copy != NULL) {
            memcpy(recv->copy, payload, recv->bytes);
        }
    }
}

am_status_t am_recv_supply(struct am_recv *recv, const struct am_data *landing,
                           am_done_fn done, void *arg)
{
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

/* Check what a send names; NULL is counted as bad. */
static struct am_recv *recv_new(struct am_token *token, uint64_t client_word,
                                size_t payload_bytes,
                                struct am_client **client_p)
{
    struct am_ctx *ctx = token->ctx;
    uint32_t id = (uint32_t) client_word;
    size_t info_bytes = client_word >> 32;
    struct am_recv *recv;

    if (id >= ctx->client_count || info_bytes > AM_INFO_BYTES_MAX
        || info_bytes > payload_bytes) {
        ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        return NULL;
    }
    recv = am_pool_get(ctx->send_pool);
    if (recv == NULL) {
        am_log(&ctx->log, AM_LOG_ERROR, "out of memory: a send is lost");
        return NULL;
    }
    memset(recv, 0, sizeof(*recv));
    recv->ctx = ctx;
    recv->peer = token->peer;
    *client_p = ctx->clients[id];
    return recv;
}

static void handle_send(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    uint64_t client_word = word_count == SEND_WORDS ? words[SEND_CLIENT]
                                                    : UINT64_MAX;
    struct am_client *client;
    struct am_recv *recv = recv_new(token, client_word, bytes, &client);
    size_t info_bytes = client_word >> 32;

    if (recv != NULL) {
        recv->bytes = bytes - info_bytes;
        recv_offer(recv, client, data, info_bytes,
                   (const char *) data + info_bytes);
    }
}

static void handle_rts(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    uint64_t client_word = word_count == RTS_WORDS ? words[RTS_CLIENT]
                                                   : UINT64_MAX;
    struct am_client *client;
    struct am_recv *recv = recv_new(token, client_word, bytes, &client);

    if (recv != NULL) {
        recv->is_long = true;
        recv->bytes = words[RTS_BYTES];
        recv->sender = words[RTS_HANDLE];
        memcpy(recv->key.w, words + RTS_KEY, sizeof(recv->key.w));
        recv_offer(recv, client, data, client_word >> 32, NULL);
    }
}

static void handle_fin(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct send *send =
            word_count != 1 ? NULL
                            : am_handle_find(token->ctx, words[0],
                                             AM_HANDLE_SEND);

    if (send != NULL && send->op.peer == token->peer) {
        send_end(send, AM_OK);
    }
}

void am_client_init(struct am_ctx *ctx)
{
    am_handler_set(ctx, AM_H_SEND, handle_send, NULL, "send");
    am_handler_set(ctx, AM_H_SEND_RTS, handle_rts, NULL, "send_rts");
    am_handler_set(ctx, AM_H_SEND_FIN, handle_fin, NULL, "send_fin");
}

void am_client_fini(struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->client_count; i++) {
        free(ctx->clients[i]);
    }
    free(ctx->clients);
}
