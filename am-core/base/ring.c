/*
 * The slot rings.  Allocates nothing, waits for nothing.
 */
#include "base/ring.h"

#include "base/assert.h"

#include <string.h>

static bool geometry_is_good(uint32_t slot_count, uint32_t payload_bytes)
{
    return slot_count >= 2 && (slot_count & (slot_count - 1)) == 0 &&
           payload_bytes <= UINT32_MAX / 2;
}

static uint32_t slot_bytes_for(uint32_t payload_bytes)
{
    uint32_t bytes = (uint32_t)sizeof(struct am_ring_slot) + payload_bytes;

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

/*
 * The slot belongs to whoever moves the tail over it.  The number of tries is
 * bounded, since a tail and slots that a hostile peer keeps changing could
 * hold the loop for ever.
 */
void *am_ring_claim(struct am_ring *ring)
{
    uint32_t tries = 4 * (ring->mask + 1);

    for (; tries > 0; tries--) {
        uint64_t tail = am_observe64(ring->tail);
        uint32_t turn = am_ring_turn_at(ring, tail);
        struct am_ring_slot *slot = am_ring_slot_at(ring, tail);
        uint64_t state = am_observe64(&slot->state);

        if (am_ring_turn_of(state) == turn - 1) {
            return NULL; /* of the last turn: full */
        }
        if (state == am_ring_state(turn, AM_RING_FREE) &&
            atomic_compare_exchange_strong(ring->tail, &tail, tail + 1)) {
            return slot + 1;
        }
    }
    return NULL;
}

bool am_ring_is_valid(const struct am_ring *ring)
{
    uint64_t tail = am_observe64(ring->tail); /* stays 0 in an SPSC ring */
    uint64_t first_free = ring->next;

    for (uint64_t i = 0; i <= ring->mask; i++) {
        uint64_t index = ring->next + i;
        uint64_t state = am_observe64(&am_ring_slot_at(ring, index)->state);

        if (am_ring_turn_of(state) != am_ring_turn_at(ring, index) ||
            (uint32_t)state > AM_RING_READY) {
            return false;
        }
        if ((uint32_t)state == AM_RING_READY) {
            first_free = index + 1;
        }
    }
    return tail == 0 ||
           (tail >= first_free && tail - ring->next <= ring->mask + 1);
}
