/*
 * Non-blocking collectives of two ranks that are one message, or one each way: where the blocking
 * ones are MPICH's over the same messages (am_group_fit.c), and a schedule would cost more.
 *
 *   broadcast, gather, scatter   one message
 *   all-gather, all-to-all       one each way
 *
 * A message goes with the context and the tag of the blocking one, or of its kind of those that go
 * by starts.  Both ranks call the collectives of a communicator in one order, and each posts its
 * messages in the call, so that they meet in that order.  The user gets the message's own request,
 * that of the receive if there are two, of the kind of a collective's: nobody can cancel it.
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

/* ------------------------------------------------------------ one each way */

/* The half of an exchange that is sent, while it is under way. */
struct sending {
    MPIR_Request *request;      /* that of the receive, which waits for both */
    struct MPIDI_AM_layout *layout;     /* of data that is not in one piece, or NULL */
};

/* With the lock: a request that is complete, or not, waits for one thing more. */
static void request_hold(MPIR_Request * req)
{
    if (MPIR_Request_is_complete(req)) {
        MPIR_Object_set_ref(req, 2);
        MPIR_cc_set(&req->cc, 1);
    } else {
        MPIR_cc_inc(&req->cc);
    }
}

static void request_fail(MPIR_Request * req, int mpi_errno)
{
    if (req->status.MPI_ERROR == MPI_SUCCESS) {
        req->status.MPI_ERROR = mpi_errno;
    }
}

static void exchange_sent(void *arg, const struct am_msg_status *status)
{
    struct sending *sending = arg;
    MPIR_Request *req = sending->request;

    if (unlikely(status->status != AM_OK)) {
        request_fail(req, MPIDI_AM_error_peer(MPIDI_AM_global.ctx[0], status->peer,
                                              status->status));
    } else if (unlikely(req->comm->revoked)) {
        request_fail(req, MPIDI_AM_error(NULL, AM_ERR_CANCELLED));
    }
    if (sending->layout != NULL) {
        MPIDI_AM_layout_free(sending->layout);
    }
    MPL_free(sending);
    MPIDI_AM_complete(req);
}

/* Send, and let the receive's request wait for it. */
static void exchange_send(const struct piece *piece, const struct span *span,
                          const struct am_msg_envelope *envelope, uint32_t peer,
                          MPIR_Request * req)
{
    struct sending *sending = MPL_malloc(sizeof(*sending), MPL_MEM_OTHER);
    struct am_ctx *ctx = MPIDI_AM_global.ctx[0];
    struct am_data from = am_data_contig(span->data, span->bytes);
    struct am_msg_status status = { 0 };
    struct am_msg_req *msg;
    am_status_t sent;

    MPIR_Assertp(sending != NULL);
    sending->request = req;
    sending->layout = span->is_contig ? NULL :
        MPIDI_AM_layout_create(piece->buf, piece->count, piece->datatype, &from);
    sent = am_msg_isend(ctx, peer, envelope, &from, 0, NULL, NULL, &msg);
    request_hold(req);
    if (likely(sent == AM_OK)) {
        am_msg_attach(msg, exchange_sent, sending);
        return;
    }
    status.status = sent == AM_DONE ? AM_OK : sent;
    status.peer = peer;
    exchange_sent(sending, &status);
}

static MPIR_Request *exchange(const struct piece *out, const struct piece *in, int tag,
                              MPIR_Comm * comm)
{
    uint32_t peer = MPIDI_AM_peer(MPIDIU_comm_rank_to_av(comm, 1 - comm->rank), 0, 0);
    struct am_msg_envelope envelope = { (uint32_t) (comm->context_id + MPIDI_AM_CONTEXT_COLL),
        (uint32_t) comm->rank, (uint32_t) tag
    };
    MPIR_Request *req = message_receive(in, tag, comm);
    struct span span;
    int mpi_errno;

    if (unlikely(req == NULL)) {
        return NULL;
    }
    mpi_errno = span_of(out, &span);
    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        request_fail(req, mpi_errno);
    } else {
        exchange_send(out, &span, &envelope, peer, req);
    }
    return req;
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

bool MPIDI_AM_pair_exchange(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                            MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                            MPI_Datatype recvtype, MPIR_Comm * comm, MPIDI_AM_order_t order,
                            MPIR_Request ** request)
{
    bool in_place = sendbuf == MPI_IN_PLACE, is_cut = kind == AM_COLL_ALLTOALL;
    int rank = comm->rank, tag = tag_of(is_cut ? MPIR_ALLTOALL_TAG : MPIR_ALLGATHER_TAG, order);
    struct piece in, mine, own, out;

    if ((in_place && is_cut) ||
        !MPIDI_AM_fits_message(comm, kind, MPIDI_AM_bytes_of(recvcount, recvtype))) {
        return false;
    }
    in = block_of(recvbuf, recvcount, recvtype, 1 - rank);
    mine = block_of(recvbuf, recvcount, recvtype, rank);
    own = in_place ? mine : block_of(sendbuf, sendcount, sendtype, is_cut ? rank : 0);
    out = is_cut ? block_of(sendbuf, sendcount, sendtype, 1 - rank) : own;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    *request = exchange(&out, &in, tag, comm);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (!in_place) {
        own_copy(&own, &mine, comm, request);
    }
    return true;
}
