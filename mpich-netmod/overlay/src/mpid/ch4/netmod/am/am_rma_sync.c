/*
 * Synchronisations of RMA with dead ranks.
 *
 * One that waits for control messages (posts, completes, locks) is ended by an
 * error of progress: each thread notes which one it is in.  One that waits for
 * operations only is through when they are (am_rma.c ends those), and then says
 * who is dead.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

static _Thread_local struct {
    MPIR_Win *win;              /* NULL: none */
    int rank;                   /* -1: `group`, or all */
    MPIR_Group *group;
    bool progress_ends;         /* progress ends it with an error */
    bool unlocking;             /* its unlocks have been sent */
} scope;

static bool group_has_dead(MPIR_Win * win, MPIR_Group * group, bool tell)
{
    int *ranks = MPL_malloc((size_t) group->size * sizeof(int), MPL_MEM_RMA);
    MPIDIG_win_cntrl_msg_t msg = {
        .win_id = MPIDIG_WIN(win, win_id),
        .origin_rank = (uint32_t) win->comm_ptr->rank,
    };
    bool has_dead = false;
    int vci = MPIDI_WIN(win, am_vci);

    MPIR_Assertp(ranks != NULL);
    if (MPIDIG_fill_ranks_in_win_grp(win, group, ranks) == MPI_SUCCESS) {
        for (int i = 0; i < group->size; i++) {
            bool is_dead = MPIDI_AM_rank_is_dead(win->comm_ptr, ranks[i]);

            has_dead = has_dead || is_dead;
            if (tell && !is_dead) {
                (void) MPIDI_NM_am_send_hdr(ranks[i], win->comm_ptr, MPIDIG_WIN_COMPLETE, &msg,
                                            sizeof(msg), vci, vci);
#ifdef MPIDIG_WIN_PSCW_OF_RANKS
                /* its post, of now or of later, was for this epoch */
                MPIDIG_win_pscw_use(win, &MPIDIG_WIN(win, sync).pw, &ranks[i], 1);
#endif
            }
        }
    }
    MPL_free(ranks);
    return has_dead;
}

static bool scope_has_dead(MPIR_Win * win, int rank, MPIR_Group * group)
{
    if (rank >= 0) {
        return MPIDI_AM_rank_is_dead(win->comm_ptr, rank);
    }
    return group != NULL ? group_has_dead(win, group, false) :
        MPIDI_AM_ft_of_comm(win->comm_ptr)->has_dead;
}

int MPIDI_AM_sync_trouble(void)
{
    if (scope.win != NULL && scope.progress_ends &&
        scope_has_dead(scope.win, scope.rank, scope.group)) {
        return MPIDI_AM_error_broken(scope.win->comm_ptr);
    }
    return MPI_SUCCESS;
}

void MPIDI_AM_sync_unlocks(void)
{
    scope.unlocking = true;
}

/* The epoch ends although it failed. */
static void epoch_end(MPIDI_AM_sync_t sync, MPIR_Win * win, int rank)
{
    MPIDIG_win_target_t *target;

    switch (sync) {
        case MPIDI_AM_SYNC_WAIT:
            if (MPIDIG_WIN(win, sync).pw.group != NULL) {
#ifdef MPIDIG_WIN_PSCW_OF_RANKS
                MPIDIG_win_exposure_end(win);
#else
                MPIR_Group_release(MPIDIG_WIN(win, sync).pw.group);
                MPIDIG_WIN(win, sync).pw.group = NULL;
                MPIDIG_WIN(win, sync).sc.count = 0;
                MPIDIG_WIN(win, sync).exposure_epoch_type = MPIDIG_EPOTYPE_NONE;
#endif
            }
            break;
        case MPIDI_AM_SYNC_UNLOCK:
            target = MPIDIG_win_target_find(win, rank);
            if (target != NULL && target->sync.lock.locked != 0) {
                target->sync.lock.locked = 0;
                if (--MPIDIG_WIN(win, sync).lock.count == 0) {
                    MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_NONE;
                }
            }
            break;
        case MPIDI_AM_SYNC_UNLOCK_ALL:
            MPIDIG_WIN(win, sync).lockall.allLocked = 0;
            MPIDIG_WIN(win, sync).assert_mode = 0;
            MPIDIG_WIN(win, sync).access_epoch_type = MPIDIG_EPOTYPE_NONE;
            break;
        default:
            break;
    }
}

int MPIDI_AM_sync_begin(MPIDI_AM_sync_t sync, MPIR_Win * win, int rank, MPIR_Group * group)
{
    bool waits = sync == MPIDI_AM_SYNC_START || sync == MPIDI_AM_SYNC_LOCK ||
        sync == MPIDI_AM_SYNC_LOCK_ALL;

    if (sync == MPIDI_AM_SYNC_WAIT) {
        group = MPIDIG_WIN(win, sync).pw.group;
    }
    if (waits && scope_has_dead(win, rank, group)) {
        if (sync == MPIDI_AM_SYNC_START) {
            /* who lives may wait for the end of this epoch */
            (void) group_has_dead(win, group, true);
        }
        return MPIDI_AM_error_broken(win->comm_ptr);
    }
    if (sync == MPIDI_AM_SYNC_COMPLETE) {
        group = MPIDIG_WIN(win, sync).sc.group;
    }
    if (group != NULL) {
        MPIR_Group_add_ref(group);
    }
    scope.win = win;
    scope.rank = rank;
    scope.group = group;
    scope.progress_ends = sync != MPIDI_AM_SYNC_COMPLETE;
    scope.unlocking = false;
    return MPI_SUCCESS;
}

/* Let go of those that live, and wait until they know. */
static void unlock_living(MPIR_Win * win)
{
    int dead = 0, mpi_errno = MPI_SUCCESS, vci = MPIDI_WIN(win, am_vci);
    MPIDIG_win_cntrl_msg_t msg = {
        .win_id = MPIDIG_WIN(win, win_id),
        .origin_rank = (uint32_t) win->comm_ptr->rank,
    };
    bool to_send = !scope.unlocking;
    unsigned trouble;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(vci));
    while (!MPIDIG_win_check_all_targets_remote_completed(win) && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDI_progress_test_vci(vci);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    for (int i = 0; to_send && i < win->comm_ptr->local_size; i++) {
        if (!MPIDI_AM_rank_is_dead(win->comm_ptr, i)) {
            (void) MPIDI_NM_am_send_hdr(i, win->comm_ptr, MPIDIG_WIN_UNLOCKALL, &msg, sizeof(msg),
                                        vci, vci);
        }
    }
    trouble = MPIDI_AM_global.trouble - 1;
    while (mpi_errno == MPI_SUCCESS) {
        if (trouble != MPIDI_AM_global.trouble) {
            trouble = MPIDI_AM_global.trouble;
            dead = 0;
            for (int i = 0; i < win->comm_ptr->local_size; i++) {
                dead += MPIDI_AM_rank_is_dead(win->comm_ptr, i);
            }
        }
        if ((int) MPIDIG_WIN(win, sync).lockall.allLocked <= dead) {
            break;
        }
        mpi_errno = MPIDI_progress_test_vci(vci);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(vci));
}

int MPIDI_AM_sync_end(MPIDI_AM_sync_t sync, MPIR_Win * win, int rank, int mpi_errno)
{
    bool ends = sync != MPIDI_AM_SYNC_START && sync != MPIDI_AM_SYNC_WAIT &&
        sync != MPIDI_AM_SYNC_LOCK && sync != MPIDI_AM_SYNC_LOCK_ALL;
    MPIR_Group *group = sync == MPIDI_AM_SYNC_FLUSH || sync == MPIDI_AM_SYNC_FLUSH_ALL ?
        NULL : scope.group;
    bool has_dead = MPIDI_AM_global.trouble != 0 && (mpi_errno != MPI_SUCCESS || ends) &&
        scope_has_dead(win, rank, group);

    scope.win = NULL;
    scope.group = NULL;
    if (has_dead) {
        if (sync == MPIDI_AM_SYNC_START) {
            (void) group_has_dead(win, group, true);
        } else if (sync == MPIDI_AM_SYNC_UNLOCK_ALL && mpi_errno != MPI_SUCCESS) {
            unlock_living(win);
        }
        if (mpi_errno != MPI_SUCCESS) {
            epoch_end(sync, win, rank);
        }
        mpi_errno = MPIDI_AM_error_broken(win->comm_ptr);
    } else if (mpi_errno == MPI_SUCCESS && ends && MPIDI_AM_global.trouble != 0 &&
               MPIDI_AM_win_link_of(win)->mpi_errno != MPI_SUCCESS) {
        mpi_errno = MPIDI_AM_win_link_of(win)->mpi_errno;
        MPIDI_AM_win_link_of(win)->mpi_errno = MPI_SUCCESS;
    }
    if (group != NULL) {
        MPIR_Group_release(group);
    }
    return mpi_errno;
}

int MPIDI_AM_win_test_dead(MPIR_Win * win)
{
    if (MPIDIG_WIN(win, sync).pw.group == NULL ||
        !group_has_dead(win, MPIDIG_WIN(win, sync).pw.group, false)) {
        return MPI_SUCCESS;
    }
    epoch_end(MPIDI_AM_SYNC_WAIT, win, -1);
    return MPIDI_AM_error_broken(win->comm_ptr);
}

#endif /* MPIDI_AM_FT */
