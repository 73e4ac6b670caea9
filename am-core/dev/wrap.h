/*
 * A device that wraps a device: what such devices (fault, chan) have in
 * common.  Both structs stand first in the wrapper's own.  The wrapper's
 * endpoint is the `user` of the lower one; the wrapper owns the lower device.
 */
#ifndef AM_DEV_WRAP_H
#define AM_DEV_WRAP_H

#include "dev/dev.h"

struct am_wrap_dev {
    struct am_dev base;
    struct am_dev *lower;
};

struct am_wrap_ep {
    struct am_dev_ep base;
    struct am_dev_ep *lower;
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
void am_wrap_check(struct am_dev *dev);

#endif
