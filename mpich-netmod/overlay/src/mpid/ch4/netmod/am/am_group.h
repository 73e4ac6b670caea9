/*
 * Between the am_group files: collectives of libam (am_coll.h) for communicators whose
 * ranks are all of this world and on this node.
 *
 *   am_group.c          the group that belongs to a communicator
 *   am_group_call.c     one collective: its memory, its operator, the wait for it
 *   am_group_block.c    blocking collectives
 *   am_group_start.c    non-blocking ones
 *
 * Blocking collectives go to libam when the members share memory and the message is
 * short enough for that to be the faster way (measured: docs/performance.md); others are
 * MPICH's, or am_coll.c's.  Where ranks outnumber the cores these are only those that make
 * all wait for all anyway, barrier and allreduce: a root that sends and goes on is far ahead
 * of one that waits for its slot to be read.
 * Non-blocking ones of the same lengths go there whether they share memory or not:
 * MPICH's schedules cost more than libam's.
 *
 * Each decision is made from what all ranks know alike: the communicator, how
 * often it has been used, the bytes of the message (not the datatype, which may
 * differ from rank to rank), and what member 0 of the group said of the memory.
 */
#ifndef AM_GROUP_H_INCLUDED
#define AM_GROUP_H_INCLUDED

#include <am_coll.h>

/* Longest message that goes this way, bytes (of a block, of all-gather and all-to-all). */
#define MPIDI_AM_GROUP_BCAST_MOST     4096
#define MPIDI_AM_GROUP_REDUCE_MOST    4096
#define MPIDI_AM_GROUP_ALLREDUCE_MOST 4096
#define MPIDI_AM_GROUP_ALLGATHER_MOST 4096
#define MPIDI_AM_GROUP_ALLTOALL_MOST  4096

/* The group of a communicator with MPIDI_AM_COMM_NODE, made now if it is time; NULL: there is
 * none. */
struct am_coll_group *MPIDI_AM_group_of(MPIR_Comm * comm);

/* The bytes of a piece that goes through the shared memory of the group, which is there; 0: it has
 * none.  The first call is a barrier of the group: all make it with the same collective. */
size_t MPIDI_AM_group_shared_bytes(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag);

/* Memory as libam takes it: the user's own, or a copy of it in one piece. */
struct MPIDI_AM_memory {
    char *bytes;
    void *user;
    MPI_Aint count, length;
    MPI_Datatype datatype;
    bool is_copy;
};

void MPIDI_AM_memory_open(struct MPIDI_AM_memory *memory, const void *user, MPI_Aint count,
                          MPI_Datatype datatype);
/* To the copy, or from it; nothing to do without one.  MPI error codes. */
int MPIDI_AM_memory_in(struct MPIDI_AM_memory *memory);
int MPIDI_AM_memory_out(struct MPIDI_AM_memory *memory);
void MPIDI_AM_memory_close(struct MPIDI_AM_memory *memory);

/* An operator of MPI on one of its own datatypes; libam has its address until the end. */
struct MPIDI_AM_operator {
    MPI_Op op;
    MPI_Datatype datatype;
};

/* Is this a reduction for libam, of at most `most` bytes?  Then call->op and call->count are set.
 * Operators and types of MPI's own are the same on all ranks. */
bool MPIDI_AM_group_is_reduction(MPI_Op op, MPI_Datatype datatype, MPI_Aint count, size_t most,
                                 struct MPIDI_AM_operator *operator, struct am_coll_call *call);

/* The bytes of a message; 0: none, or more than `most`. */
size_t MPIDI_AM_group_bytes(MPI_Aint count, MPI_Datatype datatype, size_t most);

/* Start it and wait, with MPICH's progress if it is not done at once. */
am_status_t MPIDI_AM_group_run(MPIR_Comm * comm, struct am_coll_group *group,
                               struct am_coll_call *call, MPIDI_AM_errflag_t * errflag);

/* The MPI error for a collective that libam has given up. */
int MPIDI_AM_group_error(MPIR_Comm * comm, am_status_t status);

#endif /* AM_GROUP_H_INCLUDED */
