/*
 * Start and end of the netmod, in the order that ch4 calls them: init_local
 * (before any address is known), init_world, post_init (collectives on the
 * world work), finalize.
 */
#include <mpidimpl.h>
#include "am_impl.h"
#include "am_noinline.h"

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

/*
 * All that was sent must reach its receiver although the receiver may be in
 * here already.  Every rank flushes before the barrier and polls in it, and
 * what a rank sent for the barrier itself is taken by ranks still in it.  The
 * second barrier needs no traffic of ours: after it nobody sends.
 */
int MPIDI_AM_mpi_finalize_hook(void)
{
    MPIR_Errflag_t errflag = MPIR_ERR_NONE;
    int mpi_errno = MPI_SUCCESS;

    if (MPIDI_AM_global.n_ctx == 0) {
        return MPI_SUCCESS;
    }
    for (int i = 0; i < MPIDI_AM_global.n_ctx; i++) {
        am_flush(MPIDI_AM_global.ctx[i]);
    }
    if (MPIR_Process.size > 1) {
        mpi_errno = MPIR_Barrier_impl(MPIR_Process.comm_world, &errflag);
        MPIR_ERR_CHECK(mpi_errno);
        for (int i = 0; i < MPIDI_AM_global.n_ctx; i++) {
            am_flush(MPIDI_AM_global.ctx[i]);
        }
        mpi_errno = MPIR_pmi_barrier();
        MPIR_ERR_CHECK(mpi_errno);
    }

  fn_exit:
    MPIDI_AM_world_close();
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}
