/*
 * For test/mpi/programs: persistent collectives that persist.c has not.  Each is made
 * while its buffers hold something else, and started several times with other contents:
 * every start gives what the buffers hold then.
 *
 * usage: again
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STARTS 4

enum {
    GATHER,
    GATHERV,
    SCATTER,
    SCATTERV,
    ALLGATHERV,
    ALLTOALLV,
    ALLTOALLW,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
};

/* Blocks of `count` for each rank; `counts`, `places` are those of the v calls. */
struct test {
    int kind, count, root, in_place;
    int *counts, *places, *bytes;
    MPI_Datatype *types;
    long *give, *get;
    MPI_Request request;
};

static int failures, rank, size;

static long value_of(int start, int from, int to, int at)
{
    return start * 1000003L + from * 1009L + to * 31L + at;
}

/* What the root gives, or gets, stays where it is. */
static int is_mine_in_place(const struct test *t)
{
    return t->in_place && rank == t->root && t->kind <= SCATTERV;
}

static void make_rooted(struct test *t, MPI_Comm comm)
{
    void *give =
            is_mine_in_place(t) && t->kind <= GATHERV ? MPI_IN_PLACE : t->give;
    void *get =
            is_mine_in_place(t) && t->kind >= SCATTER ? MPI_IN_PLACE : t->get;

    switch (t->kind) {
    case GATHER:
        MPI_Gather_init(give, t->count, MPI_LONG, get, t->count, MPI_LONG,
                        t->root, comm, MPI_INFO_NULL, &t->request);
        break;
    case GATHERV:
        MPI_Gatherv_init(give, t->count, MPI_LONG, get, t->counts, t->places,
                         MPI_LONG, t->root, comm, MPI_INFO_NULL, &t->request);
        break;
    case SCATTER:
        MPI_Scatter_init(give, t->count, MPI_LONG, get, t->count, MPI_LONG,
                         t->root, comm, MPI_INFO_NULL, &t->request);
        break;
    default:
        MPI_Scatterv_init(give, t->counts, t->places, MPI_LONG, get, t->count,
                          MPI_LONG, t->root, comm, MPI_INFO_NULL, &t->request);
    }
}

static void make(struct test *t, MPI_Comm comm)
{
    switch (t->kind) {
    case ALLGATHERV:
        MPI_Allgatherv_init(t->give, t->count, MPI_LONG, t->get, t->counts,
                            t->places, MPI_LONG, comm, MPI_INFO_NULL,
                            &t->request);
        break;
    case ALLTOALLV:
        MPI_Alltoallv_init(t->give, t->counts, t->places, MPI_LONG, t->get,
                           t->counts, t->places, MPI_LONG, comm, MPI_INFO_NULL,
                           &t->request);
        break;
    case ALLTOALLW:
        MPI_Alltoallw_init(t->give, t->counts, t->bytes, t->types, t->get,
                           t->counts, t->bytes, t->types, comm, MPI_INFO_NULL,
                           &t->request);
        break;
    case REDUCE_SCATTER:
        MPI_Reduce_scatter_init(t->give, t->get, t->counts, MPI_LONG, MPI_SUM,
                                comm, MPI_INFO_NULL, &t->request);
        break;
    case REDUCE_SCATTER_BLOCK:
        MPI_Reduce_scatter_block_init(t->give, t->get, t->count, MPI_LONG,
                                      MPI_SUM, comm, MPI_INFO_NULL,
                                      &t->request);
        break;
    case SCAN:
        MPI_Scan_init(t->give, t->get, t->count, MPI_LONG, MPI_SUM, comm,
                      MPI_INFO_NULL, &t->request);
        break;
    case EXSCAN:
        MPI_Exscan_init(t->give, t->get, t->count, MPI_LONG, MPI_SUM, comm,
                        MPI_INFO_NULL, &t->request);
        break;
    default:
        make_rooted(t, comm);
    }
}

/* Is what rank r gives to rank `to` a block of its own? */
static int has_blocks(int kind)
{
    return kind == SCATTER || kind == SCATTERV ||
           (kind >= ALLTOALLV && kind < SCAN);
}

static void fill(const struct test *t, int start)
{
    int blocks = has_blocks(t->kind) ? size : 1;
    long *mine = t->give;

    memset(t->get, 0xee, sizeof(long) * (size_t)(size * t->count));
    if (is_mine_in_place(t) && t->kind <= GATHERV) {
        mine = t->get + rank * t->count;
    }
    for (int i = 0; i < blocks * t->count; i++) {
        mine[i] = value_of(start, rank, i / t->count, i % t->count);
    }
}

/* The sum of what the ranks before `end` give for value i of block `to`. */
static long sum_of(int start, int end, int to, int i)
{
    long sum = 0;

    for (int r = 0; r < end; r++) {
        sum += value_of(start, r, to, i);
    }
    return sum;
}

static long expected(const struct test *t, int start, int block, int i)
{
    switch (t->kind) {
    case GATHER:
    case GATHERV:
    case ALLGATHERV:
        return value_of(start, block, 0, i);
    case SCATTER:
    case SCATTERV:
        return value_of(start, t->root, rank, i);
    case ALLTOALLV:
    case ALLTOALLW:
        return value_of(start, block, rank, i);
    case SCAN:
        return sum_of(start, rank + 1, 0, i);
    case EXSCAN:
        return sum_of(start, rank, 0, i);
    default:
        return sum_of(start, size, rank, i);
    }
}

static void look(const struct test *t, int start)
{
    int blocks = t->kind <= GATHERV ? (rank == t->root ? size : 0)
                 : t->kind >= ALLGATHERV && t->kind <= ALLTOALLW ? size
                                                                 : 1;

    if ((t->kind == EXSCAN && rank == 0) ||
        (t->kind >= SCATTER && is_mine_in_place(t))) {
        return;
    }
    for (int i = 0; i < blocks * t->count; i++) {
        long want = expected(t, start, i / t->count, i % t->count);

        if (t->get[i] != want && failures++ < 5) {
            printf("failed: kind %d of %d, root %d%s, rank %d of %d, start %d, "
                   "value %d: %ld,"
                   " not %ld\n",
                   t->kind, t->count, t->root, t->in_place ? " in place" : "",
                   rank, size, start, i, t->get[i], want);
        }
    }
}

static void try(int kind, int count, int root, int in_place, MPI_Comm comm)
{
    size_t bytes = sizeof(long) * (size_t)(size * count);
    struct test t = {kind,
                     count,
                     root,
                     in_place,
                     .give = malloc(bytes),
                     .get = malloc(bytes),
                     .counts = malloc(sizeof(int) * (size_t)size),
                     .places = malloc(sizeof(int) * (size_t)size),
                     .bytes = malloc(sizeof(int) * (size_t)size),
                     .types = malloc(sizeof(MPI_Datatype) * (size_t)size)};

    for (int r = 0; r < size; r++) {
        t.counts[r] = count;
        t.places[r] = r * count;
        t.bytes[r] = r * count * (int)sizeof(long);
        t.types[r] = MPI_LONG;
    }
    memset(t.give, 0x11, bytes);
    memset(t.get, 0x11, bytes);
    make(&t, comm);
    for (int start = 0; start < STARTS; start++) {
        fill(&t, start);
        MPI_Start(&t.request);
        MPI_Wait(&t.request, MPI_STATUS_IGNORE);
        look(&t, start);
    }
    MPI_Request_free(&t.request);
    free(t.give);
    free(t.get);
    free(t.counts);
    free(t.places);
    free(t.bytes);
    free(t.types);
}

/* Each at the root 0, and those with a root at each, and in place there. */
int main(int argc, char **argv)
{
    const int counts[] = {1, 100, 3000};

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int c = 0; c < 3; c++) {
            try(kind, counts[c], 0, 0, MPI_COMM_WORLD);
            for (int root = 0; kind <= SCATTERV && root < size; root++) {
                try(kind, counts[c], root, 0, MPI_COMM_WORLD);
                try(kind, counts[c], root, 1, MPI_COMM_WORLD);
            }
        }
    }
    MPI_Finalize();
    return failures > 0;
}
