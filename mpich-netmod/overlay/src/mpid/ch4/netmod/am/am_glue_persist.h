/*
 * What ch4 calls when a persistent collective is made (patch 0035): libam starts those that it
 * would start if they were non-blocking ones (am_group_persist.c).
 */
#ifndef AM_GLUE_PERSIST_H_INCLUDED
#define AM_GLUE_PERSIST_H_INCLUDED

#include "am_glue_coll.h"

#if defined(MPIR_HAVE_PERSIST_COLL_DEVICE) && !defined(MPIDI_ENABLE_AM_ONLY)
#define MPIDI_NM_HAVE_PERSIST_COLL

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_barrier_init(MPIR_Comm * comm, MPIR_Request * preq)
{
    struct MPIDI_AM_persistent args = {
        .kind = AM_COLL_BARRIER,.sendtype = MPI_DATATYPE_NULL,.recvtype = MPIDI_AM_BYTE
    };

    if (MPIDI_AM_BY_GROUP(comm, IBARRIER)) {
        MPIDI_AM_group_persist(preq, &args);
    }
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_bcast_init(void *buffer, MPI_Aint count,
                                                  MPI_Datatype datatype, int root,
                                                  MPIR_Comm * comm, MPIR_Request * preq)
{
    struct MPIDI_AM_persistent args = {
        .kind = AM_COLL_BCAST,.recvbuf = buffer,.recvcount = count,.recvtype = datatype,
        .sendtype = MPI_DATATYPE_NULL,.root = root
    };

    if (MPIDI_AM_BY_GROUP(comm, IBCAST)) {
        MPIDI_AM_group_persist(preq, &args);
    }
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_reduce_init(const void *sendbuf, void *recvbuf,
                                                   MPI_Aint count, MPI_Datatype datatype,
                                                   MPI_Op op, int root, MPIR_Comm * comm,
                                                   MPIR_Request * preq)
{
    struct MPIDI_AM_persistent args = {
        .kind = AM_COLL_REDUCE,.sendbuf = sendbuf,.recvbuf = recvbuf,.recvcount = count,
        .recvtype = datatype,.sendtype = MPI_DATATYPE_NULL,.op = op,.root = root
    };

    if (MPIDI_AM_BY_GROUP(comm, IREDUCE)) {
        MPIDI_AM_group_persist(preq, &args);
    }
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_allreduce_init(const void *sendbuf, void *recvbuf,
                                                      MPI_Aint count, MPI_Datatype datatype,
                                                      MPI_Op op, MPIR_Comm * comm,
                                                      MPIR_Request * preq)
{
    struct MPIDI_AM_persistent args = {
        .kind = AM_COLL_ALLREDUCE,.sendbuf = sendbuf,.recvbuf = recvbuf,.recvcount = count,
        .recvtype = datatype,.sendtype = MPI_DATATYPE_NULL,.op = op
    };

    if (MPIDI_AM_BY_GROUP(comm, IALLREDUCE)) {
        MPIDI_AM_group_persist(preq, &args);
    }
}

/* All-gather or all-to-all. */
MPL_STATIC_INLINE_PREFIX void MPIDI_AM_blocks_init(am_coll_kind_t kind, const void *sendbuf,
                                                   MPI_Aint sendcount, MPI_Datatype sendtype,
                                                   void *recvbuf, MPI_Aint recvcount,
                                                   MPI_Datatype recvtype, MPIR_Request * preq)
{
    struct MPIDI_AM_persistent args = {
        .kind = kind,.sendbuf = sendbuf,.sendcount = sendcount,
        .sendtype = sendbuf == MPI_IN_PLACE ? MPI_DATATYPE_NULL : sendtype,
        .recvbuf = recvbuf,.recvcount = recvcount,.recvtype = recvtype
    };

    MPIDI_AM_group_persist(preq, &args);
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_allgather_init(const void *sendbuf, MPI_Aint sendcount,
                                                      MPI_Datatype sendtype, void *recvbuf,
                                                      MPI_Aint recvcount, MPI_Datatype recvtype,
                                                      MPIR_Comm * comm, MPIR_Request * preq)
{
    if (MPIDI_AM_BY_GROUP(comm, IALLGATHER)) {
        MPIDI_AM_blocks_init(AM_COLL_ALLGATHER, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, preq);
    }
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_alltoall_init(const void *sendbuf, MPI_Aint sendcount,
                                                     MPI_Datatype sendtype, void *recvbuf,
                                                     MPI_Aint recvcount, MPI_Datatype recvtype,
                                                     MPIR_Comm * comm, MPIR_Request * preq)
{
    if (MPIDI_AM_BY_GROUP(comm, IALLTOALL)) {
        MPIDI_AM_blocks_init(AM_COLL_ALLTOALL, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                             recvtype, preq);
    }
}

#endif

#endif /* AM_GLUE_PERSIST_H_INCLUDED */
