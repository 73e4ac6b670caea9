/*
 * The formulas of cost.h where members share cores.  Others run while one waits: a wait
 * costs what the ranks of a core take to go round, and what all members do is done by
 * the cores that they have.  So the longest way counts in waits, and not in bytes.
 */
#include "config.h"

#include "collectives/select/cost.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

uint64_t am_coll_round_ps(const struct am_coll_numbers *numbers)
{
    const struct am_dev_perf *perf = &numbers->perf;

    return perf->round_ps > 0
                   ? perf->round_ps
                   : (am_coll_core_ranks(numbers) - 1) * perf->turn_ps;
}

uint32_t am_crowd_cores(const struct am_coll_cost *c)
{
    uint64_t share = am_coll_core_ranks(c->numbers);

    return (uint32_t)((c->size + share - 1) / share);
}

uint64_t am_crowd_ps(const struct am_coll_cost *c, uint64_t waits,
                     uint64_t work_ps, uint64_t copied)
{
    return waits * am_coll_round_ps(c->numbers) +
           (work_ps + am_crowd_missing_ps(c, copied)) / am_crowd_cores(c);
}

/* So many waits and messages of so many bytes, and as many bytes copied or reduced. */
static uint64_t crowd_ps(const struct am_coll_cost *c, uint64_t waits,
                         uint64_t messages, size_t bytes, uint64_t copied)
{
    return am_crowd_ps(
            c, waits,
            messages * (am_cost_send_ps(c, bytes) + am_cost_recv_ps(c, bytes)) +
                    am_cost_copy_ps(&c->numbers->perf, copied),
            messages * am_cost_copies(c, bytes) * bytes + copied);
}

/* What parts that copy so many bytes in all cost more, one after the other, than each by
 * itself (`apart_ps`): none finds in a cache what the others have used. */
static uint64_t joint_ps(const struct am_coll_cost *c, uint64_t copied,
                         uint64_t apart_ps)
{
    return (am_crowd_missing_ps(c, copied) - apart_ps) / am_crowd_cores(c);
}

static uint64_t both_ps(const struct am_coll_cost *c, uint64_t one,
                        uint64_t other)
{
    return joint_ps(c, one + other,
                    am_crowd_missing_ps(c, one) +
                            am_crowd_missing_ps(c, other));
}

/* What a byte costs that lies in a cache which all cores share, to one of a core's own. */
#define AFAR_NUM 3
#define AFAR_DEN 2

/* The same where one member gives all, `own` of the messages itself.  What it has written
 * has left its core's cache when the others run. */
static uint64_t given_ps(const struct am_coll_cost *c, uint64_t waits,
                         uint64_t messages, uint64_t own, size_t bytes)
{
    struct am_coll_numbers numbers = *c->numbers;
    struct am_coll_cost cold = *c;
    struct am_dev_perf *perf = &numbers.perf;

    cold.numbers = &numbers;
    perf->send_overhead.per_byte_fs *= AFAR_NUM;
    perf->send_overhead.per_byte_fs /= AFAR_DEN;
    perf->recv_overhead.per_byte_fs *= AFAR_NUM;
    perf->recv_overhead.per_byte_fs /= AFAR_DEN;
    return larger(crowd_ps(&cold, waits, messages, bytes, 0),
                  am_crowd_ps(c, waits, 0, 0) +
                          own * am_cost_send_ps(&cold, bytes));
}

static uint64_t depth(const struct am_coll_cost *c)
{
    return am_tree_depth(c->shape, c->size);
}

static uint64_t children(const struct am_coll_cost *c)
{
    return am_tree_child_count(c->shape, (struct am_tree_span){0, c->size});
}

static size_t piece_bytes(const struct am_coll_cost *c, size_t bytes)
{
    return c->chunk < bytes ? c->chunk : bytes;
}

/* So many pieces that go at once lie in a lane before their sender waits; of others each
 * is a wait. */
#define AHEAD 8

static uint64_t piece_waits(const struct am_coll_cost *c, size_t bytes)
{
    uint64_t more = am_piece_count(bytes, c->chunk) - 1;

    return am_cost_is_large(c, piece_bytes(c, bytes)) ? more : more / AHEAD;
}

/* Two for a message whose memory is not known before. */
static uint64_t waits_of(const struct am_coll_cost *c, size_t bytes)
{
    return am_cost_is_large(c, bytes) ? 2 : 1;
}

uint64_t am_crowd_dissemination(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(c->size);

    return crowd_ps(c, rounds, rounds * c->size, 0, 0);
}

uint64_t am_crowd_barrier_tree(const struct am_coll_cost *c)
{
    return crowd_ps(c, 2 * depth(c), 2 * (c->size - 1), 0, 0);
}

/* The root runs first, mostly: what its children want is there when they run, but not
 * if they must say first where it goes. */
uint64_t am_crowd_bcast_tree(const struct am_coll_cost *c)
{
    size_t piece = piece_bytes(c, c->bytes);
    uint64_t count = am_piece_count(c->bytes, c->chunk);

    return given_ps(c,
                    depth(c) - 1 + (am_cost_is_large(c, piece) ? 2 : 0) +
                            piece_waits(c, c->bytes),
                    (c->size - 1) * count, children(c) * count, piece);
}

/* Half, a quarter, ... of the bytes down the tree; then block by block to all. */
uint64_t am_crowd_bcast_scatter(const struct am_coll_cost *c)
{
    size_t block = c->bytes / c->size;
    uint64_t rounds = am_cube_rounds(c->size);

    return given_ps(c, rounds * waits_of(c, c->bytes / 2), rounds, 1,
                    c->bytes / 2) +
           given_ps(c, (c->size - 1) * waits_of(c, block),
                    (uint64_t)c->size * (c->size - 1), c->size - 1, block);
}

/* Up or down a tree, and once more until long ones are known to be awaited. */
static uint64_t tree_waits(const struct am_coll_cost *c)
{
    return depth(c) + waits_of(c, piece_bytes(c, c->bytes)) - 1 +
           piece_waits(c, c->bytes);
}

/* The parents are ready for what comes. */
uint64_t am_crowd_reduce_tree(const struct am_coll_cost *c)
{
    uint64_t count = am_piece_count(c->bytes, c->chunk);

    return crowd_ps(c, tree_waits(c), (c->size - 1) * count,
                    piece_bytes(c, c->bytes), (c->size - 1) * c->bytes);
}

uint64_t am_crowd_allreduce_tree(const struct am_coll_cost *c)
{
    uint64_t count = am_piece_count(c->bytes, c->chunk);
    size_t piece = piece_bytes(c, c->bytes);
    uint64_t down = (c->size - 1) * c->bytes * am_cost_copies(c, piece);

    return am_crowd_reduce_tree(c) +
           given_ps(c, tree_waits(c), (c->size - 1) * count,
                    children(c) * count, piece) +
           both_ps(c, down + (c->size - 1) * c->bytes, down);
}

/* Of those without a number: their values first, the result at the end. */
static uint64_t fold_waits(const struct am_coll_cost *c)
{
    bool is_folded = am_cube_floor(c->size) != c->size;

    return is_folded ? 2 * waits_of(c, c->bytes) : 0;
}

uint64_t am_crowd_allreduce_doubling(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(am_cube_floor(c->size));

    return crowd_ps(c, rounds * waits_of(c, c->bytes) + fold_waits(c),
                    c->size * rounds, c->bytes,
                    c->size * (rounds + 1) * c->bytes);
}

uint64_t am_crowd_allreduce_halving(const struct am_coll_cost *c)
{
    size_t part = c->bytes;
    uint64_t copied = 2 * c->size * c->bytes;
    uint64_t ps = crowd_ps(c, fold_waits(c), 0, 0, copied);
    uint64_t apart_ps = am_crowd_missing_ps(c, copied);

    for (uint32_t i = am_cube_rounds(am_cube_floor(c->size)); i > 0; i--) {
        uint64_t more;

        part /= 2;
        more = 2 * c->size * part * am_cost_copies(c, part);
        ps += crowd_ps(c, 2 * waits_of(c, part), 2 * c->size, part, 0);
        copied += more;
        apart_ps += am_crowd_missing_ps(c, more);
    }
    return ps + joint_ps(c, copied, apart_ps);
}

/* Blocks round the ring, in pieces that follow each other: so many bytes of them miss the
 * cache. */
static uint64_t ring_ps(const struct am_coll_cost *c, size_t block,
                        size_t chunk, bool is_added, uint64_t missing)
{
    uint64_t steps = c->size - 1, count = am_piece_count(block, chunk);
    size_t piece = chunk < block ? chunk : block;
    uint64_t added = is_added ? c->size * steps * block : 0;

    return am_crowd_ps(c, steps + count - 1,
                       c->size * steps * count *
                                       (am_cost_send_ps(c, piece) +
                                        am_cost_recv_ps(c, piece)) +
                               am_cost_copy_ps(&c->numbers->perf, added),
                       missing);
}

/* All that goes round, once. */
static uint64_t round_bytes(const struct am_coll_cost *c, size_t block)
{
    return (uint64_t)c->size * (c->size - 1) * block;
}

/* A member sends, or adds, what has just come: only one of the two copies of a message
 * misses the cache. */
uint64_t am_crowd_allreduce_ring(const struct am_coll_cost *c)
{
    size_t block = c->bytes / c->size;

    return ring_ps(c, block, c->chunk, true, 2 * round_bytes(c, block)) +
           ring_ps(c, block, SIZE_MAX, false, 0);
}

uint64_t am_crowd_gather_direct(const struct am_coll_cost *c)
{
    return crowd_ps(c, 1, c->size - 1, c->bytes, 0);
}

/* Each block to its member: the root runs first, mostly. */
uint64_t am_crowd_scatter_direct(const struct am_coll_cost *c)
{
    return given_ps(c, am_cost_is_large(c, c->bytes) ? 2 : 0, c->size - 1,
                    c->size - 1, c->bytes);
}

/* As am_cost_gather_tree: each member's block goes up once more on each level. */
uint64_t am_crowd_gather_tree(const struct am_coll_cost *c)
{
    struct am_tree_span span = {0, c->size};
    uint64_t ps = 0;

    while (span.end - span.first > 1) {
        uint32_t count = am_tree_child_count(c->shape, span);
        struct am_tree_span child = am_tree_child(c->shape, span, count - 1);
        size_t bytes = (child.end - child.first) * c->bytes;

        ps += crowd_ps(c, 1, count, bytes, (uint64_t)count * bytes);
        span = child;
    }
    return ps;
}

/* Down the tree: the root writes all but its own block, and members say first where
 * long ones go. */
uint64_t am_crowd_scatter_tree(const struct am_coll_cost *c)
{
    uint64_t waits = depth(c) - 1 + (am_cost_is_large(c, c->bytes) ? 2 : 0);

    return larger(am_crowd_gather_tree(c),
                  given_ps(c, waits, c->size - 1, c->size - 1, c->bytes));
}

uint64_t am_crowd_allgather_ring(const struct am_coll_cost *c)
{
    return ring_ps(c, c->bytes, SIZE_MAX, false, 2 * round_bytes(c, c->bytes));
}

uint64_t am_crowd_allgather_bruck(const struct am_coll_cost *c)
{
    uint64_t ps =
            crowd_ps(c, 0, 0, 0, (uint64_t)c->size * (c->size + 1) * c->bytes);

    for (uint32_t have = 1; have < c->size; have *= 2) {
        uint32_t more = have < c->size - have ? have : c->size - have;

        ps += crowd_ps(c, 1, c->size, more * c->bytes, 0);
    }
    return ps;
}

/* Each to all others. */
uint64_t am_crowd_exchange_direct(const struct am_coll_cost *c)
{
    return crowd_ps(c, waits_of(c, c->bytes), (uint64_t)c->size * (c->size - 1),
                    c->bytes, 0);
}

/* Of a long message, where pages are not made ahead: as much as a copy by the device, of
 * which as many are made as new pages cost (am/spare.h), and which they then cost. */
static uint64_t pages_ps(const struct am_coll_cost *c)
{
    const struct am_coll_numbers *n = c->numbers;
    uint64_t ps;

    if (!am_cost_is_large(c, c->bytes) || c->bytes <= n->ready_bytes) {
        return 0;
    }
    ps = am_cost_single_ps(&n->perf, n->caps, AM_COST_PUT, c->bytes);
    return ps != AM_COST_NEVER ? ps : am_cost_send_ps(c, c->bytes);
}

/* Each block goes through a lane of its own; those of a ring go through one for each
 * member, in short pieces, and use its pages soon. */
uint64_t am_crowd_reduce_scatter_direct(const struct am_coll_cost *c)
{
    uint64_t each = am_cost_copy_ps(&c->numbers->perf, c->bytes) + pages_ps(c);

    return am_crowd_exchange_direct(c) +
           am_crowd_ps(c, 0, (uint64_t)c->size * (c->size - 1) * each, 0);
}

uint64_t am_crowd_reduce_scatter_ring(const struct am_coll_cost *c)
{
    return ring_ps(c, c->bytes, c->chunk, true, round_bytes(c, c->bytes));
}

uint64_t am_crowd_alltoall_pairwise(const struct am_coll_cost *c)
{
    return crowd_ps(c, c->size - 1, (uint64_t)c->size * (c->size - 1), c->bytes,
                    0);
}

uint64_t am_crowd_alltoall_bruck(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(c->size);
    size_t half = c->size / 2 * c->bytes;

    return crowd_ps(c, rounds, rounds * c->size, half,
                    2 * c->size * (rounds * half + c->size * c->bytes));
}

uint64_t am_crowd_scan_doubling(const struct am_coll_cost *c)
{
    uint64_t rounds = am_cube_rounds(c->size);

    return crowd_ps(c, rounds * waits_of(c, c->bytes), rounds * c->size,
                    c->bytes, rounds * c->size * c->bytes);
}

uint64_t am_crowd_scan_chain(const struct am_coll_cost *c)
{
    struct am_coll_cost chain = *c;

    chain.shape = AM_TREE_CHAIN;
    return am_crowd_reduce_tree(&chain);
}
