/*
 * Failures, waiting and memory of am_perf's tests.
 */
#include "tools/perf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGN_BYTES = 4096
};

int perf_fail(struct perf *perf, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(perf->error, sizeof(perf->error), format, args);
    va_end(args);
    return -1;
}

int perf_ok(struct perf *perf, am_status_t status, const char *what)
{
    const char *why = am_error_text(perf->ctx);

    if (status >= 0) {
        return 0;
    }
    return perf_fail(perf, "%s: %s%s%s", what, am_status_text(status),
                     why[0] != '\0' ? ": " : "", why);
}

int perf_wait(struct perf *perf)
{
    int events = am_ctx_poll_wait(perf->ctx);

    return events < 0 ? perf_ok(perf, (am_status_t)events, "waiting") : 0;
}

int perf_handler(struct perf *perf, uint32_t index, am_handler_fn fn, void *arg,
                 const char *name)
{
    return perf_ok(perf, am_handler_register(perf->ctx, index, fn, arg, name),
                   "registering a handler");
}

void *perf_alloc(struct perf *perf, size_t bytes)
{
    size_t rounded = (bytes + ALIGN_BYTES) / ALIGN_BYTES * ALIGN_BYTES;
    void *data = bytes > SIZE_MAX - ALIGN_BYTES
                         ? NULL
                         : aligned_alloc(ALIGN_BYTES, rounded);

    if (data == NULL) {
        perf_fail(perf, "out of memory for a buffer of %zu bytes", bytes);
        return NULL;
    }
    memset(data, 0, rounded);
    return data;
}

size_t perf_size_max(const struct perf_options *options)
{
    size_t max = 0;

    for (uint32_t i = 0; i < options->size_count; i++) {
        max = options->sizes[i] > max ? options->sizes[i] : max;
    }
    return max;
}
