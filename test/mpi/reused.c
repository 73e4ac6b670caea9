/*
 * For test/mpi/programs: communicators that are freed while others have not got all of
 * their last collective, and new ones that get their numbers.  Ranks come late in turn.
 *
 * usage: reused COUNT
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BEFORE 12 /* collectives: groups are made after a few */

static int rank, size, failures;

static void check(int good, const char *what, int round, int step)
{
    if (!good && failures++ < 20) {
        printf("failed: rank %d: %s, round %d step %d\n", rank, what, round,
               step);
    }
}

static void late(int round, int step)
{
    if ((rank + round + step) % 3 == 0) {
        usleep(200);
    }
}

int main(int argc, char **argv)
{
    int count = argc == 2 ? atoi(argv[1]) : 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < count; round++) {
        MPI_Comm comm;
        int word, sum;

        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int step = 0; step < BEFORE; step++) {
            late(round, step);
            word = rank == 0 ? round * BEFORE + step : -1;
            sum = 0;
            if (step % 2 == 0) {
                MPI_Bcast(&word, 1, MPI_INT, 0, comm);
                check(word == round * BEFORE + step, "bcast", round, step);
            } else {
                word = rank + step;
                MPI_Reduce(&word, &sum, 1, MPI_INT, MPI_SUM, 0, comm);
                check(rank != 0 || sum == size * (size - 1) / 2 + size * step,
                      "reduce", round, step);
            }
        }
        late(round, BEFORE);
        word = rank == 0 ? round : -1;
        MPI_Bcast(&word, 1, MPI_INT, 0, comm);
        check(word == round, "last bcast", round, BEFORE);
        MPI_Comm_free(&comm);
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures != 0;
}
