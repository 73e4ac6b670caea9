/*
 * What it costs to be there: MPI_Init, a barrier and MPI_Finalize, for `time`, and the
 * memory of all ranks after the barrier (what they share is counted once).  Plain
 * MPI, so that the same program measures every MPI.
 *
 *   mpicc -O2 -o mpi_start mpi_start.c;  time mpiexec -n 256 ./mpi_start
 */
#include <mpi.h>
#include <stdio.h>

/* KiB of this process, each shared page divided by those that share it; -1 where
 * the kernel does not tell. */
static long memory(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;

    while (file != NULL && kib < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "Pss: %ld", &kib) != 1) {
            kib = -1;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kib;
}

int main(int argc, char **argv)
{
    int rank, size;
    long mine, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    mine = memory();
    MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks: %ld MiB\n", size, all / 1024);
    }
    MPI_Finalize();
    return 0;
}
