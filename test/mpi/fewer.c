/*
 * For test/mpi/faults: rank 0 aborts the odd ranks, and the even ones end by
 * MPI_Finalize, in which they may wait for each other or for the launcher when
 * the others end.  It returns all the same, and each of them says so.  An even
 * number of ranks, 4 or more.
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Comm half, odd = MPI_COMM_NULL;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Barrier(half);
    if (rank == 0) {
        MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1, 0, &odd);
        MPI_Abort(odd, 8); /* the odd ranks; this one may go on */
    } else if (rank % 2 == 1) {
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 0, 0, &odd);
    }
    MPI_Comm_free(&half);
    MPI_Finalize();
    if (rank % 2 == 0) {
        puts("left");
    }
    return 0;
}
