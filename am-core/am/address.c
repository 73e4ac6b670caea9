/*
 * Address blobs: what a context tells of itself, what others told, and what the
 * job's ranks told.  A blob is a peer's word and is read here only.
 */
#include "config.h"

#include "am/ctx.h"
#include "am/devices.h"
#include "chan/chan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES offsetof(struct am_blob, parts)

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

/* ----------------------------------------------------------------- one blob */

/* Append a device's part.  AM_ERR_MEMORY: there is no room for it. */
static am_status_t part_write(struct am_blob *blob, struct am_dev *dev,
                              uint32_t short_ns)
{
    struct am_blob_part part = {.number = (uint8_t)dev->bottom->number,
                                .reliability = dev->reliability,
                                .short_ns = short_ns};
    uint8_t *at = (uint8_t *)blob + blob->bytes;
    size_t room = sizeof(*blob) - blob->bytes;
    size_t bytes;

    if (room <= sizeof(part)) {
        return AM_ERR_MEMORY;
    }
    bytes = dev->ops->address(dev, at + sizeof(part), room - sizeof(part));
    if (bytes == 0) {
        return AM_ERR_MEMORY;
    }
    part.bytes = (uint16_t)bytes;
    memcpy(at, &part, sizeof(part));
    blob->bytes += (uint16_t)(sizeof(part) + padded(bytes));
    return AM_OK;
}

/* The part at `at`, if it ends within the blob; where the next one begins, 0
 * when it does not. */
static size_t part_read(const struct am_blob *blob, size_t at,
                        struct am_blob_part *part)
{
    size_t room = blob->bytes - at;

    if (room < sizeof(*part)) {
        return 0;
    }
    memcpy(part, (const uint8_t *)blob + at, sizeof(*part));
    return padded(part->bytes) > room - sizeof(*part)
                   ? 0
                   : at + sizeof(*part) + padded(part->bytes);
}

am_status_t am_blob_read(const void *from, size_t bytes, struct am_blob *blob)
{
    struct am_blob_part part;

    if (bytes < HEAD_BYTES || bytes > sizeof(*blob)) {
        return AM_ERR_INVALID;
    }
    memset(blob, 0, sizeof(*blob));
    memcpy(blob, from, HEAD_BYTES);
    if (blob->magic != AM_BLOB_MAGIC || blob->version != AM_BLOB_VERSION ||
        blob->bytes < HEAD_BYTES || blob->bytes > bytes ||
        blob->bytes % 8 != 0) {
        return AM_ERR_INVALID;
    }
    memcpy(blob->parts, (const uint8_t *)from + HEAD_BYTES,
           blob->bytes - HEAD_BYTES);
    for (size_t at = HEAD_BYTES; at < blob->bytes;) {
        at = part_read(blob, at, &part);
        if (at == 0) {
            return AM_ERR_INVALID;
        }
    }
    return AM_OK;
}

struct am_blob *am_blob_copy(const struct am_blob *blob)
{
    struct am_blob *copy = malloc(blob->bytes);

    return copy == NULL ? NULL : memcpy(copy, blob, blob->bytes);
}

const void *am_blob_part(const struct am_blob *blob, const struct am_dev *dev,
                         struct am_blob_part *part)
{
    size_t at = HEAD_BYTES;

    while (at < blob->bytes) {
        const uint8_t *bytes = (const uint8_t *)blob + at + sizeof(*part);

        at = part_read(blob, at, part);
        if (part->number == dev->bottom->number) {
            return bytes;
        }
    }
    *part = (struct am_blob_part){0};
    return NULL;
}

am_status_t am_blob_agrees(struct am_ctx *ctx, const struct am_blob *blob,
                           const struct am_dev *dev, uint32_t rank)
{
    struct am_blob_part part;
    char who[48] = "a process outside the job";

    if (am_blob_part(blob, dev, &part) == NULL ||
        part.reliability == dev->reliability) {
        return AM_OK;
    }
    if (rank != UINT32_MAX) {
        snprintf(who, sizeof(who), "rank %u", rank);
    }
    snprintf(ctx->error, sizeof(ctx->error),
             "AM_RELIABILITY and AM_FAULT have to be the same on all ranks: over "
             "%s it is %s here, on rank %u, and %s on %s",
             dev->bottom->name, am_reliability_text(dev->reliability), ctx->rank,
             am_reliability_text(part.reliability), who);
    return AM_ERR_CONFIG;
}

am_status_t am_address(struct am_ctx *ctx, void *to)
{
    struct am_blob blob = {.magic = AM_BLOB_MAGIC,
                           .version = AM_BLOB_VERSION,
                           .bytes = HEAD_BYTES,
                           .rank = ctx->rank,
                           .flags = am_devices_wait(ctx) ? AM_BLOB_MORE : 0,
                           .nonce = ctx->nonce};

    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        struct am_dev *dev = ctx->devs[i];

        if (dev != ctx->self &&
            part_write(&blob, dev, am_device_slot(ctx, dev)->short_ns) !=
                    AM_OK) {
            snprintf(ctx->error, sizeof(ctx->error),
                     "the addresses of the devices %s do not fit into %u bytes",
                     ctx->values.devices, AM_ADDRESS_BYTES);
            return AM_ERR_MEMORY;
        }
    }
    memcpy(to, &blob, sizeof(blob));
    return AM_OK;
}

size_t am_address_bytes(const void *from)
{
    struct am_blob blob;

    return am_blob_read(from, sizeof(blob), &blob) == AM_OK ? blob.bytes : 0;
}

/* ----------------------------------------------------------- the job's ranks */

/* Read rank's blob out of those of all. */
static am_status_t job_blob_read(struct am_ctx *ctx, const void *blobs,
                                 uint32_t rank, struct am_blob *blob)
{
    const uint8_t *from = (const uint8_t *)blobs + (size_t)rank * sizeof(*blob);

    if (am_blob_read(from, sizeof(*blob), blob) == AM_OK &&
        blob->rank == rank) {
        return AM_OK;
    }
    snprintf(ctx->error, sizeof(ctx->error),
             blob->magic == 0
                     ? "rank %u has told no address: it could not open"
                     : "the address of rank %u is not one of this library, or "
                       "of this version of it",
             rank);
    return AM_ERR_INVALID;
}

/* Keep the blobs of all ranks, each as long as it is: at first only the
 * lengths are added up. */
static am_status_t job_blobs_keep(struct am_ctx *ctx, const void *blobs)
{
    size_t bytes = ctx->size * sizeof(*ctx->blobs);
    struct am_blob blob;
    uint8_t *at;

    for (uint32_t rank = 0; rank < ctx->size; rank++) {
        am_status_t status = job_blob_read(ctx, blobs, rank, &blob);

        if (status != AM_OK) {
            return status;
        }
        bytes += blob.bytes;
    }
    ctx->blobs = malloc(bytes);
    if (ctx->blobs == NULL) {
        return AM_ERR_MEMORY;
    }
    at = (uint8_t *)&ctx->blobs[ctx->size];
    for (uint32_t rank = 0; rank < ctx->size; rank++) {
        (void)job_blob_read(ctx, blobs, rank, &blob);
        ctx->blobs[rank] = memcpy(at, &blob, blob.bytes);
        at += blob.bytes;
    }
    return AM_OK;
}

static am_status_t device_connect_all(struct am_ctx *ctx, struct am_dev *dev,
                                      const void *const *parts,
                                      const size_t *part_bytes)
{
    am_status_t status =
            dev->ops->connect_all(dev, parts, part_bytes, ctx->size);

    if (status != AM_OK && dev->error != NULL) {
        snprintf(ctx->error, sizeof(ctx->error), "%s", dev->error);
    }
    return status;
}

am_status_t am_connect_all(struct am_ctx *ctx, const void *blobs)
{
    const void **parts = calloc(ctx->size, sizeof(*parts));
    size_t *part_bytes = calloc(ctx->size, sizeof(*part_bytes));
    am_status_t status = AM_OK;

    if (ctx->forked.is) {
        status = am_forked_refuse(ctx);
    } else if (parts == NULL || part_bytes == NULL) {
        status = AM_ERR_MEMORY;
    } else {
        status = job_blobs_keep(ctx, blobs);
    }
    for (uint32_t i = 0; i < ctx->dev_count && status == AM_OK; i++) {
        struct am_dev *dev = ctx->devs[i];

        if (dev == ctx->self) {
            continue;
        }
        for (uint32_t rank = 0; rank < ctx->size && status == AM_OK; rank++) {
            struct am_blob_part part;

            parts[rank] = am_blob_part(ctx->blobs[rank], dev, &part);
            part_bytes[rank] = part.bytes;
            status = am_blob_agrees(ctx, ctx->blobs[rank], dev, rank);
        }
        if (status == AM_OK) {
            status = device_connect_all(ctx, dev, parts, part_bytes);
        }
    }
    if (status == AM_OK) {
        am_devices_use(ctx);
    }
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
