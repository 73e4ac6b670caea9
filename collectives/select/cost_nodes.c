/*
 * The formulas of cost.h for collectives of two levels: what the cheapest
 * algorithm costs at each.
 */
#include "config.h"

#include "collectives/select/select.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static size_t piece_of(const struct am_coll_cost *c)
{
    return c->chunk < c->bytes ? c->chunk : c->bytes;
}

/* Within the node that has the most members. */
static uint64_t within_ps(const struct am_coll_cost *c, am_coll_kind_t kind,
                          size_t bytes)
{
    struct am_coll_numbers numbers = *c->numbers;
    const struct am_coll_near *near = &c->numbers->near;
    struct am_coll_wish wish = {.kind = kind,
                                .size = c->numbers->node_members_max,
                                .bytes = bytes,
                                .unit = 1,
                                .commutes = true};

    numbers.perf = near->perf;
    numbers.caps = near->caps;
    numbers.packet_bytes = near->packet_bytes;
    numbers.eager_max = near->eager_max;
    numbers.ready_bytes = near->ready_bytes;
    numbers.lane_bytes = near->lane_bytes;
    numbers.shared.slot_bytes =
            wish.size <= AM_SHARED_MEMBERS_MAX ? near->slot_bytes : 0;
    numbers.node_count = 0;
    return am_coll_least_ps(&numbers, &wish);
}

/* Between the nodes. */
static uint64_t across_ps(const struct am_coll_cost *c, am_coll_kind_t kind,
                          size_t bytes)
{
    struct am_coll_numbers numbers = *c->numbers;
    struct am_coll_wish wish = {.kind = kind,
                                .size = c->numbers->node_count,
                                .bytes = bytes,
                                .unit = 1,
                                .commutes = true};

    numbers.shared.slot_bytes = 0;
    numbers.node_count = 0;
    return am_coll_least_ps(&numbers, &wish);
}

/* The first piece passes all levels; the others follow it at the rate of the
 * slower one. */
static uint64_t levels_ps(const struct am_coll_cost *c, uint64_t in,
                          uint64_t out)
{
    return in + out +
           (am_piece_count(c->bytes, c->chunk) - 1) * larger(in, out);
}

uint64_t am_cost_nodes_barrier(const struct am_coll_cost *c)
{
    return within_ps(c, AM_COLL_BARRIER, 0) + across_ps(c, AM_COLL_BARRIER, 0) +
           within_ps(c, AM_COLL_BCAST, 1);
}

uint64_t am_cost_nodes_bcast(const struct am_coll_cost *c)
{
    return levels_ps(c, within_ps(c, AM_COLL_BCAST, piece_of(c)),
                     across_ps(c, AM_COLL_BCAST, piece_of(c)));
}

uint64_t am_cost_nodes_reduce(const struct am_coll_cost *c)
{
    return levels_ps(c, within_ps(c, AM_COLL_REDUCE, piece_of(c)),
                     across_ps(c, AM_COLL_REDUCE, piece_of(c)));
}

uint64_t am_cost_nodes_allreduce(const struct am_coll_cost *c)
{
    return levels_ps(c,
                     within_ps(c, AM_COLL_REDUCE, piece_of(c)) +
                             within_ps(c, AM_COLL_BCAST, piece_of(c)),
                     across_ps(c, AM_COLL_ALLREDUCE, piece_of(c)));
}

uint64_t am_cost_nodes_allgather(const struct am_coll_cost *c)
{
    return within_ps(c, AM_COLL_GATHER, c->bytes) +
           across_ps(c, AM_COLL_ALLGATHER,
                     c->numbers->node_members_max * c->bytes) +
           within_ps(c, AM_COLL_BCAST, c->size * c->bytes);
}
