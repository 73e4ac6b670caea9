/*
 * Start and end of the netmod, in the order that ch4 calls them: init_local
 * (before any address is known), init_world, post_init (collectives on the
 * world work), finalize.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"

/* A context that no communicator can have, nor am_spawn.c uses. */
#define MPIDI_AM_CONTEXT_BARRIER (UINT32_MAX - 1)

MPIDI_AM_global_t MPIDI_AM_global;

int MPIDI_AM_init_local(int *tag_bits)
{
    /* AM_MSG_TAG_MARKS must hold the error bits: 2 below the 31st */
    MPL_COMPILE_TIME_ASSERT(MPIR_TAG_BITS_DEFAULT == 31);
    *tag_bits = MPIR_TAG_BITS_DEFAULT;
    MPIDI_AM_global.n_ctx = 0;
    return MPI_SUCCESS;
}

int MPIDI_AM_init_world(void)
{
    int mpi_errno = MPIDI_AM_world_open();

    if (mpi_errno == MPI_SUCCESS) {
        MPIDI_AM_counters_register();
        MPIDI_AM_variables_show();
        if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0) {
            MPIDI_AM_summary();
        }
    }
    return mpi_errno;
}

int MPIDI_AM_post_init(void)
{
    return MPIDI_global.n_vcis > 1 ? MPIDI_AM_vcis_open() : MPI_SUCCESS;
}

/* All contexts: a peer may need the one that is quiet here. */
static int poll_all(void)
{
    int events = 0;

    if (MPIDI_AM_global.n_ctx == 1) {
        return am_ctx_poll_wait(MPIDI_AM_global.ctx[0]);
    }
    for (int i = 0; i < MPIDI_AM_global.n_ctx && events >= 0; i++) {
        int found = am_ctx_poll(MPIDI_AM_global.ctx[i]);

        events = found < 0 ? found : events + found;
    }
    if (events == 0) {
        MPL_sched_yield();
    }
    return events;
}

static am_status_t flush_all(void)
{
    bool is_flushed;
    int events;

    do {
        events = poll_all();
        is_flushed = true;
        for (int i = 0; i < MPIDI_AM_global.n_ctx; i++) {
            is_flushed = is_flushed && am_is_flushed(MPIDI_AM_global.ctx[i]);
        }
    } while (events >= 0 && !is_flushed);
    return events < 0 ? (am_status_t) events : AM_OK;
}

static void round_done(void *arg, const struct am_msg_status *status)
{
    *(bool *) arg = true;
}

/*
 * A barrier of the world on messages alone (no communicator is left here):
 * rounds in which each rank sends to the one 1, 2, 4... after it.  Every rank
 * polls until all are in it.
 */
static am_status_t last_barrier(struct am_ctx *ctx)
{
    uint32_t rank = (uint32_t) MPIR_Process.rank, size = (uint32_t) MPIR_Process.size;
    struct am_data none = am_data_contig(NULL, 0);
    struct am_msg_envelope envelope = {.context = MPIDI_AM_CONTEXT_BARRIER };
    struct am_msg_mask mask = { UINT32_MAX, UINT32_MAX, UINT32_MAX };

    for (uint32_t step = 1, round = 0; step < size; step *= 2, round++) {
        struct am_msg_status result;
        struct am_msg_req *req;
        bool sent = false, received = false;
        am_status_t status;
        int events = 0;

        envelope.tag = round;
        envelope.source = rank;
        status = am_msg_isend(ctx, (rank + step) % size, &envelope, &none, 0, round_done, &sent,
                              &req);
        if (status < 0) {
            return status;
        }
        sent = sent || status == AM_DONE;
        envelope.source = (rank + size - step) % size;
        status = am_msg_irecv(ctx, &envelope, &mask, &none, round_done, &received, &result, &req);
        if (status < 0) {
            return status;
        }
        received = received || status == AM_DONE;
        while ((!sent || !received) && events >= 0) {
            events = poll_all();
        }
        if (events < 0) {
            return (am_status_t) events;
        }
    }
    return AM_OK;
}

/*
 * All that was sent must reach its receiver although the receiver may be in
 * here already.  Every rank flushes before the barrier and polls in it, and
 * what a rank sent for the barrier itself is taken by ranks still in it.  The
 * second barrier needs no traffic of ours: after it nobody sends.
 */
int MPIDI_AM_mpi_finalize_hook(void)
{
    int mpi_errno = MPI_SUCCESS;
    am_status_t status;

    if (MPIDI_AM_global.n_ctx == 0) {
        return MPI_SUCCESS;
    }
    (void) flush_all();         /* a peer that died is told of by the barrier */
    if (MPIR_Process.size > 1) {
        status = last_barrier(MPIDI_AM_global.ctx[0]);
        if (status != AM_OK) {
            mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
            MPIR_ERR_CHECK(mpi_errno);
        }
        (void) flush_all();
        mpi_errno = MPIR_pmi_barrier();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPIDI_AM_variables_hide();
    MPIDI_AM_world_close();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
