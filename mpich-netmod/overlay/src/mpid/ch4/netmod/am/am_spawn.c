/*
 * Dynamic processes: what ch4's spawn, connect and accept need.  An address is
 * libam's blob; processes outside the world are connected late.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"
#include <sched.h>

#if !MPIDI_AM_SINCE(5, 0, 0)    /* else am_mpich5.c */

/* A context that no communicator can have. */
#define DYNAMIC_CONTEXT UINT32_MAX

/* Outlives a call that gives up waiting: then its completion frees it.  So all that libam
 * writes or reads until then is in here, not in the caller's memory. */
struct wait {
    bool done, abandoned;
    am_status_t status;
    struct am_msg_status result;
    char data[];
};

static struct wait *wait_create(size_t bytes)
{
    struct wait *wait = MPL_calloc(1, sizeof(*wait) + bytes, MPL_MEM_OTHER);

    MPIR_Assertp(wait != NULL);
    return wait;
}

static void wait_done(void *arg, const struct am_msg_status *status)
{
    struct wait *wait = arg;

    wait->done = true;
    wait->status = status->status;
    if (wait->abandoned) {
        MPL_free(wait);
    }
}

/* Poll until it is done or `timeout` seconds are over (0: no limit). */
static int wait_for(struct wait *wait, int timeout)
{
    int mpi_errno = MPI_SUCCESS;
    MPL_time_t start, now;
    double seconds = 0.0;

    MPL_wtime(&start);
    while (!wait->done && (timeout == 0 || seconds < (double) timeout)) {
        mpi_errno = MPID_Progress_test(NULL);
        MPIR_ERR_CHECK(mpi_errno);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        sched_yield();
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &seconds);
    }
    MPIR_ERR_CHKANDJUMP(!wait->done, mpi_errno, MPI_ERR_PORT, "**am_port");
    if (wait->status != AM_OK) {
        mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], wait->status);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_AM_dynamic_send(uint64_t remote_gpid, int tag, const void *buf, int size, int timeout)
{
    int avtid = MPIDIU_GPID_GET_AVTID(remote_gpid);
    int lpid = MPIDIU_GPID_GET_LPID(remote_gpid);
    uint32_t peer = MPIDI_AM_peer(&MPIDIU_get_av(avtid, lpid), 0, 0);
    struct am_msg_envelope envelope = {.context = DYNAMIC_CONTEXT,.tag = (uint32_t) tag };
    struct wait *wait = wait_create((size_t) size);
    struct am_data data = am_data_contig(wait->data, (size_t) size);
    struct am_msg_req *msg;
    am_status_t status;
    int mpi_errno = MPI_SUCCESS;

    memcpy(wait->data, buf, (size_t) size);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_msg_isend(MPIDI_AM_global.ctx[0], peer, &envelope, &data, AM_MSG_SYNC, wait_done,
                          wait, &msg);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (status == AM_OK) {
        mpi_errno = wait_for(wait, timeout);
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
        /* a receiver that calls later is not to take it */
        wait->abandoned = !wait->done && am_msg_cancel(msg) != AM_DONE;
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    } else if (status < 0) {
        mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
    }
    if (!wait->abandoned) {
        MPL_free(wait);
    }
    return mpi_errno;
}

int MPIDI_AM_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    struct am_msg_envelope envelope = {.context = DYNAMIC_CONTEXT,.tag = (uint32_t) tag };
    struct am_msg_mask mask = {.context = UINT32_MAX,.source = 0,.tag = UINT32_MAX };
    struct wait *wait = wait_create((size_t) size);
    struct am_data data = am_data_contig(wait->data, (size_t) size);
    struct am_msg_req *msg;
    am_status_t status;
    int mpi_errno = MPI_SUCCESS;

    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    status = am_msg_irecv(MPIDI_AM_global.ctx[0], &envelope, &mask, &data, wait_done, wait,
                          &wait->result, &msg);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    if (status == AM_OK) {
        mpi_errno = wait_for(wait, timeout);
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
        wait->abandoned = !wait->done && am_msg_cancel(msg) != AM_DONE;
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    } else if (status < 0) {
        mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
    }
    if (!wait->abandoned) {
        memcpy(buf, wait->data, (size_t) size);
        MPL_free(wait);
    }
    return mpi_errno;
}

/* Is this peer in a table already? */
static bool find_peer(uint32_t peer, uint64_t * gpid)
{
    for (int t = 0; t < MPIDIU_get_n_avts(); t++) {
        MPIDI_av_table_t *table = MPIDIU_get_av_table(t);

        for (int i = 0; table != NULL && i < table->size; i++) {
            if (MPIDI_AM_peer(&MPIDIU_get_av(t, i), 0, 0) == peer) {
                *gpid = MPIDIU_GPID_CREATE(t, i);
                return true;
            }
        }
    }
    return false;
}

/* The processes outside the world that this one asked libam for. */
static struct {
    uint32_t *peers;
    int count, max;
} late;

static void late_add(uint32_t peer)
{
    if (late.count == late.max) {
        late.max = 2 * late.max + 8;
        late.peers = MPL_realloc(late.peers, (size_t) late.max * sizeof(uint32_t), MPL_MEM_OTHER);
        MPIR_Assertp(late.peers != NULL);
    }
    late.peers[late.count++] = peer;
}

/* Let go of those that no communicator reaches any more.  What is still under way with one
 * keeps it until the next time. */
static void late_sweep(void)
{
    int kept = 0;
    uint64_t gpid;

    for (int i = 0; i < late.count; i++) {
        if (find_peer(late.peers[i], &gpid) ||
            am_disconnect(MPIDI_AM_global.ctx[0], late.peers[i]) == AM_ERR_AGAIN) {
            late.peers[kept++] = late.peers[i];
        }
    }
    late.count = kept;
}

void MPIDI_AM_late_free(void)
{
    MPL_free(late.peers);
    late.peers = NULL;
    late.count = late.max = 0;
}

int MPIDI_AM_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                            uint64_t * remote_gpids)
{
    int *fresh = MPL_malloc((size_t) size * sizeof(int), MPL_MEM_ADDRESS);
    uint32_t *peers = MPL_malloc((size_t) size * sizeof(uint32_t), MPL_MEM_ADDRESS);
    const char *upid = remote_upids;
    int n_fresh = 0, avtid;
    int mpi_errno = MPI_SUCCESS;

    MPIR_Assertp(fresh != NULL && peers != NULL);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
    late_sweep();
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
    for (int i = 0; i < size; i++) {
        am_status_t status;

        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
        status = MPIDI_AM_connect_upid(upid, remote_upid_size[i], &peers[i]);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
        if (status != AM_OK) {
            mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
            MPIR_ERR_CHECK(mpi_errno);
        }
        upid += remote_upid_size[i];
        if (!find_peer(peers[i], &remote_gpids[i])) {
            late_add(peers[i]);
            fresh[n_fresh++] = i;
        }
    }
    if (n_fresh > 0) {
        mpi_errno = MPIDIU_new_avt(n_fresh, &avtid);
        MPIR_ERR_CHECK(mpi_errno);
        for (int i = 0; i < n_fresh; i++) {
            MPIDI_AM_AV(&MPIDIU_get_av(avtid, i)) = (MPIDI_AM_addr_t) {.peer = peers[fresh[i]] };
            remote_gpids[fresh[i]] = MPIDIU_GPID_CREATE(avtid, i);
        }
    }

  fn_exit:
    MPL_free(fresh);
    MPL_free(peers);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif
