/*
 * From a device's packet to its handler, and the handler's one reply.
 */
#include "config.h"

#include "am/ctx.h"

#include <string.h>

static inline void hand_over(struct am_peer *peer, uint32_t class,
                             const struct am_handler *handler,
                             const struct am_packet_hdr *p, uint64_t bits,
                             void *data, size_t bytes)
{
    struct am_ctx *ctx = peer->ctx;

    ctx->token.peer = peer;
    ctx->token.arg = handler->arg;
    ctx->token.aux = (uint32_t)(bits >> 32);
    ctx->token.class = class;
    ctx->stats[AM_STAT_RX_REQUESTS + class]++;
    handler->fn(&ctx->token, p->words, am_dev_word_count(bits),
                bytes == 0 ? NULL : data, bytes);
}

void am_handler_missing(struct am_peer *peer, uint64_t handler)
{
    struct am_ctx *ctx = peer->ctx;
    uint64_t bit = UINT64_C(1) << handler % 64;
    uint64_t *said;

    ctx->stats[AM_STAT_RX_BAD_HANDLER]++;
    if (handler >= AM_HANDLERS_MAX) {
        return;
    }
    said = &peer->handler_said[handler / 64];
    if ((*said & bit) == 0) {
        *said |= bit;
        am_log(&ctx->log, AM_LOG_WARN,
               "a message from %s %u is lost: it is for handler %u, which is "
               "not registered (others are counted as rx_bad_handler)",
               peer->index < ctx->size ? "rank" : "late peer", peer->index,
               (unsigned)handler);
    }
}

/* Dispatch with all that the hot path leaves out: bad packets, a trace, a host
 * that pays.  Reads the header anew, and believes only what it reads. */
static __attribute__((noinline)) void
dispatch_odd(struct am_peer *peer, uint32_t class,
             const struct am_packet_hdr *p, size_t hdr_bytes, void *data,
             size_t bytes)
{
    struct am_ctx *ctx = peer->ctx;
    uint64_t bits = *(const volatile uint64_t *)&p->bits;
    uint32_t word_count = am_dev_word_count(bits);
    const struct am_handler *handler = &ctx->handlers[(uint8_t)bits];

    if (hdr_bytes != 8 + 8u * word_count) {
        ctx->stats[AM_STAT_RX_BAD_PACKET]++;
        return;
    }
    if (handler->fn == NULL) {
        am_handler_missing(peer, (uint8_t)bits);
        return;
    }
    if (ctx->watched) {
        am_trace_event(ctx->trace, (uint8_t)bits, peer->index, bytes);
        am_env_charge(ctx->env, AM_COST_DISPATCH, 1);
    }
    hand_over(peer, class, handler, p, bits, data, bytes);
}

/* The handler is the last thing that it calls: nothing is kept over it. */
void am_dispatch(void *user, uint32_t class, const void *packet,
                 size_t hdr_bytes, void *data, size_t bytes)
{
    struct am_peer *peer = user;
    struct am_ctx *ctx = peer->ctx;
    const struct am_packet_hdr *p = packet;
    /* read once: the peer can still write it */
    uint64_t bits = *(const volatile uint64_t *)&p->bits;
    uint32_t word_count = am_dev_word_count(bits);
    const struct am_handler *handler = &ctx->handlers[(uint8_t)bits];

    if (am_unlikely(hdr_bytes != 8 + 8u * word_count || handler->fn == NULL ||
                    ctx->watched)) {
        dispatch_odd(peer, class, packet, hdr_bytes, data, bytes);
        return;
    }
    hand_over(peer, class, handler, p, bits, data, bytes);
}

bool am_token_has(const struct am_token *token, uint32_t word_count,
                  uint32_t wanted)
{
    if (word_count != wanted) {
        token->ctx->stats[AM_STAT_RX_BAD_PACKET]++;
    }
    return word_count == wanted;
}

uint32_t am_token_source(const struct am_token *token)
{
    return token->peer->index;
}

struct am_ctx *am_token_ctx(const struct am_token *token)
{
    return token->ctx;
}

void *am_token_arg(const struct am_token *token)
{
    return token->arg;
}

am_status_t am_token_reply_aux(struct am_token *token, uint32_t handler,
                               uint32_t aux, const uint64_t *words,
                               uint32_t word_count, const void *data,
                               size_t bytes)
{
    struct am_peer *peer = token->peer;
    am_status_t status;

    if (token->class != AM_DEV_REQUEST) {
        return AM_ERR_HANDLER;
    }
    if (word_count > AM_WORDS_MAX || handler >= AM_HANDLERS_MAX) {
        return AM_ERR_INVALID;
    }
    if (bytes > peer->dev->attr.reply_bytes_max - sizeof(struct am_hdr) -
                        word_count * sizeof(*words)) {
        return AM_ERR_INVALID;
    }
    /* The device delivered the request only with room for this reply. */
    status = peer->send(peer->ep, AM_DEV_REPLY,
                        am_hdr_bits(handler, aux, word_count), words, data,
                        bytes);
    if (am_likely(status == AM_OK)) {
        token->class = AM_DEV_REPLY; /* and no other */
        token->ctx->stats[AM_STAT_TX_REPLIES]++;
    }
    return status;
}

am_status_t am_token_reply(struct am_token *token, uint32_t handler,
                           const uint64_t *words, uint32_t word_count,
                           const void *data, size_t bytes)
{
    return am_token_reply_aux(token, handler, 0, words, word_count, data,
                              bytes);
}

am_status_t am_handler_set(struct am_ctx *ctx, uint32_t index, am_handler_fn fn,
                           void *arg, const char *name)
{
    if (index >= AM_HANDLERS_MAX) {
        return AM_ERR_INVALID;
    }
    ctx->handlers[index] = (struct am_handler){fn, arg, name};
    if (ctx->trace != NULL) {
        am_trace_name(ctx->trace, (uint16_t)index, name);
    }
    return AM_OK;
}

am_status_t am_handler_register(struct am_ctx *ctx, uint32_t index,
                                am_handler_fn fn, void *arg, const char *name)
{
    if (index < AM_HANDLER_USER) {
        return AM_ERR_INVALID;
    }
    return am_handler_set(ctx, index, fn, arg, name);
}
