/*
 * Barriers: dissemination (Hensgen, Finkel and Manber 1988), log2 P rounds for
 * all at once; and a tree up and down, with fewer messages in all.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    TAG_UP = 1,
    TAG_DOWN
};

void am_barrier_dissemination(const struct am_coll_build *b)
{
    uint32_t before = AM_STEP_NONE, rounds = am_cube_rounds(b->size);

    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t to = am_ring_after(b->rank, b->size, 1u << i);
        uint32_t from = am_ring_before(b->rank, b->size, 1u << i);
        uint32_t send = am_sched_send(b->sched, to, AM_TAG(0, i), NULL, 0);
        uint32_t recv = am_sched_recv(b->sched, from, AM_TAG(0, i), NULL, 0);

        am_sched_edge(b->sched, before, send);
        before = am_sched_join(b->sched);
        am_sched_edge(b->sched, recv, before);
        am_sched_edge(b->sched, send, before);
    }
}

void am_barrier_tree(const struct am_coll_build *b)
{
    uint32_t parent;
    struct am_tree_span span =
            am_tree_find(b->shape, b->size, b->rank, &parent);
    uint32_t count = am_tree_child_count(b->shape, span);
    uint32_t all = am_sched_join(b->sched);

    for (uint32_t i = 0; i < count; i++) {
        uint32_t child = am_tree_child(b->shape, span, i).first;

        am_sched_edge(
                b->sched,
                am_sched_recv(b->sched, child, AM_TAG(TAG_UP, 0), NULL, 0),
                all);
    }
    if (parent != AM_TOPO_NONE) {
        am_sched_edge(
                b->sched, all,
                am_sched_send(b->sched, parent, AM_TAG(TAG_UP, 0), NULL, 0));
        all = am_sched_recv(b->sched, parent, AM_TAG(TAG_DOWN, 0), NULL, 0);
    }
    for (uint32_t i = count; i-- > 0;) { /* the largest subtree first */
        uint32_t child = am_tree_child(b->shape, span, i).first;

        am_sched_edge(
                b->sched, all,
                am_sched_send(b->sched, child, AM_TAG(TAG_DOWN, 0), NULL, 0));
    }
}
