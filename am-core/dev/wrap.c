/*
 * Ops that a wrapping device passes on unchanged, and its endpoints.  May call
 * the lower device.
 */
#include "dev/wrap.h"

size_t am_wrap_address(struct am_dev *dev, void *to, size_t bytes_max)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    return lower->ops->address(lower, to, bytes_max);
}

bool am_wrap_reachable(struct am_dev *dev, const void *address, size_t bytes)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    return lower->ops->reachable(lower, address, bytes);
}

/* What the lower device says of an error is the wrapper's as well. */
static am_status_t error_pass(struct am_dev *dev, am_status_t status)
{
    if (status != AM_OK) {
        dev->error = am_wrap_of(dev)->lower->error;
    }
    return status;
}

am_status_t am_wrap_connect_all(struct am_dev *dev, const void *const *parts,
                                const size_t *part_bytes, uint32_t count)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    return error_pass(dev,
                      lower->ops->connect_all(lower, parts, part_bytes, count));
}

bool am_wrap_connected(struct am_dev *dev)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;
    bool connected = lower->ops->connected(lower);

    dev->error = lower->error;
    return connected;
}

am_dev_presence_t am_wrap_presence(struct am_dev_ep *base)
{
    struct am_dev_ep *lower = ((struct am_wrap_ep *)base)->lower;

    return lower->dev->ops->presence(lower);
}

void am_wrap_check(struct am_dev *dev)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    lower->ops->check(lower);
}

am_status_t am_wrap_watch(struct am_dev *dev, int epoll)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    return lower->ops->watch != NULL ? lower->ops->watch(lower, epoll) : AM_OK;
}

static struct am_wrap_ep *wrap_ep_new(struct am_wrap_dev *wrap, void *user)
{
    struct am_wrap_ep *ep = wrap->ep_new(wrap);

    if (ep != NULL) {
        ep->base.dev = &wrap->base;
        ep->base.user = user;
    }
    return ep;
}

am_status_t am_wrap_connect(struct am_dev *dev, const void *address,
                            size_t bytes, uint32_t rank, void *user,
                            struct am_dev_ep **ep_p)
{
    struct am_wrap_dev *wrap = am_wrap_of(dev);
    struct am_dev *lower = wrap->lower;
    struct am_wrap_ep *ep = wrap_ep_new(wrap, user);
    am_status_t status;

    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    status = error_pass(dev, lower->ops->connect(lower, address, bytes, rank,
                                                 ep, &ep->lower));
    if (status != AM_OK) {
        wrap->ep_delete(ep);
        return status;
    }
    *ep_p = &ep->base;
    return AM_OK;
}

void *am_wrap_accept(void *arg, struct am_dev_ep *lower, uint32_t rank)
{
    struct am_wrap_dev *wrap = arg;
    struct am_dev_up *up = &wrap->base.up;
    struct am_wrap_ep *ep = wrap_ep_new(wrap, NULL);

    if (ep == NULL) {
        return NULL;
    }
    ep->lower = lower;
    ep->base.user = up->accept(up->arg, &ep->base, rank);
    if (ep->base.user == NULL) {
        wrap->ep_delete(ep);
        return NULL;
    }
    return ep;
}
