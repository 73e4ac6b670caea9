/*
 * The self device's ops.  Each endpoint is a way from this context back to
 * itself: what is sent on it arrives on it.  May call base only.
 */
#include "dev/self/self.h"

#include "base/list.h"
#include "dev/self/self_ring.h"

#include <stdlib.h>
#include <string.h>

#define SELF_PACKET_BYTES ((size_t)8 * 1024)
#define SELF_HDR_BYTES    ((size_t)256)
#define SELF_REGIONS_MAX  UINT32_C(0x7fffffff)
#define SELF_RECORD_MAX \
    (self_record_bytes(SELF_HDR_BYTES, SELF_PACKET_BYTES - SELF_HDR_BYTES))

struct self_ep {
    struct am_dev_ep base;
    struct am_list link; /* on dev->eps */
    struct self_ring ring[AM_DEV_CLASS_COUNT];
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

static struct self_dev *self_of(struct am_dev *dev)
{
    return am_container(dev, struct self_dev, base);
}

/* Costs on a core of about 3 GHz with everything in its cache. */
static const struct am_dev_attr self_attr = {
        .caps = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED | AM_DEV_CAP_PUT |
                AM_DEV_CAP_GET | AM_DEV_CAP_FETCH_ADD,
        .packet_bytes_max = SELF_PACKET_BYTES,
        .reply_bytes_max = SELF_PACKET_BYTES,
        .hdr_bytes_max = SELF_HDR_BYTES,
        .depth = SELF_RING_BYTES / SELF_PACKET_BYTES - 1,
        .perf = {.send_overhead = {20000, 50000},
                 .recv_overhead = {20000, 0},
                 .wire = {0, 0},
                 .gap_ps = 20000,
                 .put = {20000, 50000},
                 .get = {20000, 50000},
                 .shared_core = true},
};

static am_status_t self_open(const struct am_dev_params *params,
                             struct am_dev **dev_p)
{
    struct self_dev *self = calloc(1, sizeof(*self));

    if (self == NULL) {
        return AM_ERR_MEMORY;
    }
    self->base.ops = &am_dev_self_ops;
    self->base.attr = self_attr;
    self->base.up = params->up;
    self->env = params->env;
    self->nonce = params->nonce;
    self->stats = params->stats;
    am_list_init(&self->eps);
    *dev_p = &self->base;
    return AM_OK;
}

static void self_ep_free(struct self_ep *ep)
{
    for (int class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        free(ep->ring[class].block);
    }
    free(ep);
}

static void self_disconnect(struct am_dev_ep *base)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);

    am_list_remove(&ep->link);
    self_ep_free(ep);
}

static void self_close(struct am_dev *dev)
{
    struct self_dev *self = self_of(dev);
    struct am_list *link;

    while ((link = am_list_pop(&self->eps)) != NULL) {
        self_ep_free(am_container(link, struct self_ep, link));
    }
    free(self->regions);
    free(self);
}

/* ---------------------------------------------------------------- addresses */

static size_t self_address(struct am_dev *dev, void *to, size_t bytes_max)
{
    struct self_dev *self = self_of(dev);

    if (bytes_max < sizeof(self->nonce)) {
        return 0;
    }
    memcpy(to, &self->nonce, sizeof(self->nonce));
    return sizeof(self->nonce);
}

static bool self_reachable(struct am_dev *dev, const void *address,
                           size_t bytes)
{
    struct self_dev *self = self_of(dev);

    return bytes == sizeof(self->nonce) &&
           memcmp(address, &self->nonce, sizeof(self->nonce)) == 0;
}

static am_status_t self_connect(struct am_dev *dev, const void *address,
                                size_t bytes, uint32_t rank, void *user,
                                struct am_dev_ep **ep_p)
{
    struct self_dev *self = self_of(dev);
    struct self_ep *ep;

    if (!self_reachable(dev, address, bytes)) {
        return AM_ERR_PEER;
    }
    ep = calloc(1, sizeof(*ep));
    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    for (int class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
        ep->ring[class].block = malloc(SELF_RING_BYTES);
        if (ep->ring[class].block == NULL) {
            self_ep_free(ep);
            return AM_ERR_MEMORY;
        }
    }
    ep->base.dev = dev;
    ep->base.user = user;
    am_list_push(&self->eps, &ep->link);
    *ep_p = &ep->base;
    return AM_OK;
}

/* ------------------------------------------------------------------ packets */

/* A record with its header written; NULL and the status when there is none. */
static struct self_record *self_push(struct am_dev_ep *base, uint32_t class,
                                     const void *hdr, size_t hdr_bytes,
                                     size_t data_bytes, am_status_t *status_p)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);
    struct self_dev *self = self_of(base->dev);
    struct self_record *record;

    if (hdr_bytes > SELF_HDR_BYTES ||
        data_bytes > SELF_PACKET_BYTES - hdr_bytes) {
        *status_p = AM_ERR_INVALID;
        return NULL;
    }
    record = self_ring_push(&ep->ring[class], hdr_bytes, data_bytes);
    if (record == NULL) {
        self->stats[AM_DEV_STAT_TX_AGAIN]++;
        *status_p = AM_ERR_AGAIN;
        return NULL;
    }
    memcpy(record->body, hdr, hdr_bytes);
    self->stats[AM_DEV_STAT_TX_PACKETS]++;
    self->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    self->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    *status_p = AM_OK;
    return record;
}

static am_status_t self_send(struct am_dev_ep *ep, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             const void *data, size_t data_bytes)
{
    am_status_t status;
    struct self_record *record;

    record = self_push(ep, class, hdr, hdr_bytes, data_bytes, &status);
    if (record != NULL && data_bytes > 0) {
        memcpy(self_record_data(record), data, data_bytes);
    }
    return status;
}

static am_status_t self_send_fill(struct am_dev_ep *ep, uint32_t class,
                                  const void *hdr, size_t hdr_bytes,
                                  am_dev_fill_fn fill, void *arg,
                                  size_t data_bytes)
{
    am_status_t status;
    struct self_record *record;

    record = self_push(ep, class, hdr, hdr_bytes, data_bytes, &status);
    if (record != NULL && data_bytes > 0) {
        fill(arg, self_record_data(record), data_bytes);
    }
    return status;
}

static bool self_reply_ready(struct am_dev_ep *base)
{
    struct self_ep *ep = am_container(base, struct self_ep, base);

    return self_ring_fits(&ep->ring[AM_DEV_REPLY], SELF_RECORD_MAX);
}

static bool self_may_deliver(struct self_ep *ep, uint32_t class)
{
    const struct am_dev_up *up = &ep->base.dev->up;

    if (class == AM_DEV_REPLY) {
        return true;
    }
    return self_reply_ready(&ep->base) &&
           (up->ready == NULL || up->ready(ep->base.user));
}

/* Deliver at most `packets_max` packets of one class; how many there were. */
static uint32_t self_deliver(struct self_ep *ep, uint32_t class,
                             uint32_t packets_max)
{
    struct self_dev *self = self_of(ep->base.dev);
    struct self_ring *ring = &ep->ring[class];
    struct self_record *record;
    uint32_t count = 0;

    while (count < packets_max && (record = self_ring_head(ring)) != NULL &&
           self_may_deliver(ep, class)) {
        self->stats[AM_DEV_STAT_RX_PACKETS]++;
        self->stats[AM_DEV_STAT_RX_BYTES] +=
                record->hdr_bytes + record->data_bytes;
        self->base.up.packet(ep->base.user, class, record->body,
                             record->hdr_bytes, self_record_data(record),
                             record->data_bytes);
        self_ring_pop(ring, record);
        count++;
    }
    return count;
}

static int self_poll(struct am_dev *dev, uint32_t packets_max)
{
    struct self_dev *self = self_of(dev);
    struct am_list *link = self->eps.next, *next;
    uint32_t count = 0;

    for (; link != &self->eps && count < packets_max; link = next) {
        struct self_ep *ep = am_container(link, struct self_ep, link);

        count += self_deliver(ep, AM_DEV_REPLY, packets_max - count);
        count += self_deliver(ep, AM_DEV_REQUEST, packets_max - count);
        next = link->next;
        if (count >= packets_max && next != &self->eps) {
            /* Spent: the endpoints not reached come first the next time. */
            am_list_remove(&self->eps);
            am_list_push(next, &self->eps);
        }
    }
    return (int)count;
}

static void self_wait(struct am_dev *dev, uint64_t idle, bool may_sleep)
{
    if (idle > 0) {
        am_env_relax(self_of(dev)->env, 0);
    }
}

/* ------------------------------------------------------------------ regions */

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

static am_status_t self_mem_register(struct am_dev *dev, void *base,
                                     size_t bytes, struct am_dev_key *key)
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

static void self_mem_deregister(struct am_dev *dev,
                                const struct am_dev_key *key)
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

static am_status_t self_put(struct am_dev_ep *ep, const struct iovec *local,
                            uint32_t count, const struct am_dev_key *key,
                            size_t offset, am_dev_done_fn done, void *arg)
{
    struct self_dev *self = self_of(ep->dev);
    size_t bytes = self_iov_bytes(local, count);
    uint8_t *to = self_range(self, key, offset, bytes);

    if (to == NULL) {
        return AM_ERR_INVALID;
    }
    for (uint32_t i = 0; i < count; i++) {
        memmove(to, local[i].iov_base, local[i].iov_len);
        to += local[i].iov_len;
    }
    self->stats[AM_DEV_STAT_PUT]++;
    self->stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    return AM_DONE;
}

static am_status_t self_get(struct am_dev_ep *ep, const struct iovec *local,
                            uint32_t count, const struct am_dev_key *key,
                            size_t offset, am_dev_done_fn done, void *arg)
{
    struct self_dev *self = self_of(ep->dev);
    size_t bytes = self_iov_bytes(local, count);
    const uint8_t *from = self_range(self, key, offset, bytes);

    if (from == NULL) {
        return AM_ERR_INVALID;
    }
    for (uint32_t i = 0; i < count; i++) {
        memmove(local[i].iov_base, from, local[i].iov_len);
        from += local[i].iov_len;
    }
    self->stats[AM_DEV_STAT_GET]++;
    self->stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    return AM_DONE;
}

static am_status_t self_fetch_add(struct am_dev_ep *ep,
                                  const struct am_dev_key *key, size_t offset,
                                  uint64_t value, uint64_t *old_p,
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

const struct am_dev_ops am_dev_self_ops = {
        .name = "self",
        .open = self_open,
        .close = self_close,
        .address = self_address,
        .reachable = self_reachable,
        .connect_all = am_dev_no_connect_all,
        .connected = am_dev_no_connected,
        .drained = am_dev_no_drained,
        .connect = self_connect,
        .disconnect = self_disconnect,
        .send = self_send,
        .send_fill = self_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = self_reply_ready,
        .poll = self_poll,
        .mem_register = self_mem_register,
        .mem_deregister = self_mem_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = self_put,
        .get = self_get,
        .fetch_add = self_fetch_add,
        .map = am_dev_no_map,
        .wait = self_wait,
        .check = am_dev_no_check,
        .describe = am_dev_no_describe,
};
