/*
 * For test/mpi/programs: threads that run collectives at the same time, each on
 * communicators of its own, which it makes and frees meanwhile.  Blocking and not,
 * with operators of MPI's and of the user.
 *
 * usage: beside THREADS ROUNDS
 */
#include "counter.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 8
#define LONGS_MAX   3000
#define USES        25 /* of a communicator; the eighth gives it a group */

struct worker {
    MPI_Comm comm;
    unsigned draws; /* the same on all ranks */
    int number, rounds, failures;
};

static int rank, size;

static unsigned draw(struct worker *w, unsigned below)
{
    w->draws = w->draws * 1103515245u + 12345u;
    return (w->draws >> 8) % below;
}

static void check(struct worker *w, int good, const char *what, int at)
{
    if (!good && w->failures++ < 5) {
        printf("failed: %s (rank %d of %d, thread %d, %d)\n", what, rank, size,
               w->number, at);
    }
}

/* The user's own sum. */
static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        ((long *)inout)[i] += ((long *)in)[i];
    }
}

static void sum(struct worker *w, MPI_Comm comm, int round, MPI_Op op)
{
    static const int counts[] = {1, 7, 500, LONGS_MAX};
    int count = counts[draw(w, 4)];
    long *mine = malloc(sizeof(long) * LONGS_MAX),
         *all = calloc(LONGS_MAX, sizeof(long));
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < count; i++) {
        mine[i] = round + (long)rank * i;
    }
    if (draw(w, 2)) {
        MPI_Allreduce(mine, all, count, MPI_LONG, op, comm);
    } else {
        MPI_Iallreduce(mine, all, count, MPI_LONG, op, comm, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) {
        check(w, all[i] == (long)size * round + (long)size * (size - 1) / 2 * i,
              "allreduce", count);
    }
    free(mine);
    free(all);
}

static void spread(struct worker *w, MPI_Comm comm, int round)
{
    int root = (int)draw(w, (unsigned)size), count = (int)draw(w, LONGS_MAX);
    int *data = calloc((size_t)count + 1, sizeof(int));
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; rank == root && i < count; i++) {
        data[i] = round * 31 + i;
    }
    if (draw(w, 2)) {
        MPI_Bcast(data, count, MPI_INT, root, comm);
    } else {
        MPI_Ibcast(data, count, MPI_INT, root, comm, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++) {
        check(w, data[i] == round * 31 + i, "bcast", count);
    }
    free(data);
}

static void exchange(struct worker *w, MPI_Comm comm, int round)
{
    int *out = malloc(sizeof(int) * (size_t)size),
        *in = calloc((size_t)size, sizeof(int));

    for (int r = 0; r < size; r++) {
        out[r] = round * 64 + rank * 8 + r;
    }
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++) {
        check(w, in[r] == round * 64 + r * 8 + rank, "alltoall", r);
    }
    free(out);
    free(in);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    MPI_Comm comm = w->comm;
    MPI_Op op;

    MPI_Op_create(add, 1, &op);
    for (int round = 0; round < w->rounds; round++) {
        if (round % USES ==
            0) { /* the one before is freed when it has been copied */
            MPI_Comm next;

            MPI_Comm_dup(w->comm, &next);
            if (comm != w->comm) {
                MPI_Comm_free(&comm);
            }
            comm = next;
        }
        switch (draw(w, 5)) {
        case 0:
            MPI_Barrier(comm);
            break;
        case 1:
            spread(w, comm, round);
            break;
        case 2:
            exchange(w, comm, round);
            break;
        default:
            sum(w, comm, round, draw(w, 3) == 0 ? op : MPI_SUM);
        }
    }
    MPI_Comm_free(&comm);
    MPI_Op_free(&op);
    return NULL;
}

int main(int argc, char **argv)
{
    struct worker workers[THREADS_MAX];
    pthread_t threads[THREADS_MAX];
    int provided, failures = 0;
    int count = argc > 2 ? atoi(argv[1]) : 2;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided != MPI_THREAD_MULTIPLE || count > THREADS_MAX) {
        printf("skipped: there are no such threads\n");
        MPI_Finalize();
        return 0;
    }
    for (int i = 0; i < count; i++) {
        workers[i] = (struct worker){.draws = (unsigned)i + 1,
                                     .number = i,
                                     .rounds = argc > 2 ? atoi(argv[2]) : 100};
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
    }
    for (int i = 0; i < count; i++) {
        pthread_create(&threads[i], NULL, work, &workers[i]);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
        MPI_Comm_free(&workers[i].comm);
        failures += workers[i].failures;
    }
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (counter_read("coll_started") == 0) {
        printf("failed: libam has done none of them (rank %d)\n", rank);
        failures++;
    }
    MPI_T_finalize();
    MPI_Finalize();
    return failures > 0;
}
