/*
 * What the files of dead.c share: what the calls work on, and the lists of them.
 */
#ifndef AM_TEST_MPI_DEAD_H
#define AM_TEST_MPI_DEAD_H

#include <mpi.h>
#include <stddef.h>

#define DEAD      1
#define WORDS     64
#define LONG      (1 << 20)
#define RANKS_MAX 16

extern int rank, size, words[WORDS], result[WORDS * RANKS_MAX];
extern int counts[RANKS_MAX], offsets[RANKS_MAX];
extern MPI_Datatype types[RANKS_MAX], strided;
extern char large[LONG], back[LONG];
extern MPI_Comm world, pair;
extern MPI_Win passive, active;
extern int failed_status;       /* of a call that tells in a status */
extern MPI_Request made_before; /* a partitioned send, when all lived */

struct dead_call {
    const char *name; /* NULL: the list ends */
    int (*call)(void);
    int may; /* succeed when the rank dies meanwhile: the rest did their parts */
};

#define CALL(_name, _may)          \
    {                              \
#_name, call_##_name, _may \
    }

extern const struct dead_call dead_p2p[], dead_rma[], dead_coll[], dead_last[];

/* Wait for a request if `rc` says that there is one. */
int wait_for(int rc, MPI_Request *request);

#endif
