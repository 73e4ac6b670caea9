/*
 * Receiving over shared memory.  The receiver looks at the stamp of the slot
 * it expects; nothing else is shared until a quarter of the lane has been
 * consumed.
 */
#include "config.h"

#include "dev/shm/shm_inl.h"

/* A quarter of the ring. */
void shm_rx_start(struct shm_rx *rx)
{
    uint32_t step = rx->mask < 3 ? 1 : (rx->mask + 1) / 4;

    rx->next = rx->slots + (rx->stop_at & rx->mask);
    rx->stop = rx->next + step;
    rx->lap = shm_lap(rx->stop_at, rx->mask);
    rx->whole = shm_whole(rx->lap);
    rx->stop_at += step;
}

void shm_rx_publish(struct shm_rx *rx)
{
    uint64_t head = rx->stop_at - (uint64_t)(rx->stop - rx->next);

    rx->told_slots = head;
    rx->told_data = rx->data_head;
    /* The sender may see either first, and may then use that space again. */
    am_publish64(&rx->shared->data_bytes, rx->data_head);
    am_publish64(&rx->shared->slots, head);
}

/* A run is consumed. */
static __attribute__((noinline)) void rx_turn(struct shm_dev *dev,
                                              struct shm_rx *rx)
{
    dev->expected = NULL; /* the next payload sets it, if one still comes */
    shm_rx_publish(rx);
    shm_rx_start(rx);
}

/* What follows on this lane is not to be believed. */
static __attribute__((noinline)) void rx_break(struct shm_ep *ep,
                                               const char *what)
{
    shm_break(ep, what);
    ep->ep.dev->enough = true;
}

/* While a context only looks whether there is a packet, it fetches the line where the
 * payload would be, if the last one was no longer than this: then the lines of both
 * come at the same time, and between cores that are far from each other 64 bytes take
 * 350 ns instead of 420, and 128 bytes 395 instead of 430.  Not if it was longer: to
 * fetch the first lines of a payload of 1 KiB or more while it is written takes them
 * from the sender, and cost 30 to 50 ns. */
#define EXPECTED_MOST 128

/* A payload that took so much of the ring, and `bytes` of it are its own, is consumed. */
static inline void rx_consumed(struct shm_dev *dev, struct shm_rx *rx,
                               uint64_t total, size_t bytes)
{
    rx->data_head += total;
    dev->expected = bytes <= EXPECTED_MOST
                            ? rx->data + (rx->data_head & (rx->ring_bytes - 1))
                            : NULL;
    if (shm_ring_is_small(rx->ring_bytes)) {
        rx->told_data = rx->data_head;
        am_publish64(&rx->shared->data_bytes, rx->data_head);
        return;
    }
    rx->data_count += total;
    if (rx->data_count >= SHM_DATA_UNIT) {
        rx->data_count = 0;
        shm_rx_publish(rx);
    }
}

static inline bool rx_check_is(const struct shm_rx *rx, uint64_t ctl,
                               uint64_t place)
{
    return (uint16_t)(ctl >> 40) ==
           (shm_data_check(place, (uint8_t)(ctl >> 32)) |
            (uint64_t)(uint8_t)rx->lap << 8);
}

/* How far is who has just written this?  One in so many packets is asked of which a near
 * core's are copied in a way of their own (base/copy.h), as who only receives learns it
 * nowhere else; a prime number, so that it is not always the same of a window.  One that
 * comes late says little, as its page may be new, or the line may have left the cache: the
 * next is asked, too.  A line in the middle: the first may have been fetched with those of
 * the packet before. */
#define LONGS_LOOKED 61

static __attribute__((noinline)) void rx_look(const struct shm_dev *dev,
                                              struct shm_ep *ep,
                                              struct shm_rx *rx,
                                              const char *data, size_t bytes)
{
    uintptr_t middle = (uintptr_t)(data + bytes / 2) & ~(uintptr_t)7;
    bool near = am_copy_is_near(dev->env, (const void *)middle, dev->near_ps);

    if (near || rx->is_late) {
        ep->ep.near = near;
        rx->unlooked = LONGS_LOOKED - 1;
    }
    rx->is_late = !near && !rx->is_late;
}

/* Deliver a packet with its payload in the ring, after checking every number
 * in it. */
static __attribute__((noinline)) void rx_data(struct shm_ep *ep,
                                              struct shm_rx *rx, uint32_t class,
                                              uint64_t ctl, uint64_t place)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    uint32_t offset = (uint32_t)place;
    uint32_t bytes = (uint32_t)(place >> 32);
    size_t hdr_bytes = (uint8_t)(ctl >> 32);
    bool hdr_out = hdr_bytes > SHM_EXT_BYTES;
    uint32_t lead = hdr_out ? 0 : offset % SHM_LINE;
    uint32_t start = offset - lead;
    uint64_t total =
            shm_data_need(rx->ring_bytes, hdr_out ? hdr_bytes : 0,
                          (uint64_t)lead + bytes);
    uint32_t at = (uint32_t)(rx->data_head & (rx->ring_bytes - 1));
    uint32_t skip = start == 0 && at != 0 ? rx->ring_bytes - at : 0;
    char *data = rx->data + offset;
    void *hdr = rx->next->u.ext.hdr;

    if (!rx_check_is(rx, ctl, place) ||
        hdr_bytes + (uint64_t)bytes > ep->seg->header.packet_bytes[class] ||
        (skip == 0 && start != at) || start + total > rx->ring_bytes ||
        hdr_bytes > dev->base.attr.hdr_bytes_max) {
        rx_break(ep, "a packet's place or length is none");
        return;
    }
    if (hdr_out) {
        hdr = data;
        data += shm_data_units(hdr_bytes);
    }
    if (am_copy_may_be_far(bytes, false) && !dev->crowded) {
        if (SHM_UNLIKELY(rx->unlooked == 0)) {
            rx_look(dev, ep, rx, data, bytes);
        } else {
            rx->unlooked--;
        }
    }
    dev->stats[AM_DEV_STAT_RX_BYTES] += hdr_bytes + bytes;
    dev->base.up.packet(ep->ep.user, class, hdr, hdr_bytes, data, bytes);
    rx_consumed(dev, rx, skip + total, bytes);
    if (skip > 0) {
        shm_rx_publish(rx); /* it may be most of the ring */
    }
}

/* The same.  A payload of a few lines, and a header in the slot, where the next ones are
 * expected: as shm_send_lines sends them. */
static __attribute__((noinline)) void rx_lines(struct shm_ep *ep,
                                               struct shm_rx *rx,
                                               uint32_t class, uint64_t ctl,
                                               uint64_t place)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    uint32_t at = (uint32_t)(rx->data_head & (rx->ring_bytes - 1));
    size_t bytes = place >> 32;
    size_t hdr_bytes = (uint8_t)(ctl >> 32);
    uint64_t total = shm_lines_need(bytes);

    if (SHM_UNLIKELY((uint32_t)place != at || hdr_bytes > SHM_EXT_BYTES ||
                     !shm_lines_may(ep, class, bytes) ||
                     at + total > rx->ring_bytes ||
                     !rx_check_is(rx, ctl, place))) {
        rx_data(ep, rx, class, ctl, place);
        return;
    }
    dev->stats[AM_DEV_STAT_RX_BYTES] += hdr_bytes + bytes;
    dev->base.up.packet(ep->ep.user, class, rx->next->u.ext.hdr, hdr_bytes,
                        rx->data + at, bytes);
    rx_consumed(dev, rx, total, bytes);
}

/* Is there room for a reply of the largest size, whose header and payload end
 * with a part of a line?  Twice that, because as much may be lost to the skip
 * at the ring's end. */
static inline bool reply_has_room(struct shm_ep *ep, struct shm_tx *tx,
                                  uint64_t packet_bytes)
{
    uint64_t most = packet_bytes + 2 * SHM_LINE +
                    shm_data_gap(tx->ring_bytes, SHM_GAP_MOST);

    return shm_tx_has_slot(ep, tx) && shm_tx_has_data(tx, 2 * most);
}

bool shm_reply_ready(struct am_dev_ep *dep)
{
    struct shm_ep *ep = shm_ep_of(dep);

    return ep->seg != NULL &&
           reply_has_room(ep, &ep->tx[AM_DEV_REPLY],
                          ep->seg->header.packet_bytes[AM_DEV_REPLY]);
}

/* A packet that is not all in its slot; or somebody wrote nonsense. */
static __attribute__((noinline)) void
rx_odd(struct shm_ep *ep, struct shm_rx *rx, uint32_t class, uint64_t ctl)
{
    uint64_t place = ((volatile struct shm_slot *)rx->next)->u.ext.place;

    if (ctl >> 56 == SHM_DATA) {
        if (place >> 32 <= SHM_LINES_MOST) {
            rx_lines(ep, rx, class, ctl, place);
        } else {
            rx_data(ep, rx, class, ctl, place);
        }
    } else {
        rx_break(ep, "a slot's control word is none");
    }
}

static bool ask_deliver(struct shm_dev *dev, struct shm_ep *ep)
{
    if (!reply_has_room(ep, &ep->tx[AM_DEV_REPLY],
                        ep->seg->header.packet_bytes[AM_DEV_REPLY])) {
        return false;
    }
    if (dev->base.up.ready != NULL) {
        return dev->base.up.ready(ep->ep.user); /* each time */
    }
    ep->reply_room = true;
    return true;
}

/* May a request be delivered?  Room for a reply that was there is there until
 * one is sent: only the peer's reading changes it besides, and adds to it. */
static inline bool may_deliver(struct shm_dev *dev, struct shm_ep *ep)
{
    return SHM_LIKELY(ep->reply_room) || ask_deliver(dev, ep);
}

__attribute__((noinline)) int shm_rx_drain(struct shm_dev *dev,
                                           struct shm_ep *ep, uint32_t class,
                                           uint32_t max)
{
    struct shm_rx *rx = &ep->rx[class];
    uint32_t left = max;

    do {
        struct shm_slot *slot = rx->next;
        uint64_t ctl = am_observe64(&slot->ctl);
        size_t hdr_bytes = (uint8_t)(ctl >> 32);
        size_t bytes = (uint8_t)(ctl >> 40);

        if ((uint32_t)ctl != rx->lap ||
            (class == AM_DEV_REQUEST && !may_deliver(dev, ep))) {
            break;
        }
        if (SHM_LIKELY((ctl >> 48) + ((uint64_t)(hdr_bytes + bytes) << 8) ==
                       rx->whole)) {
            dev->stats[AM_DEV_STAT_RX_BYTES] += hdr_bytes + bytes;
            dev->base.up.packet(ep->ep.user, class, slot->u.w, hdr_bytes,
                                (char *)slot->u.w + hdr_bytes, bytes);
        } else {
            rx_odd(ep, rx, class, ctl);
            if (SHM_UNLIKELY(dev->base.enough)) {
                dev->base.enough = false;
                max -= left - 1;
                left = 1;
            }
        }
        rx->next = slot + 1;
        if (SHM_UNLIKELY(rx->next == rx->stop)) {
            rx_turn(dev, rx);
        }
    } while (--left > 0);
    dev->stats[AM_DEV_STAT_RX_PACKETS] += max - left;
    return (int)(max - left);
}

/* A dead peer adds nothing: no more than the lane holds, whoever writes there.
 * Nor does it make room for replies, of which none is sent any more: so requests
 * do not wait for that. */
void shm_rx_empty(struct shm_ep *ep)
{
    static const uint32_t order[] = {AM_DEV_REPLY, AM_DEV_REQUEST};
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    ep->dying = true;
    ep->tx_open = false;
    ep->reply_room = true;
    for (int i = 0; i < 2 && ep->rx_open; i++) {
        uint32_t left = ep->rx[order[i]].mask + 1;
        int count = 1;

        while (left > 0 && count > 0 && ep->broken == NULL &&
               shm_rx_is_stamped(&ep->rx[order[i]])) {
            count = shm_rx_drain(dev, ep, order[i], left);
            left -= (uint32_t)count;
        }
    }
}
