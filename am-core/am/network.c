/*
 * What a network does itself for all ranks of the job (dev/network.h).
 */
#include "config.h"

#include "am/ctx.h"

struct am_dev *am_ctx_network(const struct am_ctx *ctx, uint32_t cap)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        struct am_dev *dev = ctx->devs[i];

        /* of a device that is wrapped, packets are the wrapper's */
        if ((dev->attr.caps & cap) != 0 && dev->ops->network != NULL &&
            dev->attr.network.members == ctx->size) {
            return dev;
        }
    }
    return NULL;
}

am_status_t am_ctx_multicast(struct am_ctx *ctx, struct am_dev *network,
                             uint32_t handler, uint32_t aux,
                             const uint64_t *words, uint32_t word_count,
                             const void *data, size_t bytes)
{
    struct am_packet_hdr packet;
    size_t hdr_bytes = am_hdr_fill(&packet, handler, aux, words, word_count);
    am_status_t status = network->ops->network->multicast(
            network, &packet, hdr_bytes, data, bytes);

    if (status == AM_OK) {
        am_env_charge(ctx->env, AM_COST_SEND, word_count);
    }
    return status;
}
