/*
 * Completions of native point to point, and all that is not on its fast path:
 * errors, truncation, cancel, receives of claimed messages.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_pt2pt.h"

int MPIDI_AM_error(struct am_ctx *ctx, am_status_t status)
{
    int mpi_errno = MPI_SUCCESS;

    if (status == AM_ERR_PEER) {
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_OTHER, "**am_peer", "**am_peer %s", am_error_text(ctx));
    } else if (status == AM_ERR_MEMORY) {
        MPIR_ERR_SET(mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    } else {
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_OTHER, "**am_status", "**am_status %s",
                      am_status_text(status));
    }
    return mpi_errno;
}

int MPIDI_AM_idle(struct am_ctx *ctx, int events)
{
    if (events < 0) {
        /* ch4's callbacks may poll from inside a poll: nothing to do then */
        return events == AM_ERR_HANDLER ? MPI_SUCCESS : MPIDI_AM_error(ctx, (am_status_t) events);
    }
    MPIDI_AM_global.idle_polls = 0;
    MPL_sched_yield();
    return MPI_SUCCESS;
}

void MPIDI_AM_recv_error(MPIR_Request * rreq, const struct am_msg_status *status)
{
    if (status->status == AM_ERR_TRUNCATE) {
        rreq->status.MPI_ERROR =
            MPIR_Err_create_code(rreq->status.MPI_ERROR, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                 MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d %d %d",
                                 rreq->status.MPI_SOURCE, rreq->status.MPI_TAG,
                                 (int) status->bytes, (int) status->bytes_sent);
    } else {
        rreq->status.MPI_ERROR =
            MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(rreq)], status->status);
    }
}

static void recv_layout_done(MPIR_Request * rreq)
{
    bool partial = MPIDI_AM_layout_partial(MPIDI_AM_REQ(rreq).layout);

    MPIDI_AM_layout_free(MPIDI_AM_REQ(rreq).layout);
    MPIDI_AM_REQ(rreq).layout = NULL;
    if (partial && rreq->status.MPI_ERROR == MPI_SUCCESS) {
        MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
    }
}

void MPIDI_AM_send_done(void *arg, const struct am_msg_status *status)
{
    MPIR_Request *sreq = arg;

    if (unlikely(MPIDI_AM_REQ(sreq).layout != NULL)) {
        MPIDI_AM_layout_free(MPIDI_AM_REQ(sreq).layout);
        MPIDI_AM_REQ(sreq).layout = NULL;
    }
    if (unlikely(status->status != AM_OK)) {
        sreq->status.MPI_ERROR =
            MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(sreq)], status->status);
    }
    MPIDI_AM_REQ(sreq).msg = NULL;
    MPIDIU_request_complete(sreq);
}

void MPIDI_AM_recv_done(void *arg, const struct am_msg_status *status)
{
    MPIR_Request *rreq = arg;

    MPIDI_AM_recv_status(rreq, status);
    if (unlikely(MPIDI_AM_REQ(rreq).layout != NULL)) {
        recv_layout_done(rreq);
    }
    MPIDI_AM_REQ(rreq).msg = NULL;
#ifndef MPIDI_CH4_DIRECT_NETMOD
    if (MPIDI_REQUEST_ANYSOURCE_PARTNER(rreq) != NULL) {
        int is_cancelled;

        MPIDI_anysrc_try_cancel_partner(rreq, &is_cancelled);
        MPIDI_anysrc_free_partner(rreq);
    }
#endif
    MPIDIU_request_complete(rreq);
}

int MPIDI_AM_cancel_recv(MPIR_Request * rreq)
{
    struct am_msg_req *msg = MPIDI_AM_REQ(rreq).msg;

    if (MPIR_Request_is_complete(rreq) || msg == NULL || am_msg_cancel(msg) != AM_DONE) {
        return MPI_SUCCESS;     /* it has matched, and completes as usual */
    }
    MPIDI_AM_REQ(rreq).msg = NULL;
    if (MPIDI_AM_REQ(rreq).layout != NULL) {
        MPIDI_AM_layout_free(MPIDI_AM_REQ(rreq).layout);
        MPIDI_AM_REQ(rreq).layout = NULL;
    }
    MPIR_STATUS_SET_CANCEL_BIT(rreq->status, TRUE);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIDIU_request_complete(rreq);
    return MPI_SUCCESS;
}

int MPIDI_AM_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message)
{
    struct am_msg_req *msg = MPIDI_AM_REQ(message).msg;
    struct am_msg_status result;
    struct am_msg_req *pending;
    struct am_data data;
    am_status_t status;
    MPIR_Datatype *dt_ptr;
    MPI_Aint true_lb;
    size_t bytes;
    int contig;

    MPIDI_Datatype_get_info(count, datatype, contig, bytes, dt_ptr, true_lb);
    if (contig || bytes == 0) {
        data = am_data_contig(MPIR_get_contig_ptr(buf, true_lb), bytes);
    } else {
        MPIDI_AM_REQ(message).layout = MPIDI_AM_layout_create(buf, count, datatype, &data);
    }
    MPIDI_AM_REQ(message).msg = NULL;
    status = am_msg_imrecv(msg, &data, MPIDI_AM_recv_done, message, &result, &pending);
    if (status == AM_DONE) {
        MPIDI_AM_recv_done(message, &result);
    } else if (status < 0) {
        if (MPIDI_AM_REQ(message).layout != NULL) {
            recv_layout_done(message);
        }
        return MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(message)], status);
    }
    return MPI_SUCCESS;
}
