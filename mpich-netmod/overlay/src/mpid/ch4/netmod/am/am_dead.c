/*
 * When a process dies: who is told, which receives end, as no other can send what
 * they wait for, and which receives, sends and probes are over before they begin.
 *
 * A receive from any source ends when all others are dead.  Before that it stays,
 * and MPICH's waits and tests say that it is pending, until the deaths are
 * acknowledged (MPI's fault tolerance, ULFM).
 */
#include <mpidimpl.h>
#include "am_ft.h"
#include "am_pt2pt.h"

/* The libam peer of a rank of the communicator; UINT32_MAX: there is no such rank. */
static uint32_t peer_of(MPIR_Comm * comm, int rank, int vci)
{
    return rank < 0 || rank >= comm->remote_size ? UINT32_MAX :
        MPIDI_AM_peer(MPIDIU_comm_rank_to_av(comm, rank), vci, vci);
}

/* The peer that a receive waits for, if it is one, or one of those that are all
 * dead, else UINT32_MAX. */
static uint32_t only_source(struct am_ctx *ctx, MPIR_Comm * comm, int vci,
                          const struct am_msg_envelope *envelope, const struct am_msg_mask *mask)
{
    uint32_t dead = UINT32_MAX;

    if (mask->source != 0) {
        return peer_of(comm, (int) envelope->source, vci);
    }
    for (int rank = 0; rank < comm->remote_size; rank++) {
        if (comm->comm_kind == MPIR_COMM_KIND__INTRACOMM && rank == comm->rank) {
            continue;
        }
        dead = peer_of(comm, rank, vci);
        if (!am_peer_is_dead(ctx, dead)) {
            return UINT32_MAX;
        }
    }
    return dead;
}

#if MPIDI_AM_FT

/* ------------------------------------------------------------- deaths */

static unsigned deaths;

/* A process has died; what was under way with it in this context has ended. */
static void dead(void *arg, uint32_t peer)
{
    int vci = (int) (intptr_t) arg;

    MPIDI_AM_ft_lock();
    deaths++;
    MPIDI_AM_global.trouble++;
    MPIR_CVAR_ENABLE_FT = 1;    /* waits and tests look for any-source receives */
    for (struct MPIDI_AM_ft * ft = MPIDI_AM_ft_list; ft != NULL; ft = ft->next) {
        MPIDI_AM_comm_review(ft);
    }
    MPIDI_AM_rma_dead(vci, peer);
    MPIDI_AM_part_dead(vci, peer);
    if (vci == 0) {
        /* It asks vci 0 who is dead, and what it frees takes the lock of vci 0, which who has
         * another one may not wait for here. */
        MPIDI_AM_revoke_dead();
    }
    MPIDI_AM_agree_dead();
    MPIDI_AM_ft_unlock();
    MPIDI_AM_wake(vci);
}

void MPIDI_AM_deaths_forget(void)
{
    deaths = 0;
    MPIDI_AM_global.trouble = 0;
}

int MPIDI_AM_has_dead(void)
{
    return deaths > 0;
}

void MPIDI_AM_dead_check(void)
{
    for (int i = 0; i < MPIDI_AM_global.n_ctx; i++) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(i));
        am_check_now(MPIDI_AM_global.ctx[i]);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(i));
    }
}

/* ------------------------------------------------------------- receives */

/* Is this message one of a collective of all members? */
static bool is_collective(int context_id, int tag)
{
    return (context_id & MPIR_CONTEXT_SUFFIX_MASK) == MPIDI_AM_CONTEXT_COLL &&
        (tag & MPIR_TAG_COLL_BIT) == 0;
}

/* The dead member of the communicator, or of one that it is a part of, that this
 * context knows of; UINT32_MAX: none. */
static uint32_t dead_member(struct am_ctx *ctx, MPIR_Comm * comm, int vci)
{
    uint32_t dead = UINT32_MAX;

    MPIDI_AM_ft_lock();
    for (struct MPIDI_AM_ft * ft = MPIDI_AM_ft_list; ft != NULL && dead == UINT32_MAX;
         ft = ft->next) {
        int count = MPIDI_AM_is_family(ft->comm, comm) ? MPIDI_AM_member_count(ft->comm) : 0;

        for (int i = 0; i < count && dead == UINT32_MAX; i++) {
            uint32_t peer = MPIDI_AM_member_peer(ft->comm, i, vci);

            if (!MPIDI_AM_member_is_me(ft->comm, i) && am_peer_is_dead(ctx, peer)) {
                dead = peer;
            }
        }
    }
    MPIDI_AM_ft_unlock();
    return dead;
}

/* Receives of start-up, spawning and revoked communicators, which are no request's, wait on. */
static uint32_t lost(void *arg, am_msg_done_fn done, void *done_arg,
                     const struct am_msg_envelope *envelope, const struct am_msg_mask *mask)
{
    struct am_ctx *ctx = arg;
    MPIR_Request *rreq = done_arg;
    MPIR_Comm *comm;
    int vci;

    if (done != MPIDI_AM_recv_done) {
        return UINT32_MAX;
    }
    comm = rreq->comm;
    vci = MPIDI_Request_get_vci(rreq);
    if (comm->revoked) {
        return AM_MSG_REVOKED;
    }
    if (MPIDI_AM_IS_BROKEN(comm) && is_collective((int) envelope->context, (int) envelope->tag)) {
        return dead_member(ctx, comm, vci);
    }
    return only_source(ctx, comm, vci, envelope, mask);
}

void MPIDI_AM_dead_open(int vci)
{
    struct am_ctx *ctx = MPIDI_AM_global.ctx[vci];

    am_msg_set_lost(ctx, lost, ctx);
    am_set_dead(ctx, dead, (void *) (intptr_t) vci);
}

bool MPIDI_AM_recv_refused(MPIR_Request * rreq, int context_id, int tag)
{
    if (!rreq->comm->revoked && !is_collective(context_id, tag)) {
        return false;
    }
    rreq->status.MPI_ERROR = MPIDI_AM_error_broken(rreq->comm);
    rreq->status.MPI_TAG = tag;
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIR_Object_set_ref(rreq, 1);
    MPIR_cc_set(&rreq->cc, 0);
    return true;
}

/* A pending receive of this netmod says whom it is from (am_done.c). */
int MPIDI_AM_is_any_source(MPIR_Request * req)
{
    return req->kind == MPIR_REQUEST_KIND__RECV && req->comm != NULL &&
        req->status.MPI_SOURCE == MPI_ANY_SOURCE;
}

int MPIDI_AM_any_source_enabled(MPIR_Comm * comm)
{
    return (MPIDI_AM_COMM(comm).bits & MPIDI_AM_COMM_UNACKED) == 0;
}

/* ------------------------------------------------------------- sends, probes */

MPIR_Request *MPIDI_AM_send_refused(MPIR_Comm * comm)
{
    MPIR_Request *sreq = MPIDI_AM_request(MPIR_REQUEST_KIND__SEND, 0, comm, 1);

    if (sreq != NULL) {
        MPIR_cc_set(&sreq->cc, 0);
        sreq->status.MPI_ERROR = MPIDI_AM_error_broken(comm);
    }
    return sreq;
}

int MPIDI_AM_probe_lost(MPIR_Comm * comm, int source)
{
    if (comm->revoked ||
        (source == MPI_ANY_SOURCE ? !MPIDI_AM_any_source_enabled(comm) :
         MPIDI_AM_rank_is_dead(comm, source))) {
        return MPIDI_AM_error_broken(comm);
    }
    return MPI_SUCCESS;
}

#else /* MPIDI_AM_FT */

static uint32_t lost(void *arg, am_msg_done_fn done, void *done_arg,
                     const struct am_msg_envelope *envelope, const struct am_msg_mask *mask)
{
    MPIR_Request *rreq = done_arg;

    return done != MPIDI_AM_recv_done ? UINT32_MAX :
        only_source(arg, rreq->comm, MPIDI_Request_get_vci(rreq), envelope, mask);
}

void MPIDI_AM_dead_open(int vci)
{
    am_msg_set_lost(MPIDI_AM_global.ctx[vci], lost, MPIDI_AM_global.ctx[vci]);
}

#endif /* MPIDI_AM_FT */
