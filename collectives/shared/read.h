/*
 * Reads of other members' memory: between shared/reads.c, shared/read.c and
 * shared/blocks.c.
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
 * the read with number reads.item on.  False as am_shared_read. */
bool am_shared_reduce(struct am_coll_req *req, size_t offset, size_t bytes,
                      char *to);
/* A reduction in which those of two who want the result read all of the other's values? */
bool am_shared_is_pair(const struct am_coll_req *req);
/* Does the root of two add its own values only when the other has its memory back?  Of what
 * is read as one piece. */
bool am_shared_adds_late(const struct am_coll_req *req);
/* Its two steps: read the other's values to `to`, and add its own. */
bool am_shared_reduce_read(struct am_coll_req *req, size_t bytes, char *to);
void am_shared_reduce_own(struct am_coll_req *req, size_t bytes, char *to);

/* Open memory of mine to the others' reads (reads.c).  False: no memory. */
bool am_shared_open(struct am_coll_req *req, uint32_t which, const void *base,
                    size_t bytes);

/* blocks.c: kinds that have a block of each member, or for each, and no operator.
 * Has a slot room for what says where the blocks of so many members are? */
bool am_shared_blocks_fit(uint32_t size);
/* Do I give any?  Open what I give, unless it goes into the slot; false: no
 * memory. */
bool am_shared_blocks_gives(const struct am_coll_req *req);
bool am_shared_blocks_open(struct am_coll_req *req);
/* What I write to the slot: its bytes, and write it. */
size_t am_shared_blocks_room(const struct am_coll_req *req);
void am_shared_blocks_write(const struct am_coll_req *req, void *to);
/* Take what is mine of what the others gave.  False as am_shared_read. */
bool am_shared_blocks_take(struct am_coll_req *req);
/* Do others read my own memory, so that I wait until they have? */
bool am_shared_blocks_waits(const struct am_coll_req *req);

#endif
