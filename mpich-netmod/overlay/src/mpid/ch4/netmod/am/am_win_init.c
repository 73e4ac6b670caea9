/*
 * Windows: when one is made its memory becomes a region of libam, and the ranks
 * exchange the keys, with which the others reach it (am_win.c).
 */
#include <mpidimpl.h>
#include "am_win.h"
#include "am_noinline.h"

/* With MPICH's own shared memory the ranks of a node may add to each other's
 * windows by themselves, under a lock that libam does not know. */
static bool only_messages_add(MPIR_Win * win)
{
#ifdef MPIDI_CH4_DIRECT_NETMOD
    return true;
#else
    return !MPIDI_AM_shares_nodes(win->comm_ptr);
#endif
}

/* Nobody reaches it any more. */
static void win_close(MPIR_Win * win)
{
    if (MPIDI_AM_WIN(win).region != NULL) {
        am_region_deregister(MPIDI_AM_global.ctx[MPIDI_WIN(win, am_vci)],
                             MPIDI_AM_WIN(win).region);
        MPIDI_AM_WIN(win).region = NULL;
    }
    MPL_free(MPIDI_AM_WIN(win).parts);
    MPIDI_AM_WIN(win).parts = NULL;
}

/* Make the window's memory reachable, and learn that of the others. */
static int win_open(MPIR_Win * win)
{
    struct MPIDI_AM_win_part mine = { 0 };
    int size = win->comm_ptr->local_size;
    struct am_ctx *ctx;
    int mpi_errno;

    MPIDI_WIN(win, am_vci) %= MPIDI_AM_global.n_ctx;
    MPIDI_AM_WIN(win).region = NULL;
    MPIDI_AM_WIN(win).parts = NULL;
    MPIDI_AM_win_enter(win);
    if (size == 1) {
        return MPI_SUCCESS;
    }
    ctx = MPIDI_AM_global.ctx[MPIDI_WIN(win, am_vci)];
    mine.is_gpu = MPIDI_AM_is_gpu(win->base, (size_t) win->size);
    if (win->size > 0 && !mine.is_gpu &&
        am_region_register(ctx, win->base, (size_t) win->size, &MPIDI_AM_WIN(win).region) ==
        AM_OK) {
        am_region_key(MPIDI_AM_WIN(win).region, &mine.key);
        mine.bytes = (uint64_t) win->size;
        mine.disp_unit = (uint64_t) win->disp_unit;
        mine.has_words = (uintptr_t) win->base % sizeof(uint64_t) == 0 && only_messages_add(win);
    }
    MPIDI_AM_WIN(win).parts = MPL_malloc((size_t) size * sizeof(mine), MPL_MEM_RMA);
    MPIR_Assertp(MPIDI_AM_WIN(win).parts != NULL);
    mpi_errno = MPIDI_AM_allgather(&mine, MPIDI_AM_WIN(win).parts, sizeof(mine), win->comm_ptr);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < size; i++) {
        if (MPIDI_AM_WIN(win).parts[i].is_gpu) {
            /* all ranks refuse it: an answer from there would fail while its origin waits */
            (void) MPIDI_AM_mpi_win_free_hook(win);
            return MPIDI_AM_gpu_error();
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    /* another rank may have got them all, but the caller has no window and may free its memory */
    win_close(win);
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
    MPIDI_AM_win_enter(win);
    return MPI_SUCCESS;
}

int MPIDI_AM_mpi_win_free_hook(MPIR_Win * win)
{
    win_close(win);
    MPIDI_AM_win_leave(win);
    return MPI_SUCCESS;
}
