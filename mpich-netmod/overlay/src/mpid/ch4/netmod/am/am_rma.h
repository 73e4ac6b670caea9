/*
 * Which puts and gets are native (am_win.c), and which ch4's generic ones.
 */
#ifndef AM_RMA_H_INCLUDED
#define AM_RMA_H_INCLUDED

#include "am_impl.h"

/* Fill in `rma` from ch4's arguments; false when it must be generic. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_rma_native(const void *addr, int count,
                                                  MPI_Datatype datatype, int target_rank,
                                                  MPI_Aint target_disp, int target_count,
                                                  MPI_Datatype target_datatype, MPIR_Win * win,
                                                  MPIDI_av_entry_t * av, bool is_get,
                                                  struct MPIDI_AM_rma *rma)
{
    size_t target_bytes;
    MPI_Aint lb;
    int contig;
    MPIR_Datatype *dt_ptr;

    if (MPIDI_AM_WIN(win).parts == NULL || target_rank == win->comm_ptr->rank) {
        return false;
    }
    MPIDI_Datatype_get_info(target_count, target_datatype, contig, target_bytes, dt_ptr,
                            rma->target_lb);
    if (!contig) {
        return false;
    }
    MPIDI_Datatype_get_info(count, datatype, contig, rma->bytes, dt_ptr, lb);
    if (rma->bytes == 0 || rma->bytes != target_bytes ||
        !MPIDI_AM_win_reaches(win, target_rank, target_disp, rma->target_lb, target_bytes)) {
        return false;
    }
    rma->contig = contig;
    rma->addr = contig ? MPIR_get_contig_ptr(addr, lb) : (void *) (uintptr_t) addr;
    rma->count = count;
    rma->datatype = datatype;
    rma->target_rank = target_rank;
    rma->target_disp = target_disp;
    rma->win = win;
    rma->av = av;
    rma->is_get = is_get;
    return true;
}

/* The same checks of the epoch as generic operations have, then the transfer. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_rma_start(const struct MPIDI_AM_rma *rma,
                                                MPIR_Request ** request)
{
    int vci = MPIDI_WIN(rma->win, am_vci);
    int mpi_errno = MPI_SUCCESS;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    MPIDIG_RMA_OP_CHECK_SYNC(rma->target_rank, rma->win);
    mpi_errno = MPIDI_AM_transfer(rma, request);

  fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif /* AM_RMA_H_INCLUDED */
