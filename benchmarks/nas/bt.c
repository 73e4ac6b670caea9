/*
 * bt.c: BT, the flow equations by approximate factorisation: in each step the
 * equations along each axis are systems with three diagonals of 5 x 5 blocks,
 *
 *     lower(p - 1) x(p - 1) + centre(p) x(p) + upper(p + 1) x(p + 1) = right
 *
 * solved by block elimination up the lines and substitution back.
 */
#include "mp_program.h"

#include <string.h>

#define B MP_BATCH
#define V FLOW_VARIABLES

static const struct mp_class classes[] = {
        {'S',
         12,
         60,
         1.0e-2,
         {1.7034283709541311e-01, 1.2975252070034097e-02,
          3.2527926989486055e-02, 2.6436421275166801e-02,
          1.9211784131744430e-01},
         {4.9976913345811579e-04, 4.5195666782961927e-05,
          7.3973765172921357e-05, 7.3821238632439731e-05,
          8.9269630987491446e-04}},
        {'W',
         24,
         200,
         0.8e-3,
         {0.1125590409344e+03, 0.1180007595731e+02, 0.2710329767846e+02,
          0.2469174937669e+02, 0.2638427874317e+03},
         {0.4419655736008e+01, 0.4638531260002e+00, 0.1011551749967e+01,
          0.9235878729944e+00, 0.1018045837718e+02}},
        {'A',
         64,
         200,
         0.8e-3,
         {1.0806346714637264e+02, 1.1319730901220813e+01,
          2.5974354511582465e+01, 2.3665622544678910e+01,
          2.5278963211748344e+02},
         {4.2348416040525025e+00, 4.4390282496995698e-01,
          9.6692480136345650e-01, 8.8302063039765474e-01,
          9.7379901770829278e+00}},
        {'B',
         102,
         200,
         3.0e-4,
         {1.4233597229287254e+03, 9.9330522590150238e+01,
          3.5646025644535285e+02, 3.2485447959084092e+02,
          3.2707541254659363e+03},
         {5.2969847140936856e+01, 4.4632896115670668e+00,
          1.3122573342210174e+01, 1.2006925323559144e+01,
          1.2459576151035986e+02}},
        {.klass = 0},
};

/* 5 x 5 blocks of MP_BATCH points side by side. */
struct blocks {
    double m[V][V][B];
};

/* A row after elimination: x(p) = right - upper x(p + 1). */
struct row {
    struct blocks upper;
    struct mp_points right;
};

/* --------------------------------------------------------------- jacobians */

/* The Jacobian of the flux along an axis, times scale. */
static inline __attribute__((always_inline)) void
flux_jacobian(int axis, double scale, const struct mp_points *u,
              struct blocks *jacobian)
{
    const int a = 1 + axis;

    for (int b = 0; b < B; b++) {
        double over = 1.0 / u->m[0][b];
        double w[3] = {u->m[1][b] * over, u->m[2][b] * over, u->m[3][b] * over};
        double along = scale * w[axis];
        double half_speed2 = 0.5 * (w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
        double h = FLOW_C1 * u->m[4][b] * over;

        for (int j = 0; j < V; j++) {
            jacobian->m[0][j][b] = j == a ? scale : 0.0;
        }
        for (int i = 1; i <= 3; i++) {
            for (int j = 0; j < V; j++) {
                jacobian->m[i][j][b] = 0.0;
            }
            jacobian->m[i][0][b] = -along * w[i - 1];
            jacobian->m[i][a][b] = scale * w[i - 1];
            jacobian->m[i][i][b] += along;
        }
        jacobian->m[a][0][b] += scale * FLOW_C2 * half_speed2;
        jacobian->m[a][1][b] -= scale * FLOW_C2 * w[0];
        jacobian->m[a][2][b] -= scale * FLOW_C2 * w[1];
        jacobian->m[a][3][b] -= scale * FLOW_C2 * w[2];
        jacobian->m[a][4][b] = scale * FLOW_C2;
        jacobian->m[4][0][b] = (2.0 * FLOW_C2 * half_speed2 - h) * along;
        for (int j = 0; j < 3; j++) {
            jacobian->m[4][1 + j][b] = -FLOW_C2 * w[j] * along;
        }
        jacobian->m[4][a][b] += scale * (h - FLOW_C2 * half_speed2);
        jacobian->m[4][4][b] = FLOW_C1 * along;
    }
}

/* The entries of the viscous Jacobian that are not zero, plus diffusion. */
struct viscous {
    double first[3][B]; /* rows 1 to 3, column 0 */
    double diagonal[V][B];
    double last[4][B]; /* row 4, columns 0 to 3 */
};

static inline __attribute__((always_inline)) void
viscous_jacobian(int axis, double scale, const struct mp_points *u,
                 struct viscous *n)
{
    const double d = scale * flow_diffusion(axis);

    for (int b = 0; b < B; b++) {
        double over = 1.0 / u->m[0][b];
        double each = scale * over;
        double sum = FLOW_C1345 * each * u->m[4][b] * over;

        n->diagonal[0][b] = d;
        for (int i = 0; i < 3; i++) {
            double drag = (i == axis ? 4.0 / 3.0 : 1.0) * FLOW_C34;
            double w = u->m[1 + i][b] * over;

            n->first[i][b] = -drag * each * w;
            n->diagonal[1 + i][b] = drag * each + d;
            n->last[1 + i][b] = (drag - FLOW_C1345) * each * w;
            sum += (drag - FLOW_C1345) * each * w * w;
        }
        n->last[0][b] = -sum;
        n->diagonal[4][b] = FLOW_C1345 * each + d;
    }
}

/* block += factor * n; the diagonal gets one more in addition. */
static inline void add_viscous(double factor, double one,
                               const struct viscous *n, struct blocks *block)
{
    for (int b = 0; b < B; b++) {
        for (int i = 0; i < V; i++) {
            block->m[i][i][b] += one + factor * n->diagonal[i][b];
        }
        for (int i = 0; i < 3; i++) {
            block->m[1 + i][0][b] += factor * n->first[i][b];
        }
        for (int j = 0; j < 4; j++) {
            block->m[4][j][b] += factor * n->last[j][b];
        }
    }
}

/* What a point gives to the rows of itself and of both neighbours. */
struct parts {
    struct blocks flux; /* dt times the flux Jacobian over two steps */
    struct viscous viscous;
};

static inline __attribute__((always_inline)) void
find_parts_along(int axis, const struct mp_class *k,
                 const struct mp_lines *lines, int p, struct parts *parts)
{
    const double side = k->side - 1;
    struct mp_points u;

    mp_points_load(lines, lines->cell->u,
                   p * (ptrdiff_t)lines->cell->block.stride[axis], &u);
    flux_jacobian(axis, k->dt * 0.5 * side, &u, &parts->flux);
    viscous_jacobian(axis, k->dt * side * side, &u, &parts->viscous);
}

static void find_parts(const struct mp_class *k, const struct mp_lines *lines,
                       int p, struct parts *parts)
{
    if (lines->axis == 0) { /* each call has its axis built in */
        find_parts_along(0, k, lines, p, parts);
    } else if (lines->axis == 1) {
        find_parts_along(1, k, lines, p, parts);
    } else {
        find_parts_along(2, k, lines, p, parts);
    }
}

/* ------------------------------------------------------------------ solver */

/* Subtracts a times the row before, which leaves nothing below centre. */
static inline void subtract_product(const struct blocks *a,
                                    const struct row *before,
                                    struct blocks *centre,
                                    struct mp_points *right)
{
    for (int i = 0; i < V; i++) {
        for (int j = 0; j < V; j++) {
            for (int b = 0; b < B; b++) {
                centre->m[i][j][b] -= a->m[i][0][b] * before->upper.m[0][j][b] +
                                      a->m[i][1][b] * before->upper.m[1][j][b] +
                                      a->m[i][2][b] * before->upper.m[2][j][b] +
                                      a->m[i][3][b] * before->upper.m[3][j][b] +
                                      a->m[i][4][b] * before->upper.m[4][j][b];
            }
        }
        for (int b = 0; b < B; b++) {
            right->m[i][b] -= a->m[i][0][b] * before->right.m[0][b] +
                              a->m[i][1][b] * before->right.m[1][b] +
                              a->m[i][2][b] * before->right.m[2][b] +
                              a->m[i][3][b] * before->right.m[3][b] +
                              a->m[i][4][b] * before->right.m[4][b];
        }
    }
}

/* Row i of everything -= row k times the entry that it clears. */
static inline void clear_entry(int i, int k, struct blocks *centre,
                               struct row *row)
{
    for (int b = 0; b < B; b++) {
        double entry = centre->m[i][k][b];

        for (int j = k + 1; j < V; j++) {
            centre->m[i][j][b] -= entry * centre->m[k][j][b];
        }
        for (int j = 0; j < V; j++) {
            row->upper.m[i][j][b] -= entry * row->upper.m[k][j][b];
        }
        row->right.m[i][b] -= entry * row->right.m[k][b];
    }
}

/* Multiplies the row by the inverse of centre, by Gauss and Jordan. */
static inline void divide(struct blocks *centre, struct row *row)
{
    for (int k = 0; k < V; k++) {
        for (int b = 0; b < B; b++) {
            double over = 1.0 / centre->m[k][k][b];

            for (int j = k + 1; j < V; j++) {
                centre->m[k][j][b] *= over;
            }
            for (int j = 0; j < V; j++) {
                row->upper.m[k][j][b] *= over;
            }
            row->right.m[k][b] *= over;
        }
        for (int i = 0; i < V; i++) {
            if (i != k) {
                clear_entry(i, k, centre, row);
            }
        }
    }
}

static inline void negate(const struct blocks *from, struct blocks *to)
{
    for (int i = 0; i < V; i++) {
        for (int j = 0; j < V; j++) {
            for (int b = 0; b < B; b++) {
                to->m[i][j][b] = -from->m[i][j][b];
            }
        }
    }
}

/* Eliminates one row; row->right holds its right hand side. */
static void eliminate(const struct parts *below, const struct parts *here,
                      const struct parts *above, const struct row *before,
                      struct row *row)
{
    struct blocks lower;
    struct blocks centre;

    negate(&below->flux, &lower);
    add_viscous(-1.0, 0.0, &below->viscous, &lower);
    memset(&centre, 0, sizeof(centre));
    add_viscous(2.0, 1.0, &here->viscous, &centre);
    row->upper = above->flux;
    add_viscous(-1.0, 0.0, &above->viscous, &row->upper);
    subtract_product(&lower, before, &centre, &row->right);
    divide(&centre, row);
}

static void forward(const void *context, const struct mp_lines *lines,
                    const double *before, double *after)
{
    const struct mp_class *k = context;
    const struct flow_block *block = &lines->cell->block;
    const ptrdiff_t stride = (ptrdiff_t)block->stride[lines->axis];
    int begin = flow_begin(block, lines->axis);
    int end = flow_end(block, lines->axis);
    const struct row *last = (const struct row *)before;
    struct row *store = (struct row *)lines->store;
    struct parts parts[3];

    find_parts(k, lines, begin - 1, &parts[0]);
    find_parts(k, lines, begin, &parts[1]);
    for (int p = begin; p < end; p++) {
        int turn = p - begin;

        find_parts(k, lines, p + 1, &parts[(turn + 2) % 3]);
        mp_points_load(lines, lines->cell->rhs, p * stride, &store[p].right);
        eliminate(&parts[turn % 3], &parts[(turn + 1) % 3],
                  &parts[(turn + 2) % 3], last, &store[p]);
        last = &store[p];
    }
    memcpy(after, last, sizeof(*last));
}

/* x = right - upper * next. */
static inline void substitute(const struct row *row,
                              const struct mp_points *next, struct mp_points *x)
{
    for (int i = 0; i < V; i++) {
        for (int b = 0; b < B; b++) {
            x->m[i][b] = row->right.m[i][b] -
                         row->upper.m[i][0][b] * next->m[0][b] -
                         row->upper.m[i][1][b] * next->m[1][b] -
                         row->upper.m[i][2][b] * next->m[2][b] -
                         row->upper.m[i][3][b] * next->m[3][b] -
                         row->upper.m[i][4][b] * next->m[4][b];
        }
    }
}

/* The solution replaces the right hand side, or along z is added to u. */
static inline void deliver(const struct mp_lines *lines, ptrdiff_t offset,
                           const struct mp_points *x)
{
    for (int b = 0; b < lines->count; b++) {
        ptrdiff_t at = (ptrdiff_t)lines->start[b] + offset;

        for (int m = 0; m < V; m++) {
            if (lines->axis == 2) {
                lines->cell->u[at + m] += x->m[m][b];
            } else {
                lines->cell->rhs[at + m] = x->m[m][b];
            }
        }
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

    (void)context;
    memcpy(&next, behind, sizeof(next));
    for (int p = flow_end(block, lines->axis) - 1; p >= begin; p--) {
        struct mp_points x;

        substitute(&store[p], &next, &x);
        deliver(lines, p * stride, &x);
        next = x;
    }
    memcpy(ahead, &next, sizeof(next));
}

/* -------------------------------------------------------------------- main */

static void scale(const struct mp_grid *grid, const struct mp_class *k)
{
    for (int c = 0; c < grid->p; c++) {
        double *restrict rhs = grid->cell[c].rhs;

        for (size_t i = 0; i < grid->cell[c].block.count; i++) {
            rhs[i] *= k->dt;
        }
    }
}

int main(int argc, char **argv)
{
    static const struct mp_program program = {
            .kernel = "BT",
            .classes = classes,
            .method = {.forward_values = V * V + V,
                       .back_values = V,
                       .store_values = V * V + V,
                       .forward = forward,
                       .back = back},
            .prepare = scale,
            .operations = {3478.8, -17655.7, 28023.7, 0.0},
    };

    return mp_program_run(argc, argv, &program);
}
