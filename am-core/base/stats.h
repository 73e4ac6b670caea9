/*
 * Counters: one static table with name, unit and help, one uint64_t each in
 * the object that counts.  Counting is one add.
 */
#ifndef AM_BASE_STATS_H
#define AM_BASE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct am_stat_row {
    const char *name; /* "tx_eager" */
    const char *unit; /* "messages", "bytes" */
    const char *help; /* one sentence */
};

/* Print every non-zero counter, one a line, "prefix name value unit". */
void am_stats_print(FILE *file, const char *prefix,
                    const struct am_stat_row *rows, const uint64_t *values,
                    uint32_t count);

#endif
