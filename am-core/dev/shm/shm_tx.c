/*
 * Sending over shared memory.  A short message is one cache line: words and
 * payload first, then the stamp.
 */
#include "config.h"

#include "base/assert.h"
#include "base/copy.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"
#include "dev/shm/shm_wait.h"

#include <string.h>

static inline uint64_t ctl_short(uint64_t stamp, size_t hdr_bytes, size_t bytes)
{
    return stamp | (uint64_t)hdr_bytes << 32 | (uint64_t)bytes << 40 |
           (uint64_t)(SHM_SLOT_BYTES - hdr_bytes - bytes) << 56;
}

static inline uint64_t ctl_data(uint64_t stamp, size_t hdr_bytes,
                                uint64_t place)
{
    return stamp | (uint64_t)hdr_bytes << 32 |
           shm_data_check(place, hdr_bytes) << 40 | (uint64_t)SHM_DATA << 56;
}

AM_STATIC_ASSERT(SHM_SLOT_BYTES <= AM_COPY_SMALL, "a slot is a small copy");

/* Copy a header: whole words, and each loaded as it was stored just before
 * (a wider load would wait for the stores to reach the cache). */
static inline void copy_words(uint64_t *to, const void *hdr, size_t bytes)
{
    const uint64_t *from = hdr;

    for (size_t i = 0; i < bytes / 8; i++) {
        to[i] = from[i];
    }
}

/* Slots written so far. */
static inline uint64_t tx_tail(const struct shm_tx *tx)
{
    return tx->stop_at - (uint64_t)(tx->stop - tx->next);
}

__attribute__((noinline)) bool shm_tx_refresh(struct shm_tx *tx)
{
    bool sound = true;
    uint64_t head = am_observe64(&tx->shared->slots);
    uint64_t data_head = am_observe64(&tx->shared->data_bytes);
    uint64_t consumed = tx->limit - tx->mask - 1; /* as known so far */

    if (head - consumed <= tx_tail(tx) - consumed) {
        tx->limit = head + tx->mask + 1;
    } else {
        sound = false;
    }
    consumed = tx->data_limit - tx->ring_bytes;
    if (data_head == tx->data_known) {
        return sound;
    }
    if (data_head - consumed <= tx->data_tail - consumed) {
        tx->data_limit = data_head + tx->ring_bytes;
        tx->data_known = data_head;
    } else {
        sound = false;
    }
    return sound;
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
    uint32_t at = (uint32_t)(tx->data_tail & (tx->ring_bytes - 1));

    if (shm_ring_is_small(tx->ring_bytes)) {
        return small_skip(shm_dev_of(ep->ep.dev), tx, at, bytes);
    }
    /* at 0, where a lap of the ring begins, at - 1 wraps, and is beyond any front */
    return SHM_LIKELY((uint64_t)(at - 1) + bytes < tx->front_bytes)
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

__attribute__((noinline)) bool shm_tx_advance(struct shm_ep *ep,
                                              struct shm_tx *tx)
{
    uint64_t tail = tx->stop_at;
    uint64_t index = tail & tx->mask, run;

    if (tail >= tx->limit) {
        shm_costs_refresh(ep, tx);
        if (tail >= tx->limit) {
            return false;
        }
    }
    run = tx->limit - tail;
    if (run > tx->mask + 1 - index) {
        run = tx->mask + 1 - index; /* to the ring's end */
    }
    tx->next = tx->slots + index;
    tx->stop = tx->next + run;
    tx->stop_at = tail + run;
    tx->stamp = shm_stamp(shm_lap(tail, tx->mask));
    return true;
}

/* Off the fast path, and last: its result is the send's. */
static __attribute__((noinline)) am_status_t tx_wake(struct shm_ep *ep)
{
    shm_wake(ep);
    return AM_OK;
}

/* The slot is written: stamp it, and ring if the peer sleeps. */
static inline am_status_t tx_publish(struct shm_ep *ep, struct shm_tx *tx,
                                     struct shm_slot *slot, uint64_t ctl)
{
    am_publish64(&slot->ctl, ctl);
    tx->next = slot + 1;
    ep->reply_room = false; /* if it was a reply; asking is cheaper */
    /* The sleeper's membarrier makes this load see its flag or the sleeper
     * see the stamp; only the compiler must be kept from moving it up. */
    am_barrier_often();
    if (SHM_UNLIKELY(atomic_load_explicit(ep->peer_sleeping,
                                          memory_order_relaxed) != 0)) {
        return tx_wake(ep);
    }
    return AM_OK;
}

/* The first send to a peer, and a send before the segment is there. */
static __attribute__((noinline)) am_status_t tx_open(struct shm_ep *ep)
{
    if (ep->dead || ep->dying) {
        return AM_ERR_PEER;
    }
    if (ep->seg == NULL) {
        return AM_ERR_AGAIN;
    }
    shm_ep_announce(ep);
    return AM_OK;
}

/* The same, and a payload that took `total` of the ring: then its next lines. */
static inline am_status_t publish_data(struct shm_ep *ep, struct shm_tx *tx,
                                       struct shm_slot *slot, uint64_t ctl,
                                       uint64_t total)
{
    am_status_t status = tx_publish(ep, tx, slot, ctl);
    uint32_t at = (uint32_t)(tx->data_tail & (tx->ring_bytes - 1));

    if (SHM_UNLIKELY(at + total > tx->fetched)) {
        shm_front_fetch(tx, at, total);
    }
    return status;
}

/* Is all of a packet in its slot?  A length that is none may wrap the sum. */
static inline bool fits_slot(size_t hdr_bytes, size_t data_bytes)
{
    size_t bytes;

    return !__builtin_add_overflow(hdr_bytes, data_bytes, &bytes) &&
           bytes <= SHM_SLOT_BYTES;
}

/* A packet whose payload goes through the data ring. */
static __attribute__((noinline)) am_status_t
send_data(struct shm_ep *ep, uint32_t class, const uint64_t *hdr,
          size_t hdr_bytes, const struct shm_payload *payload)
{
    struct shm_dev *dev = shm_dev_of(ep->ep.dev);
    uint64_t *stats = dev->stats;
    struct shm_tx *tx = &ep->tx[class];
    size_t bytes = payload->bytes;
    bool hdr_out = hdr_bytes > SHM_EXT_BYTES;
    uint32_t lead = hdr_out || payload->fill != NULL
                            ? 0
                            : shm_data_lead(payload->data, bytes);
    uint64_t total = shm_data_need(tx->ring_bytes, hdr_out ? hdr_bytes : 0,
                                   lead + bytes);
    uint64_t skip, place;
    struct shm_slot *slot;
    uint32_t at;

    if (bytes > ep->seg->header.packet_bytes[class] - hdr_bytes) {
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
        copy_words(slot->u.ext.hdr, hdr, hdr_bytes);
    }
    if (SHM_UNLIKELY(bytes >= AM_METER_BYTES)) {
        shm_payload_write_timed(ep, payload, tx->data + at);
    } else {
        shm_payload_write(payload, tx->data + at, ep->ep.near);
    }
    stats[AM_DEV_STAT_COPY_BYTES] += bytes;
    stats[AM_DEV_STAT_TX_PACKETS]++;
    stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + bytes;
    return publish_data(ep, tx, slot, ctl_data(tx->stamp, hdr_bytes, place),
                        total);
}

/* The slot is written and not yet stamped.  Stamp first, count after: the
 * receiver waits for the stamp. */
static inline am_status_t publish_short(struct shm_ep *ep, struct shm_tx *tx,
                                        struct shm_slot *slot, size_t hdr_bytes,
                                        size_t data_bytes)
{
    uint64_t *stats;
    am_status_t status = tx_publish(
            ep, tx, slot, ctl_short(tx->stamp, hdr_bytes, data_bytes));

    stats = shm_dev_of(ep->ep.dev)->stats;
    stats[AM_DEV_STAT_TX_PACKETS]++;
    stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    return status;
}

am_status_t shm_send(struct am_dev_ep *dep, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes)
{
    struct shm_ep *ep = shm_ep_of(dep);
    struct shm_tx *tx = &ep->tx[class];

    if (!ep->tx_open) {
        am_status_t status = tx_open(ep);

        if (status != AM_OK) {
            return status;
        }
    }
    if (!fits_slot(hdr_bytes, data_bytes)) {
        return send_data(
                ep, class, hdr, hdr_bytes,
                &(struct shm_payload){.data = data, .bytes = data_bytes});
    }
    if (!shm_tx_has_slot(ep, tx)) {
        shm_dev_of(dep->dev)->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    copy_words(tx->next->u.w, hdr, hdr_bytes);
    am_copy_small((char *)tx->next->u.w + hdr_bytes, data, data_bytes);
    return publish_short(ep, tx, tx->next, hdr_bytes, data_bytes);
}

/* A short packet into a free slot of an open lane; all else goes by shm_send.
 * Each word is moved once, from the caller's to the slot.  `any_length`, which is
 * a constant: its payload may have any that fits the slot, as the caller has seen;
 * if not, it has none or a word, and the words may be too many. */
static inline __attribute__((always_inline)) am_status_t
send_short(struct shm_ep *ep, uint32_t class, uint64_t first,
           const uint64_t *words, const void *data, size_t data_bytes,
           bool any_length)
{
    struct shm_tx *tx = &ep->tx[class];
    struct shm_slot *slot = tx->next;
    uint32_t count = am_dev_word_count(first);
    size_t hdr_bytes = sizeof(first) * (1 + (size_t)count);

    if (SHM_UNLIKELY(
                !ep->tx_open || slot == tx->stop ||
                (!any_length && hdr_bytes + data_bytes > SHM_SLOT_BYTES))) {
        return am_dev_send_words(&ep->ep, class, first, words, data,
                                 data_bytes);
    }
    slot->u.w[0] = first;
    for (uint32_t i = 0; i < count; i++) {
        slot->u.w[1 + i] = words[i];
    }
    if (any_length) {
        am_copy_small((char *)slot->u.w + hdr_bytes, data, data_bytes);
    } else if (data_bytes != 0) {
        memcpy((char *)slot->u.w + hdr_bytes, data, 8);
    }
    return publish_short(ep, tx, slot, hdr_bytes, data_bytes);
}

static __attribute__((noinline)) am_status_t
send_payload(struct am_dev_ep *dep, uint32_t class, uint64_t first,
             const uint64_t *words, const void *data, size_t data_bytes)
{
    struct shm_ep *ep = shm_ep_of(dep);
    uint64_t hdr[SHM_EXT_BYTES / 8];
    uint32_t count = am_dev_word_count(first);
    size_t hdr_bytes = sizeof(first) * (1 + (size_t)count);

    if (hdr_bytes > SHM_EXT_BYTES || !ep->tx_open) {
        return am_dev_send_words(dep, class, first, words, data, data_bytes);
    }
    if (data_bytes <= SHM_SLOT_BYTES - hdr_bytes) {
        return send_short(ep, class, first, words, data, data_bytes, true);
    }
    hdr[0] = first;
    copy_words(hdr + 1, words, hdr_bytes - sizeof(first));
    return send_data(ep, class, hdr, hdr_bytes,
                     &(struct shm_payload){.data = data, .bytes = data_bytes});
}

/* No payload, or one word of it: so few registers that none is saved. */
am_status_t shm_send_words(struct am_dev_ep *ep, uint32_t class, uint64_t first,
                           const uint64_t *words, const void *data,
                           size_t data_bytes)
{
    if (data_bytes != 0 && data_bytes != 8) {
        return send_payload(ep, class, first, words, data, data_bytes);
    }
    return send_short(shm_ep_of(ep), class, first, words, data, data_bytes,
                      false);
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
    if (fits_slot(hdr_bytes, data_bytes)) {
        char payload[SHM_SLOT_BYTES];

        if (!shm_tx_has_slot(ep, &ep->tx[class])) {
            return AM_ERR_AGAIN; /* before the fill: no side effect */
        }
        fill(arg, payload, data_bytes);
        return shm_send(dep, class, hdr, hdr_bytes, payload, data_bytes);
    }
    return send_data(ep, class, hdr, hdr_bytes,
                     &(struct shm_payload){
                             .fill = fill, .arg = arg, .bytes = data_bytes});
}
