/*
 * Copies: memcpy by one process, process_vm_readv out of another, and the
 * pipeline of two processes that copy through a ring of chunks in shared
 * memory, one in and one out, both at once.
 *
 *   parent: source -> slot[head % SLOTS], head++      child: waits for head,
 *   waits for tail + SLOTS > head                     slot -> landing, tail++
 */
#define _GNU_SOURCE
#include "tools/perf_probe.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
    RING_SLOTS = 8,
    CHUNK_BYTES_MIN = 8 * 1024,
    CHUNK_BYTES_MAX = 64 * 1024,
    COPY_ITERATIONS = 100000,
};

#define COPY_TOTAL_BYTES (UINT64_C(1) << 30)
#define HEAD_STOP        UINT64_MAX

static int buffers_open(struct probe *probe, size_t bytes)
{
    probe->source = perf_alloc(probe->perf, bytes);
    probe->landing = perf_alloc(probe->perf, bytes);
    if (probe->source == NULL || probe->landing == NULL) {
        return -1;
    }
    perf_pattern(probe->source, bytes, 1);
    return 0;
}

static void buffers_close(struct probe *probe)
{
    free(probe->source);
    free(probe->landing);
}

/* Time `step` on messages of each size; a row for each. */
static int run_sizes(struct probe *probe, const char *metric, perf_step_fn step)
{
    struct perf *perf = probe->perf;
    const struct perf_options *options = perf->options;

    for (uint32_t i = 0; i < options->size_count; i++) {
        size_t bytes = options->sizes[i];
        uint64_t count =
                perf_iterations(perf, bytes, COPY_ITERATIONS, COPY_TOTAL_BYTES);
        struct perf_row row = {.metric = metric,
                               .unit = "B/s",
                               .bytes = bytes,
                               .has_bytes = true,
                               .extra_name = probe->chunk != 0 ? "chunk" : NULL,
                               .extra = probe->chunk};

        probe->bytes = bytes;
        if (perf_time_rate(perf, step, probe, count, (double)bytes,
                           &row.figure) != 0) {
            return -1;
        }
        perf_report_row(perf, &row);
    }
    return 0;
}

/* ------------------------------------------------------------------ memcpy */

static int step_memcpy(void *state)
{
    struct probe *probe = state;

    memcpy(probe->landing, probe->source, probe->bytes);
    __asm__ volatile("" : : "r"(probe->landing) : "memory");
    return 0;
}

int probe_memcpy(struct probe *probe)
{
    int result = buffers_open(probe, perf_size_max(probe->perf->options));

    if (result == 0) {
        result = run_sizes(probe, "memcpy", step_memcpy);
    }
    buffers_close(probe);
    return result;
}

/* -------------------------------------------------------- process_vm_readv */

/* The child's copy of the source stays where it is until it is told to end. */
static void child_idle(struct probe *probe)
{
    char end;

    close(probe->sockets[1]);
    perf_pattern(probe->source, perf_size_max(probe->perf->options), 2);
    while (read(probe->sockets[0], &end, 1) < 0 && errno == EINTR) {
    }
}

static int step_vm_read(void *state)
{
    struct probe *probe = state;
    struct iovec local = {probe->landing, probe->bytes};
    struct iovec remote = {probe->source, probe->bytes};
    ssize_t got = process_vm_readv(probe->child, &local, 1, &remote, 1, 0);

    if (got != (ssize_t)probe->bytes) {
        return perf_fail(probe->perf, "process_vm_readv of %zu bytes: %s",
                         probe->bytes, got < 0 ? strerror(errno) : "cut short");
    }
    return 0;
}

int probe_vm_read(struct probe *probe)
{
    size_t bytes_max = perf_size_max(probe->perf->options);
    int result = buffers_open(probe, bytes_max);

    if (result == 0 && pipe(probe->sockets) != 0) {
        result = perf_fail(probe->perf, "pipe: %s", strerror(errno));
    }
    if (result != 0 || probe_start(probe, 1, child_idle) != 0) {
        return -1;
    }
    close(probe->sockets[0]);
    probe->bytes = 1;
    if (step_vm_read(probe) != 0) {
        fprintf(stderr, "am_perf: %s; the probe is left out\n",
                probe->perf->error);
    } else {
        result = run_sizes(probe, "process_vm_readv", step_vm_read);
    }
    close(probe->sockets[1]); /* ends the child */
    if (probe_end(probe) != 0) {
        result = -1;
    }
    buffers_close(probe);
    return result;
}

/* ---------------------------------------------------------- pipelined copy */

struct ring {
    _Alignas(PROBE_LINE_BYTES) _Atomic uint64_t head;  /* chunks written */
    _Alignas(PROBE_LINE_BYTES) _Atomic uint64_t tail;  /* chunks read */
    _Alignas(PROBE_LINE_BYTES) _Atomic uint64_t bytes; /* of a message */
    _Alignas(4096) unsigned char slots[];
};

/* Wait until *at is `value` or more. */
static uint64_t await(_Atomic uint64_t *at, uint64_t value)
{
    for (;;) {
        for (uint32_t i = 0; i < PROBE_LOOKS; i++) {
            uint64_t seen = atomic_load_explicit(at, memory_order_acquire);

            if (seen >= value) {
                return seen;
            }
        }
        sched_yield(); /* the other is not on a core at all */
    }
}

static void child_read(struct probe *probe)
{
    struct ring *ring = probe->shared;
    size_t offset = 0;

    for (uint64_t tail = 0; await(&ring->head, tail + 1) != HEAD_STOP; tail++) {
        size_t bytes = atomic_load_explicit(&ring->bytes, memory_order_relaxed);
        size_t part = bytes - offset;

        part = part < probe->chunk ? part : probe->chunk;
        memcpy(probe->landing + offset,
               ring->slots + tail % RING_SLOTS * probe->chunk, part);
        atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
        offset = offset + part == bytes ? 0 : offset + part;
    }
}

/* One message through the ring; it ends when the child has read all. */
static int step_pipeline(void *state)
{
    struct probe *probe = state;
    struct ring *ring = probe->shared;
    uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);

    if (atomic_load_explicit(&ring->bytes, memory_order_relaxed) !=
        probe->bytes) {
        await(&ring->tail, head);
        atomic_store_explicit(&ring->bytes, probe->bytes, memory_order_relaxed);
    }
    for (size_t offset = 0; offset < probe->bytes;) {
        size_t part = probe->bytes - offset;

        part = part < probe->chunk ? part : probe->chunk;
        if (head >= RING_SLOTS) {
            await(&ring->tail, head + 1 - RING_SLOTS);
        }
        memcpy(ring->slots + head % RING_SLOTS * probe->chunk,
               probe->source + offset, part);
        head++;
        atomic_store_explicit(&ring->head, head, memory_order_release);
        offset += part;
    }
    return 0;
}

static int pipeline_chunk(struct probe *probe, size_t chunk)
{
    struct ring *ring;
    int result;

    probe->chunk = chunk;
    if (probe_start(probe, sizeof(*ring) + RING_SLOTS * chunk, child_read) !=
        0) {
        return -1;
    }
    ring = probe->shared;
    result = run_sizes(probe, "pipelined_copy", step_pipeline);
    await(&ring->tail, atomic_load(&ring->head));
    atomic_store(&ring->head, HEAD_STOP);
    if (probe_end(probe) != 0) {
        result = -1;
    }
    return result;
}

int probe_pipeline(struct probe *probe)
{
    int result = buffers_open(probe, perf_size_max(probe->perf->options));

    for (size_t chunk = CHUNK_BYTES_MIN;
         chunk <= CHUNK_BYTES_MAX && result == 0; chunk *= 2) {
        result = pipeline_chunk(probe, chunk);
    }
    probe->chunk = 0;
    buffers_close(probe);
    return result;
}
