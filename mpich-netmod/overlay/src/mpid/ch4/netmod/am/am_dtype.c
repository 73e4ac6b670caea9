/*
 * Data that is not contiguous.  A layout describes one to libam: as an array
 * of iovecs where the pieces are large, else by functions that pack and unpack
 * any byte range.
 *
 * MPICH packs whole basic elements only, and libam cuts the bytes anywhere.  A
 * cut element stays in `spill`:
 *
 *   packing      | packed, handed out | spill: packed, in part handed out |
 *                                     ^ position - spill_bytes            ^ position
 *   unpacking    | unpacked           | spill: came in, no whole element yet |
 *                                     ^ position
 *
 * That serves ranges in order.  The first one out of order switches the layout
 * to an iovec array for good.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_done.h"
#include "am_pt2pt.h"

#define SPILL_BYTES_MAX 64      /* twice the largest basic element */
#define IOV_COUNT_MAX   65536

struct MPIDI_AM_layout {
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;      /* a reference is held */
    size_t bytes;
    size_t position;
    size_t spill_bytes;
    struct iovec *iov;          /* NULL until it is needed */
    MPI_Aint iov_count;
    MPI_Aint iov_index;         /* where the last access ended: entry, */
    size_t iov_offset;          /* and its offset in the packed form */
    char spill[SPILL_BYTES_MAX];
};

static void iov_build(struct MPIDI_AM_layout *layout, MPI_Aint iov_count)
{
    MPI_Aint bytes;

    layout->iov = MPL_malloc(iov_count * sizeof(struct iovec), MPL_MEM_DATATYPE);
    MPIR_Assertp(layout->iov != NULL);
    MPIR_Typerep_to_iov(layout->buf, layout->count, layout->datatype, 0, layout->iov, iov_count,
                        (MPI_Aint) layout->bytes, &layout->iov_count, &bytes);
    MPIR_Assertp(bytes == (MPI_Aint) layout->bytes);
    layout->iov_index = 0;
    layout->iov_offset = 0;
}

/* Copy between `linear` and the bytes [offset, offset + bytes). */
static void iov_copy(struct MPIDI_AM_layout *layout, size_t offset, char *linear, size_t bytes,
                     bool out)
{
    if (offset < layout->iov_offset) {
        layout->iov_index = 0;
        layout->iov_offset = 0;
    }
    while (bytes > 0) {
        struct iovec *piece = &layout->iov[layout->iov_index];
        size_t skip = offset - layout->iov_offset;

        if (skip >= piece->iov_len) {
            layout->iov_offset += piece->iov_len;
            layout->iov_index++;
            continue;
        }
        size_t n = MPL_MIN(piece->iov_len - skip, bytes);
        char *at = (char *) piece->iov_base + skip;
        memcpy(out ? linear : at, out ? at : linear, n);
        linear += n;
        offset += n;
        bytes -= n;
    }
}

/* From now on by iovecs. */
static void iov_switch(struct MPIDI_AM_layout *layout, bool unpacking)
{
    MPI_Aint iov_count;

    MPIDI_AM_iov_len(layout->count, layout->datatype, (MPI_Aint) layout->bytes, &iov_count);
    iov_build(layout, iov_count);
    if (unpacking && layout->spill_bytes > 0) {
        iov_copy(layout, layout->position, layout->spill, layout->spill_bytes, false);
        layout->spill_bytes = 0;
    }
}

static size_t pack_some(struct MPIDI_AM_layout *layout, void *to, size_t bytes)
{
    MPI_Aint n = 0;

    MPIDI_AM_pack(layout->buf, layout->count, layout->datatype, (MPI_Aint) layout->position, to,
                  (MPI_Aint) bytes, &n);
    layout->position += (size_t) n;
    return (size_t) n;
}

static void layout_pack(void *arg, size_t offset, void *to, size_t bytes)
{
    struct MPIDI_AM_layout *layout = arg;
    char *at = to;

    if (layout->iov == NULL && offset == 0) {
        layout->position = 0;   /* from the start, perhaps again */
        layout->spill_bytes = 0;
    }
    if (layout->iov == NULL &&
        (offset > layout->position || offset + layout->spill_bytes < layout->position)) {
        iov_switch(layout, false);
    }
    if (layout->iov != NULL) {
        iov_copy(layout, offset, at, bytes, true);
        return;
    }
    while (bytes > 0) {
        size_t n = layout->position - offset;   /* still in the spill */

        if (n > 0) {
            n = MPL_MIN(n, bytes);
            memcpy(at, layout->spill + layout->spill_bytes - (layout->position - offset), n);
        } else {
            layout->spill_bytes = 0;
            n = pack_some(layout, at, bytes);
            if (n == 0) {       /* less than an element is wanted */
                layout->spill_bytes = pack_some(layout, layout->spill, SPILL_BYTES_MAX);
                MPIR_Assertp(layout->spill_bytes > 0);
            }
        }
        at += n;
        offset += n;
        bytes -= n;
    }
}

static size_t unpack_some(struct MPIDI_AM_layout *layout, const void *from, size_t bytes)
{
    MPI_Aint n = 0;

    MPIDI_AM_unpack(from, (MPI_Aint) bytes, layout->buf, layout->count, layout->datatype,
                    (MPI_Aint) layout->position, &n);
    layout->position += (size_t) n;
    return (size_t) n;
}

/* Add bytes to the spill until elements are whole; how many were taken. */
static size_t unpack_spill(struct MPIDI_AM_layout *layout, const char *from, size_t bytes)
{
    size_t held = layout->spill_bytes;
    size_t taken = MPL_MIN(SPILL_BYTES_MAX - held, bytes);
    size_t n;

    memcpy(layout->spill + held, from, taken);
    n = unpack_some(layout, layout->spill, held + taken);
    if (n == 0) {
        layout->spill_bytes = held + taken;
        return taken;
    }
    layout->spill_bytes = 0;
    return n - held;
}

static void layout_unpack(void *arg, size_t offset, const void *from, size_t bytes)
{
    struct MPIDI_AM_layout *layout = arg;
    const char *at = from;

    if (layout->iov == NULL && offset != layout->position + layout->spill_bytes) {
        iov_switch(layout, true);
    }
    if (layout->iov != NULL) {
        iov_copy(layout, offset, (char *) (uintptr_t) at, bytes, false);
        return;
    }
    while (bytes > 0) {
        size_t n = 0;

        if (layout->spill_bytes == 0) {
            n = unpack_some(layout, at, bytes);
        }
        if (n == 0) {
            n = unpack_spill(layout, at, bytes);
        }
        at += n;
        bytes -= n;
    }
}

struct MPIDI_AM_layout *MPIDI_AM_layout_create(const void *buf, MPI_Aint count,
                                               MPI_Datatype datatype, struct am_data *data)
{
    struct MPIDI_AM_layout *layout = MPL_malloc(sizeof(*layout), MPL_MEM_DATATYPE);
    MPIR_Datatype *dt_ptr;
    MPI_Aint iov_count = 0;
    bool dense = false;

    MPIR_Assertp(layout != NULL);
    MPIR_Datatype_get_ptr(datatype, dt_ptr);
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    layout->buf = (void *) (uintptr_t) buf;
    layout->count = count;
    layout->datatype = datatype;
    layout->bytes = (size_t) count * (size_t) dt_ptr->size;
    layout->position = 0;
    layout->spill_bytes = 0;
    layout->iov = NULL;
    memset(data, 0, sizeof(*data));
    data->bytes = layout->bytes;

    if (layout->bytes >= (size_t) MPIR_CVAR_CH4_IOV_DENSITY_MIN) {
        MPIDI_AM_iov_len(count, datatype, (MPI_Aint) layout->bytes, &iov_count);
        dense = iov_count > 0 && iov_count <= IOV_COUNT_MAX &&
            layout->bytes / (size_t) iov_count >= (size_t) MPIR_CVAR_CH4_IOV_DENSITY_MIN;
    }
    if (dense) {
        iov_build(layout, iov_count);
        data->kind = AM_DATA_IOV;
        data->u.iov = layout->iov;
        data->iov_count = (uint32_t) layout->iov_count;
    } else {
        data->kind = AM_DATA_PACK;
        data->u.arg = layout;
        data->pack = layout_pack;
        data->unpack = layout_unpack;
    }
    return layout;
}

bool MPIDI_AM_layout_partial(const struct MPIDI_AM_layout *layout)
{
    return layout->iov == NULL && layout->spill_bytes > 0;
}

void MPIDI_AM_layout_free(struct MPIDI_AM_layout *layout)
{
    MPIR_Datatype_release_if_not_builtin(layout->datatype);
    MPL_free(layout->iov);
    MPL_free(layout);
}

int MPIDI_AM_isend_layout(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                          struct am_ctx *ctx, uint32_t peer,
                          const struct am_msg_envelope *envelope, unsigned flags, int vci,
                          MPIR_Comm * comm, MPIR_Request ** request)
{
    MPIR_Request *sreq = MPIDI_AM_request(MPIR_REQUEST_KIND__SEND, vci, comm, 2);
    struct am_data data;

    if (sreq == NULL) {
        return MPIDI_AM_no_request();
    }
    MPIDI_AM_REQ(sreq).layout = MPIDI_AM_layout_create(buf, count, datatype, &data);
    return MPIDI_AM_isend_as(sreq, ctx, peer, envelope, &data, flags, request);
}

int MPIDI_AM_irecv_layout(void *buf, MPI_Aint count, MPI_Datatype datatype,
                          struct am_ctx *ctx, const struct am_msg_envelope *envelope,
                          const struct am_msg_mask *mask, int vci, MPIR_Comm * comm,
                          MPIR_Request * partner, MPIR_Request ** request)
{
    MPIR_Request *rreq = MPIDI_AM_request(MPIR_REQUEST_KIND__RECV, vci, comm, 2);

    return rreq == NULL ? MPIDI_AM_no_request() :
        MPIDI_AM_irecv_layout_as(rreq, buf, count, datatype, ctx, envelope, mask, partner, request);
}

int MPIDI_AM_irecv_layout_as(MPIR_Request * rreq, void *buf, MPI_Aint count,
                             MPI_Datatype datatype, struct am_ctx *ctx,
                             const struct am_msg_envelope *envelope,
                             const struct am_msg_mask *mask, MPIR_Request * partner,
                             MPIR_Request ** request)
{
    struct am_msg_status result;
    struct am_data data;
    am_status_t status;

    rreq->status.MPI_SOURCE = mask->source == 0 ? MPI_ANY_SOURCE : (int) envelope->source;
    if (unlikely(MPIDI_AM_IS_BROKEN(rreq->comm)) &&
        MPIDI_AM_recv_refused(rreq, (int) envelope->context, (int) envelope->tag)) {
        MPIDI_REQUEST_SET_LOCAL(rreq, 0, partner);
        *request = rreq;
        MPIDI_AM_recv_over(rreq);
        return MPI_SUCCESS;
    }
    MPIDI_AM_REQ(rreq).layout = MPIDI_AM_layout_create(buf, count, datatype, &data);
    MPIDI_REQUEST_SET_LOCAL(rreq, 0, NULL);
    status = am_msg_irecv(ctx, envelope, mask, &data, MPIDI_AM_recv_done, rreq, &result,
                          &MPIDI_AM_REQ(rreq).msg);
    if (status == AM_DONE) {
        MPIDI_AM_recv_done(rreq, &result);
    } else if (status < 0) {
        MPIDI_AM_layout_free(MPIDI_AM_REQ(rreq).layout);
        MPIDI_AM_request_drop(rreq);
        return MPIDI_AM_error(ctx, status);
    }
    MPIDI_REQUEST_SET_LOCAL(rreq, 0, partner);
    *request = rreq;
    if (status == AM_DONE) {
        MPIDI_AM_recv_over(rreq);
    }
    return MPI_SUCCESS;
}
