/*
 * The entries of one-sided communication that ch4 inlines: those that may be native
 * (am_win.c), and the waits of windows, behind the release's generic ones.
 */
#ifndef AM_GLUE_RMA_H_INCLUDED
#define AM_GLUE_RMA_H_INCLUDED

#include "am_impl.h"

#ifndef MPIDI_ENABLE_AM_ONLY
/* The release's generic RMA, but for operations that may be native (am_win.c). */
#define MPIDI_NM_mpi_put  MPIDI_AM_generic_put
#define MPIDI_NM_mpi_get  MPIDI_AM_generic_get
#define MPIDI_NM_mpi_rput MPIDI_AM_generic_rput
#define MPIDI_NM_mpi_rget MPIDI_AM_generic_rget
#define MPIDI_NM_mpi_raccumulate MPIDI_AM_generic_raccumulate
#define MPIDI_NM_mpi_rget_accumulate MPIDI_AM_generic_rget_accumulate
#define MPIDI_NM_mpi_fetch_and_op MPIDI_AM_generic_fetch_and_op
#if MPIDI_AM_FT
#define MPIDI_NM_mpi_win_start MPIDI_AM_generic_win_start
#define MPIDI_NM_mpi_win_complete MPIDI_AM_generic_win_complete
#define MPIDI_NM_mpi_win_wait MPIDI_AM_generic_win_wait
#define MPIDI_NM_mpi_win_test MPIDI_AM_generic_win_test
#define MPIDI_NM_mpi_win_lock MPIDI_AM_generic_win_lock
#define MPIDI_NM_mpi_win_unlock MPIDI_AM_generic_win_unlock
#define MPIDI_NM_mpi_win_fence MPIDI_AM_generic_win_fence
#define MPIDI_NM_mpi_win_flush MPIDI_AM_generic_win_flush
#define MPIDI_NM_mpi_win_flush_local MPIDI_AM_generic_win_flush_local
#define MPIDI_NM_mpi_win_flush_all MPIDI_AM_generic_win_flush_all
#define MPIDI_NM_mpi_win_flush_local_all MPIDI_AM_generic_win_flush_local_all
#define MPIDI_NM_mpi_win_lock_all MPIDI_AM_generic_win_lock_all
#define MPIDI_NM_mpi_win_unlock_all MPIDI_AM_generic_win_unlock_all
#endif
#include "netmod_am_fallback_rma.h"
#if MPIDI_AM_FT
#undef MPIDI_NM_mpi_win_start
#undef MPIDI_NM_mpi_win_complete
#undef MPIDI_NM_mpi_win_wait
#undef MPIDI_NM_mpi_win_test
#undef MPIDI_NM_mpi_win_lock
#undef MPIDI_NM_mpi_win_unlock
#undef MPIDI_NM_mpi_win_fence
#undef MPIDI_NM_mpi_win_flush
#undef MPIDI_NM_mpi_win_flush_local
#undef MPIDI_NM_mpi_win_flush_all
#undef MPIDI_NM_mpi_win_flush_local_all
#undef MPIDI_NM_mpi_win_lock_all
#undef MPIDI_NM_mpi_win_unlock_all
#endif
#undef MPIDI_NM_mpi_put
#undef MPIDI_NM_mpi_get
#undef MPIDI_NM_mpi_rput
#undef MPIDI_NM_mpi_rget
#undef MPIDI_NM_mpi_raccumulate
#undef MPIDI_NM_mpi_rget_accumulate
#undef MPIDI_NM_mpi_fetch_and_op

#define MPIDI_AM_RMA_PARAMETERS \
    MPIDI_AM_rma_count_t origin_count, MPI_Datatype origin_datatype, int target_rank, \
    MPI_Aint target_disp, MPIDI_AM_rma_count_t target_count, MPI_Datatype target_datatype, \
    MPIR_Win * win, MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr
#define MPIDI_AM_RMA_ARGUMENTS \
    origin_addr, origin_count, origin_datatype, target_rank, target_disp, target_count, \
    target_datatype, win, addr

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_put(const void *origin_addr, MPIDI_AM_RMA_PARAMETERS)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_put(MPIDI_AM_RMA_ARGUMENTS, NULL, &is_native);

    return is_native ? mpi_errno : MPIDI_AM_generic_put(MPIDI_AM_RMA_ARGUMENTS, winattr);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_get(void *origin_addr, MPIDI_AM_RMA_PARAMETERS)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_get(MPIDI_AM_RMA_ARGUMENTS, NULL, &is_native);

    return is_native ? mpi_errno : MPIDI_AM_generic_get(MPIDI_AM_RMA_ARGUMENTS, winattr);
}

/* ch4 gives a request also with an error, with which MPI's caller gets none. */
MPL_STATIC_INLINE_PREFIX int MPIDI_AM_requested(int mpi_errno, MPIR_Request ** request)
{
    if (unlikely(mpi_errno != MPI_SUCCESS) && *request != NULL) {
        MPIR_Request_free(*request);
        *request = NULL;
    }
    return mpi_errno;
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rput(const void *origin_addr, MPIDI_AM_RMA_PARAMETERS,
                                               MPIR_Request ** request)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_put(MPIDI_AM_RMA_ARGUMENTS, request, &is_native);

    if (is_native) {
        return mpi_errno;
    }
    mpi_errno = MPIDI_AM_generic_rput(MPIDI_AM_RMA_ARGUMENTS, winattr, request);
    return MPIDI_AM_requested(mpi_errno, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget(void *origin_addr, MPIDI_AM_RMA_PARAMETERS,
                                               MPIR_Request ** request)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_get(MPIDI_AM_RMA_ARGUMENTS, request, &is_native);

    if (is_native) {
        return mpi_errno;
    }
    mpi_errno = MPIDI_AM_generic_rget(MPIDI_AM_RMA_ARGUMENTS, winattr, request);
    return MPIDI_AM_requested(mpi_errno, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_raccumulate(const void *origin_addr,
        MPIDI_AM_rma_count_t origin_count, MPI_Datatype origin_datatype, int target_rank,
        MPI_Aint target_disp, MPIDI_AM_rma_count_t target_count, MPI_Datatype target_datatype,
        MPI_Op op, MPIR_Win * win, MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr,
        MPIR_Request ** request)
{
    int mpi_errno = MPIDI_AM_generic_raccumulate(origin_addr, origin_count, origin_datatype,
                                                 target_rank, target_disp, target_count,
                                                 target_datatype, op, win, addr, winattr, request);

    return MPIDI_AM_requested(mpi_errno, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_rget_accumulate(const void *origin_addr,
        MPIDI_AM_rma_count_t origin_count, MPI_Datatype origin_datatype, void *result_addr,
        MPIDI_AM_rma_count_t result_count, MPI_Datatype result_datatype, int target_rank,
        MPI_Aint target_disp, MPIDI_AM_rma_count_t target_count, MPI_Datatype target_datatype,
        MPI_Op op, MPIR_Win * win, MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr,
        MPIR_Request ** request)
{
    int mpi_errno = MPIDI_AM_generic_rget_accumulate(origin_addr, origin_count, origin_datatype,
                                                     result_addr, result_count, result_datatype,
                                                     target_rank, target_disp, target_count,
                                                     target_datatype, op, win, addr, winattr,
                                                     request);

    return MPIDI_AM_requested(mpi_errno, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_fetch_and_op(const void *origin_addr, void *result_addr,
        MPI_Datatype datatype, int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win * win,
        MPIDI_av_entry_t * addr, MPIDI_winattr_t winattr)
{
    bool is_native = false;
    int mpi_errno = MPIDI_AM_fetch_and_op(origin_addr, result_addr, datatype, target_rank,
                                          target_disp, op, win, addr, &is_native);

    if (is_native) {
        return mpi_errno;
    }
    return MPIDI_AM_generic_fetch_and_op(origin_addr, result_addr, datatype, target_rank,
                                         target_disp, op, win, addr, winattr);
}
#endif

/* Synchronisations that wait for others, who may die meanwhile (am_rma.c). */
#if MPIDI_AM_FT && !defined(MPIDI_ENABLE_AM_ONLY)
#define MPIDI_AM_SYNC(sync_, win_, rank_, group_, call_) \
    int mpi_errno = MPIDI_AM_sync_begin(sync_, win_, rank_, group_); \
    return mpi_errno != MPI_SUCCESS ? mpi_errno : MPIDI_AM_sync_end(sync_, win_, rank_, call_)

/* These wait for operations, which end with the dead. */
#define MPIDI_AM_FLUSH(sync_, win_, rank_, call_) \
    int mpi_errno = call_; \
    return likely(MPIDI_AM_global.trouble == 0) ? mpi_errno : \
        MPIDI_AM_sync_end(sync_, win_, rank_, mpi_errno)

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_start(MPIR_Group * group, int assert, MPIR_Win * win)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_START, win, -1, group,
                  MPIDI_AM_generic_win_start(group, assert, win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_complete(MPIR_Win * win)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_COMPLETE, win, -1, NULL, MPIDI_AM_generic_win_complete(win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_wait(MPIR_Win * win)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_WAIT, win, -1, NULL, MPIDI_AM_generic_win_wait(win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_test(MPIR_Win * win, int *flag)
{
    int mpi_errno = MPIDI_AM_generic_win_test(win, flag);

    if (mpi_errno == MPI_SUCCESS && !*flag) {
        /* It has polled after it looked.  Barriers may end without a poll, and who comes from
         * one finds what was sent before it. */
        mpi_errno = MPIDI_AM_generic_win_test(win, flag);
    }
    return likely(mpi_errno != MPI_SUCCESS || *flag || MPIDI_AM_global.trouble == 0) ? mpi_errno :
        MPIDI_AM_win_test_dead(win);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock(int lock_type, int rank, int assert,
                                                   MPIR_Win * win, MPIDI_av_entry_t * addr)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_LOCK, win, rank, NULL,
                  MPIDI_AM_generic_win_lock(lock_type, rank, assert, win, addr));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock(int rank, MPIR_Win * win,
                                                     MPIDI_av_entry_t * addr)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_UNLOCK, win, rank, NULL,
                  MPIDI_AM_generic_win_unlock(rank, win, addr));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_lock_all(int assert, MPIR_Win * win)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_LOCK_ALL, win, -1, NULL, MPIDI_AM_generic_win_lock_all(assert, win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_unlock_all(MPIR_Win * win)
{
    MPIDI_AM_SYNC(MPIDI_AM_SYNC_UNLOCK_ALL, win, -1, NULL, MPIDI_AM_generic_win_unlock_all(win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_fence(int assert, MPIR_Win * win)
{
    MPIDI_AM_FLUSH(MPIDI_AM_SYNC_FLUSH_ALL, win, -1, MPIDI_AM_generic_win_fence(assert, win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush(int rank, MPIR_Win * win,
                                                    MPIDI_av_entry_t * addr)
{
    MPIDI_AM_FLUSH(MPIDI_AM_SYNC_FLUSH, win, rank, MPIDI_AM_generic_win_flush(rank, win, addr));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local(int rank, MPIR_Win * win,
                                                          MPIDI_av_entry_t * addr)
{
    MPIDI_AM_FLUSH(MPIDI_AM_SYNC_FLUSH, win, rank,
                   MPIDI_AM_generic_win_flush_local(rank, win, addr));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_all(MPIR_Win * win)
{
    MPIDI_AM_FLUSH(MPIDI_AM_SYNC_FLUSH_ALL, win, -1, MPIDI_AM_generic_win_flush_all(win));
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_win_flush_local_all(MPIR_Win * win)
{
    MPIDI_AM_FLUSH(MPIDI_AM_SYNC_FLUSH_ALL, win, -1, MPIDI_AM_generic_win_flush_local_all(win));
}
#endif /* MPIDI_ENABLE_AM_ONLY */

#endif /* AM_GLUE_RMA_H_INCLUDED */
