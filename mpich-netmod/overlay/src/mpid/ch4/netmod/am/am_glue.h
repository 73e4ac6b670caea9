/*
 * The entries that ch4 inlines, with the signatures of the release that is built
 * (am_mpich.h).
 */
#ifndef AM_GLUE_H_INCLUDED
#define AM_GLUE_H_INCLUDED

#include "am_impl.h"

#ifdef MPIDI_ENABLE_AM_ONLY
#include "netmod_am_fallback.h"
#else
#define MPIDI_NM_part_start     MPIDI_AM_generic_part_start
#include "netmod_am_fallback_part.h"
#undef MPIDI_NM_part_start

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_part_start(MPIR_Request * request)
{
    return MPIDI_AM_part_begin(request) ? MPIDI_AM_generic_part_start(request) : MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_locked_isend(const void *buf, MPI_Aint count,
                                                   MPI_Datatype datatype, int rank, int tag,
                                                   int marks, MPIR_Comm * comm, int attr,
                                                   MPIDI_av_entry_t * addr, unsigned flags,
                                                   MPIR_Request ** request)
{
    if (MPIDI_AM_HAS_ONE_VCI()) {
        return MPIDI_AM_isend_from(buf, count, datatype, tag | marks, comm,
                                   MPIDI_AM_CONTEXT_OFFSET(attr), addr, flags, 0, 0, request);
    }
    return MPIDI_AM_isend_vcis(buf, count, datatype, rank, tag, marks, comm, attr, addr, flags,
                               request);
}

/* The state of a collective that has failed travels in the tag's error bits. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_error_marks(int error)
{
    int marks = 0;

    if (unlikely(error == MPIX_ERR_PROC_FAILED)) {
        MPIR_TAG_SET_PROC_FAILURE_BIT(marks);
    } else if (unlikely(error != MPI_SUCCESS)) {
        MPIR_TAG_SET_ERROR_BIT(marks);
    }
    return marks;
}

/* Is it a send of a collective of all members, of whom one is dead? */
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_is_refused(MPIR_Comm * comm, int tag)
{
    return MPIDI_AM_IS_BROKEN(comm) && (tag & MPIR_TAG_COLL_BIT) == 0;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_refuse_send(MPIR_Comm * comm, MPIR_Request ** request)
{
    *request = MPIDI_AM_send_refused(comm);
    return *request != NULL ? MPI_SUCCESS : MPIDI_AM_no_request();
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void *buf, MPI_Aint count,
                                                MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm * comm, int attr,
                                                MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
#if MPIDI_AM_SINCE(4, 1, 0)
    if (MPIDI_AM_CONTEXT_OFFSET(attr) != 0 && unlikely(MPIDI_AM_is_refused(comm, tag))) {
        return MPIDI_AM_refuse_send(comm, request);
    }
#endif
    return MPIDI_AM_locked_isend(buf, count, datatype, rank, tag,
                                 MPIDI_AM_error_marks(MPIDI_AM_ATTR_ERROR(attr)), comm, attr, addr,
                                 MPIDI_AM_IS_SYNC(attr) ? AM_MSG_SYNC : 0, request);
}

#if !MPIDI_AM_SINCE(4, 1, 0)
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request,
                                                 MPIR_Errflag_t * errflag)
{
    if (unlikely(MPIDI_AM_is_refused(comm, tag))) {
        return MPIDI_AM_refuse_send(comm, request);
    }
    return MPIDI_AM_locked_isend(buf, count, datatype, rank, tag, MPIDI_AM_error_marks(*errflag),
                                 comm, context_offset, addr, 0, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm * comm, int context_offset,
                                                 MPIDI_av_entry_t * addr, MPIR_Request ** request)
{
    return MPIDI_AM_locked_isend(buf, count, datatype, rank, tag, 0, comm, context_offset, addr,
                                 AM_MSG_SYNC, request);
}
#endif

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request * sreq)
{
    int vci = MPIDI_Request_get_vci(sreq);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(vci));
    mpi_errno = MPIDI_AM_cancel_send(sreq);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci));
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                int rank, int tag, MPIR_Comm * comm,
                                                int attr, MPIDI_av_entry_t * addr,
                                                MPIR_Request ** request, MPIR_Request * partner)
{
    if (MPIDI_AM_HAS_ONE_VCI()) {
        return MPIDI_AM_irecv_on(buf, count, datatype, rank, tag, comm,
                                 MPIDI_AM_CONTEXT_OFFSET(attr), 0, partner, request);
    }
    return MPIDI_AM_irecv_vcis(buf, count, datatype, rank, tag, comm, attr, partner, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                 MPIR_Request * message)
{
    int vci = MPIDI_Request_get_vci(message);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(vci));
    mpi_errno = MPIDI_AM_imrecv(buf, count, datatype, message);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci));
    return mpi_errno;
}

/* The caller holds the lock. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(MPIDI_AM_CANCEL_PARAMETERS)
{
    return MPIDI_AM_cancel_recv(rreq);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm * comm,
                                                 int attr, MPIDI_av_entry_t * addr, int *flag,
                                                 MPI_Status * status)
{
    int vci = MPIDI_AM_vci(DST_VCI_FROM_RECVER, comm, source, comm->rank, tag, attr);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(vci));
    mpi_errno = MPIDI_AM_iprobe(source, tag, comm, MPIDI_AM_CONTEXT_OFFSET(attr), vci, flag,
                                status);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci));
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm * comm,
                                                  int attr, MPIDI_av_entry_t * addr, int *flag,
                                                  MPIR_Request ** message, MPI_Status * status)
{
    int vci = MPIDI_AM_vci(DST_VCI_FROM_RECVER, comm, source, comm->rank, tag, attr);
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(vci));
    mpi_errno = MPIDI_AM_improbe(source, tag, comm, MPIDI_AM_CONTEXT_OFFSET(attr), vci, flag,
                                 message, status);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci));
    return mpi_errno;
}
#endif /* MPIDI_ENABLE_AM_ONLY */

/* ------------------------------------------------------------ progress */

/* `blocking` is one of MPIDI_AM_TEST and so on; *made_progress is set when it was made. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_progress(int vci, int blocking, int *made_progress)
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
        *made_progress = 1;
        return MPI_SUCCESS;
    }
    /* libam waits by itself; others give up the core now and then */
    if (events == 0 && likely(MPIDI_AM_global.trouble == 0) &&
        likely(MPIDI_AM_global.failed[vci] == MPI_SUCCESS) &&
        (blocking == MPIDI_AM_WAIT ||
         ++MPIDI_AM_global.idle_polls[vci] % MPIDI_AM_IDLE_POLLS_MAX != 0)) {
        return MPI_SUCCESS;
    }
    return MPIDI_AM_idle(vci, events, blocking);
}

#if MPIDI_AM_SINCE(4, 2, 0)
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int *made_progress)
{
    return MPIDI_AM_progress(vci, MPIDI_AM_caller_waits(), made_progress);
}
#else
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int blocking)
{
    int made_progress;

    return MPIDI_AM_progress(vci, MPIDI_AM_caller_waits(), &made_progress);
}
#endif

/* ---------------------------------------------- ch4's active messages */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr(int rank, MPIR_Comm * comm, int handler_id,
                                                  const void *am_hdr, MPI_Aint am_hdr_sz,
                                                  int src_vci, int dst_vci)
{
    return MPIDI_AM_client_send(MPIDIU_comm_rank_to_av(comm, rank), rank, handler_id, am_hdr,
                                am_hdr_sz, NULL, 0, MPIDI_AM_BYTE, src_vci, dst_vci, NULL);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend(int rank, MPIR_Comm * comm, int handler_id,
                                               const void *am_hdr, MPI_Aint am_hdr_sz,
                                               const void *data, MPI_Aint count,
                                               MPI_Datatype datatype, int src_vci, int dst_vci,
                                               MPIR_Request * sreq)
{
    return MPIDI_AM_client_send(MPIDIU_comm_rank_to_av(comm, rank), rank, handler_id, am_hdr,
                                am_hdr_sz, data, count, datatype, src_vci, dst_vci, sreq);
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
    req->dev.ch4.am.netmod_am.am.bytes = 0;
}

/* The request is complete: of an operation of RMA, acknowledged. */
MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_finalize(MPIR_Request * req)
{
    if (req->dev.ch4.am.netmod_am.am.bytes != 0) {
        MPIDI_AM_flow_give(MPIDI_Request_get_vci(req), req->dev.ch4.am.netmod_am.am.peer,
                           req->dev.ch4.am.netmod_am.am.bytes);
        req->dev.ch4.am.netmod_am.am.bytes = 0;
    }
}

/* Since 4.3 ch4 may match data of its own messages by tag: it need not. */
#if MPIDI_AM_SINCE(4, 3, 0)
MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_can_do_tag(MPIDI_AM_CAN_DO_TAG_PARAMETERS)
{
    return false;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_tag_send(int rank, MPIR_Comm * comm, int handler_id,
                                                  int tag, const void *buf, MPI_Aint count,
                                                  MPI_Datatype datatype, int src_vci,
                                                  int dst_vci, MPIR_Request * sreq)
{
    MPIR_Assertp(0);
    return MPI_ERR_INTERN;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_tag_recv(int rank, MPIR_Comm * comm, int handler_id,
                                                  int tag, void *buf, MPI_Aint count,
                                                  MPI_Datatype datatype, int src_vci,
                                                  int dst_vci, MPIR_Request * rreq)
{
    MPIR_Assertp(0);
    return MPI_ERR_INTERN;
}
#endif

/* ------------------------------------------------------------ processes */

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rank_is_local(int rank, MPIR_Comm * comm)
{
    return MPIDIU_av_is_local(MPIDIU_comm_rank_to_av(comm, rank));
}

#if !MPIDI_AM_SINCE(5, 0, 0)
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
#endif

#endif /* AM_GLUE_H_INCLUDED */
