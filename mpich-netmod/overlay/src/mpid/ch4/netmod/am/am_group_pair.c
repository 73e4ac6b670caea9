/*
 * Non-blocking collectives of two ranks that are one message, a broadcast, a gather or a scatter:
 * where the blocking ones are MPICH's over the same message (am_group_fit.c), and a schedule would
 * cost more.
 *
 * A message goes with the context and the tag of the blocking one, or of its kind of those that go
 * by starts.  Both ranks call the collectives of a communicator in one order, and each posts its
 * messages in the call, so that they meet in that order.  The user gets the message's own request,
 * of the kind of a collective's: nobody can cancel it.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

struct piece {
    char *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
};

/* Where the bytes of a piece are, if they are together. */
struct span {
    char *data;
    size_t bytes;
    bool is_contig;
};

/* ------------------------------------------------------------ the message */

/* Fails where libam cannot move the piece. */
static int span_of(const struct piece *piece, struct span *span)
{
    MPIR_Datatype *dt_ptr;
    MPI_Aint true_lb;
    int contig;

    MPIDI_Datatype_get_info(piece->count, piece->datatype, contig, span->bytes, dt_ptr, true_lb);
    span->data = MPIR_get_contig_ptr(piece->buf, true_lb);
    span->is_contig = contig != 0;
    return unlikely(MPIDI_AM_is_gpu(span->data, span->bytes)) ? MPIDI_AM_gpu_error() : MPI_SUCCESS;
}

/* A request that is over, and says so; NULL: there is none. */
static MPIR_Request *failed(MPIR_Comm * comm, int mpi_errno)
{
    MPIR_Request *req = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 1);

    if (req != NULL) {
        MPIR_cc_set(&req->cc, 0);
        req->status.MPI_ERROR = mpi_errno;
    }
    return req;
}

/* What no packet takes at once. */
static MPIR_Request *send_later(const struct piece *piece, const struct span *span,
                                const struct am_msg_envelope *envelope, uint32_t peer,
                                MPIR_Comm * comm)
{
    MPIR_Request *sreq = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    struct am_data from = am_data_contig(span->data, span->bytes);
    int mpi_errno;

    if (sreq == NULL) {
        return NULL;
    }
    if (!span->is_contig) {
        MPIDI_AM_REQ(sreq).layout =
            MPIDI_AM_layout_create(piece->buf, piece->count, piece->datatype, &from);
    }
    mpi_errno = MPIDI_AM_isend_as(sreq, MPIDI_AM_global.ctx[0], peer, envelope, &from, 0, &sreq);
    return mpi_errno == MPI_SUCCESS ? sreq : failed(comm, mpi_errno);
}

static MPIR_Request *message_send(const struct piece *piece, int tag, MPIR_Comm * comm)
{
    uint32_t peer = MPIDI_AM_peer(MPIDIU_comm_rank_to_av(comm, 1 - comm->rank), 0, 0);
    uint32_t context = (uint32_t) (comm->context_id + MPIDI_AM_CONTEXT_COLL);
    uint64_t key = am_msg_key(context, (uint32_t) comm->rank);
    struct am_msg_envelope envelope;
    struct span span;
    int mpi_errno = span_of(piece, &span);

    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        return failed(comm, mpi_errno);
    }
    if (likely(span.is_contig && am_msg_send_now(MPIDI_AM_global.ctx[0], peer, key, (uint32_t) tag,
                                                 span.data, span.bytes))) {
        return MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
    }
    envelope = (struct am_msg_envelope) {context, (uint32_t) comm->rank, (uint32_t) tag};
    return send_later(piece, &span, &envelope, peer, comm);
}

/* What is not in one piece, or was here already, or waits behind others. */
static int receive_any(MPIR_Request * rreq, const struct piece *piece, const struct span *span,
                       uint64_t key, int tag, MPIR_Request ** request)
{
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];
    struct am_msg_envelope envelope;
    struct am_msg_mask mask;
    int mpi_errno;

    if (!span->is_contig) {
        MPIDI_AM_match((int) (uint32_t) key, tag, (int) (key >> 32), &envelope, &mask);
        return MPIDI_AM_irecv_layout_as(rreq, piece->buf, piece->count, piece->datatype, ctx,
                                        &envelope, &mask, NULL, request);
    }
    mpi_errno = MPIDI_AM_irecv_any(span->data, span->bytes, ctx, key, tag, request);
    if (mpi_errno == MPI_SUCCESS && MPIR_Request_is_complete(rreq)) {
        MPIDI_AM_pair_length(rreq, (MPI_Aint) span->bytes);
    }
    return mpi_errno;
}

static MPIR_Request *message_receive(const struct piece *piece, int tag, MPIR_Comm * comm)
{
    uint64_t key = am_msg_key((uint32_t) (comm->recvcontext_id + MPIDI_AM_CONTEXT_COLL),
                              (uint32_t) (1 - comm->rank));
    MPIR_Request *rreq, *request;
    struct am_msg_req *msg = NULL;
    struct span span;
    int mpi_errno = span_of(piece, &span);

    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        return failed(comm, mpi_errno);
    }
    request = rreq = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    if (unlikely(rreq == NULL)) {
        return NULL;
    }
    MPIDI_REQUEST_SET_LOCAL(rreq, 0, NULL);
    MPIR_STATUS_SET_COUNT(rreq->status, (MPI_Aint) span.bytes); /* MPIDI_AM_recv_done */
    if (likely(span.is_contig)) {
        msg = am_msg_post(MPIDI_AM_global.ctx[0], key, (uint32_t) tag, span.data, span.bytes,
                          MPIDI_AM_recv_done, rreq);
    }
    if (likely(msg != NULL)) {
        MPIDI_AM_REQ(rreq).msg = msg;
    } else {
        mpi_errno = receive_any(rreq, piece, &span, key, tag, &request);
        if (unlikely(mpi_errno != MPI_SUCCESS)) {
            return failed(comm, mpi_errno);
        }
    }
    return request;
}

void MPIDI_AM_pair_length(MPIR_Request * rreq, MPI_Aint expected)
{
    MPI_Aint bytes = MPIR_STATUS_GET_COUNT(rreq->status);

    if (unlikely(bytes != expected && rreq->status.MPI_ERROR == MPI_SUCCESS)) {
        MPIR_ERR_SET2(rreq->status.MPI_ERROR, MPI_ERR_OTHER, "**collective_size_mismatch",
                      "**collective_size_mismatch %d %d", (int) MPL_MIN(bytes, INT_MAX),
                      (int) MPL_MIN(expected, INT_MAX));
    }
}

/* ------------------------------------------------------------ the collectives */

/* MPICH keeps the tags behind those of its blocking collectives for a library that is not here. */
static int tag_of(int tag, MPIDI_AM_order_t order)
{
    return order == MPIDI_AM_BY_STARTS ? MPIR_FIRST_HCOLL_TAG + tag : tag;
}

static MPIR_Request *message(const struct piece *piece, bool sends, int tag, MPIR_Comm * comm)
{
    MPIR_Request *request;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    request = sends ? message_send(piece, tag, comm) : message_receive(piece, tag, comm);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    return request;
}

bool MPIDI_AM_pair_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request)
{
    struct piece all = { buffer, count, datatype };

    if (!MPIDI_AM_fits_message(comm, AM_COLL_BCAST, MPIDI_AM_bytes_of(count, datatype))) {
        return false;
    }
    *request = message(&all, comm->rank == root, tag_of(MPIR_BCAST_TAG, order), comm);
    return true;
}

/* The block of a rank where the root has both. */
static struct piece block_of(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank)
{
    MPI_Aint extent;

    MPIR_Datatype_get_extent_macro(datatype, extent);
    return (struct piece) {(char *) buf + extent * count * rank, count, datatype};
}

static void request_fail(MPIR_Request * req, int mpi_errno)
{
    if (req->status.MPI_ERROR == MPI_SUCCESS) {
        req->status.MPI_ERROR = mpi_errno;
    }
}

/* The root's own block has been copied; what went wrong there the request tells. */
static void copied(MPIR_Comm * comm, int mpi_errno, MPIR_Request ** request)
{
    if (likely(mpi_errno == MPI_SUCCESS || *request == NULL)) {
        return;
    }
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    if (HANDLE_IS_BUILTIN((*request)->handle)) {
        *request = failed(comm, mpi_errno);
    } else {
        request_fail(*request, mpi_errno);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
}

static void own_copy(const struct piece *from, const struct piece *to, MPIR_Comm * comm,
                     MPIR_Request ** request)
{
    copied(comm, MPIR_Localcopy(from->buf, from->count, from->datatype, to->buf, to->count,
                                to->datatype), request);
}

bool MPIDI_AM_pair_blocks(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                          MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                          MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                          MPIDI_AM_order_t order, MPIR_Request ** request)
{
    bool is_root = comm->rank == root, sends = is_root == (kind == AM_COLL_SCATTER);
    int tag = tag_of(kind == AM_COLL_SCATTER ? MPIR_SCATTER_TAG : MPIR_GATHER_TAG, order);
    struct piece given = { (char *) sendbuf, sendcount, sendtype };
    struct piece got = { recvbuf, recvcount, recvtype };
    struct piece *sides = kind == AM_COLL_SCATTER ? &given : &got, other;

    if (!MPIDI_AM_fits_message(comm, kind, sends ? MPIDI_AM_bytes_of(sendcount, sendtype) :
                               MPIDI_AM_bytes_of(recvcount, recvtype))) {
        return false;
    }
    if (!is_root) {
        *request = message(sends ? &given : &got, sends, tag, comm);
        return true;
    }
    other = block_of(sides->buf, sides->count, sides->datatype, 1 - root);
    *sides = block_of(sides->buf, sides->count, sides->datatype, root);
    *request = message(&other, sends, tag, comm);
    if (sendbuf != MPI_IN_PLACE && recvbuf != MPI_IN_PLACE) {
        own_copy(&given, &got, comm, request);
    }
    return true;
}
