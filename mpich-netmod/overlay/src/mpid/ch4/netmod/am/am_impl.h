/*
 * The inside of the am netmod: its one global, and the functions that live in
 * .c files.  am_mpich.h has what differs between releases of MPICH.
 */
#ifndef AM_IMPL_H_INCLUDED
#define AM_IMPL_H_INCLUDED

#include <mpidimpl.h>
#include "mpidch4r.h"
#include "ch4_impl.h"

#include <am_coll.h>
#include <am_msg.h>
#include <am_time.h>

#define MPIDI_AM_REQ(req)   ((req)->dev.ch4.netmod.am)
#define MPIDI_AM_AV(av)     ((av)->netmod.am)
#define MPIDI_AM_WIN(win)   ((win)->dev.netmod.am)
#define MPIDI_AM_COMM(comm) ((comm)->dev.ch4.netmod.am)
#define MPIDI_AM_IS_BROKEN(comm) ((MPIDI_AM_COMM(comm).bits & MPIDI_AM_COMM_BROKEN) != 0)


/* What a wait in MPICH's start or end is for; see MPIDI_AM_wait. */
typedef enum {
    MPIDI_AM_STARTING,          /* until the end of MPI_Init */
    MPIDI_AM_RUNNING,
    MPIDI_AM_ENDING,            /* all that was sent has arrived */
    MPIDI_AM_ABORTING
} MPIDI_AM_phase_t;

/* One libam context for each vci. */
typedef struct {
    int n_ctx;                  /* what each message looks at is first */
    bool virtual;               /* the time is, and MPI's own part takes some of it */
    struct am_ctx *ctx[MPIDI_CH4_MAX_VCIS];
    struct am_client *client[MPIDI_CH4_MAX_VCIS];       /* ch4's active messages, */
    struct MPIDI_AM_queues *queues[MPIDI_CH4_MAX_VCIS]; /* their order */
    struct MPIDI_AM_flow *flow[MPIDI_CH4_MAX_VCIS];     /* what RMA has under way */
    /* an error that no call has told of, or MPI_SUCCESS: the next progress does */
    int failed[MPIDI_CH4_MAX_VCIS];
    /* in a row, of callers that do not sleep on the doorbell */
    unsigned idle_polls[MPIDI_CH4_MAX_VCIS];
    bool crowded;               /* my node has more ranks of this world than CPUs for them */
    bool serial;                /* in no rank are threads in MPICH at the same time, ... */
    bool single;                /* ... and none may call it while an operator of the user's runs */
    MPIDI_AM_phase_t phase;
    uint32_t *peers;            /* of all pairs of vcis, for each rank; NULL where there is one */
    double connect_ms;          /* so long a start waits for other ranks */
    unsigned trouble;           /* deaths, communicators revoked, operations of RMA that failed */
    /* kinds of collectives, a bit each, as variables say (am_algorithms.c) */
    unsigned named;             /* libam does all of them, by the algorithm named */
    unsigned mpichs;            /* MPICH does */
} MPIDI_AM_global_t;

/* After so many such a caller gives up the core once: others may want it to send to us. */
#define MPIDI_AM_IDLE_POLLS_MAX 128u

extern MPIDI_AM_global_t MPIDI_AM_global;

/* The peer that `av` is, for a message from my vci `src` to its vci `dst`.  Processes of other
 * worlds are reached by the first ones alone. */
MPL_STATIC_INLINE_PREFIX uint32_t MPIDI_AM_peer(const MPIDI_av_entry_t * av, int src, int dst)
{
    return (src | dst) == 0 || MPIDI_AM_AV(av).all == NULL ? MPIDI_AM_AV(av).peer :
        MPIDI_AM_AV(av).all[src * MPIDI_AM_global.n_ctx + dst];
}

/* Why ch4 polls. */
enum {
    MPIDI_AM_TEST = 0,          /* return at once */
    MPIDI_AM_WAIT = 1,          /* the caller has nothing else to do: may sleep */
    MPIDI_AM_YIELD = 2,         /* it waits, but other things need polls as well */
};

#include "am_mpich.h"

/* Is patch 0010 in this MPICH?  Without it nothing of MPICH asks who is dead. */
#ifdef MPIR_CONTEXTID_MASK
#define MPIDI_AM_FT 1
#else
#define MPIDI_AM_FT 0
#endif

/* ch4's active messages: largest header (with ours it is the info of a send),
 * and the largest payload that goes without ch4's own rendezvous. */
typedef struct {
    uint16_t handler_id;
    uint16_t am_hdr_sz;
    uint16_t src_vci, dst_vci;
} MPIDI_AM_hdr_t;
/* Ours, behind ch4's: am_refuse.c. */
#define MPIDI_AM_HANDLER_REFUSED MPIDI_AM_HANDLERS_MAX
#define MPIDI_AM_HANDLER_WITHOUT (MPIDI_AM_HANDLERS_MAX + 1)
#define MPIDI_AM_HDR_BYTES_MAX   ((MPI_Aint) (AM_INFO_BYTES_MAX - sizeof(MPIDI_AM_hdr_t)))
#define MPIDI_AM_EAGER_BYTES_MAX ((MPI_Aint) 65536)

/* libam copies with the processor and cannot reach a GPU's memory.  Always false where MPICH is
 * built without GPU support. */
MPL_STATIC_INLINE_PREFIX bool MPIDI_AM_is_gpu(const void *data, size_t bytes)
{
    return bytes > 0 && MPIR_GPU_query_pointer_is_dev(data);
}

/* am_done.c: completions, called by libam inside a poll */
void MPIDI_AM_send_done(void *arg, const struct am_msg_status *status);
void MPIDI_AM_recv_done(void *arg, const struct am_msg_status *status);
/* Fill in a receive's status; may create an error code. */
void MPIDI_AM_recv_error(MPIR_Request * rreq, const struct am_msg_status *status);
/* An MPI error code for a failed call of libam, that concerned `peer`. */
int MPIDI_AM_error_peer(struct am_ctx *ctx, uint32_t peer, am_status_t status);
int MPIDI_AM_error(struct am_ctx *ctx, am_status_t status);
/* The error code of a buffer in a GPU's memory. */
int MPIDI_AM_gpu_error(void);
/* The error of a call that gets no request: MPICH has a limit of them. */
int MPIDI_AM_no_request(void);
/* Free a request that was not used. */
void MPIDI_AM_request_drop(MPIR_Request * req);
/* Something failed that no call waits for: the next progress returns the error. */
void MPIDI_AM_failed(int vci, int mpi_errno);
/* A poll failed (negative), or too many in a row found nothing (0). */
int MPIDI_AM_idle(int vci, int events, int blocking);
int MPIDI_AM_cancel_recv(MPIR_Request * rreq);
int MPIDI_AM_cancel_send(MPIR_Request * sreq);
int MPIDI_AM_isend_later(const void *buf, size_t bytes, struct am_ctx *ctx, uint32_t peer,
                         uint32_t context, int tag, unsigned flags, int vci, MPIR_Comm * comm,
                         MPIR_Request ** request);
/* Send as `sreq`, which has been made, with the layout of the data if it has one; *request is
 * another when it is over at once. */
int MPIDI_AM_isend_as(MPIR_Request * sreq, struct am_ctx *ctx, uint32_t peer,
                      const struct am_msg_envelope *envelope, const struct am_data *data,
                      unsigned flags, MPIR_Request ** request);
/* Start or complete the receive *request, which has been made; an error frees it. */
int MPIDI_AM_irecv_any(void *buf, size_t bytes, struct am_ctx *ctx, uint64_t key, int tag,
                       MPIR_Request ** request);
int MPIDI_AM_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message);

/* am_vcis.c: messages where there are several vcis.  The tag is sent with `marks`, of which the
 * receiver does not know when it chooses a vci. */
int MPIDI_AM_isend_vcis(const void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                        int marks, MPIR_Comm * comm, int attr, MPIDI_av_entry_t * addr,
                        unsigned flags, MPIR_Request ** request);
int MPIDI_AM_irecv_vcis(void *buf, MPI_Aint count, MPI_Datatype datatype, int rank, int tag,
                        MPIR_Comm * comm, int attr, MPIR_Request * partner,
                        MPIR_Request ** request);

/* am_dtype.c: data that is not contiguous */
int MPIDI_AM_isend_layout(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                          struct am_ctx *ctx, uint32_t peer,
                          const struct am_msg_envelope *envelope, unsigned flags, int vci,
                          MPIR_Comm * comm, MPIR_Request ** request);
int MPIDI_AM_irecv_layout(void *buf, MPI_Aint count, MPI_Datatype datatype,
                          struct am_ctx *ctx, const struct am_msg_envelope *envelope,
                          const struct am_msg_mask *mask, int vci, MPIR_Comm * comm,
                          MPIR_Request * partner, MPIR_Request ** request);
/* The same as `rreq`, which has been made; an error frees it. */
int MPIDI_AM_irecv_layout_as(MPIR_Request * rreq, void *buf, MPI_Aint count,
                             MPI_Datatype datatype, struct am_ctx *ctx,
                             const struct am_msg_envelope *envelope,
                             const struct am_msg_mask *mask, MPIR_Request * partner,
                             MPIR_Request ** request);
struct MPIDI_AM_layout *MPIDI_AM_layout_create(const void *buf, MPI_Aint count,
                                               MPI_Datatype datatype, struct am_data *data);
/* After a receive: do the last bytes that came make no whole basic element? */
bool MPIDI_AM_layout_partial(const struct MPIDI_AM_layout *layout);
void MPIDI_AM_layout_free(struct MPIDI_AM_layout *layout);

/* am_client.c: ch4's active messages */
int MPIDI_AM_client_open(int vci);
void MPIDI_AM_client_close(int vci);
/* Native transfers that were freed are kept for the next ones, until this. */
void MPIDI_AM_transfers_free(int vci);
int MPIDI_AM_client_send(MPIDI_av_entry_t * av, int rank, int handler_id, const void *am_hdr,
                         MPI_Aint am_hdr_sz, const void *data, MPI_Aint count,
                         MPI_Datatype datatype, int src_vci, int dst_vci, MPIR_Request * sreq);

/* am_part.c: partitioned communication with dead ranks */
int MPIDI_AM_part_check(MPIDI_av_entry_t * av);
void MPIDI_AM_part_made(MPIR_Request * req);
/* It becomes active; false: it has failed at once. */
bool MPIDI_AM_part_begin(MPIR_Request * req);
void MPIDI_AM_part_dead(int vci, uint32_t peer);
void MPIDI_AM_part_close(void);

/* am_refuse.c: a handler of ch4's failed here, or an operation was refused by its target */
void MPIDI_AM_refuse(int vci, uint32_t source, const MPIDI_AM_hdr_t * hdr, const void *am_hdr,
                     int mpi_errno);
void MPIDI_AM_refused(int vci, const void *am_hdr);

/* am_flow.c: how much RMA may have under way.  MPIDI_AM_flow_take counts an operation, after
 * progress when there was no room for it; the caller holds the lock of the vci. */
void MPIDI_AM_flow_open(int vci);
void MPIDI_AM_flow_close(int vci);
int MPIDI_AM_flow_take(int vci, uint32_t peer, size_t bytes);
void MPIDI_AM_flow_give(int vci, uint32_t peer, size_t bytes);

/* am_win.c: native put, get, and fetch-and-add.  Each is started if it can be
 * native; else *is_native stays false and nothing has happened.  `request` is
 * NULL for operations without one. */
int MPIDI_AM_put(const void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * av,
                 MPIR_Request ** request, bool * is_native);
int MPIDI_AM_get(void *origin_addr, MPI_Aint origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, MPI_Aint target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * av,
                 MPIR_Request ** request, bool * is_native);
int MPIDI_AM_fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win * win,
                          MPIDI_av_entry_t * av, bool * is_native);

/* am_ft.c, am_dead.c, am_dead_error.c: what is known of the dead, for each communicator.  Off the
 * fast paths: they look at `trouble` or the communicator's bits first. */
void MPIDI_AM_dead_open(int vci);
void MPIDI_AM_comm_enter(MPIR_Comm * comm);
void MPIDI_AM_comm_leave(MPIR_Comm * comm);
/* Members: of an intracommunicator its ranks, of an intercommunicator the remote ranks and
 * then the local ones. */
int MPIDI_AM_member_count(MPIR_Comm * comm);
uint32_t MPIDI_AM_member_peer(MPIR_Comm * comm, int member, int vci);
bool MPIDI_AM_member_is_me(MPIR_Comm * comm, int member);
bool MPIDI_AM_rank_is_dead(MPIR_Comm * comm, int rank);
/* The error of an operation that cannot be on this communicator: MPIX_ERR_REVOKED or
 * MPIX_ERR_PROC_FAILED with the names of its dead. */
int MPIDI_AM_error_broken(MPIR_Comm * comm);
/* A probe found nothing: can it ever? */
int MPIDI_AM_probe_lost(MPIR_Comm * comm, int source);
/* A receive of a collective on a broken communicator is over before it begins. */
bool MPIDI_AM_recv_refused(MPIR_Request * rreq, int context_id, int tag);
/* A send of one: a request that is over, and says so; NULL: there is none. */
MPIR_Request *MPIDI_AM_send_refused(MPIR_Comm * comm);
/* A start of MPI in this process knows nothing of the one before. */
void MPIDI_AM_deaths_forget(void);
/* Look for dead processes now. */
void MPIDI_AM_dead_check(void);

/* am_revoke.c */
void MPIDI_AM_revoke_dead(void);

/* am_agree.c, am_agree_step.c, am_agree_msg.c: agreement of a communicator's members that live */
int MPIDI_AM_ft_open(void);
void MPIDI_AM_ft_close(void);
void MPIDI_AM_agree_dead(void);
/* `words` become the bits that are set in the words of all that took part; *failed_p, one
 * byte for each rank, is the caller's to free: who had died; *acked_p: had all who took part
 * acknowledged those? */
int MPIDI_AM_agree_words(MPIR_Comm * comm, uint32_t * words, int count, uint8_t ** failed_p,
                         bool * acked_p);
void MPIDI_AM_revoke_send(MPIR_Comm * comm, int member, int context_id, int me);

/* am_rma.c, am_rma_sync.c: ends of generic RMA with dead ranks */
bool MPIDI_AM_rma_awaits(int handler_id);
void MPIDI_AM_rma_begin(MPIR_Request * sreq, int vci);
void MPIDI_AM_rma_answer(int vci, int handler_id, const void *am_hdr);
void MPIDI_AM_rma_control(int handler_id, const void *am_hdr, int rank);
void MPIDI_AM_rma_dead(int vci, uint32_t peer);
/* An operation has failed here, or at its target: no answer will come. */
void MPIDI_AM_rma_refused(MPIR_Request * sreq, int vci, int mpi_errno);
/* Operations whose type comes before their data: the target answers the type, ... */
bool MPIDI_AM_rma_is_type_answer(int handler_id);
void MPIDI_AM_rma_typed(int vci, uint32_t peer, int handler_id, const void *am_hdr);
/* ... and is to do it without data.  The origin cannot handle the answer: the target's request, to
 * which the latter is to be said; NULL: it is another message. */
bool MPIDI_AM_rma_is_data(int handler_id);
void MPIDI_AM_rma_without(int vci, const void *am_hdr);
MPIR_Request *MPIDI_AM_rma_give_up(int handler_id, const void *am_hdr, int mpi_errno);
/* Called around those synchronisations that wait for others; what to do for the dead. */
typedef enum {
    MPIDI_AM_SYNC_START,
    MPIDI_AM_SYNC_COMPLETE,
    MPIDI_AM_SYNC_WAIT,
    MPIDI_AM_SYNC_LOCK,
    MPIDI_AM_SYNC_UNLOCK,
    MPIDI_AM_SYNC_LOCK_ALL,
    MPIDI_AM_SYNC_UNLOCK_ALL,
    MPIDI_AM_SYNC_FLUSH,
    MPIDI_AM_SYNC_FLUSH_ALL,
} MPIDI_AM_sync_t;
int MPIDI_AM_sync_begin(MPIDI_AM_sync_t sync, MPIR_Win * win, int rank, MPIR_Group * group);
int MPIDI_AM_sync_end(MPIDI_AM_sync_t sync, MPIR_Win * win, int rank, int mpi_errno);
/* Of a test of an exposure epoch that goes on. */
int MPIDI_AM_win_test_dead(MPIR_Win * win);
void MPIDI_AM_win_enter(MPIR_Win * win);
/* An operation of it failed: its next synchronisation says so. */
void MPIDI_AM_win_failed(MPIR_Win * win, int mpi_errno);
void MPIDI_AM_win_leave(MPIR_Win * win);
/* In progress: does this thread's synchronisation wait for the dead? */
int MPIDI_AM_sync_trouble(void);

/* am_group*.c: collectives of libam, for communicators within the node.  The arguments are those
 * of MPI.  False: this one is not for libam, and nothing has happened; all ranks get the same
 * answer. */
void MPIDI_AM_comm_node_set(MPIR_Comm * comm);
void MPIDI_AM_comm_node_free(MPIR_Comm * comm);
/* The groups have gone with their context. */
void MPIDI_AM_groups_forget(void);
/* What is under way on a communicator that is broken ends, in a poll of vci 0 that calls
 * MPIDI_AM_groups_abandon. */
void MPIDI_AM_group_revoke(MPIR_Comm * comm);
void MPIDI_AM_groups_abandon(void);
bool MPIDI_AM_group_barrier(MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno);
bool MPIDI_AM_group_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                          MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno);
/* Reduce, allreduce, or reduce-scatter of blocks of `count`. */
bool MPIDI_AM_group_reduction(am_coll_kind_t kind, const void *sendbuf, void *recvbuf,
                              MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                              MPIR_Comm * comm, MPIDI_AM_errflag_t * errflag, int *mpi_errno);
/* Where all blocks are of one length. */
bool MPIDI_AM_group_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint * recvcounts,
                                   MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                                   MPIDI_AM_errflag_t * errflag, int *mpi_errno);
/* All-gather, all-to-all, gather, scatter. */
bool MPIDI_AM_group_blocks(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                           MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                           MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                           MPIDI_AM_errflag_t * errflag, int *mpi_errno);
bool MPIDI_AM_group_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                               void *recvbuf, const MPI_Aint * recvcounts, const MPI_Aint * displs,
                               MPI_Datatype recvtype, MPIR_Comm * comm,
                               MPIDI_AM_errflag_t * errflag, int *mpi_errno);
bool MPIDI_AM_group_alltoallv(const void *sendbuf, const MPI_Aint * sendcounts,
                              const MPI_Aint * sdispls, MPI_Datatype sendtype, void *recvbuf,
                              const MPI_Aint * recvcounts, const MPI_Aint * rdispls,
                              MPI_Datatype recvtype, MPIR_Comm * comm,
                              MPIDI_AM_errflag_t * errflag, int *mpi_errno);
/* *request is NULL when MPICH has no more.  At the end: what they keep for the next. */
void MPIDI_AM_group_idle_free(void);
bool MPIDI_AM_group_ibarrier(MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request);
bool MPIDI_AM_group_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request);
bool MPIDI_AM_group_ireduction(am_coll_kind_t kind, const void *sendbuf, void *recvbuf,
                               MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                               MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request);
bool MPIDI_AM_group_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                    const MPI_Aint * recvcounts, MPI_Datatype datatype, MPI_Op op,
                                    MPIR_Comm * comm, MPIDI_AM_order_t order,
                                    MPIR_Request ** request);
bool MPIDI_AM_group_iblocks(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                            MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                            MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                            MPIDI_AM_order_t order, MPIR_Request ** request);

/* A receive of a collective is complete: is it as long as it was to be? */
void MPIDI_AM_pair_length(MPIR_Request * rreq, MPI_Aint expected);

/* A persistent collective: barrier, broadcast (of `recvbuf`), reduce, allreduce (`recvcount`
 * of `recvtype`), all-gather or all-to-all. */
struct MPIDI_AM_persistent {
    am_coll_kind_t kind;
    const void *sendbuf;
    void *recvbuf;
    MPI_Aint sendcount, recvcount;
    MPI_Datatype sendtype, recvtype;    /* MPI_DATATYPE_NULL: nothing is sent by it */
    MPI_Op op;
    int root;
};

/* Before the first communicator is made. */
void MPIDI_AM_group_persist_init(void);
/* Let libam start it, where it starts the non-blocking one. */
void MPIDI_AM_group_persist(MPIR_Request * preq, const struct MPIDI_AM_persistent *args);

/* am_init.c: the context of the world, what MPI_T shows of it, the summary */
int MPIDI_AM_start(void);

/* am_mpich5.c, am_met.c: since 5.0 the world starts when its communicator is made, and at its
 * end processes that were met have to have met us */
#if MPIDI_AM_SINCE(5, 0, 0)
int MPIDI_AM_comm_bootstrap(MPIR_Comm * comm);
void MPIDI_AM_greetings_wait(void);
/* A communicator is made or freed: which processes of other worlds it reaches. */
void MPIDI_AM_comm_met_enter(MPIR_Comm * comm);
void MPIDI_AM_comm_met_leave(MPIR_Comm * comm);
#else
#define MPIDI_AM_greetings_wait()       do { } while (0)
#define MPIDI_AM_comm_met_enter(comm_)  do { } while (0)
#define MPIDI_AM_comm_met_leave(comm_)  do { } while (0)
#define MPIDI_AM_comm_bootstrap(comm_)  MPI_SUCCESS
#endif

/* am_init.c: what MPIR_pmi_wait_hook of patch 0014 is */
int MPIDI_AM_wait(double begin, int rank);

/* am_spawn.c, am_met.c: what is known of processes outside the world */
void MPIDI_AM_late_free(void);

/* am_world.c: contexts and addresses */
int MPIDI_AM_world_open(void);
/* Connect to a process outside the world by what MPIDI_AM_get_local_upids gave there. */
am_status_t MPIDI_AM_connect_upid(const char *upid, int bytes, uint32_t * peer);
int MPIDI_AM_vcis_open(int n);
void MPIDI_AM_world_close(void);
/* Say one sentence and end the job, as a start that failed does. */
void MPIDI_AM_end(const char *sentence) ATTRIBUTE((noreturn));

/* A variable of libam, am_cvars.c: its name without "MPIR_CVAR_CH4_", the text from the
 * environment, and what MPIDI_AM_variables_show gave to MPI_T, else NULL. */
typedef struct {
    const char *name;
    const char **value;
    char *shown;
} MPIDI_AM_cvar_t;

extern MPIDI_AM_cvar_t MPIDI_AM_cvars[];        /* ends with a NULL name */

/* am_algorithms.c: MPIR_CVAR_BCAST_AM_INTRA_ALGORITHM and the like.  Set what they say in
 * `options`, of which there are n; returns how many there are then. */
int MPIDI_AM_algorithm_options(struct am_option *options, int n, int max);
/* If libam's sentence is about one of them, let it name that. */
void MPIDI_AM_algorithm_error(char *error, size_t bytes);
/* Sets MPIDI_AM_global.named and .mpichs, once libam is open. */
void MPIDI_AM_algorithms_note(void);

/* am_vars.c: control and performance variables */
/* MPI_T's text of a control variable, which programs read and write; NULL: there is none. */
char *MPIDI_AM_cvar_text(const char *cvar_name, int *bytes_max);
#define MPIDI_AM_OPTIONS_MAX 128
int MPIDI_AM_options(struct am_option *options, int max);
/* How long a start waits for other ranks, ms. */
double MPIDI_AM_connect_timeout(void);
void MPIDI_AM_variables_show(void);
/* The value in force of a variable that is a number of bytes. */
size_t MPIDI_AM_variable_bytes(const char *name);
void MPIDI_AM_variables_hide(void);
void MPIDI_AM_counters_register(void);
void MPIDI_AM_summary(void);

#endif /* AM_IMPL_H_INCLUDED */
