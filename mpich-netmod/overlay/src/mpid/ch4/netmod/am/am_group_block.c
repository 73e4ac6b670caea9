/*
 * Blocking collectives by libam.  Each says false where it is not for libam.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

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

/* Do one that has been described, if it is for libam. */
static bool run(MPIR_Comm * comm, struct MPIDI_AM_collective *c, MPIDI_AM_errflag_t * errflag,
                int *mpi_errno)
{
    struct am_coll_group *group = MPIDI_AM_group_for(comm, c, errflag);
    int opened, closed;

    if (group == NULL) {
        return false;
    }
    opened = MPIDI_AM_collective_open(c);
    *mpi_errno = run_mpi(comm, group, &c->call, errflag);
    closed = MPIDI_AM_collective_close(c, *mpi_errno == MPI_SUCCESS && opened == MPI_SUCCESS);
    if (*mpi_errno == MPI_SUCCESS) {
        *mpi_errno = opened == MPI_SUCCESS ? closed : opened;
    }
    return true;
}

bool MPIDI_AM_group_barrier(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    static const struct MPIDI_AM_collective barrier = {.call = {.kind = AM_COLL_BARRIER} };
    struct am_coll_call call = barrier.call;
    struct am_coll_group *group = MPIDI_AM_group_for(comm, &barrier, errflag);

    if (group == NULL) {
        return false;
    }
    *mpi_errno = run_mpi(comm, group, &call, errflag);
    return true;
}

bool MPIDI_AM_group_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                          MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct MPIDI_AM_collective c;

    return MPIDI_AM_as_bcast(&c, buffer, count, datatype, root, comm) &&
        run(comm, &c, errflag, mpi_errno);
}

bool MPIDI_AM_group_reduction(am_coll_kind_t kind, const void *sendbuf, void *recvbuf,
                              MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                              MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct MPIDI_AM_collective c;

    return MPIDI_AM_as_reduction(&c, kind, sendbuf, recvbuf, count, datatype, op, root, comm) &&
        run(comm, &c, errflag, mpi_errno);
}

bool MPIDI_AM_group_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint * recvcounts,
                                   MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                   MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct MPIDI_AM_collective c;

    return MPIDI_AM_as_scattered(&c, sendbuf, recvbuf, recvcounts, datatype, op, comm) &&
        run(comm, &c, errflag, mpi_errno);
}

bool MPIDI_AM_group_blocks(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                           MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                           MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                           MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct MPIDI_AM_collective c;

    return MPIDI_AM_as_blocks(&c, kind, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                              root, comm) && run(comm, &c, errflag, mpi_errno);
}

/* Run one of blocks of their own lengths, which are open but for their copies; `send` NULL: what
 * is given is c->send, or lies in `recv`. */
static void run_vector(MPIR_Comm * comm, struct am_coll_group *group,
                       struct MPIDI_AM_collective *c, struct MPIDI_AM_vector *send,
                       struct MPIDI_AM_vector *recv, MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    int size = comm->local_size, opened = MPIDI_AM_collective_open(c), moved = MPI_SUCCESS;

    if (send != NULL) {
        moved = MPIDI_AM_vector_copy(send, size, false);
        c->call.send = send->bytes;
        c->call.send_counts = send->counts;
        c->call.send_offsets = send->offsets;
    } else if (!c->send.is_used) {
        moved = MPIDI_AM_vector_copy(recv, size, false);
    }
    c->call.recv = recv->bytes;
    c->call.recv_counts = recv->counts;
    c->call.recv_offsets = recv->offsets;
    *mpi_errno = run_mpi(comm, group, &c->call, errflag);
    moved = opened == MPI_SUCCESS ? moved : opened;
    if (*mpi_errno == MPI_SUCCESS) {
        *mpi_errno = moved == MPI_SUCCESS ? MPIDI_AM_vector_copy(recv, size, true) : moved;
    }
    (void) MPIDI_AM_collective_close(c, false);
}

bool MPIDI_AM_group_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                               MPI_Datatype recvtype, MPIR_Comm * comm,
                               MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct MPIDI_AM_collective c;
    struct MPIDI_AM_vector recv;
    struct am_coll_group *group;

    MPIDI_AM_as_vector(&c, AM_COLL_ALLGATHER, sendbuf, sendcount, sendtype);
    if ((group = MPIDI_AM_group_for(comm, &c, errflag)) == NULL) {
        return false;
    }
    MPIDI_AM_vector_open(&recv, comm->local_size, recvbuf, recvcounts, displs, recvtype);
    run_vector(comm, group, &c, NULL, &recv, errflag, mpi_errno);
    MPIDI_AM_vector_close(&recv);
    return true;
}

bool MPIDI_AM_group_alltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                              const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                              const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                              MPI_Datatype recvtype, MPIR_Comm * comm,
                              MPIDI_AM_errflag_t * errflag, int *mpi_errno)
{
    struct MPIDI_AM_collective c;
    struct MPIDI_AM_vector send, recv;
    struct am_coll_group *group;

    MPIDI_AM_as_vector(&c, AM_COLL_ALLTOALL, sendbuf, 0, sendtype);
    if (sendbuf == MPI_IN_PLACE || (group = MPIDI_AM_group_for(comm, &c, errflag)) == NULL) {
        return false;
    }
    MPIDI_AM_vector_open(&send, comm->local_size, sendbuf, sendcounts, sdispls, sendtype);
    MPIDI_AM_vector_open(&recv, comm->local_size, recvbuf, recvcounts, rdispls, recvtype);
    run_vector(comm, group, &c, &send, &recv, errflag, mpi_errno);
    MPIDI_AM_vector_close(&send);
    MPIDI_AM_vector_close(&recv);
    return true;
}
