/*
 * What the first message to each peer costs: the last rank sends 8 bytes to every
 * other, three laps; the first lap is the first use of nearly every way.  (Rank 0's
 * ways may have been used by MPI_Init.)  A line for each
 * lap: microseconds and page faults of the sender for a message, and page faults of
 * a receiver.  Plain MPI, so that the same program measures every MPI.
 *
 *   mpicc -O2 -o mpi_first mpi_first.c;  mpiexec -n 64 ./mpi_first
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

#define LAPS 3

static long faults(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* One message to each; the seconds it took here. */
static double lap(int rank, int size)
{
    char bytes[8] = {0};
    double begin = MPI_Wtime();

    for (int to = 0; rank == size - 1 && to < rank; to++) {
        MPI_Send(bytes, sizeof(bytes), MPI_CHAR, to, 0, MPI_COMM_WORLD);
    }
    if (rank != size - 1) {
        MPI_Recv(bytes, sizeof(bytes), MPI_CHAR, size - 1, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
}

int main(int argc, char **argv)
{
    int rank, size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2) {
        fprintf(stderr, "mpi_first: it needs at least 2 ranks.\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int i = 0; i < LAPS; i++) {
        long before, mine, all;
        double seconds;

        MPI_Barrier(MPI_COMM_WORLD);
        before = faults();
        seconds = lap(rank, size);
        mine = faults() - before;
        MPI_Reduce(&mine, &all, 1, MPI_LONG, MPI_SUM, size - 1, MPI_COMM_WORLD);
        if (rank == size - 1) {
            printf("lap %d of %d: %.2f us a message, page faults: %.2f of the "
                   "sender for a message, %.2f of a receiver\n",
                   i + 1, LAPS, seconds * 1e6 / (size - 1),
                   (double)mine / (size - 1), (double)(all - mine) / (size - 1));
        }
    }
    MPI_Finalize();
    return 0;
}
