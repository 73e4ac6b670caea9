/*
 * flow.h: what LU, SP and BT share: the compressible flow equations of the
 * specification on a cube, their exact solution, the first guess, and the
 * spatial operator, for one block of the cube.  No MPI; calls nas_common for
 * memory.
 */
#ifndef AM_BENCHMARKS_FLOW_H
#define AM_BENCHMARKS_FLOW_H

#include <stdbool.h>
#include <stddef.h>

#define FLOW_VARIABLES 5 /* density, three of momentum, energy */
#define FLOW_HALO      2
#define FLOW_SIDE_MAX  (102 + 2 * FLOW_HALO)

/* Constants of the gas, as the specification names them. */
#define FLOW_C1    1.4
#define FLOW_C2    0.4
#define FLOW_C34   0.1   /* c3 c4 */
#define FLOW_C1345 0.196 /* c1 c3 c4 c5 */
#define FLOW_DAMP  0.25  /* of the fourth differences */

/*
 * A block of a cube of side points, walls included: n points an axis from
 * first on, with a halo of two.  A field over it is [z][y][x][5].
 */
struct flow_block {
    int side;
    int n[3]; /* x, y, z */
    int first[3];
    bool wall[3][2];  /* the first or last point lies on the cube's surface */
    size_t stride[3]; /* in doubles */
    size_t origin;    /* of the point 0, 0, 0 */
    size_t count;     /* doubles in a field */
};

/* Weight of second differences along an axis. */
static inline double flow_diffusion(int axis)
{
    return axis == 2 ? 1.0 : 0.75;
}

/* Sets up the block; n and first as above. */
void flow_block_open(struct flow_block *block, int side, const int n[3],
                     const int first[3]);

/* Where the five values of a point are; -2 <= x < n + 2 and so on. */
static inline size_t flow_at(const struct flow_block *block, int x, int y,
                             int z)
{
    return (size_t)((ptrdiff_t)block->origin + (ptrdiff_t)block->stride[0] * x +
                    (ptrdiff_t)block->stride[1] * y +
                    (ptrdiff_t)block->stride[2] * z);
}

/* First point off the wall, and the point after the last one off it. */
static inline int flow_begin(const struct flow_block *block, int axis)
{
    return block->wall[axis][0] ? 1 : 0;
}

static inline int flow_end(const struct flow_block *block, int axis)
{
    return block->n[axis] - (block->wall[axis][1] ? 1 : 0);
}

/* A field of zeroes; never fails. */
double *flow_field_open(const struct flow_block *block);

/* The exact solution at a point of the whole cube. */
void flow_exact(int side, int x, int y, int z, double u[FLOW_VARIABLES]);

/* Fills u with the exact solution, halo included. */
void flow_fill_exact(const struct flow_block *block, double *u);

/* Fills u with the first guess: exact on walls, interpolated between them. */
void flow_fill_start(const struct flow_block *block, double *u);

/*
 * Adds the terms of one axis of the operator on u to out, at the points off
 * the walls; u's halo along that axis must be filled.
 */
void flow_operator(const struct flow_block *block, int axis, const double *u,
                   double *out);

/* Adds the squares of the differences from the exact solution. */
void flow_add_error(const struct flow_block *block, const double *u,
                    double sum[FLOW_VARIABLES]);

/* Adds the squares of a field's points off the walls. */
void flow_add_squares(const struct flow_block *block, const double *field,
                      double sum[FLOW_VARIABLES]);

#endif
