/*
 * A context as a file descriptor, for loops that sleep in poll(2) or epoll: an
 * epoll of its own, which holds what each device has, a timer for what must be
 * polled for anyway, and a bell that am_ctx_post rings.
 *
 *   shm's bell, listener --.
 *   udp's socket ----------+-- events->epoll (am_ctx_fd)
 *   timer, posts' bell ----'
 *
 * Nothing is lost: am_ctx_arm lets each device say first that it sleeps, and looks
 * then.  What comes after the look makes the descriptor readable.
 */
#include "config.h"

#include "am/ctx.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define NS_PER_MS UINT64_C(1000000)
/* Deaths are looked for, and silent peers. */
#define SLEEP_MOST_NS (100 * NS_PER_MS)
#define SLEEP_SPACE_NS (NS_PER_MS / 20) /* space for queued sends rings no bell */
#define SLEEP_WAIT_NS (20 * NS_PER_MS)  /* inside a wait, which looks for deaths */
#define SLEEP_BLIND_NS (2 * NS_PER_MS)  /* a device that allows less rings no bell */

struct am_events {
    int epoll, timer, posted;
    uint32_t watched; /* of ctx->devs: they watch from their start, in order */
};

static void events_close(struct am_events *events)
{
    const int fds[] = {events->epoll, events->timer, events->posted};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    free(events);
}

static am_status_t events_open(struct am_ctx *ctx, struct am_events **events_p)
{
    struct am_events *events = calloc(1, sizeof(*events));

    if (events == NULL) {
        return AM_ERR_MEMORY;
    }
    events->epoll = epoll_create1(EPOLL_CLOEXEC);
    events->timer = ctx->env->ops->alarm_open(ctx->env);
    events->posted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (events->epoll < 0 ||
        am_dev_watch_fd(events->epoll, events->timer) != AM_OK ||
        am_dev_watch_fd(events->epoll, events->posted) != AM_OK) {
        events_close(events);
        return AM_ERR_SYSTEM;
    }
    *events_p = events;
    return AM_OK;
}

/* Devices that are new since the last time; the loop-back is one after the first
 * message to the context itself. */
static am_status_t watch(struct am_ctx *ctx)
{
    struct am_events *events = ctx->events;

    for (; events->watched < ctx->dev_count; events->watched++) {
        struct am_dev *dev = ctx->devs[events->watched];

        if (dev->ops->watch != NULL) {
            am_status_t status = dev->ops->watch(dev, events->epoll);

            if (status != AM_OK) {
                return status;
            }
        }
    }
    return AM_OK;
}

am_status_t am_ctx_fd(struct am_ctx *ctx, int *fd_p)
{
    am_status_t status = am_owned(ctx);

    if (status == AM_OK && ctx->env->ops->alarm_open == NULL) {
        snprintf(ctx->error, sizeof(ctx->error),
                 "a simulated host has no descriptor to sleep on");
        return AM_ERR_UNSUPPORTED;
    }
    if (status == AM_OK && ctx->events == NULL) {
        status = events_open(ctx, &ctx->events);
    }
    if (status == AM_OK) {
        status = watch(ctx);
    }
    if (status == AM_ERR_SYSTEM) {
        snprintf(ctx->error, sizeof(ctx->error),
                 "a descriptor to sleep on cannot be had: %s", strerror(errno));
    }
    if (status == AM_OK) {
        *fd_p = ctx->events->epoll;
    }
    return status;
}

/* Is there work that only needs a poll?  Else how long it can wait at most. */
static bool is_due(struct am_ctx *ctx, uint64_t *most_ns)
{
    if (ctx->due != 0 || !am_list_is_empty(&ctx->finished) || ctx->failed ||
        am_posts_armed(ctx)) {
        return true;
    }
    *most_ns = am_list_is_empty(&ctx->busy) ? SLEEP_MOST_NS : SLEEP_SPACE_NS;
    return false;
}

static am_status_t arm_devices(struct am_ctx *ctx, uint64_t *most_ns)
{
    am_status_t status = AM_OK;

    for (uint32_t i = 0; i < ctx->dev_count && status == AM_OK; i++) {
        status = am_dev_arm(ctx->devs[i], most_ns);
    }
    return status;
}

/* AM_OK: what comes from now on makes the descriptor readable, and the sleep may
 * last so long; AM_ERR_AGAIN: poll first. */
static am_status_t arm(struct am_ctx *ctx, uint64_t *most_ns)
{
    struct am_events *events = ctx->events;
    struct epoll_event event;
    uint64_t rung;

    ctx->env->ops->alarm_set(ctx->env, events->timer, 0);
    (void)!read(events->posted, &rung, sizeof(rung));
    am_poll_rare_next(ctx); /* polls are few: each looks for deaths if it is time */
    return is_due(ctx, most_ns) || arm_devices(ctx, most_ns) != AM_OK ||
                           epoll_wait(events->epoll, &event, 1, 0) > 0
                   ? AM_ERR_AGAIN
                   : AM_OK;
}

am_status_t am_ctx_arm(struct am_ctx *ctx)
{
    struct am_events *events = ctx->events;
    uint64_t most_ns;
    am_status_t status = am_owned(ctx);

    if (status != AM_OK) {
        return status;
    }
    if (events == NULL) {
        return AM_ERR_INVALID;
    }
    if (ctx->polling) {
        return AM_ERR_HANDLER;
    }
    status = watch(ctx);
    if (status != AM_OK) {
        return status;
    }
    status = arm(ctx, &most_ns);
    if (status == AM_OK) {
        ctx->env->ops->alarm_set(ctx->env, events->timer, most_ns);
    }
    return status;
}

bool am_events_sleep(struct am_ctx *ctx, bool *slept_p)
{
    struct epoll_event event;
    uint64_t most_ns;
    int epoll;

    *slept_p = false;
    if (ctx->polling || am_ctx_fd(ctx, &epoll) != AM_OK) {
        return false;
    }
    if (arm(ctx, &most_ns) == AM_OK) {
        /* where a device rings no bell, a nap as short as its own would be */
        most_ns = most_ns <= SLEEP_BLIND_NS ? SLEEP_SPACE_NS : SLEEP_WAIT_NS;
        ctx->env->ops->alarm_set(ctx->env, ctx->events->timer, most_ns);
        *slept_p = true;
        (void)epoll_wait(epoll, &event, 1, -1);
    }
    return true;
}

void am_events_ring(struct am_ctx *ctx)
{
    const uint64_t one = 1;

    (void)!write(ctx->events->posted, &one, sizeof(one));
}

void am_events_close(struct am_ctx *ctx)
{
    if (ctx->events != NULL) {
        events_close(ctx->events);
        ctx->events = NULL;
    }
}
