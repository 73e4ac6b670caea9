/*
 * A context in the child of a fork.  It stays its parent's: the child has a copy
 * of all that is private, and the lanes are one.  So the context forgets its
 * devices and peers there, which costs nothing elsewhere: each call finds none
 * and comes here to learn why.  am_close finds them again to free them.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdio.h>

static am_status_t send_in_child(struct am_dev_ep *ep, uint32_t class,
                                 uint64_t first, const uint64_t *words,
                                 const void *data, size_t data_bytes)
{
    return AM_ERR_FORKED;
}

/* What a device had taken in before the fork, in a handler of which it was: the
 * parent's as well. */
static void drop_in_child(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
}

static void in_child(void *arg)
{
    struct am_ctx *ctx = arg;
    struct am_forked *forked = &ctx->forked;

    if (forked->is) {
        return; /* a child's child */
    }
    *forked = (struct am_forked){.watch = forked->watch,
                                 .is = true,
                                 .dev_count = ctx->dev_count,
                                 .peer_count = ctx->peer_count,
                                 .posts = ctx->posts};
    for (uint32_t i = 0; ctx->peers != NULL && i < ctx->peer_count; i++) {
        if (ctx->peers[i] != NULL) {
            ctx->peers[i]->send = send_in_child;
        }
    }
    for (uint32_t i = 0; i < AM_HANDLERS_MAX; i++) {
        ctx->handlers[i].fn = drop_in_child;
    }
    ctx->dev_count = 0;
    ctx->used_count = 0;
    ctx->peer_count = 0;
    ctx->posts = NULL;
    ctx->attends = ctx->attention = true;
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        if (am_modules[i]->forked != NULL && ctx->modules.data[i] != NULL) {
            am_modules[i]->forked(ctx, i);
        }
    }
}

void am_forked_watch(struct am_ctx *ctx)
{
    am_fork_watch_start(&ctx->forked.watch, in_child, ctx);
}

am_status_t am_forked_refuse(struct am_ctx *ctx)
{
    if (!ctx->forked.told) {
        ctx->forked.told = true;
        snprintf(ctx->error, sizeof(ctx->error),
                 "this process is a child of rank %u's, to which the context "
                 "belongs: it can only be closed here",
                 ctx->rank);
        am_log(&ctx->log, AM_LOG_ERROR, "%s", ctx->error);
    }
    return AM_ERR_FORKED;
}

am_status_t am_owned(struct am_ctx *ctx)
{
    return ctx->forked.is ? am_forked_refuse(ctx) : AM_OK;
}

void am_forked_close(struct am_ctx *ctx)
{
    am_fork_watch_stop(&ctx->forked.watch);
    if (ctx->forked.is) {
        ctx->dev_count = ctx->forked.dev_count;
        ctx->peer_count = ctx->forked.peer_count;
        ctx->posts = ctx->forked.posts;
        for (uint32_t i = 0; i < ctx->dev_count; i++) {
            ctx->devs[i]->abandoned = true; /* no answer comes to the child */
        }
    }
}
