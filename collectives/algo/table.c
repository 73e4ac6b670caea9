/*
 * The algorithms of each kind, by the names that variables use.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"
#include "collectives/select/cost.h"
#include "collectives/shared/way.h"

/* The trees of a kind; all keep the order of members. */
#define TREE(_name, _shape, _has_shape, _build, _cost, _crowd, _chunk)  \
    {                                                                   \
        .name = _name, .build = _build, .cost = _cost, .crowd = _crowd, \
        .shape = _shape, .has_shape = _has_shape, .has_chunk = _chunk,  \
        .keeps_order = true                                             \
    }
#define TREES(_build, _cost, _crowd, _chunk)                                  \
    TREE("binomial", AM_TREE_BINOMIAL, false, _build, _cost, _crowd, _chunk), \
            TREE("binary", 2, false, _build, _cost, _crowd, _chunk),          \
            TREE("kary", 4, true, _build, _cost, _crowd, _chunk),             \
            TREE("chain", AM_TREE_CHAIN, false, _build, _cost, _crowd,        \
                 _chunk),                                                     \
            TREE("flat", AM_TREE_FLAT, false, _build, _cost, _crowd, _chunk)

static const struct am_coll_algorithm barriers[] = {
        {.name = "dissemination",
         .build = am_barrier_dissemination,
         .cost = am_cost_dissemination,
         .crowd = am_crowd_dissemination},
        TREES(am_barrier_tree, am_cost_barrier_tree, am_crowd_barrier_tree,
              false),
        {.name = "shared",
         .cost = am_cost_shared_exchange,
         .way = &am_shared_by_flags},
        {.name = "nodes",
         .build = am_barrier_nodes,
         .cost = am_cost_nodes_barrier,
         .has_levels = true},
        {.name = "network",
         .cost = am_cost_network_meet,
         .network = AM_COLL_NETWORK_COMBINES},
        {.name = NULL},
};

static const struct am_coll_algorithm bcasts[] = {
        TREES(am_bcast_shape, am_cost_bcast_tree, am_crowd_bcast_tree, true),
        {.name = "scatter",
         .build = am_bcast_scatter,
         .cost = am_cost_bcast_scatter,
         .crowd = am_crowd_bcast_scatter},
        {.name = "shared",
         .cost = am_cost_shared_bcast,
         .way = &am_shared_by_pieces},
        {.name = "reads",
         .cost = am_cost_reads_bcast,
         .way = &am_shared_by_reads},
        {.name = "nodes",
         .build = am_bcast_nodes,
         .cost = am_cost_nodes_bcast,
         .has_chunk = true,
         .has_levels = true},
        {.name = "multicast",
         .build = am_bcast_multicast,
         .cost = am_cost_network_cast,
         .network = AM_COLL_NETWORK_CASTS},
        {.name = "network",
         .cost = am_cost_network_combine,
         .network = AM_COLL_NETWORK_COMBINES},
        {.name = NULL},
};

static const struct am_coll_algorithm reduces[] = {
        TREES(am_reduce_shape, am_cost_reduce_tree, am_crowd_reduce_tree, true),
        {.name = "shared",
         .cost = am_cost_shared_reduce,
         .keeps_order = true,
         .way = &am_shared_by_pieces},
        {.name = "reads",
         .cost = am_cost_reads_reduce,
         .keeps_order = true,
         .way = &am_shared_by_reads},
        {.name = "nodes",
         .build = am_reduce_nodes,
         .cost = am_cost_nodes_reduce,
         .has_chunk = true,
         .keeps_order = true,
         .has_levels = true},
        {.name = "network",
         .cost = am_cost_network_combine,
         .network = AM_COLL_NETWORK_COMBINES},
        {.name = NULL},
};

static const struct am_coll_algorithm allreduces[] = {
        TREES(am_allreduce_shape, am_cost_allreduce_tree,
              am_crowd_allreduce_tree, true),
        {.name = "doubling",
         .build = am_allreduce_doubling,
         .cost = am_cost_allreduce_doubling,
         .crowd = am_crowd_allreduce_doubling,
         .keeps_order = true},
        {.name = "halving",
         .build = am_allreduce_halving,
         .cost = am_cost_allreduce_halving,
         .crowd = am_crowd_allreduce_halving},
        {.name = "ring",
         .build = am_allreduce_ring,
         .cost = am_cost_allreduce_ring,
         .crowd = am_crowd_allreduce_ring,
         .has_chunk = true},
        {.name = "shared",
         .cost = am_cost_shared_allreduce,
         .keeps_order = true,
         .way = &am_shared_by_pieces},
        {.name = "reads",
         .cost = am_cost_reads_allreduce,
         .keeps_order = true,
         .way = &am_shared_by_reads},
        {.name = "nodes",
         .build = am_allreduce_nodes,
         .cost = am_cost_nodes_allreduce,
         .has_chunk = true,
         .keeps_order = true,
         .has_levels = true},
        {.name = "network",
         .cost = am_cost_network_combine,
         .network = AM_COLL_NETWORK_COMBINES},
        {.name = NULL},
};

static const struct am_coll_algorithm gathers[] = {
        {.name = "direct",
         .build = am_gather_flat,
         .cost = am_cost_gather_direct,
         .crowd = am_crowd_gather_direct,
         .takes_vector = true},
        TREES(am_gather_shape, am_cost_gather_tree, am_crowd_gather_tree,
              false),
        {.name = "reads",
         .cost = am_cost_reads_gather,
         .takes_vector = true,
         .way = &am_shared_by_reads},
        {.name = NULL},
};

static const struct am_coll_algorithm scatters[] = {
        {.name = "direct",
         .build = am_scatter_flat,
         .cost = am_cost_gather_direct,
         .crowd = am_crowd_scatter_direct,
         .takes_vector = true},
        TREES(am_scatter_shape, am_cost_gather_tree, am_crowd_scatter_tree,
              false),
        {.name = "reads",
         .cost = am_cost_reads_scatter,
         .takes_vector = true,
         .way = &am_shared_by_reads},
        {.name = NULL},
};

static const struct am_coll_algorithm allgathers[] = {
        {.name = "ring",
         .build = am_allgather_around,
         .cost = am_cost_allgather_ring,
         .crowd = am_crowd_allgather_ring,
         .takes_vector = true},
        {.name = "direct",
         .build = am_allgather_flat,
         .cost = am_cost_exchange_direct,
         .crowd = am_crowd_exchange_direct,
         .takes_vector = true},
        {.name = "bruck",
         .build = am_allgather_bruck,
         .cost = am_cost_allgather_bruck,
         .crowd = am_crowd_allgather_bruck},
        {.name = "shared",
         .cost = am_cost_shared_exchange,
         .way = &am_shared_by_pieces},
        {.name = "reads",
         .cost = am_cost_reads_exchange,
         .takes_vector = true,
         .way = &am_shared_by_reads},
        {.name = "nodes",
         .build = am_allgather_nodes,
         .cost = am_cost_nodes_allgather,
         .has_levels = true},
        {.name = NULL},
};

static const struct am_coll_algorithm reduce_scatters[] = {
        {.name = "direct",
         .build = am_reduce_scatter_flat,
         .cost = am_cost_reduce_scatter_direct,
         .crowd = am_crowd_reduce_scatter_direct,
         .keeps_order = true,
         .takes_vector = true},
        {.name = "ring",
         .build = am_reduce_scatter_ring,
         .cost = am_cost_reduce_scatter_ring,
         .crowd = am_crowd_reduce_scatter_ring,
         .has_chunk = true,
         .takes_vector = true},
        {.name = "shared",
         .cost = am_cost_shared_reduce_scatter,
         .keeps_order = true,
         .way = &am_shared_by_pieces},
        {.name = "reads",
         .cost = am_cost_reads_reduce_scatter,
         .takes_vector = true,
         .keeps_order = true,
         .way = &am_shared_by_reads},
        {.name = NULL},
};

static const struct am_coll_algorithm alltoalls[] = {
        {.name = "staggered",
         .build = am_alltoall_staggered,
         .cost = am_cost_exchange_direct,
         .crowd = am_crowd_exchange_direct,
         .takes_vector = true},
        {.name = "pairwise",
         .build = am_alltoall_pairwise,
         .cost = am_cost_alltoall_pairwise,
         .crowd = am_crowd_alltoall_pairwise,
         .takes_vector = true},
        {.name = "naive",
         .build = am_alltoall_naive,
         .cost = am_cost_never,
         .takes_vector = true},
        {.name = "bruck",
         .build = am_alltoall_bruck,
         .cost = am_cost_alltoall_bruck,
         .crowd = am_crowd_alltoall_bruck},
        {.name = "shared",
         .cost = am_cost_shared_alltoall,
         .way = &am_shared_by_pieces},
        {.name = "reads",
         .cost = am_cost_reads_exchange,
         .takes_vector = true,
         .way = &am_shared_by_reads},
        {.name = NULL},
};

static const struct am_coll_algorithm scans[] = {
        {.name = "doubling",
         .build = am_scan_doubling,
         .cost = am_cost_scan_doubling,
         .crowd = am_crowd_scan_doubling,
         .keeps_order = true},
        {.name = "chain",
         .build = am_scan_chain,
         .cost = am_cost_scan_chain,
         .crowd = am_crowd_scan_chain,
         .has_chunk = true,
         .keeps_order = true},
        {.name = NULL},
};

const struct am_coll_algorithm *const am_coll_algorithms[AM_COLL_KINDS] = {
        [AM_COLL_BARRIER] = barriers,
        [AM_COLL_BCAST] = bcasts,
        [AM_COLL_REDUCE] = reduces,
        [AM_COLL_ALLREDUCE] = allreduces,
        [AM_COLL_GATHER] = gathers,
        [AM_COLL_SCATTER] = scatters,
        [AM_COLL_ALLGATHER] = allgathers,
        [AM_COLL_REDUCE_SCATTER] = reduce_scatters,
        [AM_COLL_ALLTOALL] = alltoalls,
        [AM_COLL_SCAN] = scans,
        [AM_COLL_EXSCAN] = scans,
};

const char *const am_coll_kind_names[AM_COLL_KINDS] = {
        [AM_COLL_BARRIER] = "barrier",
        [AM_COLL_BCAST] = "bcast",
        [AM_COLL_REDUCE] = "reduce",
        [AM_COLL_ALLREDUCE] = "allreduce",
        [AM_COLL_GATHER] = "gather",
        [AM_COLL_SCATTER] = "scatter",
        [AM_COLL_ALLGATHER] = "allgather",
        [AM_COLL_REDUCE_SCATTER] = "reduce_scatter",
        [AM_COLL_ALLTOALL] = "alltoall",
        [AM_COLL_SCAN] = "scan",
        [AM_COLL_EXSCAN] = "exscan",
};
