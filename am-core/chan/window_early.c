/*
 * Packets that came before one that is missing: where the network drops packets,
 * the receiver keeps them, so that only what is missing is sent again (selective
 * repeat, as TCP does by selective acknowledgements, RFC 2018).  Pure.
 *
 * Packets are counted by sequence numbers: that of a chunk's packet i is the
 * chunk's plus i.  Kept are numbers from the one wanted to `count` after it, at
 * number % count.
 */
#include "chan/window_inl.h"

#include <string.h>

static size_t head_bytes(uint32_t count)
{
    return sizeof(struct am_window_early) + count * sizeof(struct window_kept);
}

void *window_early_data(struct am_window_early *early, uint32_t number)
{
    return (uint8_t *)early + head_bytes(early->count) +
           (size_t)(number % early->count) * early->data_stride;
}

/* The memory is asked for when the first packet comes too early. */
static struct am_window_early *early_of(struct am_window *window,
                                        uint32_t class)
{
    struct am_window_rx *rx = &window->rx[class];
    uint32_t stride = (window->peer_payload_bytes + 7) & ~UINT32_C(7);
    uint32_t count = window->params->early_packets;
    size_t bytes;

    if (count > WINDOW_EARLY_BYTES / stride) {
        count = WINDOW_EARLY_BYTES / stride;
    }
    while ((count & (count - 1)) != 0) { /* numbers wrap: a power of two */
        count &= count - 1;
    }
    if (rx->early != NULL || count == 0) {
        return rx->early;
    }
    bytes = head_bytes(count) + (size_t)count * stride;
    rx->early = window->ops->early(window->arg, class, bytes);
    if (rx->early != NULL) {
        memset(rx->early, 0, bytes);
        rx->early->count = count;
        rx->early->data_stride = stride;
    }
    return rx->early;
}

/* One packet of a chunk that can be; what its chunk says is checked when it is
 * taken. */
static bool is_sound(const struct am_window *window,
                     const struct am_chan_hdr *hdr, uint32_t data_bytes)
{
    uint32_t payload = window->peer_payload_bytes;

    return hdr->message_bytes <= window->landing_bytes &&
           hdr->offset <= hdr->message_bytes && hdr->offset % payload == 0 &&
           data_bytes <= hdr->message_bytes - hdr->offset &&
           (data_bytes == payload ||
            (data_bytes < payload &&
             hdr->offset + data_bytes == hdr->message_bytes));
}

bool window_early_number(const struct am_window *window,
                         const struct am_chan_hdr *hdr, uint32_t data_bytes,
                         uint32_t *number_p)
{
    if (!is_sound(window, hdr, data_bytes)) {
        return false;
    }
    *number_p = hdr->seq + hdr->offset / window->peer_payload_bytes;
    return true;
}

window_early_t window_early_put(struct am_window *window,
                                const struct am_chan_hdr *hdr, uint32_t number,
                                const void *data, uint32_t data_bytes)
{
    struct am_window_early *early = early_of(window, hdr->class);
    struct window_kept *kept;

    if (early == NULL ||
        number - window_rx_wanted(&window->rx[hdr->class]) >= early->count) {
        return WINDOW_EARLY_NO_ROOM;
    }
    kept = &early->kept[number % early->count];
    if (kept->used && kept->number == number) {
        return WINDOW_EARLY_TWICE;
    }
    early->used += !kept->used;
    *kept = (struct window_kept){*hdr, number, data_bytes, true};
    memcpy(window_early_data(early, number), data, data_bytes);
    return WINDOW_EARLY_KEPT;
}

void *window_early_find(const struct am_window_rx *rx, uint32_t number,
                        struct am_chan_hdr *hdr, uint32_t *data_bytes_p)
{
    const struct window_kept *kept;

    if (rx->early == NULL || rx->early->used == 0) {
        return NULL;
    }
    kept = &rx->early->kept[number % rx->early->count];
    if (!kept->used || kept->number != number) {
        return NULL;
    }
    *hdr = kept->hdr;
    *data_bytes_p = kept->data_bytes;
    return window_early_data(rx->early, number);
}

void window_early_drop(struct am_window_rx *rx, uint32_t number)
{
    struct window_kept *kept;

    if (rx->early == NULL || rx->early->used == 0) {
        return;
    }
    kept = &rx->early->kept[number % rx->early->count];
    if (kept->used && kept->number == number) {
        *kept = (struct window_kept){.used = false};
        rx->early->used--;
    }
}

bool window_early_has(const struct am_window_rx *rx, uint32_t number)
{
    const struct window_kept *kept =
            &rx->early->kept[number % rx->early->count];

    return kept->used && kept->number == number;
}

uint32_t window_early_first(const struct am_window_rx *rx)
{
    uint32_t wanted = window_rx_wanted(rx);

    if (rx->early == NULL || rx->early->used == 0) {
        return wanted;
    }
    for (uint32_t i = 1; i < rx->early->count; i++) {
        if (window_early_has(rx, wanted + i)) {
            return wanted + i;
        }
    }
    return wanted;
}
