/*
 * ft_layout.c: the grid of ranks, offsets and exchanges; see ft_layout.h.
 */
#include "ft_layout.h"

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

static void choose_grid(struct ft_layout *l, const struct nas_job *job)
{
    int slabs_max = smaller(l->ny, l->nz);
    int row_max = smaller(l->nx, l->ny);

    if (job->layout[0] != 0) {
        l->n1 = job->layout[0];
        l->n2 = job->layout[1];
        if (l->n1 * l->n2 != job->ranks || l->n1 > row_max ||
            l->n2 > slabs_max) {
            nas_refuse(job,
                       "FT class %c has layouts up to %dx%d, and %dx%d is "
                       "none of %d ranks.",
                       job->klass, row_max, slabs_max, l->n1, l->n2,
                       job->ranks);
        }
    } else {
        l->n1 = job->ranks <= slabs_max ? 1 : smaller(row_max, l->nz);
        l->n2 = job->ranks / l->n1;
    }
}

static void open_offsets(struct ft_layout *l)
{
    size_t nx = (size_t)l->nx, ny = (size_t)l->ny, nz = (size_t)l->nz;
    size_t x_mine = (size_t)l->x_mine;
    size_t y1 = (size_t)l->y1_mine, y2 = (size_t)l->y2_mine;
    size_t block_row = (size_t)l->z_mine * y1 * x_mine;
    size_t block_column = (size_t)l->z_mine * y2 * x_mine;

    l->along_x = nas_alloc(nx, sizeof(size_t));
    l->along_x_row = nas_alloc(nx, sizeof(size_t));
    l->along_y_row = nas_alloc(ny, sizeof(size_t));
    l->along_y_column = nas_alloc(ny, sizeof(size_t));
    l->along_z = nas_alloc(nz, sizeof(size_t));
    for (size_t i = 0; i < nx; i++) {
        l->along_x[i] = i;
        l->along_x_row[i] = i / x_mine * block_row + i % x_mine;
    }
    for (size_t i = 0; i < ny; i++) {
        l->along_y_row[i] = i / y1 * block_row + i % y1 * x_mine;
        l->along_y_column[i] = i / y2 * block_column + i % y2 * x_mine;
    }
    for (size_t i = 0; i < nz; i++) {
        l->along_z[i] = i * y2 * x_mine;
    }
}

void ft_layout_open(struct ft_layout *l, const struct nas_job *job,
                    const int extent[3])
{
    int slabs_max = smaller(extent[1], extent[2]);
    int row_rank, column_rank;

    l->nx = extent[0];
    l->ny = extent[1];
    l->nz = extent[2];
    nas_need_power_of_two(job,
                          slabs_max * smaller(smaller(l->nx, l->ny), l->nz));
    choose_grid(l, job);
    row_rank = job->rank / l->n2;
    column_rank = job->rank % l->n2;
    MPI_Comm_split(MPI_COMM_WORLD, column_rank, row_rank, &l->row);
    MPI_Comm_split(MPI_COMM_WORLD, row_rank, column_rank, &l->column);
    l->x_mine = l->nx / l->n1;
    l->y1_mine = l->ny / l->n1;
    l->y2_mine = l->ny / l->n2;
    l->z_mine = l->nz / l->n2;
    l->x_first = l->x_mine * row_rank;
    l->y1_first = l->y1_mine * row_rank;
    l->y2_first = l->y2_mine * column_rank;
    l->z_first = l->z_mine * column_rank;
    open_offsets(l);
}

static double *exchange(const struct ft_layout *l, int ranks, MPI_Comm comm,
                        double *from, double *to)
{
    int count = (int)(2 * ft_layout_points(l) / (size_t)ranks);

    if (ranks == 1) {
        return from;
    }
    MPI_Alltoall(from, count, MPI_DOUBLE, to, count, MPI_DOUBLE, comm);
    return to;
}

double *ft_layout_exchange_row(const struct ft_layout *l, double *from,
                               double *to)
{
    return exchange(l, l->n1, l->row, from, to);
}

double *ft_layout_exchange_column(const struct ft_layout *l, double *from,
                                  double *to)
{
    return exchange(l, l->n2, l->column, from, to);
}
