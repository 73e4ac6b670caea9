/*
 * Log: levels, one sink for each context.  Nothing is printed unless AM_LOG
 * asks for it ("error", "warn", ... or "debug:/path/%r" with %r the rank).
 * The default level is warn: a healthy run prints nothing.  A file that cannot
 * be written any more is given up for stderr, which says so.
 */
#ifndef AM_BASE_LOG_H
#define AM_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
    AM_LOG_NONE,
    AM_LOG_ERROR,
    AM_LOG_WARN,
    AM_LOG_INFO,
    AM_LOG_DEBUG,
    AM_LOG_TRACE,
    AM_LOG_DATA,
} am_log_level_t;

struct am_log {
    am_log_level_t level;
    uint32_t rank;
    FILE *file; /* stderr, or owned by the log */
};

/* Parse the value of AM_LOG and open its file.  Returns 0, or -1 with one
 * sentence in `error`. */
int am_log_open(struct am_log *log, const char *spec, uint32_t rank,
                char *error, size_t error_bytes);
void am_log_close(struct am_log *log);

/* A file for output that a variable names: %r is the rank, "-" is stderr.  It is
 * empty but for what was written to it before, by this process and with
 * `together`, if this is, too.  NULL with errno when it cannot be written. */
FILE *am_log_output_open(const char *name, uint32_t rank, bool together);
/* 0, or -1 with errno when not all that was written to it has got there. */
int am_log_output_close(FILE *file);

void am_log_write(struct am_log *log, am_log_level_t level, const char *format,
                  ...) __attribute__((format(printf, 3, 4)));

#define am_log(_log, _level, ...)                         \
    do {                                                  \
        struct am_log *log_ = (_log);                     \
        am_log_level_t level_ = (_level);                 \
        if (__builtin_expect(level_ <= log_->level, 0)) { \
            am_log_write(log_, level_, __VA_ARGS__);      \
        }                                                 \
    } while (0)

#endif
