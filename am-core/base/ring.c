/*
 * The slot rings.  Allocates nothing, waits for nothing.
 */
#include "base/ring.h"

#include "base/assert.h"

#include <string.h>

/* Phases, in the low bits of the state word; the owner is above them. */
enum {
    PHASE_FREE = 0,
    PHASE_READY = 1,
    PHASE_CLAIMED = 2,
    PHASE_MASK = 3
};

#define OWNER_SHIFT 2
#define OWNER_MAX   (UINT32_C(1) << 30)

/* The payload follows the state word. */
struct slot {
    _Atomic uint64_t state;
};

static uint64_t state_of(uint32_t turn, uint32_t owner, uint32_t phase)
{
    return (uint64_t)turn << 32 | (uint64_t)owner << OWNER_SHIFT | phase;
}

static uint32_t turn_of_state(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

static uint32_t phase_of(uint64_t state)
{
    return (uint32_t)state & PHASE_MASK;
}

static struct slot *slot_at(const struct am_ring *ring, uint64_t index)
{
    return (struct slot *)(void *)(ring->slots + (size_t)(index & ring->mask) *
                                                         ring->slot_bytes);
}

static uint32_t turn_at(const struct am_ring *ring, uint64_t index)
{
    return (uint32_t)(index >> ring->shift);
}

static bool geometry_is_good(uint32_t slot_count, uint32_t payload_bytes)
{
    return slot_count >= 2 && (slot_count & (slot_count - 1)) == 0 &&
           payload_bytes <= UINT32_MAX / 2;
}

static uint32_t slot_bytes_for(uint32_t payload_bytes)
{
    uint32_t bytes = (uint32_t)sizeof(struct slot) + payload_bytes;

    return (bytes + AM_RING_ALIGN - 1) / AM_RING_ALIGN * AM_RING_ALIGN;
}

size_t am_ring_bytes(uint32_t slot_count, uint32_t payload_bytes)
{
    if (!geometry_is_good(slot_count, payload_bytes)) {
        return 0;
    }
    return AM_RING_HEAD_BYTES +
           (size_t)slot_count * slot_bytes_for(payload_bytes);
}

void am_ring_attach(struct am_ring *ring, void *memory, uint32_t slot_count,
                    uint32_t payload_bytes, bool create)
{
    AM_CHECK(geometry_is_good(slot_count, payload_bytes));
    AM_CHECK((uintptr_t)memory % AM_RING_ALIGN == 0);
    if (create) {
        memset(memory, 0, am_ring_bytes(slot_count, payload_bytes));
    }
    *ring = (struct am_ring){
            .slots = (char *)memory + AM_RING_HEAD_BYTES,
            .tail = memory,
            .slot_bytes = slot_bytes_for(payload_bytes),
            .mask = slot_count - 1,
            .shift = (uint32_t)__builtin_ctz(slot_count),
    };
}

void *am_ring_claim_single(struct am_ring *ring)
{
    struct slot *slot = slot_at(ring, ring->next);

    if (am_observe64(&slot->state) !=
        state_of(turn_at(ring, ring->next), 0, PHASE_FREE)) {
        return NULL;
    }
    ring->next++;
    return slot + 1;
}

/*
 * The slot is claimed first and the tail moved after, by its owner or by any
 * other that finds the slot taken: so at every instant a claimed slot says who
 * claimed it.  The number of tries is bounded, since a tail and slots that a
 * hostile peer keeps changing could hold the loop for ever.
 */
void *am_ring_claim(struct am_ring *ring, uint32_t owner)
{
    uint32_t tries = 4 * (ring->mask + 1);

    AM_ASSERT(owner < OWNER_MAX);
    for (; tries > 0; tries--) {
        uint64_t tail = am_observe64(ring->tail);
        uint32_t turn = turn_at(ring, tail);
        struct slot *slot = slot_at(ring, tail);
        uint64_t state = am_observe64(&slot->state);
        uint64_t claimed = state_of(turn, owner, PHASE_CLAIMED);
        bool mine =
                state == state_of(turn, 0, PHASE_FREE) &&
                atomic_compare_exchange_strong(&slot->state, &state, claimed);

        if (!mine && turn_of_state(state) == turn - 1) {
            return NULL; /* of the last turn: full */
        }
        atomic_compare_exchange_strong(ring->tail, &tail, tail + 1);
        if (mine) {
            return slot + 1;
        }
    }
    return NULL;
}

void am_ring_commit(struct am_ring *ring, void *payload)
{
    struct slot *slot = (struct slot *)payload - 1;
    uint32_t turn = turn_of_state(
            atomic_load_explicit(&slot->state, memory_order_relaxed));

    am_publish64(&slot->state, state_of(turn, 0, PHASE_READY));
}

void *am_ring_take(struct am_ring *ring)
{
    struct slot *slot = slot_at(ring, ring->next);

    return am_observe64(&slot->state) ==
                           state_of(turn_at(ring, ring->next), 0, PHASE_READY)
                   ? slot + 1
                   : NULL;
}

void am_ring_release(struct am_ring *ring)
{
    struct slot *slot = slot_at(ring, ring->next);

    am_publish64(&slot->state,
                 state_of(turn_at(ring, ring->next) + 1, 0, PHASE_FREE));
    ring->next++;
}

bool am_ring_blocked(const struct am_ring *ring, uint32_t *owner_p)
{
    uint64_t state = am_observe64(&slot_at(ring, ring->next)->state);

    if (turn_of_state(state) != turn_at(ring, ring->next) ||
        phase_of(state) != PHASE_CLAIMED) {
        return false;
    }
    *owner_p = (uint32_t)state >> OWNER_SHIFT;
    return true;
}

void am_ring_skip(struct am_ring *ring)
{
    am_ring_release(ring);
}

bool am_ring_is_valid(const struct am_ring *ring)
{
    uint64_t tail = am_observe64(ring->tail);
    uint64_t busy = 0;
    bool free_seen = false;

    for (uint64_t i = 0; i <= ring->mask; i++) {
        uint64_t index = ring->next + i;
        uint64_t state = am_observe64(&slot_at(ring, index)->state);
        bool is_free = phase_of(state) == PHASE_FREE;

        if (turn_of_state(state) != turn_at(ring, index) ||
            phase_of(state) == PHASE_MASK || (free_seen && !is_free) ||
            (phase_of(state) != PHASE_CLAIMED &&
             (uint32_t)state >> OWNER_SHIFT != 0)) {
            return false;
        }
        free_seen = is_free;
        busy += is_free ? 0 : 1;
    }
    /* No tail with a single producer; else it may be behind by one claim. */
    return tail == 0 || tail == ring->next + busy ||
           tail + 1 == ring->next + busy;
}
