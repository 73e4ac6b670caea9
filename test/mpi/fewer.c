/*
 * For test/mpi/faults: rank 0 aborts the odd ranks, and the even ones end by
 * MPI_Finalize, in which they may wait for each other or for the launcher when
 * the others end.  It returns all the same, and each of them says so by a file in
 * FOLDER: after an abort the launcher may lose what is printed last.  An even number of
 * ranks, 4 or more.
 *
 * usage: fewer FOLDER
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank;
    char path[4096];
    FILE *file;
    MPI_Comm half, odd = MPI_COMM_NULL;

    if (argc != 2) {
        return 2;
    }
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
        snprintf(path, sizeof(path), "%s/left.%d", argv[1], rank);
        file = fopen(path, "w");
        return file == NULL || fclose(file) != 0;
    }
    return 0;
}
