/*
 * Start and end of the netmod, in the order that ch4 calls them: init_local
 * (before any address is known), init_world, post_init (collectives on the
 * world work), finalize.  In 5.0 am_mpich5.c stands for the two in between.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>

/* Patch 0014: MPICH's own waits for other processes call MPIDI_AM_wait. */
#include "mpidu_init_shm.h"
#ifdef MPIR_PMI_WAIT_HOOK
#define MPIDI_AM_WAITS_CALL 1
#else
#define MPIDI_AM_WAITS_CALL 0
#endif

/* Patch 0026: MPI_Wtime asks the device. */
#if defined(__has_include)
#if __has_include("mpir_wtime.h")
#include "mpir_wtime.h"
#endif
#endif

/* A context that no communicator can have, nor am_spawn.c uses. */
#define MPIDI_AM_CONTEXT_BARRIER (UINT32_MAX - 1)

#define TAG_BITS_MATCHED 29

MPIDI_AM_global_t MPIDI_AM_global;

#ifdef MPIR_WTIME_HOOK
/* The time of a simulated machine, in seconds. */
static bool MPIDI_AM_wtime(double *time, double *tick)
{
    *time = (double) am_time_ps() * 1e-12;
    *tick = 1e-12;
    return true;
}
#endif

int MPIDI_AM_init_local(int *tag_bits)
{
    /* libam matches the bits below AM_MSG_TAG_MARKS.  Only the error bits, which MPICH puts above
     * its others, may lie in there; without them (--disable-tag-error-bits) all must match. */
    MPL_COMPILE_TIME_ASSERT(AM_MSG_TAG_MARKS == UINT32_MAX << TAG_BITS_MATCHED);
    *tag_bits = TAG_BITS_MATCHED + MPIR_TAG_ERROR_BITS;
    MPIDI_AM_global.n_ctx = 0;
    MPIDI_AM_global.phase = MPIDI_AM_STARTING;
    MPIDI_AM_deaths_forget();
    MPIDI_AM_global.connect_ms = MPIDI_AM_connect_timeout();
#ifdef MPIR_HAVE_PERSIST_COLL_DEVICE
    MPIDI_AM_group_persist_init();
#endif
#if MPIDI_AM_WAITS_CALL
    MPIR_pmi_wait_hook = MPIDI_AM_wait;
#endif
    return MPI_SUCCESS;
}

int MPIDI_AM_start(void)
{
    int mpi_errno = MPIDI_AM_world_open();

    if (mpi_errno == MPI_SUCCESS) {
        MPIDI_AM_global.virtual = am_time_is_virtual();
#ifdef MPIR_WTIME_HOOK
        if (MPIDI_AM_global.virtual) {
            MPIR_wtime_hook = MPIDI_AM_wtime;
        }
#endif
        MPIDI_AM_counters_register();
        MPIDI_AM_variables_show();
        if (MPIR_CVAR_DEBUG_SUMMARY && MPIR_Process.rank == 0) {
            MPIDI_AM_summary();
        }
    }
    return mpi_errno;
}

#if !MPIDI_AM_SINCE(5, 0, 0)
int MPIDI_AM_init_world(void)
{
    return MPIDI_AM_start();
}

#if MPIDI_AM_SINCE(4, 2, 0)
int MPIDI_AM_init_vcis(int num_vcis, int *num_vcis_actual)
{
    *num_vcis_actual = num_vcis;
    return MPI_SUCCESS;
}
#endif

int MPIDI_AM_post_init(void)
{
    MPIDI_AM_global.phase = MPIDI_AM_RUNNING;
    return MPIDI_AM_VCIS > 1 ? MPIDI_AM_vcis_open(MPIDI_AM_VCIS) : MPI_SUCCESS;
}
#endif

#if MPIDI_AM_WAITS_CALL
/*
 * One after another, so that the launcher ends the others when the first has
 * spoken: one sentence.
 */
static void end_start(const char *sentence)
{
    usleep((useconds_t) MPL_MIN(MPIR_Process.rank, 50) * 20000);
    MPIDI_AM_end(sentence);
}

/* Some process does not come. */
static void starting_wait(double begin, int rank)
{
    char text[160];

    if (MPIDI_AM_global.n_ctx > 0 && am_check(MPIDI_AM_global.ctx[0]) != AM_OK) {
        end_start(am_error_text(MPIDI_AM_global.ctx[0]));
    }
    if (rank >= 0) {
        snprintf(text, sizeof(text), "rank %d is gone: its process ended in MPI_Init", rank);
        end_start(text);
    }
    if (MPIR_pmi_clock() - begin > MPIDI_AM_global.connect_ms * 1e-3) {
        snprintf(text, sizeof(text),
                 "not all ranks came to MPI_Init within %.0f ms (AM_CONNECT_TIMEOUT)",
                 MPIDI_AM_global.connect_ms);
        end_start(text);
    }
}

#endif

/* All contexts: a peer may need the one that is quiet here. */
static int poll_now(void)
{
    int events = 0;

    for (int i = 0; i < MPIDI_AM_global.n_ctx && events >= 0; i++) {
        int found = am_ctx_poll(MPIDI_AM_global.ctx[i]);

        events = found < 0 ? found : events + found;
    }
    return events;
}

static int poll_all(void)
{
    int events;

    if (MPIDI_AM_global.n_ctx == 1) {
        return am_ctx_poll_wait(MPIDI_AM_global.ctx[0]);
    }
    events = poll_now();
    if (events == 0) {
        MPL_sched_yield();
    }
    return events;
}

/*
 * Has a rank of the world died?  That ends the waits at the end, for all ranks, as
 * each finds it out.  The death of another process (one that was spawned) does not:
 * only those that were connected to it learn of it, and the others count on them.
 */
static bool world_has_dead(void)
{
    return MPIDI_AM_global.n_ctx > 0 && am_check(MPIDI_AM_global.ctx[0]) == AM_ERR_PEER;
}

#if MPIDI_AM_WAITS_CALL
/* May who waits for the launcher hold the lock of vci 0, which no thread gets twice?  The
 * program's other threads poll then. */
#if MPIDI_AM_SINCE(4, 2, 0)
#define MPIDI_AM_MAY_HOLD_LOCKS MPIR_ThreadInfo.isThreaded
#else
#define MPIDI_AM_MAY_HOLD_LOCKS false
#endif

/*
 * MPICH waits for other processes without MPI: for the launcher, or in a barrier in shared
 * memory.  While the job starts nobody needs us, and who does not come in time never will.
 * At its end, and while the launcher spawns, peers may still need acknowledgements; at the
 * end the death of one of them ends the wait.
 */
int MPIDI_AM_wait(double begin, int rank)
{
    int events = 0;

    switch (MPIDI_AM_global.phase) {
        case MPIDI_AM_STARTING:
            starting_wait(begin, rank);
            break;
        case MPIDI_AM_ABORTING:
            return MPIR_pmi_clock() - begin > 2.0 ? MPI_ERR_OTHER : MPI_SUCCESS;
        case MPIDI_AM_RUNNING:
            if (!MPIDI_AM_MAY_HOLD_LOCKS) {
                MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI_LOCK(0));
                (void) am_ctx_poll(MPIDI_AM_global.ctx[0]);
                MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI_LOCK(0));
            }
            break;
        case MPIDI_AM_ENDING:
            do {
                events = MPIDI_AM_global.n_ctx > 0 ? poll_now() : 0;
            } while (events > 0);
            if (world_has_dead()) {
                return MPIDI_AM_error(MPIDI_AM_global.ctx[0], AM_ERR_PEER);
            }
            break;
    }
    sched_yield();
    return MPI_SUCCESS;
}
#endif

/* What a poll told ends the waits for the world. */
static bool is_fatal(int events)
{
    return events < 0 && (events != AM_ERR_PEER || world_has_dead());
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
    } while (!is_flushed && !is_fatal(events));
    return is_fatal(events) ? (am_status_t) events : AM_OK;
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
        static bool sent, received;     /* a death may leave them to a later poll */
        am_status_t status;
        int events = 0;

        sent = received = false;
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
        while ((!sent || !received) && !is_fatal(events)) {
            events = poll_all();
        }
        if (is_fatal(events)) {
            return (am_status_t) events;
        }
    }
    return AM_OK;
}

static void contexts_close(void)
{
    if (MPIDI_AM_global.n_ctx > 0) {
        MPIDI_AM_variables_hide();
        MPIDI_AM_world_close();
        MPIDI_AM_groups_forget();
        MPIDI_AM_late_free();
        MPIDI_AM_group_idle_free();
    }
}

#if !MPIDI_AM_WAITS_CALL
/* So often at least a rank polls after a death before it gives up the launcher's barrier:
 * about a second.  Who has died may have been in it, and then it ends. */
#define MPIDI_AM_LATE_POLLS 5000

static MPL_atomic_int_t launcher_is_through;

static void *wait_for_launcher(void *mpi_errno)
{
    *(int *) mpi_errno = MPIR_pmi_barrier();
    MPL_atomic_store_int(&launcher_is_through, 1);
    return NULL;
}

/*
 * The launcher's barrier, in a thread, while this one polls.  MPICH blocks in a read there,
 * for ever when a rank has died that was not in it yet, and only cancelling the thread ends
 * that.  Where there can be no thread, the contexts close first.
 */
static int launcher_barrier(void)
{
    pthread_t thread;
    sigset_t all, before;
    bool is_helped;
    int mpi_errno = MPI_SUCCESS, late = 0;

    MPL_atomic_store_int(&launcher_is_through, 0);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);        /* signals are the program's */
    is_helped = pthread_create(&thread, NULL, wait_for_launcher, &mpi_errno) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!is_helped) {
        contexts_close();
        return MPIR_pmi_barrier();
    }
    while (MPL_atomic_load_int(&launcher_is_through) == 0 && late < MPIDI_AM_LATE_POLLS) {
        if (poll_now() <= 0) {
            usleep(200);        /* peers wait for acknowledgements, not for work */
        }
        late += world_has_dead();
    }
    if (late == MPIDI_AM_LATE_POLLS) {
        pthread_cancel(thread);
    }
    pthread_join(thread, NULL);
    return mpi_errno;
}
#else
#define launcher_barrier MPIR_pmi_barrier
#endif

/*
 * All that was sent must reach its receiver although the receiver may be in
 * here already, and where packets get lost the sender must learn that it did.
 * Every rank flushes, polls in a barrier on messages, flushes what it sent for
 * that, and then polls in the launcher's barrier: that one ends when every rank
 * has flushed all, so after it nobody needs anybody.  MPICH polls there when
 * patch 0014 has taught it to (MPIDI_AM_wait); else a thread waits.  Where how
 * often it polls would depend on this machine and not on the simulated one, the
 * contexts close before it: a close answers peers until they have closed, too.
 *
 * Where a rank has died no barrier would end: the others leave when they have
 * flushed.
 */
int MPIDI_AM_mpi_finalize_hook(void)
{
    int mpi_errno = MPI_SUCCESS;
    am_status_t status = AM_OK;

    if (MPIDI_AM_global.n_ctx == 0) {
        return MPI_SUCCESS;
    }
    MPIDI_AM_greetings_wait();
    (void) flush_all();
    MPIDI_AM_global.phase = MPIDI_AM_ENDING;
    if (MPIR_Process.size > 1 && !world_has_dead()) {
        status = last_barrier(MPIDI_AM_global.ctx[0]);
    }
    if (MPIR_Process.size > 1 && !world_has_dead()) {
        if (status != AM_OK) {
            mpi_errno = MPIDI_AM_error(MPIDI_AM_global.ctx[0], status);
            MPIR_ERR_CHECK(mpi_errno);
        }
        if (MPIDI_AM_global.virtual) {
            contexts_close();
            mpi_errno = MPIR_pmi_barrier();
        } else {
            (void) flush_all();
            mpi_errno = launcher_barrier();
        }
        if (!world_has_dead()) {        /* or one has died meanwhile */
            MPIR_ERR_CHECK(mpi_errno);
        }
        mpi_errno = MPI_SUCCESS;
    }

  fn_exit:
    contexts_close();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
