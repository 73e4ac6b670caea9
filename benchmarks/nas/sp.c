/*
 * sp.c: SP, the flow equations by approximate factorisation: in each step the
 * equations are turned to the directions of the waves, where they part into
 * five scalar systems along lines, with five diagonals each.  Three of the
 * waves go with the flow and share a matrix; two go with the sound.
 */
#include "mp_program.h"

#include <math.h>
#include <string.h>

#define B       MP_BATCH
#define SYSTEMS 3

static const struct mp_class classes[] = {
        {'S',
         12,
         100,
         1.5e-2,
         {2.7470315451339479e-02, 1.0360746705285417e-02,
          1.6235745065095532e-02, 1.5840557224455615e-02,
          3.4849040609362460e-02},
         {2.7289258557377227e-05, 1.0364446640837285e-05,
          1.6154798287166471e-05, 1.5750704994480102e-05,
          3.4177666183390531e-05}},
        {'W',
         36,
         400,
         1.5e-3,
         {0.1893253733584e-02, 0.1717075447775e-03, 0.2778153350936e-03,
          0.2887475409984e-03, 0.3143611161242e-02},
         {0.7542088599534e-04, 0.6512852253086e-05, 0.1049092285688e-04,
          0.1128838671535e-04, 0.1212845639773e-03}},
        {'A',
         64,
         400,
         1.5e-3,
         {2.4799822399300195e0, 1.1276337964368832e0, 1.5028977888770491e0,
          1.4217816211695179e0, 2.1292113035138280e0},
         {1.0900140297820550e-04, 3.7343951769282091e-05,
          5.0092785406541633e-05, 4.7671093939528255e-05,
          1.3621613399213001e-04}},
        {'B',
         102,
         400,
         1.0e-3,
         {0.6903293579998e+02, 0.3095134488084e+02, 0.4103336647017e+02,
          0.3864769009604e+02, 0.5643482272596e+02},
         {0.9810006190188e-02, 0.1022827905670e-02, 0.1720597911692e-02,
          0.1694479428231e-02, 0.1847456263981e-01}},
        {.klass = 0},
};

/* A row after elimination: what is above the diagonal, and the right sides. */
struct row {
    double next[SYSTEMS][B];
    double after_next[SYSTEMS][B];
    double right[FLOW_VARIABLES][B];
};

/* The waves along a line: speeds and diffusion at every point. */
struct waves {
    double velocity[FLOW_SIDE_MAX][B];
    double sound[FLOW_SIDE_MAX][B];
    double diffusion[FLOW_SIDE_MAX][B];
};

/* -------------------------------------------------------------- transforms */

static inline void save(const struct mp_lines *lines, double *field,
                        ptrdiff_t offset, const struct mp_points *p)
{
    for (int b = 0; b < lines->count; b++) {
        double *at = field + (ptrdiff_t)lines->start[b] + offset;

        for (int m = 0; m < FLOW_VARIABLES; m++) {
            at[m] = p->m[m][b];
        }
    }
}

static inline double sound_squared(const double u[FLOW_VARIABLES], double over)
{
    double kinetic = 0.5 * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]) * over;

    return FLOW_C1 * FLOW_C2 * over * (u[4] - kinetic);
}

/* From the residual to dt times its waves along x. */
static void turn_to_x(double dt, const double u[FLOW_VARIABLES],
                      double r[FLOW_VARIABLES])
{
    const double half_root = sqrt(0.5);
    double over = 1.0 / u[0];
    double vx = u[1] * over;
    double vy = u[2] * over;
    double vz = u[3] * over;
    double half_speed2 = 0.5 * (vx * vx + vy * vy + vz * vz);
    double c2 = sound_squared(u, over);
    double t1 = FLOW_C2 / c2 *
                (half_speed2 * r[0] - vx * r[1] - vy * r[2] - vz * r[3] + r[4]);
    double t2 = half_root * over * (vx * r[0] - r[1]);
    double t3 = half_root * over * sqrt(c2) * t1;
    double w0 = r[0] - t1;
    double w1 = -over * (vz * r[0] - r[3]);
    double w2 = over * (vy * r[0] - r[2]);

    r[0] = dt * w0;
    r[1] = dt * w1;
    r[2] = dt * w2;
    r[3] = dt * (t3 - t2);
    r[4] = dt * (t3 + t2);
}

static void turn_all(const struct mp_grid *grid, const struct mp_class *k)
{
    for (int c = 0; c < grid->p; c++) {
        const struct mp_cell *cell = &grid->cell[c];
        const struct flow_block *block = &cell->block;

        for (int z = flow_begin(block, 2); z < flow_end(block, 2); z++) {
            for (int y = flow_begin(block, 1); y < flow_end(block, 1); y++) {
                for (int x = flow_begin(block, 0); x < flow_end(block, 0);
                     x++) {
                    size_t at = flow_at(block, x, y, z);

                    turn_to_x(k->dt, cell->u + at, cell->rhs + at);
                }
            }
        }
    }
}

/* From the waves along one axis to those along the next. */
static inline void turn_x_to_y(struct mp_points *p)
{
    const double half_root = sqrt(0.5);

    for (int b = 0; b < B; b++) {
        double t1 = half_root * p->m[2][b];
        double t2 = 0.5 * (p->m[3][b] + p->m[4][b]);
        double w2 = half_root * (p->m[3][b] - p->m[4][b]);
        double w0 = -p->m[1][b];

        p->m[1][b] = p->m[0][b];
        p->m[0][b] = w0;
        p->m[2][b] = w2;
        p->m[3][b] = t2 - t1;
        p->m[4][b] = t2 + t1;
    }
}

static inline void turn_y_to_z(struct mp_points *p)
{
    const double half_root = sqrt(0.5);

    for (int b = 0; b < B; b++) {
        double t1 = half_root * p->m[0][b];
        double t2 = 0.5 * (p->m[3][b] + p->m[4][b]);
        double w0 = half_root * (p->m[3][b] - p->m[4][b]);
        double w1 = -p->m[2][b];

        p->m[2][b] = p->m[1][b];
        p->m[0][b] = w0;
        p->m[1][b] = w1;
        p->m[3][b] = t2 - t1;
        p->m[4][b] = t2 + t1;
    }
}

/* u += the waves along z, turned back to the variables. */
static inline void add_from_z(const struct mp_points *w, struct mp_points *p)
{
    const double half_root = sqrt(0.5);

    for (int b = 0; b < B; b++) {
        const double u[FLOW_VARIABLES] = {p->m[0][b], p->m[1][b], p->m[2][b],
                                          p->m[3][b], p->m[4][b]};
        double over = 1.0 / u[0];
        double vx = u[1] * over;
        double vy = u[2] * over;
        double vz = u[3] * over;
        double c2 = sound_squared(u, over);
        double root = half_root * u[0];
        double t1 = root / sqrt(c2) * (w->m[3][b] + w->m[4][b]);
        double t2 = w->m[2][b] + t1;
        double t3 = root * (w->m[3][b] - w->m[4][b]);
        double a = u[0] * w->m[0][b];
        double c = u[0] * w->m[1][b];

        p->m[0][b] += t2;
        p->m[1][b] += vx * t2 - c;
        p->m[2][b] += vy * t2 + a;
        p->m[3][b] += vz * t2 + t3;
        p->m[4][b] += vy * a - vx * c +
                      0.5 * (vx * vx + vy * vy + vz * vz) * t2 +
                      c2 / FLOW_C2 * t1 + vz * t3;
    }
}

/* ------------------------------------------------------------------ solver */

static void find_waves(const struct mp_lines *lines, struct waves *w)
{
    const struct flow_block *block = &lines->cell->block;
    const ptrdiff_t stride = (ptrdiff_t)block->stride[lines->axis];
    const double d = flow_diffusion(lines->axis);
    int end = flow_end(block, lines->axis);

    for (int p = flow_begin(block, lines->axis) - 1; p <= end; p++) {
        struct mp_points u;
        const double *along = u.m[1 + lines->axis];

        mp_points_load(lines, lines->cell->u, p * stride, &u);
        for (int b = 0; b < B; b++) {
            double over = 1.0 / u.m[0][b];
            double kinetic = 0.5 * over *
                             (u.m[1][b] * u.m[1][b] + u.m[2][b] * u.m[2][b] +
                              u.m[3][b] * u.m[3][b]);

            w->velocity[p + 1][b] = along[b] * over;
            w->sound[p + 1][b] =
                    sqrt(FLOW_C1 * FLOW_C2 * over * (u.m[4][b] - kinetic));
            /* of the largest of the specification's diffusion terms: heat */
            w->diffusion[p + 1][b] = d + FLOW_C1 * FLOW_C1 * FLOW_C34 * over;
        }
    }
}

/*
 * Eliminates one row of one system with the two rows before it, and its right
 * hand sides from first to last.
 */
static inline void eliminate(int system, int first, int last, double outer,
                             const double *restrict below,
                             const double *restrict centre,
                             const double *restrict above,
                             const struct row *before_last,
                             const struct row *before, struct row *row)
{
    for (int b = 0; b < B; b++) {
        double low = below[b] - outer * before_last->next[system][b];
        double over =
                1.0 / (centre[b] - outer * before_last->after_next[system][b] -
                       low * before->next[system][b]);

        row->next[system][b] =
                (above[b] - low * before->after_next[system][b]) * over;
        row->after_next[system][b] = outer * over;
        for (int m = first; m <= last; m++) {
            row->right[m][b] =
                    (row->right[m][b] - outer * before_last->right[m][b] -
                     low * before->right[m][b]) *
                    over;
        }
    }
}

/* All three systems of point p; w has its waves at p + 1. */
static void eliminate_point(const struct mp_class *k, bool at_wall,
                            const struct waves *w, int p,
                            const struct row *before_last,
                            const struct row *before, struct row *row)
{
    const double side = k->side - 1;
    const double t1 = k->dt * side * side;
    const double t2 = k->dt * 0.5 * side;
    const double damp = k->dt * FLOW_DAMP;
    double below[SYSTEMS][B];
    double above[SYSTEMS][B];
    double centre[B];

    for (int b = 0; b < B; b++) {
        double low =
                -t2 * w->velocity[p][b] - t1 * w->diffusion[p][b] - 4.0 * damp;
        double high = t2 * w->velocity[p + 2][b] - t1 * w->diffusion[p + 2][b] -
                      4.0 * damp;

        centre[b] = 1.0 + 2.0 * t1 * w->diffusion[p + 1][b] +
                    (at_wall ? 5.0 : 6.0) * damp;
        below[0][b] = low;
        below[1][b] = low - t2 * w->sound[p][b];
        below[2][b] = low + t2 * w->sound[p][b];
        above[0][b] = high;
        above[1][b] = high + t2 * w->sound[p + 2][b];
        above[2][b] = high - t2 * w->sound[p + 2][b];
    }
    eliminate(0, 0, 2, damp, below[0], centre, above[0], before_last, before,
              row);
    eliminate(1, 3, 3, damp, below[1], centre, above[1], before_last, before,
              row);
    eliminate(2, 4, 4, damp, below[2], centre, above[2], before_last, before,
              row);
}

static void forward(const void *context, const struct mp_lines *lines,
                    const double *before, double *after)
{
    const struct mp_class *k = context;
    const struct flow_block *block = &lines->cell->block;
    const int axis = lines->axis;
    const ptrdiff_t stride = (ptrdiff_t)block->stride[axis];
    int begin = flow_begin(block, axis);
    int end = flow_end(block, axis);
    const struct row *last2 = (const struct row *)before;
    const struct row *last = last2 + 1;
    struct row *store = (struct row *)lines->store;
    struct waves w;

    find_waves(lines, &w);
    for (int p = begin; p < end; p++) {
        bool at_wall = (block->wall[axis][0] && p == begin) ||
                       (block->wall[axis][1] && p == end - 1);
        struct mp_points right;

        mp_points_load(lines, lines->cell->rhs, p * stride, &right);
        memcpy(store[p].right, right.m, sizeof(right.m));
        eliminate_point(k, at_wall, &w, p, last2, last, &store[p]);
        last2 = last;
        last = &store[p];
    }
    memcpy(after, last2, sizeof(struct row));
    memcpy(after + sizeof(struct row) / sizeof(double), last,
           sizeof(struct row));
}

/* right = right - next * x(p + 1) - after_next * x(p + 2). */
static inline void substitute(const struct row *row,
                              const struct mp_points *next,
                              const struct mp_points *after_next,
                              struct mp_points *x)
{
    for (int m = 0; m < FLOW_VARIABLES; m++) {
        int system = m < 3 ? 0 : m - 2;

        for (int b = 0; b < B; b++) {
            x->m[m][b] = row->right[m][b] -
                         row->next[system][b] * next->m[m][b] -
                         row->after_next[system][b] * after_next->m[m][b];
        }
    }
}

/* Puts the waves of a point where the next step wants them. */
static inline void deliver(const struct mp_lines *lines, ptrdiff_t offset,
                           const struct mp_points *x)
{
    struct mp_points p = *x;

    if (lines->axis == 0) {
        turn_x_to_y(&p);
        save(lines, lines->cell->rhs, offset, &p);
    } else if (lines->axis == 1) {
        turn_y_to_z(&p);
        save(lines, lines->cell->rhs, offset, &p);
    } else {
        mp_points_load(lines, lines->cell->u, offset, &p);
        add_from_z(x, &p);
        save(lines, lines->cell->u, offset, &p);
    }
}

static void back(const void *context, const struct mp_lines *lines,
                 const double *behind, double *ahead)
{
    const struct flow_block *block = &lines->cell->block;
    const ptrdiff_t stride = (ptrdiff_t)block->stride[lines->axis];
    const struct row *store = (const struct row *)lines->store;
    int begin = flow_begin(block, lines->axis);
    struct mp_points next;
    struct mp_points after_next;

    (void)context;
    memcpy(&next, behind, sizeof(next));
    memcpy(&after_next, behind + sizeof(next) / sizeof(double), sizeof(next));
    for (int p = flow_end(block, lines->axis) - 1; p >= begin; p--) {
        struct mp_points x;

        substitute(&store[p], &next, &after_next, &x);
        deliver(lines, p * stride, &x);
        after_next = next;
        next = x;
    }
    memcpy(ahead, &next, sizeof(next));
    memcpy(ahead + sizeof(next) / sizeof(double), &after_next, sizeof(next));
}

/* -------------------------------------------------------------------- main */

int main(int argc, char **argv)
{
    static const struct mp_program program = {
            .kernel = "SP",
            .classes = classes,
            .method = {.forward_values = 2 * (2 * SYSTEMS + FLOW_VARIABLES),
                       .back_values = 2 * FLOW_VARIABLES,
                       .store_values = 2 * SYSTEMS + FLOW_VARIABLES,
                       .forward = forward,
                       .back = back},
            .prepare = turn_all,
            .operations = {881.174, -4683.91, 11484.5, -19272.4},
    };

    return mp_program_run(argc, argv, &program);
}
