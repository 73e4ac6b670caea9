/*
 * What copies cost more where members share cores, and the caches of these do not hold
 * what all of them copy.
 */
#include "config.h"

#include "collectives/select/cost.h"

/* What a core's cache does not hold comes from farther away.  The part of it grows with
 * the root of what is copied (the power law of misses: Hartstein et al., On the nature of
 * cache misses, Journal of Instruction-Level Parallelism 10, 2008), here from twice the
 * cache on, until nothing of it is there. */
#define MISS_FROM 2
#define MISS_MOST 6
#define MISS_UNIT 16 /* the root is found to one in so many */

uint64_t am_crowd_missing_ps(const struct am_coll_cost *c, uint64_t copied)
{
    const struct am_dev_perf *perf = &c->numbers->perf;
    uint64_t held = MISS_FROM * perf->cache_bytes * am_crowd_cores(c);
    uint64_t root = MISS_UNIT;

    if (held == 0 || copied <= held) {
        return 0;
    }
    while (root < MISS_MOST * MISS_UNIT &&
           root * root < copied / (held / (MISS_UNIT * MISS_UNIT) + 1)) {
        root++;
    }
    return am_cost_copy_ps(perf, copied) / MISS_UNIT * (root - MISS_UNIT);
}
