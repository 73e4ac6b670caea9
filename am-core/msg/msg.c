/*
 * The msg module in a context: opening, peers, closing, description.
 */
#include "msg/msg.h"

#include "msg/msg_cancel.h"
#include "msg/msg_credit.h"
#include "msg/msg_id.h"
#include "msg/msg_lost.h"
#include "msg/msg_region.h"
#include "msg/msg_tables.h"
#include "msg/msg_waits.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"
#include "msg/rndv.h"

#include <stdlib.h>
#include <string.h>

enum {
    POOL_SLAB = 32,
    DESCRIBE_BYTES = 8192
};

static am_status_t msg_open(struct am_ctx *ctx, uint32_t slot,
                            const void *values, uint64_t *stats)
{
    struct am_msg *msg = slot == AM_MSG_SLOT ? calloc(1, sizeof(*msg)) : NULL;

    if (msg == NULL) {
        return slot == AM_MSG_SLOT ? AM_ERR_MEMORY : AM_ERR_INVALID;
    }
    msg->ctx = ctx;
    msg->env = am_ctx_env(ctx);
    msg->stats = stats;
    msg->config = values;
    msg->staged = msg->config->buffering == AM_BUFFERING_PVM;
    msg->plain = !msg->staged && !am_env_is_charged(msg->env);
    am_list_init(&msg->peers);
    if (am_match_init(&msg->match, &stats[AM_MSG_MATCH_STEPS]) != 0) {
        free(msg);
        return AM_ERR_MEMORY;
    }
    am_pool_init(&msg->rndvs, sizeof(struct am_rndv), 0, POOL_SLAB, UINT64_MAX);
    am_pool_init(&msg->controls, AM_MSG_CONTROL_BYTES, 0, POOL_SLAB,
                 UINT64_MAX);
    am_module_set_data(ctx, slot, msg);
    am_msg_lost_open(msg);
    am_credit_register(msg);
    am_proto_eager_register(msg);
    am_proto_buffered_register(msg);
    am_rndv_register(msg);
    am_msg_cancel_register(msg);
    return AM_OK;
}

/* AM_EXPLAIN: the tables, as one is new or has changed. */
static void explain(struct am_msg *msg)
{
    char *text = malloc(DESCRIBE_BYTES);
    char *line, *rest;

    if (text == NULL) {
        return;
    }
    am_proto_describe(msg, false, text, DESCRIBE_BYTES);
    for (line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        am_log_write(am_ctx_log(msg->ctx), AM_LOG_INFO, "%s", line);
    }
    free(text);
}

/* Room for a peer in the table by index. */
static bool index_grow(struct am_msg *msg, uint32_t index)
{
    uint32_t count = msg->by_index_count;
    uint32_t more =
            index < am_size(msg->ctx) ? am_size(msg->ctx) : 2 * index + 2;
    struct am_msg_peer **grown;

    if (index < count) {
        return true;
    }
    grown = realloc(msg->by_index, (size_t)more * sizeof(struct am_msg_peer *));
    if (grown == NULL) {
        return false;
    }
    for (uint32_t i = count; i < more; i++) {
        grown[i] = NULL;
    }
    msg->by_index = grown;
    msg->by_index_count = more;
    return true;
}

struct am_msg_peer *am_msg_peer_open(struct am_msg *msg, struct am_peer *peer)
{
    const struct am_proto_kind *first = msg->kinds;
    struct am_msg_peer *mp = calloc(1, sizeof(*mp));

    if (mp == NULL) {
        return NULL;
    }
    mp->kind = am_proto_kind_of(msg, peer);
    if (mp->kind == NULL || !index_grow(msg, peer->index)) {
        free(mp);
        return NULL;
    }
    if (msg->config->explain && msg->kinds != first) {
        explain(msg);
    }
    mp->peer = peer;
    mp->msg = msg;
    mp->slots_free = (1u << AM_MSG_SLOTS) - 1;
    am_list_init(&mp->held);
    am_proto_short_set(mp);
    am_list_init(&mp->active);
    am_list_push(&msg->peers, &mp->link);
    peer->msg = mp;
    msg->by_index[peer->index] = mp;
    am_credit_open(mp);
    return mp;
}

/* A peer's kind may be another one now, and the end of its short way. */
static void msg_costs_changed(struct am_ctx *ctx)
{
    struct am_msg *msg = am_msg_of(ctx);

    if (am_proto_kinds_update(msg) && msg->config->explain) {
        explain(msg);
    }
    for (struct am_list *at = msg->peers.next; at != &msg->peers;
         at = at->next) {
        struct am_msg_peer *mp = am_container(at, struct am_msg_peer, link);
        const struct am_proto_kind *kind = am_proto_kind_of(msg, mp->peer);

        if (kind != NULL && !mp->peer->dead) {
            mp->kind = kind;
            am_proto_short_set(mp);
        }
    }
}

static void msg_peer_dead(struct am_ctx *ctx, struct am_peer *peer)
{
    struct am_msg_peer *mp = peer->msg;

    if (mp != NULL) {
        am_credit_close(mp);
        am_msg_peer_fail(mp);
    }
    am_msg_lost_dead(am_msg_of(ctx));
}

/* The context closes: requests under way end without a word. */
static void drop_list(struct am_list *list)
{
    struct am_list *at;

    while ((at = am_list_pop(list)) != NULL) {
        struct am_msg_req *req = am_container(at, struct am_msg_req, active);

        if (req->state == AM_REQ_UNEXPECTED) {
            am_match_unstore(&req->msg->match, &req->node);
        }
        am_op_cancel(&req->op);
        am_op_cancel(&req->stream_op);
        if (req->rndv != NULL && req->rndv->busy) {
            am_bulk_cancel(&req->rndv->bulk);
        }
        am_msg_req_put(req);
    }
}

static void peer_free(struct am_msg_peer *mp)
{
    am_credit_close(mp);
    drop_list(&mp->held);
    drop_list(&mp->active);
    am_msg_region_close(mp);
    am_list_remove(&mp->link);
    mp->peer->msg = NULL;
    mp->msg->by_index[mp->peer->index] = NULL;
    free(mp->trial.trial);
    free(mp);
}

static bool msg_peer_idle(struct am_ctx *ctx, struct am_peer *peer)
{
    struct am_msg_peer *mp = peer->msg;

    return am_msg_of(ctx)->look_peer != peer &&
           (mp == NULL ||
            (am_list_is_empty(&mp->held) && am_list_is_empty(&mp->active)));
}

/* A message that is all here and whose sender wants no answer needs nobody. */
static bool msg_peer_needed(struct am_ctx *ctx, struct am_peer *peer)
{
    const struct am_msg_peer *mp = peer->msg;
    const struct am_list *link;

    if (am_msg_of(ctx)->look_peer == peer) {
        return true;
    }
    if (mp == NULL) {
        return false;
    }
    for (link = mp->active.next; link != &mp->active; link = link->next) {
        const struct am_msg_req *req =
                am_container(link, struct am_msg_req, active);

        if ((req->state != AM_REQ_UNEXPECTED && req->state != AM_REQ_CLAIMED) ||
            req->info.remote_id != 0 || !am_msg_message_is_whole(req)) {
            return true;
        }
    }
    return !am_list_is_empty(&mp->held);
}

static void msg_peer_close(struct am_ctx *ctx, struct am_peer *peer)
{
    if (peer->msg != NULL) {
        peer_free(peer->msg);
    }
}

static void msg_close(struct am_ctx *ctx, uint32_t slot)
{
    struct am_msg *msg = am_module_data(ctx, slot);

    while (!am_list_is_empty(&msg->peers)) {
        peer_free(am_container(msg->peers.next, struct am_msg_peer, link));
    }
    am_msg_req_fini(msg);
    am_msg_id_fini(msg);
    am_msg_buffer_fini(msg);
    am_proto_kinds_free(msg);
    am_match_fini(&msg->match);
    am_pool_fini(&msg->rndvs);
    am_pool_fini(&msg->controls);
    free(msg->by_index);
    free(msg);
}

/* Then no call finds a peer here, and each asks am for it; those that need none
 * find trouble, and ask am_owned. */
static void msg_forked(struct am_ctx *ctx, uint32_t slot)
{
    struct am_msg *msg = am_module_data(ctx, slot);

    msg->by_index_count = 0;
    msg->trouble_count++;
}

/* "protocols": the tables of the kinds of peer there are in this job; "waits":
 * what is not complete. */
static size_t msg_describe(struct am_ctx *ctx, const char *what, char *text,
                           size_t bytes)
{
    struct am_msg *msg = am_module_data(ctx, AM_MSG_SLOT);

    if (strcmp(what, "waits") == 0) {
        return am_msg_waits(msg, text, bytes);
    }
    if (strcmp(what, "protocols") != 0) {
        return 0;
    }
    for (uint32_t i = 0; i < 2 && i < am_size(ctx); i++) {
        uint32_t rank = (am_rank(ctx) + i) % am_size(ctx);
        am_status_t status;
        struct am_peer *peer = am_peer_get(ctx, rank, &status);

        if (peer != NULL) {
            am_proto_kind_of(msg, peer);
        }
    }
    return am_proto_describe(msg, true, text, bytes);
}

const struct am_module am_msg_module = {
        .name = "msg",
        .config = &am_msg_config_table,
        .config_bytes = sizeof(struct am_msg_config),
        .stats = am_msg_stat_rows,
        .stat_count = AM_MSG_STAT_COUNT,
        .open = msg_open,
        .close = msg_close,
        .check = am_msg_lost_check,
        .peer_dead = msg_peer_dead,
        .costs_changed = msg_costs_changed,
        .peer_idle = msg_peer_idle,
        .peer_needed = msg_peer_needed,
        .peer_close = msg_peer_close,
        .forked = msg_forked,
        .describe = msg_describe,
};
