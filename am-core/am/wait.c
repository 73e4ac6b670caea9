/*
 * Waiting for what comes: polls of those who have nothing else to do, and flushing.
 */
#include "config.h"

#include "am/ctx.h"

#define CHECK_WAITS 4    /* between looks at the clock */
#define IDLE_LONG   4096 /* waits after which one may be long */
#define IDLE_LATE   8    /* waits after which it does not matter to ask */
#define REST_LONG_PS UINT64_C(20000000) /* 20 us: more than a look at any device */

static bool all_drained(struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        if (!ctx->devs[i]->ops->drained(ctx->devs[i])) {
            return false;
        }
    }
    return true;
}

/* The device that waits: where several are used, the one of the shortest way,
 * which is that within the host, where AM_WAIT is known.  The loop-back has no
 * doorbell: what comes by it, this context has sent.  *count_p have one. */
static struct am_dev *wait_device(struct am_ctx *ctx, uint32_t *count_p)
{
    const struct am_dev_poll *best = NULL;

    *count_p = 0;
    for (uint32_t i = 0; i < ctx->used_count; i++) {
        const struct am_dev_poll *used = &ctx->used[i];

        if (used->dev == ctx->self) {
            continue;
        }
        if (best == NULL || used->short_ns < best->short_ns) {
            best = used;
        }
        ++*count_p;
    }
    return best == NULL ? ctx->self : best->dev;
}

/* Let polls go by that only `dev` counts, where the environment can.  What
 * threads post and modules want is looked for by polls. */
static bool wait_passes(const struct am_ctx *ctx, struct am_dev *dev)
{
    return ctx->env->ops->pass != NULL && dev->ops->pass != NULL &&
           ctx->posts == NULL && ctx->due == 0 &&
           (dev == ctx->self || ctx->self == NULL ||
            ctx->self->ops->drained(ctx->self)) &&
           dev->ops->pass(dev);
}

static void count_sleep(struct am_ctx *ctx, const struct am_dev *dev)
{
    for (uint32_t i = 0; i < ctx->slot_count; i++) {
        if (ctx->slots[i].ops == dev->bottom) {
            ctx->slots[i].stats[AM_DEV_STAT_SLEEP]++;
        }
    }
}

/* Where several are used, `dev` says when it is time to sleep, and the sleep is
 * over all of them. */
static void device_rest(struct am_ctx *ctx, struct am_dev *dev,
                        am_dev_rest_t rest)
{
    bool slept;

    if (!dev->ops->wait(dev, ctx->idle, rest)) {
        return;
    }
    if (!am_events_sleep(ctx, &slept)) {
        (void)dev->ops->wait(dev, ctx->idle, AM_DEV_REST_BRIEF);
    } else if (slept) {
        count_sleep(ctx, dev);
    }
}

/* After a rest that was long the next poll leaves no device out: were others to
 * have the core for milliseconds, a packet would wait for dozens of such rests. */
static void rest_timed(struct am_ctx *ctx, struct am_dev *dev,
                       am_dev_rest_t rest)
{
    uint64_t start_ps = am_env_now(ctx->env);

    device_rest(ctx, dev, rest);
    if (am_env_now(ctx->env) - start_ps > REST_LONG_PS) {
        for (uint32_t i = 0; i < ctx->used_count; i++) {
            ctx->used[i].left = 0;
        }
    }
}

/* Nothing came.  The device waits as AM_WAIT says. */
static void wait_once(struct am_ctx *ctx, bool for_space)
{
    uint32_t count;
    struct am_dev *dev = wait_device(ctx, &count);
    am_dev_rest_t rest = AM_DEV_REST_BRIEF;

    if (!for_space && ctx->posts == NULL && ctx->due == 0 &&
        am_list_is_empty(&ctx->busy) && all_drained(ctx)) {
        rest = count <= 1 ? AM_DEV_REST_LONG : AM_DEV_REST_ASK;
    }
    if (count > 1 && ctx->idle > IDLE_LATE) {
        rest_timed(ctx, dev, rest);
    } else if (count > 1 || !wait_passes(ctx, dev)) {
        device_rest(ctx, dev, rest);
    }
    if (ctx->idle % CHECK_WAITS == 0) { /* each may be a sleep of 20 ms */
        am_check_peers(ctx);
    }
    if (ctx->idle > IDLE_LONG) { /* a wait may have been long */
        am_poll_rare_next(ctx);
    }
}

/* On a simulated host: one poll for each wait, or its loop is not an idle one, and
 * the poll after the wait, which must look before the caller does. */
static __attribute__((noinline)) int poll_simulated(struct am_ctx *ctx,
                                                    bool for_space)
{
    int count;

    if (ctx->idle > 0 && ctx->used_count > 0 && !ctx->polling) {
        wait_once(ctx, for_space);
    }
    count = am_ctx_poll(ctx);
    ctx->idle = count != 0 ? 0 : ctx->idle + 1;
    return count;
}

int am_poll_blocked(struct am_ctx *ctx, bool for_space)
{
    int count;

    if (am_unlikely(ctx->env->simulated)) {
        return poll_simulated(ctx, for_space);
    }
    ctx->waiting = true;
    count = am_ctx_poll(ctx);
    ctx->waiting = false;
    if (count != 0) {
        ctx->idle = 0;
        return count;
    }
    ctx->idle++;
    if (ctx->used_count > 0) {
        wait_once(ctx, for_space);
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
    return am_list_is_empty(&ctx->busy) && am_list_is_empty(&ctx->finished) &&
           am_posts_are_run(ctx) && all_drained(ctx);
}

am_status_t am_flush(struct am_ctx *ctx)
{
    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    do {
        /* not asleep for long: the end of a flush may be no event */
        int count = am_poll_blocked(ctx, true);

        if (count < 0) {
            return (am_status_t)count;
        }
    } while (!am_is_flushed(ctx));
    return AM_OK;
}
