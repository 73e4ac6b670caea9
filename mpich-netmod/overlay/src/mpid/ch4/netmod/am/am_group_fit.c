/*
 * Which collectives are libam's: where all members share memory, and where that is faster than
 * MPICH's own algorithms over libam's messages.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

#define MOST 4096               /* bytes of the longest that has been measured to be faster */
/* Of two ranks: a short broadcast is one message, a longer all-gather two in place. */
#define PAIR_BCAST_LEAST    256
#define PAIR_ALLGATHER_MOST 1024

/* For measuring, until there are limits: AMX_MOST=BYTES takes all kinds up to so many bytes,
 * AMX_CROWD=1 also where ranks outnumber the cores. */
static bool fits_measured(const struct MPIDI_AM_collective *c, const char *most)
{
    return (!MPIDI_AM_global.crowded || getenv("AMX_CROWD") != NULL) &&
        c->bytes <= strtoull(most, NULL, 0);
}

static bool fits(MPIR_Comm * comm, const struct MPIDI_AM_collective *c, size_t piece)
{
    bool is_pair = comm->local_size == 2;
    const char *most = getenv("AMX_MOST");

    if (most != NULL) {
        return fits_measured(c, most);
    }
    if (c->call.is_vector || c->bytes > MOST) {
        return false;
    }
    switch (c->call.kind) {
        case AM_COLL_ALLREDUCE:
            return true;
        case AM_COLL_REDUCE:
            return !MPIDI_AM_global.crowded;
        case AM_COLL_BCAST:
            return !MPIDI_AM_global.crowded && !(is_pair && c->bytes < PAIR_BCAST_LEAST);
        case AM_COLL_ALLGATHER:
            return !MPIDI_AM_global.crowded && !(is_pair && c->bytes > PAIR_ALLGATHER_MOST);
        case AM_COLL_ALLTOALL:
            return !MPIDI_AM_global.crowded && c->bytes <= piece / (size_t) comm->local_size;
        default:
            return false;
    }
}

/* Non-blocking ones go there whether they share memory or not. */
static bool fits_start(const struct MPIDI_AM_collective *c)
{
    const char *most = getenv("AMX_MOST");

    return most != NULL ? fits_measured(c, most) : c->bytes <= MOST &&
        (c->call.kind == AM_COLL_ALLREDUCE ||
         (c->call.kind == AM_COLL_BCAST && !MPIDI_AM_global.crowded));
}

struct am_coll_group *MPIDI_AM_group_for(MPIR_Comm * comm, const struct MPIDI_AM_collective *c,
                                         MPIDI_AM_errflag_t * errflag)
{
    struct am_coll_group *group = MPIDI_AM_group_of(comm);

    size_t piece = group != NULL ? MPIDI_AM_group_shared_bytes(comm, errflag) : 0;

    return piece != 0 && fits(comm, c, piece) ? group : NULL;
}

struct am_coll_group *MPIDI_AM_group_for_start(MPIR_Comm * comm,
                                               const struct MPIDI_AM_collective *c)
{
    struct am_coll_group *group = MPIDI_AM_group_of(comm);

    return group != NULL && fits_start(c) ? group : NULL;
}
