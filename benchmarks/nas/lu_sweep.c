/*
 * lu_sweep.c: block Gauss-Seidel sweeps; see lu_sweep.h.
 *
 * A point's five values follow from those of three neighbours that were
 * solved before it:
 *
 *     D v = right - omega (X v(x-1) + Y v(y-1) + Z v(z-1))
 *
 * The 5 x 5 blocks are never stored.  A neighbour's block is a flux Jacobian
 * A and a viscous one N, and the product with v is the derivative of the flux
 * in the direction of v, which takes a few lines.  D has viscous terms only
 * and is lower triangular: it is solved from the top.
 */
#include "lu_sweep.h"

/* What the blocks need to know of a point. */
struct state {
    double over; /* 1 / density */
    double velocity[3];
    double speed2;
    double energy; /* a unit of mass */
};

static inline struct state state_of(const double *u)
{
    struct state s;

    s.over = 1.0 / u[0];
    for (int i = 0; i < 3; i++) {
        s.velocity[i] = u[1 + i] * s.over;
    }
    s.speed2 = s.velocity[0] * s.velocity[0] + s.velocity[1] * s.velocity[1] +
               s.velocity[2] * s.velocity[2];
    s.energy = u[4] * s.over;
    return s;
}

/*
 * sum += scale_a A v + scale_n (N + d) v, for the Jacobians of an axis at u.
 * Lower neighbours have scale_a < 0, upper ones > 0.
 */
static inline __attribute__((always_inline)) void
add_product(int axis, double scale_a, double scale_n, const double *u,
            const double *v, double *sum)
{
    const double d = flow_diffusion(axis);
    const struct state s = state_of(u);
    const double *w = s.velocity;
    const double along = w[axis];
    const double v_along = v[1 + axis];
    const double work =
            w[0] * v[1] + w[1] * v[2] + w[2] * v[3] - 0.5 * s.speed2 * v[0];
    const double h = FLOW_C1 * s.energy - 0.5 * FLOW_C2 * s.speed2;
    double viscous = FLOW_C1345 * (v[4] - s.energy * v[0]);

    sum[0] += scale_a * v_along + scale_n * d * v[0];
    for (int i = 0; i < 3; i++) {
        double change = v[1 + i] - w[i] * v[0]; /* of a velocity, x density */
        double flux = along * change + w[i] * v_along;
        double drag = (i == axis ? 4.0 / 3.0 : 1.0) * FLOW_C34;

        if (i == axis) {
            flux += FLOW_C2 * (v[4] - work);
        }
        viscous += (drag - FLOW_C1345) * w[i] * change;
        sum[1 + i] += scale_a * flux +
                      scale_n * (drag * s.over * change + d * v[1 + i]);
    }
    sum[4] += scale_a * (h * v_along +
                         along * (FLOW_C1 * v[4] - FLOW_C2 * work - h * v[0])) +
              scale_n * (s.over * viscous + d * v[4]);
}

/* Solves D x = b in place. */
static inline void solve_diagonal(double dt, double t1, const double *u,
                                  double *b)
{
    const double twice = 2.0 * dt * t1;
    const struct state s = state_of(u);
    const double *w = s.velocity;
    const double base = 1.0 + twice * (flow_diffusion(0) + flow_diffusion(1) +
                                       flow_diffusion(2));
    const double drag = twice * FLOW_C34 * s.over * (2.0 + 4.0 / 3.0);
    const double heat = twice * FLOW_C1345 * s.over * 3.0;
    const double over = 1.0 / (base + drag);
    double rest = b[4];

    b[0] /= base;
    rest += heat * s.energy * b[0];
    for (int i = 0; i < 3; i++) {
        b[1 + i] = (b[1 + i] + drag * w[i] * b[0]) * over;
        rest -= (drag - heat) * w[i] * (b[1 + i] - w[i] * b[0]);
    }
    b[4] = rest / (base + heat);
}

void lu_sweep_lower(const struct lu_sweep *sweep,
                    const struct flow_block *block, int z, const double *u,
                    double *v)
{
    const double t1 = (double)(block->side - 1) * (block->side - 1);
    const double scale_a = sweep->omega * sweep->dt * 0.5 * (block->side - 1);
    const double scale_n = sweep->omega * sweep->dt * t1;

    for (int y = flow_begin(block, 1); y < flow_end(block, 1); y++) {
        for (int x = flow_begin(block, 0); x < flow_end(block, 0); x++) {
            size_t at = flow_at(block, x, y, z);
            size_t x_at = at - block->stride[0];
            size_t y_at = at - block->stride[1];
            size_t z_at = at - block->stride[2];
            double sum[FLOW_VARIABLES];

            for (int m = 0; m < FLOW_VARIABLES; m++) {
                sum[m] = v[at + (size_t)m];
            }
            add_product(2, scale_a, scale_n, u + z_at, v + z_at, sum);
            add_product(1, scale_a, scale_n, u + y_at, v + y_at, sum);
            add_product(0, scale_a, scale_n, u + x_at, v + x_at, sum);
            solve_diagonal(sweep->dt, t1, u + at, sum);
            for (int m = 0; m < FLOW_VARIABLES; m++) {
                v[at + (size_t)m] = sum[m];
            }
        }
    }
}

void lu_sweep_upper(const struct lu_sweep *sweep,
                    const struct flow_block *block, int z, const double *u,
                    double *v)
{
    const double t1 = (double)(block->side - 1) * (block->side - 1);
    const double scale_a = sweep->omega * sweep->dt * 0.5 * (block->side - 1);
    const double scale_n = -sweep->omega * sweep->dt * t1;

    for (int y = flow_end(block, 1) - 1; y >= flow_begin(block, 1); y--) {
        for (int x = flow_end(block, 0) - 1; x >= flow_begin(block, 0); x--) {
            size_t at = flow_at(block, x, y, z);
            size_t x_at = at + block->stride[0];
            size_t y_at = at + block->stride[1];
            size_t z_at = at + block->stride[2];
            double sum[FLOW_VARIABLES] = {0, 0, 0, 0, 0};

            add_product(2, scale_a, scale_n, u + z_at, v + z_at, sum);
            add_product(1, scale_a, scale_n, u + y_at, v + y_at, sum);
            add_product(0, scale_a, scale_n, u + x_at, v + x_at, sum);
            solve_diagonal(sweep->dt, t1, u + at, sum);
            for (int m = 0; m < FLOW_VARIABLES; m++) {
                v[at + (size_t)m] -= sum[m];
            }
        }
    }
}
