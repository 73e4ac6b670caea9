/*
 * Memory on large pages.  libc only.
 */
#include "kernel/large.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define LARGE_BYTES ((size_t)2 * 1024 * 1024)
#define LINE_BYTES  ((size_t)64)

void *ns_large_alloc(size_t bytes)
{
    size_t align = bytes < LARGE_BYTES ? LINE_BYTES : LARGE_BYTES;
    size_t whole = (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    void *memory = NULL;

    if (whole < bytes || posix_memalign(&memory, align, whole) != 0) {
        return NULL;
    }
#ifdef MADV_HUGEPAGE
    if (align == LARGE_BYTES) {
        (void)madvise(memory, whole / LARGE_BYTES * LARGE_BYTES, MADV_HUGEPAGE);
    }
#endif
    return memory;
}

void *ns_large_calloc(size_t count, size_t bytes)
{
    void *memory = bytes != 0 && count > SIZE_MAX / bytes
                           ? NULL
                           : ns_large_alloc(count * bytes);

    if (memory != NULL) {
        memset(memory, 0, count * bytes);
    }
    return memory;
}
