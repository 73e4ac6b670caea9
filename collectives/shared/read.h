/*
 * Reads of other members' memory, for collectives/shared/reads.c.
 */
#ifndef AM_COLLECTIVES_SHARED_READ_H
#define AM_COLLECTIVES_SHARED_READ_H

#include "collectives/shared/way.h"

/* Read `bytes` at `offset` of what a member has opened as AM_SHARED_GIVEN or _MADE.
 * False: it is on its way, and asked for once more when it is here; or it has
 * failed. */
bool am_shared_read(struct am_coll_req *req, uint32_t member, uint32_t which,
                    size_t offset, void *to, size_t bytes);
/* What all give at [offset, offset + bytes), reduced, to `to`: piece by piece, from
 * the read with number reads.item on.  False as above. */
bool am_shared_reduce(struct am_coll_req *req, size_t offset, size_t bytes,
                      char *to);

#endif
