/*
 * Partners in exchanges over ranks 0 .. size-1, as pure functions: rings,
 * dissemination, recursive doubling with the ranks that are left over when
 * `size` is no power of two.
 */
#ifndef AM_COLLECTIVES_CUBE_H
#define AM_COLLECTIVES_CUBE_H

#include "collectives/topo/tree.h"

/* The rank `distance` after, or before, `rank`, round the ring; distance <=
 * size. */
static inline uint32_t am_ring_after(uint32_t rank, uint32_t size,
                                     uint32_t distance)
{
    return (uint32_t)(((uint64_t)rank + distance) % size);
}

static inline uint32_t am_ring_before(uint32_t rank, uint32_t size,
                                      uint32_t distance)
{
    return (uint32_t)(((uint64_t)rank + size - distance) % size);
}

/* Rounds of dissemination (Hensgen et al. 1988) and of Bruck's exchanges: in
 * round r a rank tells the one 2^r after it. */
uint32_t am_cube_rounds(uint32_t size);

/* The largest power of two that is not above `size` (>= 1). */
uint32_t am_cube_floor(uint32_t size);

/*
 * Folding for recursive doubling: of the first 2 * (size - floor) ranks each odd
 * one gives its part to the even one before it, and the `floor` ranks that are
 * left are numbered in order.  So each number stands for ranks that follow each
 * other, and an aligned run of 2^r numbers does, too.
 *
 *   size 6:   ranks   0 1 | 2 3 | 4 | 5
 *             numbers  0  |  1  | 2 | 3
 */
/* The number of `rank`; AM_TOPO_NONE: it has given its part away. */
uint32_t am_cube_number(uint32_t rank, uint32_t size);
/* The rank with this number. */
uint32_t am_cube_rank(uint32_t number, uint32_t size);
/* The rank that gives its part to `rank`, or that `rank` gives to;
 * AM_TOPO_NONE: it has no such partner. */
uint32_t am_cube_spare(uint32_t rank, uint32_t size);

#endif
