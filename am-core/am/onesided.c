/*
 * The public one-sided calls: GAM's store and get by address, DCMF's put and
 * get by region, LCI's fetch-and-add.  All are transfers of am/bulk.c.
 */
#include "config.h"

#include "am/ctx.h"
#include "base/pool.h"

#include <stdlib.h>
#include <string.h>

/* A transfer started by a public call, from ctx->one_pool. */
struct onesided {
    struct am_bulk bulk;
    struct am_ctx *ctx;
    am_done_fn done;
    void *arg;
    /* am_get: the local handler at the end */
    uint32_t handler, word_count;
    uint64_t words[AM_WORDS_MAX];
    void *base;
    size_t bytes;
};

struct fetch {
    struct am_op op;
    uint64_t handle;
    uint64_t words[4];
    uint64_t *old_p;
    am_done_fn done;
    void *arg;
};

AM_STATIC_ASSERT(sizeof(struct onesided) <= AM_ONE_BYTES, "fits its pool");
AM_STATIC_ASSERT(sizeof(struct fetch) <= AM_ONE_BYTES, "fits its pool");

static void onesided_done(void *arg, am_status_t status)
{
    struct onesided *one = arg;
    struct am_ctx *ctx = one->ctx;
    am_done_fn done = one->done;
    void *done_arg = one->arg;

    if (one->handler != 0 && status == AM_OK) {
        const struct am_handler *to = &ctx->handlers[one->handler];
        struct am_token token = {.ctx = ctx,
                                 .peer = one->bulk.op.peer,
                                 .arg = to->arg,
                                 .class = AM_DEV_REPLY};

        to->fn(&token, one->words, one->word_count, one->base, one->bytes);
    }
    am_pool_put(ctx->one_pool, one);
    if (done != NULL) {
        done(done_arg, status);
    }
}

static struct onesided *onesided_new(struct am_ctx *ctx, uint32_t dest,
                                     am_done_fn done, void *arg,
                                     struct am_peer **peer_p,
                                     am_status_t *status_p)
{
    struct onesided *one;

    *peer_p = am_peer_get(ctx, dest, status_p);
    if (*peer_p == NULL) {
        return NULL;
    }
    one = am_pool_get(ctx->one_pool);
    if (one == NULL) {
        *status_p = AM_ERR_MEMORY;
        return NULL;
    }
    memset(one, 0, sizeof(*one));
    one->ctx = ctx;
    one->done = done;
    one->arg = arg;
    return one;
}

/* Put `store` to an address: its offset.  Its `local` and `key` are set here, and
 * its `done` and `arg` are the caller's. */
static am_status_t store_start(struct am_ctx *ctx, uint32_t dest,
                               const void *local, struct am_transfer store)
{
    struct am_data data = am_data_contig(local, store.bytes);
    struct am_key key = {{0}}; /* handle 0: the offset is an address */
    struct am_peer *peer;
    struct onesided *one;
    am_status_t status;

    if (store.handler >= AM_HANDLERS_MAX || store.word_count > 4 ||
        (store.handler != 0 && store.handler < AM_HANDLER_USER)) {
        return AM_ERR_INVALID;
    }
    one = onesided_new(ctx, dest, store.done, store.arg, &peer, &status);
    if (one == NULL) {
        return status;
    }
    store.local = &data;
    store.key = &key;
    store.done = onesided_done;
    store.arg = one;
    am_bulk_put(&one->bulk, peer, &store);
    return AM_OK;
}

am_status_t am_ctx_store_async(struct am_ctx *ctx, uint32_t dest,
                               const void *local, void *remote, size_t bytes,
                               uint32_t handler, const uint64_t *words,
                               uint32_t word_count, am_done_fn done, void *arg)
{
    return store_start(ctx, dest, local,
                       (struct am_transfer){.offset = (uintptr_t)remote,
                                            .bytes = bytes,
                                            .done = done,
                                            .arg = arg,
                                            .acknowledged = true,
                                            .handler = handler,
                                            .words = words,
                                            .word_count = word_count});
}

struct outcome {
    bool known;
    am_status_t status;
};

static void outcome_known(void *arg, am_status_t status)
{
    *(struct outcome *)arg = (struct outcome){true, status};
}

am_status_t am_ctx_store(struct am_ctx *ctx, uint32_t dest, const void *local,
                         void *remote, size_t bytes, uint32_t handler,
                         const uint64_t *words, uint32_t word_count)
{
    struct outcome outcome = {0};
    am_status_t status;
    bool died = false; /* somebody, as a poll said */

    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    status = store_start(ctx, dest, local,
                         (struct am_transfer){.offset = (uintptr_t)remote,
                                              .bytes = bytes,
                                              .done = outcome_known,
                                              .arg = &outcome,
                                              .handler = handler,
                                              .words = words,
                                              .word_count = word_count});
    if (status != AM_OK) {
        return status;
    }
    while (!outcome.known) {
        died = am_ctx_poll_wait(ctx) == AM_ERR_PEER || died;
    }
    if (died) {
        am_poll_owe(ctx);
    }
    return outcome.status;
}

am_status_t am_ctx_get(struct am_ctx *ctx, uint32_t dest, const void *remote,
                       void *local, size_t bytes, uint32_t handler,
                       const uint64_t *words, uint32_t word_count)
{
    struct am_data data = am_data_contig(local, bytes);
    struct am_key key = {{0}};
    struct am_peer *peer;
    struct onesided *one;
    am_status_t status;

    if (handler < AM_HANDLER_USER || handler >= AM_HANDLERS_MAX ||
        word_count > AM_WORDS_MAX || ctx->handlers[handler].fn == NULL) {
        return AM_ERR_INVALID;
    }
    one = onesided_new(ctx, dest, NULL, NULL, &peer, &status);
    if (one == NULL) {
        return status;
    }
    one->handler = handler;
    one->word_count = word_count;
    if (word_count > 0) {
        memcpy(one->words, words, word_count * sizeof(*words));
    }
    one->base = local;
    one->bytes = bytes;
    am_bulk_get(&one->bulk, peer,
                &(struct am_transfer){.local = &data,
                                      .key = &key,
                                      .offset = (uintptr_t)remote,
                                      .bytes = bytes,
                                      .done = onesided_done,
                                      .arg = one});
    return AM_OK;
}

static am_status_t region_transfer(struct am_ctx *ctx, bool get, uint32_t dest,
                                   const struct am_data *data,
                                   const struct am_key *key, size_t offset,
                                   am_done_fn done, void *arg)
{
    struct am_peer *peer;
    am_status_t status;
    struct onesided *one = onesided_new(ctx, dest, done, arg, &peer, &status);
    const struct am_transfer transfer = {.local = data,
                                         .key = key,
                                         .offset = offset,
                                         .bytes = data->bytes,
                                         .done = onesided_done,
                                         .arg = one,
                                         .acknowledged = true};

    if (one == NULL) {
        return status;
    }
    (get ? am_bulk_get : am_bulk_put)(&one->bulk, peer, &transfer);
    return AM_OK;
}

am_status_t am_ctx_put(struct am_ctx *ctx, uint32_t dest,
                       const struct am_data *data, const struct am_key *key,
                       size_t offset, am_done_fn done, void *arg)
{
    return region_transfer(ctx, false, dest, data, key, offset, done, arg);
}

am_status_t am_ctx_rget(struct am_ctx *ctx, uint32_t dest,
                        const struct am_data *data, const struct am_key *key,
                        size_t offset, am_done_fn done, void *arg)
{
    return region_transfer(ctx, true, dest, data, key, offset, done, arg);
}

/* --------------------------------------------------------- fetch-and-add */

static void fetch_end(struct am_ctx *ctx, struct fetch *fetch,
                      am_status_t status)
{
    am_done_fn done = fetch->done;
    void *arg = fetch->arg;

    am_handle_free(ctx, fetch->handle);
    am_pool_put(ctx->one_pool, fetch);
    if (done != NULL) {
        done(arg, status);
    }
}

static am_turn_t fetch_run(struct am_op *op)
{
    struct fetch *fetch = am_container(op, struct fetch, op);
    am_status_t status =
            am_op_send(op, AM_H_FETCH_ADD, 0, fetch->words, 4, NULL, 0);

    if (status != AM_OK && status != AM_ERR_AGAIN) {
        fetch_end(op->peer->ctx, fetch, status);
    }
    return am_turn_of(status);
}

am_status_t am_ctx_fetch_add(struct am_ctx *ctx, uint32_t dest,
                             const struct am_key *key, size_t offset,
                             uint64_t value, uint64_t *old_p, am_done_fn done,
                             void *arg)
{
    struct am_peer *peer;
    struct fetch *fetch;
    am_status_t status;

    peer = am_peer_get(ctx, dest, &status);
    if (peer == NULL) {
        return status;
    }
    fetch = am_pool_get(ctx->one_pool);
    if (fetch == NULL) {
        return AM_ERR_MEMORY;
    }
    fetch->handle = am_handle_new(ctx, AM_HANDLE_FETCH, fetch);
    if (fetch->handle == 0) {
        am_pool_put(ctx->one_pool, fetch);
        return AM_ERR_MEMORY;
    }
    fetch->words[0] = key->w[0];
    fetch->words[1] = offset;
    fetch->words[2] = value;
    fetch->words[3] = fetch->handle;
    fetch->old_p = old_p;
    fetch->done = done;
    fetch->arg = arg;
    am_op_queue(&fetch->op, peer, fetch_run, AM_OP_ORDERED);
    if (!ctx->polling && am_ctx_poll(ctx) == AM_ERR_PEER) {
        am_poll_owe(ctx);
    }
    return AM_OK;
}

/* Atomic because a device may add to the same word by itself. */
static void handle_fetch_add(struct am_token *token, const uint64_t *words,
                             uint32_t word_count, void *data, size_t bytes)
{
    uint64_t answer[3] = {0};
    struct am_region *region;
    uint64_t *at = NULL;
    size_t offset;

    if (!am_token_has(token, word_count, 4)) {
        return;
    }
    offset = am_word(words, 1);
    answer[0] = am_word(words, 3);
    region = am_region_find(token->peer, AM_DEV_CAP_PUT | AM_DEV_CAP_GET,
                            am_word(words, 0), &offset, sizeof(uint64_t));
    if (region != NULL) {
        at = am_data_at(&region->data, offset, sizeof(uint64_t));
    }
    if (at != NULL && ((uintptr_t)at & 7) == 0) {
        answer[1] = __atomic_fetch_add(at, am_word(words, 2), __ATOMIC_ACQ_REL);
        answer[2] = 1;
        token->ctx->stats[AM_STAT_FETCH_ADDS]++;
    }
    (void)am_token_reply(token, AM_H_FETCHED, answer, 3, NULL, 0);
}

static void handle_fetched(struct am_token *token, const uint64_t *words,
                           uint32_t word_count, void *data, size_t bytes)
{
    struct fetch *fetch = NULL;

    if (am_token_has(token, word_count, 3)) {
        fetch = am_handle_find(token->ctx, am_word(words, 0), AM_HANDLE_FETCH);
    }
    if (fetch == NULL) {
        return;
    }
    if (!am_op_is_out(&fetch->op, token->peer)) {
        token->ctx->stats[AM_STAT_RX_BAD_HANDLE]++;
        return;
    }
    *fetch->old_p = am_word(words, 1);
    fetch_end(token->ctx, fetch,
              am_word(words, 2) != 0 ? AM_OK : AM_ERR_INVALID);
}

void am_fetch_fail(struct am_ctx *ctx, void *object, struct am_peer *peer)
{
    struct fetch *fetch = object;

    if (fetch->op.peer == peer) {
        am_op_cancel(&fetch->op);
        fetch_end(ctx, fetch, AM_ERR_PEER);
    }
}

void am_onesided_init(struct am_ctx *ctx)
{
    am_handler_set(ctx, AM_H_FETCH_ADD, handle_fetch_add, NULL, "fetch_add");
    am_handler_set(ctx, AM_H_FETCHED, handle_fetched, NULL, "fetched");
}
