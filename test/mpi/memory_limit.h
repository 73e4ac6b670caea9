/*
 * For the programs of test/mpi: memory that costs nothing, and a process that gets
 * no more of it.
 */
#ifndef AM_TEST_MPI_MEMORY_LIMIT_H
#define AM_TEST_MPI_MEMORY_LIMIT_H

#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* The memory is never written, so that it costs none. */
static inline void *untouched(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/* So many more bytes, and this process has no more.  0, or -1. */
static inline int memory_limit(size_t bytes)
{
    FILE *file = fopen("/proc/self/statm", "r");
    struct rlimit limit;
    long pages = 0;

    if (file == NULL) {
        return -1;
    }
    if (fscanf(file, "%ld", &pages) != 1) {
        pages = 0;
    }
    fclose(file);
    if (pages == 0 || getrlimit(RLIMIT_AS, &limit) != 0) {
        return -1;
    }
    limit.rlim_cur = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) + bytes;
    return setrlimit(RLIMIT_AS, &limit);
}

#endif
