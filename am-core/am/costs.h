/*
 * What it costs to reach peers: when it changes, and the profile that it begins
 * with.
 */
#ifndef AM_AM_COSTS_H
#define AM_AM_COSTS_H

#include "am/ctx.h"

/* A device's upcall `costs`: the next poll tells the modules. */
void am_costs_changed(void *arg);
void am_costs_tell(struct am_ctx *ctx);
/* Read the profile that AM_PROFILE names or that is there, if it fits, to
 * ctx->profile.  AM_ERR_CONFIG: `error` says what is wrong with a named one. */
am_status_t am_profile_open(struct am_ctx *ctx, char *error,
                            size_t error_bytes);

#endif
