/*
 * Shapes, exhaustively for small sizes and all of their ranks: a tree has every
 * rank once, in the order of ranks, and is as deep as it says; exchanges are
 * mutual, and reach everybody.
 */
#include "support/cm.h"

#include "collectives/topo/cube.h"

#include <stdbool.h>
#include <string.h>

enum {
    SIZE_MAX_TESTED = 130
};

static const am_tree_shape_t shapes[] = {AM_TREE_BINOMIAL, 1, 2, 3, 4, 7, 16,
                                         AM_TREE_FLAT};

struct walk {
    am_tree_shape_t shape;
    uint32_t size;
    uint32_t next; /* the rank that comes next in order */
    uint32_t depth;
};

/* Below a span: the children's spans follow each other and make up the rest. */
static void walk(struct walk *w, struct am_tree_span span, uint32_t parent,
                 uint32_t depth)
{
    uint32_t count = am_tree_child_count(w->shape, span), found;
    struct am_tree_span same =
            am_tree_find(w->shape, w->size, span.first, &found);
    uint32_t at = span.first + 1;

    assert_int_equal(span.first, w->next++);
    assert_int_equal(found, parent);
    assert_int_equal(same.first, span.first);
    assert_int_equal(same.end, span.end);
    assert_true(w->shape == AM_TREE_BINOMIAL || count <= w->shape);
    w->depth = depth > w->depth ? depth : w->depth;
    for (uint32_t i = 0; i < count; i++) {
        struct am_tree_span child = am_tree_child(w->shape, span, i);

        assert_int_equal(child.first, at);
        assert_true(child.end > child.first);
        walk(w, child, span.first, depth + 1);
        at = child.end;
    }
    assert_int_equal(at, span.end);
}

static void test_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (uint32_t size = 1; size <= SIZE_MAX_TESTED; size++) {
            struct walk w = {.shape = shapes[i], .size = size};

            walk(&w, (struct am_tree_span){0, size}, AM_TOPO_NONE, 0);
            assert_int_equal(w.next, size);
            assert_int_equal(w.depth, am_tree_depth(shapes[i], size));
        }
    }
}

/* Large sizes: no overflow, and the way to the root ends. */
static void test_large_trees(void **state)
{
    static const uint32_t sizes[] = {65536, 1000003, UINT32_MAX / 2,
                                     UINT32_MAX - 1};

    (void)state;
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
            uint32_t rank = sizes[s] - 1, parent, steps = 0;

            while (rank != 0 && shapes[i] != AM_TREE_CHAIN) {
                (void)am_tree_find(shapes[i], sizes[s], rank, &parent);
                assert_true(parent < rank);
                rank = parent;
                steps++;
            }
            assert_true(steps <= am_tree_depth(shapes[i], sizes[s]));
        }
    }
}

static void test_folding(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_TESTED; size++) {
        uint32_t whole = am_cube_floor(size), next = 0;

        assert_true(whole <= size && whole > size / 2);
        assert_int_equal(whole & (whole - 1), 0);
        for (uint32_t rank = 0; rank < size; rank++) {
            uint32_t number = am_cube_number(rank, size);
            uint32_t spare = am_cube_spare(rank, size);

            if (number != AM_TOPO_NONE) {
                assert_int_equal(number, next++); /* in the order of ranks */
                assert_int_equal(am_cube_rank(number, size), rank);
                assert_true(spare == AM_TOPO_NONE || spare == rank + 1);
            } else {
                assert_int_equal(spare, rank - 1);
            }
            if (spare != AM_TOPO_NONE) {
                assert_true(spare < size);
                assert_int_equal(am_cube_spare(spare, size), rank);
            }
        }
        assert_int_equal(next, whole);
    }
}

/* After all rounds of dissemination everybody knows of everybody. */
static void test_dissemination(void **state)
{
    static bool knows[2][SIZE_MAX_TESTED][SIZE_MAX_TESTED];

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_TESTED; size++) {
        uint32_t rounds = am_cube_rounds(size);

        memset(knows, 0, sizeof(knows));
        for (uint32_t i = 0; i < size; i++) {
            knows[0][i][i] = true;
        }
        for (uint32_t r = 0; r < rounds; r++) {
            memcpy(knows[1], knows[0], sizeof(knows[0]));
            for (uint32_t i = 0; i < size; i++) {
                uint32_t to = am_ring_after(i, size, 1u << r);

                assert_int_equal(am_ring_before(to, size, 1u << r), i);
                for (uint32_t j = 0; j < size; j++) {
                    knows[1][to][j] |= knows[0][i][j];
                }
            }
            memcpy(knows[0], knows[1], sizeof(knows[0]));
        }
        for (uint32_t i = 0; i < size; i++) {
            for (uint32_t j = 0; j < size; j++) {
                assert_true(knows[0][i][j]);
            }
        }
        assert_true(rounds == 0 || 1u << (rounds - 1) < size);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_trees),
            cmocka_unit_test(test_large_trees),
            cmocka_unit_test(test_folding),
            cmocka_unit_test(test_dissemination),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
