/*
 * Counters: printing of a table and its values.  Calls libc only.
 */
#include "base/stats.h"

#include <inttypes.h>

void am_stats_print(FILE *file, const char *prefix,
                    const struct am_stat_row *rows, const uint64_t *values,
                    uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (values[i] != 0) {
            fprintf(file, "%s %s %" PRIu64 " %s\n", prefix, rows[i].name,
                    values[i], rows[i].unit);
        }
    }
}
