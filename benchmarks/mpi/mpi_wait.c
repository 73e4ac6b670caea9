/*
 * A non-blocking collective that is waited for at once, beside the blocking one: nine
 * kinds, in batches that take turns, medians over the batches of the slowest rank's
 * time for a call.  Plain MPI, so that the same program measures every MPI.
 *
 *   mpicc -O2 -o mpi_wait mpi_wait.c
 *   mpiexec -n 4 ./mpi_wait 8 16384      (bytes; of a rank's block, where there are)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    BATCHES = 41,    /* of each, taking turns */
    WARM = 5,        /* of them, that do not count */
    BATCH_US = 2000, /* a batch takes about so long, ... */
    CALLS_LEAST = 3,
    CALLS_MOST = 500, /* ... but has so many calls */
    PLACES = 2        /* buffers that calls take in turn */
};

struct job {
    int rank, size;
    int bytes; /* of a block */
    char *from[PLACES], *to[PLACES];
};

typedef void call_fn(const struct job *job, int place, MPI_Request *request);

/* One function for both: `request` is NULL for the blocking one. */
#define CALL(name_, blocking_, other_)                                        \
    static void name_(const struct job *job, int place, MPI_Request *request) \
    {                                                                         \
        const char *from = job->from[place];                                  \
        char *to = job->to[place];                                            \
        int bytes = job->bytes, words = bytes / (int)sizeof(double);          \
                                                                              \
        (void)from, (void)to, (void)bytes, (void)words;                       \
        if (request == NULL) {                                                \
            blocking_;                                                        \
        } else {                                                              \
            other_;                                                           \
        }                                                                     \
    }

#define ALL MPI_COMM_WORLD
CALL(barrier, MPI_Barrier(ALL), MPI_Ibarrier(ALL, request))
CALL(bcast, MPI_Bcast(to, bytes, MPI_CHAR, 0, ALL),
     MPI_Ibcast(to, bytes, MPI_CHAR, 0, ALL, request))
CALL(reduce, MPI_Reduce(from, to, words, MPI_DOUBLE, MPI_SUM, 0, ALL),
     MPI_Ireduce(from, to, words, MPI_DOUBLE, MPI_SUM, 0, ALL, request))
CALL(allreduce, MPI_Allreduce(from, to, words, MPI_DOUBLE, MPI_SUM, ALL),
     MPI_Iallreduce(from, to, words, MPI_DOUBLE, MPI_SUM, ALL, request))
CALL(allgather, MPI_Allgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, ALL),
     MPI_Iallgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, ALL, request))
CALL(gather, MPI_Gather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, 0, ALL),
     MPI_Igather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, 0, ALL, request))
CALL(scatter, MPI_Scatter(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, 0, ALL),
     MPI_Iscatter(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, 0, ALL, request))
CALL(alltoall, MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, ALL),
     MPI_Ialltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, ALL, request))
CALL(reduce_scatter,
     MPI_Reduce_scatter_block(from, to, words, MPI_DOUBLE, MPI_SUM, ALL),
     MPI_Ireduce_scatter_block(from, to, words, MPI_DOUBLE, MPI_SUM, ALL,
                               request))

static const struct {
    const char *name;
    call_fn *call;
} kinds[] = {
        {"barrier", barrier},
        {"bcast", bcast},
        {"reduce", reduce},
        {"allreduce", allreduce},
        {"allgather", allgather},
        {"gather", gather},
        {"scatter", scatter},
        {"alltoall", alltoall},
        {"reduce_scatter", reduce_scatter},
};

/* The slowest rank's us for a call, at all ranks. */
static double batch(const struct job *job, call_fn *call, int calls, int waits)
{
    double us, slowest;

    MPI_Barrier(ALL);
    us = MPI_Wtime();
    for (int i = 0; i < calls; i++) {
        MPI_Request request = MPI_REQUEST_NULL;

        call(job, i % PLACES, waits ? &request : NULL);
        if (waits) {
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    us = (MPI_Wtime() - us) * 1e6 / calls;
    MPI_Allreduce(&us, &slowest, 1, MPI_DOUBLE, MPI_MAX, ALL);
    return slowest;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof(*values), compare);
    return values[count / 2];
}

static void kind_measure(const struct job *job, int kind)
{
    double us[2][BATCHES - WARM];
    double one = batch(job, kinds[kind].call, CALLS_LEAST, 0);
    double fit = BATCH_US / (one > 0 ? one : 1);
    int calls = fit < CALLS_LEAST  ? CALLS_LEAST
                : fit > CALLS_MOST ? CALLS_MOST
                                   : (int)fit;

    for (int i = 0; i < BATCHES; i++) {
        for (int j = 0; j < 2; j++) {
            int waits =
                    (i + j) % 2; /* each is the first in every second turn */
            double slowest = batch(job, kinds[kind].call, calls, waits);

            if (i >= WARM) {
                us[waits][i - WARM] = slowest;
            }
        }
    }
    if (job->rank == 0) {
        double blocking = median(us[0], BATCHES - WARM);
        double waited = median(us[1], BATCHES - WARM);

        printf("%-15s %9d %10.2f %10.2f %8.2f\n", kinds[kind].name,
               kind == 0 ? 0 : job->bytes, blocking, waited, waited / blocking);
        fflush(stdout);
    }
}

static void size_measure(struct job *job)
{
    size_t all = (size_t)job->bytes * (size_t)job->size;

    for (int i = 0; i < PLACES; i++) {
        job->from[i] = calloc(1, all);
        job->to[i] = calloc(1, all);
        if (job->from[i] == NULL || job->to[i] == NULL) {
            fprintf(stderr,
                    "mpi_wait: there is no memory for blocks of %d bytes.\n",
                    job->bytes);
            MPI_Abort(ALL, 1);
        }
    }
    for (int k = 0; k < (int)(sizeof(kinds) / sizeof(kinds[0])); k++) {
        kind_measure(job, k);
    }
    for (int i = 0; i < PLACES; i++) {
        free(job->from[i]);
        free(job->to[i]);
    }
}

int main(int argc, char **argv)
{
    struct job job;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(ALL, &job.rank);
    MPI_Comm_size(ALL, &job.size);
    for (int i = 1; i < argc; i++) {
        char *end;
        long bytes = strtol(argv[i], &end, 10);

        if (*end != '\0' || bytes < 8 || bytes > 1 << 26 || bytes % 8 != 0) {
            if (job.rank == 0) {
                fprintf(stderr,
                        "mpi_wait: %s is no length: a multiple of 8 from 8 "
                        "to 67108864.\n",
                        argv[i]);
            }
            MPI_Finalize();
            return 2;
        }
    }
    if (job.rank == 0) {
        printf("# %d ranks, us a call\n# kind                bytes   blocking  "
               "and wait    ratio\n",
               job.size);
    }
    for (int i = 1; i < (argc > 1 ? argc : 2); i++) {
        job.bytes = argc > 1 ? (int)strtol(argv[i], NULL, 10) : 8;
        size_measure(&job);
    }
    MPI_Finalize();
    return 0;
}
