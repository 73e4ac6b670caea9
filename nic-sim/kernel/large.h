/*
 * Memory for what there is of each node: on large pages where the system has
 * them, as thousands of nodes are visited in turn, and each visit would look
 * up small pages that no cache holds.
 */
#ifndef NS_KERNEL_LARGE_H
#define NS_KERNEL_LARGE_H

#include <stddef.h>

/* `bytes` on a cache line's boundary; NULL when out of memory.  free() them. */
void *ns_large_alloc(size_t bytes);
/* The same, zero. */
void *ns_large_calloc(size_t count, size_t bytes);

#endif
