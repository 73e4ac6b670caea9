/*
 * The channel's endpoints and their memory, each piece made when the window asks
 * for it and given back when it rests: the packets of a window, two landings of
 * the peer's largest message, and, where packets of the peer's were lost, memory
 * for those that come too early.  Of the first kind, which each peer that is sent
 * to needs, the device keeps some for the next.  At the limit send answers
 * AM_ERR_AGAIN.  May call chan, dev and base only.
 */
#include "chan/chan_dev.h"

#include <stdlib.h>

/* Memory that is made when it is first asked for. */
static void *made_once(void **memory, size_t bytes)
{
    if (*memory == NULL) {
        *memory = malloc(bytes);
    }
    return *memory;
}

void *chan_memory(void *arg, size_t bytes)
{
    struct chan_ep *ep = arg;
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);

    if (ep->memory == NULL && chan->spare_count > 0) {
        ep->memory = chan->spares[--chan->spare_count];
    }
    return made_once(&ep->memory, bytes);
}

void *chan_landing(void *arg, uint32_t class, uint32_t bytes)
{
    return made_once(&((struct chan_ep *)arg)->landing[class], bytes);
}

void *chan_early(void *arg, uint32_t class, size_t bytes)
{
    return made_once(&((struct chan_ep *)arg)->early[class], bytes);
}

struct am_wrap_ep *chan_ep_new(struct am_wrap_dev *wrap)
{
    struct chan_dev *chan = chan_of(&wrap->base);
    struct chan_ep *ep = chan->closing ? NULL : calloc(1, sizeof(*ep));

    if (ep == NULL) {
        return NULL;
    }
    am_window_init(&ep->window, &chan->window_params, chan_epoch(chan),
                   &chan_window_ops, ep, chan->stats);
    am_timer_init(&ep->look, chan_look);
    am_timer_init(&ep->verdict, chan_verdict);
    am_list_push(&chan->eps, &ep->link);
    return &ep->wrap;
}

static void memory_free(struct chan_ep *ep)
{
    struct chan_dev *chan = chan_of(ep->wrap.base.dev);

    if (ep->memory != NULL && chan->spare_count < CHAN_SPARES_MAX) {
        chan->spares[chan->spare_count++] = ep->memory;
    } else {
        free(ep->memory);
    }
    ep->memory = NULL;
    for (uint32_t class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        free(ep->landing[class]);
        free(ep->early[class]);
        ep->landing[class] = ep->early[class] = NULL;
    }
}

void chan_ep_rest(struct chan_ep *ep)
{
    if (am_window_rest(&ep->window)) {
        memory_free(ep);
    }
}

void chan_spares_free(struct chan_dev *chan)
{
    while (chan->spare_count > 0) {
        free(chan->spares[--chan->spare_count]);
    }
}

void chan_ep_delete(struct am_wrap_ep *wrap_ep)
{
    struct chan_ep *ep = chan_ep_of(&wrap_ep->base);
    struct chan_dev *chan = chan_of(wrap_ep->base.dev);

    chan_place(ep, CHAN_IDLE);
    am_timer_stop(&chan->wheel, &ep->look);
    am_timer_stop(&chan->wheel, &ep->verdict);
    am_list_remove(&ep->link);
    memory_free(ep);
    free(ep);
}

void chan_ep_end(struct chan_ep *ep)
{
    am_window_farewell(&ep->window);
    chan_of(ep->wrap.base.dev)->wrap.lower->ops->disconnect(ep->wrap.lower);
    chan_ep_delete(&ep->wrap);
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

bool chan_ep_is_alone(const struct chan_ep *ep, uint64_t now_ps)
{
    return ep->left && ep->window.leaving &&
           ep->window.hello_backoff == AM_WINDOW_BACKOFF_MAX &&
           now_ps - ep->left_ps >= chan_of(ep->wrap.base.dev)->linger_ps;
}

/* The window's BYE is news before the lower device's, and comes after all
 * else. */
am_dev_presence_t chan_presence(struct am_dev_ep *base)
{
    const struct chan_ep *ep = chan_ep_of(base);

    return ep->window.state == AM_WINDOW_GONE && !ep->died
                   ? AM_DEV_LEFT
                   : am_wrap_presence(base);
}

/* What was sent before must still arrive, and the peer must not wait for
 * acknowledgements for ever: poll sees to both, and close waits for it. */
void chan_disconnect(struct am_dev_ep *base)
{
    struct chan_ep *ep = chan_ep_of(base);

    ep->left_ps = am_env_now(chan_of(base->dev)->env);
    ep->left = true;
    chan_place(ep, CHAN_BUSY);
}
