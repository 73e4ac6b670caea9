/*
 * ch4's own active messages (RMA, partitioned, abort) on a client of libam.
 * One message is one am_send: our header and ch4's are its info, the payload
 * is its data, of any size.
 *
 *   am_isend -> am_send ... receive(): a buffer for header and payload
 *                           landed(): ch4's callback, which may send
 *   origin callback <- done, when the payload may be reused
 */
#include <mpidimpl.h>
#include "am_impl.h"

/* One message that is arriving. */
struct arrival {
    MPIDI_AM_hdr_t hdr;
    size_t bytes;
    uint64_t am_hdr[AM_INFO_BYTES_MAX / 8];
    max_align_t payload[];
};

static void landed(void *arg, am_status_t status)
{
    struct arrival *arrival = arg;
    uint32_t attr = 0;

    if (status == AM_OK) {
        MPIDIG_AM_ATTR_SET_VCIS(attr, arrival->hdr.src_vci, arrival->hdr.dst_vci);
        MPIDIG_global.target_msg_cbs[arrival->hdr.handler_id] (arrival->am_hdr, arrival->payload,
                                                               (MPI_Aint) arrival->bytes, attr,
                                                               NULL);
    }
    MPL_free(arrival);
}

static am_status_t receive(void *arg, struct am_recv *recv, uint32_t source, const void *info,
                           size_t info_bytes, size_t bytes, struct am_data *landing,
                           am_done_fn * done, void **done_arg)
{
    struct arrival *arrival;
    MPIDI_AM_hdr_t hdr;

    if (info_bytes < sizeof(hdr)) {
        return AM_ERR_INVALID;
    }
    memcpy(&hdr, info, sizeof(hdr));
    if (hdr.handler_id >= MPIDI_AM_HANDLERS_MAX || hdr.am_hdr_sz != info_bytes - sizeof(hdr)) {
        return AM_ERR_INVALID;
    }
    arrival = MPL_malloc(sizeof(*arrival) + bytes, MPL_MEM_BUFFER);
    if (arrival == NULL) {
        return AM_ERR_MEMORY;
    }
    arrival->hdr = hdr;
    arrival->bytes = bytes;
    memcpy(arrival->am_hdr, (const char *) info + sizeof(hdr), hdr.am_hdr_sz);
    *landing = am_data_contig(arrival->payload, bytes);
    *done = landed;
    *done_arg = arrival;
    return AM_OK;
}

int MPIDI_AM_client_open(int vci)
{
    am_status_t status = am_client_register(MPIDI_AM_global.ctx[vci], AM_ORDERED, receive, NULL,
                                            &MPIDI_AM_global.client[vci]);

    return status == AM_OK ? MPI_SUCCESS : MPIDI_AM_error(MPIDI_AM_global.ctx[vci], status);
}

static void sent(void *arg, am_status_t status)
{
    MPIR_Request *sreq = arg;
    int handler_id = sreq->dev.ch4.am.netmod_am.am.handler_id;

    if (sreq->dev.ch4.am.netmod_am.am.layout != NULL) {
        MPIDI_AM_layout_free(sreq->dev.ch4.am.netmod_am.am.layout);
        sreq->dev.ch4.am.netmod_am.am.layout = NULL;
    }
    MPIDIG_global.origin_cbs[handler_id] (sreq);
}

static void header_sent(void *arg, am_status_t status)
{
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
                     sreq != NULL ? sent : header_sent, sreq);
    return status < 0 ? MPIDI_AM_error(MPIDI_AM_global.ctx[hdr.src_vci], status) : MPI_SUCCESS;
}
