/*
 * For test/mpi/rests: a wait that may not sleep until a message comes, since
 * other threads need polls, must still give up the core, and so must one beside
 * a collective in flight, which may sleep.  Rank 0 is late on purpose, until rank 1
 * has given up its core often enough while it waited, or for so long that it never
 * will.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS   20000000
#define LOOKS_MAX 3000 /* a minute */
#define RESTS_MIN 10

static int rank;
static int waiter; /* the process of rank 1 */

/* How often rank 1's main thread has left its core by itself; -1: it is gone. */
static long rests(void)
{
    char path[64], line[256];
    long count = -1;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", waiter);
    file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static void be_late(long before)
{
    struct timespec time = {.tv_nsec = LOOK_NS};

    for (int i = 0; i < LOOKS_MAX && rests() < before + 2 * RESTS_MIN; i++) {
        nanosleep(&time, NULL);
    }
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
        be_late(before);
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
        be_late(before);
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
    waiter = (int)getpid();
    MPI_Bcast(&waiter, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    good = threads ? receive() : barrier();
    MPI_Finalize();
    return good ? 0 : 1;
}
