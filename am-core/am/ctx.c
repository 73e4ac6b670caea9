/*
 * A context's life: variables, devices, modules, addresses, close.
 */
#include "config.h"

#include "am/costs.h"
#include "am/counters.h"
#include "am/devices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>


static void warn_log(void *arg, const char *text)
{
    am_log((struct am_log *)arg, AM_LOG_WARN, "%s", text);
}

/* Read every table, so that each bad value is found whatever is used. */
static am_status_t variables_load(struct am_ctx *ctx,
                                  const struct am_params *params, char *error,
                                  size_t error_bytes)
{
    const struct am_config_table *tables[AM_TABLES_MAX];
    size_t value_bytes[AM_TABLES_MAX];
    uint32_t count = am_config_tables(tables, value_bytes);

    for (uint32_t i = 0; i < count; i++) {
        am_status_t status;

        ctx->table_values[i] = calloc(1, value_bytes[i]);
        if (ctx->table_values[i] == NULL) {
            return AM_ERR_MEMORY;
        }
        status =
                am_config_load(tables[i], ctx->table_values[i], params->options,
                               params->option_count, error, error_bytes);
        if (status != AM_OK) {
            return status;
        }
    }
    ctx->values = *(struct am_values *)ctx->table_values[0];
    if (am_log_open(&ctx->log, ctx->values.log, params->rank, error,
                    error_bytes) != 0) {
        return AM_ERR_CONFIG;
    }
    if (params->rank == 0) {
        am_config_check_names(tables, count, params->options,
                              params->option_count, warn_log, &ctx->log);
    }
    return am_profile_open(ctx, error, error_bytes);
}

static am_status_t modules_open(struct am_ctx *ctx)
{
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        const struct am_module *module = am_modules[i];
        am_status_t status;

        ctx->module_stats[i] = calloc(module->stat_count + 1, sizeof(uint64_t));
        if (ctx->module_stats[i] == NULL) {
            return AM_ERR_MEMORY;
        }
        status = module->open(ctx, i, am_ctx_values(ctx, module->config),
                              ctx->module_stats[i]);
        if (status != AM_OK) {
            return status;
        }
    }
    return AM_OK;
}

static void pools_open(struct am_ctx *ctx)
{
    am_pool_init(&ctx->pools[0], sizeof(struct am_bulk), 0, 16, AM_OPS_MAX);
    am_pool_init(&ctx->pools[1], AM_ONE_BYTES, 0, 16, AM_OPS_MAX);
    am_pool_init(&ctx->pools[2], AM_SEND_BYTES, 0, 16, AM_OPS_MAX);
    ctx->bulk_pool = &ctx->pools[0];
    ctx->one_pool = &ctx->pools[1];
    ctx->send_pool = &ctx->pools[2];
}

static struct am_ctx *ctx_new(const struct am_params *params,
                              struct am_env *env)
{
    struct am_ctx *ctx = aligned_alloc(64, (sizeof(*ctx) + 63) / 64 * 64);

    if (ctx == NULL) {
        return NULL;
    }
    memset(ctx, 0, sizeof(*ctx));
    ctx->token.ctx = ctx;
    ctx->env = env;
    ctx->attends = ctx->attention = ctx->env->simulated;
    ctx->watched = ctx->env->simulated;
    ctx->rank = params->rank;
    ctx->size = params->size;
    ctx->nonce = am_env_random(ctx->env);
    am_list_init(&ctx->busy);
    am_list_init(&ctx->finished);
    am_list_init(&ctx->public_regions);
    am_list_init(&ctx->manys);
    am_list_init(&ctx->deferred);
    am_forked_watch(ctx);
    pools_open(ctx);
    ctx->peer_max = ctx->size;
    ctx->peer_count = ctx->size;
    ctx->peers = calloc(ctx->size, sizeof(struct am_peer *));
    return ctx;
}

am_status_t am_variables_check(char *error, size_t error_bytes)
{
    /* The last rank: what rank 0 says once is not said here as well. */
    struct am_params params = {.rank = 1, .size = 2};
    struct am_ctx *ctx = ctx_new(&params, am_env_real());
    am_status_t status;

    if (ctx == NULL || ctx->peers == NULL) {
        snprintf(error, error_bytes, "%s", am_status_text(AM_ERR_MEMORY));
        status = AM_ERR_MEMORY;
    } else {
        status = variables_load(ctx, &params, error, error_bytes);
        ctx->values.stats[0] = '\0'; /* there is nothing to count */
    }
    am_close(ctx);
    return status;
}

/* Bring a new context up, step by step; on failure am_close undoes it. */
static am_status_t ctx_start(struct am_ctx *ctx, const struct am_params *params,
                             char *error, size_t error_bytes)
{
    am_status_t status = ctx->peers == NULL ? AM_ERR_MEMORY : AM_OK;

    if (status == AM_OK) {
        status = variables_load(ctx, params, error, error_bytes);
    }
    if (status == AM_OK && ctx->values.trace[0] != '\0') {
        ctx->trace =
                am_trace_open(ctx->env, ctx->rank, ctx->values.trace_records);
        ctx->watched = ctx->watched || ctx->trace != NULL;
        if (ctx->trace == NULL) {
            am_log(&ctx->log, AM_LOG_WARN,
                   "no trace: there is no memory for %zu records "
                   "(AM_TRACE_RECORDS)",
                   ctx->values.trace_records);
        }
    }
    if (status == AM_OK) {
        am_peer_init(ctx);
        am_bulk_init(ctx);
        am_onesided_init(ctx);
        am_client_init(ctx);
        status = am_devices_open(ctx, error, error_bytes);
    }
    if (status == AM_OK) {
        status = modules_open(ctx);
    }
    if (status == AM_OK && params->allgather != NULL) {
        status = am_job_connect(ctx, params, error, error_bytes);
    }
    return status;
}

/* What failed to open: peers that did open are not to wait for it. */
static void ctx_abandon(struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        ctx->devs[i]->abandoned = true;
    }
    am_close(ctx);
}

static am_status_t ctx_open(const struct am_params *params,
                            struct am_ctx **ctx_p)
{
    char local_error[512] = "";
    char *error = params->error != NULL ? params->error : local_error;
    size_t error_bytes =
            params->error != NULL ? params->error_bytes : sizeof(local_error);
    struct am_env *env;
    struct am_ctx *ctx;
    am_status_t status;

    if (error_bytes > 0) {
        error[0] = '\0';
    }
    if (params->size < 1 || params->rank >= params->size) {
        snprintf(error, error_bytes, "rank %u of a job of %u ranks",
                 params->rank, params->size);
        return AM_ERR_INVALID;
    }
    env = am_env_find(params, error, error_bytes);
    ctx = env == NULL ? NULL : ctx_new(params, env);
    if (ctx == NULL) {
        return env == NULL ? AM_ERR_SYSTEM : AM_ERR_MEMORY;
    }
    status = ctx_start(ctx, params, error, error_bytes);
    if (status != AM_OK) {
        if (error_bytes > 0 && error[0] == '\0') {
            snprintf(error, error_bytes, "%s",
                     ctx->error[0] != '\0' ? ctx->error
                                           : am_status_text(status));
        }
        ctx_abandon(ctx);
        return status;
    }
    am_env_outside(ctx->env); /* the program may have more to start */
    *ctx_p = ctx;
    return AM_OK;
}

/* Of libam 0.1. */
#define PARAMS_BYTES_FIRST \
    (offsetof(struct am_params, error_bytes) + sizeof(size_t))

static bool is_zero(const char *from, const char *end)
{
    while (from < end && *from == 0) {
        from++;
    }
    return from >= end;
}

am_status_t am_open_sized(const struct am_params *params, size_t params_bytes,
                          struct am_ctx **ctx_p)
{
    const char *from = (const char *)params;
    struct am_params known = {0};

    if (params_bytes < PARAMS_BYTES_FIRST) {
        return AM_ERR_INVALID;
    }
    memcpy(&known, params,
           params_bytes < sizeof(known) ? params_bytes : sizeof(known));
    if (!is_zero(from + sizeof(known), from + params_bytes)) {
        if (known.error != NULL) {
            snprintf(known.error, known.error_bytes,
                     "the program sets a field of am_params that libam %s does "
                     "not know",
                     am_version());
        }
        return AM_ERR_UNSUPPORTED;
    }
    return ctx_open(&known, ctx_p);
}

am_status_t(am_open)(const struct am_params *params, struct am_ctx **ctx_p)
{
    return am_open_sized(params, PARAMS_BYTES_FIRST, ctx_p);
}

void am_close(struct am_ctx *ctx)
{
    if (ctx == NULL) {
        return;
    }
    am_forked_close(ctx);
    if (!ctx->forked.is) {
        am_ctx_stats_write(ctx);
    }
    am_peers_drop_ops(ctx);
    for (uint32_t i = 0; am_modules[i] != NULL; i++) {
        /* am_open may not have come to it, or it could not open */
        if (ctx->modules.data[i] != NULL) {
            am_modules[i]->close(ctx, i);
        }
    }
    am_peers_close(ctx);
    while (!am_list_is_empty(&ctx->public_regions)) {
        am_region_deregister(ctx, am_container(ctx->public_regions.next,
                                               struct am_region, link));
    }
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        if (ctx->devs[i] != ctx->self) {
            ctx->devs[i]->ops->close(ctx->devs[i]);
        }
    }
    if (ctx->self != NULL) {
        ctx->self->ops->close(ctx->self);
    }
    am_client_fini(ctx);
    am_posts_close(ctx);
    am_events_close(ctx);
    for (int i = 0; i < 3; i++) {
        am_pool_fini(&ctx->pools[i]);
    }
    for (int i = 0; i < AM_TABLES_MAX; i++) {
        free(ctx->table_values[i]);
    }
    for (int i = 0; i < AM_MODULES_MAX; i++) {
        free(ctx->module_stats[i]);
    }
    if (ctx->trace != NULL) {
        am_trace_close(ctx->trace);
    }
    am_log_close(&ctx->log);
    am_env_end(ctx->env);
    free(ctx->handles);
    free(ctx->blobs);
    free(ctx);
}

uint32_t am_rank(const struct am_ctx *ctx)
{
    return ctx->rank;
}

uint32_t am_size(const struct am_ctx *ctx)
{
    return ctx->size;
}

const char *am_error_text(const struct am_ctx *ctx)
{
    return ctx->error;
}

void am_module_set_data(struct am_ctx *ctx, uint32_t slot, void *data)
{
    ctx->modules.data[slot] = data;
}

const struct am_dev *am_ctx_device(const struct am_ctx *ctx, uint32_t index)
{
    return index < ctx->dev_count ? ctx->devs[index] : NULL;
}

struct am_env *am_ctx_env(struct am_ctx *ctx)
{
    return ctx->env;
}

struct am_log *am_ctx_log(struct am_ctx *ctx)
{
    return &ctx->log;
}

struct am_trace *am_ctx_trace(struct am_ctx *ctx)
{
    return ctx->trace;
}
