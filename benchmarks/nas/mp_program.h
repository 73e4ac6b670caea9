/*
 * mp_program.h: what SP and BT are but for their systems of equations: the
 * classes, the time steps, and the run from the command line to the report.
 * Calls mp_grid and nas_common.
 */
#ifndef AM_BENCHMARKS_MP_PROGRAM_H
#define AM_BENCHMARKS_MP_PROGRAM_H

#include "mp_grid.h"

struct mp_class {
    char klass; /* the last of a table has 0 */
    int side;
    int iterations;
    double dt;
    double residual[FLOW_VARIABLES]; /* official norms */
    double error[FLOW_VARIABLES];
};

struct mp_program {
    const char *kernel; /* two capital letters */
    const struct mp_class *classes;
    struct mp_method method; /* its context will be the struct mp_class */
    /* What a step does between the residual and the sweeps. */
    void (*prepare)(const struct mp_grid *grid, const struct mp_class *k);
    /* Operations of a step: coefficients of side^3, side^2, side, and 1. */
    double operations[4];
};

/* Runs the program; returns the exit status. */
int mp_program_run(int argc, char **argv, const struct mp_program *program);

#endif
