/*
 * What it costs to reach a peer: the profile that costs begin with, and the
 * meters that they follow.
 */
#include "config.h"

#include "am/costs.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct am_dev_perf *am_peer_perf(const struct am_peer *peer)
{
    return peer->ep != NULL && peer->ep->meter != NULL ? &peer->ep->meter->perf
                                                       : &peer->dev->attr.perf;
}

void am_costs_changed(void *arg)
{
    struct am_ctx *ctx = arg;

    ctx->costs = true;
    ctx->attention = true;
}

void am_costs_tell(struct am_ctx *ctx)
{
    ctx->costs = false;
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        if (am_modules[i]->costs_changed != NULL) {
            am_modules[i]->costs_changed(ctx);
        }
    }
}

/* ---------------------------------------------------------------- profiles */

bool am_profile_path(char *path, size_t bytes)
{
    const char *base = am_config_getenv("XDG_CONFIG_HOME");
    const char *home = am_config_getenv("HOME");
    char host[64];

    if (gethostname(host, sizeof(host)) != 0 ||
        ((base == NULL || base[0] != '/') &&
         (home == NULL || home[0] != '/'))) {
        return false;
    }
    host[sizeof(host) - 1] = '\0';
    if (base != NULL && base[0] == '/') {
        return snprintf(path, bytes, "%s/libam/profile-%s", base, host) <
               (int)bytes;
    }
    return snprintf(path, bytes, "%s/.config/libam/profile-%s", home, host) <
           (int)bytes;
}

/* One that nobody asked for is never worse than none: what is wrong with it, or
 * does not fit, is said, and it is left. */
static void profile_find(struct am_ctx *ctx)
{
    const char *paths[2] = {NULL, AM_SYSCONFDIR "/libam/profile"};
    char own[512], error[512];
    am_status_t status = AM_ERR_SYSTEM;

    paths[0] = am_profile_path(own, sizeof(own)) ? own : paths[1];
    for (int i = 0; i < 2 && status == AM_ERR_SYSTEM; i++) {
        status = am_profile_read(paths[i], &ctx->profile, error, sizeof(error));
        if (status == AM_ERR_CONFIG) {
            am_log(&ctx->log, AM_LOG_WARN, "%s; it is not used", error);
        } else if (status == AM_OK) {
            snprintf(ctx->profile_path, sizeof(ctx->profile_path), "%s",
                     paths[i]);
        }
    }
}

am_status_t am_profile_open(struct am_ctx *ctx, char *error, size_t error_bytes)
{
    const char *value = ctx->values.profile;
    bool automatic = strcmp(value, "auto") == 0;
    char shown[AM_CONFIG_TEXT_BYTES];

    if (ctx->env->simulated || strcmp(value, "none") == 0) {
        return AM_OK;
    }
    if (automatic) {
        profile_find(ctx);
    } else {
        am_status_t status =
                am_profile_read(value, &ctx->profile, error, error_bytes);

        if (status == AM_ERR_SYSTEM) {
            const char *why =
                    errno != 0 ? strerror(errno) : "it is no regular file";

            am_text_show(value, shown, sizeof(shown));
            snprintf(error, error_bytes,
                     "AM_PROFILE names %s, which cannot be read: %s; accepted: "
                     "auto, none, or a file that am_tune has written",
                     shown, why);
        }
        if (status != AM_OK) {
            return AM_ERR_CONFIG;
        }
        snprintf(ctx->profile_path, sizeof(ctx->profile_path), "%s", value);
    }
    if (ctx->profile_path[0] != '\0' && !am_profile_fits(&ctx->profile)) {
        am_log(&ctx->log, automatic ? AM_LOG_INFO : AM_LOG_WARN,
               "the profile %s was measured on another kind of machine (%s, "
               "%llu CPUs) and is not used",
               ctx->profile_path, ctx->profile.processor,
               (unsigned long long)ctx->profile.cpus);
        ctx->profile_path[0] = '\0';
    }
    if (ctx->profile_path[0] == '\0') {
        memset(&ctx->profile, 0, sizeof(ctx->profile));
    }
    return AM_OK;
}
