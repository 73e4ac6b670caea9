/*
 * The spans of tree.h.
 */
#include "collectives/topo/tree.h"

uint32_t am_tree_child_count(am_tree_shape_t shape, struct am_tree_span span)
{
    uint32_t rest = span.end - span.first - 1, count = 0;

    if (shape != AM_TREE_BINOMIAL) {
        return rest < shape ? rest : shape;
    }
    while (count < 32 && rest >> count != 0) {
        count++; /* child i is 2^i after the root */
    }
    return count;
}

struct am_tree_span am_tree_child(am_tree_shape_t shape,
                                  struct am_tree_span span, uint32_t index)
{
    uint64_t rest = span.end - span.first - 1;
    uint64_t count, from, to;

    if (shape == AM_TREE_BINOMIAL) {
        from = (uint64_t)1 << index;
        to = 2 * from < rest + 1 ? 2 * from : rest + 1;
    } else {
        count = am_tree_child_count(shape, span);
        from = 1 + rest * index / count;
        to = 1 + rest * (index + 1) / count;
    }
    return (struct am_tree_span){span.first + (uint32_t)from,
                                 span.first + (uint32_t)to};
}

/* The child of `span` whose subtree holds `rank`, which is not its root. */
static struct am_tree_span child_with(am_tree_shape_t shape,
                                      struct am_tree_span span, uint32_t rank)
{
    uint32_t low = 0, high = am_tree_child_count(shape, span) - 1;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (rank < am_tree_child(shape, span, middle).end) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return am_tree_child(shape, span, low);
}

struct am_tree_span am_tree_find(am_tree_shape_t shape, uint32_t size,
                                 uint32_t rank, uint32_t *parent_p)
{
    struct am_tree_span span = {0, size};

    *parent_p = AM_TOPO_NONE;
    if (shape == AM_TREE_CHAIN) { /* no need to walk along it */
        *parent_p = rank == 0 ? AM_TOPO_NONE : rank - 1;
        return (struct am_tree_span){rank, size};
    }
    while (span.first != rank) {
        *parent_p = span.first;
        span = child_with(shape, span, rank);
    }
    return span;
}

uint32_t am_tree_depth(am_tree_shape_t shape, uint32_t size)
{
    struct am_tree_span span = {0, size};
    uint32_t depth = 0;

    if (shape == AM_TREE_CHAIN) {
        return size - 1;
    }
    if (shape ==
        AM_TREE_BINOMIAL) { /* as many as bits that are set in a rank */
        while (depth < 31 && size >> (depth + 1) != 0) {
            depth++;
        }
        return depth;
    }
    while (span.end - span.first > 1) { /* the last child has the most ranks */
        span = am_tree_child(shape, span, am_tree_child_count(shape, span) - 1);
        depth++;
    }
    return depth;
}
