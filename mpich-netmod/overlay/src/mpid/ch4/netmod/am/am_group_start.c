/*
 * Non-blocking collectives by libam.  Each says false where it is not for libam.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

/* One under way. */
struct pending {
    MPIR_Request *request;
    struct MPIDI_AM_operator operator;
    struct MPIDI_AM_memory memory;      /* of a broadcast */
    bool is_bcast, is_root;
};

static void pending_done(void *arg, am_status_t status)
{
    struct pending *pending = arg;
    MPIR_Request *request = pending->request;

    if (pending->is_bcast) {
        if (status == AM_OK && !pending->is_root) {
            request->status.MPI_ERROR = MPIDI_AM_memory_out(&pending->memory);
        }
        MPIDI_AM_memory_close(&pending->memory);
        MPIR_Datatype_release_if_not_builtin(pending->memory.datatype);
    }
    if (status != AM_OK) {
        request->status.MPI_ERROR = MPIDI_AM_group_error(request->comm, status);
    }
    MPL_free(pending);
    MPIDI_AM_complete(request);
}

/* NULL, and *request as well: MPICH has no more requests. */
static struct pending *pending_new(MPIR_Comm * comm, MPIR_Request ** request)
{
    struct pending *pending;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    *request = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (*request == NULL) {
        return NULL;
    }
    pending = MPL_calloc(1, sizeof(*pending), MPL_MEM_OTHER);
    MPIR_Assertp(pending != NULL);
    pending->request = *request;
    return pending;
}

static void pending_start(struct am_coll_group *group, const struct am_coll_call *call,
                          struct pending *pending)
{
    am_status_t status;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_coll_start(group, call, pending_done, pending);
    if (status != AM_OK) {
        pending_done(pending, status == AM_DONE ? AM_OK : status);
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
}

bool MPIDI_AM_group_ibarrier(MPIR_Comm * comm, MPIR_Request ** request)
{
    struct am_coll_call call = {.kind = AM_COLL_BARRIER };
    struct am_coll_group *group;
    struct pending *pending;

    if ((group = MPIDI_AM_group_of(comm)) == NULL) {
        return false;
    }
    pending = pending_new(comm, request);
    if (pending != NULL) {
        pending_start(group, &call, pending);
    }
    return true;
}

bool MPIDI_AM_group_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                           MPIR_Comm * comm, MPIR_Request ** request)
{
    struct am_coll_call call = {.kind = AM_COLL_BCAST,.root = (uint32_t) root };
    struct am_coll_group *group;
    struct pending *pending;

    call.count = MPIDI_AM_group_bytes(count, datatype, MPIDI_AM_GROUP_BCAST_MOST);
    if (MPIDI_AM_global.crowded || (group = MPIDI_AM_group_of(comm)) == NULL || call.count == 0) {
        return false;
    }
    pending = pending_new(comm, request);
    if (pending == NULL) {
        return true;
    }
    pending->is_bcast = true;
    pending->is_root = comm->rank == root;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    MPIDI_AM_memory_open(&pending->memory, buffer, count, datatype);
    if (pending->is_root) {
        (*request)->status.MPI_ERROR = MPIDI_AM_memory_in(&pending->memory);
    }
    call.recv = pending->memory.bytes;
    pending_start(group, &call, pending);
    return true;
}

bool MPIDI_AM_group_iallreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                               MPI_Datatype datatype, MPI_Op op, MPIR_Comm * comm,
                               MPIR_Request ** request)
{
    struct am_coll_call call = {.kind = AM_COLL_ALLREDUCE,
        .send = sendbuf == MPI_IN_PLACE ? NULL : sendbuf,.recv = recvbuf
    };
    struct am_coll_group *group;
    struct MPIDI_AM_operator operator;
    struct pending *pending;

    if ((group = MPIDI_AM_group_of(comm)) == NULL ||
        !MPIDI_AM_group_is_reduction(op, datatype, count, MPIDI_AM_GROUP_ALLREDUCE_MOST, &operator,
                                     &call)) {
        return false;
    }
    pending = pending_new(comm, request);
    if (pending != NULL) {
        pending->operator = operator;
        call.op.arg = &pending->operator;
        pending_start(group, &call, pending);
    }
    return true;
}
