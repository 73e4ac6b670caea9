/*
 * Trace: a ring of fixed 32-byte records for each context, written as
 * Chrome-trace JSON (opens in the Perfetto viewer).  Off by default; when off
 * the pointer that callers hold is NULL and a record costs one branch.
 */
#ifndef AM_BASE_TRACE_H
#define AM_BASE_TRACE_H

#include "base/env.h"

#include <stdio.h>

struct am_trace_record {
    uint64_t time_ps;
    uint32_t rank;
    uint16_t kind;  /* index of a registered name */
    uint16_t phase; /* 'i' instant, 'B' begin, 'E' end */
    uint64_t a, b;  /* the event's own numbers: peer, bytes... */
};

struct am_trace;

/* A ring of `record_count` records (rounded up to a power of two, at most 2^28);
 * the oldest are overwritten.  NULL when out of memory. */
struct am_trace *am_trace_open(struct am_env *env, uint32_t rank,
                               uint64_t record_count);
void am_trace_close(struct am_trace *trace);
/* Name of a kind; `name` static storage.  Kinds 0..1023. */
void am_trace_name(struct am_trace *trace, uint16_t kind, const char *name);
/* In the JSON form, records of `kind` are on track `tid` (at first 0); with
 * `by_b`, on track tid + (b >> 32). */
void am_trace_track(struct am_trace *trace, uint16_t kind, uint32_t tid,
                    bool by_b);
void am_trace_add(struct am_trace *trace, uint16_t kind, char phase, uint64_t a,
                  uint64_t b);
/* FNV-1a (over 64-bit words) of all records ever added: equal runs, equal
 * hashes. */
uint64_t am_trace_hash(const struct am_trace *trace);
/* Write the ring as a Chrome-trace JSON array.  0, or -1 with errno. */
int am_trace_write(const struct am_trace *trace, FILE *file);

static inline void am_trace_event(struct am_trace *trace, uint16_t kind,
                                  uint64_t a, uint64_t b)
{
    if (__builtin_expect(trace != NULL, 0)) {
        am_trace_add(trace, kind, 'i', a, b);
    }
}

#endif
