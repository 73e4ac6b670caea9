/*
 * For test/mpi/programs: collectives that libam does for communicators within a
 * node.  Blocking and not, several under way, on communicators in another order
 * and of some ranks, in place, with datatypes that differ from rank to rank,
 * lengths on both sides of each limit, and communicators that are freed while
 * something is under way.
 *
 * usage: shared yes|no    does libam do any (its counter coll_shared)?
 */
#include "counter.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS     400
#define UNDER_WAY  6
#define BYTES_MAX  70000
#define RANKS_MAX  16
#define GROUP_USES 20 /* more than a communicator needs to get a group */

static int failures, rank, size;
static unsigned draws; /* the same on all ranks */
static unsigned char give[RANKS_MAX * BYTES_MAX], got[2 * RANKS_MAX * BYTES_MAX];

static unsigned draw(unsigned below)
{
    draws = draws * 1103515245u + 12345u;
    return (draws >> 8) % below;
}

static void check(int good, const char *what, int at)
{
    if (!good && failures++ < 10) {
        printf("failed: %s (rank %d of %d, %d)\n", what, rank, size, at);
    }
}

/* The call, or the non-blocking one and a wait for it. */
#define EITHER(_name, _iname, ...)                \
    do {                                          \
        MPI_Request request_ = MPI_REQUEST_NULL;  \
                                                  \
        if (draw(2)) {                            \
            MPI_##_name(__VA_ARGS__);             \
        } else {                                  \
            MPI_##_iname(__VA_ARGS__, &request_); \
        }                                         \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);   \
    } while (0)

static unsigned char byte_of(int round, int from, int to, int at)
{
    return (unsigned char)(round * 7 + from * 31 + to * 13 + at);
}

/* Every second rank has its bytes apart from each other; *gap is 2 there. */
static MPI_Datatype type_of(int count, int *gap)
{
    MPI_Datatype type;

    *gap = 1 + rank % 2;
    MPI_Type_vector(count, 1, *gap, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void bcast(MPI_Comm comm, int round, int bytes, int root)
{
    int gap;
    MPI_Datatype type = type_of(bytes, &gap);

    memset(got, 0xee, sizeof(got));
    for (int i = 0; rank == root && i < bytes; i++) {
        got[i * gap] = byte_of(round, root, 0, i);
    }
    EITHER(Bcast, Ibcast, got, 1, type, root, comm);
    for (int i = 0; i < bytes; i++) {
        check(got[i * gap] == byte_of(round, root, 0, i), "bcast", bytes);
        check(gap == 1 || got[i * gap + 1] == 0xee, "a gap of bcast", bytes);
    }
    MPI_Type_free(&type);
}

/* To all, or to `root` if that is not negative.  In place not with a root other than 0:
 * MPICH 4.0.2 (MPIDI_Reduce_intra_composition_alpha) then gives MPI_IN_PLACE to a
 * reduction of the node, of which rank 0 is the root, and crashes. */
static void reduce(MPI_Comm comm, int round, int bytes, int root)
{
    int in_place = draw(2) && root <= 0, count = bytes / (int)sizeof(long);
    long *mine = (long *)give, *sum = (long *)got;
    int has_result = root < 0 || root == rank;
    const void *from = mine;

    for (int i = 0; i < count; i++) {
        mine[i] = round + (long)(rank + 1) * (i + 1);
        sum[i] = in_place ? mine[i] : -1;
    }
    if (in_place && has_result) {
        from = MPI_IN_PLACE;
    }
    if (root < 0) {
        EITHER(Allreduce, Iallreduce, from, sum, count, MPI_LONG, MPI_SUM,
               comm);
    } else {
        EITHER(Reduce, Ireduce, from, sum, count, MPI_LONG, MPI_SUM, root,
               comm);
    }
    for (int i = 0; has_result && i < count; i++) {
        long all = (long)size * (size + 1) / 2;

        check(sum[i] == (long)size * round + all * (i + 1),
              root < 0 ? "allreduce" : "reduce", count);
    }
}

static void allgather(MPI_Comm comm, int round, int bytes)
{
    int gap, in_place = draw(2);
    MPI_Datatype type = type_of(bytes, &gap), block;

    /* blocks one after the other, each with its gaps */
    MPI_Type_create_resized(type, 0, (MPI_Aint)bytes * gap, &block);
    MPI_Type_commit(&block);
    for (int i = 0; i < bytes; i++) {
        give[i] = byte_of(round, rank, 0, i);
        got[(rank * bytes + i) * gap] = give[i];
    }
    EITHER(Allgather, Iallgather, in_place ? MPI_IN_PLACE : give, bytes,
           MPI_BYTE, got, 1, block, comm);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < bytes; i++) {
            check(got[(r * bytes + i) * gap] == byte_of(round, r, 0, i),
                  "allgather", bytes);
        }
    }
    MPI_Type_free(&block);
    MPI_Type_free(&type);
}

static void alltoall(MPI_Comm comm, int round, int bytes)
{
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < bytes; i++) {
            give[r * bytes + i] = byte_of(round, rank, r, i);
        }
    }
    if (draw(2)) {
        memcpy(got, give, (size_t)(size * bytes));
        EITHER(Alltoall, Ialltoall, MPI_IN_PLACE, 0, MPI_BYTE, got, bytes,
               MPI_BYTE, comm);
    } else {
        EITHER(Alltoall, Ialltoall, give, bytes, MPI_BYTE, got, bytes, MPI_BYTE,
               comm);
    }
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < bytes; i++) {
            check(got[r * bytes + i] == byte_of(round, r, rank, i), "alltoall",
                  bytes);
        }
    }
}

/* A block to each rank, of which every second has it with gaps; or of each.  A byte or
 * more: MPICH's own waits for a message of one element without bytes. */
static void gather_or_scatter(MPI_Comm comm, int round, int bytes, int root)
{
    int gap, gathers = draw(2), in_place = draw(2) && rank == root;
    MPI_Datatype type;

    bytes += bytes == 0;
    type = type_of(bytes, &gap);
    memset(got, 0xee, sizeof(got));
    for (int i = 0; i < bytes; i++) {
        for (int r = 0; r < size; r++) {
            give[r * bytes + i] = byte_of(round, root, r, i);
        }
        if (gathers) {
            got[i * gap] = byte_of(round, rank, root, i);
        }
    }
    if (!gathers) {
        EITHER(Scatter, Iscatter, give, bytes, MPI_BYTE,
               in_place ? MPI_IN_PLACE : got, 1, type, root, comm);
        for (int i = 0; i < bytes && !in_place; i++) {
            check(got[i * gap] == byte_of(round, root, rank, i), "scatter",
                  bytes);
            check(gap == 1 || got[i * gap + 1] == 0xee, "a gap of scatter",
                  bytes);
        }
    } else {
        memset(give, 0xee, (size_t)(size * bytes));
        for (int i = 0; i < bytes; i++) {
            give[rank * bytes + i] = byte_of(round, rank, root, i);
        }
        EITHER(Gather, Igather, in_place ? MPI_IN_PLACE : got, 1, type, give,
               bytes, MPI_BYTE, root, comm);
        for (int r = 0; rank == root && r < size; r++) {
            for (int i = 0; i < bytes; i++) {
                check(give[r * bytes + i] == byte_of(round, r, root, i),
                      "gather", bytes);
            }
        }
    }
    MPI_Type_free(&type);
}

/* Blocks of lengths of their own, in another order, with gaps between; some ranks
 * count in pairs of bytes with a gap behind them (not in long ones: MPICH's ring of
 * an all-gather cuts at 32 KiB with the gaps, so elsewhere at each rank). */
static void vectors(MPI_Comm comm, int round, int bytes)
{
    int counts[RANKS_MAX], displs[RANKS_MAX], at = 3;
    int unit = 1 + (rank % 2 && bytes < 4096);
    int give_counts[RANKS_MAX], give_displs[RANKS_MAX], in_place = draw(2);
    MPI_Datatype pair, type = MPI_BYTE;

    if (size == 1) {
        return; /* MPICH 4.0.2 gets an all-gather of one rank with a gap wrong */
    }
    MPI_Type_contiguous(2, MPI_BYTE, &pair);
    if (unit == 2) {
        MPI_Type_create_resized(pair, 0, 3, &type);
        MPI_Type_commit(&type);
    }
    for (int i = 0; i < size; i++) {
        int r = (i + round) % size; /* who lies i-th */

        counts[r] = 2 * (bytes * (r + 1) / size / 2) / unit;
        displs[r] = at / (2 * unit - 1) + 1;
        at = (displs[r] + counts[r]) * (2 * unit - 1) + 4;
    }
    memset(got, 0xee, sizeof(got));
#define PLACE(_r, _i)                                                  \
    got[(displs[_r] + (_i) / unit) * (2 * unit - 1) + (_i) % unit]
    for (int i = 0; i < counts[rank] * unit; i++) {
        give[i] = byte_of(round, rank, 0, i);
        PLACE(rank, i) = give[i];
    }
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : give, counts[rank] * unit, MPI_BYTE,
                   got, counts, displs, type, comm);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < counts[r] * unit; i++) {
            check(PLACE(r, i) == byte_of(round, r, 0, i), "allgatherv", bytes);
        }
        check(PLACE(r, counts[r] * unit) == 0xee, "behind allgatherv", bytes);
    }
    /* to each rank as many as it has given to all; of each what it has */
    for (int r = 0; r < size; r++) {
        give_counts[r] = counts[rank] * unit;
        give_displs[r] = (size - 1 - r) * counts[rank] * unit;
        for (int i = 0; i < give_counts[r]; i++) {
            give[give_displs[r] + i] = byte_of(round, rank, r, i);
        }
    }
    memset(got, 0xee, sizeof(got));
    MPI_Alltoallv(give, give_counts, give_displs, MPI_BYTE, got, counts, displs,
                  type, comm);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < counts[r] * unit; i++) {
            check(PLACE(r, i) == byte_of(round, r, rank, i), "alltoallv",
                  bytes);
        }
        check(PLACE(r, counts[r] * unit) == 0xee, "behind alltoallv", bytes);
    }
    if (unit == 2) {
        MPI_Type_free(&type);
    }
    MPI_Type_free(&pair);
}

/* The user's own sum. */
static void add(void *in, void *inout, int *count, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *count; i++) {
        ((long *)inout)[i] += ((long *)in)[i];
    }
}

/* Blocks of one length or, the call with an array, a last one that is longer. */
static void reduce_scatter(MPI_Comm comm, int round, int bytes)
{
    int count = bytes / (int)sizeof(long), in_place = draw(2);
    int kind = (int)draw(4), counts[RANKS_MAX], mine = count, at = 0;
    long *from = (long *)give, *sum = (long *)got;
    MPI_Op op = MPI_SUM;

    for (int r = 0; r < size; r++) {
        counts[r] = count;
    }
    if (kind == 2 && count > 8) { /* not longer than there is room */
        counts[size - 1] = count + 3;
        counts[0] = count - 3;
    }
    for (int i = 0; i < count * size; i++) {
        from[i] = sum[i] = round + (long)(rank + 1) * (i + 1);
    }
    if (kind == 3) {
        MPI_Op_create(add, 1, &op);
    }
    if (kind == 0) {
        EITHER(Reduce_scatter_block, Ireduce_scatter_block,
               in_place ? MPI_IN_PLACE : from, sum, count, MPI_LONG, op, comm);
    } else {
        mine = counts[rank];
        EITHER(Reduce_scatter, Ireduce_scatter, in_place ? MPI_IN_PLACE : from,
               sum, counts, MPI_LONG, op, comm);
    }
    for (int r = 0; r < rank; r++) {
        at += counts[r];
    }
    for (int i = 0; i < mine; i++) {
        check(sum[i] == (long)size * round +
                                (long)size * (size + 1) / 2 * (at + i + 1),
              "reduce_scatter", count);
    }
    if (kind == 3) {
        MPI_Op_free(&op);
    }
}

/* Several at once; with `is_last` the communicator is freed meanwhile. */
static void under_way(MPI_Comm comm, int round, int is_last)
{
    static long values[UNDER_WAY][600], sums[UNDER_WAY][600];
    MPI_Request requests[UNDER_WAY];
    int counts[UNDER_WAY], kinds[UNDER_WAY], gap;

    for (int j = 0; j < UNDER_WAY; j++) {
        MPI_Datatype type;
        int root = (int)draw((unsigned)size);

        counts[j] = 1 + (int)draw(590);
        kinds[j] = (int)draw(3);
        type = type_of(counts[j] / 2, &gap);
        for (int i = 0; i < 600; i++) {
            values[j][i] = round + i * (rank + 1);
            sums[j][i] = -1;
        }
        if (kinds[j] == 0) {
            MPI_Iallreduce(values[j], sums[j], counts[j], MPI_LONG, MPI_SUM,
                           comm, &requests[j]);
        } else if (kinds[j] == 1) {
            unsigned char *bytes = (unsigned char *)sums[j];

            for (int i = 0; rank == root && i < counts[j] / 2; i++) {
                bytes[i * gap] = byte_of(round, j, 0, i);
            }
            MPI_Ibcast(bytes, 1, type, root, comm, &requests[j]);
        } else {
            MPI_Ibarrier(comm, &requests[j]);
        }
        MPI_Type_free(&type);
    }
    if (is_last) {
        MPI_Comm_free(&comm);
    }
    for (int j = 0; j < UNDER_WAY; j++) {
        MPI_Wait(&requests[UNDER_WAY - 1 - j], MPI_STATUS_IGNORE);
    }
    for (int j = 0; j < UNDER_WAY; j++) {
        unsigned char *bytes = (unsigned char *)sums[j];

        for (int i = 0; kinds[j] == 0 && i < counts[j]; i++) {
            check(sums[j][i] == (long)size * round +
                                        (long)i * size * (size + 1) / 2,
                  "iallreduce", counts[j]);
        }
        for (int i = 0; kinds[j] == 1 && i < counts[j] / 2; i++) {
            check(bytes[i * gap] == byte_of(round, j, 0, i), "ibcast",
                  counts[j]);
        }
    }
}

/* The communicator's to free. */
static void all_of(MPI_Comm comm)
{
    static const int limits[] = {0,    1,    8,    48,   49,   255,  256,
                                 1024, 1025, 2048, 4096, 4097, 8192, 9000,
                                 33000, BYTES_MAX};
    int world_rank = rank, world_size = size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < GROUP_USES; i++) {
        MPI_Barrier(comm);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int bytes = draw(2) ? limits[draw(16)] : (int)draw(600);
        int root = (int)draw((unsigned)size);

        switch (draw(9)) {
        case 0:
            bcast(comm, round, bytes, root);
            break;
        case 1:
            reduce(comm, round, bytes, root);
            break;
        case 2:
            reduce(comm, round, bytes, -1);
            break;
        case 3:
            allgather(comm, round, bytes);
            break;
        case 4:
            alltoall(comm, round, bytes);
            break;
        case 5:
            gather_or_scatter(comm, round, bytes, root);
            break;
        case 6:
            vectors(comm, round, bytes / 2);
            break;
        case 7:
            reduce_scatter(comm, round, bytes);
            break;
        default:
            under_way(comm, round, 0);
        }
    }
    under_way(comm, ROUNDS, 1);
    rank = world_rank;
    size = world_size;
}

int main(int argc, char **argv)
{
    int provided;
    MPI_Comm comm;

    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    all_of(comm);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &comm);
    all_of(comm);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &comm);
    draws = 1;
    all_of(comm);
    if (argc > 1) {
        int count = (int)counter_read("coll_shared");

        check((count > 0) == (strcmp(argv[1], "yes") == 0),
              "as many as there should be by libam", count);
    }
    MPI_Finalize();
    return failures != 0;
}
