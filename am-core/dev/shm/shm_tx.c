/*
 * Sending over shared memory.  A short message is one cache line: words and
 * payload first, then the stamp.  shm_tx_data.c has payloads that do not fit it.
 */
#include "config.h"

#include "base/assert.h"
#include "base/copy.h"
#include "dev/defaults.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_wait.h"

#include <string.h>

static inline uint64_t ctl_short(uint64_t stamp, size_t hdr_bytes, size_t bytes)
{
    return stamp | (uint64_t)hdr_bytes << 32 | (uint64_t)bytes << 40 |
           (uint64_t)(SHM_SLOT_BYTES - hdr_bytes - bytes) << 56;
}

AM_STATIC_ASSERT(SHM_SLOT_BYTES <= AM_COPY_SMALL, "a slot is a small copy");

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

__attribute__((noinline)) am_status_t shm_tx_wake(struct shm_ep *ep)
{
    shm_wake(ep);
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

/* Is all of a packet in its slot?  A length that is none may wrap the sum. */
static inline bool fits_slot(size_t hdr_bytes, size_t data_bytes)
{
    size_t bytes;

    return !__builtin_add_overflow(hdr_bytes, data_bytes, &bytes) &&
           bytes <= SHM_SLOT_BYTES;
}

/* The slot is written and not yet stamped.  Stamp first, count after: the
 * receiver waits for the stamp. */
static inline am_status_t publish_short(struct shm_ep *ep, struct shm_tx *tx,
                                        struct shm_slot *slot, size_t hdr_bytes,
                                        size_t data_bytes)
{
    uint64_t *stats;
    am_status_t status = shm_tx_publish(
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
        return shm_send_data(
                ep, tx, hdr, hdr_bytes,
                &(struct shm_payload){.data = data, .bytes = data_bytes});
    }
    if (!shm_tx_has_slot(ep, tx)) {
        shm_dev_of(dep->dev)->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    shm_copy_words(tx->next->u.w, hdr, hdr_bytes);
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
    struct shm_tx *tx = &ep->tx[class];
    uint64_t hdr[SHM_EXT_BYTES / 8];
    uint32_t count = am_dev_word_count(first);
    size_t hdr_bytes = sizeof(first) * (1 + (size_t)count);

    if (hdr_bytes > SHM_EXT_BYTES || !ep->tx_open) {
        return am_dev_send_words(dep, class, first, words, data, data_bytes);
    }
    if (data_bytes <= SHM_SLOT_BYTES - hdr_bytes) {
        return send_short(ep, class, first, words, data, data_bytes, true);
    }
    if (shm_lines_fit(ep, class, data_bytes)) {
        return shm_send_lines(ep, tx, first, words, data, data_bytes);
    }
    hdr[0] = first;
    shm_copy_words(hdr + 1, words, hdr_bytes - sizeof(first));
    return shm_send_data(
            ep, tx, hdr, hdr_bytes,
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
    struct shm_tx *tx = &ep->tx[class];

    if (SHM_UNLIKELY(!ep->tx_open)) {
        am_status_t status = tx_open(ep);

        if (status != AM_OK) {
            return status;
        }
    }
    if (fits_slot(hdr_bytes, data_bytes)) {
        char payload[SHM_SLOT_BYTES];

        if (!shm_tx_has_slot(ep, tx)) {
            return AM_ERR_AGAIN; /* before the fill: no side effect */
        }
        fill(arg, payload, data_bytes);
        return shm_send(dep, class, hdr, hdr_bytes, payload, data_bytes);
    }
    return shm_send_data(ep, tx, hdr, hdr_bytes,
                         &(struct shm_payload){.fill = fill,
                                               .arg = arg,
                                               .bytes = data_bytes});
}
