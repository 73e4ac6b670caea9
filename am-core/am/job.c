/*
 * How the contexts of a job find each other when they open.
 */
#include "am/ctx.h"

#include <stdio.h>
#include <stdlib.h>

#define PS_PER_MS UINT64_C(1000000000)

/* Wait until nobody needs anybody's help to send.  Devices do their part when
 * they are asked; they are not polled, as a rank that is through may send, and
 * the handlers for that are registered after am_open. */
static am_status_t job_wait(struct am_ctx *ctx, char *error, size_t error_bytes)
{
    uint64_t now_ps = am_env_now(ctx->env);
    uint64_t ms_max = (UINT64_MAX - now_ps) / PS_PER_MS;
    uint64_t ms = ctx->values.connect_timeout_ms;
    uint64_t deadline = now_ps + (ms < ms_max ? ms : ms_max) * PS_PER_MS;

    while (!am_connected(ctx)) {
        am_env_relax(ctx->env, 0);
        am_check_peers(ctx);
        if (ctx->stats[AM_STAT_PEERS_DEAD] != 0) {
            return AM_ERR_PEER; /* am_peer_dead wrote the sentence */
        }
        if (am_env_now(ctx->env) > deadline) {
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

am_status_t am_job_connect(struct am_ctx *ctx, const struct am_params *params,
                           char *error, size_t error_bytes)
{
    struct am_blob mine = {0}, *all; /* the zeros are no address */
    am_status_t status = am_address(ctx, &mine);

    all = malloc(ctx->size * sizeof(*all));
    if (all == NULL) {
        return AM_ERR_MEMORY;
    }
    am_env_explain(ctx->env, ctx_waits, ctx);
    am_env_outside(ctx->env);
    if (params->allgather(params->allgather_arg, &mine, all, sizeof(mine)) !=
        0) {
        snprintf(error, error_bytes, "exchanging addresses failed");
        status = AM_ERR_SYSTEM;
    }
    if (status == AM_OK) {
        status = am_connect_all(ctx, all);
    }
    free(all);
    return status == AM_OK ? job_wait(ctx, error, error_bytes) : status;
}
