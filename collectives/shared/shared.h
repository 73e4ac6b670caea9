/*
 * Collectives through memory that all members of a group see, where one node has
 * them all: member 0 takes it of its device (AM_DEV_CAP_MAPPED) and sends the key
 * with the group's numbers.  For the files of collectives/; may call am, dev and
 * base.
 *
 *   sleeps[member] | gone[member] | seen[member] | broken, strong
 *     | slots[member][AM_SHARED_DEPTH]
 *     | payloads[AM_SHARED_DEPTH][member]
 *
 *   slot:  flag (turn:32 | hash:32), a payload of 48 bytes or less
 *
 * A collective takes one turn of the group or more, counted alike by all.  In a
 * turn a member writes what it gives into its slot, or as one of the turn's payloads,
 * then the turn into the slot's flag; waits for the flags of those whose data it
 * wants; takes what they gave.  The memory of a turn is used again after
 * AM_SHARED_DEPTH turns: a member may write there when all have begun the turn that
 * follows the one in it, for then they have ended that.
 *
 * What is given goes one of two ways (shared/way.h): the data itself, a piece in
 * each turn; or the keys of the members' own memory, from which the others read
 * (one copy, by the device), while a later turn tells that they have.
 *
 * A member that has waited for a while says for whom in sleeps[], looks again, and
 * then waits for a message as for any other (AM_COLL_H_NUDGE), by AM_WAIT: who
 * writes a flag looks in sleeps[] afterwards.  So one of the two sees the other, if
 * both pass a fence in between.  Where each member has a core of its own, who sleeps
 * passes it for both (am_barrier_seldom), and who writes goes on at once: it would
 * have to wait until the flag's line has come to its core.  `strong` is not 0 where
 * a member cannot do that.
 */
#ifndef AM_COLLECTIVES_SHARED_H
#define AM_COLLECTIVES_SHARED_H

#include "am/core.h"

#include <am_coll.h>

enum {
    AM_SHARED_DEPTH = 4,
    AM_SHARED_OLD = 1 << 20, /* turns ago: what began then tells nothing */
    AM_SHARED_MEMBERS_MAX = 64,
    AM_SHARED_SLOT_BYTES =
            8192, /* that a member gives in a turn: am_shared_room */
    AM_SHARED_FEW_BYTES = 48     /* which lie in the slot */
};

struct am_coll;
struct am_coll_call;
struct am_coll_group;
struct am_coll_req;
struct am_shared_way;

/* What member 0 tells the others; slot_bytes 0: there is no such memory. */
struct am_shared_key {
    struct am_dev_key key;
    uint64_t slot_bytes;
};

/* Of a group, as this member sees it. */
struct am_shared {
    struct am_list link;  /* of those that member 0 has left: coll->left */
    struct am_dev *owner; /* member 0: whose memory it is */
    char *base;
    size_t bytes;
    uint32_t size, rank;
    uint32_t next;     /* turn of the next collective */
    uint32_t begun;    /* all have begun this turn */
    uint32_t takes;    /* pieces of lengths for which is_near matters */
    uint32_t looks;    /* polls in a row that ended no collective */
    uint32_t patience; /* looks of a caller that waits, in a call or a poll */
    uint32_t brief;    /* looks of one that does not (am_shared_once), ... */
    uint32_t briefs;   /* ... of which so many were made */
    bool can_fence;    /* am_barrier_seldom works here */
    /* Besides, each member had a core when the memory was shared: flags may be written
     * without a fence once all have met, and who sleeps passes it for them. */
    bool may_be_light;
    bool has_met_all;  /* all have begun a turn: `strong` is final */
    bool is_light;     /* flags are written without a fence */
    bool is_near;      /* what others write comes quickly (am_copy_is_near) */
    bool told_far;     /* what was told member 0 last */
    bool is_asleep;    /* said so in sleeps[] */
    bool owes_nudges;  /* there was no space for all */
    bool is_ahead; /* the next collective has begun its turn (am_shared_once) ... */
    uint32_t ahead_at; /* ... and found the members before this one there */
    uint32_t *ranks;   /* member 0, once it has left: peer indices of members */
};

/* What members read of each other. */
enum {
    AM_SHARED_GIVEN, /* what a member gives */
    AM_SHARED_MADE,  /* what it makes of it for others */
    AM_SHARED_KEYS
};

/* Of a collective whose members read each other's memory (shared/reads.c). */
struct am_shared_reads {
    struct am_region regions[AM_SHARED_KEYS]; /* mine, open to the others */
    struct am_key keys[AM_SHARED_KEYS];       /* of these */
    const void *given; /* blocks that I give */
    size_t given_bytes;
    char *values;  /* scratch: what is read to be reduced */
    char *sum;     /* scratch: a result that cannot be made in place */
    char *made; /* scratch: AM_SHARED_MADE of a reduction to one member, or a pair's
                      result that waits */
    size_t piece;  /* bytes that are read at a time, to be reduced */
    size_t item;   /* reads of this turn that have been made */
    bool has_come; /* what the device could not read at once */
    struct am_bulk bulk; /* that brought it, by messages */
};

/* Of a collective that goes through the group's memory. */
struct am_shared_op {
    struct am_list link; /* in group->turns */
    const struct am_shared_way *way;
    uint32_t turn, turns_left;
    uint32_t stage; /* turns that have ended */
    uint32_t at;    /* members before this one are there */
    bool is_begun;
    bool has_asked; /* the member that it waits for whether the two agree */
    size_t piece;   /* bytes of a block that go in one turn */
    struct am_shared_reads reads;
};

/* Member 0: memory for the group, if all members can reach it. */
void am_shared_offer(struct am_coll_group *group, struct am_shared_key *key);
/* The others: map it.  AM_ERR_INVALID: it is not there; AM_ERR_MEMORY. */
am_status_t am_shared_accept(struct am_coll_group *group,
                             const struct am_shared_key *key);
/* Leave it.  AM_ERR_AGAIN: others have still to be woken. */
am_status_t am_shared_leave(struct am_coll_group *group);
/* Free what all have left, or the context, which closes, has. */
void am_shared_reap(struct am_coll *coll, bool at_close);

/* May a call for which am_coll_is_as_before is true be made at once: does it
 * take one turn (or is it a barrier by flags), and does nothing of the group
 * wait? */
bool am_shared_may_be_once(const struct am_coll_group *group,
                           const struct am_coll_call *call);
/* Make it, without a request.  False: a member is missing, or the memory of
 * this turn is still in use; then the same call is to be queued
 * (am_shared_queue), which carries on.  shared->is_ahead: its turn has begun,
 * and it has looked for the others for as long as such a caller is to. */
bool am_shared_once(struct am_coll_group *group,
                    const struct am_coll_call *call);

/* Take a request that is built, in the order of the group's collectives.
 * AM_ERR_MEMORY. */
am_status_t am_shared_queue(struct am_coll_req *req,
                            const struct am_shared_way *way);
/* The request ends, or the context closes: nothing of it is open any more. */
void am_shared_end(struct am_coll_req *req, bool at_close);
/* Carry on with what is queued, and look for what is missing `looks` times more.
 * Requests that end are left on coll->due, but for `mine` (NULL: none). */
void am_shared_run(struct am_coll_group *group, const struct am_coll_req *mine,
                   uint32_t looks);
/* A caller that waits has looked: that was worth it (`found`), or the others are not
 * running now. */
void am_shared_learn(struct am_coll_group *group, bool found);
/* Another member, now and then: is member 0 as far as was told it last?  Who sends to member
 * 0 sees that, and who receives may not. */
void am_shared_tell_near(struct am_coll_group *group);
/* Member 0, which may write or receive only: take what others have seen of how far it is. */
void am_shared_ask_near(struct am_coll_group *group);
/* In the poll: all groups that look. */
void am_shared_poll(struct am_coll *coll);
/* A request has failed here: let the others know. */
void am_shared_break(struct am_coll_group *group);
/* A NUDGE has come, or a request waits to be run. */
void am_shared_nudged(struct am_coll_group *group);
/* Send what is owed to sleepers; false: there was no space. */
bool am_shared_settle(struct am_coll_group *group);

#endif
