/*
 * A schedule: the steps of one collective at one member, and which must end
 * before which may begin.  Algorithms build it with the functions here; the
 * runner (sched/run.c) carries it out.  Calls base only.
 *
 *   step 0 recv ---> step 1 reduce ---> step 2 send
 *   step 3 recv ------^
 *
 * A step's number is its place in the order of building; of steps that may begin
 * at the same time the earlier built begins first.  Memory that runs out is
 * noted, and asked for once at the end (am_sched_is_good): until then the
 * functions return numbers that may be given to the others.
 *
 * Schedules are kept and used again, so that in the long run none allocates.
 */
#ifndef AM_COLLECTIVES_SCHED_H
#define AM_COLLECTIVES_SCHED_H

#include "base/list.h"

#include <am_coll.h>

#define AM_STEP_NONE UINT32_MAX

typedef enum {
    AM_STEP_SEND,
    AM_STEP_RECV,
    AM_STEP_CAST, /* a SEND to all other members at once, by the network */
    AM_STEP_COPY,
    AM_STEP_REDUCE,
    AM_STEP_JOIN, /* nothing: many steps before, many after */
    AM_STEP_CALL  /* a collective of another group */
} am_step_kind_t;

struct am_coll_req;
struct am_coll_xfer;

struct am_step {
    /* written by the builder */
    am_step_kind_t kind;
    uint32_t member, tag; /* SEND, RECV; CAST: the tag */
    uint32_t edge;        /* the first in am_sched.edges, or AM_STEP_NONE */
    uint32_t edge_last;
    const void *from;
    void *to;
    size_t length; /* bytes; REDUCE: elements */
    /* written by the runner */
    uint32_t waits_for; /* steps that must end before it begins */
    uint32_t next;      /* in the queue of those that may begin */
    struct am_coll_req *req;
    struct am_coll_xfer *xfer; /* its transfer or region, or NULL */
    struct am_list link;       /* where it waits for a message or for space */
    bool is_noted;  /* it waits for the answer to an RTS or a READY */
    bool is_answer; /* its READY answers an RTS */
};

struct am_edge {
    uint32_t to, next;
};

struct am_sched_block;

struct am_sched {
    struct am_step *steps;
    struct am_edge *edges;
    uint32_t step_count, step_max;
    uint32_t edge_count, edge_max;
    struct am_sched_block *scratch; /* the newest first */
    size_t scratch_used;            /* of the newest block, bytes */
    size_t scratch_next; /* least length of the first one after a reset */
    bool failed;
};

/* An empty schedule in zeroed memory; `fini` frees what it holds, `reset`
 * empties it and keeps its memory (but no more than a bound). */
void am_sched_fini(struct am_sched *sched);
void am_sched_reset(struct am_sched *sched);
/* Was there memory for all of it? */
bool am_sched_is_good(const struct am_sched *sched);

/* Scratch memory, aligned to a cache line, until `reset`; NULL for 0 bytes, or
 * when there is none. */
void *am_sched_scratch(struct am_sched *sched, size_t bytes);

/* New steps.  A message is found by its sender and its tag, which are the same
 * on both sides and, between two members, different for each message. */
uint32_t am_sched_send(struct am_sched *sched, uint32_t member, uint32_t tag,
                       const void *from, size_t bytes);
uint32_t am_sched_recv(struct am_sched *sched, uint32_t member, uint32_t tag,
                       void *to, size_t bytes);
/* To the others it is a message of this member as any.  At most as long as one in a
 * packet (am_coll_numbers.eager_max), and where the network does it. */
uint32_t am_sched_cast(struct am_sched *sched, uint32_t tag, const void *from,
                       size_t bytes);
uint32_t am_sched_copy(struct am_sched *sched, const void *from, void *to,
                       size_t bytes);
/* inout = left op inout, `count` elements. */
uint32_t am_sched_reduce(struct am_sched *sched, const void *left, void *inout,
                         size_t count);
uint32_t am_sched_join(struct am_sched *sched);
/* A collective of another group, whose members are among this one's.  The step
 * has a copy of the call; what the call points to stays the caller's.  All members
 * of `group` start its collectives in the same order (edges see to that). */
uint32_t am_sched_call(struct am_sched *sched, struct am_coll_group *group,
                       const struct am_coll_call *call);

/* `after` begins when `before` has ended; AM_STEP_NONE for either: nothing. */
void am_sched_edge(struct am_sched *sched, uint32_t before, uint32_t after);

#endif
