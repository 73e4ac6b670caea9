/*
 * Blocks that go round the ring of members: all to all members (the
 * multi-broadcast of Dawson and Strazdins), or reduced on their way to one
 * member each (their multi-reduce), in pieces.
 */
#include "config.h"

#include "collectives/algo/algo.h"

enum {
    TAG_SPREAD = 12,
    TAG_REDUCE,
    SLOTS = 2
};

void am_allgather_ring(const struct am_coll_build *b, void *buffer,
                       const struct am_block *blocks, uint32_t rotation,
                       uint32_t ready, const void *own)
{
    uint32_t me = am_ring_before(b->rank, b->size, rotation);
    uint32_t to = am_ring_after(b->rank, b->size, 1);
    uint32_t from = am_ring_before(b->rank, b->size, 1);

    for (uint32_t i = 0; i + 1 < b->size; i++) {
        const struct am_block *out = &blocks[am_ring_before(me, b->size, i)];
        const struct am_block *in = &blocks[am_ring_before(me, b->size, i + 1)];
        const void *given =
                i == 0 && own != NULL ? own : am_at(buffer, out->offset);
        uint32_t send = am_sched_send(b->sched, to, AM_TAG(TAG_SPREAD, i),
                                      given, out->bytes);

        am_sched_edge(b->sched, ready, send);
        ready = am_sched_recv(b->sched, from, AM_TAG(TAG_SPREAD, i),
                              am_at_mutable(buffer, in->offset), in->bytes);
    }
}

/* A reduction round the ring: where its values come and go. */
struct round {
    const struct am_coll_build *b;
    const struct am_block *blocks;
    const char *given;
    char *result;    /* all blocks; or, `is_scatter`, mine */
    bool is_scatter; /* others' blocks have no place here but the slots */
    char *slots;     /* SLOTS of the longest block, if they are needed */
    size_t slot_bytes;
    size_t chunk;
    uint32_t piece_count; /* of the longest block */
};

/* The block that comes in step `index`; the one that leaves in step 0 has the
 * index before it. */
static uint32_t block_in(const struct round *r, uint32_t index)
{
    return am_ring_before(r->b->rank, r->b->size, (index + 2) % r->b->size);
}

static char *slot(const struct round *r, uint32_t index)
{
    return am_at_mutable(r->slots, index % SLOTS * r->slot_bytes);
}

/* Where the values of step `index` are put together. */
static char *sum_at(const struct round *r, uint32_t index)
{
    uint32_t block = block_in(r, index);

    if (!r->is_scatter) {
        return am_at_mutable(r->result, r->blocks[block].offset);
    }
    return block == r->b->rank ? r->result : slot(r, index);
}

/* Piece `piece` of step `index`: it comes, and mine is added.  `sent`: step that
 * still reads the slot.  Returns the step after which the sum is there. */
static uint32_t piece_add(const struct round *r, uint32_t index, uint32_t piece,
                          uint32_t freed)
{
    const struct am_coll_build *b = r->b;
    const struct am_block *block = &r->blocks[block_in(r, index)];
    size_t at = piece == 0 ? 0 : piece * r->chunk;
    size_t bytes = am_piece_bytes(block->bytes, r->chunk, piece);
    char *sum = am_at_mutable(sum_at(r, index), at);
    const char *own = am_at(r->given, block->offset + at);
    char *landing = own == sum ? am_at_mutable(slot(r, index), at) : sum;
    uint32_t tag = AM_TAG(TAG_REDUCE, index * r->piece_count + piece);
    uint32_t recv = am_sched_recv(b->sched, am_ring_before(b->rank, b->size, 1),
                                  tag, landing, bytes);
    uint32_t add = am_sched_reduce(b->sched, own == sum ? landing : own, sum,
                                   bytes / b->unit);

    am_sched_edge(b->sched, freed, recv);
    am_sched_edge(b->sched, recv, add);
    return add;
}

/* All steps for one piece of each block; the last one's sum. */
static uint32_t piece_run(const struct round *r, uint32_t piece)
{
    const struct am_coll_build *b = r->b;
    uint32_t to = am_ring_after(b->rank, b->size, 1);
    uint32_t ready = AM_STEP_NONE, freed[SLOTS] = {AM_STEP_NONE, AM_STEP_NONE};
    size_t at = piece == 0 ? 0 : piece * r->chunk;

    for (uint32_t i = 0; i + 1 < b->size; i++) {
        uint32_t out = am_ring_after(block_in(r, i), b->size, 1);
        const struct am_block *block = &r->blocks[out];
        const char *from =
                i == 0 ? am_at(r->given, block->offset) : sum_at(r, i - 1);
        uint32_t tag = AM_TAG(TAG_REDUCE, i * r->piece_count + piece);

        if (at < block->bytes || piece == 0) {
            uint32_t send = am_sched_send(
                    b->sched, to, tag, am_at(from, at),
                    am_piece_bytes(block->bytes, r->chunk, piece));

            am_sched_edge(b->sched, ready, send);
            freed[(i + 1) % SLOTS] = send; /* it read the slot of step i - 1 */
        }
        ready = AM_STEP_NONE;
        if (at < r->blocks[block_in(r, i)].bytes || piece == 0) {
            ready = piece_add(r, i, piece, freed[i % SLOTS]);
            freed[i % SLOTS] = ready;
        }
    }
    return ready;
}

uint32_t am_reduce_ring(const struct am_coll_build *b, const void *given,
                        void *result, const struct am_block *blocks,
                        bool is_scatter)
{
    struct round r = {.b = b,
                      .blocks = blocks,
                      .given = given,
                      .result = result,
                      .is_scatter = is_scatter,
                      .chunk = am_chunk_of_units(b)};
    uint32_t all = am_sched_join(b->sched);

    if (b->size == 1 && given != result) {
        am_sched_edge(b->sched,
                      am_sched_copy(b->sched, am_at(given, blocks[0].offset),
                                    result, blocks[0].bytes),
                      all);
    }
    for (uint32_t i = 0; i < b->size; i++) {
        if (blocks[i].bytes > r.slot_bytes) {
            r.slot_bytes = blocks[i].bytes;
        }
    }
    r.piece_count = am_piece_count(r.slot_bytes, r.chunk);
    if (is_scatter || given == result) {
        r.slots = am_sched_scratch(b->sched, SLOTS * r.slot_bytes);
    }
    for (uint32_t i = 0; i < r.piece_count; i++) {
        am_sched_edge(b->sched, piece_run(&r, i), all);
    }
    return all;
}
