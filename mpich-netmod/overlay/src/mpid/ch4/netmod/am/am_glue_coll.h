/*
 * The collectives that ch4 inlines: those of a node that libam does (am_group.c), and the
 * release's for all others.
 */
#ifndef AM_GLUE_COLL_H_INCLUDED
#define AM_GLUE_COLL_H_INCLUDED

#ifndef MPIDI_ENABLE_AM_ONLY

/* The release's, under another name. */
#define MPIDI_NM_mpi_allgather            MPIDI_AM_generic_allgather
#define MPIDI_NM_mpi_allgatherv           MPIDI_AM_generic_allgatherv
#define MPIDI_NM_mpi_allreduce            MPIDI_AM_generic_allreduce
#define MPIDI_NM_mpi_alltoall             MPIDI_AM_generic_alltoall
#define MPIDI_NM_mpi_alltoallv            MPIDI_AM_generic_alltoallv
#define MPIDI_NM_mpi_barrier              MPIDI_AM_generic_barrier
#define MPIDI_NM_mpi_bcast                MPIDI_AM_generic_bcast
#define MPIDI_NM_mpi_gather               MPIDI_AM_generic_gather
#define MPIDI_NM_mpi_reduce               MPIDI_AM_generic_reduce
#define MPIDI_NM_mpi_reduce_scatter       MPIDI_AM_generic_reduce_scatter
#define MPIDI_NM_mpi_reduce_scatter_block MPIDI_AM_generic_reduce_scatter_block
#define MPIDI_NM_mpi_scatter              MPIDI_AM_generic_scatter
#define MPIDI_NM_mpi_iallgather           MPIDI_AM_generic_iallgather
#define MPIDI_NM_mpi_iallreduce           MPIDI_AM_generic_iallreduce
#define MPIDI_NM_mpi_ialltoall            MPIDI_AM_generic_ialltoall
#define MPIDI_NM_mpi_ibarrier             MPIDI_AM_generic_ibarrier
#define MPIDI_NM_mpi_ibcast               MPIDI_AM_generic_ibcast
#define MPIDI_NM_mpi_ireduce              MPIDI_AM_generic_ireduce
#define MPIDI_NM_mpi_igather              MPIDI_AM_generic_igather
#define MPIDI_NM_mpi_ireduce_scatter      MPIDI_AM_generic_ireduce_scatter
#define MPIDI_NM_mpi_ireduce_scatter_block MPIDI_AM_generic_ireduce_scatter_block
#define MPIDI_NM_mpi_iscatter             MPIDI_AM_generic_iscatter
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_allgather
#undef MPIDI_NM_mpi_allgatherv
#undef MPIDI_NM_mpi_allreduce
#undef MPIDI_NM_mpi_alltoall
#undef MPIDI_NM_mpi_alltoallv
#undef MPIDI_NM_mpi_barrier
#undef MPIDI_NM_mpi_bcast
#undef MPIDI_NM_mpi_gather
#undef MPIDI_NM_mpi_reduce
#undef MPIDI_NM_mpi_reduce_scatter
#undef MPIDI_NM_mpi_reduce_scatter_block
#undef MPIDI_NM_mpi_scatter
#undef MPIDI_NM_mpi_iallgather
#undef MPIDI_NM_mpi_iallreduce
#undef MPIDI_NM_mpi_ialltoall
#undef MPIDI_NM_mpi_ibarrier
#undef MPIDI_NM_mpi_ibcast
#undef MPIDI_NM_mpi_ireduce
#undef MPIDI_NM_mpi_igather
#undef MPIDI_NM_mpi_ireduce_scatter
#undef MPIDI_NM_mpi_ireduce_scatter_block
#undef MPIDI_NM_mpi_iscatter

/* May libam do a collective of this communicator?  What it answers depends on that and on the
 * lengths only, so that all ranks find the same. */
#define MPIDI_AM_BY_GROUP(comm_, NAME_) \
    (likely((MPIDI_AM_COMM(comm_).bits & (MPIDI_AM_COMM_GROUP | MPIDI_AM_COMM_BROKEN)) == \
            MPIDI_AM_COMM_GROUP) && \
     MPIR_CVAR_##NAME_##_INTRA_ALGORITHM == MPIR_CVAR_##NAME_##_INTRA_ALGORITHM_auto)

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_barrier(MPIR_Comm * comm, MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, BARRIER) &&
        MPIDI_AM_group_barrier(comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_barrier(comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_bcast(void *buffer, MPI_Aint count,
                                                MPI_Datatype datatype, int root, MPIR_Comm * comm,
                                                MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, BCAST) &&
        MPIDI_AM_group_bcast(buffer, count, datatype, root, comm, MPIDI_AM_ERRFLAG_ADDRESS,
                             &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_bcast(buffer, count, datatype, root, comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce(const void *sendbuf, void *recvbuf,
                                                 MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                                 int root, MPIR_Comm * comm,
                                                 MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, REDUCE) &&
        MPIDI_AM_group_reduction(AM_COLL_REDUCE, sendbuf, recvbuf, count, datatype, op, root, comm,
                                 MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_reduce(sendbuf, recvbuf, count, datatype, op, root, comm,
                                   MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void *sendbuf, void *recvbuf,
                                                    MPI_Aint count, MPI_Datatype datatype,
                                                    MPI_Op op, MPIR_Comm * comm,
                                                    MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, ALLREDUCE) &&
        MPIDI_AM_group_reduction(AM_COLL_ALLREDUCE, sendbuf, recvbuf, count, datatype, op, 0, comm,
                                 MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_allreduce(sendbuf, recvbuf, count, datatype, op, comm,
                                      MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allgather(const void *sendbuf, MPI_Aint sendcount,
                                                    MPI_Datatype sendtype, void *recvbuf,
                                                    MPI_Aint recvcount, MPI_Datatype recvtype,
                                                    MPIR_Comm * comm, MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, ALLGATHER) &&
        MPIDI_AM_group_blocks(AM_COLL_ALLGATHER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                              recvtype, 0, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoall(const void *sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void *recvbuf,
                                                   MPI_Aint recvcount, MPI_Datatype recvtype,
                                                   MPIR_Comm * comm, MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, ALLTOALL) &&
        MPIDI_AM_group_blocks(AM_COLL_ALLTOALL, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                              recvtype, 0, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                     comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                                               MPI_Aint recvcount,
                                                               MPI_Datatype datatype, MPI_Op op,
                                                               MPIR_Comm * comm,
                                                               MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, REDUCE_SCATTER_BLOCK) &&
        MPIDI_AM_group_reduction(AM_COLL_REDUCE_SCATTER, sendbuf, recvbuf, recvcount, datatype, op,
                                 0, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm,
                                                 MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce_scatter(const void *sendbuf, void *recvbuf,
                                                         const MPI_Aint recvcounts[],
                                                         MPI_Datatype datatype, MPI_Op op,
                                                         MPIR_Comm * comm,
                                                         MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, REDUCE_SCATTER) &&
        MPIDI_AM_group_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm,
                                      MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm,
                                           MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_gather(const void *sendbuf, MPI_Aint sendcount,
                                                 MPI_Datatype sendtype, void *recvbuf,
                                                 MPI_Aint recvcount, MPI_Datatype recvtype,
                                                 int root, MPIR_Comm * comm,
                                                 MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, GATHER) &&
        MPIDI_AM_group_blocks(AM_COLL_GATHER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                              recvtype, root, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                   root, comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_scatter(const void *sendbuf, MPI_Aint sendcount,
                                                  MPI_Datatype sendtype, void *recvbuf,
                                                  MPI_Aint recvcount, MPI_Datatype recvtype,
                                                  int root, MPIR_Comm * comm,
                                                  MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, SCATTER) &&
        MPIDI_AM_group_blocks(AM_COLL_SCATTER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                              recvtype, root, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                    root, comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allgatherv(const void *sendbuf, MPI_Aint sendcount,
                                                     MPI_Datatype sendtype, void *recvbuf,
                                                     const MPI_Aint * recvcounts,
                                                     const MPI_Aint * displs,
                                                     MPI_Datatype recvtype, MPIR_Comm * comm,
                                                     MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, ALLGATHERV) &&
        MPIDI_AM_group_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                  recvtype, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                       recvtype, comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoallv(const void *sendbuf,
                                                    const MPI_Aint * sendcounts,
                                                    const MPI_Aint * sdispls,
                                                    MPI_Datatype sendtype, void *recvbuf,
                                                    const MPI_Aint * recvcounts,
                                                    const MPI_Aint * rdispls,
                                                    MPI_Datatype recvtype, MPIR_Comm * comm,
                                                    MPIDI_AM_ERRFLAG_PARAMETER)
{
    int mpi_errno;

    if (MPIDI_AM_BY_GROUP(comm, ALLTOALLV) &&
        MPIDI_AM_group_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                 rdispls, recvtype, comm, MPIDI_AM_ERRFLAG_ADDRESS, &mpi_errno)) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                      rdispls, recvtype, comm, MPIDI_AM_ERRFLAG);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ibarrier(MPIR_Comm * comm, MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IBARRIER) &&
        MPIDI_AM_group_ibarrier(comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_ibarrier(comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ibcast(void *buffer, MPI_Aint count,
                                                 MPI_Datatype datatype, int root,
                                                 MPIR_Comm * comm, MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IBCAST) &&
        MPIDI_AM_group_ibcast(buffer, count, datatype, root, comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_ibcast(buffer, count, datatype, root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iallreduce(const void *sendbuf, void *recvbuf,
                                                     MPI_Aint count, MPI_Datatype datatype,
                                                     MPI_Op op, MPIR_Comm * comm,
                                                     MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IALLREDUCE) &&
        MPIDI_AM_group_ireduction(AM_COLL_ALLREDUCE, sendbuf, recvbuf, count, datatype, op, 0, comm,
                                  MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ireduce(const void *sendbuf, void *recvbuf,
                                                  MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                                  int root, MPIR_Comm * comm,
                                                  MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IREDUCE) &&
        MPIDI_AM_group_ireduction(AM_COLL_REDUCE, sendbuf, recvbuf, count, datatype, op, root, comm,
                                  MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iallgather(const void *sendbuf, MPI_Aint sendcount,
                                                     MPI_Datatype sendtype, void *recvbuf,
                                                     MPI_Aint recvcount, MPI_Datatype recvtype,
                                                     MPIR_Comm * comm, MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IALLGATHER) &&
        MPIDI_AM_group_iblocks(AM_COLL_ALLGATHER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                               recvtype, 0, comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                       comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ialltoall(const void *sendbuf, MPI_Aint sendcount,
                                                    MPI_Datatype sendtype, void *recvbuf,
                                                    MPI_Aint recvcount, MPI_Datatype recvtype,
                                                    MPIR_Comm * comm, MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IALLTOALL) &&
        MPIDI_AM_group_iblocks(AM_COLL_ALLTOALL, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                               recvtype, 0, comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ireduce_scatter_block(const void *sendbuf, void *recvbuf,
                                                                MPI_Aint recvcount,
                                                                MPI_Datatype datatype, MPI_Op op,
                                                                MPIR_Comm * comm,
                                                                MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IREDUCE_SCATTER_BLOCK) &&
        MPIDI_AM_group_ireduction(AM_COLL_REDUCE_SCATTER, sendbuf, recvbuf, recvcount, datatype, op,
                                  0, comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm,
                                                  request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                                          const MPI_Aint recvcounts[],
                                                          MPI_Datatype datatype, MPI_Op op,
                                                          MPIR_Comm * comm,
                                                          MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IREDUCE_SCATTER) &&
        MPIDI_AM_group_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm,
                                       MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm,
                                            request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_igather(const void *sendbuf, MPI_Aint sendcount,
                                                  MPI_Datatype sendtype, void *recvbuf,
                                                  MPI_Aint recvcount, MPI_Datatype recvtype,
                                                  int root, MPIR_Comm * comm,
                                                  MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, IGATHER) &&
        MPIDI_AM_group_iblocks(AM_COLL_GATHER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                               recvtype, root, comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                    root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iscatter(const void *sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void *recvbuf,
                                                   MPI_Aint recvcount, MPI_Datatype recvtype,
                                                   int root, MPIR_Comm * comm,
                                                   MPIR_Request ** request)
{
    if (MPIDI_AM_BY_GROUP(comm, ISCATTER) &&
        MPIDI_AM_group_iblocks(AM_COLL_SCATTER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                               recvtype, root, comm, MPIDI_AM_BY_CALLS, request)) {
        return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
    }
    return MPIDI_AM_generic_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                     root, comm, request);
}

#endif /* MPIDI_ENABLE_AM_ONLY */

#endif /* AM_GLUE_COLL_H_INCLUDED */
