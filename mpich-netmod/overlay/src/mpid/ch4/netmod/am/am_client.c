/*
 * ch4's own active messages (RMA, partitioned, abort) on a client of libam.
 * One message is one am_send: our header and ch4's are its info, the payload
 * is its data, of any size.
 *
 *   short:  am_isend -> am_send ... receive(): ch4's callback, which may send
 *   long:   am_isend -> am_send ... receive(): a buffer for header and payload
 *                                   landed(): ch4's callback
 *   origin callback <- done, when the payload may be reused (am_client_send.c)
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
 *
 * What there is no memory for is refused (am_refuse.c), as what ch4 cannot handle is: else
 * somebody would wait for it for ever.
 */
#include <mpidimpl.h>
#include "am_arrival.h"

/* The messages of one source that were announced and not delivered. */
struct MPIDI_AM_queue {
    struct MPIDI_AM_queues *all;
    uint32_t source;
    struct MPIDI_AM_arrival *head, **tail;
};

struct MPIDI_AM_queues {
    int vci;
    struct MPIDI_AM_queue **of_source;
    uint32_t count;
    size_t landing_bytes, landing_max;  /* long payloads with memory here */
    struct MPIDI_AM_arrival *announced, **announced_tail;        /* those without */
    bool is_landing;            /* land_announced is at work */
};

static struct MPIDI_AM_queue *queue_of(struct MPIDI_AM_queues *queues, uint32_t source)
{
    if (source >= queues->count) {
        uint32_t count = MPL_MAX(source + 1, queues->count * 2);
        struct MPIDI_AM_queue **grown =
            MPL_realloc(queues->of_source, count * sizeof(*grown), MPL_MEM_BUFFER);

        MPIR_Assertp(grown != NULL);
        memset(grown + queues->count, 0, (count - queues->count) * sizeof(*grown));
        queues->of_source = grown;
        queues->count = count;
    }
    if (queues->of_source[source] == NULL) {
        struct MPIDI_AM_queue *queue = MPL_calloc(1, sizeof(*queue), MPL_MEM_BUFFER);

        MPIR_Assertp(queue != NULL);
        queue->all = queues;
        queue->source = source;
        queue->tail = &queue->head;
        queues->of_source[source] = queue;
    }
    return queues->of_source[source];
}

static void deliver(const struct MPIDI_AM_queue *queue, const MPIDI_AM_hdr_t * hdr,
                    uint64_t * am_hdr, const void *payload, size_t bytes)
{
    uint32_t attr = 0;
    int mpi_errno;

    if (unlikely(hdr->handler_id >= MPIDI_AM_HANDLERS_MAX)) {
        if (hdr->handler_id == MPIDI_AM_HANDLER_REFUSED) {
            MPIDI_AM_refused(hdr->dst_vci, am_hdr);
        } else {
            MPIDI_AM_rma_without(hdr->dst_vci, am_hdr);
        }
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

/* It waited behind a long message of a rank that has died meanwhile: what waits for an answer of
 * that rank has ended, and its locks are given back. */
static bool is_late(const struct MPIDI_AM_queue *queue)
{
    return unlikely(MPIDI_AM_global.trouble != 0) &&
        am_peer_is_dead(MPIDI_AM_global.ctx[queue->all->vci], queue->source);
}

static int no_memory(int vci)
{
    return MPIDI_AM_error(MPIDI_AM_global.ctx[vci], AM_ERR_MEMORY);
}

/* What failed to land was of a rank that died, or is told of by the next progress.  What landed
 * without memory is lost, though its sender knows that it is here. */
static void arrival_end(struct MPIDI_AM_queues *queues, struct MPIDI_AM_arrival *arrival)
{
    if (is_late(arrival->queue)) {
        arrival->status = AM_ERR_PEER;
    }
    if (arrival->status == AM_OK && arrival->payload == NULL) {
        MPIDI_AM_refuse(queues->vci, arrival->queue->source, &arrival->hdr, arrival->am_hdr,
                        no_memory(queues->vci));
    } else if (arrival->status == AM_OK) {
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
    struct MPIDI_AM_arrival *arrival = arg;
    struct MPIDI_AM_queue *queue = arrival->queue;

    arrival->landed = true;
    arrival->status = status;
    while (queue->head != NULL && queue->head->landed) {
        struct MPIDI_AM_arrival *first = queue->head;

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

static void drop(void *arg, size_t offset, const void *from, size_t bytes)
{
}

/* Where a payload goes.  Without memory it is fetched and dropped, so that its sender does not
 * wait. */
static struct am_data landing_of(const struct MPIDI_AM_arrival *arrival)
{
    struct am_data landing = {.kind = AM_DATA_PACK, .bytes = arrival->bytes, .unpack = drop };

    return arrival->payload != NULL ? am_data_contig(arrival->payload, arrival->bytes) : landing;
}

/* Fetch the long payloads for which there is room now. */
static void land_announced(struct MPIDI_AM_queues *queues)
{
    if (queues->is_landing) {
        return;                 /* one that landed at once: the caller goes on */
    }
    queues->is_landing = true;
    while (queues->announced != NULL && may_land(queues, queues->announced->bytes)) {
        struct MPIDI_AM_arrival *first = queues->announced;
        struct am_data landing;

        first->payload = MPL_malloc(first->bytes + 1, MPL_MEM_BUFFER);
        if (first->payload == NULL && queues->landing_bytes > 0) {
            break;              /* again when the next has been delivered */
        }
        queues->announced = first->next_announced;
        if (queues->announced == NULL) {
            queues->announced_tail = &queues->announced;
        }
        queues->landing_bytes += first->bytes;
        landing = landing_of(first);
        (void) am_recv_supply(first->recv, &landing, landed, first);
    }
    queues->is_landing = false;
}

static struct MPIDI_AM_arrival *arrival_new(struct MPIDI_AM_queue *queue,
                                            const MPIDI_AM_hdr_t * hdr, const void *am_hdr,
                                            size_t bytes)
{
    struct MPIDI_AM_arrival *arrival = MPL_calloc(1, sizeof(*arrival), MPL_MEM_BUFFER);

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

/* It is lost.  libam tells the sender of a long one; a short one counts as sent. */
static am_status_t receive_not(const struct MPIDI_AM_queue *queue, bool is_long,
                               const MPIDI_AM_hdr_t * hdr, const void *am_hdr)
{
    uint64_t aligned[AM_INFO_BYTES_MAX / 8];
    int vci = queue->all->vci;

    memcpy(aligned, am_hdr, hdr->am_hdr_sz);
    if (!is_long) {
        MPIDI_AM_refuse(vci, queue->source, hdr, aligned, no_memory(vci));
        return AM_ERR_MEMORY;
    }
    MPIDI_AM_failed(vci, no_memory(vci));
    if (MPIDI_AM_rma_is_data(hdr->handler_id)) {
        MPIDI_AM_rma_without(vci, aligned);
    }
    return AM_ERR_MEMORY;
}

/* It is long, or came behind a long one. */
static am_status_t receive_later(struct MPIDI_AM_queue *queue, struct am_recv *recv, bool is_long,
                                 const MPIDI_AM_hdr_t * hdr, const void *am_hdr, size_t bytes,
                                 struct am_data *landing, am_done_fn * done, void **done_arg)
{
    struct MPIDI_AM_queues *queues = queue->all;
    bool now = !is_long || (queues->announced == NULL && may_land(queues, bytes));
    void *payload = now ? MPL_malloc(bytes + 1, MPL_MEM_BUFFER) : NULL;
    struct MPIDI_AM_arrival *arrival = now && payload == NULL ? NULL :
        arrival_new(queue, hdr, am_hdr, bytes);

    if (arrival == NULL) {
        MPL_free(payload);
        return receive_not(queue, is_long, hdr, am_hdr);
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
    if (hdr->handler_id == MPIDI_AM_HANDLER_REFUSED ||
        hdr->handler_id == MPIDI_AM_HANDLER_WITHOUT) {
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
    struct MPIDI_AM_queue *queue;
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
