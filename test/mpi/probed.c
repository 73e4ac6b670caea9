/*
 * For test/mpi/programs: the status of a probe, in memory that was used before: by a
 * receive that was cancelled, or by anything.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum {
    PROBE,
    IPROBE,
    MPROBE,
    IMPROBE,
    PROBES
};

static int failures;

static void check(int good, const char *what, int probe)
{
    if (!good) {
        failures++;
        printf("failed: %s (probe %d)\n", what, probe);
    }
}

/* A status that says that a receive was cancelled. */
static void cancelled(MPI_Status *status)
{
    MPI_Request request;
    int word, flag;

    MPI_Irecv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, status);
    MPI_Test_cancelled(status, &flag);
    check(flag, "a receive is cancelled", -1);
}

/* Probe for the message with this tag, and receive it. */
static void probe(int kind, int tag, MPI_Status *status)
{
    MPI_Message message = MPI_MESSAGE_NULL;
    int word = 0, flag = 0;

    switch (kind) {
    case PROBE:
        MPI_Probe(0, tag, MPI_COMM_WORLD, status);
        break;
    case MPROBE:
        MPI_Mprobe(0, tag, MPI_COMM_WORLD, &message, status);
        break;
    default:
        while (!flag) {
            if (kind == IPROBE) {
                MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, status);
            } else {
                MPI_Improbe(0, tag, MPI_COMM_WORLD, &flag, &message, status);
            }
        }
    }
    if (message != MPI_MESSAGE_NULL) {
        MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    check(word == tag, "the message", kind);
}

int main(int argc, char **argv)
{
    int rank, count, flag;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int tag = 0; tag < 2 * PROBES; tag++) {
        MPI_Status status;

        if (rank == 0) {
            MPI_Send(&tag, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
            continue;
        }
        if (tag < PROBES) {
            cancelled(&status);
        } else {
            memset(&status, 0xff, sizeof(status));
        }
        probe(tag % PROBES, tag, &status);
        MPI_Test_cancelled(&status, &flag);
        MPI_Get_count(&status, MPI_INT, &count);
        check(!flag, "it is not cancelled", tag % PROBES);
        check(count == 1 && status.MPI_SOURCE == 0 && status.MPI_TAG == tag,
              "what is known of it", tag % PROBES);
    }
    MPI_Finalize();
    return failures != 0;
}
