/*
 * Receiving over shared memory.  The receiver looks at the stamp of the slot
 * it expects; nothing else is shared until a quarter of the lane has been
 * consumed.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"

/* Tell the sender what has been consumed. */
static inline void rx_publish(struct shm_rx *rx)
{
    rx->publish_at = rx->head + shm_publish_step(rx->mask + 1);
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
    uint64_t total = shm_data_units((kind == SHM_ALL_DATA ? hdr_bytes : 0) +
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

/* Is there room for a reply of the largest size?  Twice the packet, because
 * one may be lost to the skip at the ring's end. */
static inline bool reply_has_room(struct shm_tx *tx, uint64_t packet_bytes)
{
    return shm_tx_has_slot(tx) && shm_tx_has_data(tx, 2 * packet_bytes);
}

bool shm_reply_ready(struct am_dev_ep *dep)
{
    struct shm_ep *ep = shm_ep_of(dep);

    return ep->seg != NULL &&
           reply_has_room(&ep->tx[AM_DEV_REPLY],
                          ep->seg->header.packet_bytes[AM_DEV_REPLY]);
}

static inline bool rx_is_stamped(const struct shm_rx *rx)
{
    struct shm_slot *slot = &rx->slots[rx->head & rx->mask];

    return (uint32_t)atomic_load_explicit(&slot->ctl, memory_order_acquire) ==
           (uint32_t)(rx->head + 1);
}

/* Deliver up to `max` packets of one class of a lane. */
static inline __attribute__((always_inline)) int
rx_drain(struct shm_dev *dev, struct shm_ep *ep, uint32_t class, uint32_t max)
{
    bool (*ready)(void *user) = dev->base.up.ready;
    uint64_t reply_bytes = ep->seg->header.packet_bytes[AM_DEV_REPLY];
    struct shm_rx *rx = &ep->rx[class];
    uint64_t inline_bytes = 0;
    uint32_t count = 0;

    do {
        struct shm_slot *slot = &rx->slots[rx->head & rx->mask];
        uint64_t ctl = atomic_load_explicit(&slot->ctl, memory_order_acquire);
        size_t hdr_bytes = (uint8_t)(ctl >> 32);
        size_t bytes = (uint8_t)(ctl >> 40);
        unsigned kind = (uint8_t)(ctl >> 48);

        if ((uint32_t)ctl != (uint32_t)(rx->head + 1)) {
            break;
        }
        if (class == AM_DEV_REQUEST &&
            (!reply_has_room(&ep->tx[AM_DEV_REPLY], reply_bytes) ||
             (SHM_UNLIKELY(ready != NULL) && !ready(ep->ep.user)))) {
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
        if (SHM_UNLIKELY(++rx->head == rx->publish_at ||
                         rx->data_head - rx->data_published >=
                                 rx->ring_bytes / 4)) {
            rx_publish(rx);
        }
    } while (++count < max);
    dev->stats[AM_DEV_STAT_RX_PACKETS] += count;
    dev->stats[AM_DEV_STAT_RX_BYTES] += inline_bytes;
    return (int)count;
}

static __attribute__((noinline)) int
drain_requests(struct shm_dev *dev, struct shm_ep *ep, uint32_t max)
{
    return rx_drain(dev, ep, AM_DEV_REQUEST, max);
}

static __attribute__((noinline)) int
drain_replies(struct shm_dev *dev, struct shm_ep *ep, uint32_t max)
{
    return rx_drain(dev, ep, AM_DEV_REPLY, max);
}

/* It ends because a dead peer adds nothing. */
void shm_rx_empty(struct shm_ep *ep)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    while (ep->rx_open && rx_is_stamped(&ep->rx[AM_DEV_REPLY])) {
        (void)drain_replies(dev, ep, UINT32_MAX);
    }
    while (ep->rx_open && rx_is_stamped(&ep->rx[AM_DEV_REQUEST]) &&
           drain_requests(dev, ep, UINT32_MAX) > 0) {
    }
}

bool shm_has_input(struct shm_dev *dev)
{
    for (uint32_t i = 0; i < dev->active_count; i++) {
        if (rx_is_stamped(&dev->active[i]->rx[AM_DEV_REPLY]) ||
            rx_is_stamped(&dev->active[i]->rx[AM_DEV_REQUEST])) {
            return true;
        }
    }
    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (atomic_load(&seg->me->attached) != seg->attached_seen) {
            return true;
        }
    }
    return false;
}

/* Every few polls: lanes that peers have opened; rarely: the sockets. */
static __attribute__((noinline)) int poll_rare(struct shm_dev *dev)
{
    int count = 0;

    for (struct shm_seg *seg = dev->segs; seg != NULL; seg = seg->next) {
        if (atomic_load_explicit(&seg->me->attached, memory_order_relaxed) !=
            seg->attached_seen) {
            count += shm_attach_new(dev, seg);
        }
    }
    if ((dev->polls & dev->socket_mask) == 0) {
        shm_sockets_serve(dev);
    }
    return count;
}

int shm_poll(struct am_dev *adev, uint32_t packets_max)
{
    struct shm_dev *dev = shm_dev_of(adev);
    int count = 0;

    for (uint32_t i = 0; i < dev->active_count; i++) {
        struct shm_ep *ep = dev->active[i];

        if (rx_is_stamped(&ep->rx[AM_DEV_REPLY])) {
            count += drain_replies(dev, ep, packets_max);
        }
        if (rx_is_stamped(&ep->rx[AM_DEV_REQUEST])) {
            count += drain_requests(dev, ep, packets_max);
        }
    }
    if (SHM_UNLIKELY((++dev->polls & 7) == 0)) {
        count += poll_rare(dev);
    }
    return count;
}
