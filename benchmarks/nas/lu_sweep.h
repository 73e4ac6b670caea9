/*
 * lu_sweep.h: the two triangular sweeps of LU over one plane of a block.  No
 * MPI: the caller fills the borders that a sweep starts from.
 */
#ifndef AM_BENCHMARKS_LU_SWEEP_H
#define AM_BENCHMARKS_LU_SWEEP_H

#include "flow.h"

struct lu_sweep {
    double dt;
    double omega; /* over-relaxation */
};

/* Solves plane z of the lower system for v, upwards in x and y. */
void lu_sweep_lower(const struct lu_sweep *sweep,
                    const struct flow_block *block, int z, const double *u,
                    double *v);

/* The same for the upper system, downwards. */
void lu_sweep_upper(const struct lu_sweep *sweep,
                    const struct flow_block *block, int z, const double *u,
                    double *v);

#endif
