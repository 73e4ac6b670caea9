/*
 * Completions of native point to point, and all that is not on its fast path:
 * errors, truncation, cancel, receives of claimed messages.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_done.h"
#include "am_ft.h"
#include "am_pt2pt.h"
#include <sched.h>
#include <time.h>

/* A wait that may not sleep on the doorbell, since others need polls, naps after
 * so many polls (some 0.3 ms).  A yield is not enough: Linux gives each session
 * its share of the cores, a yield stays inside a session, and most launchers give
 * every rank a session of its own (docs/mpich.md). */
#define NAP_POLLS 4096u
#define NAP_NS    50000

/* A yield that lasts longer than a nap has let somebody compute: a thread of this
 * process that waits for another one by spinning, for instance.  The next rests are
 * naps then: who sleeps gets the core from who computes when he wakes, who yields
 * waits for the end of that time slice, some milliseconds. */
#define NAPS      512u

int MPIDI_AM_error_peer(struct am_ctx *ctx, uint32_t peer, am_status_t status)
{
    int mpi_errno = MPI_SUCCESS;

    if (status == AM_ERR_PEER) {
        MPIR_ERR_SET1(mpi_errno, MPIX_ERR_PROC_FAILED, "**am_peer", "**am_peer %s",
                      peer != UINT32_MAX && am_peer_is_dead(ctx, peer) ?
                      am_peer_death(ctx, peer) : am_error_text(ctx));
    } else if (status == AM_ERR_CANCELLED) {
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_REVOKED, "**revoked");
    } else if (status == AM_ERR_MEMORY) {
        MPIR_ERR_SET(mpi_errno, MPI_ERR_NO_MEM, "**nomem");
    } else {
        MPIR_ERR_SET1(mpi_errno, MPI_ERR_OTHER, "**am_status", "**am_status %s",
                      am_status_text(status));
    }
    return mpi_errno;
}

int MPIDI_AM_error(struct am_ctx *ctx, am_status_t status)
{
    return MPIDI_AM_error_peer(ctx, UINT32_MAX, status);
}

int MPIDI_AM_no_request(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET(mpi_errno, MPI_ERR_OTHER, "**am_requests");
    return mpi_errno;
}

void MPIDI_AM_request_drop(MPIR_Request * req)
{
    MPIR_Object_set_ref(req, 1);
    MPIR_cc_set(&req->cc, 0);
    MPIDI_CH4_REQUEST_FREE(req);
}

int MPIDI_AM_gpu_error(void)
{
    int mpi_errno = MPI_SUCCESS;

    MPIR_ERR_SET(mpi_errno, MPI_ERR_BUFFER, "**am_gpu");
    return mpi_errno;
}

static int64_t now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t) time.tv_sec * 1000000000 + time.tv_nsec;
}

static void rest(bool may_nap, unsigned idle_polls)
{
    static _Thread_local unsigned naps_due;
    struct timespec nap = {.tv_nsec = NAP_NS };
    int64_t begin;

    if (am_time_is_virtual()) {
        return;                 /* nobody else is to run */
    }
    if (may_nap && (idle_polls >= NAP_POLLS || naps_due > 0)) {
        naps_due -= naps_due > 0;
        nanosleep(&nap, NULL);
        return;
    }
    begin = now_ns();
    sched_yield();
    naps_due = now_ns() - begin > NAP_NS ? NAPS : 0;
}

/* Give up the core, and meanwhile the lock of all threads: MPICH's own yield lets
 * the lock go only for an instant, and its threads starve each other.  The loops
 * that wait let the lock go too, so nothing relies on its being held. */
static void rest_unlocked(bool may_nap, unsigned idle_polls)
{
#if defined(MPICH_IS_THREADED) && MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__GLOBAL
    if (MPIR_ThreadInfo.isThreaded) {
        MPIDU_Thread_mutex_t *mutex = &MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX;
        MPL_thread_id_t owner = mutex->owner;
        int count = mutex->count;
        int err = 0;

        mutex->count = 0;
        mutex->owner = 0;
        MPIDU_Thread_mutex_unlock(mutex, &err);
        MPIR_Assert(err == 0);
        rest(may_nap, idle_polls);
        MPIDU_Thread_mutex_lock(mutex, &err, MPL_THREAD_PRIO_LOW);
        MPIR_Assert(err == 0);
        mutex->count = count;
        mutex->owner = owner;
        return;
    }
#endif
    /* the lock of one vci stays held, and other threads may want it */
    rest(may_nap && !MPIR_ThreadInfo.isThreaded, idle_polls);
}

void MPIDI_AM_failed(int vci, int mpi_errno)
{
    if (MPIDI_AM_global.failed[vci] == MPI_SUCCESS) {
        MPIDI_AM_global.failed[vci] = mpi_errno;
    }
}

int MPIDI_AM_idle(int vci, int events, int blocking)
{
    int failed = MPIDI_AM_global.failed[vci];

    if (failed != MPI_SUCCESS) {
        MPIDI_AM_global.failed[vci] = MPI_SUCCESS;
        return failed;
    }
    if (events < 0) {
        /* ch4's callbacks may poll from inside a poll: nothing to do then.  A death ends by
         * itself what waits for the dead, and a synchronisation of RMA here. */
        return events == AM_ERR_HANDLER ? MPI_SUCCESS :
            events == AM_ERR_PEER ? MPIDI_AM_sync_trouble() :
            MPIDI_AM_error(MPIDI_AM_global.ctx[vci], (am_status_t) events);
    }
    if (unlikely(MPIDI_AM_global.trouble != 0)) {
        int mpi_errno = MPIDI_AM_sync_trouble();

        MPIDI_AM_sinks_close(vci);
        if (vci == 0) {
            MPIDI_AM_revoke_early();
            MPIDI_AM_groups_abandon();
        }
        if (mpi_errno != MPI_SUCCESS) {
            return mpi_errno;
        }
    }
    if (blocking == MPIDI_AM_YIELD) {
        /* one vci of several may be idle while others are not */
        rest_unlocked(MPIDI_AM_global.n_ctx == 1, MPIDI_AM_global.idle_polls[vci]);
    } else {
        rest(false, 0);
    }
    return MPI_SUCCESS;
}

void MPIDI_AM_recv_error(MPIR_Request * rreq, const struct am_msg_status *status)
{
    if (status->status == AM_ERR_TRUNCATE) {
        rreq->status.MPI_ERROR =
            MPIR_Err_create_code(rreq->status.MPI_ERROR, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                 MPI_ERR_TRUNCATE, "**truncate", "**truncate %d %d %d %d",
                                 rreq->status.MPI_SOURCE, rreq->status.MPI_TAG,
                                 (int) MPL_MIN(status->bytes_sent, (size_t) INT_MAX),
                                 (int) MPL_MIN(status->bytes, (size_t) INT_MAX));
    } else {
        rreq->status.MPI_ERROR =
            MPIDI_AM_error_peer(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(rreq)],
                                status->peer, status->status);
    }
}

static void recv_layout_done(MPIR_Request * rreq)
{
    bool partial = MPIDI_AM_layout_partial(MPIDI_AM_REQ(rreq).layout);

    MPIDI_AM_layout_free(MPIDI_AM_REQ(rreq).layout);
    MPIDI_AM_REQ(rreq).layout = NULL;
    if (partial && rreq->status.MPI_ERROR == MPI_SUCCESS) {
        MPIR_ERR_SET(rreq->status.MPI_ERROR, MPI_ERR_TYPE, "**dtypemismatch");
    }
}

void MPIDI_AM_send_done(void *arg, const struct am_msg_status *status)
{
    MPIR_Request *sreq = arg;

    if (unlikely(MPIDI_AM_REQ(sreq).layout != NULL)) {
        MPIDI_AM_layout_free(MPIDI_AM_REQ(sreq).layout);
        MPIDI_AM_REQ(sreq).layout = NULL;
    }
    if (unlikely(status->status == AM_ERR_CANCELLED)) {
        MPIR_STATUS_SET_CANCEL_BIT(sreq->status, TRUE);
    } else if (unlikely(status->status != AM_OK)) {
        sreq->status.MPI_ERROR =
            MPIDI_AM_error_peer(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(sreq)],
                                status->peer, status->status);
    } else if (unlikely(sreq->comm->revoked)) {
        /* the receiver may have thrown the message away (am_revoke.c) */
        sreq->status.MPI_ERROR = MPIDI_AM_error(NULL, AM_ERR_CANCELLED);
    }
    MPIDI_AM_REQ(sreq).msg = NULL;
    MPIDI_AM_complete(sreq);
}

/* The request of MPICH's own shared memory that a receive from any source has beside ours: it
 * is complete, and ours has a reference less. */
static void end_partner(MPIR_Request * rreq)
{
#ifndef MPIDI_CH4_DIRECT_NETMOD
    if (MPIDI_AM_PARTNER(rreq) != NULL) {
        int is_cancelled;

        MPIDI_anysrc_try_cancel_partner(rreq, &is_cancelled);
        MPIDI_anysrc_free_partner(rreq);
    }
#endif
}

void MPIDI_AM_recv_done(void *arg, const struct am_msg_status *status)
{
    MPIR_Request *rreq = arg;
    MPI_Aint expected = MPIR_STATUS_GET_COUNT(rreq->status);

    MPIDI_AM_recv_status(rreq, status);
    if (unlikely(rreq->kind == MPIR_REQUEST_KIND__COLL)) {
        MPIDI_AM_pair_length(rreq, expected);
    }
    if (unlikely(MPIDI_AM_REQ(rreq).layout != NULL)) {
        recv_layout_done(rreq);
    }
    MPIDI_AM_REQ(rreq).msg = NULL;
    end_partner(rreq);
    MPIDI_AM_complete(rreq);
}

void MPIDI_AM_recv_over(MPIR_Request * rreq)
{
    if (MPIDI_AM_SINCE(4, 3, 0)) {
        end_partner(rreq);
    }
}

int MPIDI_AM_cancel_recv(MPIR_Request * rreq)
{
    struct am_msg_req *msg = MPIDI_AM_REQ(rreq).msg;

    if (MPIR_Request_is_complete(rreq) || msg == NULL || am_msg_cancel(msg) != AM_DONE) {
        return MPI_SUCCESS;     /* it has matched, and completes as usual */
    }
    MPIDI_AM_REQ(rreq).msg = NULL;
    if (MPIDI_AM_REQ(rreq).layout != NULL) {
        MPIDI_AM_layout_free(MPIDI_AM_REQ(rreq).layout);
        MPIDI_AM_REQ(rreq).layout = NULL;
    }
    rreq->status.MPI_SOURCE = 0;        /* MPIDI_AM_is_any_source */
    MPIR_STATUS_SET_CANCEL_BIT(rreq->status, TRUE);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIDI_AM_complete(rreq);
    return MPI_SUCCESS;
}

/* Where nobody has received the message yet, its wait ends although nobody does. */
int MPIDI_AM_cancel_send(MPIR_Request * sreq)
{
    struct am_msg_req *msg = MPIDI_AM_REQ(sreq).msg;
    struct am_msg_status status = {.status = AM_ERR_CANCELLED };

    if (!MPIR_Request_is_complete(sreq) && msg != NULL && am_msg_cancel(msg) == AM_DONE) {
        MPIDI_AM_send_done(sreq, &status);
    }
    return MPI_SUCCESS;
}

/* A request that is complete when the caller gets it: our reference is not needed. */
static void is_over(MPIR_Request * req)
{
    MPIR_Object_set_ref(req, 1);
    MPIR_cc_set(&req->cc, 0);
}

/* A contiguous send that did not leave at once. */
int MPIDI_AM_isend_later(const void *buf, size_t bytes, struct am_ctx *ctx, uint32_t peer,
                         uint32_t context, int tag, unsigned flags, int vci, MPIR_Comm * comm,
                         MPIR_Request ** request)
{
    struct am_msg_envelope envelope = { context, (uint32_t) comm->rank, (uint32_t) tag };
    struct am_data data = am_data_contig(buf, bytes);
    MPIR_Request *sreq = MPIDI_AM_request(MPIR_REQUEST_KIND__SEND, vci, comm, 2);

    return sreq == NULL ? MPIDI_AM_no_request() :
        MPIDI_AM_isend_as(sreq, ctx, peer, &envelope, &data, flags, request);
}

int MPIDI_AM_isend_as(MPIR_Request * sreq, struct am_ctx *ctx, uint32_t peer,
                      const struct am_msg_envelope *envelope, const struct am_data *data,
                      unsigned flags, MPIR_Request ** request)
{
    struct am_msg_req *msg;
    am_status_t status = am_msg_isend(ctx, peer, envelope, data, flags, NULL, NULL, &msg);

    if (status == AM_OK) {
        MPIDI_AM_REQ(sreq).msg = msg;
        am_msg_attach(msg, MPIDI_AM_send_done, sreq);
        *request = sreq;
        return MPI_SUCCESS;
    }
    if (MPIDI_AM_REQ(sreq).layout != NULL) {
        MPIDI_AM_layout_free(MPIDI_AM_REQ(sreq).layout);
        MPIDI_AM_REQ(sreq).layout = NULL;
    }
    if (status != AM_DONE) {
        MPIDI_AM_request_drop(sreq);
        return MPIDI_AM_error_peer(ctx, peer, status);
    }
    is_over(sreq);
    *request = sreq;
    return MPI_SUCCESS;
}

/* A contiguous receive with wildcards, or when messages wait. */
int MPIDI_AM_irecv_any(void *buf, size_t bytes, struct am_ctx *ctx, uint64_t key, int tag,
                       MPIR_Request ** request)
{
    int context_id = (int) (key >> 32), rank = (int) (uint32_t) key;
    struct am_data data = am_data_contig(buf, bytes);
    MPIR_Request *rreq = *request;
    struct am_msg_envelope envelope;
    struct am_msg_status result;
    struct am_msg_mask mask;
    am_status_t status;

    rreq->status.MPI_SOURCE = rank;     /* MPIDI_AM_is_any_source */
    if (unlikely(MPIDI_AM_IS_BROKEN(rreq->comm)) &&
        MPIDI_AM_recv_refused(rreq, context_id, tag)) {
        MPIDI_AM_recv_over(rreq);
        return MPI_SUCCESS;
    }
    MPIDI_AM_match(rank, tag, context_id, &envelope, &mask);
    status = am_msg_irecv(ctx, &envelope, &mask, &data, MPIDI_AM_recv_done, rreq, &result,
                          &MPIDI_AM_REQ(rreq).msg);
    if (status == AM_OK) {
        return MPI_SUCCESS;
    }
    if (status < 0) {
        MPIDI_AM_request_drop(rreq);
        *request = NULL;
        return MPIDI_AM_error(ctx, status);
    }
    is_over(rreq);
    MPIDI_AM_recv_status(rreq, &result);
    MPIDI_AM_recv_over(rreq);
    return MPI_SUCCESS;
}

int MPIDI_AM_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request * message)
{
    struct am_msg_req *msg = MPIDI_AM_REQ(message).msg;
    struct am_msg_status result;
    struct am_msg_req *pending;
    struct am_data data;
    am_status_t status;
    MPIR_Datatype *dt_ptr;
    MPI_Aint true_lb;
    size_t bytes;
    int contig;

    MPIDI_Datatype_get_info(count, datatype, contig, bytes, dt_ptr, true_lb);
    if (unlikely(MPIDI_AM_is_gpu(MPIR_get_contig_ptr(buf, true_lb), bytes))) {
        return MPIDI_AM_gpu_error();
    }
    if (contig || bytes == 0) {
        data = am_data_contig(MPIR_get_contig_ptr(buf, true_lb), bytes);
    } else {
        MPIDI_AM_REQ(message).layout = MPIDI_AM_layout_create(buf, count, datatype, &data);
    }
    MPIDI_AM_REQ(message).msg = NULL;
    status = am_msg_imrecv(msg, &data, MPIDI_AM_recv_done, message, &result, &pending);
    if (status == AM_DONE) {
        MPIDI_AM_recv_done(message, &result);
    } else if (status < 0) {
        if (MPIDI_AM_REQ(message).layout != NULL) {
            recv_layout_done(message);
        }
        MPIDI_AM_REQ(message).msg = msg;        /* it is still there to be received */
        return MPIDI_AM_error(MPIDI_AM_global.ctx[MPIDI_Request_get_vci(message)], status);
    }
    return MPI_SUCCESS;
}
