/*
 * RMA with dead ranks: what ends here so that nobody waits for them.
 *
 * An operation of ch4's generic RMA is a request to the target and an answer.
 * The origin's requests without an answer are in a table; those to a rank that dies
 * end with an error, and the window's counts fall as an answer would make them.
 *
 * Where the target's datatype does not fit in a header it goes first:
 *
 *   origin                              target
 *   PUT_DT_REQ, ... ----------------->  ch4 makes a request, with the type
 *                   <-----------------  PUT_DT_ACK, ...
 *   PUT_DAT_REQ, ... ---------------->  the operation; the request ends
 *                   <-----------------  PUT_ACK, ...
 *
 * ch4 does accumulates in the order in which their types came.  So who dies before the
 * data, or cannot send it, must not hold up all others: the requests that wait for data
 * are in a table, too, and are then done without.  The origin's request has a reference
 * to its own type until the data is on its way (has_type), and what sends that has it
 * then.
 *
 * A lock that a dead rank held, or is granted, is given back for it.  What ends
 * of synchronisations is in am_rma_sync.c.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

/* In no order: each knows its place. */
struct table {
    MPIR_Request **requests;
    uint32_t count, max;
};

/* Of each vci: the origin's without an answer, the target's without data. */
static struct table pending[MPIDI_CH4_MAX_VCIS], typed[MPIDI_CH4_MAX_VCIS];

#define PART(req_)  ((req_)->dev.ch4.am.netmod_am.am)

static void enter(struct table *table, MPIR_Request * req)
{
    if (table->count == table->max) {
        table->max = table->max * 2 + 64;
        table->requests = MPL_realloc(table->requests, table->max * sizeof(*table->requests),
                                      MPL_MEM_RMA);
        MPIR_Assertp(table->requests != NULL);
    }
    PART(req).place = table->count;
    table->requests[table->count++] = req;
}

static void take_out(struct table *table, MPIR_Request * req)
{
    MPIR_Request *last = table->requests[--table->count];

    table->requests[PART(req).place] = last;
    PART(last).place = PART(req).place;
}

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

/* The message with the data for which one with a type, or the answer to that, is; -1: it is
 * neither. */
static int data_for(int handler_id)
{
    switch (handler_id) {
        case MPIDIG_PUT_DT_REQ:
        case MPIDIG_PUT_DT_ACK:
            return MPIDIG_PUT_DAT_REQ;
        case MPIDIG_ACC_DT_REQ:
        case MPIDIG_ACC_DT_ACK:
            return MPIDIG_ACC_DAT_REQ;
        case MPIDIG_GET_ACC_DT_REQ:
        case MPIDIG_GET_ACC_DT_ACK:
            return MPIDIG_GET_ACC_DAT_REQ;
        default:
            return -1;
    }
}

bool MPIDI_AM_rma_is_data(int handler_id)
{
    return handler_id == MPIDIG_PUT_DAT_REQ || handler_id == MPIDIG_ACC_DAT_REQ ||
        handler_id == MPIDIG_GET_ACC_DAT_REQ;
}

bool MPIDI_AM_rma_is_type_answer(int handler_id)
{
    return handler_id == MPIDIG_PUT_DT_ACK || handler_id == MPIDIG_ACC_DT_ACK ||
        handler_id == MPIDIG_GET_ACC_DT_ACK;
}

void MPIDI_AM_rma_begin(MPIR_Request * sreq, int vci)
{
    PART(sreq).has_type = data_for(PART(sreq).handler_id) >= 0;
    enter(&pending[vci], sreq);
}

/* An answer has come: most begin with the origin's request. */
void MPIDI_AM_rma_answer(int vci, int handler_id, const void *am_hdr)
{
    MPIR_Request *req;

    if (handler_id == MPIDIG_PUT_ACK || handler_id == MPIDIG_GET_ACK ||
        handler_id == MPIDIG_ACC_ACK || handler_id == MPIDIG_GET_ACC_ACK ||
        handler_id == MPIDIG_CSWAP_ACK) {
        memcpy(&req, am_hdr, sizeof(req));
        take_out(&pending[vci], req);
    } else if (MPIDI_AM_rma_is_type_answer(handler_id)) {
        req = ((const MPIDIG_put_dt_ack_msg_t *) am_hdr)->origin_preq_ptr;
        PART(req).has_type = false;
    } else if (MPIDI_AM_rma_is_data(handler_id)) {
        memcpy(&req, am_hdr, sizeof(req));
        take_out(&typed[vci], req);
    }
}

/* No answer will come: what ch4's handler of the answer does, but for the data. */
static void fail(MPIR_Request * sreq, int vci, int mpi_errno)
{
    int handler_id = PART(sreq).handler_id;
    int rank = MPIDIG_REQUEST(sreq, u.origin.target_rank);
    MPIR_Win *win = sreq->u.rma.win;

    take_out(&pending[vci], sreq);
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

/* ------------------------------------------------------- types without data */

void MPIDI_AM_rma_typed(int vci, uint32_t peer, int handler_id, const void *am_hdr)
{
    MPIR_Request *rreq = ((const MPIDIG_put_dt_ack_msg_t *) am_hdr)->target_preq_ptr;

    PART(rreq).handler_id = data_for(handler_id);
    PART(rreq).peer = peer;
    enter(&typed[vci], rreq);
}

/* No data will come: do what ch4 does with it, but with none.  It answers, and goes on with the
 * accumulates that wait behind this one. */
static void do_without(int vci, MPIR_Request * rreq)
{
    int handler_id = PART(rreq).handler_id;
    MPIDIG_put_dat_msg_t msg = {.preq_ptr = rreq };

    take_out(&typed[vci], rreq);
    if (handler_id == MPIDIG_PUT_DAT_REQ) {
        MPIDIG_REQUEST(rreq, req->preq.origin_data_sz) = 0;
    } else {
        MPIDIG_REQUEST(rreq, req->areq.op) = MPI_NO_OP;
        MPIDIG_REQUEST(rreq, req->areq.origin_count) = 0;
    }
    MPIDIG_global.target_msg_cbs[handler_id] (&msg, NULL, 0, 0, NULL);
}

/* Of all who are dead: what answers them comes here again. */
static void typed_dead(int vci)
{
    static bool is_at_work[MPIDI_CH4_MAX_VCIS];
    uint32_t i = 0;

    if (is_at_work[vci]) {
        return;
    }
    is_at_work[vci] = true;
    while (i < typed[vci].count) {
        MPIR_Request *rreq = typed[vci].requests[i];

        if (am_peer_is_dead(MPIDI_AM_global.ctx[vci], PART(rreq).peer)) {
            do_without(vci, rreq);
            i = 0;              /* others may have gone from the table meanwhile */
        } else {
            i++;
        }
    }
    is_at_work[vci] = false;
}

/* The origin cannot send the data.  What it names is a peer's word: is there such a request? */
void MPIDI_AM_rma_without(int vci, const void *am_hdr)
{
    MPIR_Request *rreq;

    memcpy(&rreq, am_hdr, sizeof(rreq));
    for (uint32_t i = 0; i < typed[vci].count; i++) {
        if (typed[vci].requests[i] == rreq) {
            do_without(vci, rreq);
            break;
        }
    }
}

/* At the origin: the operation fails, and ends when the target has answered. */
MPIR_Request *MPIDI_AM_rma_give_up(int handler_id, const void *am_hdr, int mpi_errno)
{
    const MPIDIG_put_dt_ack_msg_t *msg = am_hdr;
    MPIR_Request *sreq;

    if (!MPIDI_AM_rma_is_type_answer(handler_id)) {
        return NULL;
    }
    sreq = msg->origin_preq_ptr;
    sreq->status.MPI_ERROR = mpi_errno;
    MPIR_Datatype_release_if_not_builtin(MPIDIG_REQUEST(sreq, datatype));
    MPIDI_AM_win_failed(sreq->u.rma.win, mpi_errno);
    return msg->target_preq_ptr;
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

/* MPICH frees one that could not be made, too, for which MPIDI_AM_win_enter was not called, and
 * which may have no communicator. */
void MPIDI_AM_win_leave(MPIR_Win * win)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(win->comm_ptr);
    struct MPIDI_AM_win_link **at, *link;

    if (ft == NULL) {
        return;
    }
    MPIDI_AM_ft_lock();
    at = &ft->wins;
    while (*at != NULL && (*at)->win != win) {
        at = &(*at)->next;
    }
    link = *at;
    if (link != NULL) {
        *at = link->next;
    }
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
    typed_dead(vci);
    all_locks_return();
}

#endif /* MPIDI_AM_FT */
