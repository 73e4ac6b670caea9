/*
 * What is known of each communicator's members and their deaths: the list of
 * communicators, the lock around it, and which of them are broken.
 *
 * A collective on a communicator with a dead member fails before it begins: every
 * rank finds that out by itself, and none may wait for another that has given up,
 * nor take what is left of an earlier collective for its own.  The communicators that
 * MPICH makes for a collective's parts (of a node, between nodes, of one side)
 * have the context of their parent but for some bits, and fail with it.
 */
#include <mpidimpl.h>
#include "am_ft.h"
#include <pthread.h>

#if MPIDI_AM_FT

struct MPIDI_AM_ft *MPIDI_AM_ft_list;

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

bool MPIDI_AM_is_family(const MPIR_Comm * a, const MPIR_Comm * b)
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
        if (other == ft || !MPIDI_AM_is_family(other->comm, ft->comm)) {
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
    MPIDI_AM_revoke_enter();
    if (MPIDI_AM_global.trouble != 0) {
        MPIDI_AM_comm_review(ft);
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
    for (ft = MPIDI_AM_ft_list; ft != NULL && ft->comm != comm; ft = ft->next) {
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

#endif /* MPIDI_AM_FT */
