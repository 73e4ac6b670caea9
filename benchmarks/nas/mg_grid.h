/*
 * mg_grid.h: the levels of MG, how each is cut over the ranks, and how halos
 * and blocks move between ranks.  Calls MPI and nas_common.
 */
#ifndef AM_BENCHMARKS_MG_GRID_H
#define AM_BENCHMARKS_MG_GRID_H

#include "nas_common.h"

#define MG_LEVELS_MAX 9
#define MG_LINE_MAX   (256 + 2)

/* A box of points with a halo of one point: [z][y][x], x fastest. */
struct mg_box {
    int m[3]; /* x, y, z, halo included */
};

/*
 * One level.  On each axis it is cut over the ranks while every one gets two
 * points at least; further down, each second rank falls idle.
 */
struct mg_level {
    int n;         /* points along each axis of the whole grid */
    bool alive;    /* this rank has a part of it */
    int step[3];   /* distance between ranks that are alive, in the grid */
    int active[3]; /* how many are */
    struct mg_box box;
    int peer[3][2]; /* the neighbour below and above */
    double *u;      /* the solution, or the correction to it */
    double *r;      /* the residual */

    /*
     * Where the next coarser level is cut over fewer ranks: the part of it
     * that lies over this rank's own box, and whom it belongs to there.
     */
    bool merges;
    struct mg_box part;
    double *part_values;
    int owner;
    int member_count; /* on an owner: the ranks that it gathers from */
    int member[8];
    int member_at[8][3]; /* where a member's part starts, in points */
};

struct mg_grid {
    const struct nas_job *job;
    int level_count;
    int ranks[3];
    int at[3];                            /* this rank's place among them */
    struct mg_level level[MG_LEVELS_MAX]; /* 0 is the coarsest: two points */
    double *out;                          /* a packed face or block */
    double *in[2];
};

/* Number of values in a box. */
static inline size_t mg_box_count(const struct mg_box *box)
{
    return (size_t)box->m[0] * (size_t)box->m[1] * (size_t)box->m[2];
}

/* Where the line of x at y, z starts. */
static inline size_t mg_box_line(const struct mg_box *box, int y, int z)
{
    return ((size_t)z * (size_t)box->m[1] + (size_t)y) * (size_t)box->m[0];
}

/* Cuts a cube of n points an axis, n a power of two, over the job's ranks. */
void mg_grid_open(struct mg_grid *grid, const struct nas_job *job, int n);

/* Fills the halo of field, which has the level's box, from the neighbours. */
void mg_grid_halo(struct mg_grid *grid, const struct mg_level *level,
                  double *field);

/* Gathers the parts of level's coarser level into coarse, on its owners. */
void mg_grid_gather(struct mg_grid *grid, const struct mg_level *level,
                    const struct mg_level *coarser, double *coarse);

/* The reverse: owners hand out the parts of coarse, with their halos. */
void mg_grid_scatter(struct mg_grid *grid, const struct mg_level *level,
                     const struct mg_level *coarser, const double *coarse);

#endif
