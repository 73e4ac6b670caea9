/*
 * Collectives that the network itself carries (dev/network.h), for groups of all
 * ranks of the job.
 *
 *   combine.c  barrier, broadcast, reductions of integers: a packet of each member,
 *              one result for all.  All packets go into one network, in the order
 *              in which all members must send them; so one group at a time has it,
 *              which member 0 gives it to (numbers.c).
 *   cast.c     one message to all other members: to each of them a DATA as any
 *              other.  Any such group may send them.
 */
#ifndef AM_COLLECTIVES_NET_H
#define AM_COLLECTIVES_NET_H

#include "collectives/select/select.h"
#include "dev/network.h"

struct am_coll;
struct am_coll_group;
struct am_coll_req;
struct am_step;

/* A collective that is combined. */
struct am_net_op {
    struct am_list link; /* in coll->combining, in the order of all members */
    am_dev_combine_t op;
    bool meets;    /* a barrier: no packets */
    bool has_come; /* and I have come */
    uint32_t flip; /* exclusive-or of words, before and after: signed numbers are in
                    * the order of unsigned ones so */
    size_t bytes, sent, taken;
};

/* What the network does with the values of an operator; NONE: nothing. */
am_dev_combine_t am_net_combine_of(const struct am_coll_operator *op);

/* What a group of all ranks may use, the first if there are several. */
void am_net_numbers(struct am_ctx *ctx, struct am_coll_numbers *numbers);
/* Member 0: what its group may use, into its numbers. */
void am_net_offer(struct am_coll_group *group, struct am_coll_numbers *numbers);
/* The group is closed: another one may have the network. */
void am_net_leave(struct am_coll_group *group);

/* A request that has been built goes to the network when those before it have. */
void am_net_queue(struct am_coll_req *req);
/* It has ended, or has failed: then the members do not agree any more about what is in
 * the network, and nobody uses it again. */
void am_net_end(struct am_coll_req *req);
/* Begin a step AM_STEP_CAST. */
void am_net_cast(struct am_step *step);
/* Send and take what can be combined; and that, and casts.  What waits goes on in the
 * next poll. */
void am_net_combine_run(struct am_coll *coll);
void am_net_run(struct am_coll *coll);

#endif
