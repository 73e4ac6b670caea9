/*
 * The data path of the shm device.  A short message is one cache line: words
 * and payload first, then the stamp.  The receiver looks at the stamp of the
 * slot it expects; nothing else is shared until a quarter of the lane has been
 * consumed.
 */
#include "config.h"

#include "dev/shm/shm.h"

#include <string.h>

#define SHM_LIKELY(_x)   __builtin_expect(!!(_x), 1)
#define SHM_UNLIKELY(_x) __builtin_expect(!!(_x), 0)

static inline uint64_t ctl_make(uint64_t position, size_t hdr_bytes,
                                size_t bytes, unsigned kind)
{
    return (uint64_t)(uint32_t)(position + 1) | (uint64_t)hdr_bytes << 32 |
           (uint64_t)bytes << 40 | (uint64_t)kind << 48;
}

/* Copy up to 56 bytes without a call: two overlapping moves at the end. */
static inline void copy_short(char *to, const char *from, size_t bytes)
{
    while (bytes >= 16) {
        memcpy(to, from, 16);
        to += 16;
        from += 16;
        bytes -= 16;
    }
    if (bytes >= 8) {
        uint64_t first, last;

        memcpy(&first, from, 8);
        memcpy(&last, from + bytes - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + bytes - 8, &last, 8);
    } else if (bytes >= 4) {
        uint32_t first, last;

        memcpy(&first, from, 4);
        memcpy(&last, from + bytes - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + bytes - 4, &last, 4);
    } else if (bytes > 0) {
        char middle = from[bytes / 2], last = from[bytes - 1];

        to[0] = from[0];
        to[bytes / 2] = middle;
        to[bytes - 1] = last;
    }
}

/* Copy a header: whole words, and each loaded as it was stored just before
 * (a wider load would wait for the stores to reach the cache). */
static inline void copy_words(uint64_t *to, const void *hdr, size_t bytes)
{
    const uint64_t *from = hdr;

    for (size_t i = 0; i < bytes / 8; i++) {
        to[i] = from[i];
    }
}

/* Learn what the receiver has consumed; its numbers are not trusted. */
static __attribute__((noinline)) void tx_refresh(struct shm_tx *tx)
{
    uint64_t head =
            atomic_load_explicit(&tx->shared->slots, memory_order_acquire);
    uint64_t data_head =
            atomic_load_explicit(&tx->shared->data_bytes, memory_order_relaxed);

    if (head - tx->head <= tx->tail - tx->head) {
        tx->head = head;
    }
    if (data_head - tx->data_head <= tx->data_tail - tx->data_head) {
        tx->data_head = data_head;
    }
}

static inline bool tx_has_slot(struct shm_tx *tx)
{
    if (SHM_UNLIKELY(tx->tail - tx->head >= tx->depth)) {
        tx_refresh(tx);
        return tx->tail - tx->head < tx->depth;
    }
    return true;
}

/* Bytes to skip so that `bytes` lie contiguous at the ring's tail. */
static inline uint64_t tx_data_skip(const struct shm_tx *tx, uint64_t bytes)
{
    uint64_t at = tx->data_tail & (tx->ring_bytes - 1);

    return at + bytes > tx->ring_bytes ? tx->ring_bytes - at : 0;
}

static inline bool tx_has_data(struct shm_tx *tx, uint64_t need)
{
    if (SHM_UNLIKELY(tx->data_tail + need - tx->data_head > tx->ring_bytes)) {
        tx_refresh(tx);
        return tx->data_tail + need - tx->data_head <= tx->ring_bytes;
    }
    return true;
}

static inline uint64_t data_units(uint64_t bytes)
{
    return (bytes + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

/* The slot is written: stamp it, and ring if the peer sleeps. */
static inline void tx_publish(struct shm_ep *ep, struct shm_tx *tx,
                              struct shm_slot *slot, uint64_t ctl)
{
    atomic_store_explicit(&slot->ctl, ctl, memory_order_release);
    tx->tail++;
    /* The sleeper's membarrier makes this load see its flag or the sleeper
     * see the stamp; only the compiler must be kept from moving it up. */
    atomic_signal_fence(memory_order_seq_cst);
    if (SHM_UNLIKELY(atomic_load_explicit(ep->peer_sleeping,
                                          memory_order_relaxed) != 0)) {
        shm_wake(ep);
    }
}

/* The first send to a peer, and a send before the segment is there. */
static __attribute__((noinline)) am_status_t tx_open(struct shm_ep *ep)
{
    if (ep->dead) {
        return AM_ERR_PEER;
    }
    if (ep->seg == NULL) {
        return AM_ERR_AGAIN;
    }
    shm_ep_announce(ep);
    return AM_OK;
}

/* A packet whose payload goes through the data ring. */
static __attribute__((noinline)) am_status_t
send_data(struct shm_ep *ep, uint32_t class, const void *hdr, size_t hdr_bytes,
          am_dev_fill_fn fill, void *arg, const void *data, size_t bytes)
{
    uint64_t *stats = shm_dev_of(ep->ep.dev)->stats;
    struct shm_tx *tx = &ep->tx[class];
    struct shm_slot *slot = &tx->slots[tx->tail & (tx->depth - 1)];
    bool hdr_out = hdr_bytes > SHM_EXT_BYTES;
    uint64_t total = data_units((hdr_out ? hdr_bytes : 0) + bytes);
    uint64_t skip = tx_data_skip(tx, total);
    uint32_t at;

    if (hdr_bytes + bytes > ep->seg->header.packet_bytes[class]) {
        return AM_ERR_INVALID;
    }
    if (!tx_has_slot(tx) || !tx_has_data(tx, skip + total)) {
        stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    at = (uint32_t)((tx->data_tail + skip) & (tx->ring_bytes - 1));
    tx->data_tail += skip + total;
    slot->u.ext.offset = at;
    slot->u.ext.bytes = (uint32_t)bytes;
    if (hdr_out) {
        memcpy(tx->data + at, hdr, hdr_bytes);
        at += (uint32_t)hdr_bytes;
    } else {
        copy_words(slot->u.ext.hdr, hdr, hdr_bytes);
    }
    if (fill != NULL) {
        fill(arg, tx->data + at, bytes);
    } else if (bytes > 0) {
        memcpy(tx->data + at, data, bytes);
    }
    stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    stats[AM_DEV_STAT_TX_PACKETS]++;
    stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + bytes;
    tx_publish(ep, tx, slot,
               ctl_make(tx->tail, hdr_bytes, 0,
                        hdr_out ? SHM_ALL_DATA : SHM_DATA));
    return AM_OK;
}

am_status_t shm_send(struct am_dev_ep *dep, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes)
{
    struct shm_ep *ep = shm_ep_of(dep);
    struct shm_tx *tx = &ep->tx[class];
    uint64_t *stats = shm_dev_of(dep->dev)->stats;
    struct shm_slot *slot;

    if (SHM_UNLIKELY(!ep->tx_open)) {
        am_status_t status = tx_open(ep);

        if (status != AM_OK) {
            return status;
        }
    }
    if (hdr_bytes + data_bytes > SHM_SLOT_BYTES) {
        return send_data(ep, class, hdr, hdr_bytes, NULL, NULL, data,
                         data_bytes);
    }
    if (SHM_UNLIKELY(!tx_has_slot(tx))) {
        stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    slot = &tx->slots[tx->tail & (tx->depth - 1)];
    copy_words(slot->u.w, hdr, hdr_bytes);
    copy_short((char *)slot->u.w + hdr_bytes, data, data_bytes);
    stats[AM_DEV_STAT_TX_PACKETS]++;
    stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    tx_publish(ep, tx, slot,
               ctl_make(tx->tail, hdr_bytes, data_bytes, SHM_INLINE));
    return AM_OK;
}

am_status_t shm_send_fill(struct am_dev_ep *dep, uint32_t class,
                          const void *hdr, size_t hdr_bytes,
                          am_dev_fill_fn fill, void *arg, size_t data_bytes)
{
    struct shm_ep *ep = shm_ep_of(dep);

    if (SHM_UNLIKELY(!ep->tx_open)) {
        am_status_t status = tx_open(ep);

        if (status != AM_OK) {
            return status;
        }
    }
    if (hdr_bytes + data_bytes <= SHM_SLOT_BYTES) {
        char payload[SHM_SLOT_BYTES];

        if (!tx_has_slot(&ep->tx[class])) {
            return AM_ERR_AGAIN; /* before the fill: no side effect */
        }
        fill(arg, payload, data_bytes);
        return shm_send(dep, class, hdr, hdr_bytes, payload, data_bytes);
    }
    return send_data(ep, class, hdr, hdr_bytes, fill, arg, NULL, data_bytes);
}

bool shm_reply_ready(struct am_dev_ep *dep)
{
    struct shm_ep *ep = shm_ep_of(dep);
    struct shm_tx *tx = &ep->tx[AM_DEV_REPLY];

    /* Twice the packet: one may be lost to the skip at the ring's end. */
    return ep->seg != NULL && tx_has_slot(tx) &&
           tx_has_data(tx, 2 * ep->seg->header.packet_bytes[AM_DEV_REPLY]);
}

/* Tell the sender what has been consumed. */
static inline void rx_publish(struct shm_rx *rx)
{
    rx->head_published = rx->head;
    rx->data_published = rx->data_head;
    atomic_store_explicit(&rx->shared->data_bytes, rx->data_head,
                          memory_order_relaxed);
    atomic_store_explicit(&rx->shared->slots, rx->head, memory_order_release);
}

/* Deliver a packet with its payload in the ring, after checking every number
 * in it. */
static __attribute__((noinline)) void rx_data(struct shm_ep *ep, uint32_t class,
                                              struct shm_slot *slot,
                                              size_t hdr_bytes, unsigned kind)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    struct shm_rx *rx = &ep->rx[class];
    uint32_t offset = ((volatile struct shm_slot *)slot)->u.ext.offset;
    uint32_t bytes = ((volatile struct shm_slot *)slot)->u.ext.bytes;
    uint64_t total = data_units((kind == SHM_ALL_DATA ? hdr_bytes : 0) +
                                (uint64_t)bytes);
    uint32_t at = (uint32_t)(rx->data_head & (rx->ring_bytes - 1));
    uint32_t skip = offset == 0 && at != 0 ? rx->ring_bytes - at : 0;
    char *data = rx->data + offset;
    void *hdr = slot->u.ext.hdr;

    if (hdr_bytes + bytes > ep->seg->header.packet_bytes[class] ||
        (skip == 0 && offset != at) || offset + total > rx->ring_bytes ||
        (kind == SHM_DATA && hdr_bytes > SHM_EXT_BYTES)) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    if (kind == SHM_ALL_DATA) {
        hdr = data;
        data += hdr_bytes;
    }
    dev->stats[AM_DEV_STAT_RX_BYTES] += hdr_bytes + bytes;
    dev->base.up.packet(ep->ep.user, class, hdr, hdr_bytes, data, bytes);
    rx->data_head += skip + total;
}

static inline bool rx_may_deliver(struct shm_dev *dev, struct shm_ep *ep,
                                  uint32_t class)
{
    return class == AM_DEV_REPLY ||
           (shm_reply_ready(&ep->ep) &&
            (dev->base.up.ready == NULL || dev->base.up.ready(ep->ep.user)));
}

/* Deliver what is in one class of a lane. */
static inline int rx_drain(struct shm_dev *dev, struct shm_ep *ep,
                           uint32_t class, uint32_t max)
{
    struct shm_rx *rx = &ep->rx[class];
    uint64_t inline_bytes = 0;
    uint32_t count = 0;

    while (count < max) {
        struct shm_slot *slot = &rx->slots[rx->head & (rx->depth - 1)];
        uint64_t ctl = atomic_load_explicit(&slot->ctl, memory_order_acquire);
        size_t hdr_bytes = (uint8_t)(ctl >> 32);
        size_t bytes = (uint8_t)(ctl >> 40);
        unsigned kind = (uint8_t)(ctl >> 48);

        if ((uint32_t)ctl != (uint32_t)(rx->head + 1) ||
            !rx_may_deliver(dev, ep, class)) {
            break;
        }
        if (SHM_LIKELY(kind == SHM_INLINE &&
                       hdr_bytes + bytes <= SHM_SLOT_BYTES)) {
            inline_bytes += hdr_bytes + bytes;
            dev->base.up.packet(ep->ep.user, class, slot->u.w, hdr_bytes,
                                (char *)slot->u.w + hdr_bytes, bytes);
        } else if (kind == SHM_DATA || kind == SHM_ALL_DATA) {
            rx_data(ep, class, slot, hdr_bytes, kind);
        } else {
            dev->stats[AM_DEV_STAT_RX_BAD]++;
        }
        rx->head++;
        count++;
        if (SHM_UNLIKELY(rx->head - rx->head_published >= rx->depth / 4 ||
                         rx->data_head - rx->data_published >=
                                 rx->ring_bytes / 4)) {
            rx_publish(rx);
        }
    }
    if (count > 0) {
        dev->stats[AM_DEV_STAT_RX_PACKETS] += count;
        dev->stats[AM_DEV_STAT_RX_BYTES] += inline_bytes;
    }
    return (int)count;
}

bool shm_has_input(struct shm_dev *dev)
{
    for (uint32_t i = 0; i < dev->active_count; i++) {
        for (int c = 0; c < 2; c++) {
            struct shm_rx *rx = &dev->active[i]->rx[c];
            struct shm_slot *slot = &rx->slots[rx->head & (rx->depth - 1)];

            if ((uint32_t)atomic_load(&slot->ctl) == (uint32_t)(rx->head + 1)) {
                return true;
            }
        }
    }
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (atomic_load(&seg->me->attached) != seg->attached_seen) {
            return true;
        }
    }
    return false;
}

int shm_poll(struct am_dev *adev, uint32_t packets_max)
{
    struct shm_dev *dev = shm_dev_of(adev);
    int count = 0;

    for (uint32_t i = 0; i < dev->active_count; i++) {
        count += rx_drain(dev, dev->active[i], AM_DEV_REPLY, packets_max);
        count += rx_drain(dev, dev->active[i], AM_DEV_REQUEST, packets_max);
    }
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (SHM_UNLIKELY(atomic_load_explicit(&seg->me->attached,
                                              memory_order_relaxed) !=
                         seg->attached_seen)) {
            count += shm_attach_new(dev, seg);
        }
    }
    if (SHM_UNLIKELY((dev->polls++ & dev->socket_mask) == 0)) {
        shm_sockets_serve(dev);
    }
    return count;
}
