/*
 * For test/mpi/programs: persistent collectives.  Each is made once and started many
 * times with other contents, alone and with the others under way, with lengths on
 * both sides of what libam takes, in place, and with datatypes that are freed
 * meanwhile; then beside MPI_Ibcast, which every other rank calls before the start and
 * the others after it; and two beside one that is not started, by the calls that take several
 * requests.  Then on a communicator whose program promises no order of starts,
 * where every other rank starts two of a kind the other way round.
 *
 * usage: persist yes|no    does libam start the first (its counter coll_started)?
 */
#include "counter.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS  6
#define STARTS 40 /* more than a communicator needs to get a group */

enum {
    BARRIER,
    BCAST,
    REDUCE,
    ALLREDUCE,
    ALLGATHER,
    ALLTOALL
};

/* One persistent collective. */
struct test {
    int count, root;
    int in_place;
    long *give, *get; /* a block of `count` for each rank */
    MPI_Request request;
};

static int failures, rank, size;

static void check(int good, const char *what, int kind, int start)
{
    if (!good && failures++ < 10) {
        printf("failed: %s (rank %d of %d, kind %d, start %d)\n", what, rank,
               size, kind, start);
    }
}

static long value_of(int start, int from, int to, int at)
{
    return start * 1000003L + from * 1009L + to * 31L + at;
}

static void make(struct test *t, int kind, MPI_Comm comm)
{
    const void *give = t->in_place ? MPI_IN_PLACE : (const void *)t->give;
    MPI_Datatype type;

    MPI_Type_contiguous(t->count, MPI_LONG, &type);
    MPI_Type_commit(&type);
    switch (kind) {
    case BARRIER:
        MPI_Barrier_init(comm, MPI_INFO_NULL, &t->request);
        break;
    case BCAST:
        MPI_Bcast_init(t->get, 1, type, t->root, comm, MPI_INFO_NULL,
                       &t->request);
        break;
    case REDUCE:
        MPI_Reduce_init(t->in_place && rank == t->root ? MPI_IN_PLACE : t->give,
                        t->get, t->count, MPI_LONG, MPI_SUM, t->root, comm,
                        MPI_INFO_NULL, &t->request);
        break;
    case ALLREDUCE:
        MPI_Allreduce_init(give, t->get, t->count, MPI_LONG, MPI_SUM, comm,
                           MPI_INFO_NULL, &t->request);
        break;
    case ALLGATHER:
        MPI_Allgather_init(give, t->in_place ? 0 : 1,
                           t->in_place ? MPI_DATATYPE_NULL : type, t->get, 1,
                           type, comm, MPI_INFO_NULL, &t->request);
        break;
    default:
        MPI_Alltoall_init(give, t->in_place ? 0 : 1,
                          t->in_place ? MPI_DATATYPE_NULL : type, t->get, 1,
                          type, comm, MPI_INFO_NULL, &t->request);
    }
    MPI_Type_free(&type);
}

/* Where I give block `to`, of t->count. */
static long *given(const struct test *t, int kind, int to)
{
    long *from = t->in_place ? t->get : t->give;

    return kind == BCAST                      ? t->get
           : kind == ALLTOALL                 ? from + to * t->count
           : kind == ALLGATHER && t->in_place ? t->get + rank * t->count
                                              : from;
}

static void fill(const struct test *t, int kind, int start)
{
    int blocks = kind == ALLTOALL ? size : 1;

    memset(t->get, 0xee, sizeof(long) * (size_t)(size * t->count));
    if (kind == BARRIER || (kind == BCAST && rank != t->root)) {
        return;
    }
    for (int to = 0; to < blocks; to++) {
        /* the others of REDUCE give what is not in place */
        long *block = kind == REDUCE && rank != t->root ? t->give
                                                        : given(t, kind, to);

        for (int i = 0; i < t->count; i++) {
            block[i] = value_of(start, rank, to, i);
        }
    }
}

static void look(const struct test *t, int kind, int start)
{
    for (int i = 0; i < t->count; i++) {
        long sum = 0;

        for (int r = 0; r < size; r++) {
            long block = t->get[r * t->count + i];

            sum += value_of(start, r, 0, i);
            if (kind == ALLGATHER || kind == ALLTOALL) {
                check(block == value_of(start, r, kind == ALLTOALL ? rank : 0,
                                        i),
                      "blocks", kind, start);
            }
        }
        if (kind == BCAST) {
            check(t->get[i] == value_of(start, t->root, 0, i), "bcast", kind,
                  start);
        }
        if (kind == ALLREDUCE || (kind == REDUCE && rank == t->root)) {
            check(t->get[i] == sum, "sum", kind, start);
        }
    }
}

/* All kinds, `count` longs each; even starts one by one, odd ones together. */
static void all_of(MPI_Comm comm, int count, int in_place)
{
    struct test tests[KINDS];

    for (int k = 0; k < KINDS; k++) {
        tests[k] = (struct test){count, (k + count) % size, in_place, NULL,
                                 NULL,  MPI_REQUEST_NULL};
        tests[k].give = malloc(sizeof(long) * (size_t)(size * count));
        tests[k].get = malloc(sizeof(long) * (size_t)(size * count));
        make(&tests[k], k, comm);
    }
    for (int start = 0; start < STARTS; start++) {
        for (int k = 0; k < KINDS; k++) {
            fill(&tests[k], k, start);
            MPI_Start(&tests[k].request);
            if (start % 2 == 0) {
                MPI_Wait(&tests[k].request, MPI_STATUS_IGNORE);
            }
        }
        for (int k = KINDS - 1; k >= 0; k--) {
            MPI_Wait(&tests[k].request, MPI_STATUS_IGNORE);
            look(&tests[k], k, start);
        }
    }
    for (int k = 0; k < KINDS; k++) {
        MPI_Request_free(&tests[k].request);
        free(tests[k].give);
        free(tests[k].get);
    }
}

/* Two of each kind, which every other rank starts in the other order. */
static void any_order(MPI_Comm comm, int count)
{
    struct test tests[2];

    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < 2; i++) {
            tests[i] = (struct test){count, 0, 0, NULL, NULL, MPI_REQUEST_NULL};
            tests[i].give = malloc(sizeof(long) * (size_t)(size * count));
            tests[i].get = malloc(sizeof(long) * (size_t)(size * count));
            make(&tests[i], k, comm);
        }
        for (int start = 0; start < STARTS; start += 2) {
            for (int i = 0; i < 2; i++) {
                int which = rank % 2 == 0 ? i : 1 - i;

                fill(&tests[which], k, start + which);
                MPI_Start(&tests[which].request);
            }
            for (int i = 0; i < 2; i++) {
                MPI_Wait(&tests[i].request, MPI_STATUS_IGNORE);
                look(&tests[i], k, start + i);
            }
        }
        for (int i = 0; i < 2; i++) {
            MPI_Request_free(&tests[i].request);
            free(tests[i].give);
            free(tests[i].get);
        }
    }
}

/* One of each kind and a broadcast, which every other rank calls before it starts the
 * other: what is promised of starts says nothing about calls. */
static void beside_calls(MPI_Comm comm, int count)
{
    struct test t = {count, 0, 0, NULL, NULL, MPI_REQUEST_NULL}, called = t;
    size_t bytes = sizeof(long) * (size_t)(size * count);

    t.give = malloc(bytes);
    t.get = malloc(bytes);
    called.get = malloc(bytes);
    for (int k = 0; k < KINDS; k++) {
        make(&t, k, comm);
        for (int start = 0; start < STARTS; start++) {
            fill(&t, k, start);
            fill(&called, BCAST, STARTS + start);
            if (rank % 2 == 0) {
                MPI_Start(&t.request);
            }
            MPI_Ibcast(called.get, count, MPI_LONG, 0, comm, &called.request);
            if (rank % 2 != 0) {
                MPI_Start(&t.request);
            }
            MPI_Wait(&t.request, MPI_STATUS_IGNORE);
            MPI_Wait(&called.request, MPI_STATUS_IGNORE);
            look(&t, k, start);
            look(&called, BCAST, STARTS + start);
        }
        MPI_Request_free(&t.request);
    }
    free(t.give);
    free(t.get);
    free(called.get);
}

/* All members start in one order there. */
/* Waited for and tested beside others: one that is not started is passed over, and each
 * that is started ends once. */
static void among_others(MPI_Comm comm)
{
    int words[2] = {0, 0}, sums[2], flag, index, count, which[3];
    MPI_Request requests[3];
    MPI_Status status, statuses[3];

    MPI_Bcast_init(&words[0], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(&words[1], &sums[1], 1, MPI_INT, MPI_SUM, comm,
                       MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]); /* not started */
    for (int start = 0; start < STARTS; start++) {
        int ended[3] = {0, 0, 0};

        words[0] = rank == 0 ? start : -1;
        words[1] = start + rank;
        MPI_Startall(2, requests);
        if (start % 3 == 0) {
            do {
                flag = 0;
                check(MPI_Testall(3, requests, &flag, statuses) == MPI_SUCCESS,
                      "MPI_Testall", -1, start);
            } while (!flag && failures == 0);
        } else {
            for (int left = 2; left > 0 && failures == 0; left -= count) {
                if (start % 3 == 1) {
                    count = 1;
                    MPI_Waitany(3, requests, &which[0], &status);
                } else {
                    MPI_Waitsome(3, requests, &count, which, statuses);
                }
                for (int i = 0; i < count; i++) {
                    check(which[i] >= 0 && which[i] < 2 && !ended[which[i]]++,
                          "ends once", -1, start);
                }
            }
            MPI_Waitany(3, requests, &index, &status);
            check(index == MPI_UNDEFINED, "none is left", -1, start);
        }
        check(words[0] == start, "broadcast", -1, start);
        check(sums[1] == size * start + size * (size - 1) / 2, "sum", -1,
              start);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request_free(&requests[i]);
    }
}

static MPI_Comm ordered_dup(void)
{
    MPI_Comm comm;
    MPI_Info info;

    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering",
                 "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    return comm;
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 7, 512, 4000, 9000};
    unsigned long long before, started;
    int provided;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    comm = ordered_dup();
    before = counter_read("coll_started");
    for (int i = 0; i < 5; i++) {
        all_of(comm, counts[i], 0);
        all_of(comm, counts[i], 1);
    }
    started = counter_read("coll_started") - before;
    if (argc > 1) {
        check((started >= STARTS) == (strcmp(argv[1], "yes") == 0),
              "as many as there should be by libam", -1, (int)started);
    }
    for (int i = 0; i < 5; i++) {
        beside_calls(comm, counts[i]);
    }
    among_others(comm);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 5; i++) {
        any_order(comm, counts[i]);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return failures != 0;
}
