/*
 * Blocking collectives by libam.  Each says false where it is not for libam.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

/* Of two ranks: a short broadcast is one message, a longer all-gather two in place. */
#define PAIR_BCAST_LEAST    256
#define PAIR_ALLGATHER_MOST 1024

/* The group if its members share memory, else NULL. */
static struct am_coll_group *ready(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag)
{
    struct am_coll_group *group = MPIDI_AM_group_of(comm);

    return group != NULL && MPIDI_AM_group_shared_bytes(comm, errflag) != 0 ? group : NULL;
}

static int run_mpi(MPIR_Comm * comm, struct am_coll_group *group, struct am_coll_call *call,
                   MPIDI_AM_errflag_t * errflag)
{
    am_status_t status = MPIDI_AM_group_run(comm, group, call, errflag);
    int mpi_errno = MPI_SUCCESS;

    if (unlikely(status != AM_OK)) {
        MPIDI_AM_errflag_set(errflag, status == AM_ERR_PEER ? MPIR_ERR_PROC_FAILED :
                             MPIR_ERR_OTHER);
        mpi_errno = MPIDI_AM_group_error(comm, status);
    } else if (unlikely(MPIDI_AM_errflag_is_set(errflag))) {
        MPIR_ERR_SET(mpi_errno, MPIDI_AM_errflag_class(errflag), "**coll_fail");
    }
    return mpi_errno;
}

bool MPIDI_AM_group_barrier(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER };
    struct am_coll_group *group;

    if ((group = ready(comm, errflag)) == NULL) {
        return false;
    }
    *mpi_errno = run_mpi(comm, group, &call, errflag);
    return true;
}

bool MPIDI_AM_group_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                          MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_BCAST,.root = (uint32_t) root };
    struct am_coll_group *group;
    struct MPIDI_AM_memory memory;
    int moved;

    call.count = MPIDI_AM_group_bytes(count, datatype, MPIDI_AM_GROUP_BCAST_MOST);
    if (MPIDI_AM_global.crowded || (group = ready(comm, errflag)) == NULL || call.count == 0 ||
        (comm->local_size == 2 && call.count < PAIR_BCAST_LEAST)) {
        return false;
    }
    MPIDI_AM_memory_open(&memory, buffer, count, datatype);
    moved = comm->rank == root ? MPIDI_AM_memory_in(&memory) : MPI_SUCCESS;
    call.recv = memory.bytes;
    *mpi_errno = run_mpi(comm, group, &call, errflag);
    if (*mpi_errno == MPI_SUCCESS && moved == MPI_SUCCESS && comm->rank != root) {
        moved = MPIDI_AM_memory_out(&memory);
    }
    MPIDI_AM_memory_close(&memory);
    *mpi_errno = *mpi_errno == MPI_SUCCESS ? moved : *mpi_errno;
    return true;
}

bool MPIDI_AM_group_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm,
                           MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_REDUCE,.root = (uint32_t) root,
        .send = sendbuf == MPI_IN_PLACE ? NULL : sendbuf,.recv = recvbuf
    };
    struct am_coll_group *group;
    struct MPIDI_AM_operator operator;

    if (MPIDI_AM_global.crowded || (group = ready(comm, errflag)) == NULL ||
        !MPIDI_AM_group_is_reduction(op, datatype, count, MPIDI_AM_GROUP_REDUCE_MOST, &operator,
                                     &call)) {
        return false;
    }
    *mpi_errno = run_mpi(comm, group, &call, errflag);
    return true;
}

bool MPIDI_AM_group_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                              MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                              MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
        .send = sendbuf == MPI_IN_PLACE ? NULL : sendbuf,.recv = recvbuf
    };
    struct am_coll_group *group;
    struct MPIDI_AM_operator operator;

    if ((group = ready(comm, errflag)) == NULL ||
        !MPIDI_AM_group_is_reduction(op, datatype, count, MPIDI_AM_GROUP_ALLREDUCE_MOST, &operator,
                                     &call)) {
        return false;
    }
    *mpi_errno = run_mpi(comm, group, &call, errflag);
    return true;
}

/* All-gather or all-to-all, of blocks of call->count bytes. */
static int run_blocks(MPIR_Comm * comm, struct am_coll_group *group, struct am_coll_call *call,
                      const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                      void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                      MPIDI_AM_errflag_t * errflag)
{
    struct MPIDI_AM_memory send, recv;
    int mpi_errno, moved = MPI_SUCCESS;

    MPIDI_AM_memory_open(&recv, recvbuf, recvcount * comm->local_size, recvtype);
    call->recv = recv.bytes;
    if (sendbuf != MPI_IN_PLACE) {
        MPIDI_AM_memory_open(&send, sendbuf, sendcount, sendtype);
        moved = MPIDI_AM_memory_in(&send);
        call->send = send.bytes;
    } else {
        moved = MPIDI_AM_memory_in(&recv);
    }
    mpi_errno = run_mpi(comm, group, call, errflag);
    if (mpi_errno == MPI_SUCCESS && moved == MPI_SUCCESS) {
        moved = MPIDI_AM_memory_out(&recv);
    }
    if (sendbuf != MPI_IN_PLACE) {
        MPIDI_AM_memory_close(&send);
    }
    MPIDI_AM_memory_close(&recv);
    return mpi_errno == MPI_SUCCESS ? moved : mpi_errno;
}

bool MPIDI_AM_group_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                              MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLGATHER };
    struct am_coll_group *group;

    if (MPIDI_AM_global.crowded || (group = ready(comm, errflag)) == NULL) {
        return false;
    }
    call.count = MPIDI_AM_group_bytes(recvcount, recvtype, comm->local_size == 2 ?
                                      PAIR_ALLGATHER_MOST : MPIDI_AM_GROUP_ALLGATHER_MOST);
    if (call.count == 0) {
        return false;
    }
    *mpi_errno = run_blocks(comm, group, &call, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                            recvtype, errflag);
    return true;
}

bool MPIDI_AM_group_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                             MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLTOALL };
    struct am_coll_group *group;
    size_t piece;

    if (MPIDI_AM_global.crowded || (group = ready(comm, errflag)) == NULL ||
        sendbuf == MPI_IN_PLACE) {
        return false;
    }
    piece = MPIDI_AM_group_shared_bytes(comm, errflag) / (size_t) comm->local_size;
    call.count = MPIDI_AM_group_bytes(recvcount, recvtype,
                                      MPL_MIN(MPIDI_AM_GROUP_ALLTOALL_MOST, piece));
    if (call.count == 0) {
        return false;
    }
    *mpi_errno = run_blocks(comm, group, &call, sendbuf, sendcount * comm->local_size, sendtype,
                            recvbuf, recvcount, recvtype, errflag);
    return true;
}
