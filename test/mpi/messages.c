/*
 * For test/mpi/programs: point to point off the common path, 2 ranks, sizes
 * that take each protocol: a synchronous send completes only when it is
 * matched, a posted receive is cancelled, a claimed message is received, a
 * message too long or of half an element is an error of the right class, and
 * an any-source receive takes what comes.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int sizes[] = {0, 8, 1000, 20000, 300000, 5000000};

#define SIZES     ((int)(sizeof(sizes) / sizeof(sizes[0])))
#define BYTES_MAX 5000000

static int failures, rank;
static char *data;

static void check(int good, const char *what, int bytes)
{
    if (!good) {
        printf("failed: %s, %d bytes\n", what, bytes);
        failures++;
    }
}

static int class_of(int error)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(error, &class);
    return class;
}

static int length(MPI_Status *status)
{
    int count;

    MPI_Get_count(status, MPI_CHAR, &count);
    return count;
}

static void fill(int bytes)
{
    for (int i = 0; i < bytes; i++) {
        data[i] = (char)(i * 31 + bytes);
    }
}

static int holds(int bytes)
{
    for (int i = 0; i < bytes; i++) {
        if (data[i] != (char)(i * 31 + bytes)) {
            return 0;
        }
    }
    return 1;
}

/* The receive is posted only after the sender has looked many times. */
static void synchronous(int bytes)
{
    MPI_Request request;
    int done = 0;

    if (rank == 0) {
        fill(bytes);
        MPI_Issend(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 2000; i++) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            check(!done, "a synchronous send waits for its receive", bytes);
        }
        MPI_Send(NULL, 0, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        memset(data, 0, (size_t)bytes);
        MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        check(holds(bytes), "a synchronous send arrives", bytes);
    }
}

/* A cancelled receive takes nothing: the next one gets the message. */
static void cancelled(int bytes, int source)
{
    MPI_Request request;
    MPI_Status status;
    int gone = 0;

    if (rank == 1) {
        char *other = malloc((size_t)bytes + 1);

        MPI_Irecv(other, bytes, MPI_CHAR, source, 3, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &gone);
        check(gone, "a receive without a message is cancelled", bytes);
        free(other);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        fill(bytes);
        MPI_Send(data, bytes, MPI_CHAR, 1, 3, MPI_COMM_WORLD);
    } else {
        memset(data, 0, (size_t)bytes);
        MPI_Recv(data, bytes, MPI_CHAR, source, 3, MPI_COMM_WORLD, &status);
        check(holds(bytes) && length(&status) == bytes && status.MPI_SOURCE == 0,
              "the receive after a cancelled one gets the message", bytes);
    }
}

/* A cancel while the message is coming: it is cancelled and the next receive
 * gets the message, or it is not and has the message itself. */
static void cancelled_late(int bytes, int source)
{
    MPI_Request request;
    MPI_Status status;
    int gone = 0;

    if (rank == 0) {
        fill(bytes);
        MPI_Isend(data, bytes, MPI_CHAR, 1, 8, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    memset(data, 0, (size_t)bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irecv(data, bytes, MPI_CHAR, source, 8, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &gone);
    if (gone) {
        MPI_Recv(data, bytes, MPI_CHAR, source, 8, MPI_COMM_WORLD, &status);
    }
    check(holds(bytes) && length(&status) == bytes && status.MPI_SOURCE == 0,
          "a message is not lost by a late cancel", bytes);
}

static void claimed(int bytes, int source)
{
    MPI_Message message;
    MPI_Request request;
    MPI_Status status;
    int flag = 0;

    if (rank == 0) {
        fill(bytes);
        MPI_Isend(data, bytes, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    while (!flag) {
        MPI_Improbe(source, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message,
                    &status);
    }
    check(length(&status) == bytes && status.MPI_TAG == 4,
          "a probe tells the length", bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(data, 0, (size_t)bytes);
    MPI_Imrecv(data, bytes, MPI_CHAR, &message, &request);
    MPI_Wait(&request, &status);
    check(holds(bytes) && length(&status) == bytes, "a claimed message arrives",
          bytes);
}

/* Posted before and after the message comes, contiguous or not. */
static void too_long(int bytes, int posted, MPI_Datatype type)
{
    MPI_Request request;
    MPI_Status status;
    int error, half = bytes / 2, size;

    if (bytes == 0) {
        return;
    }
    MPI_Type_size(type, &size);
    if (rank == 0) {
        fill(bytes);
        if (posted) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Isend(data, bytes, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request);
        if (!posted) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        return;
    }
    if (!posted) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    error = MPI_Irecv(data, half / size, type, 0, 5, MPI_COMM_WORLD, &request);
    if (posted) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (error == MPI_SUCCESS) {
        error = MPI_Wait(&request, &status);
    }
    check(class_of(error) == MPI_ERR_TRUNCATE,
          "a message too long is a truncation", bytes);
}

static void any_source(int bytes)
{
    MPI_Request request;
    MPI_Status status;

    if (rank == 1) {
        memset(data, 0, (size_t)bytes);
        MPI_Irecv(data, bytes, MPI_CHAR, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD,
                  &request);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        check(holds(bytes) && status.MPI_SOURCE == 0 && status.MPI_TAG == 6,
              "a receive from any source", bytes);
    } else {
        fill(bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(data, bytes, MPI_CHAR, 1, 6, MPI_COMM_WORLD);
    }
}

/* 6 bytes are one int and a half. */
static void half_element(int posted)
{
    MPI_Datatype spaced;
    MPI_Request request;
    MPI_Status status;
    int error, cells[8] = {0};

    MPI_Type_vector(2, 1, 2, MPI_INT, &spaced);
    MPI_Type_commit(&spaced);
    if (rank == 0) {
        if (posted) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Isend(data, 6, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request);
        if (!posted) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        if (!posted) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        error = MPI_Irecv(cells, 1, spaced, 0, 7, MPI_COMM_WORLD, &request);
        if (posted) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        if (error == MPI_SUCCESS) {
            error = MPI_Wait(&request, &status);
        }
        check(class_of(error) == MPI_ERR_TYPE,
              "half an element is an error of type", 6);
    }
    MPI_Type_free(&spaced);
}

int main(int argc, char **argv)
{
    MPI_Datatype spaced;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Type_vector(2, 1, 2, MPI_CHAR, &spaced);
    MPI_Type_commit(&spaced);
    data = malloc(BYTES_MAX);
    for (int i = 0; i < SIZES; i++) {
        int bytes = sizes[i];

        synchronous(bytes);
        cancelled(bytes, 0);
        cancelled(bytes, MPI_ANY_SOURCE);
        cancelled_late(bytes, 0);
        cancelled_late(bytes, MPI_ANY_SOURCE);
        claimed(bytes, 0);
        claimed(bytes, MPI_ANY_SOURCE);
        any_source(bytes);
        too_long(bytes, 0, MPI_CHAR);
        too_long(bytes, 1, MPI_CHAR);
        too_long(bytes, 0, spaced);
        too_long(bytes, 1, spaced);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    half_element(0);
    half_element(1);
    MPI_Type_free(&spaced);
    free(data);
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}
