/*
 * For test/mpi/programs: non-blocking collectives of two ranks on one node that end with an error:
 *
 *   lengths that do not agree, between the ranks or within the root
 *   a communicator that is revoked meanwhile
 *   a cancel, which is refused, and the collective ends well
 *
 * usage: wrong     (2 ranks)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* More than is sent without the other rank, and an all-gather is a message each way. */
#define BYTES 1000000
#define GATHERED 100000

enum {
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    KINDS
};

static int rank, failures;
static char *mine, *other; /* 2 * BYTES each */

static void check(int good, const char *what, int kind, int class)
{
    if (!good) {
        printf("failed: %s (rank %d, kind %d, class %d)\n", what, rank, kind,
               class);
        failures++;
    }
}

static int class_of(int code)
{
    int class;

    MPI_Error_class(code, &class);
    return class;
}

/* The root, or rank 0, gives `out` bytes and gets `in`. */
static void start(int kind, int out, int in, int root, MPI_Comm comm,
                  MPI_Request *request)
{
    switch (kind) {
    case BCAST:
        MPI_Ibcast(mine, out, MPI_BYTE, root, comm, request);
        break;
    case GATHER:
        MPI_Igather(mine, out, MPI_BYTE, other, in, MPI_BYTE, root, comm,
                    request);
        break;
    case SCATTER:
        MPI_Iscatter(mine, out, MPI_BYTE, other, in, MPI_BYTE, root, comm,
                     request);
        break;
    case ALLGATHER:
        MPI_Iallgather(mine, out, MPI_BYTE, other, in, MPI_BYTE, comm, request);
        break;
    default:
        MPI_Ialltoall(mine, out, MPI_BYTE, other, in, MPI_BYTE, comm, request);
    }
}

static int bytes_of(int kind)
{
    return kind == ALLGATHER ? GATHERED : BYTES;
}

static MPI_Comm comm_make(void)
{
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

/* Rank 0 gives so many bytes, and rank 1 wants others; both lengths go the same way. */
static void lengths_differ(int given, int wanted)
{
    MPI_Comm comm = comm_make();

    for (int kind = BCAST; kind <= SCATTER; kind++) {
        int bytes = rank == 0 ? given : wanted, class;
        MPI_Request request;

        start(kind, bytes, bytes, kind == GATHER ? 1 : 0, comm, &request);
        class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(rank == 0 || class != MPI_SUCCESS, "the ranks' lengths", kind,
              class);
    }
    MPI_Comm_free(&comm);
}

/* The root gives itself more than it takes; the other rank has what it wants. */
static void own_differs(void)
{
    MPI_Comm comm = comm_make();

    for (int kind = GATHER; kind <= SCATTER; kind++) {
        int bytes = 20000, out = bytes, in = bytes, class;
        MPI_Request request;

        if (rank == 0) {
            out += kind == GATHER ? bytes : 0;
            in -= kind == SCATTER ? bytes / 2 : 0;
        }
        start(kind, out, in, 0, comm, &request);
        class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(class == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS),
              "the root's own block", kind, class);
    }
    MPI_Comm_free(&comm);
}

/* Rank 0 waits for what rank 1 does not do. */
static void revoked(int kind)
{
    MPI_Comm comm = comm_make();
    MPI_Request request;
    int word = 0, class;

    if (rank == 0) {
        start(kind, bytes_of(kind), bytes_of(kind), 0, comm, &request);
        MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
        check(class == MPIX_ERR_REVOKED, "revoked", kind, class);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPIX_Comm_revoke(comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
}

static void cancelled(int kind)
{
    MPI_Comm comm = comm_make();
    MPI_Request request;
    int class;

    if (rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    start(kind, bytes_of(kind), bytes_of(kind), 0, comm, &request);
    if (rank == 0) {
        class = class_of(MPI_Cancel(&request));
        check(class != MPI_SUCCESS, "cancel", kind, class);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    class = class_of(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check(class == MPI_SUCCESS, "after a cancel", kind, class);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    mine = calloc(2, BYTES);
    other = calloc(2, BYTES);
    /* MPICH's schedules, which do not look, do them where each rank has a node or there are
     * several interfaces */
    if (size == 2 && getenv("MPIR_CVAR_NUM_CLIQUES") == NULL &&
        getenv("MPIR_CVAR_CH4_NUM_VCIS") == NULL) {
        lengths_differ(40000, 50000);
        lengths_differ(50000, 40000);
        own_differs();
    }
    for (int kind = 0; size == 2 && kind < KINDS; kind++) {
        revoked(kind);
        cancelled(kind);
    }
    free(mine);
    free(other);
    MPI_Finalize();
    return failures > 0;
}
