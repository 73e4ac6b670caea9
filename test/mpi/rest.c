/*
 * For test/mpi/rests: a wait that may not sleep until a message comes, since
 * other threads need polls, must still give up the core, and so must one beside
 * a collective in flight, which may sleep.  Rank 0 is late on purpose; rank 1 counts how often it gave up its
 * core while it waited.
 */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#define LATE_NS   500000000
#define RESTS_MIN 10 /* of some thousands, or of 25 sleeps */

static int rank;

static long rests(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static void be_late(void)
{
    struct timespec time = {.tv_nsec = LATE_NS};

    nanosleep(&time, NULL);
}

static int enough(const char *what, long before)
{
    long count = rests() - before;

    if (count < RESTS_MIN) {
        printf("%s: the core was given up %ld times, want %d\n", what, count,
               RESTS_MIN);
        return 0;
    }
    return 1;
}

static int receive(void)
{
    long before = rests();
    int word = 0;

    if (rank == 0) {
        be_late();
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        return 1;
    }
    MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return enough("receive with threads", before);
}

static int barrier(void)
{
    long before = rests();
    MPI_Request request;

    if (rank == 0) {
        be_late();
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return rank == 0 || enough("non-blocking barrier", before);
}

/* usage: rest threads|barrier */
int main(int argc, char **argv)
{
    int threads = argc == 2 && argv[1][0] == 't';
    int good, provided;

    MPI_Init_thread(&argc, &argv,
                    threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    good = threads ? receive() : barrier();
    MPI_Finalize();
    return good ? 0 : 1;
}
