/*
 * How much of a large data ring is in use: its front.
 *
 * The sender goes back to the ring's start when it has filled the front, and the
 * front grows for two reasons.
 *
 * The receiver has not consumed what lies at the start: then the front doubles at
 * once, so that no message waits while the ring has room.
 *
 * Or it pays to use more.  At the end of each lap the sender looks whether the
 * receiver has consumed the start, which loads a line from the receiver's cache: 60
 * to 350 ns.  And a line that the receiver's cache holds takes longer to write than
 * one that has left for the cache that both cores share: 4 KiB took 0.3 us longer
 * where the cores share one (where they do not, payloads of 2 to 64 KiB took the same
 * time through 32 KiB and through 2 MiB).  But a page that is used for the first time
 * costs both sides a fault: 0.5 us each on a bare machine, 15 us each under a
 * hypervisor that shadows page tables.  So the sender measures what a page costs when
 * it makes the first ones, and doubles the front when its laps' ends have cost as much
 * as the pages would; it uses the whole ring when as much has been lost to lines in
 * the receiver's cache as the ring's pages cost.  In the end no more than twice the
 * best is paid for either (the rule for a choice between renting and buying).
 */
#include "config.h"

#include "base/assert.h"
#include "dev/shm/shm_inl.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
/* since Linux 5.14; else an error, and no harm */
#define MADV_POPULATE_WRITE 23
#endif

/* A front grows to this at once, for packets of a quarter of it. */
#define FRONT_FIRST ((uint32_t)32 << 10)
/* What it gains to write a page whose lines have left the receiver's cache. */
#define GAIN_PS UINT64_C(250000)
/* The ring is gone through so many times at least, and at most, before it is used
 * whole. */
#define RINGS_LEAST ((uint64_t)4)
#define RINGS_MOST  ((uint64_t)256)
/* Payloads up to here gain nothing. */
#define SHORT_BYTES 512
/* More than a look takes between far cores: something else came in between. */
#define LOOK_MOST_PS UINT64_C(500000)
/* One in so many laps is timed, and counts as all of them; a power of two. */
#define LAPS_TIMED ((uint64_t)16)

uint64_t shm_front_worth(uint32_t ring_bytes, uint64_t page_ps)
{
    uint64_t most = RINGS_MOST * GAIN_PS / 2;
    uint64_t rings = 2 * (page_ps < most ? page_ps : most) / GAIN_PS;

    return ring_bytes * (rings < RINGS_LEAST ? RINGS_LEAST : rings);
}

/* The front that packets which need so many bytes begin with: room for some of
 * them, so that one does not lie where the receiver has just read the last. */
static uint32_t front_first(uint64_t need)
{
    uint32_t bytes = SHM_FRONT_LEAST;

    while (bytes < FRONT_FIRST && bytes < 4 * need) {
        bytes *= 2;
    }
    return bytes;
}

/* The front ends at `bytes` from now on; have its new pages made at once. */
static void front_set(struct shm_tx *tx, uint32_t bytes)
{
    (void)madvise(tx->data + tx->front_bytes, bytes - tx->front_bytes,
                  MADV_POPULATE_WRITE);
    tx->front_bytes = bytes;
    tx->front_lost = 0;
}

/* The ring's first payload: its first pages, and what one costs.  Each is written
 * to, as under some hypervisors the first write costs more than the page did (6 us
 * and 2).  That is safe here only, where nothing lies in the ring yet.  The least
 * counts: others want the core. */
static void front_open(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes)
{
    uint64_t start = am_env_now(dev->env), page_ps;

    AM_ASSERT(tx->data_tail == 0);
    front_set(tx, bytes);
    for (uint32_t at = 0; at < bytes; at += SHM_PAGE) {
        *(volatile char *)(tx->data + at) = 0;
    }
    page_ps = (am_env_now(dev->env) - start) / (bytes / SHM_PAGE);
    if (dev->page_ps == 0 || page_ps < dev->page_ps) {
        dev->page_ps = page_ps;
    }
}

/* A lap that is timed is over, of `bytes`, and to look whether the receiver had
 * consumed its start took so long: grow if that is worth it by now. */
static void front_lap(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes,
                      bool is_short, uint64_t look_ps)
{
    uint64_t pages = tx->front_bytes / SHM_PAGE;

    tx->front_lost +=
            LAPS_TIMED * (look_ps < LOOK_MOST_PS ? look_ps : LOOK_MOST_PS);
    if (!is_short && look_ps <= dev->near_ps) {
        tx->front_used += LAPS_TIMED * bytes;
    }
    if (tx->front_lost >= pages * 2 * dev->page_ps ||
        tx->front_used >= shm_front_worth(tx->ring_bytes, dev->page_ps)) {
        front_set(tx, 2 * tx->front_bytes);
    }
}

uint64_t shm_front_leave(struct shm_dev *dev, struct shm_tx *tx, uint32_t at,
                         uint64_t need)
{
    uint64_t skip = tx->ring_bytes - at, start;
    uint32_t bytes = front_first(need);
    /* each lap takes the tail to the next multiple of the ring's size */
    bool timed = (tx->data_tail & (LAPS_TIMED - 1) * tx->ring_bytes) == 0 &&
                 tx->front_bytes < tx->ring_bytes;

    if (tx->front_bytes == 0) {
        front_open(dev, tx, bytes);
        return 0;
    }
    if (tx->front_bytes < bytes) {
        front_set(tx, bytes);
        if (at + need <= bytes) {
            return 0;
        }
    }
    start = timed ? am_env_now(dev->env) : 0;
    (void)shm_tx_refresh(tx); /* loads a line that the receiver has written */
    if (tx->data_tail + skip + need > tx->data_limit) {
        bytes = tx->front_bytes;
        while (bytes < at + need) {
            bytes *= 2;
        }
        front_set(tx, bytes);
        return 0;
    }
    if (timed) {
        front_lap(dev, tx, at, need <= SHORT_BYTES + SHM_GAP_BYTES,
                  am_env_now(dev->env) - start);
    }
    return skip;
}
