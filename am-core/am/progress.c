/*
 * Progress: am_ctx_poll is the only place where handlers, queued work and
 * completion functions run.  It is not re-entrant.
 */
#include "config.h"

#include "am/ctx.h"

#define CHECK_POLLS    65536           /* polls between looks at the clock */
#define CHECK_EVERY_PS 200000000000ull /* dead peers are looked for: 200 ms */

/* Run the ordered ops of a peer until one has no space; the rest wait. */
static int run_ordered(struct am_peer *peer)
{
    int count = 0;

    while (!am_list_is_empty(&peer->ordered)) {
        struct am_op *op = am_container(peer->ordered.next, struct am_op, link);

        am_list_remove(&op->link);
        op->queued = false;
        if (op->run(op) == AM_ERR_AGAIN) {
            /* back to the head; nothing overtook: the count still holds */
            op->queued = true;
            op->link.next = peer->ordered.next;
            op->link.prev = &peer->ordered;
            peer->ordered.next->prev = &op->link;
            peer->ordered.next = &op->link;
            break;
        }
        peer->ordered_count--;
        count++;
    }
    return count;
}

/* Bulk ops take turns, at most one turn in a poll.  The first that finds no
 * space ends the round: there is none for the others either, whose turn comes
 * first at the next poll. */
static int run_bulk(struct am_peer *peer)
{
    struct am_list mark; /* what is behind it had its turn */
    int count = 0;

    if (am_list_is_empty(&peer->bulk)) {
        return 0;
    }
    am_list_push(&peer->bulk, &mark);
    while (peer->bulk.next != &mark) {
        struct am_op *op = am_container(peer->bulk.next, struct am_op, link);
        am_status_t status;

        am_list_remove(&op->link);
        op->queued = false;
        status = op->run(op);
        if (status == AM_ERR_AGAIN || status == AM_DONE) {
            op->queued = true;
            am_list_push(&peer->bulk, &op->link);
        } else {
            count++;
        }
        if (status == AM_ERR_AGAIN) {
            break;
        }
    }
    am_list_remove(&mark);
    return count;
}

static int run_ops(struct am_ctx *ctx)
{
    struct am_list *node = ctx->busy.next;
    int count = 0;

    while (node != &ctx->busy) {
        struct am_peer *peer = am_container(node, struct am_peer, busy_link);

        node = node->next;
        count += run_ordered(peer);
        count += run_bulk(peer);
        if (am_list_is_empty(&peer->ordered) && am_list_is_empty(&peer->bulk)) {
            am_list_remove(&peer->busy_link);
        }
    }
    return count;
}

/* Rarely: look for dead peers, by the clock. */
static __attribute__((noinline)) void check_peers(struct am_ctx *ctx)
{
    uint64_t now = am_env_now(ctx->env);

    if (now - ctx->checked_ps < CHECK_EVERY_PS) {
        return;
    }
    ctx->checked_ps = now;
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        ctx->devs[i]->ops->check(ctx->devs[i]);
    }
    am_peers_reap(ctx);
}

void am_check_peers(struct am_ctx *ctx)
{
    ctx->polling = true; /* upcalls */
    check_peers(ctx);
    ctx->polling = false;
}

bool am_rank_is_dead(const struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->size; i++) {
        if (am_peer_is_dead(ctx, i)) {
            return true;
        }
    }
    return false;
}

am_status_t am_check(struct am_ctx *ctx)
{
    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    am_check_peers(ctx);
    return am_rank_is_dead(ctx) ? AM_ERR_PEER : AM_OK;
}

void am_check_now(struct am_ctx *ctx)
{
    if (!ctx->polling) {
        ctx->checked_ps = am_env_now(ctx->env) - CHECK_EVERY_PS;
        am_check_peers(ctx);
    }
}

static __attribute__((noinline)) int poll_devices(struct am_ctx *ctx)
{
    int count = 0;

    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        count += ctx->devs[i]->ops->poll(ctx->devs[i], AM_POLL_BUDGET);
    }
    return count;
}

/* The rare part of a poll: queued work, ends of transfers, deaths. */
static __attribute__((noinline)) int poll_attend(struct am_ctx *ctx, int count)
{
    ctx->attention = ctx->attends;
    if (ctx->forked.is) {
        return am_forked_refuse(ctx);
    }
    if (ctx->posts != NULL) {
        count += am_posts_run(ctx);
    }
    count += run_ops(ctx);
    count += am_bulk_finish(ctx);
    if (count == 0) {
        am_env_charge(ctx->env, AM_COST_POLL, 1);
    }
    if (!am_list_is_empty(&ctx->busy) || !am_list_is_empty(&ctx->finished)) {
        ctx->attention = true;
    }
    if (ctx->failed) {
        ctx->failed = false;
        return AM_ERR_PEER;
    }
    return count;
}

int am_ctx_poll(struct am_ctx *ctx)
{
    int count;

    if (am_unlikely(ctx->polling)) {
        return AM_ERR_HANDLER;
    }
    ctx->polling = true;
    if (am_likely(ctx->dev_count == 1)) {
        count = ctx->devs[0]->ops->poll(ctx->devs[0], AM_POLL_BUDGET);
    } else {
        count = poll_devices(ctx);
    }
    if (am_unlikely(++ctx->polls % CHECK_POLLS == 0)) {
        check_peers(ctx);
    }
    if (am_unlikely(ctx->attention)) {
        count = poll_attend(ctx, count);
    }
    ctx->polling = false;
    return count;
}

int am_poll_blocked(struct am_ctx *ctx, bool for_space)
{
    int count = am_ctx_poll(ctx);

    if (count != 0) {
        ctx->idle = 0;
        return count;
    }
    ctx->idle++;
    /* With one device (and the loop-back) it may sleep on its doorbell. */
    if (ctx->dev_count > 0) {
        struct am_dev *dev = ctx->devs[0];
        bool may_sleep = !for_space && ctx->posts == NULL &&
                         am_list_is_empty(&ctx->busy) &&
                         (ctx->dev_count == 1 ||
                          (ctx->dev_count == 2 && ctx->devs[1] == ctx->self)) &&
                         dev->ops->drained(dev);

        dev->ops->wait(dev, ctx->idle, may_sleep);
        if (ctx->idle % 64 == 0) {
            am_check_peers(ctx);
        }
    }
    /* deliver what came, not after a way round through the caller's loop; a
     * device that spins does so in this poll */
    count = am_ctx_poll(ctx);
    if (count != 0) {
        ctx->idle = 0;
    }
    return count;
}

int am_ctx_poll_wait(struct am_ctx *ctx)
{
    return am_poll_blocked(ctx, false);
}

int am_is_flushed(struct am_ctx *ctx)
{
    bool waits = !am_list_is_empty(&ctx->busy) ||
                 !am_list_is_empty(&ctx->finished);

    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        waits = waits || !ctx->devs[i]->ops->drained(ctx->devs[i]);
    }
    return !waits;
}

am_status_t am_flush(struct am_ctx *ctx)
{
    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    do {
        int count = am_ctx_poll_wait(ctx);

        if (count < 0) {
            return (am_status_t)count;
        }
    } while (!am_is_flushed(ctx));
    return AM_OK;
}
