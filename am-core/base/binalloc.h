/*
 * Binned allocator of a region that is somewhere else: the buffered protocol's
 * sender allocates in its own part of the receiver's memory (SP AM,
 * spec "MPI over AM").  It works on offsets and never touches the region.
 *
 *   0          bin_count * bin_bytes                       region_bytes
 *   | bin | bin | ... | bin |  extents, first fit, coalescing      |
 *
 * A request of at most bin_bytes takes a bin, in constant time; when the bins
 * are taken, or for more bytes, the first free extent that is large enough.
 * Every offset is a multiple of the alignment and so is every length.  Memory
 * of its own: 4 bytes for each `align` bytes of extents, allocated at open.
 */
#ifndef AM_BASE_BINALLOC_H
#define AM_BASE_BINALLOC_H

#include <am_types.h>
#include <stdbool.h>

#define AM_BINALLOC_ALIGN 64 /* default alignment */
/* Regions are cut to fewer than this many alignment units. */
#define AM_BINALLOC_UNITS_MAX (UINT32_C(1) << 30)

struct am_binalloc_params {
    size_t region_bytes; /* any, from 0; the part below a unit is not used */
    size_t bin_bytes;    /* rounded up to the alignment; 0: no bins */
    uint64_t bin_count;  /* as many as fit are made */
    size_t align;        /* power of two; 0 means AM_BINALLOC_ALIGN */
};

struct am_binalloc;

/* An empty region.  AM_ERR_MEMORY; AM_ERR_INVALID for a bad alignment. */
am_status_t am_binalloc_open(const struct am_binalloc_params *params,
                             struct am_binalloc **alloc_p);
void am_binalloc_close(struct am_binalloc *alloc);

/*
 * Allocate `bytes` (0 is taken as 1).  AM_ERR_AGAIN when there is no space
 * now, AM_ERR_INVALID when an empty region would have none either.
 */
am_status_t am_binalloc_get(struct am_binalloc *alloc, size_t bytes,
                            size_t *offset_p);

/*
 * Free the allocation that begins at `offset`.  The offset may come from a
 * peer: AM_ERR_INVALID, and no change, when none begins there.
 */
am_status_t am_binalloc_put(struct am_binalloc *alloc, size_t offset);

/* Most bytes that one allocation in the empty region can have. */
size_t am_binalloc_bytes_max(const struct am_binalloc *alloc);

/* Bytes that are taken, rounded as they were allocated; 0: all is free. */
size_t am_binalloc_used_bytes(const struct am_binalloc *alloc);

/* Extents and bins looked at since the last call (AM_COST_ALLOC units). */
uint64_t am_binalloc_take_steps(struct am_binalloc *alloc);

/* Do extents tile the region, is no free one beside another, do the counts
 * agree?  For tests. */
bool am_binalloc_is_valid(const struct am_binalloc *alloc);

#endif
