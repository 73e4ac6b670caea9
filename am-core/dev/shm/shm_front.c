/*
 * How much of a large data ring is in use: its front.
 *
 * The sender goes back to the ring's start when it has filled the front, and the
 * front grows for two reasons.
 *
 * The receiver has not consumed what lies at the start: then the front doubles at
 * once, so that no message waits while the ring has room.
 *
 * Or it pays to use the whole ring.  A line that the receiver's cache holds takes
 * longer to write than one that has left for the cache that both cores share: 4 KiB
 * took 0.3 us longer.  But a page that is used for the first time costs both sides
 * a fault: 0.5 us each on a bare machine, 15 us each under a hypervisor that
 * shadows page tables.  So the sender measures what a page costs when it makes the
 * first ones, and the front grows when as much has been lost as the ring's pages
 * cost: in the end no more than twice the best is paid.  Cores that share no cache
 * gain nothing by the longer way (payloads of 2 to 64 KiB took the same time through
 * 32 KiB and through 2 MiB), and there the front stays as it is.
 */
#include "config.h"

#include "base/assert.h"
#include "dev/shm/shm_inl.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; else an error, and no harm */
#endif

/* What it gains to write a page whose lines have left the receiver's cache. */
#define GAIN_PS UINT64_C(250000)
/* The ring is gone through so many times at least, and at most, before it is used
 * whole. */
#define RINGS_LEAST ((uint64_t)4)
#define RINGS_MOST  ((uint64_t)1024)
/* Payloads up to here gain nothing. */
#define SHORT_BYTES 512

uint64_t shm_front_worth(uint32_t ring_bytes, uint64_t page_ps)
{
    uint64_t most = RINGS_MOST * GAIN_PS / 2;
    uint64_t rings = 2 * (page_ps < most ? page_ps : most) / GAIN_PS;

    return ring_bytes * (rings < RINGS_LEAST ? RINGS_LEAST : rings);
}

/* Have the pages from one offset to another made at once. */
static void pages_make(struct shm_tx *tx, uint32_t from, uint32_t to)
{
    (void)madvise(tx->data + from, to - from, MADV_POPULATE_WRITE);
}

/* The ring's first payload: its first pages, and what one costs.  Each is written
 * to, as under some hypervisors the first write costs more than the page did (6 us
 * and 2).  That is safe here only, where nothing lies in the ring yet.  The least
 * counts: others want the core. */
static void front_open(struct shm_dev *dev, struct shm_tx *tx)
{
    uint64_t start = am_env_now(dev->env), page_ps;

    AM_ASSERT(tx->data_tail == 0);
    pages_make(tx, 0, SHM_FRONT_BYTES);
    for (uint32_t at = 0; at < SHM_FRONT_BYTES; at += SHM_PAGE) {
        *(volatile char *)(tx->data + at) = 0;
    }
    page_ps = (am_env_now(dev->env) - start) / (SHM_FRONT_BYTES / SHM_PAGE);
    if (dev->page_ps == 0 || page_ps < dev->page_ps) {
        dev->page_ps = page_ps;
    }
    tx->front_bytes = SHM_FRONT_BYTES;
}

/* A lap of `bytes` is over: grow if that is worth it by now. */
static void front_lap(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes)
{
    tx->front_used += bytes;
    if (tx->front_used >= shm_front_worth(tx->ring_bytes, dev->page_ps)) {
        pages_make(tx, tx->front_bytes, 2 * tx->front_bytes);
        tx->front_bytes *= 2;
    }
}

uint64_t shm_front_leave(struct shm_dev *dev, struct shm_tx *tx, uint32_t at,
                         uint64_t need)
{
    bool may_grow = tx->front_bytes < tx->ring_bytes &&
                    need > SHORT_BYTES + SHM_GAP_BYTES;
    uint64_t skip = tx->ring_bytes - at, start;

    if (at == 0) { /* the first payload, or one that is larger */
        if (tx->front_bytes == 0) {
            front_open(dev, tx);
        }
        return 0;
    }
    start = may_grow ? am_env_now(dev->env) : 0;
    (void)shm_tx_refresh(tx); /* loads a line that the receiver has written */
    if (tx->data_tail + skip + need > tx->data_limit) {
        while (tx->front_bytes < at + need) {
            tx->front_bytes *= 2;
        }
        return 0;
    }
    if (may_grow && am_env_now(dev->env) - start <= dev->near_ps) {
        front_lap(dev, tx, at);
    }
    return skip;
}
