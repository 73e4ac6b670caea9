/*
 * Inlines of both halves of the data path: space in a lane.
 */
#ifndef AM_DEV_SHM_SHM_INL_H
#define AM_DEV_SHM_SHM_INL_H

#include "dev/shm/shm.h"

#define SHM_LIKELY(_x)   __builtin_expect(!!(_x), 1)
#define SHM_UNLIKELY(_x) __builtin_expect(!!(_x), 0)

/* Slots after which a receiver tells what it has consumed. */
static inline uint32_t shm_publish_step(uint32_t depth)
{
    return depth < 4 ? 1 : depth / 4;
}

static inline bool shm_tx_has_slot(struct shm_tx *tx)
{
    if (SHM_UNLIKELY(tx->tail >= tx->limit)) {
        shm_tx_refresh(tx);
        return tx->tail < tx->limit;
    }
    return true;
}

static inline bool shm_tx_has_data(struct shm_tx *tx, uint64_t need)
{
    if (SHM_UNLIKELY(tx->data_tail + need - tx->data_head > tx->ring_bytes)) {
        shm_tx_refresh(tx);
        return tx->data_tail + need - tx->data_head <= tx->ring_bytes;
    }
    return true;
}

static inline uint64_t shm_data_units(uint64_t bytes)
{
    return (bytes + SHM_LINE - 1) & ~(uint64_t)(SHM_LINE - 1);
}

#endif
