/*
 * Gather and scatter.  In a tree a member holds the blocks of its subtree, which
 * are those of members that follow each other, in one piece.
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    TAG_GATHER = 1,
    TAG_SCATTER
};

/* My subtree, seen from the root's member number. */
struct place {
    uint32_t root, relative, parent;
    struct am_tree_span span;
    uint32_t child_count;
    size_t block; /* bytes */
};

static struct place place_of(const struct am_coll_build *b)
{
    struct place p = {.root = b->call->root, .block = b->call->count};

    p.relative = am_ring_before(b->rank, b->size, p.root);
    p.span = am_tree_find(b->shape, b->size, p.relative, &p.parent);
    p.child_count = am_tree_child_count(b->shape, p.span);
    return p;
}

static uint32_t member_of(const struct am_coll_build *b, const struct place *p,
                          uint32_t relative)
{
    return am_ring_after(relative, b->size, p->root);
}

/* At the root: the blocks of a span lie in one piece, unless the span goes past
 * the last member; then the second part begins at the first. */
static size_t span_parts(const struct am_coll_build *b, const struct place *p,
                         struct am_tree_span span, struct am_block parts[2])
{
    uint32_t first = member_of(b, p, span.first);
    uint32_t count = span.end - span.first;
    uint32_t head = count < b->size - first ? count : b->size - first;

    parts[0] = (struct am_block){first * p->block, head * p->block};
    parts[1] = (struct am_block){0, (count - head) * p->block};
    return count * p->block;
}

/* ------------------------------------------------------------------ gather */

/* The root receives a subtree where it belongs, by way of scratch memory if
 * that is in two parts. */
static void root_recv(const struct am_coll_build *b, const struct place *p,
                      struct am_tree_span span)
{
    uint32_t from = member_of(b, p, span.first), recv;
    struct am_block parts[2];
    size_t bytes = span_parts(b, p, span, parts);
    char *to = parts[1].bytes > 0
                       ? am_sched_scratch(b->sched, bytes)
                       : am_at_mutable(b->call->recv, parts[0].offset);

    recv = am_sched_recv(b->sched, from, AM_TAG(TAG_GATHER, 0), to, bytes);
    for (int i = 0; i < 2 && parts[1].bytes > 0; i++) {
        am_sched_edge(
                b->sched, recv,
                am_sched_copy(b->sched, am_at(to, i == 0 ? 0 : parts[0].bytes),
                              am_at_mutable(b->call->recv, parts[i].offset),
                              parts[i].bytes));
    }
}

void am_gather_shape(const struct am_coll_build *b)
{
    struct place p = place_of(b);
    const void *from = b->call->send;
    uint32_t all;

    if (p.parent == AM_TOPO_NONE) {
        for (uint32_t i = p.child_count; i-- > 0;) {
            root_recv(b, &p, am_tree_child(b->shape, p.span, i));
        }
        if (from != NULL) {
            am_sched_copy(b->sched, from,
                          am_at_mutable(b->call->recv, b->rank * p.block),
                          p.block);
        }
        return;
    }
    all = am_sched_join(b->sched);
    if (p.child_count > 0) {
        size_t bytes = (p.span.end - p.span.first) * p.block;
        char *to = am_sched_scratch(b->sched, bytes);

        am_sched_edge(b->sched, am_sched_copy(b->sched, from, to, p.block),
                      all);
        for (uint32_t i = p.child_count; i-- > 0;) {
            struct am_tree_span span = am_tree_child(b->shape, p.span, i);
            size_t at = (span.first - p.span.first) * p.block;

            am_sched_edge(b->sched,
                          am_sched_recv(b->sched, member_of(b, &p, span.first),
                                        AM_TAG(TAG_GATHER, 0),
                                        am_at_mutable(to, at),
                                        (span.end - span.first) * p.block),
                          all);
        }
        from = to;
    }
    am_sched_edge(b->sched, all,
                  am_sched_send(b->sched, member_of(b, &p, p.parent),
                                AM_TAG(TAG_GATHER, 0), from,
                                (p.span.end - p.span.first) * p.block));
}

void am_gather_flat(const struct am_coll_build *b)
{
    const struct am_coll_call *call = b->call;

    if (b->rank != call->root) {
        am_sched_send(b->sched, call->root, AM_TAG(TAG_GATHER, 0), call->send,
                      call->count);
        return;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t member = am_ring_after(b->rank, b->size, i);
        struct am_block block = am_block_at(
                call->recv_counts, call->recv_offsets, call->count, 1, member);
        void *to = am_at_mutable(call->recv, block.offset);

        if (i > 0) {
            am_sched_recv(b->sched, member, AM_TAG(TAG_GATHER, 0), to,
                          block.bytes);
        } else if (call->send != NULL) {
            am_sched_copy(b->sched, call->send, to, block.bytes);
        }
    }
}

/* ----------------------------------------------------------------- scatter */

static void root_send(const struct am_coll_build *b, const struct place *p,
                      struct am_tree_span span)
{
    uint32_t to = member_of(b, p, span.first);
    uint32_t all = am_sched_join(b->sched);
    struct am_block parts[2];
    size_t bytes = span_parts(b, p, span, parts);
    const void *from = am_at(b->call->send, parts[0].offset);

    if (parts[1].bytes > 0) {
        char *both = am_sched_scratch(b->sched, bytes);

        for (int i = 0; i < 2; i++) {
            am_sched_edge(
                    b->sched,
                    am_sched_copy(
                            b->sched, am_at(b->call->send, parts[i].offset),
                            am_at_mutable(both, i == 0 ? 0 : parts[0].bytes),
                            parts[i].bytes),
                    all);
        }
        from = both;
    }
    am_sched_edge(
            b->sched, all,
            am_sched_send(b->sched, to, AM_TAG(TAG_SCATTER, 0), from, bytes));
}

/* An inner member: its subtree's blocks come in one piece, its own first. */
static void inner_scatter(const struct am_coll_build *b, const struct place *p)
{
    size_t bytes = (p->span.end - p->span.first) * p->block;
    char *to = p->child_count > 0 ? am_sched_scratch(b->sched, bytes)
                                  : b->call->recv;
    uint32_t recv = am_sched_recv(b->sched, member_of(b, p, p->parent),
                                  AM_TAG(TAG_SCATTER, 0), to, bytes);

    for (uint32_t i = p->child_count; i-- > 0;) {
        struct am_tree_span span = am_tree_child(b->shape, p->span, i);
        size_t at = (span.first - p->span.first) * p->block;

        am_sched_edge(b->sched, recv,
                      am_sched_send(b->sched, member_of(b, p, span.first),
                                    AM_TAG(TAG_SCATTER, 0), am_at(to, at),
                                    (span.end - span.first) * p->block));
    }
    if (p->child_count > 0) {
        am_sched_edge(b->sched, recv,
                      am_sched_copy(b->sched, to, b->call->recv, p->block));
    }
}

void am_scatter_shape(const struct am_coll_build *b)
{
    struct place p = place_of(b);

    if (p.parent != AM_TOPO_NONE) {
        inner_scatter(b, &p);
        return;
    }
    for (uint32_t i = p.child_count; i-- > 0;) {
        root_send(b, &p, am_tree_child(b->shape, p.span, i));
    }
    if (b->call->recv != NULL) {
        am_sched_copy(b->sched, am_at(b->call->send, b->rank * p.block),
                      b->call->recv, p.block);
    }
}

void am_scatter_flat(const struct am_coll_build *b)
{
    const struct am_coll_call *call = b->call;

    if (b->rank != call->root) {
        am_sched_recv(b->sched, call->root, AM_TAG(TAG_SCATTER, 0), call->recv,
                      call->count);
        return;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t member = am_ring_after(b->rank, b->size, i);
        struct am_block block = am_block_at(
                call->send_counts, call->send_offsets, call->count, 1, member);
        const void *from = am_at(call->send, block.offset);

        if (i > 0) {
            am_sched_send(b->sched, member, AM_TAG(TAG_SCATTER, 0), from,
                          block.bytes);
        } else if (call->recv != NULL) {
            am_sched_copy(b->sched, from, call->recv, block.bytes);
        }
    }
}
