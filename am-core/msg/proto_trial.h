/*
 * Which takes less time, a stream of packets or a single copy?  Both are tried on what
 * the program sends to a peer anyway, for each size (octaves) by itself, and for each of
 * three flows of messages.
 *
 *   used ----- so many rounds -----> the other is tried, for a few rounds
 *    ^                                  |
 *    +-- the faster of the two is used -+   what has lost is tried again after twice as
 *                                           many rounds, or eight times if much slower
 *
 * A round is what one rank sends to another until that has answered: from the first
 * message to the first one after the answer.  So it has all that the choice costs at both
 * ends.  How far rounds lie from their mean decides whether a difference counts.  Until the
 * first trial ends, the cost model's choice is used; or where that was wrong at the next
 * smaller size, what was found there.  Where a profile says what is faster (am_tune), that is
 * used from the beginning, and the other is tried much later.
 *
 * Where both ends send at the same time a round is so many messages, the end of the lower
 * rank tries, and the other one sends as it has received: what counts is what both do.
 *
 * Here is the rule, without a clock and without a peer; proto_round.c has the rounds.  The
 * idea is that of explore-then-commit (Lattimore and Szepesvari, Bandit Algorithms, 6).
 */
#ifndef AM_MSG_PROTO_TRIAL_H
#define AM_MSG_PROTO_TRIAL_H

#include "dev/faster.h"

/* What has come of a round. */
typedef enum {
    AM_TRIAL_GOES_ON,
    AM_TRIAL_BEGINS,
    AM_TRIAL_LOST, /* what was used stays */
    AM_TRIAL_WON
} am_trial_event_t;

/* What a byte took: the mean of rounds, and of how far they lie from it. */
struct am_trial_mean {
    uint64_t byte_fs, off_fs;
    uint32_t count;
};

/* Messages of about one size, in one flow. */
struct am_trial_size {
    struct am_trial_mean means[AM_BY_COUNT];
    am_by_t best;  /* AM_BY_COST: not known yet */
    am_by_t tried; /* what is tried now; AM_BY_COST: nothing */
    am_by_t slow;  /* what was much slower when it was tried last */
    am_by_t cost;  /* what the costs said when that was found */
    am_flow_t flow;
    bool begun;
    bool later;  /* its first trial is not soon */
    bool second; /* of two ends: its trials but the first are later */
    uint64_t best_fs;     /* its mean then */
    uint32_t rounds_left; /* until a trial begins, or ends */
    uint32_t rest;        /* rounds between two trials */
    uint32_t slow_rounds; /* of the trial, in a row */
    uint32_t cold_rounds; /* until those of the trial count */
    uint32_t messages;    /* sent since the trial began */
};

/* A peer's. */
struct am_trial {
    struct am_trial_size sizes[AM_FLOW_COUNT][AM_FASTER_SIZES];
};

/* What is known when the first message of a size is sent. */
struct am_trial_start {
    am_flow_t flow;
    const struct am_trial_size *smaller; /* the next smaller size, or NULL */
    am_by_t cost;                        /* what costs least */
    am_by_t known;                       /* by a profile, or AM_BY_COST */
    bool later;                          /* the first trial is not soon */
    /* trials but the first are not when the other end's are, as each is to judge its own
     * change */
    bool second;
};

void am_trial_begin(struct am_trial_size *at,
                    const struct am_trial_start *start);
/* By which does one that costs least by `cost` go now?  It is sent. */
am_by_t am_trial_send(struct am_trial_size *at, am_by_t cost);
/* A round went by `by`, and took so long for each byte. */
am_trial_event_t am_trial_see(struct am_trial_size *at, am_by_t cost,
                              am_by_t by, uint64_t byte_fs);
/* Is the next round, of many messages, the last before its first trial? */
bool am_trial_is_due(const struct am_trial_size *at);
/* That is not to be soon. */
void am_trial_put_off(struct am_trial_size *at);
/* Of so many rounds from now on, perhaps 0, nothing need be seen: what is used is known well,
 * and no trial is near.  They count as rounds before the next one. */
uint32_t am_trial_rest(struct am_trial_size *at);

#endif
