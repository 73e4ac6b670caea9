/*
 * Two contexts of one process that have talked by shared memory, for tests of
 * what one of them may write there.
 */
#ifndef AM_TEST_SUPPORT_SHM_TWO_H
#define AM_TEST_SUPPORT_SHM_TWO_H

#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"

static inline struct shm_dev *shm_of(struct am_ctx *ctx)
{
    return shm_dev_of(ctx->devs[0]);
}

/* A handler that counts its calls in its argument, a uint32_t. */
void shm_two_count(struct am_token *token, const uint64_t *words,
                   uint32_t count, void *data, size_t bytes);
/* Rank 0 polls rank 1's lane, and AM_HANDLER_USER counts in *got, which is 2. */
void shm_two_open(struct world *world, uint32_t *got);

#endif
