/*
 * The rounds in which a peer's messages are tried (proto_trial.h): how they follow each
 * other, what each took, and by which the next one goes.
 */
#ifndef AM_MSG_PROTO_ROUND_H
#define AM_MSG_PROTO_ROUND_H

#include "msg/proto_trial.h"

/* What has been sent to a peer since the last round. */
struct am_round {
    uint64_t start_ps;
    uint64_t bytes;
    uint32_t count;
    bool both;                /* both ends send */
    bool series;              /* it began behind the first of a series */
    struct am_trial_size *at; /* NULL: the round tells nothing */
    am_by_t by, cost;         /* its messages went by, and cost least by */
};

/* Messages that go the short way, as eager ones, without a look, while the size, the tables and
 * what is used stay as they were at the message before (am_trial_rest). */
struct am_round_rest {
    size_t bytes; /* of each; 0: there are none */
    const struct am_proto_kind *kind;
    uint32_t tables;
    uint32_t left;
};

/* A peer's. */
struct am_round_peer {
    struct am_round round;
    struct am_round_rest rest;
    /* what the costs said last: of so many bytes by this protocol, with these tables */
    const struct am_proto_kind *cost_kind;
    size_t cost_bytes;
    uint32_t cost_proto, cost_tables;
    am_by_t cost_by;
    struct am_trial *trial;        /* made when it is first asked */
    bool hears;                    /* long messages come, too: one since ... */
    bool heard_since;              /* ... the round before, or this one began */
    uint8_t heard[AM_FASTER_SIZES]; /* am_by_t: how the last one came */
};

/* A message has come so. */
static inline void am_round_hear(struct am_round_peer *peer, size_t bytes,
                                 am_by_t by)
{
    if (bytes >= AM_FASTER_BYTES) {
        peer->heard[am_faster_index(bytes)] = (uint8_t)by;
        peer->hears = peer->heard_since = true;
    }
}

#endif
