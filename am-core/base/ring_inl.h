/*
 * Inlines of ring.h: the states of slots, and what the two sides of an SPSC
 * ring do for each message.
 */
#ifndef AM_BASE_RING_INL_H
#define AM_BASE_RING_INL_H

#include "base/ring.h"

enum {
    AM_RING_FREE = 0, /* or claimed, by whoever moved the tail over it */
    AM_RING_READY = 1
};

/* The payload follows the state word. */
struct am_ring_slot {
    _Atomic uint64_t state;
};

static inline uint64_t am_ring_state(uint32_t turn, uint32_t phase)
{
    return (uint64_t)turn << 32 | phase;
}

static inline uint32_t am_ring_turn_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

static inline struct am_ring_slot *am_ring_slot_at(const struct am_ring *ring,
                                                   uint64_t index)
{
    return (struct am_ring_slot *)(void *)(ring->slots +
                                           (size_t)(index & ring->mask) *
                                                   ring->slot_bytes);
}

static inline uint32_t am_ring_turn_at(const struct am_ring *ring,
                                       uint64_t index)
{
    return (uint32_t)(index >> ring->shift);
}

static inline bool am_ring_has_space(const struct am_ring *ring)
{
    return am_observe64(&am_ring_slot_at(ring, ring->next)->state) ==
           am_ring_state(am_ring_turn_at(ring, ring->next), AM_RING_FREE);
}

static inline void *am_ring_claim_single(struct am_ring *ring)
{
    if (!am_ring_has_space(ring)) {
        return NULL;
    }
    return am_ring_slot_at(ring, ring->next++) + 1;
}

static inline void am_ring_commit(struct am_ring *ring, void *payload)
{
    struct am_ring_slot *slot = (struct am_ring_slot *)payload - 1;
    uint32_t turn = am_ring_turn_of(
            atomic_load_explicit(&slot->state, memory_order_relaxed));

    am_publish64(&slot->state, am_ring_state(turn, AM_RING_READY));
}

static inline void *am_ring_take(struct am_ring *ring)
{
    struct am_ring_slot *slot = am_ring_slot_at(ring, ring->next);

    return am_observe64(&slot->state) ==
                           am_ring_state(am_ring_turn_at(ring, ring->next),
                                         AM_RING_READY)
                   ? slot + 1
                   : NULL;
}

static inline void am_ring_release(struct am_ring *ring)
{
    struct am_ring_slot *slot = am_ring_slot_at(ring, ring->next);

    am_publish64(
            &slot->state,
            am_ring_state(am_ring_turn_at(ring, ring->next) + 1, AM_RING_FREE));
    ring->next++;
}

#endif
