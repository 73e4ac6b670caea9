/*
 * Which collectives are libam's: where all members share memory, and where that is faster than
 * MPICH's own algorithms over libam's messages; and what variables say.
 *
 * Where each of the two is faster was measured with the OSU benchmarks on two cores, near each
 * other, on 2, 4 and 8 ranks (docs/performance.md).  Above the limit of a kind MPICH's own was
 * faster, or as fast.
 */
#include <mpidimpl.h>
#include "am_impl.h"

#include "am_pt2pt.h"

#include "am_group.h"

/* libam has a kind up to so many bytes (of the whole, or of a block). */
#define ALL     SIZE_MAX
#define NONE    0
#define KIB     ((size_t) 1024)

/* A schedule of MPICH's costs more than what is so short. */
#define SHORT_START (4 * KIB)

static const size_t of_pairs[AM_COLL_KINDS] = {
    [AM_COLL_BCAST] = 32 * KIB,
    [AM_COLL_REDUCE] = ALL,
    [AM_COLL_ALLREDUCE] = ALL,
    [AM_COLL_GATHER] = NONE,
    [AM_COLL_SCATTER] = NONE,
    [AM_COLL_ALLGATHER] = ALL,
    [AM_COLL_REDUCE_SCATTER] = ALL,
    [AM_COLL_ALLTOALL] = ALL,
};

/* Ranks that outnumber the cores. */
static const size_t of_crowds[AM_COLL_KINDS] = {
    [AM_COLL_BCAST] = ALL,
    [AM_COLL_REDUCE] = ALL,
    [AM_COLL_ALLREDUCE] = ALL,
    [AM_COLL_GATHER] = ALL,
    [AM_COLL_SCATTER] = ALL,
    [AM_COLL_ALLGATHER] = ALL,
    [AM_COLL_REDUCE_SCATTER] = ALL,
    [AM_COLL_ALLTOALL] = ALL,
};

/* More than two ranks with a core each: long ones were not measured. */
static const size_t of_others[AM_COLL_KINDS] = {
    [AM_COLL_BCAST] = 4 * KIB,
    [AM_COLL_REDUCE] = 4 * KIB,
    [AM_COLL_ALLREDUCE] = 4 * KIB,
    [AM_COLL_GATHER] = NONE,
    [AM_COLL_SCATTER] = NONE,
    [AM_COLL_ALLGATHER] = 4 * KIB,
    [AM_COLL_REDUCE_SCATTER] = NONE,
    [AM_COLL_ALLTOALL] = 4 * KIB,
};

/* So many bytes of ranks that outnumber the cores, and that share no memory for collectives. */
static const size_t crowd_most[AM_COLL_KINDS] = {
    [AM_COLL_REDUCE] = 8 * KIB,
    [AM_COLL_ALLREDUCE] = 8 * KIB,
    [AM_COLL_ALLTOALL] = 8 * KIB,
};

/* MPICH's own wait once for each level of a tree.  There each wait costs the turns of all ranks
 * on the core, and libam's model counts waits. */
static bool fits_crowd(const struct MPIDI_AM_collective *c)
{
    return c->call.kind == AM_COLL_BARRIER ||
        (!c->call.is_vector && c->bytes <= crowd_most[c->call.kind]);
}

static bool fits(MPIR_Comm * comm, const struct MPIDI_AM_collective *c)
{
    bool is_pair = comm->local_size == 2;
    am_coll_kind_t kind = c->call.kind;
    size_t most = MPIDI_AM_global.crowded ? of_crowds[kind] :
        is_pair ? of_pairs[kind] : of_others[kind];

    if (kind == AM_COLL_BARRIER) {
        return true;
    }
    return !c->call.is_vector && c->bytes <= most;
}

/* Where the blocking one is MPICH's over the same messages, whose schedules cost more.  A short
 * gather is libam's: beside barriers it takes less time than a message. */
bool MPIDI_AM_fits_message(MPIR_Comm * comm, am_coll_kind_t kind, size_t bytes)
{
    size_t low = kind == AM_COLL_GATHER ? SHORT_START : of_pairs[kind];

    return bytes > low && !MPIDI_AM_global.crowded &&
        (MPIDI_AM_COMM(comm).bits & MPIDI_AM_COMM_NODE) != 0 && MPIDI_AM_HAS_ONE_VCI() &&
        !MPIDI_AM_IS_NAMED(kind) && !MPIDI_AM_IS_MPICHS(kind);
}

/* Other non-blocking ones go there as blocking ones do, and short ones whatever their kind, as
 * MPICH's schedules cost more than libam's: whether the members share memory or not, which nobody
 * waits to find out. */
static bool fits_start(MPIR_Comm * comm, const struct MPIDI_AM_collective *c)
{
    return fits(comm, c) || (!c->call.is_vector && c->bytes <= SHORT_START);
}

/* What variables say comes first.  All that is not on one node is MPICH's, if they are silent:
 * it goes node by node, too. */
static bool is_settled(MPIR_Comm * comm, am_coll_kind_t kind, bool *is_ours)
{
    bool is_node = (MPIDI_AM_COMM(comm).bits & MPIDI_AM_COMM_NODE) != 0;

    *is_ours = MPIDI_AM_IS_NAMED(kind);
    return unlikely(*is_ours || MPIDI_AM_IS_MPICHS(kind) || !is_node);
}

/* What the network itself does, it does faster than any messages. */
static bool network_has(struct am_coll_group *group, const struct MPIDI_AM_collective *c)
{
    return !MPIDI_AM_IS_MPICHS(c->call.kind) && am_coll_uses_network(group, &c->call);
}

/* On a simulated machine MPI's own part of the call takes time. */
static struct am_coll_group *chosen(struct am_coll_group *group, bool is_ours)
{
    if (is_ours && unlikely(MPIDI_AM_global.virtual)) {
        am_time_call();
    }
    return is_ours ? group : NULL;
}

struct am_coll_group *MPIDI_AM_group_for(MPIR_Comm * comm, const struct MPIDI_AM_collective *c,
                                         MPIDI_AM_errflag_t * errflag)
{
    struct am_coll_group *group = MPIDI_AM_group_shared(comm, MPIDI_AM_BY_CALLS);
    bool is_ours;

    if (likely(group != NULL && !MPIDI_AM_IS_NAMED(c->call.kind) &&
               !MPIDI_AM_IS_MPICHS(c->call.kind))) {
        return fits(comm, c) ? group : NULL;    /* nearly always, in few steps */
    }
    group = MPIDI_AM_group_of(comm, MPIDI_AM_BY_CALLS);
    if (group == NULL) {
        return NULL;
    }
    if (!is_settled(comm, c->call.kind, &is_ours)) {
        is_ours = MPIDI_AM_group_shared_bytes(comm, errflag) != 0 ? fits(comm, c) :
            MPIDI_AM_global.crowded && fits_crowd(c);
    } else if (!is_ours && unlikely(am_coll_has_network(MPIDI_AM_global.ctx[0]))) {
        MPIDI_AM_group_ask(comm, errflag);
        is_ours = network_has(group, c);
    }
    return chosen(group, is_ours);
}

struct am_coll_group *MPIDI_AM_group_for_start(MPIR_Comm * comm, MPIDI_AM_order_t order,
                                               const struct MPIDI_AM_collective *c)
{
    struct am_coll_group *group = MPIDI_AM_group_shared(comm, order);
    bool is_ours;

    if (likely(group != NULL && !MPIDI_AM_IS_NAMED(c->call.kind) &&
               !MPIDI_AM_IS_MPICHS(c->call.kind))) {
        return fits_start(comm, c) ? group : NULL;      /* as blocking ones */
    }
    group = MPIDI_AM_group_of(comm, order);
    if (group == NULL) {
        return NULL;
    }
    if (!is_settled(comm, c->call.kind, &is_ours)) {
        is_ours = fits_start(comm, c);
    } else if (!is_ours && unlikely(am_coll_has_network(MPIDI_AM_global.ctx[0]))) {
        is_ours = MPIDI_AM_group_is_asked(comm, order) && network_has(group, c);
    }
    return chosen(group, is_ours);
}
