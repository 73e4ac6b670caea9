/*
 * For test/mpi/programs: all ranks send 1 MB in messages of 64 bytes to rank 0
 * before it receives any, and it receives them in another order than they come.
 * Memory must stay bounded: what rank 0 holds is capped by AM_UNEXP_MAX, and a
 * sender waits (in MPI_Send) or keeps what it has not sent (in MPI_Isend).
 * Usage: flood wait|keep SENDER_MB RECEIVER_MB
 */
#include "peak.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MESSAGE_BYTES 64
#define MESSAGES      (1000000 / MESSAGE_BYTES)

static void fill(unsigned char *data, int rank, int number)
{
    for (int i = 0; i < MESSAGE_BYTES; i++) {
        data[i] = (unsigned char)(rank * 7 + number * 3 + i);
    }
}

static void send_waiting(int rank)
{
    unsigned char data[MESSAGE_BYTES];

    for (int i = 0; i < MESSAGES; i++) {
        fill(data, rank, i);
        MPI_Send(data, MESSAGE_BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD);
    }
}

static void send_keeping(int rank)
{
    unsigned char(*data)[MESSAGE_BYTES] = malloc(MESSAGES * sizeof(*data));
    MPI_Request *requests = malloc(MESSAGES * sizeof(*requests));

    for (int i = 0; i < MESSAGES; i++) {
        fill(data[i], rank, i);
        MPI_Isend(data[i], MESSAGE_BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD,
                  &requests[i]);
    }
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(data);
}

static int receive_all(int size)
{
    unsigned char data[MESSAGE_BYTES], want[MESSAGE_BYTES];
    int wrong = 0;

    for (int rank = size - 1; rank > 0; rank--) {
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Recv(data, MESSAGE_BYTES, MPI_BYTE, rank, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            fill(want, rank, i);
            wrong += memcmp(data, want, MESSAGE_BYTES) != 0;
        }
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, size, failures = 0;
    long before, grown, limit_kb;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4) {
        printf("failed: usage: flood wait|keep SENDER_MB RECEIVER_MB\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    limit_kb = 1000 * atol(argv[rank == 0 ? 3 : 2]);
    MPI_Barrier(MPI_COMM_WORLD);
    before = peak_kb();
    if (rank == 0) {
        sleep(1); /* the senders run into every limit there is */
        failures = receive_all(size);
    } else if (strcmp(argv[1], "wait") == 0) {
        send_waiting(rank);
    } else {
        send_keeping(rank);
    }
    grown = peak_kb() - before;
    printf("rank %d: VmHWM grew by %ld kB\n", rank, grown);
    if (before <= 0 || grown > limit_kb) {
        printf("failed: more than %ld kB\n", limit_kb);
        failures++;
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM,
                  MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}
