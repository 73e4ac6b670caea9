/*
 * What the host's copies cost, by their size and by the memory that they are
 * to or from.
 */
#ifndef NS_HOST_COPY_H
#define NS_HOST_COPY_H

#include "nicsim_machine.h"

typedef enum {
    NS_MEMORY_OWN,     /* the program's own, through the caches */
    NS_MEMORY_SHARED,  /* which DMA reaches; lines are fetched apart */
    NS_MEMORY_ADAPTER, /* the adapter's, by stores across the bus */
} ns_memory_kind_t;

/* Of a copy of `bytes`. */
uint64_t ns_copy_ps(const struct ns_host_settings *host, ns_memory_kind_t kind,
                    uint64_t bytes);
/* Of each of its bytes, the start apart: femtoseconds. */
uint64_t ns_copy_byte_fs(const struct ns_host_settings *host,
                         ns_memory_kind_t kind, uint64_t bytes);
/* What is wrong with the settings, or NULL. */
const char *ns_copy_check(const struct ns_host_settings *host);

#endif
