/*
 * RMA with dead ranks: what ends here so that nobody waits for them.
 *
 * An operation of ch4's generic RMA is a request to the target and an answer.
 * The origin's requests without an answer are in a table; those to a rank that dies
 * end with an error, and the window's counts fall as an answer would make them.
 *
 * Where the target's datatype does not fit in a header it goes first (PUT_DT_REQ, ...),
 * and the data when that is answered (PUT_DT_ACK, PUT_DAT_REQ).  The origin's request has a
 * reference to its own type until the data is on its way (has_type), and what sends that
 * has it then.
 *
 * A lock that a dead rank held, or is granted, is given back for it.  What ends
 * of synchronisations is in am_rma_sync.c.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

/* Those of one vci, in no order: each knows its place. */
static struct table {
    MPIR_Request **requests;
    uint32_t count, max;
} pending[MPIDI_CH4_MAX_VCIS];

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

static bool is_type(int handler_id)
{
    return handler_id == MPIDIG_PUT_DT_REQ || handler_id == MPIDIG_ACC_DT_REQ ||
        handler_id == MPIDIG_GET_ACC_DT_REQ;
}

static bool is_type_answer(int handler_id)
{
    return handler_id == MPIDIG_PUT_DT_ACK || handler_id == MPIDIG_ACC_DT_ACK ||
        handler_id == MPIDIG_GET_ACC_DT_ACK;
}

void MPIDI_AM_rma_begin(MPIR_Request * sreq, int vci)
{
    struct table *table = &pending[vci];

    PART(sreq).has_type = is_type(PART(sreq).handler_id);
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

/* An answer has come: most begin with the origin's request. */
void MPIDI_AM_rma_answer(int vci, int handler_id, const void *am_hdr)
{
    MPIR_Request *sreq;

    if (handler_id == MPIDIG_PUT_ACK || handler_id == MPIDIG_GET_ACK ||
        handler_id == MPIDIG_ACC_ACK || handler_id == MPIDIG_GET_ACC_ACK ||
        handler_id == MPIDIG_CSWAP_ACK) {
        memcpy(&sreq, am_hdr, sizeof(sreq));
        take_out(sreq, vci);
    } else if (is_type_answer(handler_id)) {
        sreq = ((const MPIDIG_put_dt_ack_msg_t *) am_hdr)->origin_preq_ptr;
        PART(sreq).has_type = false;
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
    if (PART(sreq).has_type) {
        MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
    }
    MPID_Request_complete(sreq);
}

/* ------------------------------------------------------------- locks */

static MPIR_Win *win_of(const MPIDIG_win_cntrl_msg_t * msg)
{
    return (MPIR_Win *) MPIDIU_map_lookup(MPIDI_global.win_map, msg->win_id);
}

struct MPIDI_AM_win_link *MPIDI_AM_win_link_of(MPIR_Win * win)
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

    if (rank >= 0 && handler_id == MPIDIG_WIN_UNLOCKALL) {
        MPIDI_AM_sync_unlocks();
    }
    if (!(rank >= 0 ? is_granted : is_returned)) {
        return;
    }
    win = win_of(msg);
    if (win == NULL) {
        return;
    }
    if (is_granted) {
        MPIDI_AM_win_link_of(win)->granted[rank]++;
    } else if (msg->origin_rank < (uint32_t) win->comm_ptr->local_size) {
        MPIDI_AM_win_link_of(win)->granted[msg->origin_rank]--;
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
    MPIDI_AM_win_link_of(win)->mpi_errno = mpi_errno;
    MPIDI_AM_global.trouble++;
}

void MPIDI_AM_rma_refused(MPIR_Request * sreq, int vci, int mpi_errno)
{
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

#endif /* MPIDI_AM_FT */
