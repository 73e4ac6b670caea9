/*
 * Explicit-state search, see explore.h.  The table is open addressing, at most
 * half full.
 */
#include "model/explore.h"

#include <stdlib.h>
#include <string.h>

const uint64_t explore_seeds[2] = {1, UINT64_C(0x123456789abcdef)};

static uint64_t *keys_new(size_t count)
{
    uint64_t *keys = calloc(2 * count, sizeof(uint64_t));

    if (keys == NULL) {
        abort();
    }
    return keys;
}

void explore_open(struct explore *explore, size_t state_bytes)
{
    *explore = (struct explore){
            .state_bytes = state_bytes, .keys = keys_new(1024), .mask = 1023};
}

void explore_close(struct explore *explore)
{
    free(explore->keys);
    free(explore->open);
}

uint64_t explore_hash(const void *data, size_t bytes, uint64_t seed)
{
    const uint8_t *at = data;
    uint64_t mix = seed, word;

    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        mix = (mix ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        mix ^= mix >> 29;
    }
    return mix;
}

/* True when the pair is new. */
static bool key_add(struct explore *explore, uint64_t a, uint64_t b)
{
    size_t at = (size_t)a & explore->mask;

    while (explore->keys[2 * at] != 0) {
        if (explore->keys[2 * at] == a && explore->keys[2 * at + 1] == b) {
            return false;
        }
        at = (at + 1) & explore->mask;
    }
    explore->keys[2 * at] = a;
    explore->keys[2 * at + 1] = b;
    explore->seen++;
    return true;
}

static void keys_grow(struct explore *explore)
{
    uint64_t *old = explore->keys;
    size_t count = explore->mask + 1;

    explore->keys = keys_new(2 * count);
    explore->mask = 2 * count - 1;
    explore->seen = 0;
    for (size_t i = 0; i < count; i++) {
        if (old[2 * i] != 0) {
            key_add(explore, old[2 * i], old[2 * i + 1]);
        }
    }
    free(old);
}

static char *open_at(struct explore *explore, size_t index)
{
    return explore->open + index * explore->state_bytes;
}

void explore_add(struct explore *explore, const void *state, uint64_t a,
                 uint64_t b)
{
    if (2 * explore->seen > explore->mask) {
        keys_grow(explore);
    }
    if (!key_add(explore, a | 1, b)) {
        return;
    }
    if (explore->open_count == explore->open_room) {
        explore->open_room = explore->open_room * 2 + 1024;
        explore->open = realloc(explore->open,
                                explore->open_room * explore->state_bytes);
        if (explore->open == NULL) {
            abort();
        }
    }
    memcpy(open_at(explore, explore->open_count++), state,
           explore->state_bytes);
}

bool explore_next(struct explore *explore, void *state)
{
    if (explore->open_count > explore->depth) {
        explore->depth = explore->open_count;
    }
    if (explore->open_count == 0) {
        return false;
    }
    memcpy(state, open_at(explore, --explore->open_count),
           explore->state_bytes);
    return true;
}
