/*
 * What all members of a group know alike of its devices, and when they are told again
 * (numbers.c).
 */
#ifndef AM_COLLECTIVES_NUMBERS_H
#define AM_COLLECTIVES_NUMBERS_H

#include "collectives/coll.h"

enum {
    /* Numbers are told again after so much: of calls and of KiB in them, but TOLD_CALLS
     * calls at least, so that to tell takes about a hundredth of the time.  After that
     * many calls member 0 has waited often enough. */
    AM_COLL_TOLD_AFTER = 4096,
    AM_COLL_TOLD_CALLS = 64
};

/* Begin to ask for the numbers of the group; what is called waits for them.  Errors
 * as am_coll_start. */
am_status_t am_coll_numbers_ask(struct am_coll_group *group);
/* The next number is kept for member 0 to tell its numbers again, for the choice of all
 * that is called later: do that, or skip the number where it is not wanted.  Errors as
 * am_coll_start. */
am_status_t am_coll_tell_again(struct am_coll_group *group);

/* Is that due? */
static inline bool am_coll_telling_is_due(const struct am_coll_group *group)
{
    return group->until == 0 && group->size > 1;
}

/* What a call counts then, the same at all members. */
static inline uint32_t am_coll_weight_of(const struct am_coll_call *call)
{
    const uint32_t most = AM_COLL_TOLD_AFTER / AM_COLL_TOLD_CALLS;
    size_t kib =
            call->is_vector ? 0 : call->count * am_coll_unit_of(call) / 1024;

    return kib >= most ? most : 1 + (uint32_t)kib;
}

/* Count a call, in order, as it is started. */
static inline void am_coll_numbers_count(struct am_coll_group *group,
                                         uint32_t weight)
{
    weight = weight < group->weight_least ? group->weight_least : weight;
    group->until -= weight < group->until ? weight : group->until;
}

#endif
