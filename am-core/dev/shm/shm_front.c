/*
 * How much of a large data ring is in use: its front.
 *
 * The sender goes back to the ring's start when it has filled the front.  A page
 * that is used for the first time costs both sides a page fault (7 us in all on a
 * virtual machine; less when several are made at once, as the front's are), and
 * short payloads go faster through the same few lines.  To write a line that the
 * receiver has just read, and has in its own cache, takes longer than one that has
 * left for the cache of all cores, though (0.3 us for 4 KiB), which for long
 * payloads is worth the pages soon, and for short ones in the end.  So the front
 * doubles after some laps, and at once when the receiver has not consumed what lies
 * at the start.  (1,024 bytes, 4,000 times there and back: 0.30 us with 128 laps,
 * 0.48 us with 16.  4 KiB, 200 times: 0.91 us with 16, 1.53 us with 4; 64 KiB, 200
 * times: 6.7 us with 16, 3.6 us with 4.)
 */
#include "config.h"

#include "dev/shm/shm_inl.h"

#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; else an error, and no harm */
#endif

/* The front grows after LONGER_LAPS laps with payloads of more than LONGER_BYTES,
 * after SHM_FRONT_LAPS with those of more than LONG_BYTES, after SHORT_LAPS with
 * those of more than SHORT_BYTES, else never. */
#define LONGER_BYTES 16384
#define LONGER_LAPS  4
#define LONG_BYTES   2048
#define SHORT_BYTES  512
#define SHORT_LAPS   128

/* Its laps with packets that need so many bytes; 0: never. */
static uint32_t laps_most(uint64_t need)
{
    return need <= SHORT_BYTES + SHM_GAP_BYTES    ? 0
           : need <= LONG_BYTES + SHM_GAP_BYTES   ? SHORT_LAPS
           : need <= LONGER_BYTES + SHM_GAP_BYTES ? SHM_FRONT_LAPS
                                                  : LONGER_LAPS;
}

/* The front ends at `bytes` from now on; have its new pages made at once. */
static void front_set(struct shm_tx *tx, uint32_t bytes)
{
    (void)madvise(tx->data + tx->front_bytes, bytes - tx->front_bytes,
                  MADV_POPULATE_WRITE);
    tx->front_bytes = bytes;
    tx->front_laps = 0;
}

uint64_t shm_front_leave(struct shm_tx *tx, uint32_t at, uint64_t need)
{
    uint64_t skip = tx->ring_bytes - at;
    uint32_t laps = laps_most(need);

    if (at == 0) { /* the first payload, or one that is larger */
        if (tx->front_bytes == 0) {
            front_set(tx, SHM_FRONT_BYTES);
        }
        return 0;
    }
    (void)shm_tx_refresh(tx);
    if (tx->data_tail + skip + need > tx->data_limit) {
        while (tx->front_bytes < at + need) {
            tx->front_bytes *= 2;
        }
        return 0;
    }
    if (laps > 0 && tx->front_bytes < tx->ring_bytes &&
        ++tx->front_laps >= laps) {
        front_set(tx, 2 * tx->front_bytes);
    }
    return skip;
}
