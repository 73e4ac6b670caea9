/*
 * MPIX_Comm_revoke, _failure_ack and _failure_get_acked.
 *
 *   MPIDI_AM_revoke, or the first word of another member:
 *     the communicator and its parts are revoked here
 *     every other member is told, whoever began it
 *     pending receives end (lost() in am_dead.c); messages that are here, or come
 *     later, are received by a sink that has no room, so that their senders end
 *
 * MPICH refuses new operations on a revoked communicator.  A member's word comes
 * behind all that it sent before; so the context is kept until the words of all
 * members that live have come, and no late message meets another communicator.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

/* Words for communicators that have not begun here yet. */
#define EARLY_MAX 256

struct MPIDI_AM_sink {
    struct MPIDI_AM_sink *next;
    int vci;
    struct am_msg_envelope envelope;
    struct am_msg_mask mask;
    struct am_msg_req *msg;
};

/* Of communicators that are gone: see sinks_leave. */
static struct left {
    struct left *next;
    int context_id;
    struct MPIDI_AM_sink *sinks;
} *left;

static struct word {
    int context_id, member;
    uint32_t source;            /* whose word it is */
} early[EARLY_MAX];
static int early_count;
static bool early_is_due;       /* one of them may be taken: its communicator is made here */

/* ------------------------------------------------------------- sinks */

static void sink_done(void *arg, const struct am_msg_status *status);

static void sink_post(struct MPIDI_AM_sink *sink)
{
    struct am_data none = am_data_contig(NULL, 0);
    struct am_msg_status status;

    sink->msg = NULL;
    while (am_msg_irecv(MPIDI_AM_global.ctx[sink->vci], &sink->envelope, &sink->mask, &none,
                        sink_done, sink, &status, &sink->msg) == AM_DONE) {
        sink->msg = NULL;
    }
}

static void sink_done(void *arg, const struct am_msg_status *status)
{
    sink_post(arg);
}

void MPIDI_AM_sinks_open(struct MPIDI_AM_ft *ft, bool collectives_only)
{
    for (int vci = 0; vci < MPIDI_AM_global.n_ctx; vci++) {
        struct MPIDI_AM_sink *sink = MPL_malloc(sizeof(*sink), MPL_MEM_COMM);

        MPIR_Assertp(sink != NULL);
        memset(sink, 0, sizeof(*sink));
        sink->vci = vci;
        sink->envelope.context = (uint32_t) ft->comm->recvcontext_id;
        sink->mask.context = (uint32_t) MPIDI_AM_FAMILY_MASK;
        if (collectives_only) {
            sink->envelope.context |= MPIDI_AM_CONTEXT_COLL;
            sink->mask.context |= MPIR_CONTEXT_SUFFIX_MASK;
            sink->mask.tag = (uint32_t) MPIR_TAG_COLL_BIT;
        }
        sink->next = ft->sinks;
        ft->sinks = sink;
        sink_post(sink);
    }
}

/* Those of a vci, or of all (-1). */
static void sinks_close(struct MPIDI_AM_sink **at, int vci)
{
    while (*at != NULL) {
        struct MPIDI_AM_sink *sink = *at;

        if (vci >= 0 && sink->vci != vci) {
            at = &sink->next;
            continue;
        }
        /* one that has matched would come back; its message is short of nothing */
        if (MPIDI_AM_global.n_ctx > 0 && sink->msg != NULL &&
            am_msg_cancel(sink->msg) != AM_DONE) {
            am_msg_attach(sink->msg, NULL, NULL);
        }
        *at = sink->next;
        MPL_free(sink);
    }
}

/* Who frees a communicator may have the lock of a vci, or not.  Where threads are in MPICH at
 * the same time, its sinks and those of its parts are left to the next poll that finds nothing,
 * which has the lock; until then its context stays taken. */
static void sinks_leave(struct MPIDI_AM_ft *ft)
{
    int context_id = ft->comm->recvcontext_id;
    bool is_part = (context_id &
                    (MPIR_CONTEXT_SUBCOMM_MASK | MPIR_CONTEXT_IS_LOCALCOMM_MASK)) != 0;
    struct left *one = MPL_malloc(sizeof(*one), MPL_MEM_COMM);

    MPIR_Assertp(one != NULL);
    one->context_id = context_id;
    one->sinks = ft->sinks;
    ft->sinks = NULL;
    if (!is_part) {
        /* MPICH gives back no context of a dynamic process */
        ft->comm->recvcontext_id |= MPIR_CONTEXT_DYNAMIC_PROC_MASK;
        for (struct MPIDI_AM_ft * part = MPIDI_AM_ft_list; part != NULL; part = part->next) {
            if (part->sinks != NULL &&
                ((part->comm->recvcontext_id ^ context_id) & MPIDI_AM_FAMILY_MASK) == 0) {
                struct MPIDI_AM_sink **end = &part->sinks;

                while (*end != NULL) {
                    end = &(*end)->next;
                }
                *end = one->sinks;
                one->sinks = part->sinks;
                part->sinks = NULL;
            }
        }
    }
    one->next = left;
    left = one;
}

void MPIDI_AM_revoke_leave(struct MPIDI_AM_ft *ft)
{
    if (MPIDI_AM_global.serial || ft->sinks == NULL) {
        sinks_close(&ft->sinks, -1);
    } else {
        sinks_leave(ft);
    }
}

void MPIDI_AM_sinks_close(int vci)
{
    struct left **at = &left;

    if (left == NULL) {
        return;
    }
    MPIDI_AM_ft_lock();
    while (*at != NULL) {
        struct left *one = *at;

        sinks_close(&one->sinks, vci);
        if (one->sinks != NULL) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        MPIR_Free_contextid(one->context_id);
        MPL_free(one);
    }
    MPIDI_AM_ft_unlock();
}

/* ------------------------------------------------------------- the word */

/* All words that can come have come: the communicator may go. */
static void settle(struct MPIDI_AM_ft *ft)
{
    int count = MPIDI_AM_member_count(ft->comm);

    for (int i = 0; i < count; i++) {
        if (!ft->revoked_by[i] && !MPIDI_AM_member_is_dead(ft->comm, i)) {
            return;
        }
    }
    if (ft->kept) {
        ft->kept = false;
        MPIR_Comm_release(ft->comm);
    }
}

static void tell(MPIR_Comm * comm)
{
    int count = MPIDI_AM_member_count(comm);

    for (int i = 0; i < count; i++) {
        bool is_remote = comm->comm_kind != MPIR_COMM_KIND__INTRACOMM && i < comm->remote_size;
        bool is_local = comm->comm_kind != MPIR_COMM_KIND__INTRACOMM && !is_remote;

        if (!MPIDI_AM_member_is_me(comm, i)) {
            /* with its context and its number for me */
            MPIDI_AM_revoke_send(comm, i, is_remote ? comm->context_id : comm->recvcontext_id,
                                 is_local ? comm->remote_size + comm->rank : comm->rank);
        }
    }
}

static void revoke_here(struct MPIDI_AM_ft *ft)
{
    int count = MPIDI_AM_member_count(ft->comm);

    ft->revoked_by = MPL_calloc((size_t) count, 1, MPL_MEM_COMM);
    MPIR_Assertp(ft->revoked_by != NULL);
    for (int i = 0; i < count; i++) {
        ft->revoked_by[i] = MPIDI_AM_member_is_me(ft->comm, i);
    }
    ft->comm->revoked = 1;
    ft->kept = true;
    MPIR_Comm_add_ref(ft->comm);
    MPIDI_AM_global.trouble++;
    MPIDI_AM_comm_review(ft);
    tell(ft->comm);
    MPIDI_AM_sinks_open(ft, false);
    for (int vci = 0; vci < MPIDI_AM_global.n_ctx; vci++) {
        am_msg_look(MPIDI_AM_global.ctx[vci]);
        MPIDI_AM_wake(vci);
    }
}

int MPIDI_AM_revoke(MPIR_Comm * comm)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(comm);

    MPIDI_AM_FT_CALL_ENTER();
    if (ft->revoked_by == NULL) {
        revoke_here(ft);
        settle(ft);
    }
    MPIDI_AM_FT_CALL_EXIT();
    return MPI_SUCCESS;
}

/* The word of a member, not of one of an earlier communicator with this context.  (Who revoked
 * that keeps its context until all have spoken, and so is in no later one that has it.) */
static void take(struct MPIDI_AM_ft *ft, const struct word *word)
{
    int member = word->member;

    if (member < 0 || member >= MPIDI_AM_member_count(ft->comm) ||
        MPIDI_AM_member_peer(ft->comm, member, 0) != word->source) {
        return;
    }
    if (ft->revoked_by == NULL) {
        revoke_here(ft);
    }
    ft->revoked_by[member] = 1;
    settle(ft);
}

/* The caller has the lock.  What makes a communicator sends in it last: that must not fail
 * because another member is ahead and has revoked it. */
void MPIDI_AM_revoke_message(int context_id, int member, uint32_t source)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of(context_id);
    struct word word = {.context_id = context_id,.member = member,.source = source };

    if (ft != NULL && MPIDI_AM_comm_has_begun(ft->comm)) {
        take(ft, &word);
        return;
    }
    if (early_count == EARLY_MAX) {
        memmove(early, early + 1, sizeof(early) - sizeof(early[0]));
        early_count--;
    }
    early[early_count++] = word;
    early_is_due = early_is_due || ft != NULL;
    MPIDI_AM_global.trouble++;  /* polls look for it */
}

void MPIDI_AM_revoke_enter(void)
{
    early_is_due = early_count > 0;
}

void MPIDI_AM_revoke_early(void)
{
    if (!early_is_due) {
        return;
    }
    MPIDI_AM_ft_lock();
    early_is_due = false;
    for (int i = 0; i < early_count; i++) {
        struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of(early[i].context_id);

        if (ft != NULL && MPIDI_AM_comm_has_begun(ft->comm)) {
            struct word word = early[i];

            early[i--] = early[--early_count];
            take(ft, &word);
        } else {
            early_is_due = early_is_due || ft != NULL;
        }
    }
    MPIDI_AM_ft_unlock();
}

void MPIDI_AM_revoke_forget_all(void)
{
    early_count = 0;
    early_is_due = false;
}

void MPIDI_AM_revoke_dead(void)
{
    struct MPIDI_AM_ft *next;

    for (struct MPIDI_AM_ft * ft = MPIDI_AM_ft_list; ft != NULL; ft = next) {
        next = ft->next;
        if (ft->kept) {
            settle(ft);
        }
    }
}

/* ------------------------------------------------------------- acknowledged deaths */

int MPIDI_AM_failure_ack(MPIR_Comm * comm)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(comm);
    int count = MPIDI_AM_member_count(comm);

    MPIDI_AM_dead_check();
    MPIDI_AM_FT_CALL_ENTER();
    if (ft->acked == NULL) {
        ft->acked = MPL_calloc((size_t) count, 1, MPL_MEM_COMM);
        MPIR_Assertp(ft->acked != NULL);
    }
    for (int i = 0; i < count; i++) {
        ft->acked[i] = ft->acked[i] || MPIDI_AM_member_is_dead(comm, i);
    }
    MPIDI_AM_comm_review(ft);
    MPIDI_AM_FT_CALL_EXIT();
    return MPI_SUCCESS;
}

/* Those of members [first, first + group's size) that are acknowledged. */
static int acked_group(struct MPIDI_AM_ft *ft, int first, MPIR_Group * all, MPIR_Group ** group)
{
    int *ranks = MPL_malloc((size_t) all->size * sizeof(*ranks), MPL_MEM_OTHER);
    int count = 0, mpi_errno = MPI_SUCCESS;

    MPIR_Assertp(ranks != NULL);
    for (int i = 0; i < all->size; i++) {
        if (ft->acked != NULL && ft->acked[first + i]) {
            ranks[count++] = i;
        }
    }
    *group = MPIR_Group_empty;
    if (count > 0) {
        mpi_errno = MPIR_Group_incl_impl(all, count, ranks, group);
    }
    MPL_free(ranks);
    return mpi_errno;
}

int MPIDI_AM_failure_get_acked(MPIR_Comm * comm, MPIR_Group ** group)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(comm);
    MPIR_Group *all = NULL;
    int mpi_errno;

    /* of an intercommunicator the remote ones, from which receives are */
    mpi_errno = comm->comm_kind == MPIR_COMM_KIND__INTRACOMM ?
        MPIR_Comm_group_impl(comm, &all) : MPIR_Comm_remote_group_impl(comm, &all);
    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = acked_group(ft, 0, all, group);
        MPIR_Group_free_impl(all);
    }
    return mpi_errno;
}

#endif /* MPIDI_AM_FT */
