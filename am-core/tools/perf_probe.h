/*
 * Probes of the machine: two processes, a parent that measures and a child
 * that answers, with shared memory between them.  No part of libam but the
 * environment's clock.
 */
#ifndef AM_TOOLS_PERF_PROBE_H
#define AM_TOOLS_PERF_PROBE_H

#include "tools/perf.h"

#include <stdatomic.h>
#include <sys/types.h>

enum {
    PROBE_LINE_BYTES = 128, /* two cache lines: no adjacent prefetch */
    PROBE_LOOKS = 65536     /* at a flag in a row, then a yield: some 50 us */
};

struct probe;
typedef void (*probe_child_fn)(struct probe *probe);

struct probe {
    struct perf *perf;
    uint32_t core_parent, core_child;
    pid_t child;
    void *shared; /* the same address in both */
    size_t shared_bytes;
    int sockets[2]; /* of the network probes: parent's, child's */
    size_t bytes;   /* of one message */
    size_t chunk;   /* of the pipelined copy */
    unsigned char *source, *landing; /* parent's; copies in the child */
    uint32_t last;                   /* turn of the hand-off probes */
};

/* Map `bytes` shared, fork a child on its core that runs `child` and exits,
 * bind the parent.  0, or -1 with perf->error. */
int probe_start(struct probe *probe, size_t bytes, probe_child_fn child);
/* Wait for the child, which must be on its way out; unmap. */
int probe_end(struct probe *probe);
/* Print a row "metric unit" with no size. */
void probe_row(struct probe *probe, const char *metric,
               struct perf_figure *figure);

/* Hand-off of a turn, one way (perf_probe_turn.c): flag spins on a cache line,
 * yield calls sched_yield between looks, futex sleeps. */
int probe_flag(struct probe *probe, const char *metric);
int probe_yield(struct probe *probe, const char *metric);
int probe_futex(struct probe *probe, const char *metric);

/* Copies of each of --sizes (perf_probe_copy.c). */
int probe_memcpy(struct probe *probe);
int probe_vm_read(struct probe *probe);
int probe_pipeline(struct probe *probe);

/* Echo of 8 bytes on loopback, half the round trip (perf_probe_net.c). */
int probe_udp(struct probe *probe);
int probe_tcp(struct probe *probe);

#endif
