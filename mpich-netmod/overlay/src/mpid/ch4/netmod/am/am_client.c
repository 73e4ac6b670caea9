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
 */
#include <mpidimpl.h>
#include "am_impl.h"

/* One message that is arriving and not delivered at once. */
struct arrival {
    struct arrival *next;
    struct queue *queue;
    bool landed;
    am_status_t status;
    MPIDI_AM_hdr_t hdr;
    size_t bytes;
    uint64_t am_hdr[AM_INFO_BYTES_MAX / 8];
    max_align_t payload[];
};

/* The messages of one source that were announced and not delivered. */
struct queue {
    struct arrival *head, **tail;
};

struct MPIDI_AM_queues {
    struct queue **of_source;
    uint32_t count;
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
        queue->tail = &queue->head;
        queues->of_source[source] = queue;
    }
    return queues->of_source[source];
}

static void deliver(const MPIDI_AM_hdr_t * hdr, uint64_t * am_hdr, const void *payload,
                    size_t bytes)
{
    uint32_t attr = 0;

    MPIDIG_AM_ATTR_SET_VCIS(attr, hdr->src_vci, hdr->dst_vci);
    MPIDIG_global.target_msg_cbs[hdr->handler_id] (am_hdr, (void *) (uintptr_t) payload,
                                                   (MPI_Aint) bytes, attr, NULL);
}

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
        if (first->status == AM_OK) {
            deliver(&first->hdr, first->am_hdr, first->payload, first->bytes);
        }
        MPL_free(first);
    }
}

/* It came behind a long one, or is long. */
static am_status_t receive_later(struct queue *queue, const MPIDI_AM_hdr_t * hdr,
                                 const void *am_hdr, size_t bytes, struct am_data *landing,
                                 am_done_fn * done, void **done_arg)
{
    struct arrival *arrival = MPL_malloc(sizeof(*arrival) + bytes, MPL_MEM_BUFFER);

    if (arrival == NULL) {
        return AM_ERR_MEMORY;
    }
    arrival->next = NULL;
    arrival->queue = queue;
    arrival->landed = false;
    arrival->hdr = *hdr;
    arrival->bytes = bytes;
    memcpy(arrival->am_hdr, am_hdr, hdr->am_hdr_sz);
    *queue->tail = arrival;
    queue->tail = &arrival->next;
    *landing = am_data_contig(arrival->payload, bytes);
    *done = landed;
    *done_arg = arrival;
    return AM_OK;
}

static am_status_t receive(void *arg, struct am_recv *recv, uint32_t source, const void *info,
                           size_t info_bytes, size_t bytes, struct am_data *landing,
                           am_done_fn * done, void **done_arg)
{
    uint64_t aligned[AM_INFO_BYTES_MAX / 8];    /* as ch4's headers want it */
    const void *am_hdr = (const char *) info + sizeof(MPIDI_AM_hdr_t);
    const void *payload = am_recv_payload(recv);
    struct queue *queue;
    MPIDI_AM_hdr_t hdr;

    if (info_bytes < sizeof(hdr)) {
        return AM_ERR_INVALID;
    }
    memcpy(&hdr, info, sizeof(hdr));
    if (hdr.handler_id >= MPIDI_AM_HANDLERS_MAX || hdr.am_hdr_sz != info_bytes - sizeof(hdr) ||
        MPIDIG_global.target_msg_cbs[hdr.handler_id] == NULL) {
        return AM_ERR_INVALID;
    }
    queue = queue_of(arg, source);
    if (payload == NULL || queue->head != NULL || (uintptr_t) payload % sizeof(uint64_t) != 0) {
        return receive_later(queue, &hdr, am_hdr, bytes, landing, done, done_arg);
    }
    memcpy(aligned, am_hdr, hdr.am_hdr_sz);
    deliver(&hdr, aligned, payload, bytes);
    return AM_DONE;
}

int MPIDI_AM_client_open(int vci)
{
    struct MPIDI_AM_queues *queues = MPL_calloc(1, sizeof(*queues), MPL_MEM_BUFFER);
    am_status_t status;

    MPIR_Assertp(queues != NULL);
    MPIDI_AM_global.queues[vci] = queues;
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
            MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(sreq)], status);
    }
    MPIDIG_global.origin_cbs[handler_id] (sreq);
}

int MPIDI_AM_client_send(MPIDI_av_entry_t * av, int handler_id, const void *am_hdr,
                         MPI_Aint am_hdr_sz, const void *data, MPI_Aint count,
                         MPI_Datatype datatype, int src_vci, int dst_vci, MPIR_Request * sreq)
{
    char info[AM_INFO_BYTES_MAX];
    MPIDI_AM_hdr_t hdr;
    struct am_data payload;
    am_status_t status;
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

    MPIDI_Datatype_get_info(count, datatype, contig, bytes, dt_ptr, true_lb);
    if (sreq != NULL) {
        sreq->dev.ch4.am.netmod_am.am.handler_id = handler_id;
        sreq->dev.ch4.am.netmod_am.am.layout = NULL;
    }
    if (contig || bytes == 0) {
        payload = am_data_contig(MPIR_get_contig_ptr(data, true_lb), bytes);
    } else {
        sreq->dev.ch4.am.netmod_am.am.layout =
            MPIDI_AM_layout_create(data, count, datatype, &payload);
    }
    status = am_send(MPIDI_AM_global.client[hdr.src_vci],
                     MPIDI_AM_PEER(av, hdr.src_vci, hdr.dst_vci), info,
                     sizeof(hdr) + (size_t) am_hdr_sz, &payload,
                     sreq != NULL ? sent : NULL, sreq);
    return status < 0 ? MPIDI_AM_error(MPIDI_AM_global.ctx[hdr.src_vci], status) : MPI_SUCCESS;
}
