/*
 * Values of variables as text; between config.c and config_value.c.
 */
#ifndef AM_BASE_CONFIG_VALUE_H
#define AM_BASE_CONFIG_VALUE_H

#include "base/config.h"

/* Parse `text` by the row's type into its field at `field`, which is written
 * only when AM_OK is returned; else AM_ERR_CONFIG.  Does not run the check. */
am_status_t am_config_parse_row(const struct am_config_row *row,
                                const char *text, void *field);

/* What the row's type accepts, in words, cut to `bytes` with its end. */
void am_config_describe_accepted(const struct am_config_row *row, char *to,
                                 size_t bytes);

#endif
