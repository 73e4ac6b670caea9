/*
 * For test/mpi/steps: the messages and the put that docs/architecture.md follows,
 * between calls at which a debugger stops.  Two ranks; the argument is the length of
 * the message that is followed, in bytes.
 */
#include <mpi.h>
#include <stdlib.h>

#define WARM      20 /* messages and puts before */
#define BYTES_MAX 65536

static long text[BYTES_MAX / sizeof(long)];

#define MARK(_name)                                                            \
    __attribute__((noinline)) static void _name(void)                          \
    {                                                                          \
        __asm__ volatile("");                                                  \
    }

MARK(message_begins)
MARK(message_ends)
MARK(put_begins)
MARK(put_ends)

static void send_to(int rank)
{
    long value = rank;

    MPI_Send(&value, 1, MPI_LONG, rank, 0, MPI_COMM_WORLD);
}

static void receive_from(int rank)
{
    long value;

    MPI_Recv(&value, 1, MPI_LONG, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The receive is posted before the other rank sends. */
static void message(int rank, int bytes)
{
    MPI_Request receive;

    if (rank == 0) {
        receive_from(1);
        message_begins();
        MPI_Send(text, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        message_ends();
    } else {
        MPI_Irecv(text, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &receive);
        send_to(0);
        message_begins();
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        message_ends();
    }
}

/* The target waits in a receive meanwhile. */
static void put(int rank, MPI_Win window)
{
    long value = 1;

    if (rank == 0) {
        receive_from(1);
        put_begins();
        MPI_Put(&value, 1, MPI_LONG, 1, 0, 1, MPI_LONG, window);
        MPI_Win_flush(1, window);
        put_ends();
        send_to(1);
    } else {
        put_begins();
        send_to(0);
        receive_from(0);
        put_ends();
    }
}

int main(int argc, char **argv)
{
    int bytes = argc > 1 ? atoi(argv[1]) : 8;
    long *base;
    MPI_Win window;
    int rank;

    if (bytes < 0 || bytes > BYTES_MAX) {
        return 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof(*base), sizeof(*base), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &window);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i <= WARM; i++) { /* the last one counts */
        message(rank, bytes);
        put(rank, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
