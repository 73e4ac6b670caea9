/*
 * The builds, each in the file of its kind; algo/table.c lists them with their
 * names.  What a call means is in am_coll.h.
 */
#ifndef AM_COLLECTIVES_LIST_H
#define AM_COLLECTIVES_LIST_H

#include "collectives/algo/algo.h"

/* barrier.c */
void am_barrier_dissemination(const struct am_coll_build *b);
void am_barrier_tree(const struct am_coll_build *b);

/* bcast.c: down any tree in pieces, at most 4 of them on their way to a child;
 * or scattered, then gathered round the ring (van de Geijn). */
void am_bcast_shape(const struct am_coll_build *b);
void am_bcast_scatter(const struct am_coll_build *b);
void am_bcast_multicast(const struct am_coll_build *b);

/* reduce.c: up any tree in pieces, 2 of them at a time. */
void am_reduce_shape(const struct am_coll_build *b);

/* allreduce.c: up and down a tree; recursive doubling; halving and doubling
 * (Rabenseifner); round the ring twice. */
void am_allreduce_shape(const struct am_coll_build *b);
void am_allreduce_doubling(const struct am_coll_build *b);
void am_allreduce_halving(const struct am_coll_build *b);
void am_allreduce_ring(const struct am_coll_build *b);

/* gather.c: up, or down, any tree; flat for blocks of different lengths. */
void am_gather_shape(const struct am_coll_build *b);
void am_gather_flat(const struct am_coll_build *b);
void am_scatter_shape(const struct am_coll_build *b);
void am_scatter_flat(const struct am_coll_build *b);

/* allgather.c: round the ring; Bruck's; each to all. */
void am_allgather_around(const struct am_coll_build *b);
void am_allgather_bruck(const struct am_coll_build *b);
void am_allgather_flat(const struct am_coll_build *b);

/* reduce_scatter.c: reduced at one member and scattered; round the ring; each
 * member reduces what the others send it for its block. */
void am_reduce_scatter_flat(const struct am_coll_build *b);
void am_reduce_scatter_ring(const struct am_coll_build *b);

/* alltoall.c: staggered, so that no two begin with the same member; naive, all
 * beginning with member 0, to compare with; pairwise, one exchange after the
 * other; Bruck's. */
void am_alltoall_staggered(const struct am_coll_build *b);
void am_alltoall_naive(const struct am_coll_build *b);
void am_alltoall_pairwise(const struct am_coll_build *b);
void am_alltoall_bruck(const struct am_coll_build *b);

/* nodes.c: within each node, between the first members of the nodes, within each. */
void am_barrier_nodes(const struct am_coll_build *b);
void am_bcast_nodes(const struct am_coll_build *b);
void am_reduce_nodes(const struct am_coll_build *b);
void am_allreduce_nodes(const struct am_coll_build *b);
void am_allgather_nodes(const struct am_coll_build *b);

/* scan.c, for SCAN and EXSCAN: along the chain in pieces; by doubling distances
 * (Hillis and Steele). */
void am_scan_chain(const struct am_coll_build *b);
void am_scan_doubling(const struct am_coll_build *b);

#endif
