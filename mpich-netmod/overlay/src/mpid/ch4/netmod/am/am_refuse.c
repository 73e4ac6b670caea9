/*
 * What ch4's handlers cannot do.  ch4 has no answer for that, so a request of an
 * operation of RMA gets one of ours: the operation ends at its origin, and the next
 * synchronisation of the window says so.
 *
 *   origin                                target
 *   PUT_REQ, GET_REQ, ... ------------->  ch4's handler fails: MPIDI_AM_refuse
 *   MPIDI_AM_refused      <-------------  MPIDI_AM_HANDLER_REFUSED, the origin's request
 *
 * The same where the origin cannot send the data of an operation whose type has gone before
 * (am_rma.c): its target does it without, so that nothing waits behind it there, and answers.
 *
 *   ch4's handler fails  <-------------  PUT_DT_ACK, ...
 *   MPIDI_AM_HANDLER_WITHOUT --------->  MPIDI_AM_rma_without
 *                        <-------------  PUT_ACK, ...
 *
 * Of all else (an answer, a lock, a partitioned message) somebody would wait for ever
 * who cannot be told: the job ends with one sentence.
 */
#include <mpidimpl.h>
#include "am_impl.h"

/* The origin's request of an operation, NULL for other messages. */
static MPIR_Request *origin_request(int handler_id, const void *am_hdr)
{
    switch (handler_id) {
        case MPIDIG_PUT_REQ:
        case MPIDIG_PUT_DT_REQ:
            return ((const MPIDIG_put_msg_t *) am_hdr)->preq_ptr;
        case MPIDIG_GET_REQ:
            return ((const MPIDIG_get_msg_t *) am_hdr)->greq_ptr;
        case MPIDIG_CSWAP_REQ:
            return ((const MPIDIG_cswap_req_msg_t *) am_hdr)->req_ptr;
        case MPIDIG_ACC_REQ:
        case MPIDIG_ACC_DT_REQ:
        case MPIDIG_GET_ACC_REQ:
        case MPIDIG_GET_ACC_DT_REQ:
            return ((const MPIDIG_acc_req_msg_t *) am_hdr)->req_ptr;
        default:
            return NULL;
    }
}

static void end_job(int mpi_errno)
{
    char text[MPI_MAX_ERROR_STRING], sentence[MPI_MAX_ERROR_STRING + 100];

    MPIR_Err_get_string(mpi_errno, text, sizeof(text), NULL);
    snprintf(sentence, sizeof(sentence), "rank %d cannot handle what another rank waits for: %s",
             MPIR_Process.rank, text);
    MPIDI_AM_end(sentence);
}

void MPIDI_AM_refuse(int vci, uint32_t source, const MPIDI_AM_hdr_t * hdr, const void *am_hdr,
                     int mpi_errno)
{
    MPIR_Request *request = origin_request(hdr->handler_id, am_hdr), *target = NULL;
    int class = MPIR_ERR_GET_CLASS(mpi_errno);
    struct am_data nothing = am_data_contig(NULL, 0);
    struct {
        MPIDI_AM_hdr_t hdr;
        MPIR_Request *request;
    } answer = { {MPIDI_AM_HANDLER_REFUSED, sizeof(request), hdr->dst_vci, hdr->src_vci}, request };

    if (class == MPIX_ERR_PROC_FAILED || class == MPIX_ERR_REVOKED) {
        MPIDI_AM_failed(vci, mpi_errno);        /* who waits finds out like us */
        return;
    }
    if (request == NULL) {
        target = MPIDI_AM_rma_give_up(hdr->handler_id, am_hdr, mpi_errno);
        answer.hdr.handler_id = MPIDI_AM_HANDLER_WITHOUT;
        answer.request = request = target;
    }
    if (request == NULL ||
        am_send(MPIDI_AM_global.client[vci], source, &answer, sizeof(answer), &nothing, NULL,
                NULL) < 0) {
        end_job(mpi_errno);
    }
    if (target == NULL) {       /* else the window's next synchronisation says so */
        MPIDI_AM_failed(vci, mpi_errno);
    }
}

void MPIDI_AM_refused(int vci, const void *am_hdr)
{
    MPIR_Request *request;
    int mpi_errno = MPI_SUCCESS;

    memcpy(&request, am_hdr, sizeof(request));
    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**am_refused");
    MPIDI_AM_win_failed(request->u.rma.win, mpi_errno);
    MPIDI_AM_rma_refused(request, vci, mpi_errno);
}
