/*
 * The calls of an agreement (am_agree.h): it is made with this member's value, takes
 * part until it is through, and its result becomes that of the call.
 */
#include <mpidimpl.h>
#include "am_agree.h"

#if MPIDI_AM_FT

static struct MPIDI_AM_agreement *agreement_new(MPIR_Comm * comm, const uint32_t * words, int count)
{
    struct MPIDI_AM_ft *ft = MPIDI_AM_ft_of_comm(comm);
    struct MPIDI_AM_agreement *agreement =
        MPL_calloc(1, sizeof(*agreement) + 3 * (size_t) comm->local_size, MPL_MEM_OTHER);

    MPIR_Assertp(agreement != NULL);
    agreement->given = (uint8_t *) (agreement + 1);
    agreement->agreed = agreement->given + comm->local_size;
    agreement->asked = agreement->agreed + comm->local_size;
    agreement->comm = comm;
    agreement->number = ft->agreements++;
    agreement->coordinator = agreement->offered_by = -1;
    agreement->mine = MPIDI_AM_value_new((uint32_t) count, (uint32_t) comm->local_size);
    memcpy(agreement->mine->words, words, (size_t) count * sizeof(*words));
    for (int i = 0; i < comm->local_size; i++) {
        MPIDI_AM_value_ranks(agreement->mine)[i] = (uint8_t)
            ((MPIDI_AM_member_is_dead(comm, i) ? MPIDI_AM_RANK_FAILED : 0) |
             (ft->acked != NULL && ft->acked[i] ? MPIDI_AM_RANK_ACKED : 0));
    }
    return agreement;
}

static void agreement_free(struct MPIDI_AM_agreement *agreement)
{
    MPIDI_AM_ft_lock();
    MPIDI_AM_agree_end(agreement);
    MPIDI_AM_ft_unlock();
    MPL_free(agreement->mine);
    MPL_free(agreement->taken);
    MPL_free(agreement);
}

/* Wait until it is through. */
static int attend(struct MPIDI_AM_agreement *agreement)
{
    MPID_Progress_state state;
    int mpi_errno = MPI_SUCCESS;

    MPIDI_AM_FT_CALL_ENTER();
    MPIDI_AM_agree_begin(agreement);
    MPIDI_AM_FT_CALL_EXIT();
    MPID_Progress_start(&state);
    while (!agreement->done && mpi_errno == MPI_SUCCESS) {
        mpi_errno = MPID_Progress_wait_once(&state);
        MPID_THREAD_CS_YIELD(GLOBAL, MPIR_THREAD_GLOBAL_ALLFUNC_MUTEX);
    }
    MPID_Progress_end(&state);
    return mpi_errno;
}

int MPIDI_AM_agree_words(MPIR_Comm * comm, uint32_t * words, int count, uint8_t ** failed_p,
                         bool * acked_p)
{
    struct MPIDI_AM_agreement *agreement;
    int mpi_errno = MPI_SUCCESS;
    const uint8_t *ranks;

    *failed_p = NULL;
    MPIR_ERR_CHKANDJUMP(comm->comm_kind != MPIR_COMM_KIND__INTRACOMM, mpi_errno, MPI_ERR_COMM,
                        "**commnotintra");
    MPIDI_AM_dead_check();
    MPIDI_AM_FT_CALL_ENTER();
    agreement = agreement_new(comm, words, count);
    MPIDI_AM_FT_CALL_EXIT();
    mpi_errno = attend(agreement);
    if (mpi_errno == MPI_SUCCESS) {
        memcpy(words, agreement->taken->words, (size_t) count * sizeof(*words));
        ranks = MPIDI_AM_value_ranks(agreement->taken);
        *failed_p = MPL_malloc((size_t) comm->local_size, MPL_MEM_OTHER);
        MPIR_Assertp(*failed_p != NULL);
        *acked_p = true;
        for (int i = 0; i < comm->local_size; i++) {
            (*failed_p)[i] = (ranks[i] & MPIDI_AM_RANK_FAILED) != 0;
            *acked_p = *acked_p && ranks[i] != MPIDI_AM_RANK_FAILED;
        }
    }
    agreement_free(agreement);

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

int MPIDI_AM_agree(MPIR_Comm * comm, int *flag)
{
    uint32_t word = (uint32_t) * flag;
    int mpi_errno = MPI_SUCCESS;
    uint8_t *failed;
    bool acked = true;

    mpi_errno = MPIDI_AM_agree_words(comm, &word, 1, &failed, &acked);
    MPIR_ERR_CHECK(mpi_errno);
    MPL_free(failed);
    *flag = (int) word;
    if (!acked) {
        MPIDI_AM_dead_check();
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_PROC_FAILED, "**mpix_comm_agree");
    }

  fn_exit:
    return mpi_errno;
  fn_fail:
    goto fn_exit;
}

#endif /* MPIDI_AM_FT */
