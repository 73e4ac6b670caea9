/*
 * Explicit-state search: the states that were seen, by two hashes of 64 bits
 * each, and those that are still to be looked at, last found first.
 */
#ifndef AM_TEST_MODEL_EXPLORE_H
#define AM_TEST_MODEL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct explore {
    size_t state_bytes;
    uint64_t *keys;    /* of the seen, pairs; 0, 0 is free */
    size_t mask, seen; /* pairs there is room for, less one; used */
    char *open;        /* states to be looked at */
    size_t open_count, open_room;
    size_t depth; /* most that were open when one was taken */
};

/* Both abort when memory is short. */
void explore_open(struct explore *explore, size_t state_bytes);
void explore_close(struct explore *explore);

/* A hash of whole words; `seed` is that of another hash, or of what was hashed
 * before. */
uint64_t explore_hash(const void *data, size_t bytes, uint64_t seed);

/* The seeds of a state's two hashes. */
extern const uint64_t explore_seeds[2];

/* Keep a copy of `state`, whose hashes are `a` and `b`, if it is new. */
void explore_add(struct explore *explore, const void *state, uint64_t a,
                 uint64_t b);

/* The next state to be looked at; false when none is left. */
bool explore_next(struct explore *explore, void *state);

#endif
