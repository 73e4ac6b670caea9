/*
 * Between the am_group files: collectives of libam (am_coll.h) for communicators whose
 * ranks are all of this world, and on this node unless a variable names the algorithm.
 *
 *   am_group.c          the group that belongs to a communicator
 *   am_group_fit.c      which collectives are libam's
 *   am_group_data.c     one collective as MPI calls it: its memory, its operator
 *   am_group_op.c       MPI's operators that libam has
 *   am_group_call.c     the wait for it
 *   am_group_block.c    blocking collectives
 *   am_group_start.c    non-blocking ones
 *   am_group_pair.c     those of two ranks that are messages
 *   am_group_persist.c  persistent ones
 *
 * Each decision is made from what all ranks know alike: the communicator, how
 * often it has been used, the bytes of the message (not the datatype, which may
 * differ from rank to rank), and what member 0 of the group said of the memory.
 */
#ifndef AM_GROUP_H_INCLUDED
#define AM_GROUP_H_INCLUDED

#include <am_coll.h>

/* The group of a communicator with MPIDI_AM_COMM_GROUP, made now if it is time; NULL: there is
 * none. */
struct am_coll_group *MPIDI_AM_group_of(MPIR_Comm * comm, MPIDI_AM_order_t order);

/* The same where all are on one node, and are known to share memory; NULL: not, or not yet. */
struct am_coll_group *MPIDI_AM_group_shared(MPIR_Comm * comm, MPIDI_AM_order_t order);

/* Let the members of the group of calls, which is there, tell each other what they have in common:
 * once, by a barrier that all make with the same collective.  And has that been?  Never in the group
 * of starts, in which nobody waits for all: so the network itself does none of those. */
void MPIDI_AM_group_ask(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag);
bool MPIDI_AM_group_is_asked(MPIR_Comm * comm, MPIDI_AM_order_t order);

/* The bytes of a piece that goes through the shared memory of the group; 0: it has none.  It asks
 * first. */
size_t MPIDI_AM_group_shared_bytes(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag);

/* Memory as libam takes it: the user's own, or a copy of it in one piece. */
struct MPIDI_AM_memory {
    char *bytes;
    void *user;
    MPI_Aint count, length;
    MPI_Datatype datatype;
    bool is_used, is_copy;
};

/* An operator of MPI on one of its own datatypes; libam has its address until the end. */
struct MPIDI_AM_operator {
    MPI_Op op;                  /* 0: none, or one that libam has itself */
    MPI_Datatype datatype;
};

/* An operator that the user has made, and may free. */
#define MPIDI_AM_OP_IS_USERS(op_) \
    (HANDLE_GET_KIND(op_) != HANDLE_KIND_INVALID && !HANDLE_IS_BUILTIN(op_))

/* libam's own operator for one of MPI's on elements of so many bytes; false: it has none. */
bool MPIDI_AM_group_operator(MPI_Op op, MPI_Datatype datatype, MPI_Aint bytes,
                             struct am_coll_operator *operator);

/* One collective as MPI calls it.  Described first, without a side effect; what it works on is
 * opened when libam is to do it. */
struct MPIDI_AM_collective {
    struct am_coll_call call;
    struct MPIDI_AM_operator operator;
    size_t bytes;               /* of the whole, or of one block; the same on all ranks */
    struct MPIDI_AM_memory send, recv;
    bool is_given_in_recv;      /* what this rank gives lies in recv */
    bool gets;                  /* a result comes to recv here */
};

/* The bytes of a message; 0: none, or more than there can be. */
size_t MPIDI_AM_bytes_of(MPI_Aint count, MPI_Datatype datatype);

/* Describe one.  False: it has no bytes, or is not one that libam does; all ranks find the
 * same.  The arguments are those of MPI; `root` is of no meaning for kinds without one. */
void MPIDI_AM_as_barrier(struct MPIDI_AM_collective *c);
bool MPIDI_AM_as_bcast(struct MPIDI_AM_collective *c, void *buffer, MPI_Aint count,
                       MPI_Datatype datatype, int root, MPIR_Comm * comm);
bool MPIDI_AM_as_reduction(struct MPIDI_AM_collective *c, am_coll_kind_t kind,
                           const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm);
/* A reduction whose result is scattered in blocks, all of one length. */
bool MPIDI_AM_as_scattered(struct MPIDI_AM_collective *c, const void *sendbuf, void *recvbuf,
                           const MPI_Aint * recvcounts, MPI_Datatype datatype, MPI_Op op,
                           MPIR_Comm * comm);
/* All-gather, all-to-all, gather or scatter. */
bool MPIDI_AM_as_blocks(struct MPIDI_AM_collective *c, am_coll_kind_t kind, const void *sendbuf,
                        MPI_Aint sendcount, MPI_Datatype sendtype, void *recvbuf,
                        MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm * comm);

/* All-gather or all-to-all of blocks that have lengths of their own (MPIDI_AM_vector). */
void MPIDI_AM_as_vector(struct MPIDI_AM_collective *c, am_coll_kind_t kind, const void *sendbuf,
                        MPI_Aint sendcount, MPI_Datatype sendtype);

/* Get the memory and what is given into it, before; what has come out of it, after.  MPI error
 * codes; the collective is run whatever they say, as the other ranks wait for it. */
int MPIDI_AM_collective_open(struct MPIDI_AM_collective *c);
int MPIDI_AM_collective_close(struct MPIDI_AM_collective *c, bool is_good);

/* Such blocks, one for each rank: the user's own, or a copy of them. */
struct MPIDI_AM_vector {
    char *bytes;
    size_t length, *counts, *offsets;   /* in bytes, from `bytes` on */
    void *user;
    const MPI_Aint *user_counts, *displs;
    MPI_Aint extent;
    MPI_Datatype datatype;
    bool is_copy;
};

void MPIDI_AM_vector_open(struct MPIDI_AM_vector *v, int count, const void *user,
                          const MPI_Aint * counts, const MPI_Aint * displs, MPI_Datatype datatype);
/* From the copy to the user's, or to it; nothing to do without one.  MPI error codes. */
int MPIDI_AM_vector_copy(struct MPIDI_AM_vector *v, int count, bool is_out);
void MPIDI_AM_vector_close(struct MPIDI_AM_vector *v);

/* Is a kind libam's whatever the lengths, as a variable names the algorithm? */
#define MPIDI_AM_IS_NAMED(kind_)  ((MPIDI_AM_global.named >> (kind_) & 1) != 0)
/* Is it MPICH's, as a variable says? */
#define MPIDI_AM_IS_MPICHS(kind_) ((MPIDI_AM_global.mpichs >> (kind_) & 1) != 0)

/* The group if libam is to do it, else NULL. */
struct am_coll_group *MPIDI_AM_group_for(MPIR_Comm * comm, const struct MPIDI_AM_collective *c,
                                         MPIDI_AM_errflag_t * errflag);
struct am_coll_group *MPIDI_AM_group_for_start(MPIR_Comm * comm, MPIDI_AM_order_t order,
                                               const struct MPIDI_AM_collective *c);

/* Is it one message of so many bytes between two ranks? */
bool MPIDI_AM_fits_message(MPIR_Comm * comm, am_coll_kind_t kind, size_t bytes);

/* Start it as that, if it is.  *request is NULL when MPICH has no more. */
bool MPIDI_AM_pair_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request);
/* A gather or a scatter. */
bool MPIDI_AM_pair_blocks(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                          MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                          MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                          MPIDI_AM_order_t order, MPIR_Request ** request);

/* Start it and wait, with MPICH's progress if it is not done at once. */
am_status_t MPIDI_AM_group_run(MPIR_Comm * comm, struct am_coll_group *group,
                               struct am_coll_call *call, MPIDI_AM_errflag_t * errflag);

/* A collective was done when it was started: is it one of those after which this rank polls?  With
 * the lock of vci 0.  And the poll, without it. */
bool MPIDI_AM_group_poll_is_due(void);
void MPIDI_AM_group_poll(void);

/* The MPI error for a collective that libam has given up. */
int MPIDI_AM_group_error(MPIR_Comm * comm, am_status_t status);

#endif /* AM_GROUP_H_INCLUDED */
