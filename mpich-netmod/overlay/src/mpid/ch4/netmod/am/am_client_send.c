/*
 * ch4's own active messages as they leave (am_client.c has the picture, and what
 * arrives): the header, what an operation of RMA counts, the end of a send.
 */
#include <mpidimpl.h>
#include "am_arrival.h"

/* The bytes of a type, as often. */
static size_t bytes_of(MPI_Aint count, MPI_Datatype datatype)
{
    size_t bytes;

    MPIDI_Datatype_check_size(datatype, count, bytes);
    return bytes;
}

/* Is it an operation of RMA, which its target answers when it is through?  Then
 * *bytes_p is what it moves besides its payload: results, or what follows a type
 * that was too large for the header. */
static bool is_operation(int handler_id, const MPIR_Request * sreq, size_t * bytes_p)
{
    *bytes_p = sizeof(struct MPIDI_AM_arrival);
    switch (handler_id) {
        case MPIDIG_PUT_REQ:
        case MPIDIG_ACC_REQ:
        case MPIDIG_CSWAP_REQ:
            return true;
        case MPIDIG_GET_REQ:
        case MPIDIG_PUT_DT_REQ:
        case MPIDIG_ACC_DT_REQ:
            *bytes_p += bytes_of(MPIDIG_REQUEST(sreq, count), MPIDIG_REQUEST(sreq, datatype));
            return true;
        case MPIDIG_GET_ACC_DT_REQ:
            *bytes_p += bytes_of(MPIDIG_REQUEST(sreq, count), MPIDIG_REQUEST(sreq, datatype));
            /* FALLTHROUGH */
        case MPIDIG_GET_ACC_REQ:
            *bytes_p += bytes_of(MPIDIG_REQUEST(sreq, req->areq.result_count),
                                 MPIDIG_REQUEST(sreq, req->areq.result_datatype));
            return true;
        default:
            return false;
    }
}

/* Count an operation, when there is room for it. */
static int operation_count(MPIR_Request * sreq, int handler_id, int vci, uint32_t peer,
                           size_t bytes)
{
    size_t more;
    int mpi_errno;

    if (!is_operation(handler_id, sreq, &more)) {
        return MPI_SUCCESS;
    }
    mpi_errno = MPIDI_AM_flow_take(vci, peer, bytes + more);
    if (mpi_errno == MPI_SUCCESS) {
        sreq->dev.ch4.am.netmod_am.am.peer = peer;
        sreq->dev.ch4.am.netmod_am.am.bytes = bytes + more;
    }
    return mpi_errno;
}

static void layout_end(MPIR_Request * sreq)
{
    if (sreq->dev.ch4.am.netmod_am.am.layout != NULL) {
        MPIDI_AM_layout_free(sreq->dev.ch4.am.netmod_am.am.layout);
        sreq->dev.ch4.am.netmod_am.am.layout = NULL;
    }
}

/* It did not arrive although its peer lives, which has no memory for it, say.  No answer will come
 * to an operation; of all else nobody else says why. */
static void lost(MPIR_Request * sreq, int handler_id)
{
    int vci = MPIDI_Request_get_vci(sreq), mpi_errno = sreq->status.MPI_ERROR;

    if (MPIDI_AM_rma_awaits(handler_id)) {
        MPIDI_AM_win_failed(sreq->u.rma.win, mpi_errno);
        MPIDI_AM_rma_refused(sreq, vci, mpi_errno);
    } else {
        MPIDI_AM_failed(vci, mpi_errno);
    }
}

static void sent(void *arg, am_status_t status)
{
    MPIR_Request *sreq = arg;
    int handler_id = sreq->dev.ch4.am.netmod_am.am.handler_id;

    layout_end(sreq);
    if (unlikely(status != AM_OK)) {
        sreq->status.MPI_ERROR =
            MPIDI_AM_error_peer(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(sreq)],
                                sreq->dev.ch4.am.netmod_am.am.peer, status);
        if (handler_id == MPIDIG_PART_SEND_DATA) {
            MPIDIG_REQUEST(sreq, req->part_am_req.part_req_ptr)->status.MPI_ERROR =
                sreq->status.MPI_ERROR;
        }
        if (status != AM_ERR_PEER) {
            lost(sreq, handler_id);
        }
    }
    MPIDIG_global.origin_cbs[handler_id] (sreq);
}

/* It has not left, and no answer will come.  ch4 counts an operation of RMA as two, what leaves
 * and its answer, and both end here: else the next synchronisation would wait for it.  Data for
 * which the type has gone before has a request of its own, which nobody waits for. */
static void refused(MPIR_Request * sreq, int vci, bool awaits, int mpi_errno)
{
    int handler_id = sreq->dev.ch4.am.netmod_am.am.handler_id;

    layout_end(sreq);
    MPIDI_NM_am_request_finalize(sreq);
    if (awaits) {
        MPIDI_AM_rma_refused(sreq, vci, mpi_errno);
        MPIDIG_global.origin_cbs[handler_id] (sreq);
    } else if (MPIDI_AM_rma_is_data(handler_id)) {
        MPID_Request_complete(sreq);
    }
}

/* What the caller is told of a send to a dead rank, for which libam has returned `status`.  Who
 * sends control messages has others to send them to. */
static am_status_t sent_to_dead(MPIR_Request * sreq, int handler_id, int vci, uint32_t peer,
                                am_status_t status)
{
    bool awaits = sreq != NULL && MPIDI_AM_rma_awaits(handler_id);
    bool is_part = handler_id >= MPIDIG_PART_SEND_INIT && handler_id <= MPIDIG_PART_SEND_DATA;

    MPIDI_AM_rma_dead(vci, peer);
    if (status < 0 && sreq != NULL && !is_part) {
        sent(sreq, AM_ERR_PEER);        /* libam does not; a partitioned send am_part.c has ended */
    }
    return awaits || is_part ? AM_ERR_PEER : AM_OK;
}

/* A target's answer to an operation, or to a type whose data is to follow? */
static bool is_answer(int handler_id)
{
    return handler_id == MPIDIG_PUT_ACK || handler_id == MPIDIG_GET_ACK ||
        handler_id == MPIDIG_ACC_ACK || handler_id == MPIDIG_GET_ACC_ACK ||
        handler_id == MPIDIG_CSWAP_ACK || MPIDI_AM_rma_is_type_answer(handler_id);
}

/* It has not left.  ch4 does not look at how its answers fare, and the origin would wait for this
 * one for ever.  To tell it takes memory, which there is none of. */
static void answer_look(int handler_id, am_status_t status, int mpi_errno)
{
    char text[MPI_MAX_ERROR_STRING], sentence[MPI_MAX_ERROR_STRING + 100];

    if (status != AM_ERR_MEMORY || !is_answer(handler_id)) {
        return;
    }
    MPIR_Err_get_string(mpi_errno, text, sizeof(text), NULL);
    snprintf(sentence, sizeof(sentence),
             "rank %d cannot send an answer that another rank waits for: %s", MPIR_Process.rank,
             text);
    MPIDI_AM_end(sentence);
}

/* `rank` is the receiver's, of the window's communicator where it is one's. */
int MPIDI_AM_client_send(MPIDI_av_entry_t * av, int rank, int handler_id, const void *am_hdr,
                         MPI_Aint am_hdr_sz, const void *data, MPI_Aint count,
                         MPI_Datatype datatype, int src_vci, int dst_vci, MPIR_Request * sreq)
{
    char info[AM_INFO_BYTES_MAX];
    MPIDI_AM_hdr_t hdr;
    struct am_data payload;
    bool awaits = sreq != NULL && MPIDI_AM_rma_awaits(handler_id);
    am_status_t status;
    uint32_t peer;
    int mpi_errno = MPI_SUCCESS;
    MPIR_Datatype *dt_ptr;
    MPI_Aint true_lb;
    size_t bytes;
    int contig;

    MPIR_Assertp(am_hdr_sz <= MPIDI_AM_HDR_BYTES_MAX);
    hdr.src_vci = (uint16_t) (src_vci % MPIDI_AM_global.n_ctx);
    hdr.dst_vci = (uint16_t) (dst_vci % MPIDI_AM_global.n_ctx);
    hdr.handler_id = (uint16_t) handler_id;
    hdr.am_hdr_sz = (uint16_t) am_hdr_sz;
    memcpy(info, &hdr, sizeof(hdr));
    memcpy(info + sizeof(hdr), am_hdr, (size_t) am_hdr_sz);

    peer = MPIDI_AM_peer(av, hdr.src_vci, hdr.dst_vci);
    MPIDI_Datatype_get_info(count, datatype, contig, bytes, dt_ptr, true_lb);
    if (unlikely(MPIDI_AM_is_gpu(MPIR_get_contig_ptr(data, true_lb), bytes))) {
        mpi_errno = MPIDI_AM_gpu_error();
    } else if (sreq != NULL) {
        mpi_errno = operation_count(sreq, handler_id, hdr.src_vci, peer, bytes);
    }
    if (sreq != NULL) {
        sreq->dev.ch4.am.netmod_am.am.handler_id = handler_id;
        sreq->dev.ch4.am.netmod_am.am.layout = NULL;
        sreq->dev.ch4.am.netmod_am.am.peer = peer;
        if (awaits) {
            MPIDI_AM_rma_begin(sreq, hdr.src_vci);
        }
    }
    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        if (sreq != NULL) {
            refused(sreq, hdr.src_vci, awaits, mpi_errno);
        }
        return mpi_errno;
    }
    if (sreq == NULL && handler_id >= MPIDIG_WIN_LOCK && handler_id <= MPIDIG_WIN_UNLOCKALL_ACK) {
        MPIDI_AM_rma_control(handler_id, am_hdr, rank);
    } else if (MPIDI_AM_rma_is_type_answer(handler_id)) {
        MPIDI_AM_rma_typed(hdr.src_vci, peer, handler_id, am_hdr);
    }
    if (contig || bytes == 0) {
        payload = am_data_contig(MPIR_get_contig_ptr(data, true_lb), bytes);
    } else {
        sreq->dev.ch4.am.netmod_am.am.layout =
            MPIDI_AM_layout_create(data, count, datatype, &payload);
    }
    status = am_send(MPIDI_AM_global.client[hdr.src_vci], peer, info,
                     sizeof(hdr) + (size_t) am_hdr_sz, &payload,
                     sreq != NULL ? sent : NULL, sreq);
    if (unlikely(MPIDI_AM_global.trouble != 0) &&
        am_peer_is_dead(MPIDI_AM_global.ctx[hdr.src_vci], peer)) {
        status = sent_to_dead(sreq, handler_id, hdr.src_vci, peer, status);
        sreq = NULL;
    }
    if (likely(status >= 0)) {
        return MPI_SUCCESS;
    }
    mpi_errno = MPIDI_AM_error_peer(MPIDI_AM_global.ctx[hdr.src_vci], peer, status);
    answer_look(handler_id, status, mpi_errno);
    if (sreq != NULL) {
        refused(sreq, hdr.src_vci, awaits, mpi_errno);
    }
    return mpi_errno;
}
