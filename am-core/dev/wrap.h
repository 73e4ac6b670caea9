/*
 * A device that wraps a device: what such devices (fault, chan) have in
 * common.  Both structs stand first in the wrapper's own.  The wrapper's
 * endpoint is the `user` of the lower one; the wrapper owns the lower device.
 *
 *   layer above   user <---------- am_wrap_ep.base.user
 *   wrapper       am_wrap_ep <---- lower endpoint's user
 *   lower device  lower endpoint   am_wrap_ep.lower -->
 */
#ifndef AM_DEV_WRAP_H
#define AM_DEV_WRAP_H

#include "dev/dev.h"

struct am_wrap_ep {
    struct am_dev_ep base;
    struct am_dev_ep *lower;
};

struct am_wrap_dev {
    struct am_dev base;
    struct am_dev *lower;
    /* Memory for an endpoint, whose base and lower the functions below fill;
     * NULL: none is to be had, or wanted. */
    struct am_wrap_ep *(*ep_new)(struct am_wrap_dev *wrap);
    void (*ep_delete)(struct am_wrap_ep *ep);
};

static inline struct am_wrap_dev *am_wrap_of(struct am_dev *dev)
{
    return (struct am_wrap_dev *)dev;
}

/* Ops that are the lower device's own: a wrapper has no address part. */
size_t am_wrap_address(struct am_dev *dev, void *to, size_t bytes_max);
bool am_wrap_reachable(struct am_dev *dev, const void *address, size_t bytes);
am_status_t am_wrap_connect_all(struct am_dev *dev, const void *const *parts,
                                const size_t *part_bytes, uint32_t count);
bool am_wrap_connected(struct am_dev *dev);
am_status_t am_wrap_connect(struct am_dev *dev, const void *address,
                            size_t bytes, uint32_t rank, void *user,
                            struct am_dev_ep **ep_p);
am_dev_presence_t am_wrap_presence(struct am_dev_ep *ep);
void am_wrap_check(struct am_dev *dev);
am_status_t am_wrap_watch(struct am_dev *dev, int epoll);
/* The lower device's `accept` upcall; its arg is the wrapper. */
void *am_wrap_accept(void *arg, struct am_dev_ep *lower, uint32_t rank);

#endif
