/*
 * cg.c: CG, the smallest eigenvalue of a large sparse matrix by inverse
 * iteration, each step solved by 25 steps of conjugate gradients.
 *
 * Ranks form a grid of rows x columns, columns = rows or 2 rows.  Rank (r, c)
 * holds the matrix block of row range r and column range c, and the part of
 * every vector that belongs to column range c:
 *
 *     w(row range r)  = block * p(column range c)        local
 *     w               = sum over the ranks of grid row r  log2(columns) swaps
 *     q(column range) = w of the transposed rank          one exchange
 *
 * A column range is a row range when the grid is square and half of one when
 * not, and then the sum is finished for that half only.
 */
#include "nas_common.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INNER_STEPS 25
#define STAGES_MAX  16
#define RCOND       0.1

struct cg_class {
    char klass;
    int order;
    int nonzeros; /* per generating vector */
    int iterations;
    double shift;
    double zeta;
};

static const struct cg_class classes[] = {
        {'S', 1400, 7, 15, 10.0, 8.5971775078648},
        {'W', 7000, 8, 15, 12.0, 10.362595087124},
        {'A', 14000, 11, 15, 20.0, 17.130235054029},
        {'B', 75000, 13, 75, 60.0, 22.712745482631},
};

struct cg_range {
    int first;
    int count;
};

/* One swap of the sum along a grid row. */
struct cg_stage {
    int peer;
    struct cg_range send; /* offsets in w */
    struct cg_range receive;
};

struct cg {
    const struct nas_job *job;
    const struct cg_class *k;
    int grid_rows;
    int grid_columns;
    int row;
    int column;
    struct cg_range rows;    /* of the matrix, this rank */
    struct cg_range columns; /* the same for columns */
    int stage_count;
    struct cg_stage stages[STAGES_MAX];
    int transpose_peer;
    struct cg_range piece; /* part of w that goes to the transposed rank */
    int *row_start;        /* compressed rows; columns are local */
    int *column_of;
    double *value;
    double *x, *z, *p, *q, *r; /* by column range */
    double *w;                 /* by row range */
    double *swap;              /* receives a swap */
};

static const struct cg_class *find_class(char klass)
{
    const struct cg_class *found = classes;

    while (found->klass != klass) {
        found++;
    }
    return found;
}

/* ---------------------------------------------------------------- layout */

static struct cg_range row_range(const struct cg *s, int row)
{
    int each = s->k->order / s->grid_rows;
    int more = s->k->order % s->grid_rows;

    return (struct cg_range){
            .first = row * each + (row < more ? row : more),
            .count = each + (row < more),
    };
}

/* The half of a row range, or all of it, that a column stands for. */
static struct cg_range column_part(const struct cg *s, int row_count,
                                   int column)
{
    int half = (row_count + 1) / 2;

    if (s->grid_columns == s->grid_rows) {
        return (struct cg_range){0, row_count};
    }
    return column % 2 == 0 ? (struct cg_range){0, half}
                           : (struct cg_range){half, row_count - half};
}

static struct cg_range column_range(const struct cg *s, int column)
{
    int ratio = s->grid_columns / s->grid_rows;
    struct cg_range rows = row_range(s, column / ratio);
    struct cg_range part = column_part(s, rows.count, column);

    part.first += rows.first;
    return part;
}

/*
 * The stages of the sum.  On a square grid every stage swaps all of w.  On the
 * other, the first stage is with a rank of the other parity: each gives the
 * half of w that the other keeps, and later stages swap that half.
 */
static void plan_stages(struct cg *s)
{
    bool square = s->grid_columns == s->grid_rows;
    struct cg_range all = {0, s->rows.count};
    struct cg_range mine = column_part(s, s->rows.count, s->column);

    s->stage_count = 0;
    for (int distance = 1; distance < s->grid_columns; distance *= 2) {
        struct cg_stage *stage = &s->stages[s->stage_count++];

        stage->peer = s->row * s->grid_columns + (s->column ^ distance);
        stage->receive = mine;
        stage->send = mine;
        if (!square && distance == 1) {
            stage->send = column_part(s, s->rows.count, s->column ^ 1);
        }
    }
    s->piece = square ? all : mine;
}

/* The rank whose column range equals the piece of w finished here. */
static int find_transpose(const struct cg *s)
{
    int ratio = s->grid_columns / s->grid_rows;
    int row = s->column / ratio;
    int column = s->row * ratio + s->column % ratio;

    return row * s->grid_columns + column;
}

static void plan(struct cg *s)
{
    s->grid_rows = 1;
    while (s->grid_rows * s->grid_rows * 4 <= s->job->ranks) {
        s->grid_rows *= 2;
    }
    s->grid_columns = s->job->ranks / s->grid_rows;
    s->row = s->job->rank / s->grid_columns;
    s->column = s->job->rank % s->grid_columns;
    s->rows = row_range(s, s->row);
    s->columns = column_range(s, s->column);
    plan_stages(s);
    s->transpose_peer = find_transpose(s);
}

/* ------------------------------------------------------------ the matrix */

/* The generating sparse vectors, one per row of the matrix. */
struct cg_vectors {
    int stride;
    int *length;
    int *index;
    double *value;
};

/* One vector: nonzeros at distinct random places, and 1/2 at its own. */
static int make_vector(const struct cg_class *k, int own, uint64_t *x_p,
                       int *restrict index, double *restrict value,
                       bool *restrict taken)
{
    int length = 0;
    int power = 1;

    while (power < k->order) {
        power *= 2;
    }
    while (length < k->nonzeros) {
        double element = nas_random(x_p, NAS_MULTIPLIER);
        int place = (int)(power * nas_random(x_p, NAS_MULTIPLIER));

        if (place < k->order && !taken[place]) {
            taken[place] = true;
            index[length] = place;
            value[length] = element;
            length++;
        }
    }
    for (int i = 0; i < length; i++) {
        taken[index[i]] = false;
    }
    for (int i = 0; i < length; i++) {
        if (index[i] == own) {
            value[i] = 0.5;
            return length;
        }
    }
    index[length] = own;
    value[length] = 0.5;
    return length + 1;
}

static void make_vectors(const struct cg_class *k, struct cg_vectors *v)
{
    uint64_t x = NAS_SEED;
    bool *taken = nas_alloc((size_t)k->order, sizeof(bool));
    size_t room = (size_t)k->order * (size_t)(k->nonzeros + 1);

    v->stride = k->nonzeros + 1;
    v->length = nas_alloc((size_t)k->order, sizeof(int));
    v->index = nas_alloc(room, sizeof(int));
    v->value = nas_alloc(room, sizeof(double));
    nas_random(&x, NAS_MULTIPLIER);
    for (int i = 0; i < k->order; i++) {
        size_t at = (size_t)i * (size_t)v->stride;

        v->length[i] =
                make_vector(k, i, &x, v->index + at, v->value + at, taken);
    }
    free(taken);
}

static bool within(struct cg_range range, int i)
{
    return i >= range.first && i < range.first + range.count;
}

/*
 * Adds up or stores the products of every vector with itself that fall in
 * this rank's block: counting pass with start null, else a storing pass.
 */
static void expand(const struct cg *s, const struct cg_vectors *v,
                   int *restrict next, int *restrict column_of,
                   double *restrict value)
{
    double ratio = pow(RCOND, 1.0 / s->k->order);
    double size = 1.0;

    for (int i = 0; i < s->k->order; i++) {
        const int *index = v->index + (size_t)i * (size_t)v->stride;
        const double *element = v->value + (size_t)i * (size_t)v->stride;

        for (int a = 0; a < v->length[i]; a++) {
            if (!within(s->columns, index[a])) {
                continue;
            }
            for (int b = 0; b < v->length[i]; b++) {
                if (!within(s->rows, index[b])) {
                    continue;
                }
                int at = next[index[b] - s->rows.first]++;

                if (value != NULL) {
                    column_of[at] = index[a] - s->columns.first;
                    value[at] = element[b] * (size * element[a]);
                }
            }
        }
        size *= ratio;
    }
    for (int i = 0; i < s->rows.count; i++) {
        int column = s->rows.first + i;

        if (within(s->columns, column)) {
            int at = next[i]++;

            if (value != NULL) {
                column_of[at] = column - s->columns.first;
                value[at] = RCOND - s->k->shift;
            }
        }
    }
}

static int compare_int(const void *a, const void *b)
{
    int left = *(const int *)a;
    int right = *(const int *)b;

    return (left > right) - (left < right);
}

/* Adds up the entries of the same place and sorts each row by column. */
static void merge_rows(struct cg *s, const int *restrict raw_start)
{
    double *sum = nas_alloc((size_t)s->columns.count, sizeof(double));
    bool *seen = nas_alloc((size_t)s->columns.count, sizeof(bool));
    int out = 0;

    for (int i = 0; i < s->rows.count; i++) {
        int first = out;

        for (int at = raw_start[i]; at < raw_start[i + 1]; at++) {
            int column = s->column_of[at];

            sum[column] += s->value[at];
            if (!seen[column]) {
                seen[column] = true;
                s->column_of[out++] = column; /* out never passes at */
            }
        }
        qsort(s->column_of + first, (size_t)(out - first), sizeof(int),
              compare_int);
        s->row_start[i] = first;
        for (int at = first; at < out; at++) {
            int column = s->column_of[at];

            s->value[at] = sum[column];
            sum[column] = 0;
            seen[column] = false;
        }
    }
    s->row_start[s->rows.count] = out;
    free(sum);
    free(seen);
}

static void make_matrix(struct cg *s)
{
    struct cg_vectors v;
    size_t rows = (size_t)s->rows.count;
    int *start = nas_alloc(rows + 1, sizeof(int));
    int *next = nas_alloc(rows, sizeof(int));

    make_vectors(s->k, &v);
    expand(s, &v, next, NULL, NULL);
    for (size_t i = 0; i < rows; i++) {
        start[i + 1] = start[i] + next[i];
        next[i] = start[i];
    }
    s->row_start = nas_alloc(rows + 1, sizeof(int));
    s->column_of = nas_alloc((size_t)start[rows], sizeof(int));
    s->value = nas_alloc((size_t)start[rows], sizeof(double));
    expand(s, &v, next, s->column_of, s->value);
    merge_rows(s, start);
    free(v.length);
    free(v.index);
    free(v.value);
    free(start);
    free(next);
}

static void open_vectors(struct cg *s)
{
    size_t count = (size_t)s->columns.count + 8;

    s->x = nas_alloc(count, sizeof(double));
    s->z = nas_alloc(count, sizeof(double));
    s->p = nas_alloc(count, sizeof(double));
    s->q = nas_alloc(count, sizeof(double));
    s->r = nas_alloc(count, sizeof(double));
    s->w = nas_alloc((size_t)s->rows.count, sizeof(double));
    s->swap = nas_alloc((size_t)s->rows.count, sizeof(double));
}

/* ----------------------------------------------------------- communication */

static void swap(int peer, const double *out, int out_count, double *in,
                 int in_count)
{
    MPI_Request request;

    MPI_Irecv(in, in_count, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, out_count, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Adds count numbers over the ranks of this grid row, in place. */
static void sum_along_row(const struct cg *s, double *numbers, int count)
{
    double other[2];

    for (int i = 0; i < s->stage_count; i++) {
        swap(s->stages[i].peer, numbers, count, other, count);
        for (int j = 0; j < count; j++) {
            numbers[j] += other[j];
        }
    }
}

/* result (by column range) = A * vector (by column range). */
static void multiply(const struct cg *s, const double *restrict vector,
                     double *restrict result)
{
    const int *restrict row_start = s->row_start;
    const int *restrict column_of = s->column_of;
    const double *restrict value = s->value;
    double *restrict w = s->w;

    for (int i = 0; i < s->rows.count; i++) {
        double sum = 0;
        double sum2 = 0;
        int at = row_start[i];
        int end = row_start[i + 1];

        for (; at + 1 < end; at += 2) {
            sum += value[at] * vector[column_of[at]];
            sum2 += value[at + 1] * vector[column_of[at + 1]];
        }
        if (at < end) {
            sum += value[at] * vector[column_of[at]];
        }
        w[i] = sum + sum2;
    }
    nas_compute(2.0 * row_start[s->rows.count]);
    for (int i = 0; i < s->stage_count; i++) {
        const struct cg_stage *stage = &s->stages[i];

        swap(stage->peer, w + stage->send.first, stage->send.count, s->swap,
             stage->receive.count);
        for (int j = 0; j < stage->receive.count; j++) {
            w[stage->receive.first + j] += s->swap[j];
        }
        nas_compute(stage->receive.count);
    }
    if (s->transpose_peer == s->job->rank) {
        memcpy(result, w + s->piece.first,
               sizeof(double) * (size_t)s->piece.count);
    } else {
        swap(s->transpose_peer, w + s->piece.first, s->piece.count, result,
             s->columns.count);
    }
}

/* -------------------------------------------------------------- iteration */

static double dot(const struct cg *s, const double *restrict a,
                  const double *restrict b)
{
    double sum = 0;

    for (int i = 0; i < s->columns.count; i++) {
        sum += a[i] * b[i];
    }
    nas_compute(2.0 * s->columns.count);
    sum_along_row(s, &sum, 1);
    return sum;
}

/* One step of conjugate gradients; returns the new rho. */
static double step(struct cg *s, double rho)
{
    const int count = s->columns.count;
    double *restrict p = s->p;
    double *restrict q = s->q;
    double *restrict r = s->r;
    double *restrict z = s->z;

    multiply(s, p, q);

    double alpha = rho / dot(s, p, q);
    double sum = 0;

    for (int i = 0; i < count; i++) {
        z[i] += alpha * p[i];
        r[i] -= alpha * q[i];
    }
    for (int i = 0; i < count; i++) {
        sum += r[i] * r[i];
    }
    nas_compute(6.0 * count);
    sum_along_row(s, &sum, 1);

    double beta = sum / rho;

    for (int i = 0; i < count; i++) {
        p[i] = r[i] + beta * p[i];
    }
    nas_compute(2.0 * count);
    return sum;
}

/* z = about A^-1 x; returns the length of the residual x - A z. */
static double solve(struct cg *s)
{
    const int count = s->columns.count;
    double rho;
    double sum = 0;

    for (int i = 0; i < count; i++) {
        s->z[i] = 0;
        s->r[i] = s->x[i];
        s->p[i] = s->x[i];
    }
    rho = dot(s, s->r, s->r);
    for (int i = 0; i < INNER_STEPS; i++) {
        rho = step(s, rho);
    }
    multiply(s, s->z, s->r);
    for (int i = 0; i < count; i++) {
        double difference = s->x[i] - s->r[i];

        sum += difference * difference;
    }
    nas_compute(3.0 * count);
    sum_along_row(s, &sum, 1);
    return sqrt(sum);
}

/* One inverse iteration: solves, returns zeta, sets x to z of length one. */
static double iterate(struct cg *s, double *residual_p)
{
    double sums[2] = {0, 0};
    double scale;

    *residual_p = solve(s);
    for (int i = 0; i < s->columns.count; i++) {
        sums[0] += s->x[i] * s->z[i];
        sums[1] += s->z[i] * s->z[i];
    }
    nas_compute(4.0 * s->columns.count);
    sum_along_row(s, sums, 2);
    scale = 1.0 / sqrt(sums[1]);
    for (int i = 0; i < s->columns.count; i++) {
        s->x[i] = scale * s->z[i];
    }
    nas_compute(s->columns.count);
    return s->k->shift + 1.0 / sums[0];
}

static void set_ones(struct cg *s)
{
    for (int i = 0; i < s->columns.count; i++) {
        s->x[i] = 1.0;
    }
}

int main(int argc, char **argv)
{
    struct nas_job job;
    struct cg s = {.job = &job};
    double zeta = 0;
    double residual = 0;

    nas_start(&argc, &argv, "CG", &job);
    s.k = find_class(job.klass);
    nas_need_power_of_two(&job, 1024);

    struct nas_result result = {
            .extent = {s.k->order, 0, 0},
            .iterations = s.k->iterations,
            .operation = "floating point",
    };
    double terms = (double)s.k->nonzeros * (s.k->nonzeros + 1);

    nas_heading(&job, result.extent, result.iterations);
    plan(&s);
    make_matrix(&s);
    open_vectors(&s);
    set_ones(&s);
    iterate(&s, &residual); /* untimed: touches all memory */
    set_ones(&s);

    double start = nas_timer_start();

    for (int i = 0; i < s.k->iterations; i++) {
        zeta = iterate(&s, &residual);
    }
    result.seconds = nas_timer_stop(start);
    result.mops = 2.0 * result.iterations * s.k->order *
                  (3.0 + terms + INNER_STEPS * (5.0 + terms) + 3.0) /
                  result.seconds * 1e-6;
    result.verified = nas_check(&job, "zeta", zeta, s.k->zeta, 1e-10);
    return nas_finish(&job, &result);
}
