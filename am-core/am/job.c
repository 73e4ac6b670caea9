/*
 * How the contexts of a job find each other when they open.
 */
#include "am/ctx.h"
#include "am/devices.h"

#include <stdio.h>
#include <stdlib.h>

#define PS_PER_MS UINT64_C(1000000000)

/* Why a device will never be connected; NULL: it may be. */
static const char *device_error(const struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        if (ctx->devs[i]->error != NULL) {
            return ctx->devs[i]->error;
        }
    }
    return NULL;
}

/* When the wait for others is over; UINT64_MAX: never. */
static uint64_t deadline_ps(const struct am_ctx *ctx)
{
    uint64_t now_ps = am_env_now(ctx->env);
    uint64_t ms = ctx->values.connect_timeout_ms;

    return ms == 0 || ms > (UINT64_MAX - now_ps) / PS_PER_MS
                   ? UINT64_MAX
                   : now_ps + ms * PS_PER_MS;
}

/* Wait until nobody needs anybody's help to send.  Devices do their part when
 * they are asked; they are not polled, as a rank that is through may send, and
 * the handlers for that are registered after am_open. */
static am_status_t job_wait(struct am_ctx *ctx, char *error, size_t error_bytes)
{
    uint64_t over_ps = deadline_ps(ctx);

    while (!am_connected(ctx)) {
        const char *why = device_error(ctx);

        if (why != NULL) {
            snprintf(error, error_bytes, "%s", why);
            return AM_ERR_SYSTEM;
        }
        am_env_relax(ctx->env, 0);
        am_check_peers(ctx);
        if (ctx->stats[AM_STAT_PEERS_DEAD] != 0) {
            return AM_ERR_PEER; /* am_peer_dead wrote the sentence */
        }
        if (am_env_now(ctx->env) > over_ps) {
            snprintf(error, error_bytes,
                     "not all ranks of this node connected within %llu ms",
                     (unsigned long long)ctx->values.connect_timeout_ms);
            return AM_ERR_PEER;
        }
    }
    return AM_OK;
}

/* For the environment, when nothing happens in it any more. */
static size_t ctx_waits(void *arg, char *text, size_t bytes)
{
    return am_describe(arg, "waits", text, bytes);
}

static am_status_t exchange(const struct am_params *params,
                            const struct am_blob *mine, struct am_blob *all,
                            char *error, size_t error_bytes)
{
    if (params->allgather(params->allgather_arg, mine, all, sizeof(*mine)) !=
        0) {
        snprintf(error, error_bytes, "exchanging addresses failed");
        return AM_ERR_SYSTEM;
    }
    return AM_OK;
}

/* Is there a rank that no open device reaches, and could every rank open more?
 * All ranks find the same: a device within hosts reaches all that are on one
 * host, and nobody else. */
static bool job_needs_more(const struct am_ctx *ctx, const struct am_blob *all)
{
    bool reached = true;

    for (uint32_t rank = 0; rank < ctx->size; rank++) {
        struct am_blob blob;
        const void *address;
        size_t bytes;

        if (am_blob_read(&all[rank], sizeof(blob), &blob) != AM_OK ||
            (blob.flags & AM_BLOB_MORE) == 0) {
            return false;
        }
        reached = reached && (rank == ctx->rank ||
                              am_device_for(ctx, &blob, &address, &bytes) !=
                                      NULL);
    }
    return !reached;
}

/* Open what AM_DEVICES=auto left for the ranks of other hosts, and tell all of
 * it.  Who cannot says nothing to the others, and why to who opens it. */
static am_status_t job_add_far(struct am_ctx *ctx,
                               const struct am_params *params,
                               struct am_blob *all, char *error,
                               size_t error_bytes)
{
    struct am_blob mine = {0};
    am_status_t status = am_devices_open_far(ctx, error, error_bytes);
    am_status_t exchanged;
    char other[64];

    if (status == AM_OK) {
        status = am_address(ctx, &mine);
    }
    exchanged = exchange(params, &mine, all, status == AM_OK ? error : other,
                         status == AM_OK ? error_bytes : sizeof(other));
    return status == AM_OK ? exchanged : status;
}

am_status_t am_job_connect(struct am_ctx *ctx, const struct am_params *params,
                           char *error, size_t error_bytes)
{
    struct am_blob mine = {0}, *all; /* the zeros are no address */
    am_status_t status = am_address(ctx, &mine), exchanged;

    all = malloc(ctx->size * sizeof(*all));
    if (all == NULL) {
        return AM_ERR_MEMORY;
    }
    am_env_explain(ctx->env, ctx_waits, ctx);
    am_env_outside(ctx->env);
    exchanged = exchange(params, &mine, all, error, error_bytes);
    status = exchanged != AM_OK ? exchanged : status;
    if (status == AM_OK && job_needs_more(ctx, all)) {
        status = job_add_far(ctx, params, all, error, error_bytes);
    }
    if (status == AM_OK) {
        status = am_connect_all(ctx, all);
    }
    free(all);
    return status == AM_OK ? job_wait(ctx, error, error_bytes) : status;
}
