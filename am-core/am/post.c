/*
 * Requests that other threads hand to the context's owner: an MPSC ring of
 * base/ring.h, filled by any thread and emptied by the owner's polls.  A
 * context that has none pays nothing; one that has looks at it in every poll.
 *
 *   thread --.
 *   thread ---+-- am_ctx_post -> ring -> am_ctx_poll (owner) -> am_ctx_request
 *   thread --'
 */
#include "config.h"

#include "am/ctx.h"
#include "base/barrier.h"
#include "base/ring.h"

#include <stdlib.h>
#include <string.h>

#define POSTS_PER_POLL 64

/* A slot: four cache lines with the ring's own word. */
struct post {
    uint32_t dest, handler, word_count, bytes;
    uint64_t words[AM_WORDS_MAX];
    char data[AM_POST_BYTES];
};

AM_STATIC_ASSERT(sizeof(struct post) == 4 * AM_RING_ALIGN - sizeof(uint64_t),
                 "a slot is four cache lines");

struct am_posts {
    struct am_ring owner; /* the consumer's view */
    void *memory;
    uint32_t slot_count;
    _Atomic uint32_t armed; /* the owner sleeps: ring */
};

am_status_t am_ctx_post_open(struct am_ctx *ctx, uint32_t slot_count)
{
    size_t bytes = am_ring_bytes(slot_count, sizeof(struct post));
    struct am_posts *posts;

    if (ctx->forked.is) {
        return am_forked_refuse(ctx);
    }
    if (ctx->posts != NULL || bytes == 0) {
        return AM_ERR_INVALID;
    }
    posts = calloc(1, sizeof(*posts));
    if (posts == NULL) {
        return AM_ERR_MEMORY;
    }
    posts->memory = aligned_alloc(AM_RING_ALIGN, bytes);
    if (posts->memory == NULL) {
        free(posts);
        return AM_ERR_MEMORY;
    }
    posts->slot_count = slot_count;
    am_ring_attach(&posts->owner, posts->memory, slot_count,
                   sizeof(struct post), true);
    ctx->posts = posts;
    ctx->attends = true;
    ctx->attention = true;
    return AM_OK;
}

void am_posts_close(struct am_ctx *ctx)
{
    if (ctx->posts != NULL) {
        free(ctx->posts->memory);
        free(ctx->posts);
    }
}

am_status_t am_ctx_post(struct am_ctx *ctx, uint32_t dest, uint32_t handler,
                        const uint64_t *words, uint32_t word_count,
                        const void *data, size_t bytes)
{
    struct am_ring ring; /* this call's view: claims share only the memory */
    struct post *post;

    if (ctx->forked.is) {
        return AM_ERR_FORKED;
    }
    if (ctx->posts == NULL || word_count > AM_WORDS_MAX ||
        handler >= AM_HANDLERS_MAX || bytes > AM_POST_BYTES) {
        return AM_ERR_INVALID;
    }
    am_ring_attach(&ring, ctx->posts->memory, ctx->posts->slot_count,
                   sizeof(*post), false);
    post = am_ring_claim(&ring);
    if (post == NULL) {
        return AM_ERR_AGAIN;
    }
    post->dest = dest;
    post->handler = handler;
    post->word_count = word_count;
    post->bytes = (uint32_t)bytes;
    if (word_count > 0) {
        memcpy(post->words, words, word_count * sizeof(*words));
    }
    if (bytes > 0) {
        memcpy(post->data, data, bytes);
    }
    am_ring_commit(&ring, post);
    am_barrier_announce();
    if (atomic_load_explicit(&ctx->posts->armed, memory_order_relaxed) != 0 &&
        atomic_exchange(&ctx->posts->armed, 0) != 0) {
        am_events_ring(ctx);
    }
    return AM_OK;
}

bool am_posts_armed(struct am_ctx *ctx)
{
    if (ctx->posts == NULL) {
        return false;
    }
    atomic_store(&ctx->posts->armed, 1);
    am_barrier_announce();
    return am_ring_take(&ctx->posts->owner) != NULL;
}

bool am_posts_are_run(struct am_ctx *ctx)
{
    return ctx->posts == NULL || am_ring_take(&ctx->posts->owner) == NULL;
}

int am_posts_run(struct am_ctx *ctx)
{
    struct am_ring *ring = &ctx->posts->owner;
    struct post *post;
    int count = 0;

    while (count < POSTS_PER_POLL && (post = am_ring_take(ring)) != NULL) {
        /* inside a poll: queued when there is no space */
        am_status_t status =
                am_ctx_request(ctx, post->dest, post->handler, post->words,
                               post->word_count, post->data, post->bytes);

        if (status == AM_ERR_MEMORY) {
            break; /* the queue is full: later */
        }
        ctx->stats[status == AM_OK ? AM_STAT_POSTED : AM_STAT_POST_FAILED]++;
        am_ring_release(ring);
        count++;
    }
    return count;
}
