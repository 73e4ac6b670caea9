/*
 * For test/mpi/faults: a rank dies, and a receive from another one, which lives, goes on,
 * whatever the memory of its request was before: here a generalized request whose status
 * says MPI_ANY_SOURCE.  Receives from any source wait until deaths are acknowledged.
 *
 * Each rank that lives prints "RANK well", or what was wrong.
 */
#include "well.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int rank;

static int query(void *arg, MPI_Status *status)
{
    status->MPI_SOURCE = MPI_ANY_SOURCE;
    status->MPI_TAG = MPI_ANY_TAG;
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int nothing(void *arg)
{
    return MPI_SUCCESS;
}

static int no_cancel(void *arg, int complete)
{
    return MPI_SUCCESS;
}

/* Rank 0: the next request may have the memory of this one. */
static void any_source_leaves(void)
{
    MPI_Request request;

    MPI_Grequest_start(query, nothing, no_cancel, NULL, &request);
    MPI_Grequest_complete(request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int given = 7, got[2] = {0, 0}, flag;
    MPI_Request request;
    MPI_Message message;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank >= 2) {
        raise(SIGKILL);
    }
    if (rank == 0) {
        CHECK(MPI_Recv(got, 1, MPI_INT, 2, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) != MPI_SUCCESS);
        any_source_leaves();
        CHECK(MPI_Irecv(&got[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(!flag);
        CHECK(MPI_Send(&given, 1, MPI_INT, 1, 6, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        any_source_leaves();
        CHECK(MPI_Mprobe(1, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(MPI_Imrecv(&got[1], 1, MPI_INT, &message, &request) ==
              MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got[0] == given && got[1] == given);
    } else {
        CHECK(MPI_Recv(got, 1, MPI_INT, 0, 6, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Send(&given, 1, MPI_INT, 0, 5, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(MPI_Send(&given, 1, MPI_INT, 0, 7, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
    }
    printf("%d well\n", rank);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
