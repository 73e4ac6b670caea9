/*
 * The errors of calls on a communicator with dead members, or on a revoked one:
 * their class, and their text, which names who has died and of what.
 */
#include <mpidimpl.h>
#include "am_ft.h"

#if MPIDI_AM_FT

#define TEXT_BYTES 200

/* The deaths of the communicator's members, as a text; their number. */
static int deaths_text(MPIR_Comm * comm, char *text)
{
    int count = comm == NULL ? 0 : MPIDI_AM_member_count(comm), deaths = 0;
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        if (MPIDI_AM_member_is_dead(comm, i)) {
            const char *death = am_peer_death(MPIDI_AM_global.ctx[0],
                                              MPIDI_AM_member_peer(comm, i, 0));

            length += (size_t) snprintf(text + length, TEXT_BYTES - length, "%s%s",
                                        deaths > 0 ? "; " : "", death);
            deaths++;
            if (length >= TEXT_BYTES) {
                break;
            }
        }
    }
    return deaths;
}

/* The first place in the text of an error: texts are cut at their end. */
static int error_deaths(MPIR_Comm * comm, int mpi_errno, int class)
{
    char text[TEXT_BYTES];

    if (deaths_text(comm, text) == 0 && deaths_text(MPIR_Process.comm_world, text) == 0) {
        MPL_strncpy(text, am_error_text(MPIDI_AM_global.ctx[0]), TEXT_BYTES);
    }
    return MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__, class,
                                "**am_peer", "**am_peer %s", text);
}

int MPIDI_AM_error_broken(MPIR_Comm * comm)
{
    struct MPIDI_AM_ft *ft;
    int mpi_errno = MPI_SUCCESS;

    if (comm->revoked) {
        MPIR_ERR_SET(mpi_errno, MPIX_ERR_REVOKED, "**revoked");
        return mpi_errno;
    }
    MPIDI_AM_ft_lock();
    ft = MPIDI_AM_ft_list;
    while (ft != NULL && !(ft->has_dead && MPIDI_AM_is_family(ft->comm, comm))) {
        ft = ft->next;
    }
    mpi_errno = error_deaths(ft != NULL ? ft->comm : comm, MPI_SUCCESS, MPIX_ERR_PROC_FAILED);
    MPIDI_AM_ft_unlock();
    return mpi_errno;
}

int MPIDI_AM_error_name(MPIR_Comm * comm, int mpi_errno)
{
    int class = MPIR_ERR_GET_CLASS(mpi_errno);

    if (MPIDI_AM_global.n_ctx == 0) {
        return mpi_errno;
    }
    if (comm != NULL && comm->revoked && class == MPI_ERR_OTHER) {
        return MPIR_Err_create_code(mpi_errno, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPIX_ERR_REVOKED, "**revoked", 0);
    }
    /* a collective may have forgotten why it failed */
    if (class == MPI_ERR_OTHER && comm != NULL && MPIDI_AM_IS_BROKEN(comm)) {
        class = MPIX_ERR_PROC_FAILED;
    }
    if (class != MPIX_ERR_PROC_FAILED && class != MPIX_ERR_PROC_FAILED_PENDING) {
        return mpi_errno;
    }
    MPIDI_AM_dead_check();      /* another rank has told, maybe */
    return error_deaths(comm, mpi_errno == class ? MPI_SUCCESS : mpi_errno, class);
}

#endif /* MPIDI_AM_FT */
