/*
 * Counters of a context and of its devices.
 */
#ifndef AM_AM_COUNTERS_H
#define AM_AM_COUNTERS_H

#include "am/ctx.h"

extern const struct am_stat_row am_ctx_stat_rows[];
extern const struct am_stat_row am_dev_stat_rows[];
/* Write counters and trace to the files that AM_STATS and AM_TRACE name. */
void am_ctx_stats_write(struct am_ctx *ctx);

#endif
