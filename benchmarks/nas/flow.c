/*
 * flow.c: the flow equations of LU, SP and BT; see flow.h.
 *
 * The operator works on lines.  A line of points is turned from five values a
 * point into five rows, so that the loops along it have unit stride:
 *
 *     -d F / dx                central differences of the flux
 *     + second differences     of u, of the velocities, of the energies
 *     - fourth differences     of u, one-sided near walls
 */
#include "flow.h"

#include "nas_common.h"

#include <string.h>

struct line {
    double u[FLOW_VARIABLES][FLOW_SIDE_MAX];
    double flux[FLOW_VARIABLES][FLOW_SIDE_MAX];
    double velocity[3][FLOW_SIDE_MAX];
    double speed2[FLOW_SIDE_MAX]; /* sum of the squares of the velocities */
    double energy[FLOW_SIDE_MAX]; /* a unit of mass */
    double out[FLOW_VARIABLES][FLOW_SIDE_MAX];
};

/* Coefficients of the exact solution: 1, x, y, z, squares, cubes, fourths. */
static const double exact_coefficient[FLOW_VARIABLES][13] = {
        {2, 0, 0, 4, 5, 3, 0.5, 0.02, 0.01, 0.03, 0.5, 0.4, 0.3},
        {1, 0, 0, 0, 1, 2, 3, 0.01, 0.03, 0.02, 0.4, 0.3, 0.5},
        {2, 2, 0, 0, 0, 2, 3, 0.04, 0.03, 0.05, 0.3, 0.5, 0.4},
        {2, 2, 0, 0, 0, 2, 3, 0.03, 0.05, 0.04, 0.2, 0.1, 0.3},
        {5, 4, 3, 2, 0.1, 0.4, 0.3, 0.05, 0.04, 0.03, 0.1, 0.3, 0.2},
};

/* ----------------------------------------------------------------- blocks */

void flow_block_open(struct flow_block *block, int side, const int n[3],
                     const int first[3])
{
    size_t stride = FLOW_VARIABLES;

    block->side = side;
    block->origin = 0;
    for (int axis = 0; axis < 3; axis++) {
        block->n[axis] = n[axis];
        block->first[axis] = first[axis];
        block->wall[axis][0] = first[axis] == 0;
        block->wall[axis][1] = first[axis] + n[axis] == side;
        block->stride[axis] = stride;
        block->origin += FLOW_HALO * stride;
        stride *= (size_t)n[axis] + 2 * FLOW_HALO;
    }
    block->count = stride;
}

double *flow_field_open(const struct flow_block *block)
{
    return nas_alloc(block->count, sizeof(double));
}

/* --------------------------------------------------------- exact solution */

void flow_exact(int side, int x, int y, int z, double u[FLOW_VARIABLES])
{
    const double at[3] = {
            (double)x / (side - 1),
            (double)y / (side - 1),
            (double)z / (side - 1),
    };

    for (int m = 0; m < FLOW_VARIABLES; m++) {
        const double *c = exact_coefficient[m];

        u[m] = c[0];
        for (int axis = 0; axis < 3; axis++) {
            u[m] += at[axis] *
                    (c[axis + 1] +
                     at[axis] * (c[axis + 4] +
                                 at[axis] * (c[axis + 7] +
                                             at[axis] * c[axis + 10])));
        }
    }
}

void flow_fill_exact(const struct flow_block *block, double *u)
{
    const int h = FLOW_HALO;

    for (int z = -h; z < block->n[2] + h; z++) {
        for (int y = -h; y < block->n[1] + h; y++) {
            for (int x = -h; x < block->n[0] + h; x++) {
                flow_exact(block->side, x + block->first[0],
                           y + block->first[1], z + block->first[2],
                           u + flow_at(block, x, y, z));
            }
        }
    }
}

/* Interpolates one point between the exact values on the six walls. */
static void interpolate(int side, const int at[3], double u[FLOW_VARIABLES])
{
    double along[3][FLOW_VARIABLES];

    for (int axis = 0; axis < 3; axis++) {
        double low[FLOW_VARIABLES];
        double high[FLOW_VARIABLES];
        double part = (double)at[axis] / (side - 1);
        int wall[3] = {at[0], at[1], at[2]};

        wall[axis] = 0;
        flow_exact(side, wall[0], wall[1], wall[2], low);
        wall[axis] = side - 1;
        flow_exact(side, wall[0], wall[1], wall[2], high);
        for (int m = 0; m < FLOW_VARIABLES; m++) {
            along[axis][m] = (1.0 - part) * low[m] + part * high[m];
        }
    }
    for (int m = 0; m < FLOW_VARIABLES; m++) {
        double a = along[0][m];
        double b = along[1][m];
        double c = along[2][m];

        u[m] = a + b + c - a * b - b * c - c * a + a * b * c;
    }
}

void flow_fill_start(const struct flow_block *block, double *u)
{
    int last = block->side - 1;

    for (int z = 0; z < block->n[2]; z++) {
        for (int y = 0; y < block->n[1]; y++) {
            for (int x = 0; x < block->n[0]; x++) {
                const int at[3] = {
                        x + block->first[0],
                        y + block->first[1],
                        z + block->first[2],
                };
                double *here = u + flow_at(block, x, y, z);
                bool on_wall = false;

                for (int axis = 0; axis < 3; axis++) {
                    on_wall |= at[axis] == 0 || at[axis] == last;
                }
                if (on_wall) {
                    flow_exact(block->side, at[0], at[1], at[2], here);
                } else {
                    interpolate(block->side, at, here);
                }
            }
        }
    }
}

/* --------------------------------------------------------------- operator */

/* All that follows from u at points first - 1 to end of the line. */
static inline void line_fluxes(int axis, struct line *l, int first, int end)
{
    for (int p = first - 1; p <= end; p++) {
        double over = 1.0 / l->u[0][p];
        double vx = l->u[1][p] * over;
        double vy = l->u[2][p] * over;
        double vz = l->u[3][p] * over;
        double speed2 = vx * vx + vy * vy + vz * vz;
        double kinetic = 0.5 * l->u[0][p] * speed2;
        double along = axis == 0 ? vx : axis == 1 ? vy : vz;
        double pressure = FLOW_C2 * (l->u[4][p] - kinetic);

        l->velocity[0][p] = vx;
        l->velocity[1][p] = vy;
        l->velocity[2][p] = vz;
        l->speed2[p] = speed2;
        l->energy[p] = l->u[4][p] * over;
        l->flux[0][p] = l->u[1 + axis][p];
        l->flux[1][p] = l->u[1][p] * along + (axis == 0 ? pressure : 0.0);
        l->flux[2][p] = l->u[2][p] * along + (axis == 1 ? pressure : 0.0);
        l->flux[3][p] = l->u[3][p] * along + (axis == 2 ? pressure : 0.0);
        l->flux[4][p] = (FLOW_C1 * l->u[4][p] - FLOW_C2 * kinetic) * along;
    }
}

static inline double second(const double *row, int p)
{
    return row[p - 1] - 2.0 * row[p] + row[p + 1];
}

/* Central, second and fourth differences, as if there were no walls. */
static inline void line_differences(int axis, int side, struct line *l,
                                    int first, int end)
{
    const double t1 = (double)(side - 1) * (side - 1);
    const double t2 = 0.5 * (side - 1);
    const double spread = flow_diffusion(axis) * t1;

    for (int m = 0; m < FLOW_VARIABLES; m++) {
        const double *restrict u = l->u[m];
        const double *restrict flux = l->flux[m];
        double *restrict out = l->out[m];

        for (int p = first; p < end; p++) {
            out[p] = spread * second(u, p) - t2 * (flux[p + 1] - flux[p - 1]) -
                     FLOW_DAMP * (u[p - 2] - 4.0 * u[p - 1] + 6.0 * u[p] -
                                  4.0 * u[p + 1] + u[p + 2]);
        }
    }
    for (int i = 0; i < 3; i++) {
        const double weight = (i == axis ? 4.0 / 3.0 : 1.0) * FLOW_C34 * t1;
        const double *restrict velocity = l->velocity[i];
        double *restrict out = l->out[1 + i];

        for (int p = first; p < end; p++) {
            out[p] += weight * second(velocity, p);
        }
    }
}

/* The second differences of the energies. */
static inline void line_energy(int axis, int side, struct line *l, int first,
                               int end)
{
    const double t1 = (double)(side - 1) * (side - 1) * FLOW_C34;
    const double of_speed = 0.5 * (1.0 - FLOW_C1345 / FLOW_C34) * t1;
    const double of_along = t1 / 6.0;
    const double of_energy = FLOW_C1345 / FLOW_C34 * t1;
    const double *restrict along = l->velocity[axis];

    for (int p = first; p < end; p++) {
        double squares = along[p - 1] * along[p - 1] -
                         2.0 * along[p] * along[p] +
                         along[p + 1] * along[p + 1];

        l->out[4][p] += of_speed * second(l->speed2, p) + of_along * squares +
                        of_energy * second(l->energy, p);
    }
}

/* Near walls the fourth difference leaves out what lies on and behind them. */
static inline void line_walls(const struct flow_block *block, int axis,
                              struct line *l)
{
    int low = FLOW_HALO;
    int high = FLOW_HALO + block->n[axis] - 1;

    for (int m = 0; m < FLOW_VARIABLES; m++) {
        const double *u = l->u[m];
        double *out = l->out[m];

        if (block->wall[axis][0]) {
            out[low + 1] +=
                    FLOW_DAMP * (u[low - 1] - 4.0 * u[low] + u[low + 1]);
            out[low + 2] += FLOW_DAMP * u[low];
        }
        if (block->wall[axis][1]) {
            out[high - 1] +=
                    FLOW_DAMP * (u[high + 1] - 4.0 * u[high] + u[high - 1]);
            out[high - 2] += FLOW_DAMP * u[high];
        }
    }
}

/* The operator on the line that starts at point 0 of u and out. */
static inline __attribute__((always_inline)) void
line_operator(const struct flow_block *block, int axis, struct line *l,
              const double *restrict u, double *restrict out)
{
    const ptrdiff_t stride = (ptrdiff_t)block->stride[axis];
    const int first = FLOW_HALO + flow_begin(block, axis);
    const int end = FLOW_HALO + flow_end(block, axis);

    for (int p = 0; p < block->n[axis] + 2 * FLOW_HALO; p++) {
        const double *from = u + (p - FLOW_HALO) * stride;

        for (int m = 0; m < FLOW_VARIABLES; m++) {
            l->u[m][p] = from[m];
        }
    }
    line_fluxes(axis, l, first, end);
    line_differences(axis, block->side, l, first, end);
    line_energy(axis, block->side, l, first, end);
    line_walls(block, axis, l);
    for (int p = first; p < end; p++) {
        double *to = out + (p - FLOW_HALO) * stride;

        for (int m = 0; m < FLOW_VARIABLES; m++) {
            to[m] += l->out[m][p];
        }
    }
}

void flow_operator(const struct flow_block *block, int axis, const double *u,
                   double *out)
{
    struct line l;
    int inner = axis == 0 ? 1 : 0; /* the other two axes */
    int outer = axis == 2 ? 1 : 2;
    int at[3] = {0, 0, 0};

    memset(&l, 0, sizeof(l));
    for (int b = flow_begin(block, outer); b < flow_end(block, outer); b++) {
        for (int a = flow_begin(block, inner); a < flow_end(block, inner);
             a++) {
            at[outer] = b;
            at[inner] = a;

            size_t start = flow_at(block, at[0], at[1], at[2]);

            if (axis == 0) { /* each call has its axis built in */
                line_operator(block, 0, &l, u + start, out + start);
            } else if (axis == 1) {
                line_operator(block, 1, &l, u + start, out + start);
            } else {
                line_operator(block, 2, &l, u + start, out + start);
            }
        }
    }
}

/* ------------------------------------------------------------------ norms */

void flow_add_error(const struct flow_block *block, const double *u,
                    double sum[FLOW_VARIABLES])
{
    for (int z = 0; z < block->n[2]; z++) {
        for (int y = 0; y < block->n[1]; y++) {
            for (int x = 0; x < block->n[0]; x++) {
                const double *here = u + flow_at(block, x, y, z);
                double exact[FLOW_VARIABLES];

                flow_exact(block->side, x + block->first[0],
                           y + block->first[1], z + block->first[2], exact);
                for (int m = 0; m < FLOW_VARIABLES; m++) {
                    double error = here[m] - exact[m];

                    sum[m] += error * error;
                }
            }
        }
    }
}

void flow_add_squares(const struct flow_block *block, const double *field,
                      double sum[FLOW_VARIABLES])
{
    for (int z = flow_begin(block, 2); z < flow_end(block, 2); z++) {
        for (int y = flow_begin(block, 1); y < flow_end(block, 1); y++) {
            for (int x = flow_begin(block, 0); x < flow_end(block, 0); x++) {
                const double *here = field + flow_at(block, x, y, z);

                for (int m = 0; m < FLOW_VARIABLES; m++) {
                    sum[m] += here[m] * here[m];
                }
            }
        }
    }
}
