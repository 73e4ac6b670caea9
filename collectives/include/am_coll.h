/*
 * Collective operations over Active Messages: groups of peers, reductions, and
 * one call for each collective, non-blocking with a completion function or
 * blocking.  Comes with am.h.
 *
 * A collective that goes by messages is a schedule, a graph of sends, receives,
 * copies and reductions, that am_ctx_poll runs as messages come (LibNBC:
 * Hoefler et al., SC 2007); a blocking call starts the same schedule and polls
 * until it is done.  Which algorithm does a collective is chosen by cost from
 * the device's numbers, or by variable (AM_COLL_BCAST=kary:4/64k and the like;
 * `am_info --coll` says what is chosen, and why).
 *
 * Within a node the members of a group share memory, for which member 0 pays; there
 * collectives write and read pieces of the data, or tell where the others may read
 * it, and send no messages unless somebody sleeps.  Where members are on several
 * nodes, a collective may go in two levels (`nodes`): within each node, between the
 * first members of the nodes, and within each again.
 *
 * Rules.  All members of a group start the same collectives in the same order,
 * with counts that agree and the same AM_COLL_* variables; several may be under
 * way at once.  A member may be ahead of the others: what it sends waits at the
 * receiver, up to AM_COLL_WINDOW messages from each peer, and at the sender
 * beyond that.  Once in 64 calls or more it waits until member 0 has called as
 * often, which then tells costs that have changed.  A collective progresses only
 * in its members' polls and in their calls that start collectives.  Calls are
 * legal in a handler unless their comment says that they are not.
 */
#ifndef AM_COLLECTIVES_AM_COLL_H
#define AM_COLLECTIVES_AM_COLL_H

#include <am.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ groups */

struct am_coll_group; /* the context's until am_coll_group_close */

#define AM_COLL_ID_MAX 0x3fffffff

/*
 * Make a group of `count` different peers, of which this context is one; member
 * i is peer ranks[i] (copied; NULL: all ranks of the job in order, and `count`
 * is ignored).  `id` names the group: all members give the same, at most
 * AM_COLL_ID_MAX, and no two groups that have a member in common have the same at
 * one time.  At most 2^20 members.  Sends nothing.
 * *group_p is valid until am_coll_group_close or am_close.  AM_ERR_INVALID: no
 * such peer, or twice, or I am not among them, or the id is in use or larger;
 * AM_ERR_MEMORY; AM_ERR_FORKED.  Not in a handler.
 */
AM_API am_status_t am_coll_group_open(struct am_ctx *ctx, uint32_t id,
                                      const uint32_t *ranks, uint32_t count,
                                      struct am_coll_group **group_p);
/* Free it.  Its id may be used again when all members have closed it; after an error only
 * by a group of other members, whose messages are told from late ones of this group.
 * AM_ERR_AGAIN: a collective of it is under way here.  Legal in a handler. */
AM_API am_status_t am_coll_group_close(struct am_coll_group *group);
/* What is under way ends with AM_ERR_PEER, here only, and nothing can be started any
 * more: for a group whose members will not all go on.  Legal in a handler. */
AM_API void am_coll_group_abandon(struct am_coll_group *group);
/* Bytes of a piece that goes through memory that all members see, as they are on one
 * node; 0: there is no such memory, or the first collective of the group has not
 * been completed here.  The same at all members. */
AM_API size_t am_coll_group_shared_bytes(const struct am_coll_group *group);
/* Can the network itself do something for a group of all ranks of the job (combine what
 * its members give, copy a packet to all), as on some simulated machines?  The same at
 * all ranks.  Legal in a handler. */
AM_API bool am_coll_has_network(struct am_ctx *ctx);
/* AM_OK, or the error after which no collective of it can be started any more.  Legal in
 * a handler. */
AM_API am_status_t am_coll_group_status(const struct am_coll_group *group);
/* My number among the members, and how many there are. */
AM_API uint32_t am_coll_group_rank(const struct am_coll_group *group);
AM_API uint32_t am_coll_group_size(const struct am_coll_group *group);

/* -------------------------------------------------------------- reductions */

typedef enum {
    AM_COLL_INT8,
    AM_COLL_INT16,
    AM_COLL_INT32,
    AM_COLL_INT64,
    AM_COLL_UINT8,
    AM_COLL_UINT16,
    AM_COLL_UINT32,
    AM_COLL_UINT64,
    AM_COLL_FLOAT,
    AM_COLL_DOUBLE
} am_coll_type_t;

/* The logical ones give 0 or 1; the bitwise ones are for integers only. */
typedef enum {
    AM_COLL_SUM,
    AM_COLL_PROD,
    AM_COLL_MIN,
    AM_COLL_MAX,
    AM_COLL_LAND,
    AM_COLL_LOR,
    AM_COLL_LXOR,
    AM_COLL_BAND,
    AM_COLL_BOR,
    AM_COLL_BXOR
} am_coll_op_t;

/* inout[i] = left[i] op inout[i] for `count` elements.  `left` has the values of
 * lower members.  It runs in the call that starts the collective or in
 * am_ctx_poll; in both it keeps to the rules of a handler, and starts no
 * collective. */
typedef void (*am_coll_reduce_fn)(void *arg, const void *left, void *inout,
                                  size_t count);

/* An operator on elements of one type: one of the library's, or the user's own.
 * One that is not commutative is applied in the order of members; all are taken
 * to be associative. */
struct am_coll_operator {
    am_coll_reduce_fn reduce;
    void *arg;            /* of `reduce`; lives until the collective is done */
    size_t element_bytes; /* 1 or more */
    bool is_commutative;
};

/* The library's operator; AM_ERR_INVALID: there is no such.  Legal in a
 * handler. */
AM_API am_status_t am_coll_operator_get(am_coll_op_t op, am_coll_type_t type,
                                        struct am_coll_operator *operator_p);

/* ------------------------------------------------------------- collectives */

typedef enum {
    AM_COLL_BARRIER,
    AM_COLL_BCAST,
    AM_COLL_REDUCE,
    AM_COLL_ALLREDUCE,
    AM_COLL_GATHER,
    AM_COLL_SCATTER,
    AM_COLL_ALLGATHER,
    AM_COLL_REDUCE_SCATTER,
    AM_COLL_ALLTOALL,
    AM_COLL_SCAN,
    AM_COLL_EXSCAN
} am_coll_kind_t;

#define AM_COLL_KINDS 11

/* Does a variable (AM_COLL_BCAST and so on, not "auto") name the algorithm of a kind?
 * Then callers that choose between this library and another are to choose this
 * one.  Legal in a handler. */
AM_API bool am_coll_is_named(const struct am_coll_group *group,
                             am_coll_kind_t kind);

/*
 * What a collective works on.  Memory is contiguous, the caller's, and not to be
 * touched until the collective is done; the struct and the arrays are read
 * during the call only.
 *
 * `count` is elements for the kinds with an operator, bytes for the others:
 *
 *   kind             send            recv              count
 *   BCAST            -               all; root's is    of the whole
 *                                    what is sent
 *   REDUCE           all             root              of the whole
 *   ALLREDUCE, SCAN,
 *   EXSCAN           all             all (EXSCAN: not  of the whole
 *                                    member 0)
 *   GATHER           my block        root: all blocks  of one block
 *   SCATTER          root: blocks    my block          of one block
 *   ALLGATHER        my block        all blocks        of one block
 *   REDUCE_SCATTER   all blocks      my block          of one block
 *   ALLTOALL         all blocks      all blocks        of one block
 *
 * Blocks lie one after the other in the order of members.  With `recv_counts`
 * (GATHER, at the root; ALLGATHER, REDUCE_SCATTER and ALLTOALL, everywhere) or
 * `send_counts` (SCATTER, at the root; ALLTOALL) they have lengths of their own,
 * and are at `recv_offsets`, `send_offsets` (NULL: one after the other), in the
 * same unit; my block of a GATHER or SCATTER then has `count`.  `is_vector` says
 * so at all members, also where no array is read.
 *
 * `send` NULL means in place: what I give is where the result comes: REDUCE (at
 * the root), ALLREDUCE, SCAN, EXSCAN: in `recv`; GATHER (at the root),
 * ALLGATHER: in my block of `recv`; REDUCE_SCATTER, ALLTOALL: not allowed; and
 * for SCATTER at the root `recv` NULL leaves my block where it is.  Otherwise
 * send and recv do not overlap.
 */
struct am_coll_call {
    am_coll_kind_t kind;
    uint32_t root; /* BCAST, REDUCE, GATHER, SCATTER: a member */
    const void *send;
    void *recv;
    size_t count;
    bool is_vector;
    const size_t *send_counts, *send_offsets; /* of each member */
    const size_t *recv_counts, *recv_offsets;
    struct am_coll_operator op;
    bool is_waited_for; /* the caller has nothing else to do */
};

/* Is the network itself chosen for such a call, which am_coll_start would take (its memory is
 * not touched; false for another one)?  The same at all members; false before the first collective of
 * the group has been completed here.  Legal in a handler. */
AM_API bool am_coll_uses_network(struct am_coll_group *group,
                                 const struct am_coll_call *call);

/*
 * Start a collective.  AM_OK: it is under way, and `done` will be called once
 * from am_ctx_poll, with AM_OK, AM_ERR_PEER (a member died), AM_ERR_INVALID
 * (members called differently, or a collective of the group has failed at another
 * member), AM_ERR_TRUNCATE (their counts do not agree) or AM_ERR_MEMORY.  After an error
 * no member reads or writes its memory any more.  AM_DONE: it is complete already, and `done` will not be
 * called.  Errors: AM_ERR_INVALID, AM_ERR_MEMORY, AM_ERR_PEER, AM_ERR_FORKED;
 * after any of them, or after `done` got one, the group is good for closing only, but not
 * after AM_ERR_INVALID for a call that is not sound: the others are not told, and the call
 * that they have made can still be made.
 * Legal in a handler, but not in an operator: AM_ERR_HANDLER, and nothing is started.
 */
AM_API am_status_t am_coll_start(struct am_coll_group *group,
                                 const struct am_coll_call *call,
                                 am_done_fn done, void *arg);

/* The same, and poll until it is complete: AM_OK or an error of am_coll_start or
 * of `done`.  Not in a handler: AM_ERR_HANDLER. */
AM_API am_status_t am_coll_run(struct am_coll_group *group,
                               const struct am_coll_call *call);

/* The common ones by name: am_coll_run, with its errors.  `count` as above;
 * `send` NULL is in place, where that is allowed. */
AM_API am_status_t am_coll_barrier(struct am_coll_group *group);
AM_API am_status_t am_coll_bcast(struct am_coll_group *group, void *buffer,
                                 size_t bytes, uint32_t root);
AM_API am_status_t am_coll_reduce(struct am_coll_group *group, const void *send,
                                  void *recv, size_t count,
                                  const struct am_coll_operator *op,
                                  uint32_t root);
AM_API am_status_t am_coll_allreduce(struct am_coll_group *group,
                                     const void *send, void *recv, size_t count,
                                     const struct am_coll_operator *op);
AM_API am_status_t am_coll_allgather(struct am_coll_group *group,
                                     const void *send, void *recv,
                                     size_t bytes);
AM_API am_status_t am_coll_alltoall(struct am_coll_group *group,
                                    const void *send, void *recv, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
