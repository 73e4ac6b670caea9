/*
 * Inlines of both halves of the data path: space in a lane.
 */
#ifndef AM_DEV_SHM_SHM_INL_H
#define AM_DEV_SHM_SHM_INL_H

#include "base/copy.h"
#include "dev/shm/shm.h"

#include <string.h>

#define SHM_LIKELY(_x)   __builtin_expect(!!(_x), 1)
#define SHM_UNLIKELY(_x) __builtin_expect(!!(_x), 0)

/* The stamp of a position: the number of its lap, never that of the slot's
 * last use, and not 0 in a ring that is not used yet. */
static inline uint32_t shm_lap(uint64_t position, uint32_t mask)
{
    return (uint32_t)(position / ((uint64_t)mask + 1)) + 1;
}

/* A lap as all slots of it bear it: the stamp, and its low bits again. */
static inline uint64_t shm_stamp(uint32_t lap)
{
    return lap | (uint64_t)(uint8_t)lap << 48;
}

/* The control word of a short packet, less the two lengths, from its stamp's low
 * bits on. */
static inline uint64_t shm_whole(uint32_t lap)
{
    return (uint8_t)lap | (uint64_t)SHM_SLOT_BYTES << 8;
}

/* 8 bits that say where a payload outside its slot lies, and how long it and the
 * header are: roughly the sum of all bytes of `place` (offset | bytes << 32). */
static inline uint64_t shm_data_check(uint64_t place, size_t hdr_bytes)
{
    return ((place + hdr_bytes) * UINT64_C(0x0101010101010101)) >> 56;
}

/* Is there a packet? */
static inline bool shm_rx_is_stamped(const struct shm_rx *rx)
{
    return (uint32_t)am_observe64(&rx->next->ctl) == rx->lap;
}

/* Deliver up to `max` packets of one class of a lane; the first is there.  How many were. */
int shm_rx_drain(struct shm_dev *dev, struct shm_ep *ep, uint32_t class,
                 uint32_t max);

/* A payload as it is given: by a function that writes it, or an address. */
struct shm_payload {
    am_dev_fill_fn fill;
    void *arg;
    const void *data;
    size_t bytes;
};

static inline void shm_payload_write(const struct shm_payload *payload,
                                     char *to, bool near)
{
    if (payload->fill != NULL) {
        payload->fill(payload->arg, to, payload->bytes);
    } else if (payload->bytes > 0) {
        am_copy_to_far(to, payload->data, payload->bytes, near);
    }
}

/* What the peer has written came quickly, or not (am_copy_is_near). */
void shm_costs_seen(struct am_dev_ep *ep, bool near);
/* As shm_tx_refresh: and how quickly does it come, if it is new? */
void shm_costs_refresh(struct shm_ep *ep, struct shm_tx *tx);

/* The same for one of AM_METER_BYTES or more, which the meter may want timed. */
void shm_payload_write_timed(struct shm_ep *ep,
                             const struct shm_payload *payload, char *to);

/* Learn what the receiver has consumed; its numbers are not trusted.  False: one
 * was out of its range, and is not believed. */
bool shm_tx_refresh(struct shm_tx *tx);
/* Start the next run; false when no slot is free. */
bool shm_tx_advance(struct shm_ep *ep, struct shm_tx *tx);

static inline bool shm_tx_has_slot(struct shm_ep *ep, struct shm_tx *tx)
{
    return SHM_LIKELY(tx->next != tx->stop) || shm_tx_advance(ep, tx);
}

static inline bool shm_tx_has_data(struct shm_tx *tx, uint64_t need)
{
    if (SHM_UNLIKELY(tx->data_tail + need > tx->data_limit)) {
        (void)shm_tx_refresh(tx);
        return tx->data_tail + need <= tx->data_limit;
    }
    return true;
}

/* Ring: off the fast path, and last, as its result is the send's. */
am_status_t shm_tx_wake(struct shm_ep *ep);

/* Copy a header: whole words, and each loaded as it was stored just before
 * (a wider load would wait for the stores to reach the cache). */
static inline void shm_copy_words(uint64_t *to, const void *hdr, size_t bytes)
{
    const uint64_t *from = hdr;

    for (size_t i = 0; i < bytes / 8; i++) {
        to[i] = from[i];
    }
}

/* The slot is written: stamp it, and ring if the peer sleeps. */
static inline am_status_t shm_tx_publish(struct shm_ep *ep, struct shm_tx *tx,
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
        return shm_tx_wake(ep);
    }
    return AM_OK;
}

static inline uint64_t shm_data_units(uint64_t bytes)
{
    return (bytes + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

/* Where the next payload goes. */
static inline uint32_t shm_tx_at(const struct shm_tx *tx)
{
    return (uint32_t)(tx->data_tail & (tx->ring_bytes - 1));
}

/* A payload of a few lines, as most are that do not fit a slot.  It is copied line by line,
 * from the first on: on Intel's Emerald Rapids half a round trip of 256 bytes to 1 KiB takes
 * 110 to 150 ns less than where the C library copies it, and windows of 256 and 512 bytes 0.6
 * times as long. */
#define SHM_LINES_MOST ((uint64_t)1024)

/* Does so much end within the front of a large ring?  At 0, where a lap of the ring begins,
 * the subtraction wraps, and is beyond any front. */
static inline bool shm_front_has(const struct shm_tx *tx, uint64_t bytes)
{
    return (uint64_t)(shm_tx_at(tx) - 1) + bytes < tx->front_bytes;
}

/* A packet whose payload goes through the data ring (shm_tx_data.c).  AM_ERR_AGAIN: no
 * space; AM_ERR_INVALID: it is too long. */
am_status_t shm_send_data(struct shm_ep *ep, struct shm_tx *tx,
                          const uint64_t *hdr, size_t hdr_bytes,
                          const struct shm_payload *payload);
/* The same where shm_lines_fit is true, and the header fits the slot. */
am_status_t shm_send_lines(struct shm_ep *ep, struct shm_tx *tx, uint64_t first,
                           const uint64_t *words, const void *data,
                           size_t bytes);

static inline bool shm_ring_is_small(uint32_t ring_bytes)
{
    return ring_bytes < SHM_RING_LARGE;
}

/* A payload of five lines or so sets off the prefetcher of the core that reads it,
 * which fetches the lines behind it as well.  The next payload, were it there, would
 * be written to lines that another core has just taken: that cost half a round trip
 * of a line for each message (257 bytes took 720 ns with cores that are far from each
 * other, 255 bytes 440 ns; with near ones 240 and 150 ns).  So a gap that nobody
 * writes follows it.  A large payload has its own next lines fetched for the most
 * part.  A small ring begins at its start again and again, and needs no gap. */
#define SHM_GAP_BYTES     ((uint64_t)1024)
#define SHM_GAP_MORE_THAN ((uint64_t)192)
#define SHM_GAP_MOST      ((uint64_t)4096)

static inline uint64_t shm_data_gap(uint32_t ring_bytes, uint64_t bytes)
{
    return !shm_ring_is_small(ring_bytes) && bytes > SHM_GAP_MORE_THAN &&
                           bytes <= SHM_GAP_MOST
                   ? SHM_GAP_BYTES
                   : 0;
}

/* What a packet takes of the ring: its header, if that is there, and its
 * payload begin in lines of their own.  A copy between a payload that is
 * aligned and one that is not costs up to half of the bandwidth between two
 * cores that share no cache. */
static inline uint64_t shm_data_need(uint32_t ring_bytes, uint64_t hdr_bytes,
                                     uint64_t bytes)
{
    return shm_data_units(hdr_bytes) + shm_data_units(bytes) +
           shm_data_gap(ring_bytes, bytes);
}

/* The same of a payload for which shm_lines_may is true, and no header, in fewer
 * instructions: those that have a gap go so through large rings only. */
static inline uint64_t shm_lines_need(size_t bytes)
{
    return shm_data_units(bytes) +
           (bytes > SHM_GAP_MORE_THAN ? SHM_GAP_BYTES : 0);
}

/* May it be sent as a few lines?  A packet may be of 256 bytes only, where it is a reply. */
static inline bool shm_lines_may(const struct shm_ep *ep, uint32_t class,
                                 size_t bytes)
{
    const struct shm_header *header = &ep->seg->header;

    return bytes <= SHM_GAP_MORE_THAN ||
           (bytes <= SHM_LINES_MOST &&
            !shm_ring_is_small(header->ring_bytes[class]) &&
            bytes + SHM_EXT_BYTES <= header->packet_bytes[class]);
}

/* And is there room for it in what is in use of a large ring? */
static inline bool shm_lines_fit(const struct shm_ep *ep, uint32_t class,
                                 size_t bytes)
{
    const struct shm_tx *tx = &ep->tx[class];
    uint64_t total = shm_lines_need(bytes);

    return shm_lines_may(ep, class, bytes) && tx->next != tx->stop &&
           shm_front_has(tx, total) && tx->data_tail + total <= tx->data_limit;
}

/* A payload of more than this begins as far into its line as the sender's does
 * (in whole words), and so, most likely, as the receiver's: then both copies are
 * between memories of one alignment, which gains a tenth from 8 KiB on, and more
 * where the receiver's memory is not in a cache. */
#define SHM_LEAD_MORE_THAN ((uint64_t)4096)

static inline uint32_t shm_data_lead(const void *data, uint64_t bytes)
{
    return bytes > SHM_LEAD_MORE_THAN
                   ? (uint32_t)(uintptr_t)data & (SHM_LINE - 8)
                   : 0;
}

/* The receiver of a large ring publishes what it has consumed twice in the shortest front,
 * so that the sender may go back to the ring's start when it gets to the front's end; of
 * a small one after each packet.
 *
 * The sender of a small ring looks at that after each shm_small_unit, and before a packet
 * is the first to use a page, whose fault may take longer than many packets: when all is
 * consumed it begins again at the ring's start.  It does so, too, in place of using a new
 * page, when half of the lap is: members of an all-to-all are a call apart, so that a
 * message mostly finds the one before it.  So a lane that keeps up uses the first pages of
 * its ring only: they stay in the cache, which many ranks share, and the others are never
 * made.
 *
 * A large ring, which ranks with a core each have, begins with its front alone
 * (shm_front.c). */
#define SHM_FRONT_LEAST ((uint32_t)SHM_PAGE)
#define SHM_DATA_UNIT   ((uint64_t)SHM_FRONT_LEAST / 2)

/* A front grows to this at once, for packets of a quarter of it; where a segment's
 * pages are made ahead of need, it begins with so many bytes.  A longer one costs more
 * in its first lap, whose lines are in no cache. */
#define SHM_FRONT_FIRST ((uint32_t)64 << 10)

/* So much of a ring is made ahead of need, and of a large one more where pages are cheap: a
 * window of 64 packets of 2 KiB fits, which makes the front grow at once. */
#define SHM_FRONT_MADE ((uint32_t)256 << 10)

static inline uint64_t shm_small_unit(uint32_t ring_bytes)
{
    const uint32_t most = (uint32_t)32 << 10;

    return ring_bytes / 4 < most ? ring_bytes / 4 : most;
}

#endif
