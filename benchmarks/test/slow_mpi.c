/*
 * slow_mpi.c: makes an MPI program slower by a known part, to try whether
 * am_compare finds it.  Loaded in front of any MPI library by LD_PRELOAD.
 *
 * SLOW_PERCENT=5: before an MPI call returns to the program, the rank spins
 * for 5% of what it computed since the call before.  Time inside MPI is not
 * charged, or ranks that wait for each other would pay twice.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#define SPIN_MIN_S 1e-6 /* less is carried over to the next call */

static double part;
static double debt_s;
static double since_s; /* the program computes since then; 0: not yet */

static double now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((constructor)) static void read_part(void)
{
    const char *text = getenv("SLOW_PERCENT");

    part = text == NULL ? 0.0 : atof(text) / 100.0;
}

static void enter(void)
{
    if (since_s > 0.0) {
        debt_s += part * (now_s() - since_s);
    }
}

static int leave(int result)
{
    double now = now_s();

    if (debt_s >= SPIN_MIN_S) {
        double until = now + debt_s;

        while (now < until) {
            now = now_s();
        }
        debt_s = 0.0;
    }
    since_s = now;
    return result;
}

#define SLOWED(_name, _formal, _actual)     \
    int MPI_##_name _formal                 \
    {                                       \
        enter();                            \
        return leave(PMPI_##_name _actual); \
    }

SLOWED(Barrier, (MPI_Comm c), (c))
SLOWED(Send,
       (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c),
       (b, n, t, to, tag, c))
SLOWED(Isend,
       (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c,
        MPI_Request *r),
       (b, n, t, to, tag, c, r))
SLOWED(Recv,
       (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c,
        MPI_Status *s),
       (b, n, t, from, tag, c, s))
SLOWED(Irecv,
       (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm c,
        MPI_Request *r),
       (b, n, t, from, tag, c, r))
SLOWED(Wait, (MPI_Request * r, MPI_Status *s), (r, s))
SLOWED(Waitall, (int n, MPI_Request r[], MPI_Status s[]), (n, r, s))
SLOWED(Reduce,
       (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, int root,
        MPI_Comm c),
       (b, to, n, t, op, root, c))
SLOWED(Allreduce,
       (const void *b, void *to, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c),
       (b, to, n, t, op, c))
SLOWED(Alltoall,
       (const void *b, int n, MPI_Datatype t, void *to, int m, MPI_Datatype u,
        MPI_Comm c),
       (b, n, t, to, m, u, c))
