/*
 * The formulas of cost.h.
 */
#include "config.h"

#include "collectives/select/cost.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t copy_ps(const struct am_coll_cost *c, size_t bytes)
{
    return am_cost_copy_ps(&c->numbers->perf, bytes);
}

static uint64_t packets(const struct am_coll_cost *c, size_t bytes)
{
    size_t packet = c->numbers->packet_bytes;

    return bytes == 0 ? 1 : (bytes - 1) / packet + 1;
}

/* A put by the device, where that is cheaper than a stream. */
static uint64_t single_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_coll_numbers *n = c->numbers;
    bool single;
    uint64_t ps = am_cost_bulk_ps(&n->perf, n->caps, n->packet_bytes,
                                  AM_COST_PUT, bytes, &single);

    return single ? ps : AM_COST_NEVER;
}

static bool is_large(const struct am_coll_cost *c, size_t bytes)
{
    return bytes > c->numbers->eager_max;
}

static uint64_t send_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_dev_perf *perf = &c->numbers->perf;
    struct am_linfn more = {0, perf->send_overhead.per_byte_fs};
    uint64_t single = is_large(c, bytes) ? single_ps(c, bytes) : AM_COST_NEVER;
    uint64_t ps = packets(c, bytes) * perf->send_overhead.fixed_ps +
                  am_cost_line_ps(&more, bytes);

    return larger(single == AM_COST_NEVER
                          ? ps
                          : single + perf->send_overhead.fixed_ps,
                  perf->gap_ps);
}

static uint64_t recv_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_dev_perf *perf = &c->numbers->perf;
    struct am_linfn more = {0, perf->recv_overhead.per_byte_fs};

    if (is_large(c, bytes) && single_ps(c, bytes) != AM_COST_NEVER) {
        return 2 * perf->recv_overhead.fixed_ps;
    }
    return packets(c, bytes) * perf->recv_overhead.fixed_ps +
           am_cost_line_ps(&more, bytes);
}

/* One message that is waited for. */
static uint64_t level_ps(const struct am_coll_cost *c, size_t bytes)
{
    const struct am_coll_numbers *n = c->numbers;
    uint64_t ps, single;

    if (!is_large(c, bytes)) {
        ps = am_cost_stream_ps(&n->perf, n->packet_bytes, bytes);
    } else {
        single = single_ps(c, bytes);
        ps = (single != AM_COST_NEVER
                      ? single
                      : am_cost_stream_ps(&n->perf, n->packet_bytes, bytes)) +
             2 * am_cost_short_ps(&n->perf); /* READY, PUT */
    }
    return ps;
}

static uint32_t core_ranks(const struct am_coll_numbers *numbers)
{
    return numbers->perf.core_ranks > 1 ? numbers->perf.core_ranks : 2;
}

uint64_t am_coll_round_ps(const struct am_coll_numbers *numbers)
{
    const struct am_dev_perf *perf = &numbers->perf;

    return perf->round_ps > 0 ? perf->round_ps
                              : (core_ranks(numbers) - 1) * perf->turn_ps;
}

uint64_t am_cost_crowd_ps(const struct am_coll_cost *c, uint64_t waits,
                          uint64_t work_ps)
{
    uint32_t share = core_ranks(c->numbers);
    uint32_t cores = (c->size + share - 1) / share;

    return waits * am_coll_round_ps(c->numbers) + work_ps / cores;
}

/* So many waits and messages of so many bytes, and as many bytes copied or reduced. */
static uint64_t crowd_ps(const struct am_coll_cost *c, uint64_t waits,
                         uint64_t messages, size_t bytes, uint64_t copied)
{
    return am_cost_crowd_ps(c, waits,
                            messages * (send_ps(c, bytes) + recv_ps(c, bytes)) +
                                    copy_ps(c, copied));
}

/* The same where one member gives all, and what it has written is in no cache of the
 * others when they run: a byte costs each end what a read by the device does. */
static uint64_t crowd_cold_ps(const struct am_coll_cost *c, uint64_t waits,
                              uint64_t messages, size_t bytes)
{
    struct am_coll_numbers numbers = *c->numbers;
    struct am_coll_cost cold = *c;
    struct am_dev_perf *perf = &numbers.perf;

    cold.numbers = &numbers;
    perf->send_overhead.per_byte_fs =
            larger(perf->send_overhead.per_byte_fs, perf->get.per_byte_fs);
    perf->recv_overhead.per_byte_fs =
            larger(perf->recv_overhead.per_byte_fs, perf->get.per_byte_fs);
    return crowd_ps(&cold, waits, messages, bytes, 0);
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
 * does not count); then the busiest member has one after the other. */
static uint64_t tree_ps(const struct am_coll_cost *c, size_t bytes,
                        uint64_t add_fs)
{
    size_t piece = c->chunk < bytes ? c->chunk : bytes;
    uint64_t count = am_piece_count(bytes, c->chunk), k = children(c);
    uint64_t brothers = c->shape == AM_TREE_BINOMIAL ? 0 : k - 1;
    struct am_linfn add = {0, add_fs};
    uint64_t each = larger(send_ps(c, piece), recv_ps(c, piece)) +
                    am_cost_line_ps(&add, piece);

    return depth(c) * (level_ps(c, piece) + brothers * each +
                       am_cost_line_ps(&add, piece)) +
           (count - 1) * (k * each + recv_ps(c, piece));
}

/* What a reduction pays for a byte: as a copy does. */
static uint64_t add_fs(const struct am_coll_cost *c)
{
    return larger(c->numbers->perf.send_overhead.per_byte_fs,
                  c->numbers->perf.recv_overhead.per_byte_fs);
}

uint64_t am_cost_never(const struct am_coll_cost *c)
{
    (void)c;
    return AM_COST_NEVER;
}

uint64_t am_cost_dissemination(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(c->size);

    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, rounds, rounds * c->size, 0, 0);
    }
    return rounds * (level_ps(c, 0) + send_ps(c, 0));
}

uint64_t am_cost_barrier_tree(const struct am_coll_cost *c)
{
    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, 2 * depth(c), 2 * (c->size - 1), 0, 0);
    }
    return 2 * tree_ps(c, 0, 0);
}

/* The root runs first, mostly: what its children want is there when they run, but not
 * if they must say first where it goes. */
uint64_t am_cost_bcast_tree(const struct am_coll_cost *c)
{
    size_t piece = c->chunk < c->bytes ? c->chunk : c->bytes;
    uint64_t count = am_piece_count(c->bytes, c->chunk);

    if (am_cost_is_crowded(c)) {
        return crowd_cold_ps(
                c, depth(c) - 1 + (is_large(c, piece) ? 2 : 0) + count - 1,
                (c->size - 1) * count, piece);
    }
    return tree_ps(c, c->bytes, 0);
}

/* Half, a quarter, ... of the bytes down the tree; then block by block. */
uint64_t am_cost_bcast_scatter(const struct am_coll_cost *c)
{
    size_t part = c->bytes;
    uint64_t ps = 0, rounds = am_cube_rounds(c->size);

    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, rounds + c->size, c->size * (c->size - 1),
                        c->bytes / c->size, 0) +
               crowd_ps(c, 0, rounds, c->bytes / 2, 0);
    }
    for (uint64_t i = rounds; i > 0; i--) {
        part /= 2;
        ps += level_ps(c, part);
    }
    return ps + (c->size - 1) * (level_ps(c, c->bytes / c->size) +
                                 send_ps(c, c->bytes / c->size));
}

/* The parents are ready for what comes. */
uint64_t am_cost_reduce_tree(const struct am_coll_cost *c)
{
    size_t piece = c->chunk < c->bytes ? c->chunk : c->bytes;
    uint64_t count = am_piece_count(c->bytes, c->chunk);

    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, depth(c) + count - 1, (c->size - 1) * count, piece,
                        (c->size - 1) * c->bytes);
    }
    return tree_ps(c, c->bytes, add_fs(c));
}

uint64_t am_cost_allreduce_tree(const struct am_coll_cost *c)
{
    size_t piece = c->chunk < c->bytes ? c->chunk : c->bytes;
    uint64_t count = am_piece_count(c->bytes, c->chunk);

    if (am_cost_is_crowded(c)) {
        return am_cost_reduce_tree(c) + crowd_cold_ps(c, depth(c) + count - 1,
                                                      (c->size - 1) * count,
                                                      piece);
    }
    return tree_ps(c, c->bytes, add_fs(c)) + tree_ps(c, c->bytes, 0);
}

static bool is_folded(const struct am_coll_cost *c)
{
    return am_cube_floor(c->size) != c->size;
}

/* One exchange both ways at once. */
static uint64_t exchange_ps(const struct am_coll_cost *c, size_t bytes)
{
    return level_ps(c, bytes) + send_ps(c, bytes);
}

/* Those without a number: their values first, the result at the end. */
static uint64_t fold_ps(const struct am_coll_cost *c)
{
    return is_folded(c) ? 2 * level_ps(c, c->bytes) + copy_ps(c, c->bytes) : 0;
}

/* Two waits for an exchange whose memory is not known before. */
static uint64_t waits_of(const struct am_coll_cost *c, size_t bytes)
{
    return is_large(c, bytes) ? 2 : 1;
}

static uint64_t fold_waits(const struct am_coll_cost *c)
{
    return is_folded(c) ? 2 * waits_of(c, c->bytes) : 0;
}

uint64_t am_cost_allreduce_doubling(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(am_cube_floor(c->size));

    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, rounds * waits_of(c, c->bytes) + fold_waits(c),
                        c->size * rounds, c->bytes,
                        c->size * (rounds + 1) * c->bytes);
    }
    return rounds * (exchange_ps(c, c->bytes) + copy_ps(c, c->bytes)) +
           fold_ps(c) + copy_ps(c, c->bytes);
}

uint64_t am_cost_allreduce_halving(const struct am_coll_cost *c)
{
    size_t part = c->bytes;
    uint64_t rounds = am_cube_rounds(am_cube_floor(c->size));
    uint64_t ps = fold_ps(c) + copy_ps(c, c->bytes);

    if (am_cost_is_crowded(c)) {
        ps = crowd_ps(c, fold_waits(c), 0, 0, 2 * c->size * c->bytes);
        for (; rounds > 0; rounds--) {
            part /= 2;
            ps += crowd_ps(c, 2 * waits_of(c, part), 2 * c->size, part, 0);
        }
        return ps;
    }
    for (; rounds > 0; rounds--) {
        part /= 2;
        ps += 2 * exchange_ps(c, part) + copy_ps(c, part);
    }
    return ps;
}

/* `steps` blocks round the ring, in pieces that follow each other. */
static uint64_t ring_ps(const struct am_coll_cost *c, size_t block,
                        uint64_t steps, bool is_added)
{
    size_t piece = c->chunk < block ? c->chunk : block;
    uint64_t count = am_piece_count(block, c->chunk);
    uint64_t each = send_ps(c, piece) + recv_ps(c, piece) +
                    (is_added ? copy_ps(c, piece) : 0);

    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, steps + count - 1, c->size * steps * count, piece,
                        is_added ? c->size * steps * block : 0);
    }
    return steps * (larger(level_ps(c, piece) + send_ps(c, piece), each) +
                    (is_added ? copy_ps(c, piece) : 0) + (count - 1) * each);
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
    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, 1, c->size - 1, c->bytes, 0);
    }
    return level_ps(c, c->bytes) +
           (c->size - 2) * larger(recv_ps(c, c->bytes), send_ps(c, c->bytes));
}

/* Each block to its member: the root runs first, mostly. */
uint64_t am_cost_scatter_direct(const struct am_coll_cost *c)
{
    return am_cost_is_crowded(c)
                   ? crowd_cold_ps(c, is_large(c, c->bytes) ? 2 : 0,
                                   c->size - 1, c->bytes)
                   : am_cost_gather_direct(c);
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

        if (am_cost_is_crowded(c)) { /* each member's block goes up once more */
            ps += crowd_ps(c, 1, others + 1, bytes, (others + 1) * bytes);
            span = child;
            continue;
        }
        ps += level_ps(c, bytes) + copy_ps(c, c->bytes);
        if (c->shape == AM_TREE_BINOMIAL) {
            ps += recv_ps(c, bytes);
        } else {
            ps += others * larger(recv_ps(c, bytes), send_ps(c, bytes));
        }
        span = child;
    }
    return ps;
}

/* Down the tree; members say first where long blocks go. */
uint64_t am_cost_scatter_tree(const struct am_coll_cost *c)
{
    bool waits = am_cost_is_crowded(c) && is_large(c, c->bytes);

    return am_cost_gather_tree(c) + (waits ? crowd_ps(c, 2, 0, 0, 0) : 0);
}

uint64_t am_cost_allgather_ring(const struct am_coll_cost *c)
{
    struct am_coll_cost whole = *c;

    whole.chunk = SIZE_MAX;
    return ring_ps(&whole, c->bytes, c->size - 1, false);
}

uint64_t am_cost_allgather_bruck(const struct am_coll_cost *c)
{
    uint64_t ps = copy_ps(c, c->bytes * (c->size + 1));
    bool is_crowded = am_cost_is_crowded(c);

    if (is_crowded) {
        ps = crowd_ps(c, 0, 0, 0, c->size * (c->size + 1) * c->bytes);
    }
    for (uint32_t have = 1; have < c->size; have *= 2) {
        uint32_t more = have < c->size - have ? have : c->size - have;

        ps += is_crowded ? crowd_ps(c, 1, c->size, more * c->bytes, 0)
                         : exchange_ps(c, more * c->bytes);
    }
    return ps;
}

/* Each to all others: one wait, then what each end is kept by. */
uint64_t am_cost_exchange_direct(const struct am_coll_cost *c)
{
    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, waits_of(c, c->bytes), c->size * (c->size - 1),
                        c->bytes, 0);
    }
    return level_ps(c, c->bytes) +
           (c->size - 1) * (send_ps(c, c->bytes) + recv_ps(c, c->bytes));
}

uint64_t am_cost_reduce_scatter_direct(const struct am_coll_cost *c)
{
    uint64_t all = am_cost_is_crowded(c) ? core_ranks(c->numbers) : 1;

    return am_cost_exchange_direct(c) +
           all * (c->size - 1) * copy_ps(c, c->bytes);
}

uint64_t am_cost_reduce_scatter_ring(const struct am_coll_cost *c)
{
    return ring_ps(c, c->bytes, c->size - 1, true);
}

uint64_t am_cost_alltoall_pairwise(const struct am_coll_cost *c)
{
    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, c->size - 1, c->size * (c->size - 1), c->bytes, 0);
    }
    return (c->size - 1) * exchange_ps(c, c->bytes);
}

uint64_t am_cost_alltoall_bruck(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(c->size);
    size_t half = c->size / 2 * c->bytes;

    if (am_cost_is_crowded(c)) {
        return crowd_ps(c, rounds, rounds * c->size, half,
                        2 * c->size * (rounds * half + c->size * c->bytes));
    }
    return rounds * (exchange_ps(c, half) + 2 * copy_ps(c, half)) +
           2 * copy_ps(c, c->size * c->bytes);
}

uint64_t am_cost_scan_doubling(const struct am_coll_cost *c)
{
    if (am_cost_is_crowded(c)) {
        uint64_t rounds = am_cube_rounds(c->size);

        return crowd_ps(c, rounds * waits_of(c, c->bytes), rounds * c->size,
                        c->bytes, rounds * c->size * c->bytes);
    }
    return am_cube_rounds(c->size) *
                   (exchange_ps(c, c->bytes) + copy_ps(c, c->bytes)) +
           copy_ps(c, c->bytes);
}

uint64_t am_cost_scan_chain(const struct am_coll_cost *c)
{
    struct am_coll_cost chain = *c;

    chain.shape = AM_TREE_CHAIN;
    if (am_cost_is_crowded(c)) {
        return am_cost_reduce_tree(&chain);
    }
    return tree_ps(&chain, c->bytes, add_fs(c)) + copy_ps(c, c->bytes);
}
