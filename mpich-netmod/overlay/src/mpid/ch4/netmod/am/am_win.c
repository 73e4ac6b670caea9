/*
 * Native put, get, and fetch-and-add.  A put or get whose target side is contiguous
 * is one transfer of libam to or from the target's region (am_win_init.c), without a
 * copy in between where the device has put and get.  All else is ch4's generic RMA.
 *
 * ch4's synchronisation counts completions for each window and target; a
 * native operation takes part in the same counters, so fence, flush, unlock
 * and the rest need nothing of their own.
 *
 * A fetch-and-op that sums a 64-bit integer, or only fetches it, is libam's
 * fetch-and-add.  It is atomic with generic accumulates, because both are done
 * by the target's progress, and stays in order with them: libam runs messages
 * of a pair in order, but a generic accumulate with much data lands late, so
 * while one is under way the operation is generic too.
 */
#include <mpidimpl.h>
#include "am_win.h"

/* A native operation under way. */
struct transfer {
    MPIR_Win *win;
    int target_rank;
    uint32_t peer;
    MPIR_cc_t *local;           /* ch4's count of what is not complete here */
    MPIR_Request *req;          /* of rput and rget, else NULL */
    struct MPIDI_AM_layout *layout;
    struct transfer *next;      /* spare */
};

/* Those that wait for an operation, of each vci: no more than am_flow.c lets be under way. */
#define CHUNK_TRANSFERS 64

struct chunk {
    struct chunk *next;
    struct transfer transfers[CHUNK_TRANSFERS];
};

static struct chunk *chunks[MPIDI_CH4_MAX_VCIS];
static struct transfer *spare[MPIDI_CH4_MAX_VCIS];

static void transfer_put(int vci, struct transfer *transfer)
{
    transfer->next = spare[vci];
    spare[vci] = transfer;
}

static struct transfer *transfer_get(int vci)
{
    struct transfer *transfer;

    if (unlikely(spare[vci] == NULL)) {
        struct chunk *chunk = MPL_malloc(sizeof(*chunk), MPL_MEM_RMA);

        MPIR_Assertp(chunk != NULL);
        chunk->next = chunks[vci];
        chunks[vci] = chunk;
        for (int i = 0; i < CHUNK_TRANSFERS; i++) {
            transfer_put(vci, &chunk->transfers[i]);
        }
    }
    transfer = spare[vci];
    spare[vci] = transfer->next;
    return transfer;
}

void MPIDI_AM_transfers_free(int vci)
{
    while (chunks[vci] != NULL) {
        struct chunk *chunk = chunks[vci];

        chunks[vci] = chunk->next;
        MPL_free(chunk);
    }
    spare[vci] = NULL;
}

static void transfer_end(struct transfer *transfer, am_status_t status)
{
    MPIR_Request *req = transfer->req;
    int vci = MPIDI_WIN(transfer->win, am_vci);

    if (transfer->layout != NULL) {
        MPIDI_AM_layout_free(transfer->layout);
    }
    MPIDI_AM_flow_give(vci, transfer->peer, 0);
    MPIR_cc_dec(transfer->local);
    MPIDIG_win_remote_cmpl_cnt_decr(transfer->win, transfer->target_rank);
    if (req != NULL) {
        if (status != AM_OK) {
            req->status.MPI_ERROR = status == AM_ERR_PEER ?
                MPIDI_AM_error_broken(transfer->win->comm_ptr) :
                MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(req)], status);
        }
        MPIDI_AM_complete(req);
    }
    transfer_put(vci, transfer);
}

static void transfer_done(void *arg, am_status_t status)
{
    struct transfer *transfer = arg;
    int vci = MPIDI_WIN(transfer->win, am_vci);

    if (status != AM_OK && status != AM_ERR_PEER) {     /* the dead are told of anyway */
        MPIDI_AM_win_failed(transfer->win, MPIDI_AM_error(MPIDI_AM_global.ctx[vci], status));
    }
    transfer_end(transfer, status);
}

/* Counted in am_flow.c, perhaps after progress. */
static int transfer_new(MPIR_Win * win, int target_rank, uint32_t peer,
                        struct transfer **transfer_p)
{
    int vci = MPIDI_WIN(win, am_vci);
    struct transfer *transfer;
    int mpi_errno = MPIDI_AM_flow_take(vci, peer, 0);

    if (mpi_errno != MPI_SUCCESS) {
        return mpi_errno;
    }
    transfer = transfer_get(vci);
    transfer->win = win;
    transfer->target_rank = target_rank;
    transfer->peer = peer;
    transfer->layout = NULL;
    transfer->req = NULL;
    MPIDIG_win_cmpl_cnts_incr(win, target_rank, &transfer->local);
    *transfer_p = transfer;
    return MPI_SUCCESS;
}

static bool reaches(MPIR_Win * win, int rank, MPI_Aint disp, MPI_Aint lb, size_t bytes)
{
    const struct MPIDI_AM_win_part *part = &MPIDI_AM_WIN(win).parts[rank];
    uint64_t offset = (uint64_t) disp * part->disp_unit + (uint64_t) lb;

    return disp >= 0 && offset <= part->bytes && bytes <= part->bytes - offset;
}

/* The two sides of a put or get. */
struct sides {
    void *addr;                 /* of the origin: the first byte where contig, else MPI's buffer */
    MPI_Aint count;
    MPI_Datatype datatype;
    size_t bytes;
    int contig;
    int target_rank;
    size_t target_offset;
};

/* Fill in `sides`; false when the operation must be generic. */
static bool is_transfer(const void *addr, MPI_Aint count, MPI_Datatype datatype, int target_rank,
                        MPI_Aint target_disp, MPI_Aint target_count, MPI_Datatype target_datatype,
                        MPIR_Win * win, struct sides *sides)
{
    size_t target_bytes;
    MPI_Aint lb, target_lb;
    int contig;
    MPIR_Datatype *dt_ptr;

    if (MPIDI_AM_WIN(win).parts == NULL || target_rank == win->comm_ptr->rank) {
        return false;
    }
    MPIDI_Datatype_get_info(target_count, target_datatype, contig, target_bytes, dt_ptr,
                            target_lb);
    if (!contig) {
        return false;
    }
    MPIDI_Datatype_get_info(count, datatype, contig, sides->bytes, dt_ptr, lb);
    if (sides->bytes == 0 || sides->bytes != target_bytes ||
        MPIDI_AM_is_gpu(MPIR_get_contig_ptr(addr, lb), sides->bytes) ||
        !reaches(win, target_rank, target_disp, target_lb, target_bytes)) {
        return false;
    }
    sides->contig = contig;
    sides->addr = contig ? MPIR_get_contig_ptr(addr, lb) : (void *) (uintptr_t) addr;
    sides->count = count;
    sides->datatype = datatype;
    sides->target_rank = target_rank;
    sides->target_offset = (size_t) target_disp *
        MPIDI_AM_WIN(win).parts[target_rank].disp_unit + (size_t) target_lb;
    return true;
}

static int transfer_start(const struct sides *sides, MPIR_Win * win, MPIDI_av_entry_t * av,
                          bool is_get, MPIR_Request ** request)
{
    int vci = MPIDI_WIN(win, am_vci);
    struct am_ctx *ctx = MPIDI_AM_global.ctx[vci];
    const struct am_key *key = &MPIDI_AM_WIN(win).parts[sides->target_rank].key;
    uint32_t peer = MPIDI_AM_peer(av, vci, vci);
    struct transfer *transfer;
    struct am_data data;
    MPIR_Request *req = NULL;
    am_status_t status;
    int mpi_errno;

    if (request != NULL) {
        req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RMA, vci, 2);
        if (req == NULL) {
            return MPIDI_AM_no_request();
        }
        req->u.rma.win = win;
    }
    mpi_errno = transfer_new(win, sides->target_rank, peer, &transfer);
    if (mpi_errno != MPI_SUCCESS) {
        if (req != NULL) {
            MPIDI_AM_request_drop(req);
        }
        return mpi_errno;
    }
    transfer->req = req;
    if (sides->contig) {
        data = am_data_contig(sides->addr, sides->bytes);
    } else {
        transfer->layout = MPIDI_AM_layout_create(sides->addr, sides->count, sides->datatype,
                                                  &data);
    }
    if (is_get) {
        status = am_ctx_rget(ctx, peer, &data, key, sides->target_offset, transfer_done, transfer);
    } else {
        status = am_ctx_put(ctx, peer, &data, key, sides->target_offset, transfer_done, transfer);
    }
    if (status < 0) {           /* the call tells of it, and gives no request */
        transfer_end(transfer, status);
        if (req != NULL) {
            MPIDI_CH4_REQUEST_FREE(req);
        }
        return MPIDI_AM_error(ctx, status);
    }
    if (request != NULL) {
        *request = req;
    }
    return MPI_SUCCESS;
}

/* The same checks of the epoch as generic operations have, then the transfer. */
static int transfer_checked(const struct sides *sides, MPIR_Win * win, MPIDI_av_entry_t * av,
                            bool is_get, MPIR_Request ** request)
{
    int mpi_errno = MPI_SUCCESS;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(MPIDI_WIN(win, am_vci)));
    MPIDIG_RMA_OP_CHECK_SYNC(sides->target_rank, win);
    if (unlikely(MPIDI_AM_global.trouble != 0) &&
        MPIDI_AM_rank_is_dead(win->comm_ptr, sides->target_rank)) {
        mpi_errno = MPIDI_AM_error_broken(win->comm_ptr);
        goto fn_fail;
    }
    mpi_errno = transfer_start(sides, win, av, is_get, request);

  fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(MPIDI_WIN(win, am_vci)));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_AM_put(const void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * av,
                 MPIR_Request ** request, bool * is_native)
{
    struct sides sides;

    *is_native = is_transfer(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                             target_count, target_datatype, win, &sides);
    return *is_native ? transfer_checked(&sides, win, av, false, request) : MPI_SUCCESS;
}

int MPIDI_AM_get(void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * av,
                 MPIR_Request ** request, bool * is_native)
{
    struct sides sides;

    *is_native = is_transfer(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
                             target_count, target_datatype, win, &sides);
    return *is_native ? transfer_checked(&sides, win, av, true, request) : MPI_SUCCESS;
}

/* Is a generic accumulate of mine to this target under way? */
static bool accumulates(MPIR_Win * win, int rank)
{
    MPIDIG_win_target_t *target = MPIDIG_win_target_find(win, rank);

    return MPIR_cc_get(MPIDIG_WIN(win, remote_acc_cmpl_cnts)) != 0 ||
        (target != NULL && MPIR_cc_get(target->remote_acc_cmpl_cnts) != 0);
}

static bool is_fetch_add(MPIR_Win * win, int rank, MPI_Aint disp, MPI_Datatype datatype,
                         MPI_Op op, const void *origin_addr, const void *result_addr)
{
    const struct MPIDI_AM_win_part *part;

    if (MPIDI_AM_WIN(win).parts == NULL || rank == win->comm_ptr->rank ||
        (op != MPI_SUM && op != MPI_NO_OP) || !MPIDI_AM_is_word(datatype) ||
        MPIDI_AM_is_gpu(result_addr, sizeof(uint64_t)) ||
        (op == MPI_SUM && MPIDI_AM_is_gpu(origin_addr, sizeof(uint64_t)))) {
        return false;
    }
    part = &MPIDI_AM_WIN(win).parts[rank];
    return part->has_words && (uint64_t) disp * part->disp_unit % sizeof(uint64_t) == 0 &&
        (uintptr_t) result_addr % sizeof(uint64_t) == 0 &&
        reaches(win, rank, disp, 0, sizeof(uint64_t));
}

static int fetch_add(const void *origin_addr, void *result_addr, int rank, MPI_Aint disp,
                     MPI_Op op, MPIR_Win * win, MPIDI_av_entry_t * av)
{
    int vci = MPIDI_WIN(win, am_vci);
    struct am_ctx *ctx = MPIDI_AM_global.ctx[vci];
    const struct MPIDI_AM_win_part *part = &MPIDI_AM_WIN(win).parts[rank];
    uint32_t peer = MPIDI_AM_peer(av, vci, vci);
    struct transfer *transfer;
    uint64_t value = 0;
    am_status_t status;
    int mpi_errno = transfer_new(win, rank, peer, &transfer);

    if (mpi_errno != MPI_SUCCESS) {
        return mpi_errno;
    }
    if (op == MPI_SUM) {
        memcpy(&value, origin_addr, sizeof(value));
    }
    status = am_ctx_fetch_add(ctx, peer, &part->key,
                              (size_t) disp * part->disp_unit, value, result_addr,
                              transfer_done, transfer);
    if (status < 0) {
        transfer_end(transfer, status);
        return MPIDI_AM_error(ctx, status);
    }
    return MPI_SUCCESS;
}

int MPIDI_AM_fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win * win,
                          MPIDI_av_entry_t * av, bool * is_native)
{
    int mpi_errno = MPI_SUCCESS;

    *is_native = false;
    if (!is_fetch_add(win, target_rank, target_disp, datatype, op, origin_addr,
                      result_addr)) {
        return MPI_SUCCESS;
    }
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(MPIDI_WIN(win, am_vci)));
    if (!accumulates(win, target_rank)) {
        *is_native = true;
        MPIDIG_RMA_OP_CHECK_SYNC(target_rank, win);
        if (unlikely(MPIDI_AM_global.trouble != 0) &&
            MPIDI_AM_rank_is_dead(win->comm_ptr, target_rank)) {
            mpi_errno = MPIDI_AM_error_broken(win->comm_ptr);
            goto fn_fail;
        }
        mpi_errno = fetch_add(origin_addr, result_addr, target_rank, target_disp, op, win, av);
    }

  fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(MPIDI_WIN(win, am_vci)));
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
