/*
 * How much of a large data ring is in use: its front.
 *
 * The sender goes back to the ring's start when it has filled the front, and the
 * front grows for two reasons.
 *
 * The receiver has not consumed what lies at the start: then the front doubles at
 * once, so that no message waits while the ring has room.
 *
 * Or it pays to use more.  Where the cores share a cache, a line that the receiver's
 * own cache holds takes longer to write than one that has left for the shared one:
 * payloads of 2 to 4 KiB took 30 to 60 ns longer through fronts of 16 to 512 KiB than
 * through a ring of 2 MiB.  (Where the cores do not share one, payloads of 64 bytes to
 * 32 KiB took as long through 32 KiB as through any longer front.)  But a page that is
 * used for the first time costs both sides a fault: 0.5 us each on a bare machine, 15
 * us each under a hypervisor that shadows page tables.  So the sender measures what a
 * page costs, and uses the whole ring when as much has been lost to lines in the
 * receiver's cache as the ring's pages cost.  In the end no more than twice the best is
 * paid (the rule for a choice between renting and buying).
 */
#include "config.h"

#include "base/assert.h"
#include "dev/shm/shm_inl.h"
#include "dev/shm/shm_pages.h"

/* What a packet gains whose lines have left the receiver's cache, ... */
#define GAIN_PS UINT64_C(45000)
/* ... if its payload is longer than this. */
#define SHORT_BYTES 512
/* What a page costs is taken to be at least, and at most. */
#define PAGE_LEAST_PS UINT64_C(100000)
#define PAGE_MOST_PS  UINT64_C(16000000)
/* One in so many laps is timed, and counts as all of them; a power of two. */
#define LAPS_TIMED ((uint64_t)16)

uint64_t shm_front_worth(uint32_t ring_bytes, uint64_t page_ps)
{
    page_ps = page_ps < PAGE_LEAST_PS  ? PAGE_LEAST_PS
              : page_ps > PAGE_MOST_PS ? PAGE_MOST_PS
                                       : page_ps;
    return ring_bytes / SHM_PAGE * 2 * page_ps / GAIN_PS;
}

/* The front that packets which need so many bytes begin with: room for some of
 * them, so that one does not lie where the receiver has just read the last. */
static uint32_t front_first(uint64_t need)
{
    uint32_t bytes = SHM_FRONT_LEAST;

    while (bytes < SHM_FRONT_FIRST && bytes < 4 * need) {
        bytes *= 2;
    }
    return bytes;
}

/* The front ends at `bytes` from now on; have its new pages made at once. */
static void front_set(struct shm_tx *tx, uint32_t bytes)
{
    (void)shm_pages_make(tx->data + tx->front_bytes, bytes - tx->front_bytes);
    tx->front_bytes = bytes;
}

/* The ring's first payload, where its pages were not made before: the first of them,
 * and what one costs. */
static void front_open(struct shm_dev *dev, struct shm_tx *tx, uint32_t bytes)
{
    uint64_t start = am_env_now(dev->env);

    AM_ASSERT(tx->data_tail == 0);
    front_set(tx, bytes);
    shm_pages_write(tx->data, bytes);
    shm_page_took(dev, am_env_now(dev->env) - start, bytes / SHM_PAGE);
}

/* A lap that is timed is over, of so many packets, and to look whether the receiver
 * had consumed its start, which loads a line from the receiver's cache (60 to 350 ns),
 * took so long: grow if that is worth it by now. */
static void front_lap(struct shm_dev *dev, struct shm_tx *tx, uint64_t packets,
                      uint64_t look_ps)
{
    if (look_ps <= dev->near_ps) {
        tx->front_used += LAPS_TIMED * packets;
    }
    if (tx->front_used >= shm_front_worth(tx->ring_bytes, dev->page_ps)) {
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
                 tx->front_bytes < tx->ring_bytes &&
                 need > SHORT_BYTES + SHM_GAP_BYTES;

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
        front_lap(dev, tx, at / need, am_env_now(dev->env) - start);
    }
    return skip;
}
