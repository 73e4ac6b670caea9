/*
 * The formulas of cost.h where each member has a core.
 */
#include "config.h"

#include "am/core.h"
#include "collectives/select/cost.h"

#define PAGE ((size_t)4096)

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* To copy or reduce what this core has. */
static uint64_t own_ps(const struct am_coll_cost *c, size_t bytes)
{
    return am_cost_own_ps(&c->numbers->perf, bytes);
}

/* Until a schedule that sends as well goes on behind a message, or behind READY, FIN
 * and the data. */
static uint64_t step_ps(const struct am_coll_cost *c, size_t bytes)
{
    return (am_cost_is_large(c, bytes) ? 3 : 1) * c->numbers->perf.step_ps;
}

static uint64_t packets(const struct am_coll_cost *c, size_t bytes)
{
    size_t packet = c->numbers->packet_bytes;

    return bytes == 0 ? 1 : (bytes - 1) / packet + 1;
}

/* By the device, at any rate: what the lane does not hold would wait for a receiver that
 * waits for a core (am/spare.c). */
static bool is_spared(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_coll_numbers *n = c->numbers;

    return am_cost_is_crowded(c) && n->lane_bytes > 0 &&
           bytes >= n->lane_bytes && (n->caps & AM_DEV_CAP_PUT) != 0;
}

/* A put by the device, where that is cheaper than a stream. */
static uint64_t single_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_coll_numbers *n = c->numbers;
    bool single;
    uint64_t ps;

    if (is_spared(c, bytes)) {
        return am_cost_single_ps(&n->perf, n->caps, AM_COST_PUT, bytes);
    }
    ps = am_cost_bulk_ps(&n->perf, n->caps, n->packet_bytes, AM_COST_PUT, bytes,
                         &single);

    return single ? ps : AM_COST_NEVER;
}

bool am_cost_is_large(const struct am_coll_cost *c, size_t bytes)
{
    return bytes > c->numbers->eager_max;
}

uint64_t am_cost_copies(const struct am_coll_cost *c, size_t bytes)
{
    return am_cost_is_large(c, bytes) && single_ps(c, bytes) != AM_COST_NEVER
                   ? 1
                   : 2;
}

uint64_t am_cost_send_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_dev_perf *perf = &c->numbers->perf;
    struct am_linfn more = {0, perf->send_overhead.per_byte_fs};
    uint64_t single =
            am_cost_is_large(c, bytes) ? single_ps(c, bytes) : AM_COST_NEVER;
    uint64_t ps = packets(c, bytes) * perf->send_overhead.fixed_ps +
                  am_cost_line_ps(&more, bytes);

    return larger(single == AM_COST_NEVER
                          ? ps
                          : single + perf->send_overhead.fixed_ps,
                  perf->gap_ps);
}

uint64_t am_cost_recv_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_dev_perf *perf = &c->numbers->perf;
    struct am_linfn more = {0, perf->recv_overhead.per_byte_fs};

    if (am_cost_is_large(c, bytes) && single_ps(c, bytes) != AM_COST_NEVER) {
        return 2 * perf->recv_overhead.fixed_ps;
    }
    return packets(c, bytes) * perf->recv_overhead.fixed_ps +
           am_cost_line_ps(&more, bytes);
}

/* To reduce what a message has brought.  What a put has brought lies in the cache of the
 * core that put it. */
static uint64_t add_ps(const struct am_coll_cost *c, size_t bytes)
{
    return am_cost_copies(c, bytes) == 1
                   ? am_cost_copy_ps(&c->numbers->perf, bytes)
                   : own_ps(c, bytes);
}

/* In packets of equal length, but for short ones, which are filled (am/bulk.c). */
static uint64_t stream_ps(const struct am_coll_cost *c, size_t bytes)
{
    size_t packet = c->numbers->packet_bytes;

    if (am_cost_is_large(c, bytes) && packet >= PAGE) {
        packet = am_packet_step(bytes, packet);
    }
    return am_cost_stream_ps(&c->numbers->perf, packet, bytes);
}

/* One message that is waited for. */
static uint64_t level_ps(const struct am_coll_cost *c, size_t bytes)
{
    uint64_t single;

    if (!am_cost_is_large(c, bytes)) {
        return stream_ps(c, bytes);
    }
    single = single_ps(c, bytes);
    return (single != AM_COST_NEVER ? single : stream_ps(c, bytes)) +
           2 * am_cost_short_ps(&c->numbers->perf); /* READY, FIN */
}

/* The most children of a member, and the levels of the tree. */
static uint64_t children(const struct am_coll_cost *c)
{
    return am_tree_child_count(c->shape, (struct am_tree_span){0, c->size});
}

static uint64_t depth(const struct am_coll_cost *c)
{
    return am_tree_depth(c->shape, c->size);
}

/* Down, or up, a tree in pieces: the first passes all levels, waiting for its
 * elder brothers (in the binomial tree those have the longer way, so that it
 * does not count); then the busiest member has one after the other, and passes them on
 * if it is between others. */
static uint64_t tree_ps(const struct am_coll_cost *c, size_t bytes,
                        bool is_added)
{
    size_t piece = c->chunk < bytes ? c->chunk : bytes;
    uint64_t count = am_piece_count(bytes, c->chunk), k = children(c);
    uint64_t brothers = c->shape == AM_TREE_BINOMIAL ? 0 : k - 1;
    uint64_t add = is_added ? add_ps(c, piece) : 0;
    uint64_t each =
            larger(am_cost_send_ps(c, piece), am_cost_recv_ps(c, piece)) +
            step_ps(c, piece) + add;

    return depth(c) * (level_ps(c, piece) + brothers * each + add) +
           (count - 1) *
                   (k * each + (depth(c) > 1 ? am_cost_recv_ps(c, piece) : 0));
}

uint64_t am_cost_never(const struct am_coll_cost *c)
{
    (void)c;
    return AM_COST_NEVER;
}

/* One exchange both ways at once: the other's comes while mine goes, but a core that
 * copies does so for both, and sees late what comes. */
static uint64_t exchange_ps(const struct am_coll_cost *c, size_t bytes)
{
    return larger(level_ps(c, bytes),
                  am_cost_send_ps(c, bytes) + am_cost_recv_ps(c, bytes)) +
           step_ps(c, bytes);
}

uint64_t am_cost_dissemination(const struct am_coll_cost *c)
{
    return am_cube_rounds(c->size) * exchange_ps(c, 0);
}

uint64_t am_cost_barrier_tree(const struct am_coll_cost *c)
{
    return 2 * tree_ps(c, 0, false);
}

uint64_t am_cost_bcast_tree(const struct am_coll_cost *c)
{
    return tree_ps(c, c->bytes, false);
}

/* Half, a quarter, ... of the bytes down the tree; then block by block. */
uint64_t am_cost_bcast_scatter(const struct am_coll_cost *c)
{
    size_t part = c->bytes;
    uint64_t ps = 0;

    for (uint32_t i = am_cube_rounds(c->size); i > 0; i--) {
        part /= 2;
        ps += level_ps(c, part);
    }
    return ps + (c->size - 1) * exchange_ps(c, c->bytes / c->size);
}

uint64_t am_cost_reduce_tree(const struct am_coll_cost *c)
{
    return tree_ps(c, c->bytes, true);
}

uint64_t am_cost_allreduce_tree(const struct am_coll_cost *c)
{
    return tree_ps(c, c->bytes, true) + tree_ps(c, c->bytes, false);
}

static bool is_folded(const struct am_coll_cost *c)
{
    return am_cube_floor(c->size) != c->size;
}

/* Those without a number: their values first, the result at the end. */
static uint64_t fold_ps(const struct am_coll_cost *c)
{
    return is_folded(c) ? 2 * level_ps(c, c->bytes) + own_ps(c, c->bytes) : 0;
}

uint64_t am_cost_allreduce_doubling(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(am_cube_floor(c->size));

    return rounds * (exchange_ps(c, c->bytes) + 2 * add_ps(c, c->bytes)) +
           fold_ps(c);
}

uint64_t am_cost_allreduce_halving(const struct am_coll_cost *c)
{
    size_t part = c->bytes;
    uint64_t ps = fold_ps(c) + own_ps(c, c->bytes);

    for (uint32_t i = am_cube_rounds(am_cube_floor(c->size)); i > 0; i--) {
        part /= 2;
        ps += 2 * exchange_ps(c, part) + add_ps(c, part);
    }
    return ps;
}

/* `steps` blocks round the ring, in pieces that follow each other. */
static uint64_t ring_ps(const struct am_coll_cost *c, size_t block,
                        uint64_t steps, bool is_added)
{
    size_t piece = c->chunk < block ? c->chunk : block;
    uint64_t count = am_piece_count(block, c->chunk);
    uint64_t add = is_added ? add_ps(c, piece) : 0;
    uint64_t each = am_cost_send_ps(c, piece) + am_cost_recv_ps(c, piece) +
                    2 * step_ps(c, piece) + add;

    return steps * (exchange_ps(c, piece) + add + (count - 1) * each);
}

uint64_t am_cost_allreduce_ring(const struct am_coll_cost *c)
{
    struct am_coll_cost whole = *c;
    size_t block = c->bytes / c->size;

    whole.chunk = SIZE_MAX;
    return ring_ps(c, block, c->size - 1, true) +
           ring_ps(&whole, block, c->size - 1, false);
}

uint64_t am_cost_gather_direct(const struct am_coll_cost *c)
{
    return level_ps(c, c->bytes) +
           (c->size - 2) * larger(am_cost_recv_ps(c, c->bytes),
                                  am_cost_send_ps(c, c->bytes));
}

/* The blocks of half the members come in one message to the root, and so on;
 * what an inner member has is copied once. */
uint64_t am_cost_gather_tree(const struct am_coll_cost *c)
{
    struct am_tree_span span = {0, c->size};
    uint64_t ps = 0;

    while (span.end - span.first > 1) {
        uint64_t count = am_tree_child_count(c->shape, span);
        struct am_tree_span child =
                am_tree_child(c->shape, span, (uint32_t)count - 1);
        size_t bytes = (child.end - child.first) * c->bytes;
        uint64_t others = count - 1;

        ps += level_ps(c, bytes) + own_ps(c, c->bytes);
        if (c->shape == AM_TREE_BINOMIAL) {
            ps += am_cost_recv_ps(c, bytes);
        } else {
            ps += others *
                  larger(am_cost_recv_ps(c, bytes), am_cost_send_ps(c, bytes));
        }
        span = child;
    }
    return ps;
}

uint64_t am_cost_allgather_ring(const struct am_coll_cost *c)
{
    struct am_coll_cost whole = *c;

    whole.chunk = SIZE_MAX;
    return ring_ps(&whole, c->bytes, c->size - 1, false);
}

uint64_t am_cost_allgather_bruck(const struct am_coll_cost *c)
{
    uint64_t ps = own_ps(c, c->bytes * (c->size + 1));

    for (uint32_t have = 1; have < c->size; have *= 2) {
        uint32_t more = have < c->size - have ? have : c->size - have;

        ps += exchange_ps(c, more * c->bytes);
    }
    return ps;
}

/* Each to all others: one wait, then what each end is kept by. */
uint64_t am_cost_exchange_direct(const struct am_coll_cost *c)
{
    return exchange_ps(c, c->bytes) +
           (c->size - 2) *
                   (am_cost_send_ps(c, c->bytes) +
                    am_cost_recv_ps(c, c->bytes) + step_ps(c, c->bytes));
}

uint64_t am_cost_reduce_scatter_direct(const struct am_coll_cost *c)
{
    return am_cost_exchange_direct(c) + c->size * own_ps(c, c->bytes);
}

uint64_t am_cost_reduce_scatter_ring(const struct am_coll_cost *c)
{
    return ring_ps(c, c->bytes, c->size - 1, true);
}

uint64_t am_cost_alltoall_pairwise(const struct am_coll_cost *c)
{
    return (c->size - 1) * exchange_ps(c, c->bytes);
}

uint64_t am_cost_alltoall_bruck(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(c->size);
    size_t half = c->size / 2 * c->bytes;

    return rounds * (exchange_ps(c, half) + 2 * own_ps(c, half)) +
           2 * own_ps(c, c->size * c->bytes);
}

uint64_t am_cost_scan_doubling(const struct am_coll_cost *c)
{
    return am_cube_rounds(c->size) *
                   (exchange_ps(c, c->bytes) + own_ps(c, c->bytes)) +
           own_ps(c, c->bytes);
}

uint64_t am_cost_scan_chain(const struct am_coll_cost *c)
{
    struct am_coll_cost chain = *c;

    chain.shape = AM_TREE_CHAIN;
    return tree_ps(&chain, c->bytes, true) + own_ps(c, c->bytes);
}
