/*
 * For test/mpi/faults: a collective has failed as a rank died, and its buffer is the
 * caller's again; a rank that has not noticed yet calls it later.
 *
 * usage: returned written   nobody writes to the buffer of an all-to-all any more
 *        returned read      nor takes a broadcast from what is in it now
 *        returned named     a communicator that gets the context of one of which a
 *                           rank died while it was half in use is as good as new
 *
 * Each rank that lives prints "RANK well", or what was wrong.
 */
#include "counter.h"
#include "well.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEAD  2
#define BYTES (1 << 20) /* of a block: it goes by single copies */
#define USES  10        /* libam has the communicator then */

static int rank, size;
static char *mine, *others;

/* For so many seconds, without a call of MPI. */
static void nap(double seconds)
{
    double end = MPI_Wtime() + seconds;

    while (MPI_Wtime() < end) {
        usleep(10000);
    }
}

static int class_of(int rc)
{
    int class;

    MPI_Error_class(rc, &class);
    return class;
}

static int all_are(const char *bytes, size_t count, char value)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != value) {
            return 0;
        }
    }
    return 1;
}

/* Rank 0 notices, and has its buffer back; the others call it later.  Both collectives go by
 * what this is about: the one counter has counted. */
static void use(const char *counter)
{
    for (int i = 0; i < USES; i++) {
        MPI_Bcast(mine, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
        MPI_Alltoall(mine, BYTES, MPI_CHAR, others, BYTES, MPI_CHAR,
                     MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 0 || counter_read(counter) > 0);
    if (rank == DEAD) {
        usleep(300000);
        raise(SIGKILL);
    }
    if (rank != 0) {
        nap(2);
    }
}

static void written(void)
{
    int rc;

    use("coll_tx_put");
    rc = MPI_Alltoall(mine, BYTES, MPI_CHAR, others, BYTES, MPI_CHAR,
                      MPI_COMM_WORLD);
    CHECK(class_of(rc) == MPIX_ERR_PROC_FAILED);
    memset(others, 'Z', (size_t)size * BYTES);
    if (rank == 0) {
        nap(3);
        CHECK(all_are(others, (size_t)size * BYTES, 'Z'));
    }
}

/* What has been taken is what was given. */
static void was_read(void)
{
    int rc;

    use("coll_reads");
    memset(mine, rank == 0 ? 'A' : '-', BYTES);
    rc = class_of(MPI_Bcast(mine, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (rank == 0) {
        CHECK(rc == MPIX_ERR_PROC_FAILED);
        memset(mine, 'Z', BYTES);
        nap(3);
    } else {
        CHECK(rc == MPIX_ERR_PROC_FAILED ||
              (rc == MPI_SUCCESS && all_are(mine, BYTES, 'A')));
    }
}

/* libam has a communicator from the eighth call on: ranks 0 and 1 have not made that when
 * rank 3 dies. */
static void named(void)
{
    MPI_Comm half, living, next;
    int rc = MPI_SUCCESS, flag;
    double end;

    MPI_Comm_dup(MPI_COMM_WORLD, &half);
    for (int i = 0; i < 7; i++) {
        CHECK(MPI_Barrier(half) == MPI_SUCCESS);
    }
    if (rank == 3) {
        alarm(1); /* its default action ends the process */
    }
    if (rank >= 2) {
        rc = MPI_Barrier(half);
    }
    for (end = MPI_Wtime() + 2; MPI_Wtime() < end; usleep(1000)) {
        MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank < 2) {
        rc = MPI_Barrier(half);
    }
    CHECK(class_of(rc) == MPIX_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &living) == MPI_SUCCESS);
    MPI_Comm_free(&half);
    for (int k = 0; k < 4; k++) {
        CHECK(MPI_Comm_dup(living, &next) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
        for (int i = 0; i < 2 * USES; i++) {
            CHECK(MPI_Barrier(next) == MPI_SUCCESS);
        }
    }
}

static const struct part {
    const char *name;
    void (*run)(void);
} parts[] = {{"written", written}, {"read", was_read}, {"named", named}};

int main(int argc, char **argv)
{
    int flag = 1, provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mine = calloc((size_t)size, BYTES);
    others = calloc((size_t)size, BYTES);
    for (size_t i = 0; argc == 2 && i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(argv[1], parts[i].name) == 0) {
            parts[i].run();
        }
    }
    (void)MPIX_Comm_agree(MPI_COMM_WORLD, &flag); /* nobody leaves before */
    printf("%d well\n", rank);
    fflush(stdout);
    _exit(0); /* half is broken, and MPI_Finalize has nothing to show here */
}
