/*
 * mg.c: MG, a Poisson problem with periodic borders solved by V cycles of
 * multigrid.  This file has the problem, the cycle and the report; mg_grid.c
 * the cutting over ranks and mg_stencil.c the arithmetic.
 */
#include "mg_grid.h"
#include "mg_stencil.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHARGES 10 /* of each sign */

struct mg_class {
    char klass;
    int n;
    int iterations;
    double smoother[3];
    double norm;
};

static const struct mg_class classes[] = {
        {'S', 32, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.5307707005734e-4},
        {'W', 128, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.6467329375339e-5},
        {'A', 256, 4, {-3.0 / 8, 1.0 / 32, -1.0 / 64}, 0.2433365309069e-5},
        {'B', 256, 20, {-3.0 / 17, 1.0 / 33, -1.0 / 61}, 0.1800564401355e-5},
};

struct mg {
    const struct nas_job *job;
    const struct mg_class *k;
    struct mg_grid grid;
    struct mg_level *top;
    double *v; /* the right hand side */
};

/* A random value and where it is in the whole grid. */
struct extreme {
    double value;
    int64_t place;
};

static const struct mg_class *find_class(char klass)
{
    const struct mg_class *found = classes;

    while (found->klass != klass) {
        found++;
    }
    return found;
}

/* ---------------------------------------------------------- right hand side */

/* Puts a candidate among the CHARGES largest, which are kept in order. */
static void keep_largest(struct extreme *kept, struct extreme candidate)
{
    int i = CHARGES - 1;

    if (candidate.value <= kept[i].value) {
        return;
    }
    for (; i > 0 && kept[i - 1].value < candidate.value; i--) {
        kept[i] = kept[i - 1];
    }
    kept[i] = candidate;
}

/* Scans this rank's random numbers; kept[1] holds smallest ones, negated. */
static void find_extremes(const struct mg *s, struct extreme kept[2][CHARGES])
{
    const struct mg_box *box = &s->top->box;
    const int64_t n = s->k->n;
    double line[MG_LINE_MAX];
    int64_t first[3];

    for (int axis = 0; axis < 3; axis++) {
        first[axis] = (int64_t)s->grid.at[axis] * (box->m[axis] - 2);
    }
    for (int i = 0; i < CHARGES; i++) {
        kept[0][i] = kept[1][i] = (struct extreme){-2.0, 0};
    }
    for (int z = 0; z < box->m[2] - 2; z++) {
        for (int y = 0; y < box->m[1] - 2; y++) {
            int64_t at = ((first[2] + z) * n + first[1] + y) * n + first[0];
            uint64_t x =
                    nas_random_skip(NAS_SEED, NAS_MULTIPLIER, (uint64_t)at);

            nas_random_fill(&x, NAS_MULTIPLIER, (size_t)(box->m[0] - 2), line);
            for (int i = 0; i < box->m[0] - 2; i++) {
                keep_largest(kept[0], (struct extreme){line[i], at + i});
                keep_largest(kept[1], (struct extreme){-line[i], at + i});
            }
        }
    }
}

/* Adds a charge, if its place is on this rank. */
static void put_charge(struct mg *s, int64_t place, double charge)
{
    const struct mg_box *box = &s->top->box;
    int at[3];

    for (int axis = 0; axis < 3; axis++) {
        int own = box->m[axis] - 2;

        at[axis] = (int)(place % s->k->n) - s->grid.at[axis] * own;
        place /= s->k->n;
        if (at[axis] < 0 || at[axis] >= own) {
            return;
        }
    }
    s->v[mg_box_line(box, at[1] + 1, at[2] + 1) + (size_t)at[0] + 1] = charge;
}

/* +1 where the ten largest random numbers are, -1 at the ten smallest. */
static void make_charges(struct mg *s)
{
    struct extreme mine[2][CHARGES];
    struct extreme *all = nas_alloc((size_t)s->job->ranks, sizeof(mine));

    memset(s->v, 0, mg_box_count(&s->top->box) * sizeof(double));
    find_extremes(s, mine);
    MPI_Allgather(mine, (int)sizeof(mine), MPI_BYTE, all, (int)sizeof(mine),
                  MPI_BYTE, MPI_COMM_WORLD);
    for (int sign = 0; sign < 2; sign++) {
        struct extreme best[CHARGES];

        for (int i = 0; i < CHARGES; i++) {
            best[i] = (struct extreme){-2.0, 0};
        }
        for (int i = 0; i < s->job->ranks * CHARGES; i++) {
            int rank = i / CHARGES;

            keep_largest(best, all[(2 * rank + sign) * CHARGES + i % CHARGES]);
        }
        for (int i = 0; i < CHARGES; i++) {
            put_charge(s, best[i].place, sign == 0 ? 1.0 : -1.0);
        }
    }
    mg_grid_halo(&s->grid, s->top, s->v);
    free(all);
}

/* ------------------------------------------------------------------ cycle */

static void zero(const struct mg_level *level, double *field)
{
    memset(field, 0, mg_box_count(&level->box) * sizeof(double));
}

/* `each` operations for each point of a box. */
static void compute(const struct mg_box *box, double each)
{
    nas_compute(each * (box->m[0] - 2) * (box->m[1] - 2) * (box->m[2] - 2));
}

static void residual(struct mg *s, struct mg_level *level, const double *v)
{
    mg_stencil_residual(&level->box, level->u, v, level->r);
    compute(&level->box, 15);
    mg_grid_halo(&s->grid, level, level->r);
}

static void smooth(struct mg *s, struct mg_level *level)
{
    mg_stencil_smooth(&level->box, level->r, level->u, s->k->smoother);
    compute(&level->box, 16);
    mg_grid_halo(&s->grid, level, level->u);
}

/* The residual of a level becomes that of the coarser one. */
static void go_down(struct mg *s, struct mg_level *level,
                    struct mg_level *coarser)
{
    if (!level->alive) {
        return;
    }
    if (level->merges) {
        mg_stencil_restrict(&level->box, level->r, &level->part,
                            level->part_values);
        compute(&level->part, 24);
        mg_grid_gather(&s->grid, level, coarser, coarser->r);
    } else {
        mg_stencil_restrict(&level->box, level->r, &coarser->box, coarser->r);
        compute(&coarser->box, 24);
    }
    if (coarser->alive) {
        mg_grid_halo(&s->grid, coarser, coarser->r);
    }
}

/* Adds the correction of the coarser level to u. */
static void go_up(struct mg *s, struct mg_level *level,
                  const struct mg_level *coarser)
{
    if (level->merges) {
        mg_grid_scatter(&s->grid, level, coarser, coarser->u);
        mg_stencil_prolong(&level->part, level->part_values, &level->box,
                           level->u);
        compute(&level->part, 24);
    } else {
        mg_stencil_prolong(&coarser->box, coarser->u, &level->box, level->u);
        compute(&coarser->box, 24);
    }
}

static void cycle(struct mg *s)
{
    struct mg_level *bottom = &s->grid.level[0];

    for (struct mg_level *level = s->top; level > bottom; level--) {
        go_down(s, level, level - 1);
    }
    if (bottom->alive) {
        zero(bottom, bottom->u);
        smooth(s, bottom);
    }
    for (struct mg_level *level = bottom + 1; level < s->top; level++) {
        if (level->alive) {
            zero(level, level->u);
            go_up(s, level, level - 1);
            residual(s, level, level->r);
            smooth(s, level);
        }
    }
    go_up(s, s->top, s->top - 1);
    residual(s, s->top, s->v);
    smooth(s, s->top);
}

/* Adds the squares of a line and takes its largest size into both sums. */
static void norm_line(const double *restrict line, int count, double sums[2])
{
    double square[4] = {0, 0, 0, 0};
    double largest = sums[1];
    int x = 0;

    for (; x + 4 <= count; x += 4) {
        for (int lane = 0; lane < 4; lane++) {
            square[lane] += line[x + lane] * line[x + lane];
        }
    }
    for (; x < count; x++) {
        square[0] += line[x] * line[x];
    }
    for (x = 0; x < count; x++) {
        double size = fabs(line[x]);

        if (size > largest) {
            largest = size;
        }
    }
    sums[0] += square[0] + square[1] + (square[2] + square[3]);
    sums[1] = largest;
}

/* Root of the mean square of the finest residual, on every rank. */
static double norm(const struct mg *s)
{
    const struct mg_box *box = &s->top->box;
    double points = (double)s->k->n * s->k->n * s->k->n;
    double mine[2] = {0, 0};
    double sum = 0;
    double largest = 0;

    for (int z = 1; z < box->m[2] - 1; z++) {
        for (int y = 1; y < box->m[1] - 1; y++) {
            norm_line(s->top->r + mg_box_line(box, y, z) + 1, box->m[0] - 2,
                      mine);
        }
    }
    compute(box, 3);
    MPI_Allreduce(&mine[1], &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(&mine[0], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(sum / points);
}

/* ------------------------------------------------------------------- main */

static double run(struct mg *s, int iterations)
{
    residual(s, s->top, s->v);
    norm(s);
    for (int i = 0; i < iterations; i++) {
        cycle(s);
        residual(s, s->top, s->v);
    }
    return norm(s);
}

int main(int argc, char **argv)
{
    struct nas_job job;
    struct mg s = {.job = &job};

    nas_start(&argc, &argv, "MG", &job);
    s.k = find_class(job.klass);

    int64_t n = s.k->n;
    struct nas_result result = {
            .extent = {n, n, n},
            .iterations = s.k->iterations,
            .operation = "floating point",
    };

    /* every axis must have two points for each of its ranks */
    nas_need_power_of_two(&job, n == 32 ? 4096 : 65536);
    nas_heading(&job, result.extent, result.iterations);
    mg_grid_open(&s.grid, &job, s.k->n);
    s.top = &s.grid.level[s.grid.level_count - 1];
    s.v = nas_alloc(mg_box_count(&s.top->box), sizeof(double));
    make_charges(&s);
    run(&s, 1); /* untimed: touches all memory */
    zero(s.top, s.top->u);

    double start = nas_timer_start();
    double final = run(&s, s.k->iterations);

    result.seconds = nas_timer_stop(start);
    result.mops = 58.0 * result.iterations * (double)(n * n * n) /
                  result.seconds * 1e-6;
    result.verified = nas_check(&job, "L2 norm", final, s.k->norm, 1e-8);
    return nas_finish(&job, &result);
}
