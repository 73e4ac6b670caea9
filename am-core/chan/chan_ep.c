/*
 * The channel's endpoints and their memory: the packets of its windows and,
 * once it is open, two landings of the peer's largest message.  At the limit
 * send answers AM_ERR_AGAIN.  May call chan, dev and base only.
 */
#include "chan/chan_dev.h"

#include <stdlib.h>

void *chan_landing(void *arg, uint32_t class, uint32_t bytes)
{
    struct chan_ep *ep = arg;

    if (ep->landing[class] == NULL) {
        ep->landing[class] = malloc(bytes);
    }
    return ep->landing[class];
}

struct chan_ep *chan_ep_new(struct chan_dev *chan, void *user)
{
    struct chan_ep *ep = calloc(1, sizeof(*ep));

    if (ep == NULL) {
        return NULL;
    }
    ep->memory = malloc(am_window_memory_bytes(&chan->window_params));
    if (ep->memory == NULL) {
        free(ep);
        return NULL;
    }
    ep->wrap.base.dev = &chan->wrap.base;
    ep->wrap.base.user = user;
    am_window_init(&ep->window, &chan->window_params, chan_epoch(chan),
                   &chan_window_ops, ep, chan->stats, ep->memory);
    am_list_push(&chan->eps, &ep->link);
    return ep;
}

void chan_ep_delete(struct chan_ep *ep)
{
    chan_idle(ep);
    am_list_remove(&ep->link);
    for (uint32_t class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        free(ep->landing[class]);
    }
    free(ep->memory);
    free(ep);
}

am_status_t chan_connect(struct am_dev *dev, const void *address, size_t bytes,
                         uint32_t rank, void *user, struct am_dev_ep **ep_p)
{
    struct chan_dev *chan = chan_of(dev);
    struct am_dev *lower = chan->wrap.lower;
    struct chan_ep *ep = chan_ep_new(chan, user);
    am_status_t status;

    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    status = lower->ops->connect(lower, address, bytes, rank, ep,
                                 &ep->wrap.lower);
    if (status != AM_OK) {
        chan_ep_delete(ep);
        return status;
    }
    *ep_p = &ep->wrap.base;
    return AM_OK;
}

void chan_ep_end(struct chan_ep *ep)
{
    chan_of(ep->wrap.base.dev)->wrap.lower->ops->disconnect(ep->wrap.lower);
    chan_ep_delete(ep);
}

void chan_ep_leave(struct chan_ep *ep)
{
    struct am_window *window = &ep->window;

    if (!am_window_is_drained(window)) {
        return;
    }
    if (window->state == AM_WINDOW_OPEN) {
        am_window_bye(window);
    } else if (am_window_is_idle(window)) {
        chan_ep_end(ep);
    }
}

/* What was sent before must still arrive, and the peer must not wait for
 * acknowledgements for ever: poll sees to both, and close waits for it. */
void chan_disconnect(struct am_dev_ep *base)
{
    struct chan_ep *ep = chan_ep_of(base);

    ep->left = true;
    chan_busy(ep);
}

void *chan_accept(void *arg, struct am_dev_ep *lower, uint32_t rank)
{
    struct chan_dev *chan = arg;
    struct am_dev_up *up = &chan->wrap.base.up;
    struct chan_ep *ep;

    if (chan->closing) {
        return NULL;
    }
    ep = chan_ep_new(chan, NULL);
    if (ep == NULL) {
        return NULL;
    }
    ep->wrap.lower = lower;
    ep->wrap.base.user = up->accept(up->arg, &ep->wrap.base, rank);
    if (ep->wrap.base.user == NULL) {
        chan_ep_delete(ep);
        return NULL;
    }
    return ep;
}
