/*
 * Reductions whose result all members get.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    TAG_FOLD = 1,
    TAG_UNFOLD,
    TAG_ROUND,
    TAG_SHARE
};

/* Up to member 0 and down again; a piece goes down while others come up. */
void am_allreduce_shape(const struct am_coll_build *b)
{
    size_t bytes = b->call->count * b->unit, chunk = am_chunk_of_units(b);
    uint32_t *ends = am_sched_scratch(b->sched, am_piece_count(bytes, chunk) *
                                                        sizeof(*ends));

    if (ends != NULL) {
        am_reduce_tree(b, chunk, 0, ends);
        am_bcast_tree(b, b->call->recv, bytes, chunk, 0, ends);
    }
}

/* Values that are put together in place: `sum` is where they are now. */
struct sum {
    char *at;       /* the values */
    char *other;    /* as much space, where the next ones are received */
    uint32_t ready; /* step after which the values are there */
    uint32_t free;  /* and after which the space may be written */
};

/* The own values, in `recv` if they are not there yet. */
static void sum_open(const struct am_coll_build *b, struct sum *sum)
{
    const struct am_coll_call *call = b->call;
    size_t bytes = call->count * b->unit;

    sum->at = call->recv;
    sum->other = am_sched_scratch(b->sched, bytes);
    sum->ready = sum->free = AM_STEP_NONE;
    if (call->send != NULL) {
        sum->ready = am_sched_copy(b->sched, call->send, call->recv, bytes);
    }
}

/* Receive `bytes` of a member's values and reduce them into mine; `from_left`:
 * its members come before mine.  `sent`: step that still reads my values. */
static void sum_add(const struct am_coll_build *b, struct sum *sum,
                    uint32_t member, uint32_t tag, bool from_left,
                    uint32_t sent)
{
    size_t count = b->call->count;
    uint32_t recv =
            am_sched_recv(b->sched, member, tag, sum->other, count * b->unit);
    uint32_t add;

    am_sched_edge(b->sched, sum->free, recv);
    if (from_left || b->call->op.is_commutative) {
        add = am_sched_reduce(b->sched, sum->other, sum->at, count);
    } else { /* mine are on the left: the sum comes to be in the other place */
        char *at = sum->at;

        add = am_sched_reduce(b->sched, sum->at, sum->other, count);
        sum->at = sum->other;
        sum->other = at;
    }
    am_sched_edge(b->sched, recv, add);
    am_sched_edge(b->sched, sum->ready, add);
    am_sched_edge(b->sched, sent, add);
    sum->ready = sum->free = add;
}

/* All have the result in `sum`: bring it to `recv`, and tell the spare rank. */
static void cube_close(const struct am_coll_build *b, struct sum *sum)
{
    uint32_t spare = am_cube_spare(b->rank, b->size);
    size_t bytes = b->call->count * b->unit;

    if (sum->at != b->call->recv) {
        uint32_t copy = am_sched_copy(b->sched, sum->at, b->call->recv, bytes);

        am_sched_edge(b->sched, sum->ready, copy);
        sum->ready = copy;
    }
    if (spare != AM_TOPO_NONE) {
        uint32_t send = am_sched_send(b->sched, spare, AM_TAG(TAG_UNFOLD, 0),
                                      b->call->recv, bytes);

        am_sched_edge(b->sched, sum->ready, send);
    }
}

/* A rank without a number gives its values away and gets the result. */
static void spare_run(const struct am_coll_build *b, uint32_t partner)
{
    size_t bytes = b->call->count * b->unit;
    uint32_t send = am_sched_send(b->sched, partner, AM_TAG(TAG_FOLD, 0),
                                  am_given(b->call), bytes);
    uint32_t recv = am_sched_recv(b->sched, partner, AM_TAG(TAG_UNFOLD, 0),
                                  b->call->recv, bytes);

    am_sched_edge(b->sched, send, recv);
}

/* The values of this rank, to which those of its spare rank are added, in a cube
 * of which it has *number_p.  False: it has none, and all it does is scheduled. */
static bool cube_open(const struct am_coll_build *b, struct sum *sum,
                      uint32_t *number_p)
{
    uint32_t spare = am_cube_spare(b->rank, b->size);

    *number_p = am_cube_number(b->rank, b->size);
    if (*number_p == AM_TOPO_NONE) {
        spare_run(b, spare);
        return false;
    }
    sum_open(b, sum);
    if (spare != AM_TOPO_NONE) {
        sum_add(b, sum, spare, AM_TAG(TAG_FOLD, 0), false, AM_STEP_NONE);
    }
    return true;
}

/* Recursive doubling (Thakur, Rabenseifner and Gropp 2005): log2 P exchanges of
 * all values, with partners at distances 1, 2, 4 in their numbers. */
void am_allreduce_doubling(const struct am_coll_build *b)
{
    uint32_t whole = am_cube_floor(b->size), round = 0;
    uint32_t number;
    struct sum sum;

    if (!cube_open(b, &sum, &number)) {
        return;
    }
    for (uint32_t distance = 1; distance < whole; distance *= 2, round++) {
        uint32_t other = number ^ distance;
        uint32_t member = am_cube_rank(other, b->size);
        uint32_t tag = AM_TAG(TAG_ROUND, round);
        uint32_t send = am_sched_send(b->sched, member, tag, sum.at,
                                      b->call->count * b->unit);

        am_sched_edge(b->sched, sum.ready, send);
        sum_add(b, &sum, member, tag, other < number, send);
    }
    cube_close(b, &sum);
}

/* Blocks [first, end) of the values, shared out among the numbers. */
static struct am_block range_of(const struct am_coll_build *b, uint32_t first,
                                uint32_t end)
{
    size_t bytes = b->call->count * b->unit;
    uint32_t parts = am_cube_floor(b->size);
    struct am_block from = am_block_of(bytes, b->unit, parts, first);
    struct am_block last = am_block_of(bytes, b->unit, parts, end - 1);

    return (struct am_block){from.offset,
                             last.offset + last.bytes - from.offset};
}

/* Send one half of my range, receive and reduce the other. */
static void halve(const struct am_coll_build *b, struct sum *sum,
                  uint32_t member, uint32_t round, struct am_block given,
                  struct am_block kept)
{
    uint32_t tag = AM_TAG(TAG_ROUND, round);
    uint32_t send = am_sched_send(b->sched, member, tag,
                                  am_at(sum->at, given.offset), given.bytes);
    uint32_t recv =
            am_sched_recv(b->sched, member, tag,
                          am_at_mutable(sum->other, kept.offset), kept.bytes);
    uint32_t add = am_sched_reduce(b->sched, am_at(sum->other, kept.offset),
                                   am_at_mutable(sum->at, kept.offset),
                                   kept.bytes / b->unit);

    am_sched_edge(b->sched, sum->ready, send);
    am_sched_edge(b->sched, sum->free, recv);
    am_sched_edge(b->sched, recv, add);
    am_sched_edge(b->sched, sum->ready, add);
    sum->free = add;
    sum->ready = am_sched_join(b->sched);
    am_sched_edge(b->sched, add, sum->ready);
    am_sched_edge(b->sched, send, sum->ready);
}

/* Give what I have, get as much. */
static void redouble(const struct am_coll_build *b, struct sum *sum,
                     uint32_t member, uint32_t round, struct am_block have,
                     struct am_block want)
{
    uint32_t tag = AM_TAG(TAG_SHARE, round);
    uint32_t send = am_sched_send(b->sched, member, tag,
                                  am_at(sum->at, have.offset), have.bytes);
    uint32_t recv =
            am_sched_recv(b->sched, member, tag,
                          am_at_mutable(sum->at, want.offset), want.bytes);
    uint32_t both = am_sched_join(b->sched);

    am_sched_edge(b->sched, sum->ready, send);
    am_sched_edge(b->sched, sum->ready, recv);
    am_sched_edge(b->sched, send, both);
    am_sched_edge(b->sched, recv, both);
    sum->ready = both;
}

/* Halving and doubling (Rabenseifner 2004): a reduce-scatter in which the length
 * halves each round, then the way back.  Operators must commute. */
void am_allreduce_halving(const struct am_coll_build *b)
{
    uint32_t whole = am_cube_floor(b->size), round = 0;
    uint32_t number;
    struct sum sum;

    if (!cube_open(b, &sum, &number)) {
        return;
    }
    for (uint32_t half = whole / 2; half > 0; half /= 2, round++) {
        uint32_t mine = number & ~(half - 1), theirs = mine ^ half;

        halve(b, &sum, am_cube_rank(number ^ half, b->size), round,
              range_of(b, theirs, theirs + half),
              range_of(b, mine, mine + half));
    }
    for (uint32_t half = 1; half < whole; half *= 2, round++) {
        uint32_t mine = number & ~(half - 1), theirs = mine ^ half;

        redouble(b, &sum, am_cube_rank(number ^ half, b->size), round,
                 range_of(b, mine, mine + half),
                 range_of(b, theirs, theirs + half));
    }
    cube_close(b, &sum);
}

/* Round the ring: a reduce-scatter, then an all-gather (Patarasuk and Yuan
 * 2009).  Operators must commute. */
void am_allreduce_ring(const struct am_coll_build *b)
{
    size_t bytes = b->call->count * b->unit;
    struct am_block *blocks =
            am_sched_scratch(b->sched, b->size * sizeof(*blocks));
    uint32_t done;

    if (blocks == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        blocks[i] = am_block_of(bytes, b->unit, b->size, i);
    }
    done = am_reduce_ring(b, am_given(b->call), b->call->recv, blocks, false);
    am_allgather_ring(b, b->call->recv, blocks, 0, done, NULL);
}
