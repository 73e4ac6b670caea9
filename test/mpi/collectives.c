/*
 * For test/mpi/programs: small collectives of ranks that take turns on their
 * cores.  Operations that do not commute, data with gaps, values in place,
 * every root, sizes on both sides of where MPICH's own algorithms take over,
 * and communicators whose ranks are in another order.  Last, with "count" and
 * where ranks do outnumber the cores, that libam does what waits least; with
 * "messages", of two ranks with a core each, which ones it leaves to messages.
 */
#define _GNU_SOURCE
#include "counter.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PRIME     32749
#define GAP       8 /* bytes after each element */
#define GUARD     0x5a
#define COUNT_MAX 1100
#define SUM_MAX   92013

static int failures;

static void check(int good, const char *what, int rank, int size, int at)
{
    if (!good && failures++ < 10) {
        printf("failed: %s (rank %d of %d, %d)\n", what, rank, size, at);
    }
}

/* A 2 by 2 matrix modulo PRIME, and a gap. */
struct element {
    int m[4];
    char gap[GAP];
};

static void product(const int *a, const int *b, int *to)
{
    int out[4];

    for (int i = 0; i < 4; i++) {
        out[i] = (a[i & 2] * b[i & 1] % PRIME +
                  a[(i & 2) + 1] * b[(i & 1) + 2] % PRIME) %
                 PRIME;
    }
    memcpy(to, out, sizeof(out));
}

/* What MPI asks of an operation: inout = in op inout. */
static void multiply(void *in, void *inout, int *count, MPI_Datatype *type)
{
    struct element *a = in, *b = inout;

    (void)type;
    for (int i = 0; i < *count; i++) {
        product(a[i].m, b[i].m, b[i].m);
    }
}

static void fill(struct element *to, int count, int rank)
{
    memset(to, GUARD, sizeof(*to) * COUNT_MAX);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < 4; k++) {
            to[i].m[k] = (rank * 131 + i * 17 + k * 7 + rank * k) % PRIME;
        }
    }
}

/* The product over all ranks, in their order, and nothing else was written. */
static void check_product(const struct element *got, int count,
                          const char *what, int rank, int size)
{
    static struct element one[COUNT_MAX], all[COUNT_MAX];
    int good = 1;

    fill(all, count, 0);
    for (int r = 1; r < size; r++) {
        fill(one, count, r);
        for (int i = 0; i < count; i++) {
            product(all[i].m, one[i].m, all[i].m);
        }
    }
    for (int i = 0; i < COUNT_MAX; i++) {
        good = good && memcmp(&got[i], &all[i], sizeof(got[i])) == 0;
    }
    check(good, what, rank, size, count);
}

static void reductions(MPI_Comm comm, int rank, int size, MPI_Datatype type,
                       MPI_Op op, int count)
{
    static struct element mine[COUNT_MAX], result[COUNT_MAX];

    fill(mine, count, rank);
    memset(result, GUARD, sizeof(result));
    MPI_Allreduce(mine, result, count, type, op, comm);
    check_product(result, count, "allreduce keeps the order of ranks", rank,
                  size);
    fill(result, count, rank);
    MPI_Allreduce(MPI_IN_PLACE, result, count, type, op, comm);
    check_product(result, count, "allreduce in place", rank, size);
    for (int root = 0; root < size; root++) {
        memset(result, GUARD, sizeof(result));
        MPI_Reduce(mine, result, count, type, op, root, comm);
        if (rank == root) {
            check_product(result, count, "reduce keeps the order of ranks",
                          rank, size);
        }
        fill(result, count, rank);
        MPI_Reduce(rank == root ? MPI_IN_PLACE : result, result, count, type,
                   op, root, comm);
        if (rank == root) {
            check_product(result, count, "reduce in place", rank, size);
        }
    }
}

/* Sums, short and long: to each root, in place there, and nowhere else. */
static void sums(MPI_Comm comm, int rank, int size)
{
    static const int counts[] = {1, 512, 513, SUM_MAX};
    static int mine[SUM_MAX], result[SUM_MAX];

    for (int at = 0; at < 4 * size; at++) {
        int count = counts[at / size], root = at % size, good = 1;

        for (int i = 0; i < count; i++) {
            mine[i] = i * (rank + 1);
            result[i] = rank == root ? mine[i] : -1;
        }
        MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, result, count, MPI_INT,
                   MPI_SUM, root, comm);
        for (int i = 0; i < count; i++) {
            good = good && mine[i] == i * (rank + 1) &&
                   result[i] ==
                           (rank == root ? i * (size * (size + 1) / 2) : -1);
        }
        check(good, "a sum in place, and only there", rank, size, count);
    }
}

static void broadcasts(MPI_Comm comm, int rank, int size, MPI_Datatype type,
                       int count)
{
    static struct element got[COUNT_MAX], wanted[COUNT_MAX];

    for (int root = 0; root < size; root++) {
        fill(wanted, count, root + 1000);
        memset(got, GUARD, sizeof(got));
        if (rank == root) {
            memcpy(got, wanted, sizeof(got));
        }
        MPI_Bcast(got, count, type, root, comm);
        check(memcmp(got, wanted, sizeof(got)) == 0, "bcast", rank, size,
              count);
    }
}

/* Has `in` the elements of `seed`, packed?  `space` has room for them. */
static int holds(const int *in, struct element *space, int count, int seed)
{
    int good = 1;

    fill(space, count, seed);
    for (int i = 0; i < count; i++) {
        good = good && memcmp(in + 4 * i, space[i].m, sizeof(space[i].m)) == 0;
    }
    return good;
}

/* Elements with gaps leave, whole numbers arrive. */
static void exchange(MPI_Comm comm, int rank, int size, MPI_Datatype type,
                     int count)
{
    struct element *out =
            malloc(sizeof(*out) * (size_t)(count * size + COUNT_MAX));
    int *in = calloc((size_t)(4 * count * size + 1), sizeof(*in));
    int good = 1;

    for (int to = 0; to < size; to++) {
        fill(out + to * count, count, rank * 37 + to);
    }
    MPI_Alltoall(out, count, type, in, 4 * count, MPI_INT, comm);
    for (int from = 0; from < size; from++) {
        good = good &&
               holds(in + 4 * from * count, out, count, from * 37 + rank);
    }
    check(good, "alltoall", rank, size, count);
    /* in place: what I got goes back to where it came from */
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 4 * count, MPI_INT,
                 comm);
    for (int to = 0; to < size; to++) {
        good = good && holds(in + 4 * to * count, out, count, rank * 37 + to);
    }
    check(good, "alltoall in place", rank, size, count);
    free(out);
    free(in);
}

/* Nobody leaves a barrier before all have come to it. */
static void barriers(MPI_Comm comm, int rank, int size)
{
    volatile int *mine, *theirs;
    MPI_Aint bytes;
    MPI_Comm node;
    MPI_Win win;
    int unit, near, good = 1;

    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &near);
    MPI_Comm_free(&node);
    MPI_Allreduce(MPI_IN_PLACE, &near, 1, MPI_INT, MPI_MIN, comm);
    if (near < size) {
        return; /* no memory that all see */
    }
    MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, comm,
                            (void *)&mine, &win);
    *mine = 0;
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Barrier(comm);
    for (int turn = 1; turn < 200; turn++) {
        for (volatile int late = 0; turn % size == rank && late < 20000;
             late++) {
        }
        *mine = turn;
        MPI_Win_sync(win);
        MPI_Barrier(comm);
        MPI_Win_sync(win);
        for (int r = 0; r < size; r++) {
            MPI_Win_shared_query(win, r, &bytes, &unit, (void *)&theirs);
            good = good && *theirs >= turn;
        }
    }
    check(good, "barrier", rank, size, 0);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void on(MPI_Comm comm)
{
    static const int counts[] = {0, 1, 3, 512, 513, 1025};
    MPI_Datatype tight, spaced;
    MPI_Op op;
    int rank, size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Type_contiguous(4, MPI_INT, &tight);
    MPI_Type_create_resized(tight, 0, sizeof(struct element), &spaced);
    MPI_Type_commit(&spaced);
    MPI_Op_create(multiply, 0, &op);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        reductions(comm, rank, size, spaced, op, counts[i]);
        broadcasts(comm, rank, size, spaced, counts[i]);
        exchange(comm, rank, size, spaced, counts[i]);
    }
    sums(comm, rank, size);
    barriers(comm, rank, size);
    MPI_Op_free(&op);
    MPI_Type_free(&spaced);
    MPI_Type_free(&tight);
}

/* ------------------------------------------------------ how many messages */

/* Without memory that all see, libam does these, as each wait costs a turn of the core. */
static void count_started(int rank, int size)
{
    static long out[64], in[64];
    int provided, index;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    index = counter_named("coll_started");
    check(index >= 0, "there is a counter of collectives", rank, size, 0);
    for (int i = 0; i < 4; i++) {
        unsigned long long before = counter_at(index);

        if (i == 0) {
            MPI_Allreduce(out, in, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        } else if (i == 1) {
            MPI_Alltoall(out, 1, MPI_LONG, in, 1, MPI_LONG, MPI_COMM_WORLD);
        } else if (i == 2) {
            MPI_Reduce(out, in, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
        } else {
            MPI_Barrier(MPI_COMM_WORLD);
        }
        check(counter_at(index) == before + 1,
              "libam does allreduce, alltoall, reduce, barrier", rank, size, i);
    }
    MPI_T_finalize();
}

/* Of two ranks with a core each, libam starts an all-gather and an all-to-all; each of the
 * others is a message. */
static void count_messages(int rank, int size)
{
    enum {
        BYTES = 40000,
        KINDS = 5
    };

    static char out[2 * BYTES], in[2 * BYTES];
    int provided, index;
    MPI_Request request;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    index = counter_named("coll_started");
    for (int i = -1; i < KINDS; i++) {
        unsigned long long before = counter_at(index);

        if (i < 0) {
            MPI_Iallreduce(out, in, 1, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD,
                           &request);
        } else if (i == 0) {
            MPI_Ibcast(in, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
        } else if (i == 1) {
            MPI_Igather(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR, 0,
                        MPI_COMM_WORLD, &request);
        } else if (i == 2) {
            MPI_Iscatter(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR, 0,
                         MPI_COMM_WORLD, &request);
        } else if (i == 3) {
            MPI_Iallgather(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR,
                           MPI_COMM_WORLD, &request);
        } else {
            MPI_Ialltoall(out, BYTES, MPI_CHAR, in, BYTES, MPI_CHAR,
                          MPI_COMM_WORLD, &request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(counter_at(index) == before + (i < 0 || i > 2),
              "messages do broadcast, gather and scatter, libam the others",
              rank, size, i);
    }
    MPI_T_finalize();
}

/* What one rank gives to itself lies where its displacement says. */
static void alone(int rank, int size)
{
    const int mine[3] = {7, 8, 9}, count = 3, displacement = 2;
    int got[2][5] = {{0}, {0}};
    MPI_Request request;

    MPI_Allgatherv(mine, 3, MPI_INT, got[0], &count, &displacement, MPI_INT,
                   MPI_COMM_SELF);
    MPI_Iallgatherv(mine, 3, MPI_INT, got[1], &count, &displacement, MPI_INT,
                    MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        check(got[i][0] == 0 && got[i][1] == 0 &&
                      memcmp(got[i] + 2, mine, sizeof(mine)) == 0,
              "an all-gather of one rank", rank, size, i);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    cpu_set_t cpus, after;
    int rank, size;

    MPI_Init(&argc, &argv);
    CPU_ZERO(&cpus);
    sched_getaffinity(0, sizeof(cpus), &cpus);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    alone(rank, size);
    on(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &other);
    on(other);
    MPI_Comm_free(&other);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &other);
    on(other);
    MPI_Comm_free(&other);
    CPU_ZERO(&after);
    sched_getaffinity(0, sizeof(after), &after);
    check(CPU_EQUAL(&cpus, &after), "the CPUs that I may use", rank, size, 0);
    if (CPU_COUNT(&cpus) < size && argc > 1 && strcmp(argv[1], "count") == 0) {
        count_started(rank, size);
    }
    if (CPU_COUNT(&cpus) >= size && argc > 1 &&
        strcmp(argv[1], "messages") == 0) {
        count_messages(rank, size);
    }
    MPI_Finalize();
    return failures > 0;
}
