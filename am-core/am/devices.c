/*
 * The devices of a context: which ones open, and which of them a peer is
 * reached by.
 */
#include "config.h"

#include "am/cost.h"
#include "am/costs.h"
#include "am/ctx.h"
#include "am/devices.h"

#include "chan/chan.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ opening */

static bool devices_are_auto(const struct am_ctx *ctx)
{
    return strcmp(ctx->values.devices, "auto") == 0;
}

/* Is `name` in the list AM_DEVICES? */
static bool is_named(const struct am_ctx *ctx, const char *name)
{
    size_t length = strlen(name);

    for (const char *at = ctx->values.devices; *at != '\0';) {
        size_t part = strcspn(at, ",");

        if (part == length && strncmp(at, name, length) == 0) {
            return true;
        }
        at += part + (at[part] == ',');
    }
    return false;
}

/* The list "auto" is the simulated NIC on a simulated host; else it is all but
 * that and those that want to be named, first those within the host, then, if
 * need be, the `far` ones. */
static bool device_wanted(const struct am_ctx *ctx,
                          const struct am_dev_ops *ops, bool far)
{
    bool is_sim = ops->number == AM_DEV_NUMBER_SIM;

    if (!devices_are_auto(ctx)) {
        return !far && is_named(ctx, ops->name);
    }
    return ctx->env->port != NULL
                   ? is_sim && !far
                   : !is_sim && !ops->named && ops->far == far;
}

/* What a short message costs by this device, as peers are told of it. */
static uint32_t short_ns(const struct am_dev *dev)
{
    uint64_t ns = am_cost_short_ps(&dev->attr.perf) / 1000;

    return ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* Open one with what belongs around it; its slot is taken when it is open. */
static am_status_t device_open(struct am_ctx *ctx, const struct am_dev_ops *ops,
                               char *error, size_t error_bytes)
{
    struct am_dev_slot *slot = &ctx->slots[ctx->slot_count];
    struct am_dev_params params = {
            .env = ctx->env,
            .log = &ctx->log,
            .rank = ctx->rank,
            .size = ctx->size,
            .nonce = ctx->nonce,
            .values = am_ctx_values(ctx, ops->config),
            .up = {ctx, am_dispatch, NULL, am_peer_accept, am_peer_dead,
                   am_costs_changed},
            .stats = slot->stats,
            .profile = &ctx->profile,
            .learn = (am_learn_t)ctx->values.learn,
            .wait = (am_wait_t)ctx->values.wait,
            .error = error,
            .error_bytes = error_bytes,
    };
    struct am_dev *dev;
    am_status_t status;

    if (ops->number == AM_DEV_NUMBER_SELF) {
        status = ops->open(&params, &dev);
        if (status == AM_OK) {
            dev->bottom = ops;
            ctx->self = dev;
        }
    } else {
        status = am_dev_stack_open(ops, &params,
                                   am_ctx_values(ctx, &am_chan_config), &dev);
        if (status == AM_OK) {
            ctx->devs[ctx->dev_count++] = dev;
        }
    }
    if (status == AM_OK) {
        slot->ops = ops;
        slot->short_ns = short_ns(dev);
        ctx->slot_count++;
    } else {
        memset(slot->stats, 0, sizeof(slot->stats));
    }
    return status;
}

/* A device that nobody named may be missing: what this machine has not, or does
 * not give. */
static bool may_be_left_out(const struct am_ctx *ctx, am_status_t status)
{
    return devices_are_auto(ctx) &&
           (status == AM_ERR_UNSUPPORTED || status == AM_ERR_SYSTEM);
}

/* Open one that is wanted, or tell the log why it is left out: *left_out_p. */
static am_status_t device_try(struct am_ctx *ctx, const struct am_dev_ops *ops,
                              am_status_t *left_out_p, char *error,
                              size_t error_bytes)
{
    am_status_t status;

    AM_CHECK(ctx->slot_count < AM_DEVS_MAX);
    if (ops->number != AM_DEV_NUMBER_SELF && ctx->env->port != NULL &&
        ops->number != AM_DEV_NUMBER_SIM) {
        snprintf(error, error_bytes,
                 "AM_DEVICES asks for %s, which a simulated host does not "
                 "have; it has sim",
                 ops->name);
        return AM_ERR_UNSUPPORTED;
    }
    status = device_open(ctx, ops, error, error_bytes);
    if (status == AM_OK || !may_be_left_out(ctx, status)) {
        return status;
    }
    *left_out_p = status;
    am_log(&ctx->log, status == AM_ERR_UNSUPPORTED ? AM_LOG_INFO : AM_LOG_WARN,
           "the device %s is left out: %s", ops->name,
           error_bytes > 0 && error[0] != '\0' ? error
                                               : am_status_text(status));
    return AM_OK;
}

am_status_t am_devices_open(struct am_ctx *ctx, char *error, size_t error_bytes)
{
    am_status_t left_out = AM_OK;

    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        const struct am_dev_ops *ops = am_dev_table[i];
        am_status_t status = AM_OK;

        if (ops->number == AM_DEV_NUMBER_SELF ||
            device_wanted(ctx, ops, false)) {
            status = device_try(ctx, ops, &left_out, error, error_bytes);
        }
        if (status != AM_OK) {
            return status;
        }
    }
    if (ctx->dev_count == 0 && ctx->size > 1) {
        return left_out; /* AM_DEVICES may name self alone */
    }
    if (ctx->dev_count > 0) {
        am_device_use(ctx, ctx->devs[0]);
    }
    if (error_bytes > 0) {
        error[0] = '\0';
    }
    return AM_OK;
}

bool am_devices_wait(const struct am_ctx *ctx)
{
    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        if (device_wanted(ctx, am_dev_table[i], true)) {
            return true;
        }
    }
    return false;
}

am_status_t am_devices_open_far(struct am_ctx *ctx, char *error,
                                size_t error_bytes)
{
    uint32_t count = ctx->dev_count;
    am_status_t left_out = AM_OK;

    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        am_status_t status =
                !device_wanted(ctx, am_dev_table[i], true)
                        ? AM_OK
                        : device_try(ctx, am_dev_table[i], &left_out, error,
                                     error_bytes);

        if (status != AM_OK) {
            return status;
        }
    }
    if (ctx->dev_count == count) {
        return left_out;
    }
    if (error_bytes > 0) {
        error[0] = '\0';
    }
    return AM_OK;
}

/* ---------------------------------------------------------------------- use */

void am_device_use(struct am_ctx *ctx, struct am_dev *dev)
{
    for (uint32_t i = 0; i < ctx->used_count; i++) {
        if (ctx->used[i].dev == dev) {
            return;
        }
    }
    ctx->used[ctx->used_count++] = (struct am_dev_poll){
            .dev = dev, .short_ns = am_device_slot(ctx, dev)->short_ns};
}

void am_devices_use(struct am_ctx *ctx)
{
    const void *address;
    size_t bytes;

    ctx->used_count = 0;
    for (uint32_t i = 0; i < ctx->peer_count; i++) {
        struct am_dev *dev = NULL;

        if (ctx->peers[i] != NULL) {
            dev = ctx->peers[i]->dev;
        } else if (i < ctx->size && i != ctx->rank) {
            dev = am_device_for(ctx, ctx->blobs[i], &address, &bytes);
        }
        if (dev != NULL) {
            am_device_use(ctx, dev);
        }
    }
    if (ctx->used_count == 0 && ctx->dev_count > 0) {
        am_device_use(ctx, ctx->devs[0]);
    }
}

/* ----------------------------------------------------------------- choosing */

const struct am_dev_slot *am_device_slot(const struct am_ctx *ctx,
                                         const struct am_dev *dev)
{
    for (uint32_t i = 0; i < ctx->slot_count; i++) {
        if (ctx->slots[i].ops == dev->bottom) {
            return &ctx->slots[i];
        }
    }
    AM_CHECK(false);
    return NULL;
}

struct am_dev *am_device_for(const struct am_ctx *ctx,
                             const struct am_blob *blob, const void **address_p,
                             size_t *bytes_p)
{
    struct am_dev *best = NULL;
    uint32_t best_ns = 0;

    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        struct am_dev *dev = ctx->devs[i];
        struct am_blob_part part;
        const void *address = am_blob_part(blob, dev, &part);
        uint32_t ns;

        if (dev == ctx->self || address == NULL ||
            !dev->ops->reachable(dev, address, part.bytes)) {
            continue;
        }
        ns = am_device_slot(ctx, dev)->short_ns;
        ns = ns > part.short_ns ? ns : part.short_ns;
        if (best == NULL || ns < best_ns) {
            best = dev;
            best_ns = ns;
            *address_p = address;
            *bytes_p = part.bytes;
        }
    }
    return best;
}
