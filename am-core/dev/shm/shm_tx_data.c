/*
 * Payloads that do not fit a slot: they go through the data ring, and the slot says where.
 */
#include "config.h"

#include "base/copy.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"

#include <string.h>

static inline uint64_t ctl_data(uint64_t stamp, size_t hdr_bytes,
                                uint64_t place)
{
    return stamp | (uint64_t)hdr_bytes << 32 |
           shm_data_check(place, hdr_bytes) << 40 | (uint64_t)SHM_DATA << 56;
}

/* May a packet that would be the first to use pages go to a small ring's start?  Half of
 * what this lap has must be consumed, and no packet may ever have found the ring full. */
static bool start_is_free(const struct shm_tx *tx, uint32_t at, uint64_t bytes)
{
    uint64_t unread = tx->data_tail - (tx->data_limit - tx->ring_bytes);

    return !tx->tight && unread <= at / 2 && bytes <= at - unread;
}

/* Bytes to skip of a small ring.  When it is empty the packet goes to its start, and the
 * receiver, which has nothing to say before it comes there, has consumed the rest. */
static uint64_t small_skip(struct shm_dev *dev, struct shm_tx *tx, uint32_t at,
                           uint64_t bytes)
{
    uint64_t back = tx->ring_bytes - at, skip = bytes > back ? back : 0;
    uint64_t end = at + bytes;

    /* the second: a unit is a power of two, and ends between the two */
    if (SHM_UNLIKELY(end > tx->made ||
                     (at ^ end) >= shm_small_unit(tx->ring_bytes))) {
        (void)shm_tx_refresh(tx);
        if (at > 0 && tx->data_limit - tx->data_tail == tx->ring_bytes) {
            tx->data_limit += back;
            skip = back;
        } else if (end > tx->made && start_is_free(tx, at, bytes)) {
            skip = back;
        }
        end = skip > 0 ? bytes : end;
        if (end > tx->made) {
            shm_pages_more(dev, tx, (uint32_t)end);
        }
    }
    return skip;
}

/* Bytes to skip so that `bytes` lie contiguous: at the ring's tail, or at its
 * start (shm_inl.h tells when). */
static inline uint64_t tx_data_skip(struct shm_ep *ep, struct shm_tx *tx,
                                    uint64_t bytes)
{
    uint32_t at = shm_tx_at(tx);

    if (shm_ring_is_small(tx->ring_bytes)) {
        return small_skip(shm_dev_of(ep->ep.dev), tx, at, bytes);
    }
    return SHM_LIKELY(shm_front_has(tx, bytes))
                   ? 0
                   : shm_front_leave(ep, tx, at, bytes);
}

static inline bool tx_has_place(struct shm_ep *ep, struct shm_tx *tx,
                                uint64_t bytes, uint64_t *skip_p)
{
    *skip_p = tx_data_skip(ep, tx, bytes);
    if (SHM_LIKELY(shm_tx_has_data(tx, *skip_p + bytes))) {
        return true;
    }
    tx->tight = true;
    return false;
}

/* What a peer waits for goes, up to so many bytes, to the cache that both cores share: half a
 * round trip of 256 bytes to 4 KiB takes 0.85 to 0.9 times as long (Intel's Emerald Rapids).
 * Windows of 256 bytes to 1 KiB take 1.1 to 1.6 times as long if all of them do. */
#define SHARED_MOST ((size_t)4096)

static __attribute__((noinline)) void
answer_share(const struct shm_ep *ep, const char *data, size_t bytes)
{
    const struct shm_dev *dev = shm_dev_of(ep->ep.dev);

    if (!ep->ep.near && !dev->crowded && !dev->core_shared) {
        am_lines_share(data, bytes);
    }
}

/* Packets that have come from the peer, in 8 bits. */
static inline uint8_t heard_so_far(const struct shm_ep *ep)
{
    uintptr_t at = (uintptr_t)ep->rx[0].next + (uintptr_t)ep->rx[1].next;

    return (uint8_t)(at / sizeof(*ep->rx[0].next));
}

/* The peer waits for what is sent, most likely, if something has come from it since the packet
 * before; a stream goes on without. */
static inline void share(const struct shm_ep *ep, struct shm_tx *tx,
                         const char *data, size_t bytes)
{
    uint8_t now = heard_so_far(ep);

    if (SHM_UNLIKELY(now != tx->heard_last)) {
        tx->heard_last = now;
        answer_share(ep, data, bytes);
    }
}

/* As shm_tx_publish, and a payload that took `total` of the ring: then its next lines. */
static inline am_status_t publish_data(struct shm_ep *ep, struct shm_tx *tx,
                                       struct shm_slot *slot, uint64_t ctl,
                                       uint64_t total)
{
    am_status_t status = shm_tx_publish(ep, tx, slot, ctl);
    uint32_t at = shm_tx_at(tx);

    if (SHM_UNLIKELY(at + total > tx->fetched)) {
        shm_front_fetch(tx, at, total);
    }
    return status;
}

/* Up to SHM_LINES_MOST bytes. */
static inline void copy_lines(char *to, const char *from, size_t bytes)
{
    const size_t step = AM_COPY_SMALL;
    size_t at = 0;

    if (bytes <= step) {
        am_copy_small(to, from, bytes);
        return;
    }
    for (; at + step < bytes; at += step) {
        memcpy(to + at, from + at, step);
    }
    memcpy(to + bytes - step, from + bytes - step, step);
}

static inline void data_count(uint64_t *stats, size_t hdr_bytes, size_t bytes)
{
    stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    stats[AM_DEV_STAT_TX_PACKETS]++;
    stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + bytes;
}

/* A packet whose payload goes through the data ring. */
am_status_t shm_send_data(struct shm_ep *ep, struct shm_tx *tx,
                          const uint64_t *hdr, size_t hdr_bytes,
                          const struct shm_payload *payload)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    uint64_t *stats = dev->stats;
    size_t bytes = payload->bytes;
    bool hdr_out = hdr_bytes > SHM_EXT_BYTES;
    uint32_t lead = hdr_out || payload->fill != NULL
                            ? 0
                            : shm_data_lead(payload->data, bytes);
    uint64_t total = shm_data_need(tx->ring_bytes, hdr_out ? hdr_bytes : 0,
                                   lead + bytes);
    uint64_t skip, place;
    struct shm_slot *slot;
    am_status_t status;
    uint32_t at;

    if (bytes > ep->seg->header.packet_bytes[tx - ep->tx] - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    /* the slot first: what a skip has changed is not taken back */
    if (!shm_tx_has_slot(ep, tx) || !tx_has_place(ep, tx, total, &skip)) {
        stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    slot = tx->next;
    at = (uint32_t)((tx->data_tail + skip) & (tx->ring_bytes - 1)) + lead;
    tx->data_tail += skip + total;
    place = at | (uint64_t)bytes << 32;
    slot->u.ext.place = place;
    if (hdr_out) {
        memcpy(tx->data + at, hdr, hdr_bytes);
        at += (uint32_t)shm_data_units(hdr_bytes);
    } else {
        shm_copy_words(slot->u.ext.hdr, hdr, hdr_bytes);
    }
    if (SHM_UNLIKELY(bytes >= AM_METER_BYTES)) {
        shm_payload_write_timed(ep, payload, tx->data + at);
    } else {
        shm_payload_write(payload, tx->data + at, ep->ep.near);
    }
    data_count(stats, hdr_bytes, bytes);
    status = publish_data(ep, tx, slot, ctl_data(tx->stamp, hdr_bytes, place),
                          total);
    if (bytes <= SHARED_MOST) {
        share(ep, tx, tx->data + at, bytes);
    }
    return status;
}

/* Nothing is asked here that matters to longer payloads only. */
am_status_t shm_send_lines(struct shm_ep *ep, struct shm_tx *tx, uint64_t first,
                           const uint64_t *words, const void *data,
                           size_t bytes)
{
    struct shm_slot *slot = tx->next;
    uint64_t total = shm_lines_need(bytes);
    uint32_t at = shm_tx_at(tx);
    uint64_t place = at | (uint64_t)bytes << 32;
    size_t hdr_bytes = sizeof(first) * (1 + (size_t)am_dev_word_count(first));

    tx->data_tail += total;
    copy_lines(tx->data + at, data, bytes);
    slot->u.ext.place = place;
    slot->u.ext.hdr[0] = first;
    shm_copy_words(slot->u.ext.hdr + 1, words, hdr_bytes - sizeof(first));
    data_count(shm_dev_of(ep->ep.dev)->stats, hdr_bytes, bytes);
    share(ep, tx, tx->data + at, bytes);
    return publish_data(ep, tx, slot, ctl_data(tx->stamp, hdr_bytes, place),
                        total);
}
