/*
 * Peers that die: what waits for them ends, and who wants to know is told.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdio.h>
#include <string.h>

am_status_t am_send_to_dead(struct am_dev_ep *ep, uint32_t class,
                            uint64_t first, const uint64_t *words,
                            const void *data, size_t data_bytes)
{
    return AM_ERR_PEER;
}

/* End the transfers that wait for an answer of a dead peer. */
static void operations_fail(struct am_ctx *ctx, struct am_peer *peer)
{
    for (uint32_t i = 0; i < ctx->handle_count; i++) {
        void *object = ctx->handles[i].object;
        struct am_bulk *bulk = object;

        switch ((am_handle_kind_t)ctx->handles[i].kind) {
        case AM_HANDLE_BULK:
            if (bulk->op.peer == peer) {
                am_bulk_fail(bulk, AM_ERR_PEER);
            }
            break;
        case AM_HANDLE_FETCH:
            am_fetch_fail(ctx, object, peer);
            break;
        case AM_HANDLE_SEND:
            am_send_fail(ctx, object, peer);
            break;
        case AM_HANDLE_FREE:
        case AM_HANDLE_REGION:
            break;
        }
    }
}

/* The job cannot go on without one of its ranks, so a poll fails; of a process
 * outside it, or a rank that has said goodbye, only who waits for it is told.  Where
 * nobody does it has ended in order: its port is closed when an answer to its last
 * words comes late, or its own last packet was lost.  A peer dies once, whatever a
 * device says of it later. */
static void died_last(struct am_ctx *ctx, struct am_peer *peer)
{
    for (uint32_t i = ctx->size; i < ctx->peer_count; i++) {
        if (ctx->peers[i] != NULL) {
            ctx->peers[i]->died_last = ctx->peers[i] == peer;
        }
    }
}

void am_peer_dead(void *user, const char *why)
{
    struct am_peer *peer = user;
    struct am_ctx *ctx = peer->ctx;
    bool late = peer->index >= ctx->size;
    bool left = peer->dev->ops->presence(peer->ep) == AM_DEV_LEFT;
    bool is_missed = (!late && !left) || am_peer_is_needed(ctx, peer);

    if (peer->dead) {
        return;
    }
    peer->dead = true;
    died_last(ctx, peer);
    peer->left = !late && !is_missed;
    peer->send = am_send_to_dead;
    ctx->attention = true;
    ctx->stats[AM_STAT_PEERS_DEAD] += !peer->left;
    if (late) {
        snprintf(ctx->error, sizeof(ctx->error),
                 "a process outside the job is gone: %s", why);
        am_log(&ctx->log, is_missed ? AM_LOG_WARN : AM_LOG_INFO, "%s",
               ctx->error);
    } else {
        ctx->failed = ctx->failed || !peer->left;
        snprintf(ctx->error, sizeof(ctx->error), "rank %u is gone: %s",
                 peer->index, why);
        am_log(&ctx->log, peer->left ? AM_LOG_INFO : AM_LOG_ERROR, "%s",
               ctx->error);
    }
    peer->death = strdup(ctx->error);
    operations_fail(ctx, peer);
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        if (am_modules[i]->peer_dead != NULL) {
            am_modules[i]->peer_dead(ctx, peer);
        }
    }
    if (ctx->dead != NULL && !peer->left) {
        ctx->dead(ctx->dead_arg, peer->index);
    }
}

void am_set_dead(struct am_ctx *ctx, am_dead_fn dead, void *arg)
{
    ctx->dead = dead;
    ctx->dead_arg = arg;
}

bool am_peer_is_dead(const struct am_ctx *ctx, uint32_t index)
{
    return index < ctx->peer_count && ctx->peers[index] != NULL &&
           ctx->peers[index]->dead;
}

const char *am_peer_death(const struct am_ctx *ctx, uint32_t index)
{
    if (!am_peer_is_dead(ctx, index)) {
        return "";
    }
    return ctx->peers[index]->death != NULL ? ctx->peers[index]->death
                                            : "a peer is gone";
}
