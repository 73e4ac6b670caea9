/*
 * ft.c: FT, a heat equation solved in frequency space by 3-D FFTs.  How the
 * box is divided among the ranks is in ft_layout.h, and names like "x whole"
 * are from there.
 */
#include "ft_layout.h"
#include "ft_line.h"
#include "nas_common.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ITERATIONS_MAX 20
#define ALPHA          1e-6
#define CHECK_POINTS   1024

struct ft_class {
    char klass;
    int extent[3]; /* x, y, z */
    int iterations;
    double sums[ITERATIONS_MAX][2]; /* after each iteration */
};

static const struct ft_class classes[] = {
        {'S',
         {64, 64, 64},
         6,
         {{5.546087004964e+02, 4.845363331978e+02},
          {5.546385409189e+02, 4.865304269511e+02},
          {5.546148406171e+02, 4.883910722336e+02},
          {5.545423607415e+02, 4.901273169046e+02},
          {5.544255039624e+02, 4.917475857993e+02},
          {5.542683411902e+02, 4.932597244941e+02}}},
        {'W',
         {128, 128, 32},
         6,
         {{5.673612178944e+02, 5.293246849175e+02},
          {5.631436885271e+02, 5.282149986629e+02},
          {5.594024089970e+02, 5.270996558037e+02},
          {5.560698047020e+02, 5.260027904925e+02},
          {5.530898991250e+02, 5.249400845633e+02},
          {5.504159734538e+02, 5.239212247086e+02}}},
        {'A',
         {256, 256, 128},
         6,
         {{5.046735008193e+02, 5.114047905510e+02},
          {5.059412319734e+02, 5.098809666433e+02},
          {5.069376896287e+02, 5.098144042213e+02},
          {5.077892868474e+02, 5.101336130759e+02},
          {5.085233095391e+02, 5.104914655194e+02},
          {5.091487099959e+02, 5.107917842803e+02}}},
        {'B',
         {512, 256, 256},
         20,
         {{5.177643571579e+02, 5.077803458597e+02},
          {5.154521291263e+02, 5.088249431599e+02},
          {5.146409228649e+02, 5.096208912659e+02},
          {5.142378756213e+02, 5.101023387619e+02},
          {5.139626667737e+02, 5.103976610617e+02},
          {5.137423460082e+02, 5.105948019802e+02},
          {5.135547056878e+02, 5.107404165783e+02},
          {5.133910925466e+02, 5.108576573661e+02},
          {5.132470705390e+02, 5.109577278523e+02},
          {5.131197729984e+02, 5.110460304483e+02},
          {5.130070319283e+02, 5.111252433800e+02},
          {5.129070537032e+02, 5.111968077718e+02},
          {5.128182883502e+02, 5.112616233064e+02},
          {5.127393733383e+02, 5.113203605551e+02},
          {5.126691062020e+02, 5.113735928093e+02},
          {5.126064276004e+02, 5.114218460548e+02},
          {5.125504076570e+02, 5.114656139760e+02},
          {5.125002331720e+02, 5.115053595966e+02},
          {5.124551951846e+02, 5.115415130407e+02},
          {5.124146770029e+02, 5.115744692211e+02}}},
};

struct ft {
    const struct nas_job *job;
    const struct ft_class *k;
    struct ft_layout layout;
    struct ft_line *x_line; /* transforms along each axis */
    struct ft_line *y_line;
    struct ft_line *z_line;
    double *decay[3]; /* exp(-4 alpha pi^2 k^2) for each axis */
    double *spectrum; /* z whole; the spectrum at the current time */
    double *a;        /* two work arrays of complex points */
    double *b;
};

static const struct ft_class *find_class(char klass)
{
    const struct ft_class *found = classes;

    while (found->klass != klass) {
        found++;
    }
    return found;
}

/* ----------------------------------------------------------------- set-up */

static void open_arrays(struct ft *s)
{
    size_t points = ft_layout_points(&s->layout);

    s->spectrum = nas_alloc(points, 2 * sizeof(double));
    s->a = nas_alloc(points, 2 * sizeof(double));
    s->b = nas_alloc(points, 2 * sizeof(double));
    for (int axis = 0; axis < 3; axis++) {
        s->decay[axis] = nas_alloc((size_t)s->k->extent[axis], sizeof(double));
    }
    s->x_line = ft_line_open(s->k->extent[0]);
    s->y_line = ft_line_open(s->k->extent[1]);
    s->z_line = ft_line_open(s->k->extent[2]);
}

/* Tables that the specification counts as part of the timed work. */
static void fill_tables(struct ft *s)
{
    const double pi = acos(-1.0);

    ft_line_fill(s->x_line);
    ft_line_fill(s->y_line);
    ft_line_fill(s->z_line);
    for (int axis = 0; axis < 3; axis++) {
        int n = s->k->extent[axis];

        for (int i = 0; i < n; i++) {
            double k = (i + n / 2) % n - n / 2;

            s->decay[axis][i] = exp(-4.0 * ALPHA * pi * pi * k * k);
        }
    }
}

/* Random numbers, in the order of x, y, z, where x is whole. */
static void fill_start(const struct ft *s, double *field)
{
    const struct ft_layout *l = &s->layout;
    size_t run = 2 * (size_t)l->nx * (size_t)l->y1_mine;

    for (int z = 0; z < l->z_mine; z++) {
        uint64_t line = (uint64_t)(z + l->z_first) * (uint64_t)l->ny +
                        (uint64_t)l->y1_first;
        uint64_t x = nas_random_skip(NAS_SEED, NAS_MULTIPLIER,
                                     line * (uint64_t)l->nx * 2);

        nas_random_fill(&x, NAS_MULTIPLIER, run, field + (size_t)z * run);
    }
}

/* -------------------------------------------------------------- transform */

/* Lines from first on that go into one run of FT_LINE_BLOCK at most. */
/* So many lines of n points each, as transforms are usually counted. */
static void compute_lines(size_t lines, int n)
{
    nas_compute(5.0 * (double)lines * n * log2(n));
}

static size_t block_of(size_t first, size_t lines)
{
    return lines - first < FT_LINE_BLOCK ? lines - first : FT_LINE_BLOCK;
}

/* Between x whole and the order of the row, which way depends on forward. */
static void transform_x(const struct ft *s, const double *from, double *to,
                        bool forward)
{
    const struct ft_layout *l = &s->layout;
    size_t lines = (size_t)l->y1_mine * (size_t)l->z_mine;
    size_t from_step = (size_t)(forward ? l->nx : l->x_mine);
    size_t to_step = (size_t)(forward ? l->x_mine : l->nx);
    const size_t *from_along = forward ? l->along_x : l->along_x_row;
    const size_t *to_along = forward ? l->along_x_row : l->along_x;

    for (size_t i = 0; i < lines; i += FT_LINE_BLOCK) {
        ft_line_run(s->x_line, forward, block_of(i, lines),
                    from + 2 * i * from_step, from_along, from_step,
                    to + 2 * i * to_step, to_along, to_step);
    }
    compute_lines(lines, l->nx);
}

/* Between the orders of the row and of the column. */
static void transform_y(const struct ft *s, const double *from, double *to,
                        bool forward)
{
    const struct ft_layout *l = &s->layout;
    size_t x_mine = (size_t)l->x_mine;
    size_t row = (size_t)l->y1_mine * x_mine;
    size_t column = (size_t)l->y2_mine * x_mine;
    size_t from_step = forward ? row : column;
    size_t to_step = forward ? column : row;
    const size_t *from_along = forward ? l->along_y_row : l->along_y_column;
    const size_t *to_along = forward ? l->along_y_column : l->along_y_row;

    for (size_t z = 0; z < (size_t)l->z_mine; z++) {
        for (size_t x = 0; x < x_mine; x += FT_LINE_BLOCK) {
            ft_line_run(s->y_line, forward, block_of(x, x_mine),
                        from + 2 * (z * from_step + x), from_along, 1,
                        to + 2 * (z * to_step + x), to_along, 1);
        }
    }
    compute_lines((size_t)l->z_mine * x_mine, l->ny);
}

/* Where z is whole, in place. */
static void transform_z(const struct ft *s, double *field, bool forward)
{
    const struct ft_layout *l = &s->layout;
    size_t lines = (size_t)l->y2_mine * (size_t)l->x_mine;

    for (size_t i = 0; i < lines; i += FT_LINE_BLOCK) {
        double *at = field + 2 * i;

        ft_line_run(s->z_line, forward, block_of(i, lines), at, l->along_z, 1,
                    at, l->along_z, 1);
    }
    compute_lines(lines, l->nz);
}

static double *other(const struct ft *s, const double *used)
{
    return used == s->a ? s->b : s->a;
}

/* From x whole in a to the spectrum. */
static void transform_forward(struct ft *s)
{
    const struct ft_layout *l = &s->layout;
    double *at = l->n1 == 1 ? s->a : s->b; /* in place where order stays */
    double *next;

    transform_x(s, s->a, at, true);
    at = ft_layout_exchange_row(l, at, other(s, at));
    next = other(s, at);
    transform_y(s, at, next, true);
    at = ft_layout_exchange_column(l, next, other(s, next));
    transform_z(s, at, true);
    memcpy(s->spectrum, at, ft_layout_points(l) * 2 * sizeof(double));
}

/* From z whole in a back to x whole, which is returned. */
static double *transform_back(struct ft *s)
{
    const struct ft_layout *l = &s->layout;
    double *at;
    double *next;

    transform_z(s, s->a, false);
    at = ft_layout_exchange_column(l, s->a, s->b);
    next = other(s, at);
    transform_y(s, at, next, false);
    at = ft_layout_exchange_row(l, next, other(s, next));
    next = l->n1 == 1 ? at : other(s, at);
    transform_x(s, at, next, false);
    return next;
}

/* Moves the spectrum on by one step of time; leaves a copy in a. */
static void evolve(struct ft *s)
{
    const struct ft_layout *l = &s->layout;
    const double *restrict along = s->decay[0] + l->x_first;
    const size_t x_mine = (size_t)l->x_mine;

    for (int z = 0; z < l->nz; z++) {
        for (int y = 0; y < l->y2_mine; y++) {
            size_t row = ((size_t)z * (size_t)l->y2_mine + (size_t)y) * x_mine;
            double *restrict u = s->spectrum + 2 * row;
            double *restrict copy = s->a + 2 * row;
            double factor = s->decay[2][z] * s->decay[1][y + l->y2_first];

            for (size_t x = 0; x < x_mine; x++) {
                double f = factor * along[x];

                copy[2 * x] = u[2 * x] *= f;
                copy[2 * x + 1] = u[2 * x + 1] *= f;
            }
        }
    }
    nas_compute(3.0 * l->nz * l->y2_mine * (double)x_mine);
}

/* The sum of 1024 points where x is whole; complete on rank 0. */
static void sum_points(const struct ft *s, const double *field, double sum[2])
{
    const struct ft_layout *l = &s->layout;
    double mine[2] = {0, 0};
    double points = (double)l->nx * l->ny * l->nz;

    for (int j = 1; j <= CHECK_POINTS; j++) {
        int x = j % l->nx;
        int y = 3 * j % l->ny - l->y1_first;
        int z = 5 * j % l->nz - l->z_first;

        if (y >= 0 && y < l->y1_mine && z >= 0 && z < l->z_mine) {
            size_t line = (size_t)z * (size_t)l->y1_mine + (size_t)y;
            size_t at = line * (size_t)l->nx + (size_t)x;

            mine[0] += field[2 * at];
            mine[1] += field[2 * at + 1];
        }
    }
    mine[0] /= points;
    mine[1] /= points;
    MPI_Reduce(mine, sum, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

/* ------------------------------------------------------------------- main */

static void run(struct ft *s, int iterations, double sums[][2])
{
    fill_tables(s);
    fill_start(s, s->a);
    transform_forward(s);
    for (int i = 0; i < iterations; i++) {
        evolve(s);
        sum_points(s, transform_back(s), sums[i]);
    }
}

static bool verify(const struct ft *s, double sums[][2])
{
    bool good = true;

    for (int i = 0; i < s->k->iterations; i++) {
        good &= nas_check(s->job, "sum re", sums[i][0], s->k->sums[i][0],
                          1e-12);
        good &= nas_check(s->job, "sum im", sums[i][1], s->k->sums[i][1],
                          1e-12);
    }
    return good;
}

static double operations(const struct ft_class *k)
{
    double n = (double)k->extent[0] * k->extent[1] * k->extent[2];

    return n * (14.8157 + 7.19641 * log(n) +
                (5.23518 + 7.21113 * log(n)) * k->iterations);
}

int main(int argc, char **argv)
{
    struct nas_job job;
    struct ft s = {.job = &job};
    double sums[ITERATIONS_MAX][2] = {{0}};

    nas_start(&argc, &argv, "FT", &job);
    s.k = find_class(job.klass);

    struct nas_result result = {
            .extent = {s.k->extent[0], s.k->extent[1], s.k->extent[2]},
            .iterations = s.k->iterations,
            .operation = "floating point",
    };

    ft_layout_open(&s.layout, &job, s.k->extent);
    nas_heading(&job, result.extent, result.iterations);
    if (job.rank == 0) {
        printf(" Layout: %dx%d\n", s.layout.n1, s.layout.n2);
    }
    open_arrays(&s);
    run(&s, 1, sums); /* untimed: touches all memory */

    double start = nas_timer_start();

    run(&s, s.k->iterations, sums);
    result.seconds = nas_timer_stop(start);
    result.mops = operations(s.k) / result.seconds * 1e-6;
    result.verified = verify(&s, sums);
    return nas_finish(&job, &result);
}
