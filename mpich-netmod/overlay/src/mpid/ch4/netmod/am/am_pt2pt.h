/*
 * Native point to point: the path of contiguous data, from ch4's arguments to
 * libam's msg layer.  Everything else goes to am_dtype.c and am_done.c.
 */
#ifndef AM_PT2PT_H_INCLUDED
#define AM_PT2PT_H_INCLUDED

#include "am_impl.h"

/* A pending request: one reference is the user's, one ours.  NULL: MPICH has no more
 * (MPIDI_AM_no_request). */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDI_AM_request(MPIR_Request_kind_t kind, int vci,
                                                        MPIR_Comm * comm, int ref_count)
{
    MPIR_Request *req = MPIR_Request_create_from_pool(kind, vci, ref_count);

    if (req != NULL) {
        MPIDI_AM_REQ(req).msg = NULL;
        MPIDI_AM_REQ(req).layout = NULL;
        req->comm = comm;
        MPIR_Comm_add_ref(comm);
    }
    return req;
}

MPL_STATIC_INLINE_PREFIX void MPIDI_AM_recv_status(MPIR_Request * rreq,
                                                   const struct am_msg_status *status)
{
    if (unlikely(MPIDI_AM_global.virtual)) {
        am_time_call();
    }
    rreq->status.MPI_SOURCE = (int) status->envelope.source;
    rreq->status.MPI_TAG = (int) status->envelope.tag;
    if (unlikely(status->status != AM_OK)) {
        MPIDI_AM_recv_error(rreq, status);
    }
    MPIR_STATUS_SET_COUNT(rreq->status, (MPI_Aint) status->bytes);
}

/* What a receive or probe asks for. */
MPL_STATIC_INLINE_PREFIX void MPIDI_AM_match(int rank, int tag, int context_id,
                                             struct am_msg_envelope *envelope,
                                             struct am_msg_mask *mask)
{
    envelope->context = (uint32_t) context_id;
    envelope->source = (rank == MPI_ANY_SOURCE) ? 0 : (uint32_t) rank;
    envelope->tag = (tag == MPI_ANY_TAG) ? 0 : (uint32_t) tag;
    mask->context = UINT32_MAX;
    mask->source = (rank == MPI_ANY_SOURCE) ? 0 : UINT32_MAX;
    /* The bit above the usable ones says "collective" and always counts. */
    mask->tag = (tag == MPI_ANY_TAG) ? ~MPIDI_AM_TAG_MASK : UINT32_MAX;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_isend(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                            int tag, MPIR_Comm * comm, int context_offset,
                                            MPIDI_av_entry_t * av, unsigned flags, int src_vci,
                                            int dst_vci, MPIR_Request ** request)
{
    struct am_ctx *ctx = MPIDI_AM_global.ctx[src_vci];
    uint32_t peer = MPIDI_AM_peer(av, src_vci, dst_vci);
    uint32_t context = (uint32_t) (comm->context_id + context_offset);
    /* Whole at once: a context that waits on the stack is stored with 32 bits and read with 64,
     * which takes until the stores of the message before have reached the cache. */
    uint64_t key = am_msg_key(context, (uint32_t) comm->rank);
    struct am_msg_envelope envelope;
    MPIR_Datatype *dt_ptr;
    MPI_Aint true_lb;
    size_t bytes;
    int contig;

    MPIDI_Datatype_get_info(count, datatype, contig, bytes, dt_ptr, true_lb);
    if (unlikely(MPIDI_AM_is_gpu(MPIR_get_contig_ptr(buf, true_lb), bytes))) {
        return MPIDI_AM_gpu_error();
    }
    if (unlikely(MPIDI_AM_global.virtual)) {
        am_time_call();
    }
    if (likely(contig || bytes == 0)) {
        buf = MPIR_get_contig_ptr(buf, true_lb);
        if (likely(flags == 0 && am_msg_send_now(ctx, peer, key, (uint32_t) tag, buf, bytes))) {
            *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
            return MPI_SUCCESS;
        }
        return MPIDI_AM_isend_later(buf, bytes, ctx, peer, context, tag, flags, src_vci, comm,
                                    request);
    }
    envelope = (struct am_msg_envelope) {context, (uint32_t) comm->rank, (uint32_t) tag};
    return MPIDI_AM_isend_layout(buf, count, datatype, ctx, peer, &envelope, flags, src_vci, comm,
                                 request);
}

/* The same with the lock of the vci that it goes out by. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_isend_from(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int tag, MPIR_Comm * comm,
                                                 int context_offset, MPIDI_av_entry_t * av,
                                                 unsigned flags, int src_vci, int dst_vci,
                                                 MPIR_Request ** request)
{
    int mpi_errno;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(src_vci));
    mpi_errno = MPIDI_AM_isend(buf, count, datatype, tag, comm, context_offset, av, flags, src_vci,
                               dst_vci, request);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(src_vci));
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                            int rank, int tag, MPIR_Comm * comm,
                                            int context_offset, int vci, MPIR_Request * partner,
                                            MPIR_Request ** request)
{
    struct am_ctx *ctx = MPIDI_AM_global.ctx[vci];
    int context_id = comm->recvcontext_id + context_offset;
    /* whole at once, as that of a send */
    uint64_t key = am_msg_key((uint32_t) context_id, (uint32_t) rank);
    struct am_msg_req *msg = NULL;
    MPIR_Request *rreq;
    MPIR_Datatype *dt_ptr;
    MPI_Aint true_lb;
    size_t bytes;
    int contig;

    MPIDI_Datatype_get_info(count, datatype, contig, bytes, dt_ptr, true_lb);
    if (unlikely(MPIDI_AM_is_gpu(MPIR_get_contig_ptr(buf, true_lb), bytes))) {
        return MPIDI_AM_gpu_error();
    }
    if (unlikely(!contig && bytes > 0)) {
        struct am_msg_envelope envelope;
        struct am_msg_mask mask;

        MPIDI_AM_match(rank, tag, context_id, &envelope, &mask);
        return MPIDI_AM_irecv_layout(buf, count, datatype, ctx, &envelope, &mask, vci, comm,
                                     partner, request);
    }
    buf = MPIR_get_contig_ptr(buf, true_lb);
    /* first, so that libam learns it at once: a receive always has a request */
    rreq = MPIDI_AM_request(MPIR_REQUEST_KIND__RECV, vci, comm, 2);
    if (unlikely(rreq == NULL)) {
        return MPIDI_AM_no_request();
    }
    MPIDI_REQUEST_SET_LOCAL(rreq, 0, partner);
    *request = rreq;
    if (likely((rank | tag) >= 0)) {    /* wildcards are negative */
        rreq->status.MPI_SOURCE = rank; /* not any, whatever this memory was (am_dead.c) */
        msg = am_msg_post(ctx, key, (uint32_t) tag, buf, bytes, MPIDI_AM_recv_done, rreq);
    }
    if (unlikely(msg == NULL)) {
        return MPIDI_AM_irecv_any(buf, bytes, ctx, key, tag, request);
    }
    MPIDI_AM_REQ(rreq).msg = msg;
    return MPI_SUCCESS;
}

/* The same with the lock of its vci. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_irecv_on(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                               int rank, int tag, MPIR_Comm * comm,
                                               int context_offset, int vci,
                                               MPIR_Request * partner, MPIR_Request ** request)
{
    int mpi_errno;

    MPIDI_AM_RECV_ENTER(vci, rank);
    mpi_errno = MPIDI_AM_irecv(buf, count, datatype, rank, tag, comm, context_offset, vci, partner,
                               request);
    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        /* MPI_Irecv of 4.0 looks into it all the same */
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__RECV);
    }
    MPIDI_AM_RECV_EXIT(vci, rank);
    return mpi_errno;
}

/* MPI_ERROR of a single status is not ours to touch. */
MPL_STATIC_INLINE_PREFIX void MPIDI_AM_probe_status(const struct am_msg_status *result,
                                                    MPI_Status * status)
{
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_SOURCE = (int) result->envelope.source;
        status->MPI_TAG = (int) result->envelope.tag;
        MPIR_STATUS_SET_CANCEL_BIT(*status, FALSE);
        MPIR_STATUS_SET_COUNT(*status, (MPI_Aint) result->bytes_sent);
    }
}

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_iprobe(int source, int tag, MPIR_Comm * comm,
                                             int context_offset, int vci, int *flag,
                                             MPI_Status * status)
{
    struct am_msg_envelope envelope;
    struct am_msg_mask mask;
    struct am_msg_status result;

    MPIDI_AM_match(source, tag, comm->recvcontext_id + context_offset, &envelope, &mask);
    *flag = am_msg_iprobe(MPIDI_AM_global.ctx[vci], &envelope, &mask, &result) == AM_DONE;
    if (*flag) {
        MPIDI_AM_probe_status(&result, status);
    } else if (unlikely(MPIDI_AM_global.trouble != 0)) {
        return MPIDI_AM_probe_lost(comm, source);
    }
    return MPI_SUCCESS;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_AM_improbe(int source, int tag, MPIR_Comm * comm,
                                              int context_offset, int vci, int *flag,
                                              MPIR_Request ** message, MPI_Status * status)
{
    struct am_msg_envelope envelope;
    struct am_msg_mask mask;
    struct am_msg_status result;
    struct am_ctx *ctx = MPIDI_AM_global.ctx[vci];
    MPIR_Request *req;

    *message = NULL;
    MPIDI_AM_match(source, tag, comm->recvcontext_id + context_offset, &envelope, &mask);
    *flag = am_msg_iprobe(ctx, &envelope, &mask, &result) == AM_DONE;
    if (!*flag) {
        return likely(MPIDI_AM_global.trouble == 0) ? MPI_SUCCESS :
            MPIDI_AM_probe_lost(comm, source);
    }
    /* first: a message that is claimed must have one */
    req = MPIDI_AM_request(MPIR_REQUEST_KIND__MPROBE, vci, comm, 2);
    if (unlikely(req == NULL)) {
        *flag = 0;
        return MPIDI_AM_no_request();
    }
    /* nothing has polled since: it is still there */
    am_msg_improbe(ctx, &envelope, &mask, &result, &MPIDI_AM_REQ(req).msg);
    MPIDI_REQUEST_SET_LOCAL(req, 0, NULL);
    req->status.MPI_SOURCE = (int) result.envelope.source;      /* as of a receive */
    MPIDI_AM_probe_status(&result, status);
    *message = req;
    return MPI_SUCCESS;
}

#endif /* AM_PT2PT_H_INCLUDED */
