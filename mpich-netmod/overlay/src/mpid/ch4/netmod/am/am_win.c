/*
 * Native put and get.  When a window is made its memory becomes a region of
 * libam and the ranks exchange the keys; a put or get whose target side is
 * contiguous is then one transfer of libam, without a copy in between where
 * the device has put and get.  All else is ch4's generic RMA.
 *
 * ch4's synchronisation counts completions for each window and target; a
 * native operation takes part in the same counters, so fence, flush, unlock
 * and the rest need nothing of their own.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"

/* What a rank tells of its part of the window. */
struct MPIDI_AM_win_part {
    struct am_key key;
    uint64_t disp_unit;
    uint64_t bytes;             /* 0: not reachable */
};

/* A put or get under way. */
struct transfer {
    MPIR_Win *win;
    int target_rank;
    MPIR_cc_t *local;           /* ch4's count of what is not complete here */
    MPIR_Request *req;          /* of rput and rget, else NULL */
    struct MPIDI_AM_layout *layout;
};

static void transfer_done(void *arg, am_status_t status)
{
    struct transfer *transfer = arg;
    MPIR_Request *req = transfer->req;

    if (transfer->layout != NULL) {
        MPIDI_AM_layout_free(transfer->layout);
    }
    MPIR_cc_dec(transfer->local);
    MPIDIG_win_remote_cmpl_cnt_decr(transfer->win, transfer->target_rank);
    if (req != NULL) {
        if (status != AM_OK) {
            req->status.MPI_ERROR =
                MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(req)], status);
        }
        MPIDIU_request_complete(req);
    }
    MPL_free(transfer);
}

int MPIDI_AM_transfer(const struct MPIDI_AM_rma *rma, MPIR_Request ** request)
{
    MPIR_Win *win = rma->win;
    int vci = MPIDI_WIN(win, am_vci);
    struct am_ctx *ctx = MPIDI_AM_global.ctx[vci];
    const struct MPIDI_AM_win_part *part = &MPIDI_AM_WIN(win).parts[rma->target_rank];
    uint32_t peer = MPIDI_AM_PEER(rma->av, vci, vci);
    size_t offset = (size_t) rma->target_disp * part->disp_unit + (size_t) rma->target_lb;
    struct transfer *transfer = MPL_malloc(sizeof(*transfer), MPL_MEM_RMA);
    struct am_data data;
    am_status_t status;

    MPIR_Assertp(transfer != NULL);
    transfer->win = win;
    transfer->target_rank = rma->target_rank;
    transfer->layout = NULL;
    transfer->req = NULL;
    if (request != NULL) {
        transfer->req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RMA, vci, 2);
        transfer->req->u.rma.win = win;
        *request = transfer->req;
    }
    if (rma->contig) {
        data = am_data_contig(rma->addr, rma->bytes);
    } else {
        transfer->layout = MPIDI_AM_layout_create(rma->addr, rma->count, rma->datatype, &data);
    }
    MPIDIG_win_cmpl_cnts_incr(win, rma->target_rank, &transfer->local);
    if (rma->is_get) {
        status = am_ctx_rget(ctx, peer, &data, &part->key, offset, transfer_done, transfer);
    } else {
        status = am_ctx_put(ctx, peer, &data, &part->key, offset, transfer_done, transfer);
    }
    if (status < 0) {
        transfer_done(transfer, status);
        return MPIDI_AM_error(ctx, status);
    }
    return MPI_SUCCESS;
}

bool MPIDI_AM_win_reaches(MPIR_Win * win, int rank, MPI_Aint disp, MPI_Aint lb, size_t bytes)
{
    const struct MPIDI_AM_win_part *part = &MPIDI_AM_WIN(win).parts[rank];
    uint64_t offset = (uint64_t) disp * part->disp_unit + (uint64_t) lb;

    return disp >= 0 && offset <= part->bytes && bytes <= part->bytes - offset;
}

/* Make the window's memory reachable, and learn that of the others. */
static int win_open(MPIR_Win * win)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    struct MPIDI_AM_win_part mine = { 0 };
    int size = win->comm_ptr->local_size;
    struct am_ctx *ctx;
    int mpi_errno;

    MPIDI_WIN(win, am_vci) %= MPIDI_AM_global.n_ctx;
    MPIDI_AM_WIN(win).region = NULL;
    MPIDI_AM_WIN(win).parts = NULL;
    if (size == 1) {
        return MPI_SUCCESS;
    }
    ctx = MPIDI_AM_global.ctx[MPIDI_WIN(win, am_vci)];
    if (win->size > 0 && am_region_register(ctx, win->base, (size_t) win->size,
                                            &MPIDI_AM_WIN(win).region) == AM_OK) {
        am_region_key(MPIDI_AM_WIN(win).region, &mine.key);
        mine.bytes = (uint64_t) win->size;
        mine.disp_unit = (uint64_t) win->disp_unit;
    }
    MPIDI_AM_WIN(win).parts = MPL_malloc((size_t) size * sizeof(mine), MPL_MEM_RMA);
    MPIR_Assertp(MPIDI_AM_WIN(win).parts != NULL);
    mpi_errno = MPIR_Allgather(&mine, sizeof(mine), MPI_BYTE, MPIDI_AM_WIN(win).parts,
                               sizeof(mine), MPI_BYTE, win->comm_ptr, &errflag);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_AM_mpi_win_create_hook(MPIR_Win * win)
{
    return win_open(win);
}

int MPIDI_AM_mpi_win_allocate_hook(MPIR_Win * win)
{
    return win_open(win);
}

int MPIDI_AM_mpi_win_allocate_shared_hook(MPIR_Win * win)
{
    return win_open(win);
}

/* Memory that is attached later has no key: generic RMA. */
int MPIDI_AM_mpi_win_create_dynamic_hook(MPIR_Win * win)
{
    MPIDI_WIN(win, am_vci) %= MPIDI_AM_global.n_ctx;
    MPIDI_AM_WIN(win).region = NULL;
    MPIDI_AM_WIN(win).parts = NULL;
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_win_free_hook(MPIR_Win * win)
{
    if (MPIDI_AM_WIN(win).region != NULL) {
        am_region_deregister(MPIDI_AM_global.ctx[MPIDI_WIN(win, am_vci)],
                             MPIDI_AM_WIN(win).region);
    }
    MPL_free(MPIDI_AM_WIN(win).parts);
    MPIDI_AM_WIN(win).parts = NULL;
    return MPI_SUCCESS;
}
