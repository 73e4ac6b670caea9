/*
 * Ops that a wrapping device passes on unchanged.  May call the lower device.
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

am_status_t am_wrap_connect_all(struct am_dev *dev, const void *const *parts,
                                const size_t *part_bytes, uint32_t count)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    return lower->ops->connect_all(lower, parts, part_bytes, count);
}

bool am_wrap_connected(struct am_dev *dev)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    return lower->ops->connected(lower);
}

void am_wrap_check(struct am_dev *dev)
{
    struct am_dev *lower = am_wrap_of(dev)->lower;

    lower->ops->check(lower);
}
