/*
 * ch4's own active messages (RMA, partitioned, abort) on a client of libam.
 * One message is one am_send: our header and ch4's are its info, the payload
 * is its data, of any size.
 *
 *   short:  am_isend -> am_send ... receive(): ch4's callback, which may send
 *   long:   am_isend -> am_send ... receive(): a buffer for header and payload
 *                                   landed(): ch4's callback
 *   origin callback <- done, when the payload may be reused
 *
 * ch4 wants the messages of a pair in order.  libam calls receive() in order,
 * but a long payload lands after a short one that follows it, so what comes
 * behind a long one waits in a queue of its source for all before it.
 *
 * Long payloads that are landing have AM_UNEXP_MAX together, or one larger one
 * has its size; others stay with their senders until the first of them has
 * been delivered.  They land in the order in which they were announced, so no
 * queue holds memory behind one that waits for it.  What is short and waits in
 * a queue is bounded by its sender (am_flow.c).
 */
#include <mpidimpl.h>
#include "am_impl.h"

/* One message that is arriving and not delivered at once. */
struct arrival {
    struct arrival *next;
    struct queue *queue;
    struct arrival *next_announced;
    struct am_recv *recv;       /* long, announced, not landing yet */
    bool landed;
    bool is_long;
    am_status_t status;
    MPIDI_AM_hdr_t hdr;
    size_t bytes;
    uint64_t am_hdr[AM_INFO_BYTES_MAX / 8];
    void *payload;
};

/* The messages of one source that were announced and not delivered. */
struct queue {
    struct MPIDI_AM_queues *all;
    uint32_t source;
    struct arrival *head, **tail;
};

struct MPIDI_AM_queues {
    int vci;
    struct queue **of_source;
    uint32_t count;
    size_t landing_bytes, landing_max;  /* long payloads with memory here */
    struct arrival *announced, **announced_tail;        /* those without */
    bool is_landing;            /* land_announced is at work */
};

static struct queue *queue_of(struct MPIDI_AM_queues *queues, uint32_t source)
{
    if (source >= queues->count) {
        uint32_t count = MPL_MAX(source + 1, queues->count * 2);
        struct queue **grown = MPL_realloc(queues->of_source, count * sizeof(*grown),
                                           MPL_MEM_BUFFER);

        MPIR_Assertp(grown != NULL);
        memset(grown + queues->count, 0, (count - queues->count) * sizeof(*grown));
        queues->of_source = grown;
        queues->count = count;
    }
    if (queues->of_source[source] == NULL) {
        struct queue *queue = MPL_calloc(1, sizeof(*queue), MPL_MEM_BUFFER);

        MPIR_Assertp(queue != NULL);
        queue->all = queues;
        queue->source = source;
        queue->tail = &queue->head;
        queues->of_source[source] = queue;
    }
    return queues->of_source[source];
}

static void deliver(const struct queue *queue, const MPIDI_AM_hdr_t * hdr, uint64_t * am_hdr,
                    const void *payload, size_t bytes)
{
    uint32_t attr = 0;
    int mpi_errno;

    if (unlikely(hdr->handler_id == MPIDI_AM_HANDLER_REFUSED)) {
        MPIDI_AM_refused(hdr->dst_vci, am_hdr);
        return;
    }
    if (hdr->handler_id >= MPIDIG_PUT_REQ && hdr->handler_id <= MPIDIG_CSWAP_ACK) {
        MPIDI_AM_rma_answer(hdr->dst_vci, hdr->handler_id, am_hdr);
    } else if (hdr->handler_id >= MPIDIG_WIN_LOCK && hdr->handler_id <= MPIDIG_WIN_UNLOCKALL_ACK) {
        MPIDI_AM_rma_control(hdr->handler_id, am_hdr, -1);
    }
    MPIDIG_AM_ATTR_SET_VCIS(attr, hdr->src_vci, hdr->dst_vci);
    mpi_errno = MPIDIG_global.target_msg_cbs[hdr->handler_id] (am_hdr,
                                                               (void *) (uintptr_t) payload,
                                                               (MPI_Aint) bytes, attr, NULL);
    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        MPIDI_AM_refuse(queue->all->vci, queue->source, hdr, am_hdr, mpi_errno);
    }
}

/* What failed to land was of a rank that died, or is told of by the next progress. */
static void arrival_end(struct MPIDI_AM_queues *queues, struct arrival *arrival)
{
    if (arrival->status == AM_OK) {
        deliver(arrival->queue, &arrival->hdr, arrival->am_hdr, arrival->payload, arrival->bytes);
    } else if (arrival->status != AM_ERR_PEER) {
        MPIDI_AM_failed(queues->vci, MPIDI_AM_error(MPIDI_AM_global.ctx[queues->vci],
                                                    arrival->status));
    }
    if (arrival->is_long) {
        queues->landing_bytes -= arrival->bytes;
    }
    MPL_free(arrival->payload);
    MPL_free(arrival);
}

static void land_announced(struct MPIDI_AM_queues *queues);

static void landed(void *arg, am_status_t status)
{
    struct arrival *arrival = arg;
    struct queue *queue = arrival->queue;

    arrival->landed = true;
    arrival->status = status;
    while (queue->head != NULL && queue->head->landed) {
        struct arrival *first = queue->head;

        queue->head = first->next;
        if (queue->head == NULL) {
            queue->tail = &queue->head;
        }
        arrival_end(queue->all, first);
    }
    land_announced(queue->all);
}

static bool may_land(const struct MPIDI_AM_queues *queues, size_t bytes)
{
    return queues->landing_bytes == 0 ||
        (bytes <= queues->landing_max && queues->landing_bytes <= queues->landing_max - bytes);
}

/* Fetch the long payloads for which there is room now. */
static void land_announced(struct MPIDI_AM_queues *queues)
{
    if (queues->is_landing) {
        return;                 /* one that landed at once: the caller goes on */
    }
    queues->is_landing = true;
    while (queues->announced != NULL && may_land(queues, queues->announced->bytes)) {
        struct arrival *first = queues->announced;
        struct am_data landing;

        first->payload = MPL_malloc(first->bytes + 1, MPL_MEM_BUFFER);
        if (first->payload == NULL) {
            if (queues->landing_bytes == 0) {
                MPIDI_AM_failed(queues->vci, MPIDI_AM_error(MPIDI_AM_global.ctx[queues->vci],
                                                            AM_ERR_MEMORY));
            }
            break;              /* else again when the next has been delivered */
        }
        queues->announced = first->next_announced;
        if (queues->announced == NULL) {
            queues->announced_tail = &queues->announced;
        }
        queues->landing_bytes += first->bytes;
        landing = am_data_contig(first->payload, first->bytes);
        (void) am_recv_supply(first->recv, &landing, landed, first);
    }
    queues->is_landing = false;
}

static struct arrival *arrival_new(struct queue *queue, const MPIDI_AM_hdr_t * hdr,
                                   const void *am_hdr, size_t bytes)
{
    struct arrival *arrival = MPL_calloc(1, sizeof(*arrival), MPL_MEM_BUFFER);

    if (arrival != NULL) {
        arrival->queue = queue;
        arrival->hdr = *hdr;
        arrival->bytes = bytes;
        memcpy(arrival->am_hdr, am_hdr, hdr->am_hdr_sz);
        *queue->tail = arrival;
        queue->tail = &arrival->next;
    }
    return arrival;
}

/* It is long, or came behind a long one. */
static am_status_t receive_later(struct queue *queue, struct am_recv *recv, bool is_long,
                                 const MPIDI_AM_hdr_t * hdr, const void *am_hdr, size_t bytes,
                                 struct am_data *landing, am_done_fn * done, void **done_arg)
{
    struct MPIDI_AM_queues *queues = queue->all;
    bool now = !is_long || (queues->announced == NULL && may_land(queues, bytes));
    void *payload = now ? MPL_malloc(bytes + 1, MPL_MEM_BUFFER) : NULL;
    struct arrival *arrival = now && payload == NULL ? NULL :
        arrival_new(queue, hdr, am_hdr, bytes);

    if (arrival == NULL) {
        MPL_free(payload);
        MPIDI_AM_failed(queues->vci, MPIDI_AM_error(MPIDI_AM_global.ctx[queues->vci],
                                                    AM_ERR_MEMORY));
        return AM_ERR_MEMORY;
    }
    arrival->is_long = is_long;
    if (!now) {
        arrival->recv = recv;
        *queues->announced_tail = arrival;
        queues->announced_tail = &arrival->next_announced;
        return AM_ERR_AGAIN;
    }
    queues->landing_bytes += is_long ? bytes : 0;
    arrival->payload = payload;
    *landing = am_data_contig(payload, bytes);
    *done = landed;
    *done_arg = arrival;
    return AM_OK;
}

/* The vcis of a peer that it may use: it may have all that there will be before we do. */
static unsigned vcis_known(void)
{
    return MPIDI_AM_global.phase == MPIDI_AM_STARTING ? MPIDI_CH4_MAX_VCIS :
        (unsigned) MPIDI_AM_global.n_ctx;
}

/* Is it a message that somebody here knows? */
static bool is_handled(const MPIDI_AM_hdr_t * hdr, int vci)
{
    if (hdr->dst_vci != vci || hdr->src_vci >= vcis_known()) {
        return false;
    }
    if (hdr->handler_id == MPIDI_AM_HANDLER_REFUSED) {
        return hdr->am_hdr_sz == sizeof(MPIR_Request *);
    }
    return hdr->handler_id < MPIDI_AM_HANDLERS_MAX &&
        MPIDIG_global.target_msg_cbs[hdr->handler_id] != NULL;
}

static am_status_t receive(void *arg, struct am_recv *recv, uint32_t source, const void *info,
                           size_t info_bytes, size_t bytes, struct am_data *landing,
                           am_done_fn * done, void **done_arg)
{
    uint64_t aligned[AM_INFO_BYTES_MAX / 8];    /* as ch4's headers want it */
    const void *am_hdr = (const char *) info + sizeof(MPIDI_AM_hdr_t);
    const void *payload = am_recv_payload(recv);
    struct MPIDI_AM_queues *queues = arg;
    struct queue *queue;
    MPIDI_AM_hdr_t hdr;

    if (info_bytes < sizeof(hdr) || bytes >= PTRDIFF_MAX) {      /* a peer says how many */
        return AM_ERR_INVALID;
    }
    memcpy(&hdr, info, sizeof(hdr));
    if (hdr.am_hdr_sz != info_bytes - sizeof(hdr) || !is_handled(&hdr, queues->vci)) {
        return AM_ERR_INVALID;
    }
    queue = queue_of(queues, source);
    if (payload == NULL || queue->head != NULL || (uintptr_t) payload % sizeof(uint64_t) != 0) {
        return receive_later(queue, recv, payload == NULL, &hdr, am_hdr, bytes, landing, done,
                             done_arg);
    }
    memcpy(aligned, am_hdr, hdr.am_hdr_sz);
    deliver(queue, &hdr, aligned, payload, bytes);
    return AM_DONE;
}

int MPIDI_AM_client_open(int vci)
{
    struct MPIDI_AM_queues *queues = MPL_calloc(1, sizeof(*queues), MPL_MEM_BUFFER);
    am_status_t status;

    MPIR_Assertp(queues != NULL);
    queues->vci = vci;
    queues->landing_max = MPIDI_AM_variable_bytes("AM_UNEXP_MAX");
    queues->announced_tail = &queues->announced;
    MPIDI_AM_global.queues[vci] = queues;
    MPIDI_AM_global.failed[vci] = MPI_SUCCESS;
    MPIDI_AM_flow_open(vci);
    status = am_client_register(MPIDI_AM_global.ctx[vci], AM_ORDERED, receive, queues,
                                &MPIDI_AM_global.client[vci]);
    return status == AM_OK ? MPI_SUCCESS : MPIDI_AM_error(MPIDI_AM_global.ctx[vci], status);
}

void MPIDI_AM_client_close(int vci)
{
    struct MPIDI_AM_queues *queues = MPIDI_AM_global.queues[vci];

    for (uint32_t i = 0; i < queues->count; i++) {
        MPL_free(queues->of_source[i]);
    }
    MPL_free(queues->of_source);
    MPL_free(queues);
    MPIDI_AM_transfers_free(vci);
    MPIDI_AM_flow_close(vci);
}

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
    *bytes_p = sizeof(struct arrival);
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

static void sent(void *arg, am_status_t status)
{
    MPIR_Request *sreq = arg;
    int handler_id = sreq->dev.ch4.am.netmod_am.am.handler_id;

    if (sreq->dev.ch4.am.netmod_am.am.layout != NULL) {
        MPIDI_AM_layout_free(sreq->dev.ch4.am.netmod_am.am.layout);
        sreq->dev.ch4.am.netmod_am.am.layout = NULL;
    }
    if (unlikely(status != AM_OK)) {
        sreq->status.MPI_ERROR =
            MPIDI_AM_error_peer(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(sreq)],
                                sreq->dev.ch4.am.netmod_am.am.peer, status);
        if (handler_id == MPIDIG_PART_SEND_DATA) {
            MPIDIG_REQUEST(sreq, req->part_am_req.part_req_ptr)->status.MPI_ERROR =
                sreq->status.MPI_ERROR;
        }
        if (status != AM_ERR_PEER) {    /* no answer will come, and nobody else says why */
            MPIDI_AM_failed(MPIDI_Request_get_vci(sreq), sreq->status.MPI_ERROR);
        }
    }
    MPIDIG_global.origin_cbs[handler_id] (sreq);
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
    int mpi_errno;
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
        return MPIDI_AM_gpu_error();
    }
    if (sreq != NULL) {
        mpi_errno = operation_count(sreq, handler_id, hdr.src_vci, peer, bytes);
        if (mpi_errno != MPI_SUCCESS) {
            return mpi_errno;
        }
        sreq->dev.ch4.am.netmod_am.am.handler_id = handler_id;
        sreq->dev.ch4.am.netmod_am.am.layout = NULL;
        sreq->dev.ch4.am.netmod_am.am.peer = peer;
        if (awaits) {
            MPIDI_AM_rma_begin(sreq, hdr.src_vci);
        }
    } else if (handler_id >= MPIDIG_WIN_LOCK && handler_id <= MPIDIG_WIN_UNLOCKALL_ACK) {
        MPIDI_AM_rma_control(handler_id, am_hdr, rank);
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
        /* who sends control messages has others to send them to */
        MPIDI_AM_rma_dead(hdr.src_vci, peer);
        status = awaits || (handler_id >= MPIDIG_PART_SEND_INIT &&
                            handler_id <= MPIDIG_PART_SEND_DATA) ? AM_ERR_PEER : AM_OK;
    } else if (status < 0 && sreq != NULL) {
        MPIDI_NM_am_request_finalize(sreq);
    }
    return status < 0 ? MPIDI_AM_error_peer(MPIDI_AM_global.ctx[hdr.src_vci], peer, status) :
        MPI_SUCCESS;
}
