/*
 * For test/mpi/programs: waits that sleep in the transport, and what must not
 * keep them from it.
 *   collective  a wait for a non-blocking collective takes no naps: what the
 *               transport delivers is what moves the collective on
 *   flush       a flush sleeps for its answer, and not once more (AM_WAIT=sleep)
 *   lock        a wait of RMA moves the collectives in flight on: whoever has
 *               the lock may give it back only after one of them
 * Usage: waits collective|flush|lock
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "counter.h"

#define COUNT 500

static int rank, size;
static long naps;

/* In place of the C library's, for MPI's calls too. */
int nanosleep(const struct timespec *time, struct timespec *left)
{
    naps++;
    return (int)syscall(SYS_nanosleep, time, left);
}

static int check(const char *what, long got, long most)
{
    if (got > most) {
        printf("failed: rank %d, %s: %ld, want at most %ld\n", rank, what, got,
               most);
    }
    return got > most;
}

static int collective(void)
{
    long sum, want = (long)size * (size - 1) / 2, mine = rank, wrong = 0;
    MPI_Request request;

    for (int i = 0; i < COUNT; i++) {
        MPI_Iallreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        wrong += sum != want;
    }
    return check("wrong sums", wrong, 0) | check("naps", naps, 0);
}

/* A counter of libam's. */
static long counter(const char *name)
{
    int index;

    if (MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) !=
        MPI_SUCCESS) {
        printf("failed: no counter %s\n", name);
        exit(1);
    }
    return (long)counter_at(index);
}

/* The target polls at times only, so that each answer is slept for. */
static int flush(void)
{
    long *memory, one = 1, before, slept = 0;
    MPI_Win window;

    MPI_Win_allocate(sizeof(*memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                     &window);
    *memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        before = counter("sleep");
        for (int i = 0; i < COUNT; i++) {
            MPI_Accumulate(&one, 1, MPI_LONG, 1, 0, 1, MPI_LONG, MPI_SUM,
                           window);
            MPI_Win_flush(1, window);
        }
        slept = counter("sleep") - before;
        MPI_Win_unlock(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    one = rank == 1 ? COUNT - *memory : 0;
    MPI_Win_free(&window);
    return check("not added", one, 0) |
           check("sleeps", slept, COUNT + COUNT / 2);
}

/* A broadcast from rank 2 goes by way of rank 0 to rank 1, which has the lock
 * that rank 0 waits for; rank 2 begins when rank 0 is about to wait. */
static int lock(void)
{
    static const int places[4] = {2, 3, 0, 1};
    int word = rank == 2 ? 7 : 0, go = 0;
    MPI_Request request;
    MPI_Win window;
    MPI_Comm comm;
    long memory = 0;

    MPI_Comm_split(MPI_COMM_WORLD, rank < 4 ? 0 : MPI_UNDEFINED,
                   rank < 4 ? places[rank] : 0, &comm);
    MPI_Win_create(&memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &window);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Recv(&go, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Ibcast(&word, 1, MPI_INT, 0, comm, &request);
    if (rank == 0) {
        MPI_Send(&go, 1, MPI_INT, 2, 0, MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
        MPI_Win_unlock(1, window);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1) {
        MPI_Win_unlock(1, window);
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&comm);
    return check("wrong words", word != 7, 0);
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";
    int failed = 1, given;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &given);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "collective") == 0) {
        failed = collective();
    } else if (strcmp(what, "flush") == 0) {
        failed = flush();
    } else if (strcmp(what, "lock") == 0 && size == 4) {
        failed = lock();
    } else {
        printf("failed: usage: waits collective|flush|lock (4 ranks)\n");
    }
    MPI_T_finalize();
    MPI_Finalize();
    return failed;
}
