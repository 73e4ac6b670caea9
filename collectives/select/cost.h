/*
 * What each algorithm costs, from the device's numbers (am_dev_perf) and the
 * model of am/cost.h: picoseconds until the last member is done.  Pure integer
 * arithmetic, so that all members find the same.
 *
 *   level     a message that another one waits for
 *   send      how long a message keeps its sender, before it may send another
 *   recv      the same at the receiver
 */
#ifndef AM_COLLECTIVES_COST_H
#define AM_COLLECTIVES_COST_H

#include "am/cost.h"
#include "collectives/algo/algo.h"
#include "collectives/shared/shared.h"

/* Of a device by which members of one node reach each other. */
struct am_coll_near {
    struct am_dev_perf perf;
    uint32_t caps;
    size_t packet_bytes, eager_max, ready_bytes, lane_bytes; /* as below */
    uint64_t slot_bytes; /* of memory that all of a node see; 0: none */
    bool follow;         /* as below */
};

struct am_coll_numbers {
    struct am_dev_perf perf;
    uint32_t caps; /* AM_DEV_CAP_* */
    size_t packet_bytes, eager_max;
    size_t ready_bytes; /* messages of up to so many use no new page (am/spare.h) */
    size_t lane_bytes; /* between two members lies less than so much; 0: no such bound */
    struct am_shared_key shared;
    /* of groups that are on several nodes, of which one has two members or more;
     * else node_count is 0.  The numbers above are of members that are far then. */
    struct am_coll_near near;
    /* of groups of all ranks of the job; else it is zeroed.  One group at a time has
     * the network that combines. */
    struct am_dev_network network;
    bool may_combine;
    uint32_t node_count, node_members_max;
    bool nodes_are_runs; /* members of a node follow each other */
    bool follow; /* what is seen changes them: member 0 tells them again */
};

struct am_coll_cost {
    const struct am_coll_numbers *numbers;
    uint32_t size; /* members, 2 or more */
    size_t bytes;  /* of the whole, or of one block: as `count` in am_coll.h */
    am_tree_shape_t shape;
    size_t chunk; /* SIZE_MAX: one piece */
};

/* Do members share cores? */
static inline bool am_coll_is_crowded(const struct am_coll_numbers *numbers)
{
    return numbers->perf.turn_ps > 0;
}

/* There: the ranks of a core. */
static inline uint32_t am_coll_core_ranks(const struct am_coll_numbers *numbers)
{
    return numbers->perf.core_ranks > 1 ? numbers->perf.core_ranks : 2;
}

static inline bool am_cost_is_crowded(const struct am_coll_cost *c)
{
    return am_coll_is_crowded(c->numbers);
}

/* A message keeps its sender, and its receiver, so long; the receiver says first where
 * it goes. */
uint64_t am_cost_send_ps(const struct am_coll_cost *c, size_t bytes);
uint64_t am_cost_recv_ps(const struct am_coll_cost *c, size_t bytes);
bool am_cost_is_large(const struct am_coll_cost *c, size_t bytes);
/* How often its bytes are copied: once by the device, or twice in a stream. */
uint64_t am_cost_copies(const struct am_coll_cost *c, size_t bytes);

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
/* The same where members share cores (cost_crowd.c). */
uint64_t am_crowd_dissemination(const struct am_coll_cost *c);
uint64_t am_crowd_barrier_tree(const struct am_coll_cost *c);
uint64_t am_crowd_bcast_tree(const struct am_coll_cost *c);
uint64_t am_crowd_bcast_scatter(const struct am_coll_cost *c);
uint64_t am_crowd_reduce_tree(const struct am_coll_cost *c);
uint64_t am_crowd_allreduce_tree(const struct am_coll_cost *c);
uint64_t am_crowd_allreduce_doubling(const struct am_coll_cost *c);
uint64_t am_crowd_allreduce_halving(const struct am_coll_cost *c);
uint64_t am_crowd_allreduce_ring(const struct am_coll_cost *c);
uint64_t am_crowd_gather_direct(const struct am_coll_cost *c);
uint64_t am_crowd_gather_tree(const struct am_coll_cost *c);
uint64_t am_crowd_scatter_direct(const struct am_coll_cost *c);
uint64_t am_crowd_scatter_tree(const struct am_coll_cost *c);
uint64_t am_crowd_allgather_ring(const struct am_coll_cost *c);
uint64_t am_crowd_allgather_bruck(const struct am_coll_cost *c);
uint64_t am_crowd_exchange_direct(const struct am_coll_cost *c);
uint64_t am_crowd_reduce_scatter_direct(const struct am_coll_cost *c);
uint64_t am_crowd_reduce_scatter_ring(const struct am_coll_cost *c);
uint64_t am_crowd_alltoall_pairwise(const struct am_coll_cost *c);
uint64_t am_crowd_alltoall_bruck(const struct am_coll_cost *c);
uint64_t am_crowd_scan_doubling(const struct am_coll_cost *c);
uint64_t am_crowd_scan_chain(const struct am_coll_cost *c);
/* There: the cores that the members have; so many waits and what all members do in all,
 * in which so many bytes are copied; and what the ranks of a core take to go round, as
 * measured, or as is built in. */
uint32_t am_crowd_cores(const struct am_coll_cost *c);
uint64_t am_crowd_ps(const struct am_coll_cost *c, uint64_t waits,
                     uint64_t work_ps, uint64_t copied);
uint64_t am_coll_round_ps(const struct am_coll_numbers *numbers);
/* What copies of so many bytes, by all members together, cost more as not all of them lie
 * in a cache (cost_cache.c). */
uint64_t am_crowd_missing_ps(const struct am_coll_cost *c, uint64_t copied);
/* Through shared memory, in both: what has no operator and one writer; what has none and
 * all write; reductions. */
uint64_t am_cost_shared_bcast(const struct am_coll_cost *c);
uint64_t am_cost_shared_exchange(const struct am_coll_cost *c);
uint64_t am_cost_shared_alltoall(const struct am_coll_cost *c);
uint64_t am_cost_shared_reduce(const struct am_coll_cost *c);
uint64_t am_cost_shared_allreduce(const struct am_coll_cost *c);
uint64_t am_cost_shared_reduce_scatter(const struct am_coll_cost *c);
/* Within nodes and between them: the least that each level costs. */
uint64_t am_cost_nodes_barrier(const struct am_coll_cost *c);
uint64_t am_cost_nodes_bcast(const struct am_coll_cost *c);
uint64_t am_cost_nodes_reduce(const struct am_coll_cost *c);
uint64_t am_cost_nodes_allreduce(const struct am_coll_cost *c);
uint64_t am_cost_nodes_allgather(const struct am_coll_cost *c);
/* By the network itself: a barrier; packets that are combined; casts of pieces. */
uint64_t am_cost_network_meet(const struct am_coll_cost *c);
uint64_t am_cost_network_combine(const struct am_coll_cost *c);
uint64_t am_cost_network_cast(const struct am_coll_cost *c);
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
