/*
 * Payload with a pattern that depends on a seed and the position, so that a
 * byte which is missing, stale or misplaced is found.
 */
#include "tools/perf.h"

#include <string.h>

#define WEYL UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64's mixer (Steele et al. 2014) of word `index`. */
static uint64_t pattern_word(uint64_t seed, uint64_t index)
{
    uint64_t z = (seed * 0x10001 + index + 1) * WEYL;

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void perf_pattern(void *data, size_t bytes, uint64_t seed)
{
    unsigned char *to = data;

    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, i / sizeof(uint64_t));
        size_t left = bytes - i;

        memcpy(to + i, &word, left < sizeof(word) ? left : sizeof(word));
    }
}

static int wrong_byte(struct perf *perf, const void *data, size_t bytes,
                      size_t at, uint64_t word)
{
    const unsigned char *from = data;
    unsigned char expected[sizeof(word)];

    memcpy(expected, &word, sizeof(word));
    while (from[at] == expected[at % sizeof(word)]) {
        at++;
    }
    return perf_fail(perf,
                     "rank %u: byte %zu of a message of %zu is 0x%02x, "
                     "expected 0x%02x",
                     perf->rank, at, bytes, from[at],
                     expected[at % sizeof(word)]);
}

int perf_pattern_check(struct perf *perf, const void *data, size_t bytes,
                       uint64_t seed)
{
    const unsigned char *from = data;

    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, i / sizeof(uint64_t));
        size_t left = bytes - i;

        if (memcmp(from + i, &word,
                   left < sizeof(word) ? left : sizeof(word)) != 0) {
            return wrong_byte(perf, data, bytes, i, word);
        }
    }
    return 0;
}
