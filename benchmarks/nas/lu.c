/*
 * lu.c: LU, the flow equations by symmetric successive over-relaxation.
 *
 * Ranks form a grid over x and y, and each holds columns that are whole in z.
 * A sweep goes plane by plane: a rank waits for the borders of its neighbours
 * in the plane, solves its part, and passes its own borders on, so that a
 * front runs over the grid while the ranks behind it work on later planes:
 *
 *     lower sweep, planes 1, 2, ...      upper sweep: the other way round
 *
 *         x ->                3 2 1        rank (0,0) is at plane 3 while
 *       y  (0,0) (1,0) (2,0)  2 1 .        its neighbours are at plane 2
 *       |  (0,1) (1,1) (2,1)  1 . .
 *       v  (0,2) (1,2) (2,2)
 */
#include "flow.h"
#include "lu_sweep.h"
#include "nas_common.h"

#include <math.h>
#include <string.h>

#define OMEGA 1.2

struct lu_class {
    char klass;
    int side;
    int iterations;
    double dt;
    double residual[FLOW_VARIABLES];
    double error[FLOW_VARIABLES];
    double surface;
};

static const struct lu_class classes[] = {
        {'S',
         12,
         50,
         0.5,
         {1.6196343210976702e-02, 2.1976745164821318e-03,
          1.5179927653399185e-03, 1.5029584435994323e-03,
          3.4264073155896461e-02},
         {6.4223319957960924e-04, 8.4144342047347926e-05,
          5.8588269616485186e-05, 5.8474222595157350e-05,
          1.3103347914111294e-03},
         7.8418928865937083e+00},
        {'W',
         33,
         300,
         1.5e-3,
         {0.1236511638192e+02, 0.1317228477799e+01, 0.2550120713095e+01,
          0.2326187750252e+01, 0.2826799444189e+02},
         {0.4867877144216e+00, 0.5064652880982e-01, 0.9281818101960e-01,
          0.8570126542733e-01, 0.1084277417792e+01},
         0.1161399311023e+02},
        {'A',
         64,
         250,
         2.0,
         {7.7902107606689367e+02, 6.3402765259692870e+01,
          1.9499249727292479e+02, 1.7845301160418537e+02,
          1.8384760349464247e+03},
         {2.9964085685471943e+01, 2.8194576365003349e+00,
          7.3473412698774742e+00, 6.7139225687777051e+00,
          7.0715315688392578e+01},
         2.6030925604886277e+01},
        {'B',
         102,
         250,
         2.0,
         {3.5532672969982736e+03, 2.6214750795310692e+02,
          8.8333721850952190e+02, 7.7812774739425265e+02,
          7.3087969592545314e+03},
         {1.1401176380212709e+02, 8.1098963655421574e+00,
          2.8480597317698308e+01, 2.5905394567832939e+01,
          2.6054907504857413e+02},
         4.7887162703308227e+01},
};

struct lu {
    const struct nas_job *job;
    const struct lu_class *k;
    struct lu_sweep sweep;
    int ranks[2]; /* along x and y */
    int at[2];
    int peer[2][2]; /* below and above along x and y, or MPI_PROC_NULL */
    struct flow_block block;
    double *u;
    double *v;       /* residual, then the correction */
    double *forcing; /* the operator on the exact solution */
    double *out;     /* packed borders */
    double *in;
};

static const struct lu_class *find_class(char klass)
{
    const struct lu_class *found = classes;

    while (found->klass != klass) {
        found++;
    }
    return found;
}

/* ---------------------------------------------------------------- cutting */

/* The grid that is closest to a square, at most twice as long as wide. */
static void choose_grid(struct lu *s)
{
    int ranks = s->job->ranks;
    int x = 1;

    while (x * x < ranks) {
        x++;
    }
    while (ranks % x != 0) {
        x++;
    }
    if (x > 2 * (ranks / x)) {
        nas_refuse(s->job,
                   "LU runs on a grid of ranks at most twice as long as wide, "
                   "such as 1x1, 2x1, 2x2, 3x2, 3x3 or 4x2, not on %d.",
                   ranks);
    }
    s->ranks[0] = x;
    s->ranks[1] = ranks / x;
}

static void place_ranks(struct lu *s)
{
    choose_grid(s);
    s->at[0] = s->job->rank % s->ranks[0];
    s->at[1] = s->job->rank / s->ranks[0];
    for (int axis = 0; axis < 2; axis++) {
        int step = axis == 0 ? 1 : s->ranks[0];
        int last = s->ranks[axis] - 1;

        s->peer[axis][0] =
                s->at[axis] > 0 ? s->job->rank - step : MPI_PROC_NULL;
        s->peer[axis][1] =
                s->at[axis] < last ? s->job->rank + step : MPI_PROC_NULL;
    }
}

static void cut(struct lu *s)
{
    int n[3] = {0, 0, s->k->side};
    int first[3] = {0, 0, 0};

    place_ranks(s);
    for (int axis = 0; axis < 2; axis++) {
        int each = s->k->side / s->ranks[axis];
        int more = s->k->side % s->ranks[axis];

        n[axis] = each + (s->at[axis] < more);
        first[axis] =
                s->at[axis] * each + (s->at[axis] < more ? s->at[axis] : more);
        if (each < 4) {
            nas_refuse(s->job,
                       "LU class %c on %d ranks would leave %d points of a "
                       "side to a rank; at least 4 are needed.",
                       s->job->klass, s->job->ranks, each);
        }
    }
    flow_block_open(&s->block, s->k->side, n, first);
}

static void open_fields(struct lu *s)
{
    size_t side = (size_t)s->k->side + 2 * FLOW_HALO;
    size_t border = side * side * FLOW_HALO * FLOW_VARIABLES;

    s->u = flow_field_open(&s->block);
    s->v = flow_field_open(&s->block);
    s->forcing = flow_field_open(&s->block);
    s->out = nas_alloc(border, sizeof(double));
    s->in = nas_alloc(border, sizeof(double));
    flow_fill_exact(&s->block, s->u);
    for (int axis = 0; axis < 3; axis++) {
        flow_operator(&s->block, axis, s->u, s->forcing);
    }
}

/* ---------------------------------------------------------- communication */

/*
 * Copies count lines of points between a field and packed numbers.  A line
 * starts at start + i * step in the field, for i = 0 .. lines - 1, and goes
 * on for points points along the stride.
 */
static int pack(const double *field, size_t start, size_t step, int lines,
                size_t stride, int points, double *packed)
{
    int count = 0;

    for (int i = 0; i < lines; i++) {
        for (int p = 0; p < points; p++) {
            memcpy(packed + count,
                   field + start + (size_t)i * step + (size_t)p * stride,
                   FLOW_VARIABLES * sizeof(double));
            count += FLOW_VARIABLES;
        }
    }
    return count;
}

static void unpack(double *field, size_t start, size_t step, int lines,
                   size_t stride, int points, const double *packed)
{
    int count = 0;

    for (int i = 0; i < lines; i++) {
        for (int p = 0; p < points; p++) {
            memcpy(field + start + (size_t)i * step + (size_t)p * stride,
                   packed + count, FLOW_VARIABLES * sizeof(double));
            count += FLOW_VARIABLES;
        }
    }
}

/* Where the layer of all points with the given place along x or y starts. */
static size_t layer_at(const struct lu *s, int axis, int place, int z)
{
    return axis == 0 ? flow_at(&s->block, place, 0, z)
                     : flow_at(&s->block, 0, place, z);
}

/* Sends two layers of u one way and receives two from the other side. */
static void halo_one_way(struct lu *s, int axis, int to)
{
    const struct flow_block *b = &s->block;
    int across = 1 - axis;
    int nz = b->n[2];
    int from = 1 - to;
    int inner = to == 0 ? 0 : b->n[axis] - FLOW_HALO;
    int halo = from == 0 ? -FLOW_HALO : b->n[axis];
    int layer = b->n[across] * nz * FLOW_VARIABLES;
    MPI_Request request;

    MPI_Irecv(s->in, FLOW_HALO * layer, MPI_DOUBLE, s->peer[axis][from], to,
              MPI_COMM_WORLD, &request);
    if (s->peer[axis][to] != MPI_PROC_NULL) {
        for (int i = 0; i < FLOW_HALO; i++) {
            pack(s->u, layer_at(s, axis, inner + i, 0), b->stride[2], nz,
                 b->stride[across], b->n[across], s->out + i * layer);
        }
        MPI_Send(s->out, FLOW_HALO * layer, MPI_DOUBLE, s->peer[axis][to], to,
                 MPI_COMM_WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (s->peer[axis][from] != MPI_PROC_NULL) {
        for (int i = 0; i < FLOW_HALO; i++) {
            unpack(s->u, layer_at(s, axis, halo + i, 0), b->stride[2], nz,
                   b->stride[across], b->n[across], s->in + i * layer);
        }
    }
}

/* Receives the borders of plane z of v from both neighbours on a side. */
static void receive_borders(struct lu *s, int z, int side)
{
    const struct flow_block *b = &s->block;

    for (int axis = 0; axis < 2; axis++) {
        int across = 1 - axis;
        int points = b->n[across];
        int place = side == 0 ? -1 : b->n[axis];

        if (s->peer[axis][side] != MPI_PROC_NULL) {
            MPI_Recv(s->in, points * FLOW_VARIABLES, MPI_DOUBLE,
                     s->peer[axis][side], 10 + axis, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            unpack(s->v, layer_at(s, axis, place, z), 0, 1, b->stride[across],
                   points, s->in);
        }
    }
}

static void send_borders(struct lu *s, int z, int side)
{
    const struct flow_block *b = &s->block;

    for (int axis = 0; axis < 2; axis++) {
        int across = 1 - axis;
        int place = side == 0 ? 0 : b->n[axis] - 1;

        if (s->peer[axis][side] != MPI_PROC_NULL) {
            int count = pack(s->v, layer_at(s, axis, place, z), 0, 1,
                             b->stride[across], b->n[across], s->out);

            MPI_Send(s->out, count, MPI_DOUBLE, s->peer[axis][side], 10 + axis,
                     MPI_COMM_WORLD);
        }
    }
}

/* ------------------------------------------------------------------ solver */

/* v = the operator on u, less the forcing. */
static void residual(struct lu *s)
{
    for (size_t i = 0; i < s->block.count; i++) {
        s->v[i] = -s->forcing[i];
    }
    for (int axis = 0; axis < 3; axis++) {
        if (axis < 2) {
            halo_one_way(s, axis, 1);
            halo_one_way(s, axis, 0);
        }
        flow_operator(&s->block, axis, s->u, s->v);
    }
}

static void norm(const struct lu *s, const double sum[FLOW_VARIABLES],
                 double result[FLOW_VARIABLES])
{
    double inside = pow(s->k->side - 2, 3);

    MPI_Allreduce(sum, result, FLOW_VARIABLES, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    for (int m = 0; m < FLOW_VARIABLES; m++) {
        result[m] = sqrt(result[m] / inside);
    }
}

static void residual_norm(const struct lu *s, double result[FLOW_VARIABLES])
{
    double sum[FLOW_VARIABLES] = {0};

    flow_add_squares(&s->block, s->v, sum);
    norm(s, sum, result);
}

/* v *= a, and further down u += a v, off the walls. */
static void scale_residual(struct lu *s, double a)
{
    const struct flow_block *b = &s->block;
    int first = flow_begin(b, 0) * FLOW_VARIABLES;
    int end = flow_end(b, 0) * FLOW_VARIABLES;

    for (int z = 1; z < b->n[2] - 1; z++) {
        for (int y = flow_begin(b, 1); y < flow_end(b, 1); y++) {
            double *restrict v = s->v + flow_at(b, 0, y, z);

            for (int i = first; i < end; i++) {
                v[i] *= a;
            }
        }
    }
}

static void add_correction(struct lu *s, double a)
{
    const struct flow_block *b = &s->block;
    int first = flow_begin(b, 0) * FLOW_VARIABLES;
    int end = flow_end(b, 0) * FLOW_VARIABLES;

    for (int z = 1; z < b->n[2] - 1; z++) {
        for (int y = flow_begin(b, 1); y < flow_end(b, 1); y++) {
            size_t at = flow_at(b, 0, y, z);
            const double *restrict v = s->v + at;
            double *restrict u = s->u + at;

            for (int i = first; i < end; i++) {
                u[i] += a * v[i];
            }
        }
    }
}

/* The official count for an iteration. */
static double operations(const struct lu_class *k)
{
    double n = k->side;

    return 1984.77 * n * n * n - 10923.3 * n * n + 27770.9 * n - 144010.0;
}

/*
 * Tells of one of the three parts of an iteration (either sweep, and the rest), as
 * if each had a third of the operations, for `planes` of z.
 */
static void compute_part(const struct lu *s, int planes)
{
    const struct flow_block *b = &s->block;
    double points = (double)b->n[0] * b->n[1] * planes;

    nas_compute(operations(s->k) / 3 * points /
                ((double)s->k->side * s->k->side * (b->n[2] - 2)));
}

static void iterate(struct lu *s)
{
    int last = s->block.n[2] - 2;

    scale_residual(s, s->sweep.dt);
    for (int z = 1; z <= last; z++) {
        receive_borders(s, z, 0);
        lu_sweep_lower(&s->sweep, &s->block, z, s->u, s->v);
        compute_part(s, 1);
        send_borders(s, z, 1);
    }
    for (int z = last; z >= 1; z--) {
        receive_borders(s, z, 1);
        lu_sweep_upper(&s->sweep, &s->block, z, s->u, s->v);
        compute_part(s, 1);
        send_borders(s, z, 0);
    }
    add_correction(s, 1.0 / (OMEGA * (2.0 - OMEGA)));
    residual(s);
    compute_part(s, last);
}

/* ------------------------------------------------------------ verification */

/*
 * Number of edges of the surface's squares that meet at place: the squares
 * have corners from low to high.
 */
static int weight(int place, int low, int high)
{
    if (place < low || place > high) {
        return 0;
    }
    return place == low || place == high ? 1 : 2;
}

/* The integral of the pressure over the surface of an inner box. */
static double surface(const struct lu *s)
{
    const struct flow_block *b = &s->block;
    const int low[3] = {1, 1, 2};
    const int high[3] = {b->side - 2, b->side - 3, b->side - 2};
    double mine = 0;
    double sum = 0;

    for (int z = 0; z < b->n[2]; z++) {
        for (int y = 0; y < b->n[1]; y++) {
            for (int x = 0; x < b->n[0]; x++) {
                const int at[3] = {x + b->first[0], y + b->first[1],
                                   z + b->first[2]};
                const double *u = s->u + flow_at(b, x, y, z);
                double kinetic =
                        0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) / u[0];
                int squares = 0;

                for (int axis = 0; axis < 3; axis++) {
                    int a = (axis + 1) % 3;
                    int c = (axis + 2) % 3;

                    if (at[axis] == low[axis] || at[axis] == high[axis]) {
                        squares += weight(at[a], low[a], high[a]) *
                                   weight(at[c], low[c], high[c]);
                    }
                }
                mine += squares * FLOW_C2 * (u[4] - kinetic);
            }
        }
    }
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return 0.25 * sum / (b->side - 1) / (b->side - 1);
}

static bool verify(const struct lu *s, const double residuals[FLOW_VARIABLES])
{
    double sum[FLOW_VARIABLES] = {0};
    double errors[FLOW_VARIABLES];
    bool good = true;

    flow_add_error(&s->block, s->u, sum);
    norm(s, sum, errors);
    for (int m = 0; m < FLOW_VARIABLES; m++) {
        good &= nas_check(s->job, "residual", residuals[m], s->k->residual[m],
                          1e-8);
    }
    for (int m = 0; m < FLOW_VARIABLES; m++) {
        good &= nas_check(s->job, "error", errors[m], s->k->error[m], 1e-8);
    }
    return nas_check(s->job, "surface", surface(s), s->k->surface, 1e-8) &&
           good;
}

/* -------------------------------------------------------------------- main */

static void restart(struct lu *s)
{
    double unused[FLOW_VARIABLES];

    memset(s->u, 0, s->block.count * sizeof(double));
    flow_fill_start(&s->block, s->u);
    residual(s);
    residual_norm(s, unused);
}

int main(int argc, char **argv)
{
    struct nas_job job;
    struct lu s = {.job = &job};
    double residuals[FLOW_VARIABLES];

    nas_start(&argc, &argv, "LU", &job);
    s.k = find_class(job.klass);
    s.sweep = (struct lu_sweep){.dt = s.k->dt, .omega = OMEGA};
    cut(&s);

    struct nas_result result = {
            .extent = {s.k->side, s.k->side, s.k->side},
            .iterations = s.k->iterations,
            .operation = "floating point",
    };

    nas_heading(&job, result.extent, result.iterations);
    open_fields(&s);
    restart(&s);
    iterate(&s); /* untimed: touches all memory */
    restart(&s);

    double start = nas_timer_start();

    for (int i = 0; i < s.k->iterations; i++) {
        iterate(&s);
    }
    residual_norm(&s, residuals);
    result.seconds = nas_timer_stop(start);
    result.mops = s.k->iterations * operations(s.k) / result.seconds * 1e-6;
    result.verified = verify(&s, residuals);
    return nas_finish(&job, &result);
}
