/*
 * Clients and their sends, after DCMF: the first packet of a send brings
 * metadata and size to the client's reception callback, which names the buffer
 * or defers.
 *
 *   short:  SEND(client, info, data) -->
 *   long:   RTS(client, info, region of the data) -->
 *           <-- get of the data, when the buffer is known
 *           FIN(how it ended) <--
 *
 * Ordered sends to a peer start in the order made, so their callbacks run in
 * that order.  Unordered ones neither wait for ordered ones nor hold them up.
 */
#include "config.h"

#include "am/client.h"

#include <stdlib.h>
#include <string.h>

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

void am_send_end(struct am_send *send, am_status_t status)
{
    struct am_ctx *ctx = send->client->ctx;
    am_done_fn done = send->done;
    void *arg = send->arg;

    if (status == AM_OK) {
        am_region_close(&send->region);
    } else {
        am_region_withdraw(&send->region, status);
    }
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
    struct am_send *send = object;

    if (send->op.peer == peer) {
        am_op_cancel(&send->op);
        am_send_end(send, AM_ERR_PEER);
    }
}

static void fill_short(void *arg, void *to, size_t bytes)
{
    struct am_send *send = arg;

    memcpy(to, send->info, send->info_bytes);
    am_data_read(&send->data, 0, (char *)to + send->info_bytes,
                 send->data.bytes);
}

static am_turn_t short_run(struct am_op *op)
{
    struct am_send *send = am_container(op, struct am_send, op);
    uint64_t words[SEND_WORDS] = {send->client->id | (uint64_t)send->info_bytes
                                                             << 32,
                                  send->data.bytes};
    am_status_t status =
            am_op_send_fill(op, AM_H_SEND, 0, words, SEND_WORDS, fill_short,
                            send, send->info_bytes + send->data.bytes);

    if (status != AM_ERR_AGAIN) {
        am_send_end(send, status);
    }
    return am_turn_of(status);
}

static am_turn_t rts_run(struct am_op *op)
{
    struct am_send *send = am_container(op, struct am_send, op);
    struct am_key key;
    uint64_t words[RTS_WORDS] = {send->client->id | (uint64_t)send->info_bytes
                                                            << 32,
                                 send->data.bytes, send->handle};
    am_status_t status;

    am_region_key_for(&send->region, op->peer, &key);
    memcpy(words + RTS_KEY, key.w, sizeof(key.w));
    status = am_op_send(op, AM_H_SEND_RTS, 0, words, RTS_WORDS, send->info,
                        send->info_bytes);
    if (status != AM_OK && status != AM_ERR_AGAIN) {
        am_send_end(send, status);
    }
    return am_turn_of(status);
}

static am_status_t send_prepare_long(struct am_send *send)
{
    struct am_ctx *ctx = send->client->ctx;
    am_status_t status = am_region_open(ctx, &send->region, &send->data,
                                        AM_DEV_CAP_GET, send->op.peer);

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
    struct am_send *send;

    if (info_bytes > AM_INFO_BYTES_MAX || data->bytes > PTRDIFF_MAX) {
        return AM_ERR_INVALID;
    }
    if (peer == NULL) {
        return status;
    }
    send = am_pool_get(ctx->send_pool);
    if (send == NULL) {
        return AM_ERR_MEMORY;
    }
    *send = (struct am_send){.client = client,
                             .data = *data,
                             .done = done,
                             .arg = arg,
                             .info_bytes = (uint32_t)info_bytes};
    if (info_bytes > 0) {
        memcpy(send->info, info, info_bytes);
    }
    send->op.peer = peer;
    if (info_bytes + data->bytes > am_peer_payload_max(peer, RTS_WORDS)) {
        run = rts_run;
        status = send_prepare_long(send);
        if (status != AM_OK) {
            send->done = NULL;
            am_send_end(send, status);
            return status;
        }
    }
    if ((kind == AM_OP_ORDERED && peer->ordered_count > 0) ||
        run(&send->op) == AM_TURN_NO_SPACE) {
        am_op_queue(&send->op, peer, run, kind);
    }
    return AM_OK;
}

/* Many sends, one completion. */
struct many {
    struct am_list link; /* on ctx->manys */
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
        am_list_remove(&many->link);
        if (many->done != NULL) {
            many->done(many->arg, many->status);
        }
        free(many);
    }
}

static am_status_t many_new(struct am_ctx *ctx, am_done_fn done, void *arg,
                            struct many **many_p)
{
    am_status_t status = am_owned(ctx);
    struct many *many;

    if (status != AM_OK) {
        return status;
    }
    many = malloc(sizeof(*many));
    if (many == NULL) {
        return AM_ERR_MEMORY;
    }
    *many = (struct many){
            .left = 1, .status = AM_OK, .done = done, .arg = arg};
    am_list_push(&ctx->manys, &many->link);
    *many_p = many;
    return AM_OK;
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
    struct many *many;
    am_status_t status = many_new(client->ctx, done, arg, &many);

    if (status != AM_OK) {
        return status;
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
    struct many *many;
    am_status_t status = many_new(client->ctx, done, arg, &many);

    if (status != AM_OK) {
        return status;
    }
    for (uint32_t i = 0; i < to_count; i++) {
        many_add(many, client, to[i].dest, info, info_bytes, &to[i].data);
    }
    many_done(many, AM_OK);
    return AM_OK;
}

void am_client_fini(struct am_ctx *ctx)
{
    struct am_list *at;

    while ((at = am_list_pop(&ctx->manys)) != NULL) {
        free(am_container(at, struct many, link));
    }
    while ((at = am_list_pop(&ctx->deferred)) != NULL) {
        free(am_container(at, struct am_recv, link)->copy);
    }
    for (uint32_t i = 0; i < ctx->client_count; i++) {
        free(ctx->clients[i]);
    }
    free(ctx->clients);
}
