/*
 * Progress: am_ctx_poll is the only place where handlers, queued work and
 * completion functions run.  It is not re-entrant.
 */
#include "config.h"

#include "am/costs.h"

#define RARE_POLLS     256             /* polls between two of poll_rare */
#define UNUSED_PS      100000000ull    /* 100 us: a system call is less than 1% */
#define REST_IDLE      64              /* empty polls before a rest doubles */
/* Dead peers are looked for: a look costs up to a microsecond for each. */
#define CHECK_EACH_PS  1000000000ull   /* 1 ms for each rank of the job, */
#define CHECK_LEAST_PS 10000000000ull  /* at least 10 ms */
#define CHECK_MOST_PS  200000000000ull /* and at most 200 ms */

/* Run the ordered ops of a peer until one has no space; the rest wait. */
static int run_ordered(struct am_peer *peer)
{
    int count = 0;

    while (!am_list_is_empty(&peer->ordered)) {
        struct am_op *op = am_container(peer->ordered.next, struct am_op, link);

        am_list_remove(&op->link);
        op->queued = false;
        if (op->run(op) == AM_TURN_NO_SPACE) {
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
        am_turn_t turn;

        am_list_remove(&op->link);
        op->queued = false;
        turn = op->run(op);
        if (turn == AM_TURN_LAST) {
            count++;
        } else {
            op->queued = true;
            am_list_push(&peer->bulk, &op->link);
        }
        if (turn == AM_TURN_NO_SPACE) {
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

/* Simulated hosts do not die: their polls need not look for it. */
static uint64_t check_every_ps(const struct am_ctx *ctx)
{
    uint64_t every_ps = ctx->size * CHECK_EACH_PS;

    return ctx->env->simulated || every_ps > CHECK_MOST_PS ? CHECK_MOST_PS
           : every_ps < CHECK_LEAST_PS                     ? CHECK_LEAST_PS
                                                           : every_ps;
}

/* Rarely: look for dead peers, by the clock. */
static __attribute__((noinline)) void check_peers(struct am_ctx *ctx,
                                                  uint64_t now)
{
    if (now - ctx->checked_ps < check_every_ps(ctx)) {
        return;
    }
    ctx->checked_ps = now;
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        ctx->devs[i]->ops->check(ctx->devs[i]);
    }
    for (uint32_t m = 0; am_modules[m] != NULL && !ctx->env->simulated; m++) {
        if (am_modules[m]->check != NULL) {
            am_modules[m]->check(ctx);
        }
    }
    am_peers_reap(ctx);
}

void am_check_peers(struct am_ctx *ctx)
{
    ctx->polling = true; /* upcalls */
    check_peers(ctx, am_env_now(ctx->env));
    ctx->polling = false;
}

bool am_rank_is_dead(const struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->size; i++) {
        if (am_peer_is_dead(ctx, i) && !ctx->peers[i]->left) {
            return true;
        }
    }
    return false;
}

am_status_t am_check(struct am_ctx *ctx)
{
    am_status_t status = am_owned(ctx);

    if (status != AM_OK) {
        return status;
    }
    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    am_check_peers(ctx);
    return am_rank_is_dead(ctx) ? AM_ERR_PEER : AM_OK;
}

void am_check_now(struct am_ctx *ctx)
{
    if (!ctx->polling) {
        ctx->checked_ps = am_env_now(ctx->env) - CHECK_MOST_PS;
        am_check_peers(ctx);
    }
}

/* Poll a device whose empty polls cost much less often while they are empty. */
static int poll_rested(struct am_dev_poll *used)
{
    const uint32_t rest_max = used->dev->attr.poll_rest_max;
    int count;

    if (used->left > 0) {
        used->left--;
        return 0;
    }
    count = used->dev->ops->poll(used->dev, AM_POLL_BUDGET);
    if (count > 0) {
        used->rest = used->idle = 0;
    } else if (++used->idle % REST_IDLE == 0) {
        used->rest =
                2 * used->rest + 1 < rest_max ? 2 * used->rest + 1 : rest_max;
    }
    used->left = used->rest;
    return count;
}

static __attribute__((noinline)) int poll_devices(struct am_ctx *ctx)
{
    int count = 0;

    for (uint32_t i = 0; i < ctx->used_count; i++) {
        count += poll_rested(&ctx->used[i]);
    }
    return count;
}

/* Devices that no peer is reached by: somebody may come by them.  By the clock, as
 * polls of a device that is used may cost much less than theirs. */
static int poll_unused(struct am_ctx *ctx, uint64_t now)
{
    int count = 0;

    if (now - ctx->unused_ps < UNUSED_PS) {
        return 0;
    }
    ctx->unused_ps = now;
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        struct am_dev *dev = ctx->devs[i];
        bool used = false;

        for (uint32_t u = 0; u < ctx->used_count; u++) {
            used = used || ctx->used[u].dev == dev;
        }
        if (!used) {
            count += dev->ops->poll(dev, AM_POLL_BUDGET);
        }
    }
    return count;
}

bool am_ctx_is_polling(const struct am_ctx *ctx)
{
    return ctx->polling;
}

bool am_ctx_is_waiting(const struct am_ctx *ctx)
{
    return ctx->waiting;
}

void am_module_wake(struct am_ctx *ctx, uint32_t slot)
{
    ctx->due |= 1u << slot;
    ctx->attention = true;
}

/* Modules that asked for it go on, each once: one that asks again in its turn
 * has the next poll. */
static int run_modules(struct am_ctx *ctx)
{
    uint32_t due = ctx->due;
    int count = 0;

    ctx->due = 0;
    for (uint32_t i = 0; due >> i != 0; i++) {
        if ((due >> i & 1) != 0) {
            count += am_modules[i]->poll(ctx, i);
        }
    }
    return count;
}

/* Every RARE_POLLS polls, of which this one found `count` events.  The clock is
 * read this often because a caller may rest between its polls, for the time of
 * a nap or of somebody's time slice. */
static __attribute__((noinline)) int poll_rare(struct am_ctx *ctx, int count)
{
    uint64_t now = am_env_now(ctx->env);

    check_peers(ctx, now);
    return ctx->used_count < ctx->dev_count ? count + poll_unused(ctx, now)
                                            : count;
}

/* The rare part of a poll: queued work, ends of transfers, deaths. */
static __attribute__((noinline)) int poll_attend(struct am_ctx *ctx, int count)
{
    ctx->attention = ctx->attends;
    if (ctx->forked.is) {
        return am_forked_refuse(ctx);
    }
    if (ctx->costs) {
        am_costs_tell(ctx);
    }
    if (ctx->posts != NULL) {
        count += am_posts_run(ctx);
    }
    count += run_ops(ctx);
    count += am_bulk_finish(ctx);
    count += run_modules(ctx);
    if (count == 0) {
        am_env_charge(ctx->env, AM_COST_POLL, 1);
    }
    if (!am_list_is_empty(&ctx->busy) || !am_list_is_empty(&ctx->finished) ||
        ctx->due != 0) {
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
    if (am_likely(ctx->used_count == 1)) {
        struct am_dev *dev = ctx->used[0].dev;

        count = dev->ops->poll(dev, AM_POLL_BUDGET);
    } else {
        count = poll_devices(ctx);
    }
    if (am_unlikely(++ctx->polls % RARE_POLLS == 0)) {
        count = poll_rare(ctx, count);
    }
    if (am_unlikely(ctx->attention)) {
        count = poll_attend(ctx, count);
    }
    ctx->polling = false;
    return count;
}

void am_poll_owe(struct am_ctx *ctx)
{
    ctx->failed = ctx->attention = true;
}

void am_poll_rare_next(struct am_ctx *ctx)
{
    ctx->polls |= RARE_POLLS - 1;
}
