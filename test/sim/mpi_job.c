/*
 * A program of MPI for simulated machines.  Without an argument every rank runs
 * through all kinds of communication, and rank 0 prints how long each took, to
 * the last digit; with one, the job ends badly, in that way.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_BYTES (64 * 1024)
#define ROUNDS     10

static int rank, size;
static char out[LONG_BYTES], in[LONG_BYTES];

static void told(const char *what, double start)
{
    if (rank == 0) {
        printf("%s %.12f s\n", what, MPI_Wtime() - start);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void ping_pong(int bytes)
{
    double start = 0;
    char what[32];

    for (int i = -1; i < ROUNDS && rank < 2; i++) { /* the first is not told */
        start = i == 0 ? MPI_Wtime() : start;
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
        }
        MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 5, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (rank == 1) {
            MPI_Send(out, bytes, MPI_CHAR, 0, 5, MPI_COMM_WORLD);
        }
    }
    snprintf(what, sizeof(what), "ping-pong %d", bytes);
    told(what, start);
}

static void collectives(void)
{
    int *all = calloc((size_t)size, sizeof(int));
    double start = MPI_Wtime();
    int mine = rank, sum = 0;

    MPI_Bcast(out, 20000, MPI_CHAR, size - 1, MPI_COMM_WORLD);
    told("broadcast", start);
    start = MPI_Wtime();
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    told(sum == size * (size - 1) / 2 ? "sum" : "wrong sum", start);
    start = MPI_Wtime();
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    told(all[size - 1] == size - 1 ? "gather" : "wrong gather", start);
    free(all);
}

static void one_sided(void)
{
    double start = MPI_Wtime(), value = rank + 1, *base, got = 0;
    MPI_Win win;

    MPI_Win_allocate(2 * sizeof(double), sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &win);
    base[0] = base[1] = 0;
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_DOUBLE, (rank + 1) % size, 0, 1, MPI_DOUBLE, win);
    MPI_Accumulate(&value, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(&got, 1, MPI_DOUBLE, 0, 1, 1, MPI_DOUBLE, win);
    MPI_Win_fence(0, win);
    told(got == size * (size + 1) / 2.0 && base[0] == (rank + size - 1) % size + 1
                 ? "one-sided"
                 : "wrong one-sided",
         start);
    MPI_Win_free(&win);
}

/* Somebody waits for a time, and calls nothing else meanwhile. */
static void wait_a_while(void)
{
    double start = MPI_Wtime();

    while (rank == 0 && MPI_Wtime() - start < 50e-6) {
    }
    told("a while", start);
}

/* Each rank to the next, none of which receives before it has sent. */
static void head_to_head(void)
{
    MPI_Send(out, LONG_BYTES, MPI_CHAR, (rank + 1) % size, 7, MPI_COMM_WORLD);
    MPI_Recv(in, LONG_BYTES, MPI_CHAR, (rank + size - 1) % size, 7,
             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void end_badly(const char *how)
{
    if (strcmp(how, "deadlock") == 0) {
        head_to_head();
    } else if (rank == 1 && strcmp(how, "kill") == 0) {
        raise(SIGKILL);
    } else if (rank == 1 && strcmp(how, "exit") == 0) {
        exit(0);
    } else if (rank == 1 && strcmp(how, "loop") == 0) {
        for (volatile int i = 0; i >= 0; i = 0) {
        }
    } else if (strcmp(how, "forever") == 0) {
        for (;;) {
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2) { /* where its process can be found */
        char path[256];
        FILE *file;

        snprintf(path, sizeof(path), "%s/pid.%d", argv[2], rank);
        file = fopen(path, "w");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
    }
    if (argc > 1) {
        end_badly(argv[1]);
    }
    for (int bytes = 8; bytes <= LONG_BYTES; bytes *= 16) {
        ping_pong(bytes);
    }
    collectives();
    one_sided();
    wait_a_while();
    MPI_Finalize();
    return 0;
}
