/*
 * For the programs of test/mpi: how much memory a process has had at most.
 */
#ifndef AM_TEST_MPI_PEAK_H
#define AM_TEST_MPI_PEAK_H

#include <stdio.h>

/* In kB; -1: the system does not say. */
static inline long peak_kb(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kb = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "VmHWM: %ld kB", &kb) == 1) {
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

#endif
