/*
 * The wait for a collective of libam, and what its errors are in MPI.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

#include <stdatomic.h>

int MPIDI_AM_group_error(MPIR_Comm * comm, am_status_t status)
{
    return status == AM_ERR_PEER ? MPIDI_AM_error_broken(comm) :
        MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
}

struct wait {
    MPIR_Request *request;      /* of a wait that takes longer */
    am_status_t status;
    atomic_bool is_done;        /* then nobody else touches it any more */
};

static void wait_done(void *arg, am_status_t status)
{
    struct wait *wait = arg;

    wait->status = status;
    if (wait->request != NULL) {
        MPIDI_AM_complete(wait->request);
    }
    /* last: who waits is perhaps another thread, and then goes on */
    atomic_store_explicit(&wait->is_done, true, memory_order_release);
}

/* A collective that is done at once polls nothing.  One in so many polls all the same: what other
 * ranks want of this one goes on while the program calls nothing else. */
#define POLLED 64

static unsigned int at_once;    /* with the lock of vci 0 */

bool MPIDI_AM_group_poll_is_due(void)
{
    return ++at_once % POLLED == 0;
}

/* Progress has failed, for something else: the next poll tells. */
static void progress_failed(int mpi_errno)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    MPIDI_AM_failed(0, mpi_errno);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
}

void MPIDI_AM_group_poll(void)
{
    int mpi_errno = MPID_Progress_test(NULL);

    if (mpi_errno != MPI_SUCCESS) {
        progress_failed(mpi_errno);
    }
}

am_status_t MPIDI_AM_group_run(MPIR_Comm * comm, struct am_coll_group *group,
                               struct am_coll_call *call, MPIDI_AM_errflag_t * errflag)
{
    struct wait wait = { NULL, AM_OK, false };
    int mpi_errno = MPI_SUCCESS;
    bool polls = false;
    am_status_t status;

    call->is_waited_for = true;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_coll_start(group, call, wait_done, &wait);
    if (status == AM_OK) {
        wait.request = MPIDI_AM_request(MPIR_REQUEST_KIND__COLL, 0, comm, 2);
    } else {
        polls = MPIDI_AM_group_poll_is_due();
    }
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (unlikely(polls)) {
        MPIDI_AM_group_poll();
    }
    if (status != AM_OK) {
        return status == AM_DONE ? AM_OK : status;
    }
    if (wait.request != NULL) {
        mpi_errno = MPIDI_AM_c_wait(wait.request, errflag);
    }
    /* progress has failed, MPICH has no request for the wait, or another thread is in wait_done */
    while (!atomic_load_explicit(&wait.is_done, memory_order_acquire)) {
        int test_errno = MPID_Progress_test(NULL);

        mpi_errno = mpi_errno != MPI_SUCCESS ? mpi_errno : test_errno;
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    if (mpi_errno != MPI_SUCCESS && wait.status == AM_OK) {
        progress_failed(mpi_errno);
    }
    if (wait.request != NULL) {
        MPIR_Request_free(wait.request);
    }
    return wait.status;
}
