/*
 * ft.c: FT, a heat equation solved in frequency space by 3-D FFTs.
 *
 * Ranks hold slabs, and one all-to-all a transform turns one kind into the
 * other (n = ranks):
 *
 *     slab of z:  [z / n][y][x]     x and y are transformed here
 *     slab of y:  [z][y / n][x]     z is transformed here
 *
 * The transform of y writes its result packed, by destination rank, so that
 * nothing is copied only to be sent:
 *
 *     packed:     [rank that gets it][z / n][y / n][x]
 *
 * and what arrives, by source rank, is a slab of y as it stands.  The way back
 * is the same in reverse.
 */
#include "ft_line.h"
#include "nas_common.h"

#include <math.h>
#include <stdlib.h>
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
    int nx, ny, nz;
    int ny_mine, nz_mine;   /* thickness of this rank's slabs */
    int y_first, z_first;   /* where they start */
    struct ft_line *x_line; /* transforms along each axis */
    struct ft_line *y_line;
    struct ft_line *z_line;
    size_t *along_x; /* offset of each point of a line, in points */
    size_t *along_y;
    size_t *along_y_packed;
    size_t *along_z;
    double *decay[3]; /* exp(-4 alpha pi^2 k^2) for each axis */
    double *spectrum; /* slab of y; the spectrum at the current time */
    double *a;        /* two work slabs of complex points */
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

static size_t points_mine(const struct ft *s)
{
    return (size_t)s->nx * (size_t)s->ny * (size_t)s->nz_mine;
}

static void open_offsets(struct ft *s)
{
    size_t nx = (size_t)s->nx;
    size_t ny_mine = (size_t)s->ny_mine;
    size_t block = (size_t)s->nz_mine * ny_mine * nx;

    s->along_x = nas_alloc(nx, sizeof(size_t));
    s->along_y = nas_alloc((size_t)s->ny, sizeof(size_t));
    s->along_y_packed = nas_alloc((size_t)s->ny, sizeof(size_t));
    s->along_z = nas_alloc((size_t)s->nz, sizeof(size_t));
    for (size_t i = 0; i < nx; i++) {
        s->along_x[i] = i;
    }
    for (size_t i = 0; i < (size_t)s->ny; i++) {
        s->along_y[i] = i * nx;
        s->along_y_packed[i] = i / ny_mine * block + i % ny_mine * nx;
    }
    for (size_t i = 0; i < (size_t)s->nz; i++) {
        s->along_z[i] = i * ny_mine * nx;
    }
}

static void open_grid(struct ft *s)
{
    s->nx = s->k->extent[0];
    s->ny = s->k->extent[1];
    s->nz = s->k->extent[2];
    s->ny_mine = s->ny / s->job->ranks;
    s->nz_mine = s->nz / s->job->ranks;
    s->y_first = s->ny_mine * s->job->rank;
    s->z_first = s->nz_mine * s->job->rank;
    s->spectrum = nas_alloc(points_mine(s), 2 * sizeof(double));
    s->a = nas_alloc(points_mine(s), 2 * sizeof(double));
    s->b = nas_alloc(points_mine(s), 2 * sizeof(double));
    for (int axis = 0; axis < 3; axis++) {
        s->decay[axis] = nas_alloc((size_t)s->k->extent[axis], sizeof(double));
    }
    open_offsets(s);
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

/* Random numbers, in the order of x, y, z, on a slab of z. */
static void fill_start(const struct ft *s, double *field)
{
    uint64_t before =
            (uint64_t)s->z_first * (uint64_t)s->ny * (uint64_t)s->nx * 2;
    uint64_t x = nas_random_skip(NAS_SEED, NAS_MULTIPLIER, before);

    nas_random_fill(&x, NAS_MULTIPLIER, points_mine(s) * 2, field);
}

/* -------------------------------------------------------------- transform */

static void transform_x(const struct ft *s, double *field, bool forward)
{
    int lines = s->ny * s->nz_mine;
    size_t nx = (size_t)s->nx;

    for (int i = 0; i < lines; i += FT_LINE_BLOCK) {
        double *at = field + 2 * (size_t)i * nx;

        ft_line_run(s->x_line, forward, at, s->along_x, nx, at, s->along_x, nx);
    }
}

/* Between a slab of z and its packed form, which way depends on forward. */
static void transform_y(const struct ft *s, const double *from, double *to,
                        bool forward)
{
    size_t plain = (size_t)s->ny * (size_t)s->nx;
    size_t packed = (size_t)s->ny_mine * (size_t)s->nx;
    size_t from_step = forward ? plain : packed;
    size_t to_step = forward ? packed : plain;
    const size_t *from_along = forward ? s->along_y : s->along_y_packed;
    const size_t *to_along = forward ? s->along_y_packed : s->along_y;

    for (size_t z = 0; z < (size_t)s->nz_mine; z++) {
        for (size_t x = 0; x < (size_t)s->nx; x += FT_LINE_BLOCK) {
            ft_line_run(s->y_line, forward, from + 2 * (z * from_step + x),
                        from_along, 1, to + 2 * (z * to_step + x), to_along, 1);
        }
    }
}

static void transform_z(const struct ft *s, double *field, bool forward)
{
    for (size_t y = 0; y < (size_t)s->ny_mine; y++) {
        for (size_t x = 0; x < (size_t)s->nx; x += FT_LINE_BLOCK) {
            double *at = field + 2 * (y * (size_t)s->nx + x);

            ft_line_run(s->z_line, forward, at, s->along_z, 1, at, s->along_z,
                        1);
        }
    }
}

/* Swaps the blocks of one kind of slab for those of the other. */
static double *exchange(const struct ft *s, double *from, double *to)
{
    int count = s->nx * s->ny_mine * s->nz_mine * 2;

    if (s->job->ranks == 1) {
        return from;
    }
    MPI_Alltoall(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE,
                 MPI_COMM_WORLD);
    return to;
}

/* From the slab of z in a to the spectrum. */
static void transform_forward(struct ft *s)
{
    double *at;

    transform_x(s, s->a, true);
    transform_y(s, s->a, s->b, true);
    at = exchange(s, s->b, s->a);
    transform_z(s, at, true);
    memcpy(s->spectrum, at, points_mine(s) * 2 * sizeof(double));
}

/* From the slab of y in a back to a slab of z, which is returned. */
static double *transform_back(struct ft *s)
{
    double *from;
    double *to;

    transform_z(s, s->a, false);
    from = exchange(s, s->a, s->b);
    to = from == s->a ? s->b : s->a;
    transform_y(s, from, to, false);
    transform_x(s, to, false);
    return to;
}

/* Moves the spectrum on by one step of time; leaves a copy in a. */
static void evolve(struct ft *s)
{
    const double *restrict along = s->decay[0];
    const size_t nx = (size_t)s->nx;

    for (int z = 0; z < s->nz; z++) {
        for (int y = 0; y < s->ny_mine; y++) {
            size_t row = ((size_t)z * (size_t)s->ny_mine + (size_t)y) * nx;
            double *restrict u = s->spectrum + 2 * row;
            double *restrict copy = s->a + 2 * row;
            double factor = s->decay[2][z] * s->decay[1][y + s->y_first];

            for (size_t x = 0; x < nx; x++) {
                double f = factor * along[x];

                copy[2 * x] = u[2 * x] *= f;
                copy[2 * x + 1] = u[2 * x + 1] *= f;
            }
        }
    }
}

/* The sum of 1024 points of a slab of z; whole on rank 0. */
static void sum_points(const struct ft *s, const double *field, double sum[2])
{
    double mine[2] = {0, 0};
    double points = (double)s->nx * s->ny * s->nz;

    for (int j = 1; j <= CHECK_POINTS; j++) {
        int x = j % s->nx;
        int y = 3 * j % s->ny;
        int z = 5 * j % s->nz - s->z_first;

        if (z >= 0 && z < s->nz_mine) {
            size_t at =
                    ((size_t)z * (size_t)s->ny + (size_t)y) * (size_t)s->nx +
                    (size_t)x;

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

    int ny = s.k->extent[1];
    int nz = s.k->extent[2];
    struct nas_result result = {
            .extent = {s.k->extent[0], ny, nz},
            .iterations = s.k->iterations,
            .operation = "floating point",
    };

    nas_need_power_of_two(&job, ny < nz ? ny : nz);
    nas_heading(&job, result.extent, result.iterations);
    open_grid(&s);
    s.x_line = ft_line_open(s.nx);
    s.y_line = ft_line_open(s.ny);
    s.z_line = ft_line_open(s.nz);
    run(&s, 1, sums); /* untimed: touches all memory */

    double start = nas_timer_start();

    run(&s, s.k->iterations, sums);
    result.seconds = nas_timer_stop(start);
    result.mops = operations(s.k) / result.seconds * 1e-6;
    result.verified = verify(&s, sums);
    return nas_finish(&job, &result);
}
