/*
 * Seeded integer random numbers and integer ratios, for fault injection,
 * simulation and tests: equal seeds give equal numbers on every machine.  Not
 * for secrets, and not the environment's `random` (base/env.h).
 */
#ifndef AM_BASE_PRNG_H
#define AM_BASE_PRNG_H

#include <am_types.h>
#include <stdbool.h>
#include <stdint.h>

struct am_prng {
    uint64_t state; /* any value is a good seed */
};

/* A probability: `numerator` times in `denominator` (never 0). */
struct am_ratio {
    uint32_t numerator;
    uint32_t denominator;
};

static inline void am_prng_seed(struct am_prng *prng, uint64_t seed)
{
    prng->state = seed;
}

/* 64 random bits: splitmix64 (Steele, Lea, Flood, OOPSLA 2014, figure 16). */
static inline uint64_t am_prng_next(struct am_prng *prng)
{
    uint64_t z = prng->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* A number in [0, bound), all alike to within bound / 2^64; bound > 0. */
static inline uint64_t am_prng_below(struct am_prng *prng, uint64_t bound)
{
    return (uint64_t)((unsigned __int128)am_prng_next(prng) * bound >> 64);
}

/* A number in [low, high], low <= high, not the whole of 64 bits. */
static inline uint64_t am_prng_between(struct am_prng *prng, uint64_t low,
                                       uint64_t high)
{
    return low + am_prng_below(prng, high - low + 1);
}

/* True with the probability of the ratio.  Draws nothing when it is 0. */
static inline bool am_prng_chance(struct am_prng *prng, struct am_ratio ratio)
{
    return ratio.numerator != 0 &&
           am_prng_below(prng, ratio.denominator) < ratio.numerator;
}

/* Parse "1/100", "0" or "1".  AM_ERR_CONFIG unless 0 <= ratio <= 1. */
am_status_t am_ratio_parse(const char *text, struct am_ratio *ratio_p);

/* The same as the `check` of a configuration row (base/config.h). */
am_status_t am_ratio_check(const char *text, char *accepted, size_t bytes);

#endif
