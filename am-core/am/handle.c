/*
 * Handles: the numbers by which peers name objects of this context.  No
 * pointer travels; a number that is stale, or of another kind, is counted and
 * refused.
 */
#include "config.h"

#include "am/ctx.h"

#include <stdlib.h>

#define HANDLE_NONE UINT32_MAX

static am_status_t handles_grow(struct am_ctx *ctx)
{
    uint32_t count = ctx->handle_count == 0 ? 64 : 2 * ctx->handle_count;
    struct am_handle *handles;

    if (count > INT32_MAX) {
        return AM_ERR_MEMORY;
    }
    handles = realloc(ctx->handles, count * sizeof(*handles));
    if (handles == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t i = ctx->handle_count; i < count; i++) {
        handles[i] = (struct am_handle){
                .generation = 1,
                .next_free = i + 1 < count ? i + 1 : HANDLE_NONE};
    }
    ctx->handle_free = ctx->handle_count;
    ctx->handles = handles;
    ctx->handle_count = count;
    return AM_OK;
}

am_status_t am_handle_reserve(struct am_ctx *ctx)
{
    return ctx->handle_count != 0 && ctx->handle_free != HANDLE_NONE
                   ? AM_OK
                   : handles_grow(ctx);
}

uint64_t am_handle_new(struct am_ctx *ctx, am_handle_kind_t kind, void *object)
{
    struct am_handle *slot;
    uint32_t index;

    if (am_handle_reserve(ctx) != AM_OK) {
        return 0;
    }
    index = ctx->handle_free;
    slot = &ctx->handles[index];
    ctx->handle_free = slot->next_free;
    slot->object = object;
    slot->kind = (uint16_t)kind;
    return (uint64_t)slot->generation << 32 | index;
}

void *am_handle_find(struct am_ctx *ctx, uint64_t handle, am_handle_kind_t kind)
{
    uint32_t index = (uint32_t)handle;

    if (index >= ctx->handle_count ||
        ctx->handles[index].generation != handle >> 32 ||
        ctx->handles[index].kind != kind) {
        ctx->stats[kind == AM_HANDLE_REGION ? AM_STAT_RX_BAD_REGION
                                            : AM_STAT_RX_BAD_HANDLE]++;
        return NULL;
    }
    return ctx->handles[index].object;
}

void am_handle_free(struct am_ctx *ctx, uint64_t handle)
{
    uint32_t index = (uint32_t)handle;
    struct am_handle *slot = &ctx->handles[index];

    slot->object = NULL;
    slot->kind = AM_HANDLE_FREE;
    slot->generation++;
    if (slot->generation == 0) {
        slot->generation = 1;
    }
    slot->next_free = ctx->handle_free;
    ctx->handle_free = index;
}
