/*
 * Which algorithm is chosen for the calls of a group: kept for each kind, as most calls
 * are like the last of their kind.
 */
#ifndef AM_COLLECTIVES_CHOICE_H
#define AM_COLLECTIVES_CHOICE_H

#include "collectives/select/select.h"

#include <am_coll.h>

/* How the calls of a kind are done that are like the last of it. */
struct am_coll_choice {
    struct am_coll_wish wish;
    size_t count;             /* of the call */
    uint32_t weight;          /* of it (numbers.h) */
    struct am_coll_plan plan; /* algorithm NULL: none was chosen yet */
    uint32_t print;
    /* It takes one turn of the group's memory, by flags or by pieces (a barrier
     * that a member leads: two); a member that gives writes `written` bytes. */
    bool is_one_turn;
    size_t written;
};

static inline bool am_coll_has_root(am_coll_kind_t kind)
{
    return kind == AM_COLL_BCAST || kind == AM_COLL_REDUCE ||
           kind == AM_COLL_GATHER || kind == AM_COLL_SCATTER;
}

static inline bool am_coll_has_operator(am_coll_kind_t kind)
{
    return kind == AM_COLL_REDUCE || kind == AM_COLL_ALLREDUCE ||
           kind == AM_COLL_REDUCE_SCATTER || kind == AM_COLL_SCAN ||
           kind == AM_COLL_EXSCAN;
}

/* May `send` be NULL where something is given? */
static inline bool am_coll_may_be_in_place(am_coll_kind_t kind)
{
    return kind != AM_COLL_REDUCE_SCATTER && kind != AM_COLL_ALLTOALL;
}

/* Bytes of what call->count counts. */
static inline size_t am_coll_unit_of(const struct am_coll_call *call)
{
    return am_coll_has_operator(call->kind) ? call->op.element_bytes : 1;
}

/* What all members must agree on, as a hash. */
static inline uint32_t am_coll_print_of(const struct am_coll_choice *choice,
                                        const struct am_coll_call *call)
{
    return choice->print +
           (am_coll_has_root(call->kind) ? call->root * 0x9e3779b1u : 0);
}

struct am_coll_group;

/* Is the call sound, and what was chosen for the last of its kind right for it?
 * In few instructions. */
bool am_coll_is_as_before(const struct am_coll_group *group,
                          const struct am_coll_call *call);
/* What is chosen for such a call. */
const struct am_coll_choice *am_coll_choice_of(struct am_coll_group *group,
                                               const struct am_coll_call *call);

#endif
