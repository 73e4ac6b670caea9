/*
 * Memory that host and NIC share: what is in memory, which DMA reads and
 * writes, and what the host's cache holds of it, which DMA does not touch
 * unless the machine is coherent.
 * Pure data: costs and time are the host's business.
 */
#ifndef NS_HOST_MEMORY_H
#define NS_HOST_MEMORY_H

#include "nicsim.h"

struct ns_memory {
    uint8_t *room;           /* all that follows lies in it */
    uint8_t *memory, *cache; /* the same if coherent: copies never differ */
    uint8_t *lines; /* LINE_VALID, LINE_DIRTY for each */
    uint32_t line_bytes, line_shift; /* 2^shift */
    uint32_t bytes, used;
    bool coherent; /* DMA sees the cache, and takes lines out of it */
    bool borrowed; /* the room is somebody else's */
    int process;   /* whose ordinary memory is meant; 0: this process's */
    /* pages of ordinary memory that are pinned; those that are not are used
     * again in the order in which they became free, so that transfers that
     * were under way then still find them */
    uint64_t touches, changes;     /* by DMA; those that the host can see */
    uint64_t *pins;                /* in the room */
    uint32_t *pin_free;            /* NULL until the first */
    uint32_t pin_first, pin_count; /* of pin_free */
};

/* How much room a memory of `bytes` takes, whole pages. */
size_t ns_memory_room(uint32_t bytes, uint32_t line_bytes, bool coherent);
/* In `room`, zero at first, which the caller owns and two processes may share;
 * NULL: in pages of its own.  0, or -1 when out of memory. */
int ns_memory_init(struct ns_memory *memory, uint32_t bytes,
                   uint32_t line_bytes, bool coherent, uint8_t *room);
void ns_memory_fini(struct ns_memory *memory);
/* NS_ADDRESS_NONE when there is no more. */
uint32_t ns_memory_alloc(struct ns_memory *memory, size_t bytes, size_t align);
/* All of it is free again, and zero. */
void ns_memory_release(struct ns_memory *memory);
/* Pages of ordinary memory; the host's own accesses to them cost nothing. */
uint32_t ns_memory_pin(struct ns_memory *memory, void *page);
void ns_memory_unpin(struct ns_memory *memory, uint32_t address);
bool ns_memory_holds(const struct ns_memory *memory, uint64_t address,
                     uint64_t bytes);

/* Lines that a load of the range must fetch. */
uint32_t ns_memory_misses(const struct ns_memory *memory, uint32_t address,
                          size_t bytes);
/* The same for a store: lines that it covers wholly need no fetch. */
uint32_t ns_memory_store_misses(const struct ns_memory *memory,
                                uint32_t address, size_t bytes);
/* Lines of the range that the host has changed and not written back. */
uint32_t ns_memory_dirty(const struct ns_memory *memory, uint32_t address,
                         size_t bytes);
uint32_t ns_memory_lines(const struct ns_memory *memory, uint32_t address,
                         size_t bytes);

/* Returns how many lines it has fetched. */
uint32_t ns_memory_load(struct ns_memory *memory, uint32_t address, void *to,
                        size_t bytes);
void ns_memory_store(struct ns_memory *memory, uint32_t address,
                     const void *from, size_t bytes);
void ns_memory_flush(struct ns_memory *memory, uint32_t address, size_t bytes);

/*
 * Ordinary memory of the program, which NICs reach without a cache: in this
 * process, or in `process`.  False: that process has gone, or the system does
 * not let us; what was to be read is zero.
 */
bool ns_memory_own_read(const struct ns_memory *memory, uint64_t address,
                        void *to, size_t bytes);
bool ns_memory_own_write(const struct ns_memory *memory, uint64_t address,
                         const void *from, size_t bytes);

/* The NIC's side. */
void ns_memory_dma_read(struct ns_memory *memory, uint32_t address, void *to,
                        size_t bytes);
void ns_memory_dma_write(struct ns_memory *memory, uint32_t address,
                         const void *from, size_t bytes);

#endif
