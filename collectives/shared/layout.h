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
    AM_SHARED_LINE = 64
};

struct am_shared_slot {
    _Atomic uint64_t flag; /* turn << 32 | hash */
    uint64_t pad;
    char few[AM_SHARED_SHORT_BYTES];
    char many[AM_SHARED_SLOT_BYTES];
};

_Static_assert(sizeof(struct am_shared_slot) ==
                       AM_SHARED_LINE + AM_SHARED_SLOT_BYTES,
               "the short payload is in the line of the flag");

static inline size_t am_shared_lines(size_t bytes)
{
    return (bytes + AM_SHARED_LINE - 1) & ~(size_t)(AM_SHARED_LINE - 1);
}

static inline size_t am_shared_words(uint32_t size)
{
    return am_shared_lines(size * sizeof(uint32_t));
}

static inline size_t am_shared_bytes(uint32_t size)
{
    return 2 * am_shared_words(size) + AM_SHARED_LINE +
           (size_t)size * AM_SHARED_DEPTH * sizeof(struct am_shared_slot);
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

static inline struct am_shared_slot *
am_shared_slot(const struct am_shared *shared, uint32_t member, uint32_t turn)
{
    char *slots =
            shared->base + 2 * am_shared_words(shared->size) + AM_SHARED_LINE;

    return (struct am_shared_slot *)slots + member * AM_SHARED_DEPTH +
           turn % AM_SHARED_DEPTH;
}

static inline void *am_shared_payload(struct am_shared_slot *slot, size_t bytes)
{
    return bytes <= AM_SHARED_SHORT_BYTES ? slot->few : slot->many;
}

/* Nobody has begun anything, sleeps or has left; all can do all. */
static inline void am_shared_clear(const struct am_shared *shared)
{
    memset(shared->base, 0, 2 * am_shared_words(shared->size) + AM_SHARED_LINE);
    for (uint32_t i = 0; i < shared->size; i++) {
        for (uint32_t turn = 0; turn < AM_SHARED_DEPTH; turn++) {
            atomic_store(&am_shared_slot(shared, i, turn)->flag, 0);
        }
    }
}

#endif
