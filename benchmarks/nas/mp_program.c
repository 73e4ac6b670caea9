/*
 * mp_program.c: the time steps of SP and BT and their report; see
 * mp_program.h.
 */
#include "mp_program.h"

static const struct mp_class *find_class(const struct mp_class *classes,
                                         char klass)
{
    while (classes->klass != klass) {
        classes++;
    }
    return classes;
}

static void step(struct mp_grid *grid, const struct mp_program *program,
                 const struct mp_class *k, const struct mp_method *method)
{
    mp_grid_residual(grid);
    program->prepare(grid, k);
    for (int axis = 0; axis < 3; axis++) {
        mp_grid_sweep(grid, axis, method);
    }
}

/* The official count for a step. */
static double operations(const struct mp_program *program,
                         const struct mp_class *k)
{
    const double *c = program->operations;
    double n = k->side;

    return ((c[0] * n + c[1]) * n + c[2]) * n + c[3];
}

int mp_program_run(int argc, char **argv, const struct mp_program *program)
{
    struct nas_job job;
    struct mp_grid grid;
    struct mp_method method = program->method;

    nas_start(&argc, &argv, program->kernel, &job);

    const struct mp_class *k = find_class(program->classes, job.klass);
    struct nas_result result = {
            .extent = {k->side, k->side, k->side},
            .iterations = k->iterations,
            .operation = "floating point",
    };

    method.context = k;
    mp_grid_open(&grid, &job, k->side, &method);
    grid.operations = operations(program, k);
    nas_heading(&job, result.extent, result.iterations);
    mp_grid_start(&grid);
    step(&grid, program, k, &method); /* untimed: touches all memory */
    mp_grid_start(&grid);

    double start = nas_timer_start();

    for (int i = 0; i < k->iterations; i++) {
        step(&grid, program, k, &method);
    }
    result.seconds = nas_timer_stop(start);
    result.mops = k->iterations * operations(program, k) / result.seconds * 1e-6;
    mp_grid_residual(&grid);
    result.verified = mp_grid_verify(&grid, k->residual, k->error);
    return nas_finish(&job, &result);
}
