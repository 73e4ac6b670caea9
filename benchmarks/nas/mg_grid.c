/*
 * mg_grid.c: cutting, halos and the change of cut between levels; see
 * mg_grid.h.
 */
#include "mg_grid.h"

#include <string.h>

/* A box inside a field: first point and extents. */
struct region {
    int first[3];
    int count[3];
};

/* -------------------------------------------------------------- the cutting */

static int rank_at(const struct mg_grid *grid, const int at[3])
{
    return (at[2] * grid->ranks[1] + at[1]) * grid->ranks[0] + at[0];
}

static void place_ranks(struct mg_grid *grid)
{
    int log2 = 0;
    int rest = grid->job->rank;

    while ((1 << log2) < grid->job->ranks) {
        log2++;
    }
    grid->ranks[0] = 1 << (log2 / 3);
    grid->ranks[1] = 1 << ((log2 - log2 / 3) / 2);
    grid->ranks[2] = grid->job->ranks / (grid->ranks[0] * grid->ranks[1]);
    for (int axis = 0; axis < 3; axis++) {
        grid->at[axis] = rest % grid->ranks[axis];
        rest /= grid->ranks[axis];
    }
}

static void cut_level(const struct mg_grid *grid, struct mg_level *level)
{
    level->alive = true;
    for (int axis = 0; axis < 3; axis++) {
        int ranks = grid->ranks[axis];
        int active = ranks < level->n / 2 ? ranks : level->n / 2;
        int step = ranks / active;

        level->active[axis] = active;
        level->step[axis] = step;
        level->box.m[axis] = level->n / active + 2;
        level->alive &= grid->at[axis] % step == 0;
        for (int side = 0; side < 2; side++) {
            int at[3] = {grid->at[0], grid->at[1], grid->at[2]};

            at[axis] = (at[axis] + (side == 0 ? ranks - step : step)) % ranks;
            level->peer[axis][side] = rank_at(grid, at);
        }
    }
    if (level->alive) {
        level->u = nas_alloc(mg_box_count(&level->box), sizeof(double));
        level->r = nas_alloc(mg_box_count(&level->box), sizeof(double));
    }
}

/* Lists the ranks of level whose parts make up this owner's coarser box. */
static void list_members(const struct mg_grid *grid, struct mg_level *level,
                         const struct mg_level *coarser)
{
    for (int i = 0; i < 8; i++) {
        int at[3];
        bool exists = true;

        for (int axis = 0; axis < 3; axis++) {
            int second = (i >> axis) & 1;

            at[axis] = grid->at[axis] + second * level->step[axis];
            exists &= second == 0 || coarser->step[axis] > level->step[axis];
            level->member_at[level->member_count][axis] =
                    second * (level->part.m[axis] - 2);
        }
        if (exists) {
            level->member[level->member_count++] = rank_at(grid, at);
        }
    }
}

static void plan_merge(const struct mg_grid *grid, struct mg_level *level,
                       const struct mg_level *coarser)
{
    int at[3];

    for (int axis = 0; axis < 3; axis++) {
        level->merges |= coarser->step[axis] > level->step[axis];
        level->part.m[axis] = (level->box.m[axis] - 2) / 2 + 2;
        at[axis] = grid->at[axis] / coarser->step[axis] * coarser->step[axis];
    }
    if (!level->merges || !level->alive) {
        return;
    }
    level->owner = rank_at(grid, at);
    level->part_values = nas_alloc(mg_box_count(&level->part), sizeof(double));
    if (coarser->alive) {
        list_members(grid, level, coarser);
    }
}

void mg_grid_open(struct mg_grid *grid, const struct nas_job *job, int n)
{
    const struct mg_box *top;
    size_t face = 1;

    memset(grid, 0, sizeof(*grid));
    grid->job = job;
    place_ranks(grid);
    for (int points = 2; points <= n; points *= 2) {
        struct mg_level *level = &grid->level[grid->level_count++];

        level->n = points;
        cut_level(grid, level);
        if (points > 2) {
            plan_merge(grid, level, level - 1);
        }
    }
    top = &grid->level[grid->level_count - 1].box;
    for (int axis = 0; axis < 3; axis++) {
        size_t area = mg_box_count(top) / (size_t)top->m[axis];

        face = area > face ? area : face;
    }
    face = face < 64 ? 64 : face; /* a packed part is 4 x 4 x 4 at most */
    grid->out = nas_alloc(face, sizeof(double));
    grid->in[0] = nas_alloc(face, sizeof(double));
    grid->in[1] = nas_alloc(face, sizeof(double));
}

/* ------------------------------------------------------------------ packing */

static int pack(const struct mg_box *box, const double *restrict field,
                const struct region *g, double *restrict packed)
{
    int count = 0;

    for (int z = 0; z < g->count[2]; z++) {
        for (int y = 0; y < g->count[1]; y++) {
            const double *line =
                    field + g->first[0] +
                    mg_box_line(box, y + g->first[1], z + g->first[2]);

            for (int x = 0; x < g->count[0]; x++) {
                packed[count++] = line[x];
            }
        }
    }
    return count;
}

static void unpack(const struct mg_box *box, double *restrict field,
                   const struct region *g, const double *restrict packed)
{
    int count = 0;

    for (int z = 0; z < g->count[2]; z++) {
        for (int y = 0; y < g->count[1]; y++) {
            double *line = field + g->first[0] +
                           mg_box_line(box, y + g->first[1], z + g->first[2]);

            for (int x = 0; x < g->count[0]; x++) {
                line[x] = packed[count++];
            }
        }
    }
}

/* -------------------------------------------------------------------- halos */

/*
 * The face at one place of an axis.  Axes are exchanged in turn, and a face
 * includes the halos of the axes before it, so that edges and corners arrive.
 */
static struct region face_at(const struct mg_box *box, int axis, int place)
{
    struct region face;

    for (int a = 0; a < 3; a++) {
        face.first[a] = a < axis ? 0 : 1;
        face.count[a] = a < axis ? box->m[a] : box->m[a] - 2;
    }
    face.first[axis] = place;
    face.count[axis] = 1;
    return face;
}

/* The only rank along an axis is its own neighbour. */
static void halo_local(struct mg_grid *grid, const struct mg_level *level,
                       int axis, double *field)
{
    const struct mg_box *box = &level->box;
    int last = box->m[axis] - 1;
    struct region from[2] = {face_at(box, axis, last - 1),
                             face_at(box, axis, 1)};
    struct region to[2] = {face_at(box, axis, 0), face_at(box, axis, last)};

    for (int side = 0; side < 2; side++) {
        pack(box, field, &from[side], grid->out);
        unpack(box, field, &to[side], grid->out);
    }
}

static void halo_remote(struct mg_grid *grid, const struct mg_level *level,
                        int axis, double *field)
{
    const struct mg_box *box = &level->box;
    int last = box->m[axis] - 1;
    int count = (int)(mg_box_count(box) / (size_t)box->m[axis]);
    struct region inner[2] = {face_at(box, axis, 1),
                              face_at(box, axis, last - 1)};
    struct region halo[2] = {face_at(box, axis, 0), face_at(box, axis, last)};
    MPI_Request request[2];

    for (int side = 0; side < 2; side++) {
        MPI_Irecv(grid->in[side], count, MPI_DOUBLE, level->peer[axis][side],
                  10 * axis + side, MPI_COMM_WORLD, &request[side]);
    }
    for (int side = 0; side < 2; side++) {
        int packed = pack(box, field, &inner[side], grid->out);

        MPI_Send(grid->out, packed, MPI_DOUBLE, level->peer[axis][side],
                 10 * axis + !side, MPI_COMM_WORLD);
    }
    for (int side = 0; side < 2; side++) {
        MPI_Wait(&request[side], MPI_STATUS_IGNORE);
        unpack(box, field, &halo[side], grid->in[side]);
    }
}

void mg_grid_halo(struct mg_grid *grid, const struct mg_level *level,
                  double *field)
{
    for (int axis = 0; axis < 3; axis++) {
        if (level->active[axis] == 1) {
            halo_local(grid, level, axis, field);
        } else {
            halo_remote(grid, level, axis, field);
        }
    }
}

/* --------------------------------------------------------- change of cut */

static struct region part_of(const struct mg_level *level, int member,
                             bool with_halo)
{
    struct region g;

    for (int axis = 0; axis < 3; axis++) {
        g.first[axis] = level->member_at[member][axis] + (with_halo ? 0 : 1);
        g.count[axis] = level->part.m[axis] - (with_halo ? 0 : 2);
    }
    return g;
}

static struct region inside(const struct mg_box *box)
{
    return (struct region){
            .first = {1, 1, 1},
            .count = {box->m[0] - 2, box->m[1] - 2, box->m[2] - 2},
    };
}

void mg_grid_gather(struct mg_grid *grid, const struct mg_level *level,
                    const struct mg_level *coarser, double *coarse)
{
    struct region own = inside(&level->part);
    int count = pack(&level->part, level->part_values, &own, grid->out);

    if (level->owner != grid->job->rank) {
        MPI_Send(grid->out, count, MPI_DOUBLE, level->owner, 40,
                 MPI_COMM_WORLD);
        return;
    }
    for (int i = 0; i < level->member_count; i++) {
        struct region g = part_of(level, i, false);
        const double *packed = grid->out;

        if (level->member[i] != grid->job->rank) {
            MPI_Recv(grid->in[0], count, MPI_DOUBLE, level->member[i], 40,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            packed = grid->in[0];
        }
        unpack(&coarser->box, coarse, &g, packed);
    }
}

void mg_grid_scatter(struct mg_grid *grid, const struct mg_level *level,
                     const struct mg_level *coarser, const double *coarse)
{
    int count = (int)mg_box_count(&level->part);

    if (level->owner != grid->job->rank) {
        MPI_Recv(level->part_values, count, MPI_DOUBLE, level->owner, 41,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = 0; i < level->member_count; i++) {
        struct region g = part_of(level, i, true);

        if (level->member[i] == grid->job->rank) {
            pack(&coarser->box, coarse, &g, level->part_values);
        } else {
            pack(&coarser->box, coarse, &g, grid->out);
            MPI_Send(grid->out, count, MPI_DOUBLE, level->member[i], 41,
                     MPI_COMM_WORLD);
        }
    }
}
