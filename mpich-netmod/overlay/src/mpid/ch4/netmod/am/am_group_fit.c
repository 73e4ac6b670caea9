/*
 * Which collectives are libam's: where all members share memory, and where that is faster than
 * MPICH's own algorithms over libam's messages.
 *
 * Where each of the two is faster was measured with the OSU benchmarks on two cores, near each
 * other, on 2, 4 and 8 ranks (docs/performance.md).  Between the two limits of a kind MPICH's
 * own was faster, or as fast.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

/* libam has a kind up to `low` bytes (of the whole, or of a block), and from `high` on. */
struct limits {
    size_t low, high;
};

#define ALL     {SIZE_MAX, 0}
#define NONE    {0, SIZE_MAX}
#define UP_TO(bytes_) {bytes_, SIZE_MAX}
#define FROM(bytes_)  {0, bytes_}
#define KIB     ((size_t) 1024)

/* Of two ranks a broadcast shorter than this is one message. */
#define PAIR_BCAST_LEAST 256

static const struct limits of_pairs[AM_COLL_KINDS] = {
    [AM_COLL_BCAST] = UP_TO(32 * KIB),
    [AM_COLL_REDUCE] = ALL,
    [AM_COLL_ALLREDUCE] = ALL,
    [AM_COLL_GATHER] = NONE,
    [AM_COLL_SCATTER] = NONE,
    [AM_COLL_ALLGATHER] = {32 * KIB, 128 * KIB},
    [AM_COLL_REDUCE_SCATTER] = ALL,
    [AM_COLL_ALLTOALL] = UP_TO(8 * KIB),
};

/* Ranks that outnumber the cores: a root of libam's waits for its slot to be read, and one that
 * sends and goes on is far ahead of it. */
static const struct limits of_crowds[AM_COLL_KINDS] = {
    [AM_COLL_BCAST] = FROM(256 * KIB),
    [AM_COLL_REDUCE] = ALL,
    [AM_COLL_ALLREDUCE] = ALL,
    [AM_COLL_GATHER] = ALL,
    [AM_COLL_SCATTER] = {512, 64 * KIB},
    [AM_COLL_ALLGATHER] = {8 * KIB, 512 * KIB},
    [AM_COLL_REDUCE_SCATTER] = ALL,
    [AM_COLL_ALLTOALL] = {1 * KIB, 64 * KIB},
};

/* More than two ranks with a core each: long ones were not measured. */
static const struct limits of_others[AM_COLL_KINDS] = {
    [AM_COLL_BCAST] = UP_TO(4 * KIB),
    [AM_COLL_REDUCE] = UP_TO(4 * KIB),
    [AM_COLL_ALLREDUCE] = UP_TO(4 * KIB),
    [AM_COLL_GATHER] = NONE,
    [AM_COLL_SCATTER] = NONE,
    [AM_COLL_ALLGATHER] = UP_TO(4 * KIB),
    [AM_COLL_REDUCE_SCATTER] = NONE,
    [AM_COLL_ALLTOALL] = UP_TO(4 * KIB),
};

static bool fits(MPIR_Comm * comm, struct am_coll_group *group,
                 const struct MPIDI_AM_collective *c)
{
    bool is_pair = comm->local_size == 2;
    am_coll_kind_t kind = c->call.kind;
    const struct limits *limits = MPIDI_AM_global.crowded ? &of_crowds[kind] :
        is_pair ? &of_pairs[kind] : &of_others[kind];

    if (unlikely(am_coll_is_named(group, kind))) {
        return true;
    }
    if (kind == AM_COLL_BCAST && is_pair && c->bytes < PAIR_BCAST_LEAST) {
        return false;
    }
    return !c->call.is_vector && (c->bytes <= limits->low || c->bytes >= limits->high);
}

/* Non-blocking ones go there whether they share memory or not, as MPICH's schedules cost more
 * than libam's. */
static bool fits_start(struct am_coll_group *group, const struct MPIDI_AM_collective *c)
{
    am_coll_kind_t kind = c->call.kind;

    return am_coll_is_named(group, kind) ||
        (c->bytes <= of_others[kind].low && !c->call.is_vector &&
         (kind == AM_COLL_ALLREDUCE || !MPIDI_AM_global.crowded));
}

struct am_coll_group *MPIDI_AM_group_for(MPIR_Comm * comm, const struct MPIDI_AM_collective *c,
                                         MPIDI_AM_errflag_t * errflag)
{
    struct am_coll_group *group = MPIDI_AM_group_of(comm);

    return group != NULL && MPIDI_AM_group_shared_bytes(comm, errflag) != 0 &&
        fits(comm, group, c) ? group : NULL;
}

struct am_coll_group *MPIDI_AM_group_for_start(MPIR_Comm * comm,
                                               const struct MPIDI_AM_collective *c)
{
    struct am_coll_group *group = MPIDI_AM_group_of(comm);

    return group != NULL && fits_start(group, c) ? group : NULL;
}
