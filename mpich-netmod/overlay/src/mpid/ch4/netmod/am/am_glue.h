/*
 * The entries that ch4 calls, with the signatures of MPICH 4.0.x.  All that
 * depends on the MPICH release is here and in am_pre.h: for another release
 * this file gets a sibling, and the rest stays.
 *
 * What 4.1 and later change: mpi_issend and isend_coll become flags in `attr`,
 * which also takes the place of context_offset; mpi_cancel_recv gets a second
 * argument; progress gets made_progress in place of blocking; request
 * completion is MPIDI_Request_complete_fast.
 */
#ifndef AM_GLUE_H_INCLUDED
#define AM_GLUE_H_INCLUDED

#include "am_impl.h"

/* Complete a native request: drop our reference. */
#define MPIDI_AM_complete(req_)  MPIDIU_request_complete(req_)

/* `bytes` of each rank of `comm`, on any algorithm; errors as a code of MPI. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_allgather(const void *mine, void *all, size_t bytes,
                                                MPIR_Comm * comm)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;

    return MPIR_Allgather_allcomm_auto(mine, (MPI_Aint) bytes, MPI_BYTE, all, (MPI_Aint) bytes,
                                       MPI_BYTE, comm, &errflag);
}

/* The same vci is computed on both sides, so a message meets its receive. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_vci(int flag, MPIR_Comm * comm, int src_rank, int dst_rank,
                                          int tag)
{
    return MPIDI_get_vci(flag, comm, src_rank, dst_rank, tag) % MPIDI_AM_global.n_ctx;
}

#ifdef MPIDI_ENABLE_AM_ONLY
#include "netmod_am_fallback.h"
#else
/* The release's generic RMA, but for operations that may be native (am_win.c). */
#define MPIDI_NM_mpi_put  MPIDI_AM_generic_put
#define MPIDI_NM_mpi_get  MPIDI_AM_generic_get
#define MPIDI_NM_mpi_rput MPIDI_AM_generic_rput
#define MPIDI_NM_mpi_rget MPIDI_AM_generic_rget
#define MPIDI_NM_mpi_fetch_and_op MPIDI_AM_generic_fetch_and_op
#include "netmod_am_fallback_rma.h"
#undef MPIDI_NM_mpi_put
#undef MPIDI_NM_mpi_get
#undef MPIDI_NM_mpi_rput
#undef MPIDI_NM_mpi_rget
#undef MPIDI_NM_mpi_fetch_and_op
/* The release's collectives, but for small ones where ranks outnumber cores (am_coll.c). */
#define MPIDI_NM_mpi_barrier   MPIDI_AM_generic_barrier
#define MPIDI_NM_mpi_reduce    MPIDI_AM_generic_reduce
#define MPIDI_NM_mpi_allreduce MPIDI_AM_generic_allreduce
#define MPIDI_NM_mpi_alltoall  MPIDI_AM_generic_alltoall
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_barrier
#undef MPIDI_NM_mpi_reduce
#undef MPIDI_NM_mpi_allreduce
#undef MPIDI_NM_mpi_alltoall
#include "netmod_am_fallback_part.h"

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_locked_isend(const void *buf, MPI_Aint count,
                                                   MPI_Datatype datatype, int rank, int tag,
                                                   MPIR_Comm * comm, int context_offset,
                                                   MPIDI_av_entry_t * addr, unsigned flags,
                                                   int marks, MPIR_Request ** request)
{
    int src_vci = MPIDI_AM_vci(SRC_VCI_FROM_SENDER, comm, comm->rank, rank, tag);
    int dst_vci = MPIDI_AM_vci(DST_VCI_FROM_SENDER, comm, comm->rank, rank, tag);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(src_vci).lock);
    mpi_errno = MPIDI_AM_isend(buf, count, datatype, tag | marks, comm, context_offset, addr,
                               flags, src_vci, dst_vci, request);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(src_vci).lock);
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void *buf, MPI_Aint count,
                                                MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm * comm, int context_offset,
                                                MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    return MPIDI_AM_locked_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, 0,
                                 0, request);
}

/* The state of a collective that has failed travels in the tag's error bits. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request,
                                                 MPIR_Errflag_t * errflag)
{
    int marks = 0;

    if (unlikely(*errflag == MPIR_ERR_PROC_FAILED)) {
        MPIR_TAG_SET_PROC_FAILURE_BIT(marks);
    } else if (unlikely(*errflag != MPIR_ERR_NONE)) {
        MPIR_TAG_SET_ERROR_BIT(marks);
    }
    return MPIDI_AM_locked_isend(buf, count, datatype, rank, tag, comm, context_offset, addr, 0,
                                 marks, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    return MPIDI_AM_locked_isend(buf, count, datatype, rank, tag, comm, context_offset, addr,
                                 AM_MSG_SYNC, 0, request);
}

/* A send is never cancelled: the standard allows it, and no queue needs it. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request * sreq)
{
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                int rank, int tag, MPIR_Comm * comm,
                                                int context_offset, MPIDI_av_entry_t * addr,
                                                MPIR_Request ** request, MPIR_Request * partner)
{
    int vci = MPIDI_AM_vci(DST_VCI_FROM_RECVER, comm, rank, comm->rank, tag);
    int mpi_errno;

    /* With MPICH's own shared memory an any-source receive comes here with the
     * lock held already. */
    MPID_THREAD_CS_ENTER_REC_VCI(MPIDI_VCI(vci).lock);
    mpi_errno = MPIDI_AM_irecv(buf, count, datatype, rank, tag, comm, context_offset, vci,
                               partner, request);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                 MPIR_Request * message)
{
    int vci = MPIDI_Request_get_vci(message);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    mpi_errno = MPIDI_AM_imrecv(buf, count, datatype, message);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

/* The caller holds the lock. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(MPIR_Request * rreq)
{
    return MPIDI_AM_cancel_recv(rreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm * comm,
                                                 int context_offset, MPIDI_av_entry_t * addr,
                                                 int *flag, MPI_Status * status)
{
    int vci = MPIDI_AM_vci(DST_VCI_FROM_RECVER, comm, source, comm->rank, tag);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    mpi_errno = MPIDI_AM_iprobe(source, tag, comm, context_offset, vci, flag, status);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm * comm,
                                                  int context_offset, MPIDI_av_entry_t * addr,
                                                  int *flag, MPIR_Request ** message,
                                                  MPI_Status * status)
{
    int vci = MPIDI_AM_vci(DST_VCI_FROM_RECVER, comm, source, comm->rank, tag);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    mpi_errno = MPIDI_AM_improbe(source, tag, comm, context_offset, vci, flag, message, status);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}
#endif /* MPIDI_ENABLE_AM_ONLY */

/* ------------------------------------------------------------------ RMA */

#ifndef MPIDI_ENABLE_AM_ONLY
#define MPIDI_AM_RMA_PARAMETERS \
    int origin_count, MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp, \
    int target_count, MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * addr, \
    MPIDI_winattr_t winattr
#define MPIDI_AM_RMA_ARGUMENTS \
    origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, \
    target_datatype, win, addr

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_put(const void *origin_addr, MPIDI_AM_RMA_PARAMETERS)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_put(MPIDI_AM_RMA_ARGUMENTS, NULL, &is_native);

    return is_native ? mpi_errno : MPIDI_AM_generic_put(MPIDI_AM_RMA_ARGUMENTS, winattr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void *origin_addr, MPIDI_AM_RMA_PARAMETERS)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_get(MPIDI_AM_RMA_ARGUMENTS, NULL, &is_native);

    return is_native ? mpi_errno : MPIDI_AM_generic_get(MPIDI_AM_RMA_ARGUMENTS, winattr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rput(const void *origin_addr, MPIDI_AM_RMA_PARAMETERS,
                                               MPIR_Request ** request)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_put(MPIDI_AM_RMA_ARGUMENTS, request, &is_native);

    return is_native ? mpi_errno :
        MPIDI_AM_generic_rput(MPIDI_AM_RMA_ARGUMENTS, winattr, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget(void *origin_addr, MPIDI_AM_RMA_PARAMETERS,
                                               MPIR_Request ** request)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_get(MPIDI_AM_RMA_ARGUMENTS, request, &is_native);

    return is_native ? mpi_errno :
        MPIDI_AM_generic_rget(MPIDI_AM_RMA_ARGUMENTS, winattr, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_fetch_and_op(const void *origin_addr, void *result_addr,
        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win * win,
        MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_fetch_and_op(origin_addr, result_addr, datatype, target_rank,
                                          target_disp, op, win, addr, &is_native);

    if (is_native) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_fetch_and_op(origin_addr, result_addr, datatype, target_rank,
                                         target_disp, op, win, addr, winattr);
}
#endif

/* ------------------------------------------------------------ collectives */

#ifndef MPIDI_ENABLE_AM_ONLY
/* May a collective of so much data go flat?  An algorithm that the user chose stays. */
#define MPIDI_AM_FLAT(comm_, NAME_, count_, datatype_) \
    (unlikely(MPIDI_AM_COMM(comm_).flat) && \
     MPIR_CVAR_##NAME_##_INTRA_ALGORITHM == MPIR_CVAR_##NAME_##_INTRA_ALGORITHM_auto && \
     MPIDI_AM_flat_fits(count_, datatype_, MPIDI_AM_FLAT_##NAME_##_BYTES))

MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_flat_fits(MPI_Aint count, MPI_Datatype datatype,
                                                 MPI_Aint most)
{
    MPI_Aint bytes;

    MPIR_Datatype_get_size_macro(datatype, bytes);
    return count <= most && bytes <= most && bytes * count <= most;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    return MPIDI_AM_FLAT(comm, BARRIER, 0, MPI_BYTE) ?
        MPIDI_AM_flat_barrier(comm, errflag) : MPIDI_AM_generic_barrier(comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce(const void *sendbuf, void *recvbuf,
                                                 MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                                 int root, MPIR_Comm * comm,
                                                 MPIR_Errflag_t * errflag)
{
    return MPIDI_AM_FLAT(comm, REDUCE, count, datatype) ?
        MPIDI_AM_flat_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag) :
        MPIDI_AM_generic_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void *sendbuf, void *recvbuf,
                                                    MPI_Aint count, MPI_Datatype datatype,
                                                    MPI_Op op, MPIR_Comm * comm,
                                                    MPIR_Errflag_t * errflag)
{
    return MPIDI_AM_FLAT(comm, ALLREDUCE, count, datatype) ?
        MPIDI_AM_flat_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag) :
        MPIDI_AM_generic_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoall(const void *sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void *recvbuf,
                                                   MPI_Aint recvcount, MPI_Datatype recvtype,
                                                   MPIR_Comm * comm, MPIR_Errflag_t * errflag)
{
    if (sendbuf != MPI_IN_PLACE && MPIDI_AM_FLAT(comm, ALLTOALL, recvcount, recvtype)) {
        return MPIDI_AM_flat_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                      comm, errflag);
    }
    return MPIDI_AM_generic_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                     comm, errflag);
}
#endif

/* ------------------------------------------------------------ progress */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int blocking)
{
    struct am_ctx *ctx;
    int events;

    if (unlikely(vci >= MPIDI_AM_global.n_ctx)) {
        return MPI_SUCCESS;
    }
    ctx = MPIDI_AM_global.ctx[vci];
    if (blocking == MPIDI_AM_WAIT) {
        events = am_ctx_poll_wait(ctx);
    } else {
        events = am_ctx_poll(ctx);
    }
    if (likely(events > 0)) {
        MPIDI_AM_global.idle_polls[vci] = 0;
        return MPI_SUCCESS;
    }
    /* libam waits by itself; others give up the core now and then */
    if (events == 0 && (blocking == MPIDI_AM_WAIT ||
                        ++MPIDI_AM_global.idle_polls[vci] % MPIDI_AM_IDLE_POLLS_MAX != 0)) {
        return MPI_SUCCESS;
    }
    return MPIDI_AM_idle(vci, events, blocking);
}

/* ---------------------------------------------- ch4's active messages */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr(int rank, MPIR_Comm * comm, int handler_id,
                                                  const void *am_hdr, MPI_Aint am_hdr_sz,
                                                  int src_vci, int dst_vci)
{
    return MPIDI_AM_client_send(MPIDIU_comm_rank_to_av(comm, rank), handler_id, am_hdr, am_hdr_sz,
                                NULL, 0, MPI_BYTE, src_vci, dst_vci, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend(int rank, MPIR_Comm * comm, int handler_id,
                                               const void *am_hdr, MPI_Aint am_hdr_sz,
                                               const void *data, MPI_Aint count,
                                               MPI_Datatype datatype, int src_vci, int dst_vci,
                                               MPIR_Request * sreq)
{
    return MPIDI_AM_client_send(MPIDIU_comm_rank_to_av(comm, rank), handler_id, am_hdr, am_hdr_sz,
                                data, count, datatype, src_vci, dst_vci, sreq);
}

/* libam's sends are legal in handlers, so replies are sends like any other. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr_reply(MPIR_Comm * comm, int rank,
                                                        int handler_id, const void *am_hdr,
                                                        MPI_Aint am_hdr_sz, int src_vci,
                                                        int dst_vci)
{
    return MPIDI_NM_am_send_hdr(rank, comm, handler_id, am_hdr, am_hdr_sz, src_vci, dst_vci);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend_reply(MPIR_Comm * comm, int src_rank,
                                                     int handler_id, const void *am_hdr,
                                                     MPI_Aint am_hdr_sz, const void *data,
                                                     MPI_Aint count, MPI_Datatype datatype,
                                                     int src_vci, int dst_vci, MPIR_Request * sreq)
{
    return MPIDI_NM_am_isend(src_rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype,
                             src_vci, dst_vci, sreq);
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_hdr_max_sz(void)
{
    return MPIDI_AM_HDR_BYTES_MAX;
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_limit(void)
{
    return MPIDI_AM_EAGER_BYTES_MAX;
}

MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_buf_limit(void)
{
    return MPIDI_AM_EAGER_BYTES_MAX;
}

MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_check_eager(MPI_Aint am_hdr_sz, MPI_Aint data_sz,
                                                      const void *data, MPI_Aint count,
                                                      MPI_Datatype datatype, MPIR_Request * sreq)
{
    return data_sz <= MPIDI_AM_EAGER_BYTES_MAX;
}

MPL_STATIC_INLINE_PREFIX MPIDIG_recv_data_copy_cb MPIDI_NM_am_get_data_copy_cb(uint32_t attr)
{
    return NULL;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_init(MPIR_Request * req)
{
    req->dev.ch4.am.netmod_am.am.layout = NULL;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_finalize(MPIR_Request * req)
{
}

/* ------------------------------------------------------------ processes */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rank_is_local(int rank, MPIR_Comm * comm)
{
    return MPIDIU_rank_is_local(rank, comm);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_comm_get_gpid(MPIR_Comm * comm_ptr, int idx,
                                                    uint64_t * gpid_ptr, bool is_remote)
{
    int avtid = 0, lpid = 0;

    if (comm_ptr->comm_kind == MPIR_COMM_KIND__INTRACOMM || is_remote) {
        MPIDIU_comm_rank_to_pid(comm_ptr, idx, &lpid, &avtid);
    } else {
        MPIDIU_comm_rank_to_pid_local(comm_ptr, idx, &lpid, &avtid);
    }
    *gpid_ptr = MPIDIU_GPID_CREATE(avtid, lpid);
    return MPI_SUCCESS;
}

#endif /* AM_GLUE_H_INCLUDED */
