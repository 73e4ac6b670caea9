/*
 * RMA with dead ranks: what ends here so that nobody waits for them.
 *
 * An operation of ch4's generic RMA is a request to the target and an answer.
 * The origin's requests without an answer are in a table; those to a rank that dies
 * end with an error, and the window's counts fall as an answer would make them.
 *
 * A synchronisation that waits for control messages (posts, completes, locks)
 * is ended by an error of progress: each thread notes which one it is in.  One
 * that waits for operations only is through when they are, and then says who is
 * dead.
 *
 * A lock that a dead rank held, or is granted, is given back for it.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

/* Those of one vci, in no order: each knows its place. */
static struct table {
    MPIR_Request **requests;
    uint32_t count, max;
} pending[MPIDI_CH4_MAX_VCIS];

static _Thread_local struct {
    MPIR_Win *win;              /* NULL: none */
    int rank;                   /* -1: `group`, or all */
    MPIR_Group *group;
    bool progress_ends;         /* progress ends it with an error */
    bool unlocking;             /* its unlocks have been sent */
} scope;

#define PART(req_)  ((req_)->dev.ch4.am.netmod_am.am)

/* ------------------------------------------------------------- operations */

static bool is_accumulate(int handler_id)
{
    return handler_id == MPIDIG_ACC_REQ || handler_id == MPIDIG_ACC_DT_REQ ||
        handler_id == MPIDIG_GET_ACC_REQ || handler_id == MPIDIG_GET_ACC_DT_REQ ||
        handler_id == MPIDIG_CSWAP_REQ;
}

bool MPIDI_AM_rma_awaits(int handler_id)
{
    return handler_id == MPIDIG_PUT_REQ || handler_id == MPIDIG_PUT_DT_REQ ||
        handler_id == MPIDIG_GET_REQ || is_accumulate(handler_id);
}

void MPIDI_AM_rma_begin(MPIR_Request * sreq, int vci)
{
    struct table *table = &pending[vci];

    if (table->count == table->max) {
        table->max = table->max * 2 + 64;
        table->requests = MPL_realloc(table->requests, table->max * sizeof(*table->requests),
                                      MPL_MEM_RMA);
        MPIR_Assertp(table->requests != NULL);
    }
    PART(sreq).place = table->count;
    table->requests[table->count++] = sreq;
}

static void take_out(MPIR_Request * sreq, int vci)
{
    struct table *table = &pending[vci];
    MPIR_Request *last = table->requests[--table->count];

    table->requests[PART(sreq).place] = last;
    PART(last).place = PART(sreq).place;
}

/* An answer has come: each begins with the origin's request. */
void MPIDI_AM_rma_answer(int vci, int handler_id, const void *am_hdr)
{
    MPIR_Request *sreq;

    if (handler_id == MPIDIG_PUT_ACK || handler_id == MPIDIG_GET_ACK ||
        handler_id == MPIDIG_ACC_ACK || handler_id == MPIDIG_GET_ACC_ACK ||
        handler_id == MPIDIG_CSWAP_ACK) {
        memcpy(&sreq, am_hdr, sizeof(sreq));
        take_out(sreq, vci);
    }
}

/* No answer will come: what ch4's handler of the answer does, but for the data. */
static void fail(MPIR_Request * sreq, int vci, int mpi_errno)
{
    int handler_id = PART(sreq).handler_id;
    int rank = MPIDIG_REQUEST(sreq, u.origin.target_rank);
    MPIR_Win *win = sreq->u.rma.win;

    take_out(sreq, vci);
    sreq->status.MPI_ERROR = mpi_errno;
    MPIDIG_win_remote_cmpl_cnt_decr(win, rank);
    if (is_accumulate(handler_id)) {
        MPIDIG_win_remote_acc_cmpl_cnt_decr(win, rank);
    }
    if (handler_id == MPIDIG_GET_REQ) {
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, u.origin.target_datatype));
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
    } else if (handler_id == MPIDIG_GET_ACC_REQ || handler_id == MPIDIG_GET_ACC_DT_REQ) {
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, req->areq.result_datatype));
    } else if (handler_id == MPIDIG_CSWAP_REQ) {
        MPL_free(MPIDIG_REQUEST(sreq, req->creq.data));
    }
    MPID_Request_complete(sreq);
}

/* ------------------------------------------------------------- locks */

static MPIR_Win *win_of(const MPIDIG_win_cntrl_msg_t * msg)
{
    return (MPIR_Win *) MPIDIU_map_lookup(MPIDI_global.win_map, msg->win_id);
}

static struct MPIDI_AM_win_link *link_of(MPIR_Win * win)
{
    struct MPIDI_AM_win_link *link = MPIDI_AM_ft_of_comm(win->comm_ptr)->wins;

    while (link->win != win) {
        link = link->next;
    }
    return link;
}

/* A lock of mine is granted to `rank` by a message that leaves (rank >= 0), or given back
 * by one that has come. */
void MPIDI_AM_rma_control(int handler_id, const void *am_hdr, int rank)
{
    const MPIDIG_win_cntrl_msg_t *msg = am_hdr;
    bool is_granted = handler_id == MPIDIG_WIN_LOCK_ACK || handler_id == MPIDIG_WIN_LOCKALL_ACK;
    bool is_returned = handler_id == MPIDIG_WIN_UNLOCK || handler_id == MPIDIG_WIN_UNLOCKALL;
    MPIR_Win *win;

    scope.unlocking = scope.unlocking || (rank >= 0 && handler_id == MPIDIG_WIN_UNLOCKALL);
    if (!(rank >= 0 ? is_granted : is_returned)) {
        return;
    }
    win = win_of(msg);
    if (win == NULL) {
        return;
    }
    if (is_granted) {
        link_of(win)->granted[rank]++;
    } else if (msg->origin_rank < (uint32_t) win->comm_ptr->local_size) {
        link_of(win)->granted[msg->origin_rank]--;
    }
}

/* Give back what the dead hold, which may be granted to the dead again. */
static void locks_return(MPIR_Comm * comm, struct MPIDI_AM_win_link *link)
{
    for (int rank = 0; rank < comm->local_size; rank++) {
        if (!MPIDI_AM_rank_is_dead(comm, rank)) {
            continue;
        }
        while (link->granted[rank] > 0) {
            MPIDIG_win_cntrl_msg_t msg = {
                .win_id = MPIDIG_WIN(link->win, win_id),
                .origin_rank = (uint32_t) rank,
            };

            link->granted[rank]--;
            MPIDIG_global.target_msg_cbs[MPIDIG_WIN_UNLOCK] (&msg, NULL, 0, 0, NULL);
        }
    }
}

static void all_locks_return(void)
{
    MPIDI_AM_ft_lock();
    for (struct MPIDI_AM_ft * ft = MPIDI_AM_ft_list; ft != NULL; ft = ft->next) {
        struct MPIDI_AM_win_link *link = ft->has_dead ? ft->wins : NULL;

        for (; link != NULL; link = link->next) {
            locks_return(ft->comm, link);
        }
    }
    MPIDI_AM_ft_unlock();
}

void MPIDI_AM_win_enter(MPIR_Win * win)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(win->comm_ptr);
    struct MPIDI_AM_win_link *link =
        MPL_calloc(1, sizeof(*link) + (size_t) win->comm_ptr->local_size * sizeof(int),
                   MPL_MEM_RMA);

    MPIR_Assertp(link != NULL);
    link->win = win;
    MPIDI_AM_ft_lock();
    link->next = ft->wins;
    ft->wins = link;
    MPIDI_AM_ft_unlock();
}

void MPIDI_AM_win_leave(MPIR_Win * win)
{
    struct MPIDI_AM_win_link **at = &MPIDI_AM_ft_of_comm(win->comm_ptr)->wins, *link;

    MPIDI_AM_ft_lock();
    while ((*at)->win != win) {
        at = &(*at)->next;
    }
    link = *at;
    *at = link->next;
    MPIDI_AM_ft_unlock();
    MPL_free(link);
}

void MPIDI_AM_win_failed(MPIR_Win * win, int mpi_errno)
{
    link_of(win)->mpi_errno = mpi_errno;
    MPIDI_AM_global.trouble++;
}

void MPIDI_AM_rma_refused(MPIR_Request * sreq, int vci, int mpi_errno)
{
    MPIDI_AM_win_failed(sreq->u.rma.win, mpi_errno);
    fail(sreq, vci, mpi_errno);
}

void MPIDI_AM_rma_dead(int vci, uint32_t peer)
{
    /* from its end: the last takes the place of one that goes */
    for (uint32_t i = pending[vci].count; i > 0; i--) {
        if (PART(pending[vci].requests[i - 1]).peer == peer) {
            fail(pending[vci].requests[i - 1], vci,
                 MPIDI_AM_error_peer(MPIDI_AM_global.ctx[vci], peer, AM_ERR_PEER));
        }
    }
    all_locks_return();
}

/* ------------------------------------------------------------- synchronisations */

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
               link_of(win)->mpi_errno != MPI_SUCCESS) {
        mpi_errno = link_of(win)->mpi_errno;
        link_of(win)->mpi_errno = MPI_SUCCESS;
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
