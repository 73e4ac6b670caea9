/*
 * For programs that test/mpi/faults starts and of which ranks die: who lives prints
 * "RANK well", or what was wrong.
 */
#ifndef AM_TEST_MPI_WELL_H
#define AM_TEST_MPI_WELL_H

#include <stdio.h>
#include <unistd.h>

/* `rank` is the program's own. */
#define CHECK(_condition)                                                      \
    do {                                                                       \
        if (!(_condition)) {                                                   \
            printf("%d line %d: %s\n", rank, __LINE__, #_condition);           \
            fflush(stdout);                                                    \
            _exit(1);                                                          \
        }                                                                      \
    } while (0)

#endif
