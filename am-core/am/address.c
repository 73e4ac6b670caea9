/*
 * Address blobs: what a context tells of itself, and what the job's ranks told.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

am_status_t am_address(struct am_ctx *ctx, void *to)
{
    struct am_blob blob = {
            .magic = AM_BLOB_MAGIC, .rank = ctx->rank, .nonce = ctx->nonce};
    size_t at = 0;

    for (uint32_t i = 0, part = 0; i < ctx->dev_count && part < AM_BLOB_PARTS;
         i++) {
        struct am_dev *dev = ctx->devs[i];
        size_t bytes;

        if (dev == ctx->self) {
            continue;
        }
        bytes = dev->ops->address(dev, blob.parts + at,
                                  sizeof(blob.parts) - at);
        blob.dev[part] = (uint8_t)dev->ops->name[0];
        blob.bytes[part++] = (uint8_t)bytes;
        at += bytes;
    }
    memcpy(to, &blob, sizeof(blob));
    return AM_OK;
}

am_status_t am_connect_all(struct am_ctx *ctx, const void *blobs)
{
    size_t bytes = ctx->size * sizeof(struct am_blob);
    const void **parts = calloc(ctx->size, sizeof(*parts));
    size_t *part_bytes = calloc(ctx->size, sizeof(*part_bytes));
    am_status_t status = AM_OK;

    if (ctx->forked.is) {
        status = am_forked_refuse(ctx);
        goto out;
    }
    ctx->blobs = malloc(bytes);
    if (ctx->blobs == NULL || parts == NULL || part_bytes == NULL) {
        status = AM_ERR_MEMORY;
        goto out;
    }
    memcpy(ctx->blobs, blobs, bytes);
    for (uint32_t rank = 0; rank < ctx->size; rank++) {
        if (ctx->blobs[rank].magic != AM_BLOB_MAGIC ||
            ctx->blobs[rank].rank != rank) {
            snprintf(ctx->error, sizeof(ctx->error),
                     "the address of rank %u is not one of this library", rank);
            status = AM_ERR_INVALID;
            goto out;
        }
    }
    for (uint32_t i = 0; i < ctx->dev_count && status == AM_OK; i++) {
        struct am_dev *dev = ctx->devs[i];

        if (dev == ctx->self) {
            continue;
        }
        for (uint32_t rank = 0; rank < ctx->size; rank++) {
            parts[rank] =
                    am_blob_part(&ctx->blobs[rank], dev, &part_bytes[rank]);
        }
        status = dev->ops->connect_all(dev, parts, part_bytes, ctx->size);
        if (status != AM_OK && dev->error != NULL) {
            snprintf(ctx->error, sizeof(ctx->error), "%s", dev->error);
        }
    }
out:
    free(parts);
    free(part_bytes);
    return status;
}

bool am_connected(struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        if (!ctx->devs[i]->ops->connected(ctx->devs[i])) {
            return false;
        }
    }
    return true;
}
