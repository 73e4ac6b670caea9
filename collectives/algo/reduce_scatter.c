/*
 * Reduce-scatters.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    SLOTS = 2,
    TAG_DIRECT = 1
};

static struct am_block block_at(const struct am_coll_build *b, uint32_t member)
{
    return am_block_at(b->call->recv_counts, b->call->recv_offsets,
                       b->call->count, b->unit, member);
}

/* Each member gets its block from all others and reduces them from the last to
 * the first, so that no operator needs to commute: two at a time, and the sends
 * are staggered in the same order. */
void am_reduce_scatter_flat(const struct am_coll_build *b)
{
    struct am_block mine = block_at(b, b->rank);
    const void *own = am_at(b->call->send, mine.offset);
    char *slots = am_sched_scratch(b->sched, SLOTS * mine.bytes);
    uint32_t freed[SLOTS] = {AM_STEP_NONE, AM_STEP_NONE}, before = AM_STEP_NONE;

    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t member = am_ring_after(b->rank, b->size, i);
        struct am_block block = block_at(b, member);

        am_sched_send(b->sched, member, AM_TAG(TAG_DIRECT, 0),
                      am_at(b->call->send, block.offset), block.bytes);
    }
    for (uint32_t i = b->size; i-- > 0;) {
        bool is_first = i == b->size - 1;
        char *slot = am_at_mutable(slots, i % SLOTS * mine.bytes);
        char *to = is_first ? b->call->recv : slot;
        uint32_t come = AM_STEP_NONE;

        if (i != b->rank) {
            come = am_sched_recv(b->sched, i, AM_TAG(TAG_DIRECT, 0), to,
                                 mine.bytes);
            am_sched_edge(b->sched, is_first ? AM_STEP_NONE : freed[i % SLOTS],
                          come);
        } else if (is_first) {
            come = am_sched_copy(b->sched, own, to, mine.bytes);
        }
        if (!is_first) {
            uint32_t add = am_sched_reduce(b->sched, i == b->rank ? own : slot,
                                           b->call->recv, mine.bytes / b->unit);

            am_sched_edge(b->sched, come, add);
            am_sched_edge(b->sched, before, add);
            freed[i % SLOTS] = i == b->rank ? freed[i % SLOTS] : add;
            come = add;
        }
        before = come;
    }
}

void am_reduce_scatter_ring(const struct am_coll_build *b)
{
    struct am_block *blocks =
            am_sched_scratch(b->sched, b->size * sizeof(*blocks));

    if (blocks == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        blocks[i] = block_at(b, i);
    }
    (void)am_reduce_ring(b, b->call->send, b->call->recv, blocks, true);
}
