/*
 * What each algorithm costs, from the device's numbers (am_dev_perf) and the
 * model of am/cost.h: picoseconds until the last member is done.  Pure integer
 * arithmetic, so that all members find the same.
 *
 *   level     a message that another one waits for, and the turn that a rank
 *             waits for where ranks share cores
 *   send      how long a message keeps its sender, before it may send another
 *   recv      the same at the receiver
 */
#ifndef AM_COLLECTIVES_COST_H
#define AM_COLLECTIVES_COST_H

#include "am/cost.h"
#include "collectives/algo/algo.h"
#include "collectives/shared/shared.h"

struct am_coll_numbers {
    struct am_dev_perf perf;
    uint32_t caps; /* AM_DEV_CAP_* */
    size_t packet_bytes, eager_max;
    struct am_shared_key shared;
};

struct am_coll_cost {
    const struct am_coll_numbers *numbers;
    uint32_t size; /* members, 2 or more */
    size_t bytes;  /* of the whole, or of one block: as `count` in am_coll.h */
    am_tree_shape_t shape;
    size_t chunk; /* SIZE_MAX: one piece */
};

/* Of an algorithm that only a variable chooses. */
uint64_t am_cost_never(const struct am_coll_cost *c);
uint64_t am_cost_dissemination(const struct am_coll_cost *c);
uint64_t am_cost_barrier_tree(const struct am_coll_cost *c);
uint64_t am_cost_bcast_tree(const struct am_coll_cost *c);
uint64_t am_cost_bcast_scatter(const struct am_coll_cost *c);
uint64_t am_cost_reduce_tree(const struct am_coll_cost *c);
uint64_t am_cost_allreduce_tree(const struct am_coll_cost *c);
uint64_t am_cost_allreduce_doubling(const struct am_coll_cost *c);
uint64_t am_cost_allreduce_halving(const struct am_coll_cost *c);
uint64_t am_cost_allreduce_ring(const struct am_coll_cost *c);
uint64_t am_cost_gather_direct(const struct am_coll_cost *c);
uint64_t am_cost_gather_tree(const struct am_coll_cost *c);
uint64_t am_cost_allgather_ring(const struct am_coll_cost *c);
uint64_t am_cost_allgather_bruck(const struct am_coll_cost *c);
uint64_t am_cost_exchange_direct(const struct am_coll_cost *c);
uint64_t am_cost_reduce_scatter_direct(const struct am_coll_cost *c);
uint64_t am_cost_reduce_scatter_ring(const struct am_coll_cost *c);
uint64_t am_cost_alltoall_pairwise(const struct am_coll_cost *c);
uint64_t am_cost_alltoall_bruck(const struct am_coll_cost *c);
uint64_t am_cost_scan_doubling(const struct am_coll_cost *c);
uint64_t am_cost_scan_chain(const struct am_coll_cost *c);
/* Through shared memory: what has no operator and one writer; what has none and
 * all write; reductions. */
uint64_t am_cost_shared_bcast(const struct am_coll_cost *c);
uint64_t am_cost_shared_exchange(const struct am_coll_cost *c);
uint64_t am_cost_shared_alltoall(const struct am_coll_cost *c);
uint64_t am_cost_shared_reduce(const struct am_coll_cost *c);
uint64_t am_cost_shared_reduce_scatter(const struct am_coll_cost *c);
/* By reads of each other's memory: one writer; a block of each other member; and
 * reductions, of which each member makes a part. */
uint64_t am_cost_reads_bcast(const struct am_coll_cost *c);
uint64_t am_cost_reads_gather(const struct am_coll_cost *c);
uint64_t am_cost_reads_scatter(const struct am_coll_cost *c);
uint64_t am_cost_reads_exchange(const struct am_coll_cost *c);
uint64_t am_cost_reads_reduce_scatter(const struct am_coll_cost *c);
uint64_t am_cost_reads_reduce(const struct am_coll_cost *c);
uint64_t am_cost_reads_allreduce(const struct am_coll_cost *c);

#endif
