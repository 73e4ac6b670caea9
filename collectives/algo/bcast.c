/*
 * Broadcasts.  In a tree a member posts the receives of the next pieces ahead
 * and sends a piece on as soon as it is there; how many are under way does not
 * depend on the length (Dawson and Strazdins: 4 send chunks, 3 posted ahead).
 */
#include "config.h"

#include "collectives/algo/algo.h"
#include "collectives/algo/list.h"

enum {
    SENDS_MAX = 4,  /* pieces on their way to one child */
    POSTED_MAX = 3, /* receives before the one that is due */
    TAG_TREE = 8,
    TAG_SCATTER
};

/* The last few steps of a pipeline: step i may begin when i - window ended. */
struct window {
    uint32_t steps[SENDS_MAX + 1];
    uint32_t length;
};

static void window_pass(const struct am_coll_build *b, struct window *window,
                        uint32_t index, uint32_t step)
{
    uint32_t *slot = &window->steps[index % window->length];

    if (index >= window->length) {
        am_sched_edge(b->sched, *slot, step);
    }
    *slot = step;
}

/* A member of the tree that has its root at `root`. */
static uint32_t member_of(const struct am_coll_build *b, uint32_t relative,
                          uint32_t root)
{
    return am_ring_after(relative, b->size, root);
}

/* The receives of all pieces from the parent; `have` gets their steps. */
static void pieces_recv(const struct am_coll_build *b, uint32_t parent,
                        char *buffer, size_t bytes, size_t chunk,
                        const uint32_t *ready, uint32_t *have)
{
    uint32_t count = am_piece_count(bytes, chunk);
    struct window posted = {.length = POSTED_MAX + 1};

    for (uint32_t i = 0; i < count; i++) {
        have[i] = am_sched_recv(b->sched, parent, AM_TAG(TAG_TREE, i),
                                am_at_mutable(buffer, i == 0 ? 0 : i * chunk),
                                am_piece_bytes(bytes, chunk, i));
        window_pass(b, &posted, i, have[i]);
        if (ready != NULL) {
            am_sched_edge(b->sched, ready[i], have[i]);
        }
    }
}

static void pieces_send(const struct am_coll_build *b, uint32_t child,
                        const char *buffer, size_t bytes, size_t chunk,
                        const uint32_t *have)
{
    uint32_t count = am_piece_count(bytes, chunk);
    struct window sends = {.length = SENDS_MAX};

    for (uint32_t i = 0; i < count; i++) {
        uint32_t send = am_sched_send(b->sched, child, AM_TAG(TAG_TREE, i),
                                      am_at(buffer, i == 0 ? 0 : i * chunk),
                                      am_piece_bytes(bytes, chunk, i));

        window_pass(b, &sends, i, send);
        if (have != NULL) {
            am_sched_edge(b->sched, have[i], send);
        }
    }
}

void am_bcast_tree(const struct am_coll_build *b, void *buffer, size_t bytes,
                   size_t chunk, uint32_t root, const uint32_t *ready)
{
    uint32_t relative = am_ring_before(b->rank, b->size, root), parent;
    struct am_tree_span span =
            am_tree_find(b->shape, b->size, relative, &parent);
    uint32_t *have = NULL;

    if (parent != AM_TOPO_NONE) {
        have = am_sched_scratch(b->sched,
                                am_piece_count(bytes, chunk) * sizeof(*have));
        if (have == NULL) {
            return;
        }
        pieces_recv(b, member_of(b, parent, root), buffer, bytes, chunk, ready,
                    have);
    }
    for (uint32_t i = am_tree_child_count(b->shape, span); i-- > 0;) {
        uint32_t child = am_tree_child(b->shape, span, i).first;

        pieces_send(b, member_of(b, child, root), buffer, bytes, chunk,
                    have != NULL ? have : ready);
    }
}

void am_bcast_shape(const struct am_coll_build *b)
{
    am_bcast_tree(b, b->call->recv, b->call->count, b->chunk_bytes,
                  b->call->root, NULL);
}

/* The root's pieces go to all others at once, by the network. */
void am_bcast_multicast(const struct am_coll_build *b)
{
    const struct am_coll_call *call = b->call;
    size_t chunk = b->eager_max;
    uint32_t count = am_piece_count(call->count, chunk);
    struct window casts = {.length = SENDS_MAX};

    if (b->rank != call->root) {
        uint32_t *have = am_sched_scratch(b->sched, count * sizeof(*have));

        if (have != NULL) {
            pieces_recv(b, call->root, call->recv, call->count, chunk, NULL,
                        have);
        }
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        window_pass(b, &casts, i,
                    am_sched_cast(b->sched, AM_TAG(TAG_TREE, i),
                                  am_at(call->recv, i == 0 ? 0 : i * chunk),
                                  am_piece_bytes(call->count, chunk, i)));
    }
}

/* The bytes of the blocks of a span. */
static struct am_block span_block(const struct am_block *blocks,
                                  struct am_tree_span span)
{
    const struct am_block *last = &blocks[span.end - 1];

    return (struct am_block){blocks[span.first].offset,
                             last->offset + last->bytes -
                                     blocks[span.first].offset};
}

void am_bcast_scatter(const struct am_coll_build *b)
{
    uint32_t root = b->call->root;
    uint32_t relative = am_ring_before(b->rank, b->size, root), parent;
    struct am_tree_span span =
            am_tree_find(AM_TREE_BINOMIAL, b->size, relative, &parent);
    struct am_block *blocks =
            am_sched_scratch(b->sched, b->size * sizeof(*blocks));
    uint32_t have = AM_STEP_NONE;

    if (blocks == NULL) {
        return;
    }
    for (uint32_t i = 0; i < b->size; i++) {
        blocks[i] = am_block_of(b->call->count, 1, b->size, i);
    }
    if (parent != AM_TOPO_NONE) {
        struct am_block mine = span_block(blocks, span);

        have = am_sched_recv(
                b->sched, member_of(b, parent, root), AM_TAG(TAG_SCATTER, 0),
                am_at_mutable(b->call->recv, mine.offset), mine.bytes);
    }
    for (uint32_t i = am_tree_child_count(AM_TREE_BINOMIAL, span); i-- > 0;) {
        struct am_tree_span child = am_tree_child(AM_TREE_BINOMIAL, span, i);
        struct am_block part = span_block(blocks, child);

        am_sched_edge(b->sched, have,
                      am_sched_send(b->sched, member_of(b, child.first, root),
                                    AM_TAG(TAG_SCATTER, 0),
                                    am_at(b->call->recv, part.offset),
                                    part.bytes));
    }
    am_allgather_ring(b, b->call->recv, blocks, root, have, NULL);
}
