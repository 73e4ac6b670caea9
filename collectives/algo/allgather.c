/*
 * All-gathers.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    TAG_ROUND = 1,
    TAG_DIRECT
};

static struct am_block block_at(const struct am_coll_build *b, uint32_t member)
{
    return am_block_at(b->call->recv_counts, b->call->recv_offsets,
                       b->call->count, 1, member);
}

/* My own block into its place; the step, or none. */
static uint32_t own_copy(const struct am_coll_build *b, void *to, size_t bytes)
{
    if (b->call->send == NULL) {
        return AM_STEP_NONE;
    }
    return am_sched_copy(b->sched, b->call->send, to, bytes);
}

void am_allgather_around(const struct am_coll_build *b)
{
    struct am_block *blocks =
            am_sched_scratch(b->sched, b->size * sizeof(*blocks));

    if (blocks == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        blocks[i] = block_at(b, i);
    }
    am_allgather_ring(b, b->call->recv, blocks, 0, AM_STEP_NONE, b->call->send);
    /* last: the others need not wait for it */
    (void)own_copy(b, am_at_mutable(b->call->recv, blocks[b->rank].offset),
                   blocks[b->rank].bytes);
}

/* Bruck et al. 1997: log2 P rounds; in each a member sends all it has, in the
 * order of distance, and at the end puts the blocks in the order of members. */
void am_allgather_bruck(const struct am_coll_build *b)
{
    size_t block = b->call->count;
    char *all = am_sched_scratch(b->sched, b->size * block);
    uint32_t ready, round = 0, head = b->size - b->rank;
    const char *own = b->call->send != NULL
                              ? b->call->send
                              : am_at(b->call->recv, b->rank * block);

    ready = am_sched_copy(b->sched, own, all, block);
    for (uint32_t have = 1; have < b->size; have *= 2, round++) {
        uint32_t more = have < b->size - have ? have : b->size - have;
        uint32_t send =
                am_sched_send(b->sched, am_ring_before(b->rank, b->size, have),
                              AM_TAG(TAG_ROUND, round), all, more * block);
        uint32_t recv =
                am_sched_recv(b->sched, am_ring_after(b->rank, b->size, have),
                              AM_TAG(TAG_ROUND, round),
                              am_at_mutable(all, have * block), more * block);
        uint32_t both = am_sched_join(b->sched);

        am_sched_edge(b->sched, ready, send);
        am_sched_edge(b->sched, ready, both);
        am_sched_edge(b->sched, recv, both);
        ready = both;
    }
    am_sched_edge(b->sched, ready,
                  am_sched_copy(b->sched, all,
                                am_at_mutable(b->call->recv, b->rank * block),
                                head * block));
    am_sched_edge(b->sched, ready,
                  am_sched_copy(b->sched, am_at(all, head * block),
                                b->call->recv, b->rank * block));
}

void am_allgather_flat(const struct am_coll_build *b)
{
    struct am_block mine = block_at(b, b->rank);
    void *place = am_at_mutable(b->call->recv, mine.offset);
    const void *own = b->call->send != NULL ? b->call->send : place;

    for (uint32_t i = 1; i < b->size; i++) {
        am_sched_send(b->sched, am_ring_after(b->rank, b->size, i),
                      AM_TAG(TAG_DIRECT, 0), own, mine.bytes);
    }
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t member = am_ring_before(b->rank, b->size, i);
        struct am_block block = block_at(b, member);

        am_sched_recv(b->sched, member, AM_TAG(TAG_DIRECT, 0),
                      am_at_mutable(b->call->recv, block.offset), block.bytes);
    }
    (void)own_copy(b, place, mine.bytes);
}
