/*
 * The inside of the self device, shared by self_dev.c (endpoints, packets) and
 * self_mem.c (regions and the copies into them) only.
 *
 *   self_send -> claim, fill, commit -> ring of a class -> take, deliver,
 *                                                          release <- self_poll
 */
#ifndef AM_DEV_SELF_SELF_DEV_H
#define AM_DEV_SELF_SELF_DEV_H

#include "dev/self/self.h"

#include "base/list.h"
#include "base/ring.h"

/* One packet; a ring's slot is this and the ring's word. */
#define SELF_PACKET_BYTES ((size_t)8 * 1024)
#define SELF_HDR_BYTES    ((size_t)256)
#define SELF_SLOTS        32

struct self_packet {
    uint32_t hdr_bytes;
    uint32_t data_bytes;
    uint64_t body[SELF_PACKET_BYTES / sizeof(uint64_t)]; /* header, then data */
};

/* A queue of packets with its one producer and its one consumer. */
struct self_queue {
    void *memory; /* zeroed; pages that no packet came to are never made */
    struct am_ring tx, rx;
};

struct self_ep {
    struct am_dev_ep base;
    struct am_list link; /* on dev->eps */
    struct self_queue queue[AM_DEV_CLASS_COUNT];
};

struct self_region {
    uint8_t *base;
    size_t bytes;
    uint32_t generation; /* odd while registered */
};

struct self_dev {
    struct am_dev base;
    struct am_env *env;
    uint64_t nonce;
    uint64_t *stats;
    struct am_list eps;
    struct self_region *regions;
    uint32_t region_count;
};

static inline struct self_dev *self_of(struct am_dev *dev)
{
    return am_container(dev, struct self_dev, base);
}

/* self_mem.c: the ops of these names (dev/dev.h) */
am_status_t self_mem_register(struct am_dev *dev, void *base, size_t bytes,
                              uint32_t rights, struct am_dev_key *key);
void self_mem_deregister(struct am_dev *dev, const struct am_dev_key *key);
am_status_t self_put(struct am_dev_ep *ep, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg);
am_status_t self_get(struct am_dev_ep *ep, const struct iovec *local,
                     uint32_t count, const struct am_dev_key *key,
                     size_t offset, am_dev_done_fn done, void *arg);
am_status_t self_fetch_add(struct am_dev_ep *ep, const struct am_dev_key *key,
                           size_t offset, uint64_t value, uint64_t *old_p,
                           am_dev_done_fn done, void *arg);

#endif
