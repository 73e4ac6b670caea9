/*
 * Rings of fixed slots: one consumer, one producer (SPSC) or many (MPSC), in
 * threads or in processes that share the memory.  Each slot carries its own
 * state, so a message costs the transfer of the slot's cache line and no
 * other, and neither side believes an index that the other side wrote.
 *
 *   slot   state word | payload               state = turn << 32 | phase
 *
 *   free(turn) -- claim, fill, commit --> ready(turn) -- take, release --.
 *        ^-------------------------- (turn + 1) -------------------------'
 *
 * The turn counts how often the ring has gone round.  A full ring refuses
 * (NULL); nothing waits.  What is claimed and not committed holds up what was
 * claimed after it.
 */
#ifndef AM_BASE_RING_H
#define AM_BASE_RING_H

#include "base/barrier.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AM_RING_ALIGN      64
#define AM_RING_HEAD_BYTES 64 /* memory before the slots */

/* A side's private view; the geometry is agreed, never read from the ring. */
struct am_ring {
    char *slots;
    _Atomic uint64_t *tail; /* shared: next slot to claim (MPSC) */
    uint64_t next;          /* consumer: to take; SPSC producer: to claim */
    uint32_t slot_bytes;    /* with the state word; multiple of AM_RING_ALIGN */
    uint32_t mask;          /* slots - 1 */
    uint32_t shift;         /* log2 of slots */
};

/* Bytes of memory for `slot_count` (a power of two, at least 2) slots with
 * `payload_bytes` each; 0 when the arguments are no good. */
size_t am_ring_bytes(uint32_t slot_count, uint32_t payload_bytes);

/*
 * View the ring at `memory` (am_ring_bytes long, aligned to AM_RING_ALIGN; the
 * caller's, for as long as the view is used).  Whoever makes the ring gives
 * `create` before others attach; all zero bytes are an empty ring already, so
 * for fresh memory it is not needed.
 */
void am_ring_attach(struct am_ring *ring, void *memory, uint32_t slot_count,
                    uint32_t payload_bytes, bool create);

/* Claim the next slot and return its payload, NULL when the ring is full.
 * The single producer of an SPSC ring; no other claim on that ring. */
static inline void *am_ring_claim_single(struct am_ring *ring);

/* Would am_ring_claim_single get a slot? */
static inline bool am_ring_has_space(const struct am_ring *ring);

/* The same claim for one of many producers. */
void *am_ring_claim(struct am_ring *ring);

/* Hand a claimed slot to the consumer. */
static inline void am_ring_commit(struct am_ring *ring, void *payload);

/* The payload of the oldest slot, NULL when it is not ready.  The memory may
 * still be written by a hostile peer: read each word once. */
static inline void *am_ring_take(struct am_ring *ring);

/* Give the slot that am_ring_take returned back to the producers. */
static inline void am_ring_release(struct am_ring *ring);

/* Can the slots have come about by correct use?  Only for a consumer's view,
 * while nobody else works on the ring.  For tests. */
bool am_ring_is_valid(const struct am_ring *ring);

#include "base/ring_inl.h"
#endif
