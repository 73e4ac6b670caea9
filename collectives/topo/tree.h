/*
 * Trees over ranks 0 .. size-1 as pure functions.  Every subtree is a span of
 * ranks that follow each other, and its root is the first of them: so a
 * reduction up the tree meets the values in the order of ranks, and the data of
 * a subtree lies in one piece.
 *
 *   binomial, 8 ranks:  0 -> 4 (5, 6, 7), 2 (3), 1        log2 P levels
 *   kary with k = 2:    0 -> 1 (2, 3, 4), 5 (6, 7)        spans as equal as can be
 *   kary with k = 1:    0 -> 1 -> 2 -> ...                 a chain
 *   kary with k >= P-1: 0 -> 1, 2, 3, ...                  flat
 */
#ifndef AM_COLLECTIVES_TREE_H
#define AM_COLLECTIVES_TREE_H

#include <stdint.h>

#define AM_TOPO_NONE UINT32_MAX

/* A shape: 0 for the binomial tree, else the most children of a rank. */
typedef uint32_t am_tree_shape_t;

#define AM_TREE_BINOMIAL 0u
#define AM_TREE_CHAIN    1u
#define AM_TREE_FLAT     UINT32_MAX

/* The subtree of rank `first`: ranks first .. end-1. */
struct am_tree_span {
    uint32_t first, end;
};

/* The subtree of `rank` among `size` ranks (rank < size), and its parent:
 * AM_TOPO_NONE for rank 0. */
struct am_tree_span am_tree_find(am_tree_shape_t shape, uint32_t size,
                                 uint32_t rank, uint32_t *parent_p);

/* How many children the root of a span has, and the subtree of child `index`:
 * in the order of ranks, which for the binomial tree is from small to large. */
uint32_t am_tree_child_count(am_tree_shape_t shape, struct am_tree_span span);
struct am_tree_span am_tree_child(am_tree_shape_t shape,
                                  struct am_tree_span span, uint32_t index);

/* Levels below the root: the longest way from rank 0 to a leaf. */
uint32_t am_tree_depth(am_tree_shape_t shape, uint32_t size);

#endif
