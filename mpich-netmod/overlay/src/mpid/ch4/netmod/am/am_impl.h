/*
 * The inside of the am netmod: its one global, and the functions that live in
 * .c files.  What depends on the MPICH release is in am_glue.h.
 */
#ifndef AM_IMPL_H_INCLUDED
#define AM_IMPL_H_INCLUDED

#include <mpidimpl.h>
#include "mpidch4r.h"
#include "ch4_impl.h"

#include <am_msg.h>

#define MPIDI_AM_REQ(req)   ((req)->dev.ch4.netmod.am)
#define MPIDI_AM_AV(av)     ((av)->netmod.am)
#define MPIDI_AM_WIN(win)   ((win)->dev.netmod.am)
#define MPIDI_AM_COMM(comm) ((comm)->dev.ch4.netmod.am)

/* The peer that `av` is, for a message from my vci `src` to its vci `dst`. */
#define MPIDI_AM_PEER(av, src, dst)   (MPIDI_AM_AV(av).peer[src][dst])

/* One libam context for each vci. */
typedef struct {
    struct am_ctx *ctx[MPIDI_CH4_MAX_VCIS];
    struct am_client *client[MPIDI_CH4_MAX_VCIS];       /* ch4's active messages, */
    struct MPIDI_AM_queues *queues[MPIDI_CH4_MAX_VCIS]; /* their order */
    int n_ctx;
    /* in a row, of callers that do not sleep on the doorbell */
    unsigned idle_polls[MPIDI_CH4_MAX_VCIS];
    bool crowded;               /* my node has more ranks of this world than CPUs for them */
} MPIDI_AM_global_t;

/* After so many such a caller gives up the core once: others may want it to send to us. */
#define MPIDI_AM_IDLE_POLLS_MAX 128u

extern MPIDI_AM_global_t MPIDI_AM_global;

/* Values of `blocking` in MPIDI_NM_progress; set by the patched wait loops. */
enum {
    MPIDI_AM_TEST = 0,          /* return at once */
    MPIDI_AM_WAIT = 1,          /* the caller has nothing else to do: may sleep */
    MPIDI_AM_YIELD = 2,         /* it waits, but other things need polls as well */
};

/* ch4's active messages: largest header (with ours it is the info of a send),
 * and the largest payload that goes without ch4's own rendezvous. */
typedef struct {
    uint16_t handler_id;
    uint16_t am_hdr_sz;
    uint16_t src_vci, dst_vci;
} MPIDI_AM_hdr_t;
#define MPIDI_AM_HDR_BYTES_MAX   ((MPI_Aint) (AM_INFO_BYTES_MAX - sizeof(MPIDI_AM_hdr_t)))
#define MPIDI_AM_EAGER_BYTES_MAX ((MPI_Aint) 65536)

/* am_done.c: completions, called by libam inside a poll */
void MPIDI_AM_send_done(void *arg, const struct am_msg_status *status);
void MPIDI_AM_recv_done(void *arg, const struct am_msg_status *status);
/* What am_msg_set_lost wants; arg is the context. */
uint32_t MPIDI_AM_lost(void *arg, am_msg_done_fn done, void *done_arg,
                       const struct am_msg_envelope *envelope, const struct am_msg_mask *mask);
/* Fill in a receive's status; may create an error code. */
void MPIDI_AM_recv_error(MPIR_Request * rreq, const struct am_msg_status *status);
/* An MPI error code for a failed call of libam. */
int MPIDI_AM_error(struct am_ctx *ctx, am_status_t status);
/* A poll failed (negative), or too many in a row found nothing (0). */
int MPIDI_AM_idle(int vci, int events, int blocking);
int MPIDI_AM_cancel_recv(MPIR_Request * rreq);
int MPIDI_AM_isend_later(const void *buf, size_t bytes, struct am_ctx *ctx, uint32_t peer,
                         uint32_t context, int tag, unsigned flags, int vci, MPIR_Comm * comm,
                         MPIR_Request ** request);
/* Start or complete the receive *request, which has been made; an error frees it. */
int MPIDI_AM_irecv_any(void *buf, size_t bytes, struct am_ctx *ctx, int rank, int tag,
                       int context_id, MPIR_Request ** request);
int MPIDI_AM_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message);

/* am_dtype.c: data that is not contiguous */
int MPIDI_AM_isend_layout(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                          struct am_ctx *ctx, uint32_t peer,
                          const struct am_msg_envelope *envelope, unsigned flags, int vci,
                          MPIR_Comm * comm, MPIR_Request ** request);
int MPIDI_AM_irecv_layout(void *buf, MPI_Aint count, MPI_Datatype datatype,
                          struct am_ctx *ctx, const struct am_msg_envelope *envelope,
                          const struct am_msg_mask *mask, int vci, MPIR_Comm * comm,
                          MPIR_Request * partner, MPIR_Request ** request);
struct MPIDI_AM_layout *MPIDI_AM_layout_create(const void *buf, MPI_Aint count,
                                               MPI_Datatype datatype, struct am_data *data);
/* After a receive: do the last bytes that came make no whole basic element? */
bool MPIDI_AM_layout_partial(const struct MPIDI_AM_layout *layout);
void MPIDI_AM_layout_free(struct MPIDI_AM_layout *layout);

/* am_client.c: ch4's active messages */
int MPIDI_AM_client_open(int vci);
void MPIDI_AM_client_close(int vci);
int MPIDI_AM_client_send(MPIDI_av_entry_t * av, int handler_id, const void *am_hdr,
                         MPI_Aint am_hdr_sz, const void *data, MPI_Aint count,
                         MPI_Datatype datatype, int src_vci, int dst_vci, MPIR_Request * sreq);

/* am_win.c: native put, get, and fetch-and-add.  Each is started if it can be
 * native; else *is_native stays false and nothing has happened.  `request` is
 * NULL for operations without one. */
int MPIDI_AM_put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, int target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * av,
                 MPIR_Request ** request, bool * is_native);
int MPIDI_AM_get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                 int target_rank, MPI_Aint target_disp, int target_count,
                 MPI_Datatype target_datatype, MPIR_Win * win, MPIDI_av_entry_t * av,
                 MPIR_Request ** request, bool * is_native);
int MPIDI_AM_fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Op op, MPIR_Win * win,
                          MPIDI_av_entry_t * av, bool * is_native);

/* am_coll.c: collectives of ranks that take turns on their cores.  All ranks of `comm` are on
 * this node; the arguments are those of MPI. */
#define MPIDI_AM_FLAT_BARRIER_BYTES   1
#define MPIDI_AM_FLAT_REDUCE_BYTES    8192
#define MPIDI_AM_FLAT_ALLREDUCE_BYTES 8192
#define MPIDI_AM_FLAT_ALLTOALL_BYTES  8192      /* to each rank */
void MPIDI_AM_comm_flat_set(MPIR_Comm * comm);
int MPIDI_AM_flat_barrier(MPIR_Comm * comm, MPIR_Errflag_t * errflag);
int MPIDI_AM_flat_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                         MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm * comm,
                         MPIR_Errflag_t * errflag);
int MPIDI_AM_flat_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                            MPIR_Errflag_t * errflag);
int MPIDI_AM_flat_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm * comm, MPIR_Errflag_t * errflag);

/* am_world.c: contexts and addresses */
int MPIDI_AM_world_open(void);
int MPIDI_AM_vcis_open(void);
void MPIDI_AM_world_close(void);

/* A variable of libam, am_cvars.c: its name without "MPIR_CVAR_CH4_", the text from the
 * environment, and what MPIDI_AM_variables_show gave to MPI_T, else NULL. */
typedef struct {
    const char *name;
    const char **value;
    char *shown;
} MPIDI_AM_cvar_t;

extern MPIDI_AM_cvar_t MPIDI_AM_cvars[];        /* ends with a NULL name */

/* am_vars.c: control and performance variables */
int MPIDI_AM_options(struct am_option *options, int max);
void MPIDI_AM_variables_show(void);
void MPIDI_AM_variables_hide(void);
void MPIDI_AM_counters_register(void);
void MPIDI_AM_summary(void);

#endif /* AM_IMPL_H_INCLUDED */
