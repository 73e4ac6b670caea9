/*
 * Memory regions: what peers may reach.  A part of core.h.
 */
#ifndef AM_AM_REGION_H
#define AM_AM_REGION_H

#include "base/list.h"
#include "dev/dev.h"

#include <am.h>

struct am_bulk;

/* What a region is to a device that was asked for it. */
struct am_region_device {
    struct am_dev *dev; /* NULL: no device was */
    struct am_dev_key key;
    struct am_region_device *next; /* malloc's: further devices */
};

/* A region over any am_data; embed it, or am_region_register allocates one. */
struct am_region {
    struct am_ctx *ctx;
    struct am_data data;
    uint64_t handle;      /* what a peer names it by; 0: closed */
    struct am_peer *peer; /* the only one that may name it; NULL: any */
    uint32_t rights;      /* AM_DEV_CAP_PUT, GET: what it may do */
    struct am_region_device device; /* where it is registered */
    struct am_bulk *get; /* that lands here, in order, or NULL */
    size_t landed_bytes; /* of it */
    struct am_list link; /* on ctx->public_regions, if registered */
};

/* Open a region over `data` in caller's memory; with its key `peer` (NULL: any) may do what
 * `caps` say (AM_DEV_CAP_PUT, GET), by the device too.  AM_ERR_MEMORY. */
am_status_t am_region_open(struct am_ctx *ctx, struct am_region *region,
                           const struct am_data *data, uint32_t caps,
                           struct am_peer *peer);
/* After this a late access of a peer is counted as rx_bad_region, dropped. */
void am_region_close(struct am_region *region);
/* The same of a device that copies without this process: `why` as mem_withdraw's. */
void am_region_withdraw(struct am_region *region, am_status_t why);
/* Key for `peer`.  The first peer of a device that gets one has the region registered
 * with that device; by others the key serves for packets only.  NULL: for all peers of
 * the first device that takes regions. */
void am_region_key_for(struct am_region *region, const struct am_peer *peer,
                       struct am_key *key);

/* The device that a key is good for, AM_DEV_NUMBER_NONE: packets only. */
static inline uint32_t am_key_device(const struct am_key *key)
{
    return (uint32_t)(key->w[3] >> AM_DEV_KEY_BITS);
}

/* What that device knows the memory by. */
static inline struct am_dev_key am_key_for_device(const struct am_key *key)
{
    const uint64_t mask = (UINT64_C(1) << AM_DEV_KEY_BITS) - 1;

    return (struct am_dev_key){{key->w[1], key->w[2], key->w[3] & mask}};
}

#endif
