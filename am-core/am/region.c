/*
 * Memory regions: what peers may reach, by a handle and an offset, or (GAM's
 * bare addresses) by an address inside a registered one.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdlib.h>

/* Is this region of use to a device that puts or gets? */
static bool region_suits(const struct am_region *region,
                         const struct am_dev *dev)
{
    return region->data.kind == AM_DATA_CONTIG && dev != region->ctx->self &&
           (dev->attr.caps & region->rights &
            (AM_DEV_CAP_PUT | AM_DEV_CAP_GET)) != 0;
}

/* The device of a key for everybody: the first one that has put or get. */
static struct am_dev *region_common_device(const struct am_region *region)
{
    const struct am_ctx *ctx = region->ctx;

    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        if (region_suits(region, ctx->devs[i])) {
            return ctx->devs[i];
        }
    }
    return NULL;
}

/* Where it is registered with `dev`, which may be now; NULL: it cannot be. */
static const struct am_region_device *region_device(struct am_region *region,
                                                    struct am_dev *dev)
{
    struct am_region_device *device = &region->device;

    while (device->dev != dev && device->next != NULL) {
        device = device->next;
    }
    if (device->dev == dev) {
        return device;
    }
    if (device->dev != NULL) {
        device->next = calloc(1, sizeof(*device));
        if (device->next == NULL) {
            return NULL;
        }
        device = device->next;
    }
    if (dev->ops->mem_register(dev, region->data.u.base, region->data.bytes,
                               region->rights, &device->key) != AM_OK) {
        return NULL; /* an entry that is made is tried again */
    }
    AM_CHECK(device->key.w[2] >> AM_DEV_KEY_BITS == 0);
    device->dev = dev;
    return device;
}

static void region_devices_close(struct am_region *region)
{
    struct am_region_device *device = &region->device;

    while (device != NULL) {
        struct am_region_device *next = device->next;

        if (device->dev != NULL) {
            device->dev->ops->mem_deregister(device->dev, &device->key);
        }
        if (device != &region->device) {
            free(device);
        }
        device = next;
    }
}

am_status_t am_region_open(struct am_ctx *ctx, struct am_region *region,
                           const struct am_data *data, uint32_t caps,
                           struct am_peer *peer)
{
    region->handle = am_handle_new(ctx, AM_HANDLE_REGION, region);
    if (region->handle == 0) {
        return AM_ERR_MEMORY;
    }
    region->ctx = ctx;
    region->data = *data;
    region->peer = peer;
    region->rights = caps;
    region->get = NULL;
    region->device.dev = NULL;
    region->device.next = NULL;
    return AM_OK;
}

void am_region_close(struct am_region *region)
{
    if (region->handle == 0) {
        return;
    }
    region_devices_close(region);
    am_handle_free(region->ctx, region->handle);
    region->handle = 0;
}

void am_region_withdraw(struct am_region *region, am_status_t why)
{
    const struct am_region_device *device = &region->device;

    for (; region->handle != 0 && device != NULL; device = device->next) {
        if (device->dev != NULL) {
            am_dev_mem_withdraw(device->dev, &device->key, why);
        }
    }
    am_region_close(region);
}

void am_region_key_for(struct am_region *region, const struct am_peer *peer,
                       struct am_key *key)
{
    const struct am_region_device *device = NULL;
    struct am_dev *dev =
            peer == NULL ? region_common_device(region) : peer->dev;

    *key = (struct am_key){{region->handle}};
    if (dev != NULL && region_suits(region, dev)) {
        device = region_device(region, dev);
    }
    if (device != NULL) {
        key->w[1] = device->key.w[0];
        key->w[2] = device->key.w[1];
        key->w[3] = am_key_last(&device->key, dev);
    }
}

am_status_t am_region_register(struct am_ctx *ctx, void *base, size_t bytes,
                               struct am_region **region_p)
{
    struct am_data data = am_data_contig(base, bytes);
    am_status_t status = am_owned(ctx);
    struct am_region *region;

    if (status != AM_OK) {
        return status;
    }
    region = calloc(1, sizeof(*region));
    if (region == NULL) {
        return AM_ERR_MEMORY;
    }
    status = am_region_open(ctx, region, &data, AM_DEV_CAP_PUT | AM_DEV_CAP_GET,
                            NULL);
    if (status != AM_OK) {
        free(region);
        return status;
    }
    am_list_push(&ctx->public_regions, &region->link);
    *region_p = region;
    return AM_OK;
}

void am_region_deregister(struct am_ctx *ctx, struct am_region *region)
{
    am_list_remove(&region->link);
    /* peers have its key for as long as they like */
    am_region_withdraw(region, AM_ERR_INVALID);
    free(region);
}

void am_region_key(struct am_region *region, struct am_key *key)
{
    am_region_key_for(region, NULL, key);
}

am_status_t am_region_key_to(struct am_region *region, uint32_t index,
                             struct am_key *key)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(region->ctx, index, &status);

    if (peer == NULL) {
        return status;
    }
    am_region_key_for(region, peer, key);
    return AM_OK;
}

/* Is [offset, offset + bytes) inside the region?  The one place that says so,
 * whichever way the bytes go. */
static bool region_holds(const struct am_region *region, size_t offset,
                         size_t bytes)
{
    return offset <= region->data.bytes && bytes <= region->data.bytes - offset;
}

static bool region_is_for(const struct am_region *region,
                          const struct am_peer *peer, uint32_t rights)
{
    return (region->peer == NULL || region->peer == peer) &&
           (region->rights & rights) == rights;
}

struct am_region *am_region_find(const struct am_peer *peer, uint32_t rights,
                                 uint64_t handle, size_t *offset, size_t bytes)
{
    struct am_ctx *ctx = peer->ctx;
    struct am_region *region;
    struct am_list *node;

    if (handle != 0) {
        region = am_handle_find(ctx, handle, AM_HANDLE_REGION);
        if (region != NULL && (!region_is_for(region, peer, rights) ||
                               !region_holds(region, *offset, bytes))) {
            ctx->stats[AM_STAT_RX_BAD_REGION]++;
            region = NULL;
        }
        return region;
    }
    /* a bare address: the first registered region around it */
    for (node = ctx->public_regions.next; node != &ctx->public_regions;
         node = node->next) {
        size_t at;

        region = am_container(node, struct am_region, link);
        at = *offset - (uintptr_t)region->data.u.base;
        if (*offset >= (uintptr_t)region->data.u.base &&
            region_holds(region, at, bytes)) {
            *offset = at;
            return region;
        }
    }
    ctx->stats[AM_STAT_RX_BAD_REGION]++;
    return NULL;
}
