/*
 * mp_grid.c: the multi-partition: cutting, faces, sweeps and norms; see
 * mp_grid.h.
 */
#include "mp_grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------- cutting */

static int wrap(int i, int p)
{
    return (i % p + p) % p;
}

/* Cell c of rank (i, j) is at (i + c, j - c, c), all modulo p. */
static void place_cell(const struct mp_grid *grid, int c, struct mp_cell *cell)
{
    int n[3];
    int first[3];
    int each = grid->side / grid->p;
    int more = grid->side % grid->p;

    cell->at[0] = wrap(grid->job->rank % grid->p + c, grid->p);
    cell->at[1] = wrap(grid->job->rank / grid->p - c, grid->p);
    cell->at[2] = c;
    for (int axis = 0; axis < 3; axis++) {
        int at = cell->at[axis];

        n[axis] = each + (at < more);
        first[axis] = at * each + (at < more ? at : more);
    }
    flow_block_open(&cell->block, grid->side, n, first);
}

static void place_peers(struct mp_grid *grid)
{
    int p = grid->p;
    int i = grid->job->rank % p;
    int j = grid->job->rank / p;

    for (int side = 0; side < 2; side++) {
        int step = side == 0 ? -1 : 1;

        grid->peer[0][side] = wrap(i + step, p) + p * j;
        grid->peer[1][side] = i + p * wrap(j + step, p);
        grid->peer[2][side] = wrap(i - step, p) + p * wrap(j + step, p);
    }
}

/* Lines of a cell along an axis that are off the walls, in batches. */
static int batches(const struct mp_cell *cell, int axis)
{
    int lines = 1;

    for (int a = 0; a < 3; a++) {
        if (a != axis) {
            lines *= flow_end(&cell->block, a) - flow_begin(&cell->block, a);
        }
    }
    return (lines + MP_BATCH - 1) / MP_BATCH;
}

static size_t store_count(const struct mp_cell *cell, int values)
{
    int most = 0;

    for (int axis = 0; axis < 3; axis++) {
        int points = batches(cell, axis) * cell->block.n[axis];

        most = points > most ? points : most;
    }
    return (size_t)most * (size_t)values * MP_BATCH;
}

static void open_cell(struct mp_cell *cell, int store_values)
{
    cell->u = flow_field_open(&cell->block);
    cell->rhs = flow_field_open(&cell->block);
    cell->forcing = flow_field_open(&cell->block);
    cell->store = nas_alloc(store_count(cell, store_values), sizeof(double));
    flow_fill_exact(&cell->block, cell->u);
    for (int axis = 0; axis < 3; axis++) {
        flow_operator(&cell->block, axis, cell->u, cell->forcing);
    }
}

/* Values of two layers of all cells that have a neighbour on that side. */
static int face_values(const struct mp_grid *grid, int axis, int side)
{
    int values = 0;

    for (int c = 0; c < grid->p; c++) {
        const struct flow_block *block = &grid->cell[c].block;

        if (!block->wall[axis][side]) {
            values += block->n[(axis + 1) % 3] * block->n[(axis + 2) % 3] *
                      FLOW_HALO * FLOW_VARIABLES;
        }
    }
    return values;
}

static void open_buffers(struct mp_grid *grid, const struct mp_method *method)
{
    int values = method->forward_values > method->back_values
                         ? method->forward_values
                         : method->back_values;
    int most = 0;

    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < 2; side++) {
            int count = face_values(grid, axis, side);

            grid->face_count[axis][side][0] = count;
            grid->face_count[axis][side][1] = count;
            grid->out[axis][side] = nas_alloc((size_t)count, sizeof(double));
            grid->in[axis][side] = nas_alloc((size_t)count, sizeof(double));
        }
        for (int c = 0; c < grid->p; c++) {
            int count = batches(&grid->cell[c], axis);

            most = count > most ? count : most;
        }
    }
    grid->sweep_out =
            nas_alloc((size_t)(most * values * MP_BATCH), sizeof(double));
    grid->sweep_in =
            nas_alloc((size_t)(most * values * MP_BATCH), sizeof(double));
    grid->zeroes = nas_alloc((size_t)(values * MP_BATCH), sizeof(double));
}

void mp_grid_open(struct mp_grid *grid, const struct nas_job *job, int side,
                  const struct mp_method *method)
{
    memset(grid, 0, sizeof(*grid));
    grid->job = job;
    grid->side = side;
    grid->p = nas_need_square(job, side / 3 * (side / 3));
    grid->cell = nas_alloc((size_t)grid->p, sizeof(*grid->cell));
    place_peers(grid);
    for (int c = 0; c < grid->p; c++) {
        place_cell(grid, c, &grid->cell[c]);
        open_cell(&grid->cell[c], method->store_values);
    }
    open_buffers(grid, method);
}

void mp_grid_start(struct mp_grid *grid)
{
    for (int c = 0; c < grid->p; c++) {
        struct mp_cell *cell = &grid->cell[c];

        memset(cell->u, 0, cell->block.count * sizeof(double));
        flow_fill_start(&cell->block, cell->u);
    }
}

/* ------------------------------------------------------------------- faces */

/* Copies two layers of u, from place on, to or from packed values. */
static int copy_face(const struct mp_cell *cell, int axis, int place,
                     bool to_packed, double *packed)
{
    const struct flow_block *block = &cell->block;
    int count[3] = {block->n[0], block->n[1], block->n[2]};
    size_t start;
    int done = 0;
    int at[3] = {0, 0, 0};

    at[axis] = place;
    count[axis] = FLOW_HALO;
    start = flow_at(block, at[0], at[1], at[2]);
    for (int z = 0; z < count[2]; z++) {
        for (int y = 0; y < count[1]; y++) {
            double *line = cell->u + start + (size_t)z * block->stride[2] +
                           (size_t)y * block->stride[1];
            size_t values = (size_t)count[0] * FLOW_VARIABLES;

            if (to_packed) {
                memcpy(packed + done, line, values * sizeof(double));
            } else {
                memcpy(line, packed + done, values * sizeof(double));
            }
            done += (int)values;
        }
    }
    return done;
}

/* Packs or unpacks one side of an axis for all cells, in order of z. */
static void copy_faces(struct mp_grid *grid, int axis, int side, bool to_packed,
                       double *packed)
{
    for (int c = 0; c < grid->p; c++) {
        const struct mp_cell *cell = &grid->cell[c];
        int last = cell->block.n[axis];
        int inner = side == 0 ? 0 : last - FLOW_HALO;
        int halo = side == 0 ? -FLOW_HALO : last;

        if (!cell->block.wall[axis][side]) {
            packed += copy_face(cell, axis, to_packed ? inner : halo, to_packed,
                                packed);
        }
    }
}

static void exchange_faces(struct mp_grid *grid)
{
    MPI_Request request[12];
    MPI_Status status[12];
    int count = 0;

    if (grid->p == 1) {
        return;
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < 2; side++) {
            MPI_Irecv(grid->in[axis][side], grid->face_count[axis][side][1],
                      MPI_DOUBLE, grid->peer[axis][side], 2 * axis + side,
                      MPI_COMM_WORLD, &request[count++]);
        }
    }
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < 2; side++) {
            copy_faces(grid, axis, side, true, grid->out[axis][side]);
            MPI_Isend(grid->out[axis][side], grid->face_count[axis][side][0],
                      MPI_DOUBLE, grid->peer[axis][side], 2 * axis + !side,
                      MPI_COMM_WORLD, &request[count++]);
        }
    }
    MPI_Waitall(count, request, status);
    for (int axis = 0; axis < 3; axis++) {
        for (int side = 0; side < 2; side++) {
            copy_faces(grid, axis, side, false, grid->in[axis][side]);
        }
    }
}

/*
 * Tells of a cell's share in one of a step's four parts (the residual, and the
 * sweep of each axis), or in `part` of it, as if all had as many operations.
 */
static void compute_part(const struct mp_grid *grid, const struct mp_cell *cell,
                         double part)
{
    const int *n = cell->block.n;

    nas_compute(part * grid->operations / 4 * n[0] * n[1] * n[2] /
                pow(grid->side, 3));
}

void mp_grid_residual(struct mp_grid *grid)
{
    exchange_faces(grid);
    for (int c = 0; c < grid->p; c++) {
        struct mp_cell *cell = &grid->cell[c];
        const double *restrict forcing = cell->forcing;
        double *restrict rhs = cell->rhs;

        for (size_t i = 0; i < cell->block.count; i++) {
            rhs[i] = -forcing[i];
        }
        for (int axis = 0; axis < 3; axis++) {
            flow_operator(&cell->block, axis, cell->u, cell->rhs);
        }
        compute_part(grid, cell, 1);
    }
}

/* ------------------------------------------------------------------ sweeps */

static const struct mp_cell *cell_in_slice(const struct mp_grid *grid, int axis,
                                           int slice)
{
    const struct mp_cell *cell = grid->cell;

    while (cell->at[axis] != slice) {
        cell++;
    }
    return cell;
}

/* Steps to the next line off the walls, in order of the lower axis first. */
static void next_line(const struct flow_block *block, int axis, int at[3])
{
    int inner = axis == 0 ? 1 : 0;
    int outer = axis == 2 ? 1 : 2;

    if (++at[inner] == flow_end(block, inner)) {
        at[inner] = flow_begin(block, inner);
        at[outer]++;
    }
}

static void first_line(const struct flow_block *block, int axis, int at[3])
{
    for (int a = 0; a < 3; a++) {
        at[a] = a == axis ? 0 : flow_begin(block, a);
    }
}

/* Takes the next batch of lines; at is where it starts and is moved on. */
static void take_batch(const struct mp_cell *cell, int axis, int lines_left,
                       int at[3], struct mp_lines *lines)
{
    lines->cell = cell;
    lines->axis = axis;
    lines->count = lines_left < MP_BATCH ? lines_left : MP_BATCH;
    for (int b = 0; b < MP_BATCH; b++) {
        if (b < lines->count) {
            lines->start[b] = flow_at(&cell->block, at[0], at[1], at[2]);
            next_line(&cell->block, axis, at);
        } else {
            lines->start[b] = lines->start[b - 1];
        }
    }
}

/* Runs one cell's lines one way; in is null at the wall. */
static void run_cell(const struct mp_grid *grid, const struct mp_cell *cell,
                     int axis, const struct mp_method *method, bool forward,
                     const double *in, double *out)
{
    const struct flow_block *block = &cell->block;
    int values = forward ? method->forward_values : method->back_values;
    size_t each = (size_t)values * MP_BATCH;
    size_t store_each =
            (size_t)block->n[axis] * (size_t)method->store_values * MP_BATCH;
    int inner = axis == 0 ? 1 : 0;
    int outer = axis == 2 ? 1 : 2;
    int left = (flow_end(block, inner) - flow_begin(block, inner)) *
               (flow_end(block, outer) - flow_begin(block, outer));
    struct mp_lines lines;
    int at[3];

    first_line(block, axis, at);
    lines.store = cell->store;
    for (; left > 0; left -= MP_BATCH) {
        const double *from = in != NULL ? in : grid->zeroes;

        take_batch(cell, axis, left, at, &lines);
        if (forward) {
            method->forward(method->context, &lines, from, out);
        } else {
            method->back(method->context, &lines, from, out);
        }
        lines.store += store_each;
        in = in != NULL ? in + each : NULL;
        out += each;
    }
}

/* One way through all slices; a message from each cell to the next one. */
static void run_slices(struct mp_grid *grid, int axis,
                       const struct mp_method *method, bool forward)
{
    int values = forward ? method->forward_values : method->back_values;
    int source = grid->peer[axis][forward ? 0 : 1];
    int target = grid->peer[axis][forward ? 1 : 0];
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status status[2];

    for (int i = 0; i < grid->p; i++) {
        int slice = forward ? i : grid->p - 1 - i;
        const struct mp_cell *cell = cell_in_slice(grid, axis, slice);
        int count = batches(cell, axis) * values * MP_BATCH;

        if (i > 0) {
            MPI_Irecv(grid->sweep_in, count, MPI_DOUBLE, source, 20 + axis,
                      MPI_COMM_WORLD, &request[0]);
        }
        MPI_Waitall(2, request, status);
        run_cell(grid, cell, axis, method, forward,
                 i > 0 ? grid->sweep_in : NULL, grid->sweep_out);
        compute_part(grid, cell, 0.5); /* forward or back */
        if (i < grid->p - 1) {
            MPI_Isend(grid->sweep_out, count, MPI_DOUBLE, target, 20 + axis,
                      MPI_COMM_WORLD, &request[1]);
        }
    }
}

void mp_grid_sweep(struct mp_grid *grid, int axis,
                   const struct mp_method *method)
{
    run_slices(grid, axis, method, true);
    run_slices(grid, axis, method, false);
}

/* ------------------------------------------------------------ verification */

bool mp_grid_verify(struct mp_grid *grid, const double residual[FLOW_VARIABLES],
                    const double error[FLOW_VARIABLES])
{
    double mine[2 * FLOW_VARIABLES] = {0};
    double sum[2 * FLOW_VARIABLES];
    bool good = true;

    for (int c = 0; c < grid->p; c++) {
        const struct mp_cell *cell = &grid->cell[c];

        flow_add_squares(&cell->block, cell->rhs, mine);
        flow_add_error(&cell->block, cell->u, mine + FLOW_VARIABLES);
    }
    MPI_Allreduce(mine, sum, 2 * FLOW_VARIABLES, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
    for (int m = 0; m < 2 * FLOW_VARIABLES; m++) {
        bool is_error = m >= FLOW_VARIABLES;
        double norm = sqrt(sum[m] / pow(grid->side - 2, 3));

        good &= nas_check(grid->job, is_error ? "error" : "residual", norm,
                          is_error ? error[m - FLOW_VARIABLES] : residual[m],
                          1e-8);
    }
    return good;
}
