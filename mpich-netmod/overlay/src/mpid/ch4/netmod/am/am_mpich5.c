/*
 * The start and the spawning of MPICH 5.0, which asks for them in other ways than
 * 4.x (am_init.c, am_spawn.c): the world starts when its communicator is made, vcis
 * are opened for a communicator, processes are known by lpids in ch4's own tables,
 * and the entries of spawning are called with the lock of vci 0 held.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"
#include <sched.h>

#if MPIDI_AM_SINCE(5, 0, 0)

#include "mpidu_init_shm.h"

/* ------------------------------------------------------------ start */

/* Has nobody else prepared what am_world.c exchanges addresses through?  MPICH's own
 * shared memory, which starts before this, does without where it can. */
#if defined(MPIDI_CH4_DIRECT_NETMOD) || defined(MPL_HAVE_INITSHM)
#define INIT_SHM_IS_OURS 1
#else
#define INIT_SHM_IS_OURS 0
#endif

int MPIDI_AM_comm_bootstrap(MPIR_Comm * comm)
{
    int mpi_errno = MPI_SUCCESS;

    if (!(comm->attr & MPIR_COMM_ATTR__BOOTSTRAP) || MPIDI_AM_global.n_ctx > 0) {
        return MPI_SUCCESS;
    }
    MPIR_Assertp(comm == MPIR_Process.comm_world);      /* MPID_SESSION_USE_WORLD */
#if INIT_SHM_IS_OURS
    mpi_errno = MPIDU_Init_shm_init();
    MPIR_ERR_CHECK(mpi_errno);
#endif
    mpi_errno = MPIDI_AM_start();
#if INIT_SHM_IS_OURS
    if (mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPIDU_Init_shm_finalize();
    }
#endif
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Every rank gets as many as the one that asks for the fewest: each vci has a
 * partner of its number in all ranks.  The start ends with this, for the world. */
int MPIDI_AM_comm_set_vcis(MPIR_Comm * comm, int num_implicit, int num_reserved,
                           MPIDI_num_vci_t * all_num_vcis)
{
    MPIDI_num_vci_t mine = { 0 };
    MPIDI_num_vci_t least;
    int mpi_errno;

    mine.n_vcis = num_implicit;
    mine.n_total_vcis = num_implicit + num_reserved;
    mpi_errno = MPIDI_AM_allgather(&mine, all_num_vcis, sizeof(mine), comm);
    MPIR_ERR_CHECK(mpi_errno);
    least = mine;
    for (int i = 0; i < comm->local_size; i++) {
        least.n_vcis = MPL_MIN(least.n_vcis, all_num_vcis[i].n_vcis);
        least.n_total_vcis = MPL_MIN(least.n_total_vcis, all_num_vcis[i].n_total_vcis);
    }
    for (int i = 0; i < comm->local_size; i++) {
        all_num_vcis[i] = least;
    }
    if (least.n_total_vcis > 1) {
        mpi_errno = MPIDI_AM_vcis_open(least.n_total_vcis);
        MPIR_ERR_CHECK(mpi_errno);
    }
    MPIDI_AM_global.phase = MPIDI_AM_RUNNING;

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* ------------------------------------------------------------ spawn */

/* Contexts that no communicator can have: 16 bits are a communicator's. */
#define DYNAMIC_CONTEXT(id_) (UINT32_C(0x80000000) | (uint32_t) (id_))
#define PAIR_CONTEXT         DYNAMIC_CONTEXT(0x1ffff)   /* of two who know no communicator */

/* What one call sends and receives; NULL and 0 for a side that it has not. */
struct talk {
    const void *send_buf;
    void *recv_buf;
    int send_size, recv_size;
    unsigned send_flags;
    uint32_t send_context, recv_context;
    int tag;
    int timeout;                /* seconds, 0: no limit */
};

/* One side under way.  It outlives a call that gives up waiting: then its completion
 * frees it.  The bytes are its own, since the caller's may be gone by then. */
struct side {
    bool done, abandoned;
    am_status_t status;
    struct am_msg_req *msg;
    char bytes[];
};

static void side_done(void *arg, const struct am_msg_status *status)
{
    struct side *side = arg;

    side->done = true;
    side->status = status->status;
    if (side->abandoned) {
        MPL_free(side);
    }
}

static struct side *side_new(const void *bytes, int size)
{
    struct side *side = MPL_calloc(1, sizeof(*side) + (size_t) size, MPL_MEM_OTHER);

    MPIR_Assertp(side != NULL);
    if (bytes != NULL) {
        memcpy(side->bytes, bytes, (size_t) size);
    }
    return side;
}

/* The call of libam returned `status`. */
static void side_began(struct side *side, am_status_t status)
{
    if (status != AM_OK) {
        side->done = true;
        side->status = status < 0 ? status : AM_OK;
    }
}

static struct side *send_begin(const struct talk *talk, uint32_t peer)
{
    struct am_msg_envelope envelope = {.context = talk->send_context,.tag = (uint32_t) talk->tag };
    struct side *side = side_new(talk->send_buf, talk->send_size);
    struct am_data data = am_data_contig(side->bytes, (size_t) talk->send_size);

    side_began(side, am_msg_isend(MPIDI_AM_global.ctx[0], peer, &envelope, &data,
                                  talk->send_flags, side_done, side, &side->msg));
    return side;
}

static struct side *recv_begin(const struct talk *talk)
{
    struct am_msg_envelope envelope = {.context = talk->recv_context,.tag = (uint32_t) talk->tag };
    struct am_msg_mask mask = {.context = UINT32_MAX,.source = 0,.tag = UINT32_MAX };
    struct side *side = side_new(NULL, talk->recv_size);
    struct am_data data = am_data_contig(side->bytes, (size_t) talk->recv_size);
    struct am_msg_status result;

    side_began(side, am_msg_irecv(MPIDI_AM_global.ctx[0], &envelope, &mask, &data, side_done,
                                  side, &result, &side->msg));
    return side;
}

/* Poll until both are done, without the lock that the caller holds, or until the time
 * is over: *in_time tells. */
static int wait_for(const struct side *send, const struct side *recv, int timeout, bool * in_time)
{
    int mpi_errno = MPI_SUCCESS;
    MPL_time_t start, now;
    double seconds = 0.0;

    MPL_wtime(&start);
    *in_time = true;
    while ((send != NULL && !send->done) || (recv != NULL && !recv->done)) {
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
        mpi_errno = MPID_Progress_test(NULL);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
        sched_yield();
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
        MPIR_ERR_CHECK(mpi_errno);
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &seconds);
        if (timeout > 0 && seconds >= (double) timeout) {
            *in_time = false;
            break;
        }
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* Its outcome; it is freed, or left to its completion.  What is not done is cancelled: a process
 * that calls later is not to take it. */
static am_status_t side_end(struct side *side)
{
    am_status_t status = side->status;

    if (side->done || am_msg_cancel(side->msg) == AM_DONE) {
        MPL_free(side);
    } else {
        side->abandoned = true;
    }
    return status;
}

/* `error` is what a call that takes too long returns. */
static int talk_with(const struct talk *talk, MPIR_Lpid remote, int error)
{
    struct side *send = NULL, *recv = NULL;
    int mpi_errno = MPI_SUCCESS, wait_errno;
    am_status_t status = AM_OK;
    bool in_time;

    if (talk->recv_size > 0) {
        recv = recv_begin(talk);
    }
    if (talk->send_size > 0) {
        send = send_begin(talk, MPIDI_AM_peer(MPIDIU_lpid_to_av_slow(remote), 0, 0));
    }
    wait_errno = wait_for(send, recv, talk->timeout, &in_time);
    if (recv != NULL) {
        if (recv->done && recv->status == AM_OK) {
            memcpy(talk->recv_buf, recv->bytes, (size_t) talk->recv_size);
        }
        status = side_end(recv);
    }
    if (send != NULL) {
        am_status_t sent = side_end(send);

        status = status == AM_OK ? sent : status;
    }
    MPIR_ERR_CHKANDJUMP(!in_time, mpi_errno, error, "**am_port");
    mpi_errno = wait_errno;
    MPIR_ERR_CHECK(mpi_errno);
    if (status != AM_OK) {
        mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_AM_dynamic_send(MPIR_Lpid remote_lpid, int tag, const void *buf, int size, int timeout)
{
    struct talk talk = {.send_buf = buf,.send_size = size,.send_flags = AM_MSG_SYNC,
        .send_context = PAIR_CONTEXT,.tag = tag,.timeout = timeout
    };

    return talk_with(&talk, remote_lpid, MPI_ERR_PORT);
}

int MPIDI_AM_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    struct talk talk = {.recv_buf = buf,.recv_size = size,
        .recv_context = PAIR_CONTEXT,.tag = tag,.timeout = timeout
    };

    return talk_with(&talk, MPIR_LPID_INVALID, MPI_ERR_PORT);
}

int MPIDI_AM_dynamic_sendrecv(MPIR_Lpid remote_lpid, MPIR_Comm * peer_comm, int tag,
                              const void *send_buf, int send_size, void *recv_buf, int recv_size,
                              int timeout)
{
    struct talk talk = {.send_buf = send_buf,.send_size = send_size,
        .recv_buf = recv_buf,.recv_size = recv_size,
        .send_context = DYNAMIC_CONTEXT(peer_comm->context_id),
        .recv_context = DYNAMIC_CONTEXT(peer_comm->recvcontext_id),
        .tag = tag,.timeout = timeout
    };

    return talk_with(&talk, remote_lpid, MPIX_ERR_TIMEOUT);
}

#endif
