/*
 * The window's memory, which is its owner's: how much there is, how it is divided,
 * when it is first asked for, and when none of it is needed any more.  Pure.
 *
 *   | chunks of requests | states | slots of requests | chunks of replies ...
 *
 * There are states of packets where acknowledgements name them.
 */
#include "chan/window_inl.h"

#include <string.h>

uint32_t window_entries(uint32_t window_packets)
{
    uint32_t count = 1;

    while (count < window_packets) {
        count *= 2;
    }
    return count;
}

static size_t slot_bytes(const struct am_window_params *params, uint32_t class)
{
    size_t count =
            (size_t)params->window_packets[class] + params->chunk_packets;

    return (count * params->payload_bytes + 7) & ~(size_t)7;
}

static size_t sent_bytes(const struct am_window_params *params, uint32_t class)
{
    return params->timer && params->early_packets != 0
                   ? window_entries(params->window_packets[class]) *
                             sizeof(struct am_window_sent)
                   : 0;
}

size_t am_window_memory_bytes(const struct am_window_params *params)
{
    size_t bytes = 0;

    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        bytes += window_entries(params->window_packets[class]) *
                 sizeof(struct am_window_chunk);
        bytes = (bytes + 7) & ~(size_t)7;
        bytes += sent_bytes(params, class);
        bytes += slot_bytes(params, class);
    }
    return bytes;
}

bool window_has_memory(struct am_window *window)
{
    const struct am_window_params *params = window->params;
    uint8_t *at;

    if (window->tx[0].chunks != NULL) {
        return true;
    }
    at = window->ops->memory(window->arg, am_window_memory_bytes(params));
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES && at != NULL; class ++) {
        struct am_window_tx *tx = &window->tx[class];
        size_t bytes = (tx->chunk_mask + 1) * sizeof(struct am_window_chunk);

        tx->chunks = (void *)at;
        at += (bytes + 7) & ~(size_t)7;
        bytes = sent_bytes(params, class);
        if (bytes != 0) {
            tx->sent = (void *)at;
            memset(tx->sent, 0, bytes);
            at += bytes;
        }
        tx->slots = at;
        at += slot_bytes(params, class);
    }
    return at != NULL;
}

bool am_window_rest(struct am_window *window)
{
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        if (window_has_unacked(&window->tx[class]) ||
            !window_rx_may_rest(&window->rx[class])) {
            return false;
        }
    }
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        window->tx[class].chunks = NULL;
        window->tx[class].sent = NULL;
        window->tx[class].slots = NULL;
        window->rx[class].landing = NULL;
        window->rx[class].early = NULL;
    }
    return true;
}
