/*
 * What lies in the memory of a group (shared.h has the picture).  Written by all
 * members: a length or a place in it is checked by who uses it, and a turn or a hash
 * that is wrong ends a collective, no more.
 */
#ifndef AM_COLLECTIVES_SHARED_LAYOUT_H
#define AM_COLLECTIVES_SHARED_LAYOUT_H

#include "collectives/shared/shared.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

enum {
    AM_SHARED_LINE = 64,
    /* From one long payload to the next: they do not share the sets of a cache. */
    AM_SHARED_STRIDE = AM_SHARED_SLOT_BYTES + AM_SHARED_LINE
};

/* Slots lie side by side, away from the long payloads: a page of memory costs more,
 * the first time, than all that a short collective does in it. */
struct am_shared_slot {
    _Atomic uint64_t flag; /* turn << 32 | hash */
    uint64_t pad;
    char few[48]; /* in the line of the flag */
    char some[AM_SHARED_SHORT_BYTES];
};

_Static_assert(sizeof(struct am_shared_slot) % AM_SHARED_LINE == 0,
               "a line of a slot is one member's");

static inline size_t am_shared_lines(size_t bytes)
{
    return (bytes + AM_SHARED_LINE - 1) & ~(size_t)(AM_SHARED_LINE - 1);
}

static inline size_t am_shared_words(uint32_t size)
{
    return am_shared_lines(size * sizeof(uint32_t));
}

/* Before the slots; before the long payloads. */
static inline size_t am_shared_slots_at(uint32_t size)
{
    return 2 * am_shared_words(size) + AM_SHARED_LINE;
}

static inline size_t am_shared_long_at(uint32_t size)
{
    return am_shared_slots_at(size) +
           (size_t)size * AM_SHARED_DEPTH * sizeof(struct am_shared_slot);
}

static inline size_t am_shared_bytes(uint32_t size)
{
    return am_shared_long_at(size) +
           (size_t)size * AM_SHARED_DEPTH * AM_SHARED_STRIDE;
}

/* 1 + the member for whose flag this one waits asleep; 0: it is awake. */
static inline _Atomic uint32_t *am_shared_sleeps(const struct am_shared *shared,
                                                 uint32_t member)
{
    return (_Atomic uint32_t *)shared->base + member;
}

static inline _Atomic uint32_t *am_shared_gone(const struct am_shared *shared,
                                               uint32_t member)
{
    return (_Atomic uint32_t *)(shared->base + am_shared_words(shared->size)) +
           member;
}

/* Members have called differently, or cannot go on. */
static inline _Atomic uint32_t *am_shared_broken(const struct am_shared *shared)
{
    return (_Atomic uint32_t *)(shared->base +
                                2 * am_shared_words(shared->size));
}

/* A member cannot pass a fence for others. */
static inline _Atomic uint32_t *am_shared_strong(const struct am_shared *shared)
{
    return am_shared_broken(shared) + 1;
}

static inline size_t am_shared_index(uint32_t member, uint32_t turn)
{
    return (size_t)member * AM_SHARED_DEPTH + turn % AM_SHARED_DEPTH;
}

static inline struct am_shared_slot *
am_shared_slot(const struct am_shared *shared, uint32_t member, uint32_t turn)
{
    char *slots = shared->base + am_shared_slots_at(shared->size);

    return (struct am_shared_slot *)slots + am_shared_index(member, turn);
}

/* Where the bytes lie that a member gives in a turn, however many. */
static inline void *am_shared_long(const struct am_shared *shared,
                                   uint32_t member, uint32_t turn)
{
    return shared->base + am_shared_long_at(shared->size) +
           am_shared_index(member, turn) * AM_SHARED_STRIDE;
}

/* Where so many lie, if who takes them knows how many they are. */
static inline void *am_shared_payload(const struct am_shared *shared,
                                      uint32_t member, uint32_t turn,
                                      size_t bytes)
{
    struct am_shared_slot *slot = am_shared_slot(shared, member, turn);

    return bytes <= sizeof(slot->few)    ? slot->few
           : bytes <= sizeof(slot->some) ? slot->some
                                         : am_shared_long(shared, member, turn);
}

/* Nobody has begun anything, sleeps or has left; all can do all. */
static inline void am_shared_clear(const struct am_shared *shared)
{
    memset(shared->base, 0, am_shared_long_at(shared->size));
}

#endif
