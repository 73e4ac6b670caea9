/*
 * What is known of the dead, for each communicator, and what they end: receives
 * and probes that wait for them, and all collectives of a communicator with a
 * dead member.
 *
 * A collective on such a communicator fails before it begins: every rank finds
 * that out by itself, and none may wait for another that has given up, nor take
 * what is left of an earlier collective for its own.  The communicators that
 * MPICH makes for a collective's parts (of a node, between nodes, of one side)
 * have the context of their parent but for some bits, and fail with it.
 *
 * A receive from any source ends when all others are dead.  Before that it stays,
 * and MPICH's waits and tests say that it is pending, until the deaths are
 * acknowledged (MPI's fault tolerance, ULFM).
 */
#include <pthread.h>
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

#define TEXT_BYTES 200

struct MPIDI_AM_ft *MPIDI_AM_ft_list;

static unsigned deaths;

static pthread_mutex_t lock;
static pthread_once_t lock_once = PTHREAD_ONCE_INIT;

static void lock_init(void)
{
    pthread_mutexattr_t attr;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&lock, &attr);
    pthread_mutexattr_destroy(&attr);
}

void MPIDI_AM_ft_lock(void)
{
    if (!MPIDI_AM_global.serial) {
        pthread_once(&lock_once, lock_init);
        pthread_mutex_lock(&lock);
    }
}

void MPIDI_AM_ft_unlock(void)
{
    if (!MPIDI_AM_global.serial) {
        pthread_mutex_unlock(&lock);
    }
}

/* ------------------------------------------------------------- members */

int MPIDI_AM_member_count(MPIR_Comm * comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ? comm->local_size :
        comm->remote_size + comm->local_size;
}

bool MPIDI_AM_member_is_me(MPIR_Comm * comm, int member)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ? member == comm->rank :
        member == comm->remote_size + comm->rank;
}

uint32_t MPIDI_AM_member_peer(MPIR_Comm * comm, int member, int vci)
{
    MPIDI_av_entry_t *av = member < comm->remote_size ? MPIDIU_comm_rank_to_av(comm, member) :
        MPIDI_AM_local_av(comm, member - comm->remote_size);

    return MPIDI_AM_peer(av, vci, vci);
}

bool MPIDI_AM_member_is_dead(MPIR_Comm * comm, int member)
{
    return !MPIDI_AM_member_is_me(comm, member) &&
        am_peer_is_dead(MPIDI_AM_global.ctx[0], MPIDI_AM_member_peer(comm, member, 0));
}

bool MPIDI_AM_rank_is_dead(MPIR_Comm * comm, int rank)
{
    return rank >= 0 && rank < comm->remote_size && MPIDI_AM_member_is_dead(comm, rank);
}

/* ------------------------------------------------------------- communicators */

static bool is_family(const MPIR_Comm * a, const MPIR_Comm * b)
{
    return ((a->recvcontext_id ^ b->recvcontext_id) & MPIDI_AM_FAMILY_MASK) == 0;
}

static bool has_dead(MPIR_Comm * comm)
{
    int count = MPIDI_AM_member_count(comm);

    for (int i = 0; i < count; i++) {
        if (MPIDI_AM_member_is_dead(comm, i)) {
            return true;
        }
    }
    return false;
}

/* A death that the process has not acknowledged for this communicator? */
static bool has_unacked(struct MPIDI_AM_ft *ft)
{
    for (int i = 0; i < ft->comm->remote_size; i++) {
        if ((ft->acked == NULL || !ft->acked[i]) && MPIDI_AM_member_is_dead(ft->comm, i)) {
            return true;
        }
    }
    return false;
}

/* No collective of it begins or goes on. */
static void comm_break(MPIR_Comm * comm)
{
    MPIDI_AM_COMM(comm).bits |= MPIDI_AM_COMM_BROKEN;
    MPIDI_AM_group_revoke(comm);
}

void MPIDI_AM_comm_review(struct MPIDI_AM_ft *ft)
{
    if (!ft->has_dead && has_dead(ft->comm)) {
        ft->has_dead = true;
        /* who is in a collective still may send to one who has given it up */
        MPIDI_AM_sinks_open(ft, true);
    }
    MPIDI_AM_COMM(ft->comm).bits &= ~MPIDI_AM_COMM_UNACKED;
    MPIDI_AM_COMM(ft->comm).bits |= ft->has_dead && has_unacked(ft) ? MPIDI_AM_COMM_UNACKED : 0;
    if (ft->has_dead || ft->comm->revoked) {
        comm_break(ft->comm);
    }
    for (struct MPIDI_AM_ft * other = MPIDI_AM_ft_list; other != NULL; other = other->next) {
        if (other == ft || !is_family(other->comm, ft->comm)) {
            continue;
        }
        if (ft->comm->revoked || other->comm->revoked) {
            ft->comm->revoked = other->comm->revoked = 1;
        }
        if (ft->has_dead || other->has_dead || ft->comm->revoked) {
            comm_break(ft->comm);
            comm_break(other->comm);
        }
    }
}

void MPIDI_AM_comm_enter(MPIR_Comm * comm)
{
    struct MPIDI_AM_ft *ft = MPL_calloc(1, sizeof(*ft), MPL_MEM_COMM);

    MPIR_Assertp(ft != NULL);
    ft->comm = comm;
    MPIDI_AM_FT_CALL_ENTER();
    ft->next = MPIDI_AM_ft_list;
    MPIDI_AM_ft_list = ft;
    MPIDI_AM_agree_forget(comm->recvcontext_id);
    if (MPIDI_AM_global.trouble != 0) {
        MPIDI_AM_comm_review(ft);
        MPIDI_AM_revoke_enter(comm);
    }
    MPIDI_AM_FT_CALL_EXIT();
}

void MPIDI_AM_comm_leave(MPIR_Comm * comm)
{
    struct MPIDI_AM_ft **at = &MPIDI_AM_ft_list, *ft;

    MPIDI_AM_ft_lock();
    while ((*at)->comm != comm) {
        at = &(*at)->next;
    }
    ft = *at;
    *at = ft->next;
    MPIDI_AM_revoke_leave(ft);
    MPIDI_AM_ft_unlock();
    while (ft->wins != NULL) {
        struct MPIDI_AM_win_link *link = ft->wins;

        ft->wins = link->next;
        MPL_free(link);
    }
    MPL_free(ft->acked);
    MPL_free(ft->revoked_by);
    MPL_free(ft);
}

struct MPIDI_AM_ft *MPIDI_AM_ft_of_comm(const MPIR_Comm * comm)
{
    struct MPIDI_AM_ft *ft;

    MPIDI_AM_ft_lock();
    for (ft = MPIDI_AM_ft_list; ft->comm != comm; ft = ft->next) {
    }
    MPIDI_AM_ft_unlock();
    return ft;
}

struct MPIDI_AM_ft *MPIDI_AM_ft_of(int recvcontext_id)
{       /* the caller has the lock */
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_list;

    while (ft != NULL && ft->comm->recvcontext_id != recvcontext_id) {
        ft = ft->next;
    }
    return ft;
}

/* ------------------------------------------------------------- deaths */

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
    MPIDI_AM_revoke_dead();
    MPIDI_AM_agree_dead();
    MPIDI_AM_ft_unlock();
    MPIDI_AM_wake(vci);
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

/* The dead member of the communicator, or of one that it is a part of, that this
 * context knows of; UINT32_MAX: none. */
static uint32_t dead_member(struct am_ctx *ctx, MPIR_Comm * comm, int vci)
{
    uint32_t dead = UINT32_MAX;

    MPIDI_AM_ft_lock();
    for (struct MPIDI_AM_ft * ft = MPIDI_AM_ft_list; ft != NULL && dead == UINT32_MAX;
         ft = ft->next) {
        int count = is_family(ft->comm, comm) ? MPIDI_AM_member_count(ft->comm) : 0;

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

/* Is this message one of a collective of all members? */
static bool is_collective(int context_id, int tag)
{
    return (context_id & MPIR_CONTEXT_SUFFIX_MASK) == MPIDI_AM_CONTEXT_COLL &&
        (tag & MPIR_TAG_COLL_BIT) == 0;
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

/* ------------------------------------------------------------- errors */

/* The deaths of the communicator's members, as a text; their number. */
static int deaths_text(MPIR_Comm * comm, char *text)
{
    int count = comm == NULL ? 0 : MPIDI_AM_member_count(comm), deaths = 0;
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        if (MPIDI_AM_member_is_dead(comm, i)) {
            const char *death = am_peer_death(MPIDI_AM_global.ctx[0],
                                              MPIDI_AM_member_peer(comm, i, 0));

            length += (size_t) snprintf(text + length, TEXT_BYTES - length, "%s%s",
                                        deaths > 0 ? "; " : "", death);
            deaths++;
            if (length >= TEXT_BYTES) {
                break;
            }
        }
    }
    return deaths;
}

/* The first place in the text of an error: texts are cut at their end. */
static int error_deaths(MPIR_Comm * comm, int mpi_errno, int class)
{
    char text[TEXT_BYTES];

    if (deaths_text(comm, text) == 0 && deaths_text(MPIR_Process.comm_world, text) == 0) {
        MPL_strncpy(text, am_error_text(MPIDI_AM_global.ctx[0]), TEXT_BYTES);
    }
    return MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__, class,
                                "**am_peer", "**am_peer %s", text);
}

int MPIDI_AM_error_broken(MPIR_Comm * comm)
{
    struct MPIDI_AM_ft *ft;
    int mpi_errno = MPI_SUCCESS;

    if (comm->revoked) {
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_REVOKED, "**revoked");
        return mpi_errno;
    }
    MPIDI_AM_ft_lock();
    ft = MPIDI_AM_ft_list;
    while (ft != NULL && !(ft->has_dead && is_family(ft->comm, comm))) {
        ft = ft->next;
    }
    mpi_errno = error_deaths(ft != NULL ? ft->comm : comm, MPI_SUCCESS, MPIX_ERR_PROC_FAILED);
    MPIDI_AM_ft_unlock();
    return mpi_errno;
}

int MPIDI_AM_error_name(MPIR_Comm * comm, int mpi_errno)
{
    int class = MPIR_ERR_GET_CLASS(mpi_errno);

    if (MPIDI_AM_global.n_ctx == 0) {
        return mpi_errno;
    }
    if (comm != NULL && comm->revoked && class == MPI_ERR_OTHER) {
        return MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_REVOKED, "**revoked", 0);
    }
    /* a collective may have forgotten why it failed */
    if (class == MPI_ERR_OTHER && comm != NULL && MPIDI_AM_IS_BROKEN(comm)) {
        class = MPIX_ERR_PROC_FAILED;
    }
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_PROC_FAILED_PENDING) {
        return mpi_errno;
    }
    MPIDI_AM_dead_check();      /* another rank has told, maybe */
    return error_deaths(comm, mpi_errno == class ? MPI_SUCCESS : mpi_errno, class);
}

/* ------------------------------------------------------------- receives, probes */

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

/* What the rest of the module calls; nothing is broken, and there is no trouble. */
void MPIDI_AM_comm_enter(MPIR_Comm * comm)
{
}

void MPIDI_AM_comm_leave(MPIR_Comm * comm)
{
}

void MPIDI_AM_sinks_close(int vci)
{
}

bool MPIDI_AM_rank_is_dead(MPIR_Comm * comm, int rank)
{
    return false;
}

int MPIDI_AM_error_broken(MPIR_Comm * comm)
{
    return MPIDI_AM_error(MPIDI_AM_global.ctx[0], AM_ERR_PEER);
}

/* For patch 0011, which can be there without 0010. */
int MPIDI_AM_error_name(MPIR_Comm * comm, int mpi_errno)
{
    return mpi_errno;
}

int MPIDI_AM_probe_lost(MPIR_Comm * comm, int source)
{
    return MPI_SUCCESS;
}

bool MPIDI_AM_recv_refused(MPIR_Request * rreq, int context_id, int tag)
{
    return false;
}

MPIR_Request *MPIDI_AM_send_refused(MPIR_Comm * comm)
{
    return NULL;
}

int MPIDI_AM_ft_open(void)
{
    return MPI_SUCCESS;
}

void MPIDI_AM_ft_close(void)
{
}

bool MPIDI_AM_rma_awaits(int handler_id)
{
    return false;
}

void MPIDI_AM_rma_begin(MPIR_Request * sreq, int vci)
{
}

void MPIDI_AM_rma_answer(int vci, int handler_id, const void *am_hdr)
{
}

void MPIDI_AM_rma_control(int handler_id, const void *am_hdr, int rank)
{
}

void MPIDI_AM_rma_dead(int vci, uint32_t peer)
{
}

void MPIDI_AM_win_enter(MPIR_Win * win)
{
}

void MPIDI_AM_win_leave(MPIR_Win * win)
{
}

void MPIDI_AM_win_failed(MPIR_Win * win, int mpi_errno)
{
}

void MPIDI_AM_rma_refused(MPIR_Request * sreq, int vci, int mpi_errno)
{
    MPIDI_AM_end("a rank has no request or memory left for an operation of RMA");
}

int MPIDI_AM_sync_trouble(void)
{
    return MPIDI_AM_error(MPIDI_AM_global.ctx[0], AM_ERR_PEER);
}

#endif /* MPIDI_AM_FT */
