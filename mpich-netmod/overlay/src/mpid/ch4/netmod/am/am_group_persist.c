/*
 * Persistent collectives by libam: MPICH starts one as its schedule, unless this starts it as
 * the non-blocking one that it is (patch 0035).
 *
 * MPI orders the calls that make persistent collectives, and not those that start them: two
 * members may start two of them in different orders.  A schedule has a tag from when it was made.
 * libam, and a message of two ranks, go by the order of starts, so they are for communicators
 * whose program promises one order, by the hint
 * mpi_assert_strict_persistent_collective_ordering, which all members have or none.  It promises
 * nothing about starts and the calls of other collectives: a rank may start one before it calls
 * MPI_Ibcast, and another one after that.  So starts have a group and tags of their own
 * (MPIDI_AM_BY_STARTS).
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

#ifdef MPIR_HAVE_PERSIST_COLL_DEVICE

static int order_hint;          /* an index of MPIR_Comm's hints */

struct persistent {
    struct MPIR_Persist_coll_device device;
    struct MPIDI_AM_persistent args;
};

/* Each start chooses anew: the communicator may have got its group, or lost a member. */
static int persistent_start(struct MPIR_Persist_coll_device *device, MPIR_Comm * comm,
                            MPIR_Request ** real)
{
    const struct MPIDI_AM_persistent *a = &((struct persistent *) device)->args;
    const MPIDI_AM_order_t order = MPIDI_AM_BY_STARTS;
    MPIR_Request *request = NULL;
    bool is_started;

    if (!comm->hints[order_hint] ||
        (MPIDI_AM_COMM(comm).bits & (MPIDI_AM_COMM_GROUP | MPIDI_AM_COMM_BROKEN)) !=
        MPIDI_AM_COMM_GROUP) {
        return MPI_SUCCESS;
    }
    switch (a->kind) {
        case AM_COLL_BARRIER:
            is_started = MPIDI_AM_group_ibarrier(comm, order, &request);
            break;
        case AM_COLL_BCAST:
            is_started = MPIDI_AM_group_ibcast(a->recvbuf, a->recvcount, a->recvtype, a->root,
                                               comm, order, &request);
            break;
        case AM_COLL_REDUCE:
        case AM_COLL_ALLREDUCE:
            is_started = MPIDI_AM_group_ireduction(a->kind, a->sendbuf, a->recvbuf, a->recvcount,
                                                   a->recvtype, a->op, a->root, comm, order,
                                                   &request);
            break;
        default:
            is_started = MPIDI_AM_group_iblocks(a->kind, a->sendbuf, a->sendcount, a->sendtype,
                                                a->recvbuf, a->recvcount, a->recvtype, 0, comm,
                                                order, &request);
            break;
    }
    if (!is_started) {
        return MPI_SUCCESS;
    }
    if (request == NULL) {
        return MPIDI_AM_no_request();
    }
    *real = request;
    return MPI_SUCCESS;
}

static void handles_hold(const struct MPIDI_AM_persistent *a)
{
    if (MPIDI_AM_OP_IS_USERS(a->op)) {
        MPIR_Op_add_ref_if_not_builtin(a->op);
    }
    if (a->sendtype != MPI_DATATYPE_NULL) {
        MPIR_Datatype_add_ref_if_not_builtin(a->sendtype);
    }
    MPIR_Datatype_add_ref_if_not_builtin(a->recvtype);
}

static void persistent_free(struct MPIR_Persist_coll_device *device)
{
    struct MPIDI_AM_persistent *a = &((struct persistent *) device)->args;

    if (MPIDI_AM_OP_IS_USERS(a->op)) {
        MPIR_Op_release_if_not_builtin(a->op);
    }
    if (a->sendtype != MPI_DATATYPE_NULL) {
        MPIR_Datatype_release_if_not_builtin(a->sendtype);
    }
    MPIR_Datatype_release_if_not_builtin(a->recvtype);
    MPL_free(device);
}

void MPIDI_AM_group_persist_init(void)
{
    if (order_hint == 0) {      /* not by a second session */
        order_hint = MPIDI_AM_ORDER_HINT();
    }
}

void MPIDI_AM_group_persist(MPIR_Request * preq, const struct MPIDI_AM_persistent *args)
{
    struct persistent *p = MPL_malloc(sizeof(*p), MPL_MEM_OTHER);

    MPIR_Assertp(p != NULL);
    p->device.start = persistent_start;
    p->device.free = persistent_free;
    p->args = *args;
    handles_hold(&p->args);
    preq->u.persist_coll.device = &p->device;
}

#endif
