/*
 * ft_layout.h: how FT's box of points is divided among the ranks, and the two
 * all-to-alls that turn one division into the next.
 *
 * The ranks are a grid of n1 x n2.  An axis is transformed where its lines are
 * whole (sizes of a rank's part, the last index runs fastest):
 *
 *     x whole:  [z / n2][y / n1][x]
 *     y whole:  [z / n2][y][x / n1]    from x whole within a row of n1 ranks
 *     z whole:  [z][y / n2][x / n1]    from y whole within a column of n2
 *
 * With n1 = 1 these are slabs and one all-to-all is left; with n1 = n2 = 1
 * there is none.  Transforms write what they make in the order in which it is
 * sent, one block after the other, so that nothing is copied only to be sent:
 *
 *     between x and y:  [rank of the row][z / n2][y / n1][x / n1]
 *     between y and z:  [rank of the column][z / n2][y / n2][x / n1]
 */
#ifndef AM_BENCHMARKS_FT_LAYOUT_H
#define AM_BENCHMARKS_FT_LAYOUT_H

#include "nas_common.h"

struct ft_layout {
    int nx, ny, nz;
    int n1, n2;           /* the grid of ranks */
    int x_mine;           /* x / n1 */
    int y1_mine, y2_mine; /* y / n1, y / n2 */
    int z_mine;           /* z / n2 */
    int x_first;          /* where this rank's parts start */
    int y1_first, y2_first;
    int z_first;
    MPI_Comm row;        /* the n1 ranks that exchange x and y */
    MPI_Comm column;     /* the n2 ranks that exchange y and z */
    size_t *along_x;     /* offset of each point of a line, in points */
    size_t *along_x_row; /* in the order sent within the row */
    size_t *along_y_row; /* the same block order, by y */
    size_t *along_y_column;
    size_t *along_z;
};

/*
 * Divides a box of extent {x, y, z} as the reference version does: slabs as
 * long as there are planes of z for all, then a row of nz ranks.  job->layout
 * overrules that.  Ends the run with one sentence (status 2) where the number
 * of ranks or the layout does not fit the box.
 */
void ft_layout_open(struct ft_layout *layout, const struct nas_job *job,
                    const int extent[3]);

/* Points of this rank, the same in all three divisions. */
static inline size_t ft_layout_points(const struct ft_layout *layout)
{
    return (size_t)layout->nx * (size_t)layout->y1_mine *
           (size_t)layout->z_mine;
}

/*
 * Exchange blocks of complex numbers within the row or the column and return
 * where they are then: to, or from itself if a rank is alone.
 */
double *ft_layout_exchange_row(const struct ft_layout *layout, double *from,
                               double *to);
double *ft_layout_exchange_column(const struct ft_layout *layout, double *from,
                                  double *to);

#endif
