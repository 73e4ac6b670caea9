/*
 * MPIX_Comm_shrink: the members that live agree on who has died and on a context (am_agree.c), and
 * each makes the communicator of those that have not.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

#define SHRINK_TRIES 1000

/* The communicator of those ranks of `comm` that have not failed. */
static int survivors(MPIR_Comm * comm, const uint8_t * failed, int context_id, MPIR_Comm ** p)
{
    int *ranks = MPL_malloc((size_t) comm->local_size * sizeof(*ranks), MPL_MEM_OTHER);
    int mpi_errno = MPI_SUCCESS, count = 0;
    MPIR_Comm *shrunk = NULL;

    MPIR_Assertp(ranks != NULL);
    mpi_errno = MPIR_Comm_create(&shrunk);
    MPIR_ERR_CHECK(mpi_errno);
    for (int i = 0; i < comm->local_size; i++) {
        if (i == comm->rank) {
            shrunk->rank = count;
        }
        if (!failed[i]) {
            ranks[count++] = i;
        }
    }
    shrunk->context_id = shrunk->recvcontext_id = context_id;
    shrunk->comm_kind = MPIR_COMM_KIND__INTRACOMM;
    shrunk->local_comm = NULL;
    shrunk->local_size = shrunk->remote_size = count;
    mpi_errno = MPIDI_AM_comm_take_members(shrunk, comm, ranks, count);
    MPIR_ERR_CHECK(mpi_errno);
    shrunk->errhandler = comm->errhandler;
    if (comm->errhandler != NULL) {
        MPIR_Errhandler_add_ref(comm->errhandler);
    }
    mpi_errno = MPIR_Comm_commit(shrunk);
    MPIR_ERR_CHECK(mpi_errno);
    *p = shrunk;

  fn_exit:
    MPL_free(ranks);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

/* All survivors take the same context, unless another thread was faster somewhere. */
int MPIDI_AM_shrink(MPIR_Comm * comm, MPIR_Comm ** shrunk)
{
    uint32_t *mask = MPL_malloc(MPIR_MAX_CONTEXT_MASK * sizeof(*mask), MPL_MEM_OTHER);
    uint8_t *failed = NULL, *later = NULL;
    int mpi_errno = MPI_SUCCESS, context_id = 0;
    bool acked;

    MPIR_Assertp(mask != NULL);
    *shrunk = NULL;
    for (int i = 0; i < SHRINK_TRIES && context_id == 0; i++) {
        uint32_t is_taken;

        MPL_free(failed);
        MPL_free(later);
        later = NULL;
        MPIR_Contextid_mask(mask);
        mpi_errno = MPIDI_AM_agree_words(comm, mask, MPIR_MAX_CONTEXT_MASK, &failed, &acked);
        MPIR_ERR_CHECK(mpi_errno);
        context_id = MPIR_Contextid_take(mask);
        is_taken = context_id != 0;
        mpi_errno = MPIDI_AM_agree_words(comm, &is_taken, 1, &later, &acked);
        MPIR_ERR_CHECK(mpi_errno);
        if (!is_taken && context_id != 0) {
            MPIR_Free_contextid(context_id);
            context_id = 0;
        }
    }
    MPIR_ERR_CHKANDJUMP(context_id == 0, mpi_errno, MPI_ERR_OTHER, "**toomanycomm");
    mpi_errno = survivors(comm, failed, context_id, shrunk);
    MPIR_ERR_CHECK(mpi_errno);

  fn_exit:
    MPL_free(mask);
    MPL_free(failed);
    MPL_free(later);
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif /* MPIDI_AM_FT */
