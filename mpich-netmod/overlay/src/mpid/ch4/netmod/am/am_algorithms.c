/*
 * MPIR_CVAR_BCAST_AM_INTRA_ALGORITHM and the like: which algorithm libam takes for a kind of
 * collective, by the names of libam (am_info --coll), or that MPICH does it.  They stand for
 * libam's AM_COLL_BCAST and the like, and come before these.
 */
#include <mpidimpl.h>
#include "am_impl.h"

/*
=== BEGIN_MPI_T_CVAR_INFO_BLOCK ===

cvars:
    - name        : MPIR_CVAR_BARRIER_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for barrier, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before AM_COLL_BARRIER.
        The same on all ranks.
    - name        : MPIR_CVAR_BCAST_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for broadcast, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before AM_COLL_BCAST. The
        same on all ranks.
    - name        : MPIR_CVAR_REDUCE_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for reduce, blocking and not; auto: libam's where it is faster,
        by cost; mpich: MPICH does all; else one that am_info --coll shows, for all
        communicators of the world that libam can do. Comes before AM_COLL_REDUCE. The
        same on all ranks.
    - name        : MPIR_CVAR_ALLREDUCE_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for allreduce, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before AM_COLL_ALLREDUCE.
        The same on all ranks.
    - name        : MPIR_CVAR_GATHER_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for gather, blocking and not; auto: libam's where it is faster,
        by cost; mpich: MPICH does all; else one that am_info --coll shows, for all
        communicators of the world that libam can do. Comes before AM_COLL_GATHER. The
        same on all ranks.
    - name        : MPIR_CVAR_SCATTER_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for scatter, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before AM_COLL_SCATTER.
        The same on all ranks.
    - name        : MPIR_CVAR_ALLGATHER_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for all-gather, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before AM_COLL_ALLGATHER.
        The same on all ranks.
    - name        : MPIR_CVAR_REDUCE_SCATTER_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for reduce-scatter, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before
        AM_COLL_REDUCE_SCATTER. The same on all ranks.
    - name        : MPIR_CVAR_ALLTOALL_AM_INTRA_ALGORITHM
      category    : COLLECTIVE
      type        : string
      default     : auto
      class       : none
      verbosity   : MPI_T_VERBOSITY_USER_BASIC
      scope       : MPI_T_SCOPE_ALL_EQ
      description : >-
        Algorithm of libam for all-to-all, blocking and not; auto: libam's where it is
        faster, by cost; mpich: MPICH does all; else one that am_info --coll shows, for
        all communicators of the world that libam can do. Comes before AM_COLL_ALLTOALL.
        The same on all ranks.
=== END_MPI_T_CVAR_INFO_BLOCK ===
*/

#define KINDS (AM_COLL_ALLTOALL + 1)    /* MPICH does scans itself */

static const struct {
    const char *option, *name;
    const char **value;
} rows[KINDS] = {
    [AM_COLL_BARRIER] = {"AM_COLL_BARRIER", "MPIR_CVAR_BARRIER_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_BARRIER_AM_INTRA_ALGORITHM},
    [AM_COLL_BCAST] = {"AM_COLL_BCAST", "MPIR_CVAR_BCAST_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_BCAST_AM_INTRA_ALGORITHM},
    [AM_COLL_REDUCE] = {"AM_COLL_REDUCE", "MPIR_CVAR_REDUCE_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_REDUCE_AM_INTRA_ALGORITHM},
    [AM_COLL_ALLREDUCE] = {"AM_COLL_ALLREDUCE", "MPIR_CVAR_ALLREDUCE_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_ALLREDUCE_AM_INTRA_ALGORITHM},
    [AM_COLL_GATHER] = {"AM_COLL_GATHER", "MPIR_CVAR_GATHER_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_GATHER_AM_INTRA_ALGORITHM},
    [AM_COLL_SCATTER] = {"AM_COLL_SCATTER", "MPIR_CVAR_SCATTER_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_SCATTER_AM_INTRA_ALGORITHM},
    [AM_COLL_ALLGATHER] = {"AM_COLL_ALLGATHER", "MPIR_CVAR_ALLGATHER_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_ALLGATHER_AM_INTRA_ALGORITHM},
    [AM_COLL_REDUCE_SCATTER] = {"AM_COLL_REDUCE_SCATTER", "MPIR_CVAR_REDUCE_SCATTER_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_REDUCE_SCATTER_AM_INTRA_ALGORITHM},
    [AM_COLL_ALLTOALL] = {"AM_COLL_ALLTOALL", "MPIR_CVAR_ALLTOALL_AM_INTRA_ALGORITHM",
                 &MPIR_CVAR_ALLTOALL_AM_INTRA_ALGORITHM}
};

/* What a variable says: by MPI_T, else by the environment; NULL: nothing. */
static const char *text_of(int kind)
{
    int bytes_max;
    const char *text = MPIDI_AM_cvar_text(rows[kind].name, &bytes_max);

    if (text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0) {
        text = *rows[kind].value;
    }
    return text == NULL || text[0] == '\0' || strcmp(text, "auto") == 0 ? NULL : text;
}

static bool is_mpichs(const char *text)
{
    return strcmp(text, "mpich") == 0;
}

/* In the place of the option that it stands for, or behind all. */
static int option_set(struct am_option *options, int n, int max, const char *name,
                      const char *text)
{
    int at = 0;

    while (at < n && strcmp(options[at].name, name) != 0) {
        at++;
    }
    if (at < max) {
        options[at].name = name;
        options[at].value = text;
    }
    return at == n && n < max ? n + 1 : n;
}

int MPIDI_AM_algorithm_options(struct am_option *options, int n, int max)
{
    for (int kind = 0; kind < KINDS; kind++) {
        const char *text = text_of(kind);

        if (text != NULL && !is_mpichs(text)) {
            n = option_set(options, n, max, rows[kind].option, text);
        }
    }
    return n;
}

/* libam's sentence begins with the name of its own variable. */
void MPIDI_AM_algorithm_error(char *error, size_t bytes)
{
    size_t length = strcspn(error, " ");

    for (int kind = 0; kind < KINDS; kind++) {
        const char *text = text_of(kind);

        if (text != NULL && !is_mpichs(text) && strlen(rows[kind].option) == length &&
            strncmp(error, rows[kind].option, length) == 0) {
            char *rest = MPL_strdup(error + length);

            snprintf(error, bytes, "%s%s, mpich", rows[kind].name, rest);
            MPL_free(rest);
            return;
        }
    }
}

static bool is_named(const struct am_variable_info *info, int kind)
{
    return strcmp(info->name, rows[kind].option) == 0 && strcmp(info->value, "auto") != 0;
}

/* What is in force, by these variables and by libam's own. */
void MPIDI_AM_algorithms_note(void)
{
    struct am_variable_info info;
    char value[1024];

    MPIDI_AM_global.mpichs = MPIDI_AM_global.named = 0;
    for (int kind = 0; kind < KINDS; kind++) {
        const char *text = text_of(kind);

        MPIDI_AM_global.mpichs |= text != NULL && is_mpichs(text) ? 1u << kind : 0;
        for (uint32_t i = 0;
             am_variable(MPIDI_AM_global.ctx[0], i, &info, value, sizeof(value)) == AM_OK; i++) {
            MPIDI_AM_global.named |= is_named(&info, kind) ? 1u << kind : 0;
        }
    }
    MPIDI_AM_global.named &= ~MPIDI_AM_global.mpichs;
}
