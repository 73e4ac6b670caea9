/*
 * The self device's regions, and put, get and fetch_add, which are copies into
 * and out of them.  May call base only.
 */
#include "dev/self/self_dev.h"

#include <stdlib.h>
#include <string.h>

#define SELF_REGIONS_MAX UINT32_C(0x7fffffff)

static struct self_region *self_region_free(struct self_dev *self)
{
    struct self_region *regions;
    uint32_t count = self->region_count;

    for (uint32_t i = 0; i < count; i++) {
        if (self->regions[i].generation % 2 == 0) {
            return &self->regions[i];
        }
    }
    if (count >= SELF_REGIONS_MAX) {
        return NULL;
    }
    regions =
            realloc(self->regions, (2 * (size_t)count + 16) * sizeof(*regions));
    if (regions == NULL) {
        return NULL;
    }
    memset(regions + count, 0, ((size_t)count + 16) * sizeof(*regions));
    self->regions = regions;
    self->region_count = 2 * count + 16;
    return &regions[count];
}

am_status_t self_mem_register(struct am_dev *dev, void *base, size_t bytes,
                              uint32_t rights, struct am_dev_key *key)
{
    struct self_dev *self = self_of(dev);
    struct self_region *region = self_region_free(self);
    uint32_t index;

    if (region == NULL) {
        return AM_ERR_MEMORY;
    }
    index = (uint32_t)(region - self->regions);
    region->base = base;
    region->bytes = bytes;
    region->generation++;
    *key = (struct am_dev_key){
            {self->nonce, (uint64_t)region->generation << 32 | index, 0}};
    return AM_OK;
}

/* The region that a key names, NULL if there is none (any more). */
static struct self_region *self_region_of(struct self_dev *self,
                                          const struct am_dev_key *key)
{
    uint32_t index = (uint32_t)key->w[1];
    uint32_t generation = (uint32_t)(key->w[1] >> 32);

    if (key->w[0] != self->nonce || index >= self->region_count ||
        generation % 2 == 0 || self->regions[index].generation != generation) {
        return NULL;
    }
    return &self->regions[index];
}

void self_mem_deregister(struct am_dev *dev, const struct am_dev_key *key)
{
    struct self_region *region = self_region_of(self_of(dev), key);

    if (region != NULL) {
        region->generation++;
    }
}

/* The memory of [offset, offset + bytes) of a region; NULL and counted when
 * the key or the range is bad. */
static uint8_t *self_range(struct self_dev *self, const struct am_dev_key *key,
                           size_t offset, size_t bytes)
{
    struct self_region *region = self_region_of(self, key);

    if (region == NULL || offset > region->bytes ||
        bytes > region->bytes - offset) {
        self->stats[AM_DEV_STAT_RX_BAD]++;
        return NULL;
    }
    return region->base + offset;
}

static size_t self_iov_bytes(const struct iovec *iov, uint32_t count)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < count; i++) {
        bytes += iov[i].iov_len;
    }
    return bytes;
}

/* One copy between a region and `local`, which is all there is to do. */
static am_status_t self_copy(struct self_dev *self, const struct iovec *local,
                             uint32_t count, const struct am_dev_key *key,
                             size_t offset, uint32_t stat)
{
    size_t bytes = self_iov_bytes(local, count);
    uint8_t *at = self_range(self, key, offset, bytes);

    if (at == NULL) {
        return AM_ERR_INVALID;
    }
    for (uint32_t i = 0; i < count; i++) {
        void *mine = local[i].iov_base;

        memmove(stat == AM_DEV_STAT_PUT ? at : mine,
                stat == AM_DEV_STAT_PUT ? mine : at, local[i].iov_len);
        at += local[i].iov_len;
    }
    self->stats[stat]++;
    self->stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    return AM_DONE;
}

am_status_t self_put(struct am_dev_ep *ep, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg)
{
    return self_copy(self_of(ep->dev), local, count, key, offset,
                     AM_DEV_STAT_PUT);
}

am_status_t self_get(struct am_dev_ep *ep, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg)
{
    return self_copy(self_of(ep->dev), local, count, key, offset,
                     AM_DEV_STAT_GET);
}

am_status_t self_fetch_add(struct am_dev_ep *ep, const struct am_dev_key *key,
                           size_t offset, uint64_t value, uint64_t *old_p,
                           am_dev_done_fn done, void *arg)
{
    struct self_dev *self = self_of(ep->dev);
    uint64_t *at = (void *)self_range(self, key, offset, sizeof(*at));

    if (at == NULL) {
        return AM_ERR_INVALID;
    }
    if ((uintptr_t)at % sizeof(*at) != 0) {
        self->stats[AM_DEV_STAT_RX_BAD]++;
        return AM_ERR_INVALID;
    }
    /* Other devices may add to the same word from another process. */
    *old_p = __atomic_fetch_add(at, value, __ATOMIC_RELAXED);
    return AM_DONE;
}
