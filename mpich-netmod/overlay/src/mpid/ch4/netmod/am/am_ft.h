/*
 * What the files on fault tolerance share.
 *
 *   am_ft.c             communicators, their members, which of them are broken
 *   am_ft_none.c        a build without fault tolerance
 *   am_dead.c           what ends when a process dies, and what cannot begin
 *   am_dead_error.c     the errors that say so
 *   am_rma.c            what ends of RMA: operations, locks
 *   am_rma_sync.c       and synchronisations
 *   am_revoke.c         revoked communicators
 *   am_agree.c          agreement (am_agree.h)
 *   am_shrink.c         a communicator of those that live
 */
#ifndef AM_FT_H_INCLUDED
#define AM_FT_H_INCLUDED

#include "am_impl.h"

/* The bits of a context that are the same for a communicator and the parts of it. */
#define MPIDI_AM_FAMILY_MASK \
    (~(int) (MPIR_CONTEXT_SUFFIX_MASK | MPIR_CONTEXT_SUBCOMM_MASK | MPIR_CONTEXT_IS_LOCALCOMM_MASK))

struct MPIDI_AM_sink;

struct MPIDI_AM_win_link {
    struct MPIDI_AM_win_link *next;
    MPIR_Win *win;
    int mpi_errno;              /* of an operation that failed, but for a dead target */
    int granted[];              /* locks of this rank's part that each rank holds */
};

/* One for each communicator. */
struct MPIDI_AM_ft {
    struct MPIDI_AM_ft *next;
    MPIR_Comm *comm;
    bool has_dead;
    uint8_t *acked;             /* for each member: its death is acknowledged; NULL: none */
    uint32_t agreements;        /* begun */
    uint8_t *revoked_by;        /* for each member: its word has come; NULL: not revoked */
    bool kept;                  /* a reference is kept until all words have come */
    struct MPIDI_AM_win_link *wins;     /* windows on it */
    struct MPIDI_AM_sink *sinks;        /* what takes the messages of a revoked one */
};

extern struct MPIDI_AM_ft *MPIDI_AM_ft_list;

/* Around what is known of communicators, deaths and agreements, where threads are in MPICH at
 * the same time: they make and free communicators, and polls find deaths and words.  A thread
 * may have it more than once.  Who has it takes no vci's lock; who has a vci's may take it. */
void MPIDI_AM_ft_lock(void);
void MPIDI_AM_ft_unlock(void);

/* The same in a call of MPI, which has no vci's lock: what it sends goes by vci 0. */
#define MPIDI_AM_FT_CALL_ENTER() \
    do { \
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0)); \
        MPIDI_AM_ft_lock(); \
    } while (0)
#define MPIDI_AM_FT_CALL_EXIT() \
    do { \
        MPIDI_AM_ft_unlock(); \
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0)); \
    } while (0)

/* NULL when no communicator has this context. */
struct MPIDI_AM_ft *MPIDI_AM_ft_of(int recvcontext_id);
struct MPIDI_AM_ft *MPIDI_AM_ft_of_comm(const MPIR_Comm * comm);
/* Is one of them the other, or made of it by MPICH for its collectives? */
bool MPIDI_AM_is_family(const MPIR_Comm * a, const MPIR_Comm * b);
bool MPIDI_AM_member_is_dead(MPIR_Comm * comm, int member);
/* Who has died, or that it is revoked, has changed. */
void MPIDI_AM_comm_review(struct MPIDI_AM_ft *ft);
void MPIDI_AM_revoke_leave(struct MPIDI_AM_ft *ft);
/* A member, whose peer in context 0 is `source`, has revoked the communicator of this context. */
void MPIDI_AM_revoke_message(int context_id, int member, uint32_t source);
/* A communicator is being made: words that came before may be for it. */
void MPIDI_AM_revoke_enter(void);
/* Whoever polls vci 0 after trouble: take the words that came before the communicator began. */
void MPIDI_AM_revoke_early(void);
void MPIDI_AM_revoke_forget_all(void);
/* Take the messages of this communicator and its parts, and drop them, so that their senders
 * end: all of them, or those of collectives of all members. */
void MPIDI_AM_sinks_open(struct MPIDI_AM_ft *ft, bool collectives_only);
/* Whoever polls a vci after trouble: take back what communicators that are gone have there. */
void MPIDI_AM_sinks_close(int vci);
/* Of a window that has been entered. */
struct MPIDI_AM_win_link *MPIDI_AM_win_link_of(MPIR_Win * win);
/* The synchronisation that this thread is in sends the unlocks of all. */
void MPIDI_AM_sync_unlocks(void);
/* A communicator of this context begins: results of an earlier one are of no use. */
void MPIDI_AM_agree_forget(int recvcontext_id);

#endif /* AM_FT_H_INCLUDED */
