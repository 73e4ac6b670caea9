/*
 * The flags of a group's slots: a member writes one when it has begun a turn, and the
 * others look at it.
 */
#ifndef AM_COLLECTIVES_SHARED_FLAGS_H
#define AM_COLLECTIVES_SHARED_FLAGS_H

#include "base/barrier.h"
#include "collectives/coll.h"
#include "collectives/shared/layout.h"

static inline uint64_t am_shared_flag(uint32_t turn, uint32_t print)
{
    return (uint64_t)turn << 32 | print;
}

static inline uint32_t am_shared_flag_turn(uint64_t flag)
{
    return (uint32_t)(flag >> 32);
}

/* A member's flag.  What the member wrote before it can be read afterwards. */
static inline uint64_t am_shared_flag_of(const struct am_shared *shared,
                                         uint32_t member, uint32_t turn)
{
    return am_observe64(&am_shared_slot(shared, member, turn)->flag);
}

static inline bool am_shared_has_begun(const struct am_shared *shared,
                                       uint32_t member, uint32_t turn)
{
    uint64_t flag = am_shared_flag_of(shared, member, turn);

    return (int32_t)(am_shared_flag_turn(flag) - turn) >= 0;
}

/* The turn that all members are to have begun before I write in this one: it follows
 * the turn that used this memory last. */
static inline uint32_t am_shared_turn_before(uint32_t turn)
{
    return turn - AM_SHARED_DEPTH + 1;
}

/* Is the first collective that waits one of several turns with data?  Then members on
 * other cores are at work on it. */
static inline bool am_shared_is_amid(const struct am_coll_group *group)
{
    const struct am_coll_req *req;

    if (am_list_is_empty(&group->turns)) {
        return false;
    }
    req = am_container(group->turns.next, struct am_coll_req, shared.link);
    return req->call.kind != AM_COLL_BARRIER &&
           req->shared.stage + req->shared.turns_left > 1;
}

/* Looks where others may need the core of who waits. */
#define LOOKS_CROWD 150

/* The looks that a caller makes who waits. */
static inline uint32_t am_shared_patience(const struct am_coll_group *group)
{
    if (!am_coll_is_crowded(&group->numbers)) {
        return group->shared->patience;
    }
    return am_shared_is_amid(group) ? LOOKS_CROWD : 0;
}

/* All have begun a turn, the first time. */
void am_shared_meet(struct am_coll_group *group);
/* Wake those who sleep until I have written; `all`: for whomever they wait. */
void am_shared_nudge(struct am_coll_group *group, bool all);
/* Send a NUDGE: ask a member that may be in another collective than `asks`;
 * `asks` NULL: only wake the member.  False: no space. */
bool am_shared_ask(struct am_coll_group *group, uint32_t member,
                   const struct am_coll_req *asks);

/* All members have begun this turn. */
static inline void am_shared_begun(struct am_coll_group *group, uint32_t turn)
{
    group->shared->begun = turn;
    if (!group->shared->has_met_all) {
        am_shared_meet(group);
    }
}

/* What is known of turns long ago is put off as they go on: a member that gives nothing,
 * in broadcasts of others say, learns nothing newer, and numbers of turns come again. */
static inline void am_shared_forget(struct am_shared *shared)
{
    if (__builtin_expect(shared->next - shared->begun > AM_SHARED_OLD, 0)) {
        shared->begun = shared->next - AM_SHARED_OLD;
    }
}

/* May I write in this turn: have all begun am_shared_turn_before of it?  The members
 * before `*at` were seen to have, and it goes on from there. */
static inline bool am_shared_may_write(struct am_coll_group *group,
                                       uint32_t turn, uint32_t *at)
{
    const struct am_shared *shared = group->shared;
    uint32_t before = am_shared_turn_before(turn);

    if ((int32_t)(shared->begun - before) >= 0) {
        return true;
    }
    while (*at < shared->size && am_shared_has_begun(shared, *at, before)) {
        ++*at;
    }
    if (*at < shared->size) {
        return false;
    }
    am_shared_begun(group, before);
    return true;
}

/* Say that I have begun, and wake who sleeps until I have.  The flag comes before the
 * look at sleeps[]; who sleeps looks in the other order. */
static inline void am_shared_tell(struct am_coll_group *group, uint32_t turn,
                                  uint32_t print)
{
    const struct am_shared *shared = group->shared;
    _Atomic uint64_t *flag = &am_shared_slot(shared, shared->rank, turn)->flag;
    uint32_t sleeps = 0;

    if (shared->is_light) {
        am_publish64(flag, am_shared_flag(turn, print));
        am_barrier_often();
    } else {
        atomic_store(flag, am_shared_flag(turn, print));
    }
    for (uint32_t i = 0; i < shared->size; i++) {
        sleeps |= atomic_load(am_shared_sleeps(shared, i));
    }
    if (sleeps != 0) {
        am_shared_nudge(group, false);
    }
}

#endif
