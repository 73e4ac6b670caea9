/*
 * Non-blocking collectives by libam.  Each says false where it is not for libam.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

/* One under way, or idle.  Its request is there before it starts, so that none is missing then,
 * and stays with it where it ends at once. */
struct pending {
    MPIR_Request *request;
    struct pending *next_idle;
    struct MPIDI_AM_collective c;
};

/* Some that have ended, to be used again.  They and their number are under the lock of vci 0. */
#define IDLE_MAX 64

static struct pending *idle;
static int idle_count;

static struct pending *pending_new(void)
{
    struct pending *pending;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    pending = idle;
    if (pending != NULL) {
        idle = pending->next_idle;
        idle_count--;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (pending == NULL) {
        pending = MPL_malloc(sizeof(*pending), MPL_MEM_OTHER);
        MPIR_Assertp(pending != NULL);
        pending->request = NULL;
    }
    return pending;
}

static void request_drop(struct pending *pending)
{
    if (pending->request != NULL) {
        MPIDI_AM_request_drop(pending->request);
    }
}

/* With the lock of vci 0. */
static void pending_free(struct pending *pending)
{
    if (idle_count == IDLE_MAX) {
        request_drop(pending);
        MPL_free(pending);
        return;
    }
    pending->next_idle = idle;
    idle = pending;
    idle_count++;
}

void MPIDI_AM_group_idle_free(void)
{
    while (idle != NULL) {
        struct pending *pending = idle;

        idle = pending->next_idle;
        request_drop(pending);
        MPL_free(pending);
    }
    idle_count = 0;
}

/* A type or an operator that the user frees meanwhile is needed until the end. */
static void handles_keep(struct MPIDI_AM_collective *c)
{
    if (MPIDI_AM_OP_IS_USERS(c->operator.op)) {
        MPIR_Op_add_ref_if_not_builtin(c->operator.op);
    }
    if (c->send.is_used) {
        MPIR_Datatype_add_ref_if_not_builtin(c->send.datatype);
    }
    if (c->recv.is_used) {
        MPIR_Datatype_add_ref_if_not_builtin(c->recv.datatype);
    }
}

static void handles_release(struct MPIDI_AM_collective *c)
{
    if (MPIDI_AM_OP_IS_USERS(c->operator.op)) {
        MPIR_Op_release_if_not_builtin(c->operator.op);
    }
    if (c->send.is_used) {
        MPIR_Datatype_release_if_not_builtin(c->send.datatype);
    }
    if (c->recv.is_used) {
        MPIR_Datatype_release_if_not_builtin(c->recv.datatype);
    }
}

static void pending_done(void *arg, am_status_t status)
{
    struct pending *pending = arg;
    MPIR_Request *request = pending->request;
    int mpi_errno = MPIDI_AM_collective_close(&pending->c, status == AM_OK &&
                                              request->status.MPI_ERROR == MPI_SUCCESS);

    handles_release(&pending->c);
    if (status != AM_OK) {
        request->status.MPI_ERROR = MPIDI_AM_group_error(request->comm, status);
    } else if (mpi_errno != MPI_SUCCESS) {
        request->status.MPI_ERROR = mpi_errno;
    }
    pending->request = NULL;
    pending_free(pending);
    MPIDI_AM_complete(request);
}

/* Give its request away. */
static MPIR_Request *pending_request(struct pending *pending, MPIR_Comm * comm, int mpi_errno)
{
    pending->request->comm = comm;
    MPIR_Comm_add_ref(comm);
    pending->request->status.MPI_ERROR = mpi_errno;
    return pending->request;
}

/* It has ended before anybody could wait for it; with the lock. */
static MPIR_Request *ended(MPIR_Comm * comm, struct pending *pending, am_status_t status,
                           int mpi_errno)
{
    bool is_good = status == AM_DONE && mpi_errno == MPI_SUCCESS;
    int closed = MPIDI_AM_collective_close(&pending->c, is_good);
    MPIR_Request *request;

    if (likely(is_good && closed == MPI_SUCCESS)) {
        pending_free(pending);
        return MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
    }
    mpi_errno = status != AM_DONE ? MPIDI_AM_group_error(comm, status) :
        mpi_errno != MPI_SUCCESS ? mpi_errno : closed;
    request = pending_request(pending, comm, mpi_errno);
    pending->request = NULL;
    pending_free(pending);
    MPIDI_AM_complete(request);
    return request;
}

/* Start one that has been described.  *request is NULL when MPICH has no more. */
static void start(MPIR_Comm * comm, struct am_coll_group *group, struct pending *pending,
                  MPIR_Request ** request)
{
    bool polls = false;
    am_status_t status;
    int mpi_errno;

    *request = NULL;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    if (unlikely(pending->request == NULL)) {
        pending->request = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__COLL, 0, 2);
    }
    if (unlikely(pending->request == NULL)) {
        pending_free(pending);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
        return;
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    mpi_errno = MPIDI_AM_collective_open(&pending->c);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_coll_start(group, &pending->c.call, pending_done, pending);
    if (status == AM_OK) {
        *request = pending_request(pending, comm, mpi_errno);
        handles_keep(&pending->c);
    } else {
        *request = ended(comm, pending, status, mpi_errno);
        polls = MPIDI_AM_group_poll_is_due();
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (unlikely(polls)) {
        MPIDI_AM_group_poll();
    }
}

/* `is_described`: it is one that libam does. */
static bool started(MPIR_Comm * comm, MPIDI_AM_order_t order, struct pending *pending,
                    bool is_described, MPIR_Request ** request)
{
    struct am_coll_group *group =
        is_described ? MPIDI_AM_group_for_start(comm, order, &pending->c) : NULL;

    if (group != NULL) {
        start(comm, group, pending, request);
        return true;
    }
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    pending_free(pending);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    return false;
}

bool MPIDI_AM_group_ibarrier(MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request)
{
    struct pending *pending = pending_new();

    MPIDI_AM_as_barrier(&pending->c);
    return started(comm, order, pending, true, request);
}

bool MPIDI_AM_group_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request)
{
    struct pending *pending;
    bool is;

    if (comm->local_size == 2 &&
        MPIDI_AM_pair_bcast(buffer, count, datatype, root, comm, order, request)) {
        return true;
    }
    pending = pending_new();
    is = MPIDI_AM_as_bcast(&pending->c, buffer, count, datatype, root, comm);
    return started(comm, order, pending, is, request);
}

bool MPIDI_AM_group_ireduction(am_coll_kind_t kind, const void *sendbuf, void *recvbuf,
                               MPI_Aint count, MPI_Datatype datatype, MPI_Op op, int root,
                               MPIR_Comm * comm, MPIDI_AM_order_t order, MPIR_Request ** request)
{
    struct pending *pending = pending_new();
    bool is = MPIDI_AM_as_reduction(&pending->c, kind, sendbuf, recvbuf, count, datatype, op, root,
                                    comm);

    return started(comm, order, pending, is, request);
}

bool MPIDI_AM_group_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                    const MPI_Aint * recvcounts, MPI_Datatype datatype, MPI_Op op,
                                    MPIR_Comm * comm, MPIDI_AM_order_t order,
                                    MPIR_Request ** request)
{
    struct pending *pending = pending_new();
    bool is = MPIDI_AM_as_scattered(&pending->c, sendbuf, recvbuf, recvcounts, datatype, op, comm);

    return started(comm, order, pending, is, request);
}

bool MPIDI_AM_group_iblocks(am_coll_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                            MPI_Datatype sendtype, void *recvbuf, MPI_Aint recvcount,
                            MPI_Datatype recvtype, int root, MPIR_Comm * comm,
                            MPIDI_AM_order_t order, MPIR_Request ** request)
{
    struct pending *pending;
    bool is;

    if (comm->local_size == 2 && (kind == AM_COLL_GATHER || kind == AM_COLL_SCATTER) &&
        MPIDI_AM_pair_blocks(kind, sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                             root, comm, order, request)) {
        return true;
    }
    pending = pending_new();
    is = MPIDI_AM_as_blocks(&pending->c, kind, sendbuf, sendcount, sendtype, recvbuf, recvcount,
                            recvtype, root, comm);
    return started(comm, order, pending, is, request);
}
