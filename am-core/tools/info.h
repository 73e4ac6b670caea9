/*
 * am_info's inside: what is asked for, and the parts that both kinds of output
 * share.
 */
#ifndef AM_TOOLS_INFO_H
#define AM_TOOLS_INFO_H

#include <am.h>
#include <stdbool.h>

struct info_options {
    bool version, variables, devices, protocols, collectives, json, markdown;
};

/* How this build was configured, as words. */
const char *info_build_kind(void);
const char *info_build_sim(void);

typedef void (*info_variable_fn)(const struct am_variable_info *info,
                                 void *arg);
/* Call `fn` for each variable with its value in `ctx`, NULL: its default. */
void info_variables_each(struct am_ctx *ctx, info_variable_fn fn, void *arg);

/* Print all that is asked for as one JSON object.  `text` is scratch. */
void info_json_print(const struct info_options *options, struct am_ctx *ctx,
                     char *text, size_t text_bytes);

#endif
