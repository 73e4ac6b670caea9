/*
 * Trace: the ring of records, its hash, and its Chrome-trace JSON form.
 * Adding a record allocates nothing.  Calls base/env and libc only.
 */
#include "base/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#define TRACE_KIND_COUNT  1024
#define TRACE_RECORDS_MAX (UINT32_C(1) << 28)
#define FNV_OFFSET        UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME         UINT64_C(0x100000001b3)

struct am_trace {
    struct am_env *env;
    uint32_t rank;
    uint32_t mask;  /* record count - 1 */
    uint64_t added; /* records ever added */
    uint64_t hash;
    struct am_trace_record *records;
    const char *names[TRACE_KIND_COUNT];

    struct {
        uint32_t tid;
        bool by_b;
    } tracks[TRACE_KIND_COUNT];
};

_Static_assert(sizeof(struct am_trace_record) == 32, "records are 32 bytes");

struct am_trace *am_trace_open(struct am_env *env, uint32_t rank,
                               uint64_t record_count)
{
    struct am_trace *trace = calloc(1, sizeof(*trace));
    uint32_t count = 1;

    if (trace == NULL) {
        return NULL;
    }
    while (count < record_count && count < TRACE_RECORDS_MAX) {
        count *= 2;
    }
    trace->env = env;
    trace->rank = rank;
    trace->mask = count - 1;
    trace->hash = FNV_OFFSET;
    trace->records = calloc(count, sizeof(*trace->records));
    if (trace->records == NULL) {
        free(trace);
        return NULL;
    }
    return trace;
}

void am_trace_close(struct am_trace *trace)
{
    if (trace != NULL) {
        free(trace->records);
        free(trace);
    }
}

void am_trace_name(struct am_trace *trace, uint16_t kind, const char *name)
{
    if (kind < TRACE_KIND_COUNT) {
        trace->names[kind] = name;
    }
}

void am_trace_track(struct am_trace *trace, uint16_t kind, uint32_t tid,
                    bool by_b)
{
    if (kind < TRACE_KIND_COUNT) {
        trace->tracks[kind].tid = tid;
        trace->tracks[kind].by_b = by_b;
    }
}

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * FNV_PRIME;
}

void am_trace_add(struct am_trace *trace, uint16_t kind, char phase, uint64_t a,
                  uint64_t b)
{
    struct am_trace_record *record =
            &trace->records[trace->added & trace->mask];
    uint64_t hash = trace->hash;

    record->time_ps = am_env_now(trace->env);
    record->rank = trace->rank;
    record->kind = kind;
    record->phase = (uint16_t)(unsigned char)phase;
    record->a = a;
    record->b = b;
    hash = hash_word(hash, record->time_ps);
    hash = hash_word(hash, (uint64_t)record->rank << 32 | (uint64_t)kind << 16 |
                                   record->phase);
    hash = hash_word(hash, a);
    trace->hash = hash_word(hash, b);
    trace->added++;
}

uint64_t am_trace_hash(const struct am_trace *trace)
{
    return trace->hash;
}

/* Write a kind's name as the inside of a JSON string. */
static void write_name(const struct am_trace *trace, uint16_t kind, FILE *file)
{
    const char *name = kind < TRACE_KIND_COUNT ? trace->names[kind] : NULL;

    if (name == NULL) {
        fprintf(file, "kind %u", kind);
        return;
    }
    for (; *name != '\0'; name++) {
        unsigned char c = (unsigned char)*name;

        if (c < 0x20 || c >= 0x7f) {
            fprintf(file, "\\u%04x", c);
        } else if (c == '"' || c == '\\') {
            fprintf(file, "\\%c", c);
        } else {
            fputc(c, file);
        }
    }
}

static uint32_t record_tid(const struct am_trace *trace,
                           const struct am_trace_record *record)
{
    if (record->kind >= TRACE_KIND_COUNT) {
        return 0;
    }
    return trace->tracks[record->kind].tid +
           (trace->tracks[record->kind].by_b ? (uint32_t)(record->b >> 32) : 0);
}

static void write_record(const struct am_trace *trace,
                         const struct am_trace_record *record, FILE *file)
{
    char phase = record->phase == 'B' || record->phase == 'E'
                         ? (char)record->phase
                         : 'i';

    fputs("{\"name\":\"", file);
    write_name(trace, record->kind, file);
    fprintf(file,
            "\",\"ph\":\"%c\",%s\"ts\":%" PRIu64 ".%06" PRIu64
            ",\"pid\":%u,\"tid\":%u,\"args\":{\"a\":%" PRIu64 ",\"b\":%" PRIu64
            "}}",
            phase, phase == 'i' ? "\"s\":\"t\"," : "",
            record->time_ps / 1000000, record->time_ps % 1000000, record->rank,
            record_tid(trace, record), record->a, record->b);
}

int am_trace_write(const struct am_trace *trace, FILE *file)
{
    uint64_t capacity = (uint64_t)trace->mask + 1;
    uint64_t i = trace->added > capacity ? trace->added - capacity : 0;

    fputs("[\n", file);
    while (i < trace->added) {
        write_record(trace, &trace->records[i & trace->mask], file);
        i++;
        fputs(i < trace->added ? ",\n" : "\n", file);
    }
    fputs("]\n", file);
    return fflush(file) == 0 && !ferror(file) ? 0 : -1;
}
