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
    AM_SHARED_NEAR = 1, /* am_shared_seen */
    AM_SHARED_FAR = 2,
    AM_SHARED_LINE = 64,
    /* Two lines that a processor may load together are one member's. */
    AM_SHARED_PAIR = 128,
    /* Payloads right behind the flags are loaded with them, too early: then
     * broadcasts of 512 bytes to 2 KiB take a tenth longer (Zen 5, two
     * ranks). */
    AM_SHARED_GAP = 1024
};

/* Slots lie side by side, and so do the payloads of a turn: a page of memory costs
 * more, the first time, than all that a short collective does in it. */
struct am_shared_slot {
    _Atomic uint64_t flag; /* turn << 32 | hash */
    uint64_t pad;
    char few[AM_SHARED_FEW_BYTES]; /* in the line of the flag */
};

_Static_assert(sizeof(struct am_shared_slot) == AM_SHARED_LINE,
               "a short payload is in the line of the flag");

static inline size_t am_shared_lines(size_t bytes)
{
    return (bytes + AM_SHARED_LINE - 1) & ~(size_t)(AM_SHARED_LINE - 1);
}

static inline size_t am_shared_words(uint32_t size)
{
    return am_shared_lines(size * sizeof(uint32_t));
}

/* Bytes before the slots, and before the payloads that are not in them. */
static inline size_t am_shared_slots_at(uint32_t size)
{
    return 3 * am_shared_words(size) + AM_SHARED_PAIR;
}

static inline size_t am_shared_turns_at(uint32_t size)
{
    return am_shared_slots_at(size) +
           (size_t)size * AM_SHARED_DEPTH * sizeof(struct am_shared_slot) +
           AM_SHARED_GAP;
}

/* From one member's payload to the next's: if there are pages of them, they do not
 * begin in the same set of a cache. */
static inline size_t am_shared_stride(size_t bytes)
{
    return am_shared_lines(bytes) + AM_SHARED_LINE;
}

/* Bytes of the payloads of a turn that are not in the slots. */
static inline size_t am_shared_turn_bytes(uint32_t size)
{
    return size * am_shared_stride(AM_SHARED_SLOT_BYTES);
}

static inline size_t am_shared_bytes(uint32_t size)
{
    return am_shared_turns_at(size) +
           AM_SHARED_DEPTH * am_shared_turn_bytes(size);
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

/* How far member 0 is, as this one told last: AM_SHARED_NEAR or AM_SHARED_FAR; 0: it
 * has told nothing since member 0 read this. */
static inline _Atomic uint32_t *am_shared_seen(const struct am_shared *shared,
                                               uint32_t member)
{
    return (_Atomic uint32_t *)(shared->base +
                                2 * am_shared_words(shared->size)) +
           member;
}

/* Members have called differently, or cannot go on. */
static inline _Atomic uint32_t *am_shared_broken(const struct am_shared *shared)
{
    return (_Atomic uint32_t *)(shared->base +
                                3 * am_shared_words(shared->size));
}

/* A member cannot pass a fence for others. */
static inline _Atomic uint32_t *am_shared_strong(const struct am_shared *shared)
{
    return am_shared_broken(shared) + 1;
}

static inline struct am_shared_slot *
am_shared_slot(const struct am_shared *shared, uint32_t member, uint32_t turn)
{
    char *slots = shared->base + am_shared_slots_at(shared->size);

    return (struct am_shared_slot *)slots + (size_t)member * AM_SHARED_DEPTH +
           turn % AM_SHARED_DEPTH;
}

/* Where the bytes lie that a member gives in a turn; all members that give in it give as
 * many, or all say AM_SHARED_SLOT_BYTES.  Who gives more than a slot's is the only one. */
static inline void *am_shared_payload(const struct am_shared *shared,
                                      uint32_t member, uint32_t turn,
                                      size_t bytes)
{
    if (bytes <= AM_SHARED_FEW_BYTES) {
        return am_shared_slot(shared, member, turn)->few;
    }
    return shared->base + am_shared_turns_at(shared->size) +
           turn % AM_SHARED_DEPTH * am_shared_turn_bytes(shared->size) +
           (bytes <= AM_SHARED_SLOT_BYTES ? member * am_shared_stride(bytes)
                                          : 0);
}

/* Nobody has begun anything, sleeps or has left; all can pass a fence for
 * others (`strong` is 0). */
static inline void am_shared_clear(const struct am_shared *shared)
{
    memset(shared->base, 0, am_shared_turns_at(shared->size));
}

#endif
