/*
 * Hot inlines of core.h: one short request from the caller to the device.
 */
#ifndef AM_AM_CORE_INL_H
#define AM_AM_CORE_INL_H

#include "am/core.h"
#include "dev/meter.h"

/* Header and words as they lie in the packet. */
struct am_packet_hdr {
    union {
        struct am_hdr hdr;
        uint64_t bits;
    };

    uint64_t words[AM_WORDS_MAX];
};

/* struct am_hdr as one word. */
static inline uint64_t am_hdr_bits(uint32_t handler, uint32_t aux,
                                   uint32_t word_count)
{
    return (uint8_t)handler | (uint64_t)(uint8_t)word_count << 8 |
           (uint64_t)aux << 32;
}

static inline size_t am_hdr_fill(struct am_packet_hdr *packet, uint32_t handler,
                                 uint32_t aux, const uint64_t *words,
                                 uint32_t word_count)
{
    packet->bits = am_hdr_bits(handler, aux, word_count);
    for (uint32_t i = 0; i < word_count; i++) {
        packet->words[i] = words[i];
    }
    return sizeof(struct am_hdr) + word_count * sizeof(uint64_t);
}

static inline am_status_t am_peer_send(struct am_peer *peer, uint32_t handler,
                                       uint32_t aux, const uint64_t *words,
                                       uint32_t word_count, const void *data,
                                       size_t bytes)
{
    if (am_unlikely(peer->ordered_count != 0)) {
        return peer->dead ? AM_ERR_PEER : AM_ERR_AGAIN;
    }
    return peer->send(peer->ep, AM_DEV_REQUEST,
                      am_hdr_bits(handler, aux, word_count), words, data,
                      bytes);
}

static inline uint64_t am_peer_copy_start(const struct am_peer *peer,
                                          size_t bytes)
{
    return am_likely(bytes < AM_METER_BYTES)
                   ? 0
                   : am_meter_start(peer->ep->meter, am_ctx_env(peer->ctx),
                                    AM_COPY_OUT, bytes);
}

static inline void am_peer_copy_stop(const struct am_peer *peer, size_t bytes,
                                     uint64_t start)
{
    if (am_unlikely(start != 0)) {
        am_meter_stop(peer->ep->meter, am_ctx_env(peer->ctx), AM_COPY_OUT,
                      bytes, start);
    }
}

/* The last word of an am_key that has this of a device. */
static inline uint64_t am_key_last(const struct am_dev_key *key,
                                   const struct am_dev *dev)
{
    return key->w[2] | (uint64_t)dev->bottom->number << AM_DEV_KEY_BITS;
}

#endif
