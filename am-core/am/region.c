/*
 * Memory regions: what peers may reach, by a handle and an offset, or (GAM's
 * bare addresses) by an address inside a registered one.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdlib.h>

/* Register with the device, where it has what peers may do (AM_DEV_CAP_...). */
static void region_register_device(struct am_region *region, uint32_t caps)
{
    struct am_dev *dev =
            region->ctx->dev_count == 0 ? NULL : region->ctx->devs[0];

    region->dev = NULL;
    if (dev == NULL || region->data.kind != AM_DATA_CONTIG ||
        (dev->attr.caps & caps) == 0) {
        return;
    }
    if (dev->ops->mem_register(dev, region->data.u.base, region->data.bytes,
                               &region->dev_key) == AM_OK) {
        region->dev = dev;
    }
}

am_status_t am_region_open(struct am_ctx *ctx, struct am_region *region,
                           const struct am_data *data, uint32_t caps)
{
    region->handle = am_handle_new(ctx, AM_HANDLE_REGION, region);
    if (region->handle == 0) {
        return AM_ERR_MEMORY;
    }
    region->ctx = ctx;
    region->data = *data;
    region->peer = NULL;
    region->rights = caps;
    region->get = NULL;
    region_register_device(region, caps);
    return AM_OK;
}

void am_region_close(struct am_region *region)
{
    if (region->handle == 0) {
        return;
    }
    if (region->dev != NULL) {
        region->dev->ops->mem_deregister(region->dev, &region->dev_key);
    }
    am_handle_free(region->ctx, region->handle);
    region->handle = 0;
}

void am_region_key_for(const struct am_region *region,
                       const struct am_peer *peer, struct am_key *key)
{
    *key = (struct am_key){{region->handle}};
    if (region->dev != NULL && (peer == NULL || peer->dev == region->dev)) {
        for (int i = 0; i < 3; i++) {
            key->w[1 + i] = region->dev_key.w[i];
        }
    }
}

am_status_t am_region_register(struct am_ctx *ctx, void *base, size_t bytes,
                               struct am_region **region_p)
{
    struct am_data data = am_data_contig(base, bytes);
    struct am_region *region = calloc(1, sizeof(*region));
    am_status_t status;

    if (region == NULL) {
        return AM_ERR_MEMORY;
    }
    status =
            am_region_open(ctx, region, &data, AM_DEV_CAP_PUT | AM_DEV_CAP_GET);
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
    am_region_close(region);
    free(region);
}

void am_region_key(const struct am_region *region, struct am_key *key)
{
    am_region_key_for(region, NULL, key);
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
