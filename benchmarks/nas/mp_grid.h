/*
 * mp_grid.h: the multi-partition that SP and BT run on.  With p * p ranks the
 * cube is cut into p * p * p cells, and every rank has p of them, on a
 * diagonal: one in each slice of each axis.  So a sweep along any axis keeps
 * all ranks busy: while a rank works on its cell in slice s, its successor on
 * that axis waits for nothing but what this rank just sent it.
 *
 *     slices of z:   0        1        2       ranks (i, j), p = 3, y down
 *                   00 10 20  20 00 10  10 20 00
 *                   01 11 21  21 01 11  11 21 01     shifted by one in x and
 *                   02 12 22  22 02 12  12 22 02     in y from slice to slice
 *
 * Calls MPI, flow and nas_common.
 */
#ifndef AM_BENCHMARKS_MP_GRID_H
#define AM_BENCHMARKS_MP_GRID_H

#include "flow.h"
#include "nas_common.h"

/* Lines that are solved side by side; inner loops run over them. */
#define MP_BATCH 8

struct mp_cell {
    int at[3]; /* among the p * p * p cells */
    struct flow_block block;
    double *u;
    double *rhs;
    double *forcing; /* the operator on the exact solution */
    double *store;   /* what the way up leaves for the way back */
};

/* MP_BATCH lines of a cell along an axis. */
struct mp_lines {
    const struct mp_cell *cell;
    int axis;
    int count;              /* less than MP_BATCH at the end: the others are
                               copies of the last line */
    size_t start[MP_BATCH]; /* where point 0 of each is in a field */
    double *store;          /* store_values x MP_BATCH for every point */
};

/* The values of MP_BATCH points, one of each line, side by side. */
struct mp_points {
    double m[FLOW_VARIABLES][MP_BATCH];
};

/* Reads the points of a field that lie offset after the lines' starts. */
static inline void mp_points_load(const struct mp_lines *lines,
                                  const double *field, ptrdiff_t offset,
                                  struct mp_points *p)
{
    for (int b = 0; b < MP_BATCH; b++) {
        const double *at = field + (ptrdiff_t)lines->start[b] + offset;

        for (int m = 0; m < FLOW_VARIABLES; m++) {
            p->m[m][b] = at[m];
        }
    }
}

/*
 * How a kernel solves lines.  Forward goes up the lines: before has what the
 * cell before left in after, or zeroes at the wall.  Back comes down: behind
 * has what the cell above left in ahead, or zeroes at the wall.  All arrays
 * are [value][MP_BATCH].
 */
struct mp_method {
    int forward_values;
    int back_values;
    int store_values;
    void (*forward)(const void *context, const struct mp_lines *lines,
                    const double *before, double *after);
    void (*back)(const void *context, const struct mp_lines *lines,
                 const double *behind, double *ahead);
    const void *context;
};

struct mp_grid {
    const struct nas_job *job;
    double operations; /* of a step, all ranks; for nas_compute */
    int side;
    int p;
    int peer[3][2];       /* ranks of the cells below and above on an axis */
    struct mp_cell *cell; /* p of them; cell c lies in slice c of z */
    double *out[3][2];    /* packed faces */
    double *in[3][2];
    int face_count[3][2][2]; /* values to send [axis][side][0], receive [1] */
    double *sweep_out;
    double *sweep_in;
    double *zeroes;
};

/*
 * Cuts a cube of side points; refuses the job if a cell would be too small.
 * The method says how much room the sweeps need.
 */
void mp_grid_open(struct mp_grid *grid, const struct nas_job *job, int side,
                  const struct mp_method *method);

/* Sets u of all cells to the first guess. */
void mp_grid_start(struct mp_grid *grid);

/* rhs = the operator on u, less the forcing; exchanges the faces of u. */
void mp_grid_residual(struct mp_grid *grid);

/* Solves all lines along an axis. */
void mp_grid_sweep(struct mp_grid *grid, int axis,
                   const struct mp_method *method);

/*
 * Compares the norms of the residual and of the error with the official ones;
 * rhs must hold the residual.
 */
bool mp_grid_verify(struct mp_grid *grid, const double residual[FLOW_VARIABLES],
                    const double error[FLOW_VARIABLES]);

#endif
