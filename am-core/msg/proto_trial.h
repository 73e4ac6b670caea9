/*
 * Which takes less time, a stream of packets or a single copy?  Both are tried on what
 * the program sends anyway, for each size (octaves) by itself, and for messages that are
 * answered one by one apart from series of them.
 *
 *   used ----- so many rounds -----> the other is tried, for a few rounds
 *    ^                                  |
 *    +-- the faster of the two is used -+   each time nothing changes, the next
 *                                           trial is after twice as many rounds
 *
 * A round is what one rank sends to another until that has answered: from the first
 * message to the first one after the answer.  So it has all that the choice costs at both
 * ends.  How far rounds lie from their mean decides whether a difference counts.
 * Until the first trial ends, the cost model's choice is used.
 *
 * Where both ends send at the same time a round is so many messages, the end of the lower
 * rank tries, and the other one sends as it has received: what counts is what both do.
 *
 * Pure but for am_trial_proto: no clock, no memory of its own.  The idea is that of
 * explore-then-commit among two arms (Lattimore and Szepesvari, Bandit Algorithms, 6).
 */
#ifndef AM_MSG_PROTO_TRIAL_H
#define AM_MSG_PROTO_TRIAL_H

#include "am/cost.h"

/* Shorter ones are not tried: a single copy's system call alone takes as long. */
#define AM_TRIAL_BYTES ((size_t)8 * 1024)
/* From there on, each twice the one before; the last is of all longer ones. */
#define AM_TRIAL_SIZES 10

/* What has come of a round. */
typedef enum {
    AM_TRIAL_GOES_ON,
    AM_TRIAL_BEGINS,
    AM_TRIAL_LOST, /* what was used stays */
    AM_TRIAL_WON
} am_trial_event_t;

/* How messages follow each other. */
typedef enum {
    AM_TRIAL_ALONE,  /* each is answered before the next */
    AM_TRIAL_SERIES, /* many, and then an answer */
    AM_TRIAL_BOTH,   /* both ends send meanwhile */
    AM_TRIAL_FLOWS
} am_trial_flow_t;

/* What a byte took: the mean of rounds, and of how far they lie from it. */
struct am_trial_mean {
    uint64_t byte_fs, off_fs;
    uint32_t count;
};

/* Messages of about one size. */
struct am_trial_size {
    struct am_trial_mean means[AM_BY_COUNT];
    am_by_t by;    /* what has proved to be faster; AM_BY_COST: none yet */
    am_by_t tried; /* what is tried now; AM_BY_COST: nothing */
    am_by_t lost;  /* what was much slower when it was tried last */
    am_trial_flow_t flow;
    bool begun;
    bool against;    /* `by` is not what costs least */
    uint32_t left;   /* rounds until a trial begins, or ends */
    uint32_t rest;   /* rounds between two trials */
    uint32_t slower; /* rounds of the trial in a row that took much longer */
    uint32_t cold;   /* rounds until those of the trial count */
};

struct am_trial {
    struct am_trial_size sizes[AM_TRIAL_FLOWS][AM_TRIAL_SIZES];
};

/* A round to one peer. */
struct am_trial_round {
    uint64_t start_ps;
    uint64_t bytes;
    uint32_t count;
    bool both;
    struct am_trial_size *at; /* NULL: its messages were sent in several ways */
    am_by_t by, cost;
};

/* What a peer keeps of it. */
struct am_trial_peer {
    struct am_trial_round round;
    uint8_t heard[AM_TRIAL_SIZES]; /* am_by_t: how the last one came */
};

static inline uint32_t am_trial_index(size_t bytes)
{
    uint32_t at = 0;

    while (at + 1 < AM_TRIAL_SIZES && bytes >> at >= 2 * AM_TRIAL_BYTES) {
        at++;
    }
    return at;
}

/* A message has come so. */
static inline void am_trial_hear(struct am_trial_peer *peer, size_t bytes,
                                 am_by_t by)
{
    if (bytes >= AM_TRIAL_BYTES) {
        peer->heard[am_trial_index(bytes)] = (uint8_t)by;
    }
}

/* How one that costs least by `cost` goes now. */
am_by_t am_trial_by(const struct am_trial_size *at, am_by_t cost);
/* A round went by `by`, and took so long for each byte. */
am_trial_event_t am_trial_see(struct am_trial_size *at, am_by_t cost,
                              am_by_t by, uint64_t byte_fs);
/* The size that this one is of.  A stream of it that is `cheap` costs but a part of single
 * copies, which then are not tried soon. */
struct am_trial_size *am_trial_size_of(struct am_trial *trial, size_t bytes,
                                       am_trial_flow_t flow, am_by_t cost,
                                       bool cheap);

#endif
