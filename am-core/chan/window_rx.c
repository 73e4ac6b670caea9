/*
 * The receiving side of the window: takes packets in order only, puts chunks
 * together, delivers, and decides what the peer is told.  Pure.
 */
#include "chan/window_inl.h"

#include <string.h>

void window_rx_open(struct am_window_rx *rx, uint32_t seq, void *landing)
{
    am_seq_rx_open(&rx->seq, seq);
    rx->landing = landing;
}

void window_rx_ask(struct am_window *window, uint32_t class)
{
    window->due |= WINDOW_DUE_NACK << class;
    window->rx[class].probe_mark = 0;
}

void window_rx_answer(struct am_window *window, const struct am_chan_hdr *hdr)
{
    struct am_window_rx *rx = &window->rx[hdr->class];

    if ((window->due & WINDOW_DUE_NACK << hdr->class) != 0 &&
        rx->probe_mark == 0) {
        return; /* what is missing is asked for anyway */
    }
    window->due |= WINDOW_DUE_NACK << hdr->class;
    rx->probe_end = hdr->seq;
    rx->probe_mark = hdr->hdr_bytes;
}

/*
 * A packet beyond the one wanted: drop it and ask for what is missing, once
 * for the gap and once more each time one comes that is not behind the first
 * seen: then the sender has started over and the packet wanted is lost again.
 */
static void rx_early(struct am_window *window, const struct am_chan_hdr *hdr)
{
    struct am_window_rx *rx = &window->rx[hdr->class];
    bool behind = am_seq_before(rx->gap_seq, hdr->seq) ||
                  (hdr->seq == rx->gap_seq && hdr->offset > rx->gap_offset);

    window->stats[AM_CHAN_STAT_RX_GAP]++;
    if (rx->gap && behind) {
        return;
    }
    if (!window->params->timer && !rx->held) {
        window_rx_ask(window, hdr->class);
    }
    rx->gap = true;
    rx->gap_seq = hdr->seq;
    rx->gap_offset = hdr->offset;
}

/* Are the lengths of the packet wanted possible, and those of its chunk? */
static bool rx_is_sound(const struct am_window *window,
                        const struct am_chan_hdr *hdr, uint32_t data_bytes)
{
    const struct am_window_rx *rx = &window->rx[hdr->class];

    if (hdr->message_bytes > window->landing_bytes ||
        hdr->hdr_bytes > window->params->hdr_bytes_max ||
        hdr->hdr_bytes > hdr->message_bytes) {
        return false;
    }
    if (rx->offset != 0 && (hdr->message_bytes != rx->message_bytes ||
                            hdr->hdr_bytes != rx->hdr_bytes)) {
        return false;
    }
    return data_bytes <= hdr->message_bytes - rx->offset &&
           (data_bytes > 0 || hdr->message_bytes == 0);
}

/* Is a chunk of so many packets, of which `offset` bytes came before the last,
 * the largest the peer may send?  Then the peer waits for its acknowledgement
 * (Chang et al. 1996: one for each chunk). */
static bool rx_is_full(const struct am_window *window, uint64_t packets,
                       uint64_t offset)
{
    return packets > 1 &&
           packets * offset >= (packets - 1) * window->landing_bytes;
}

/* What is not told to the peer yet may now be enough for a packet of its own:
 * a full chunk, or a part of the peer's window. */
static void rx_count_untold(struct am_window *window, uint32_t class,
                            uint32_t untold, bool full)
{
    if (full || untold >= window->ack_packets[class]) {
        window->due |= WINDOW_DUE_ACK;
    }
    if (untold >= 2 * window->ack_packets[class]) {
        window_control(window, 0); /* do not wait for the tick */
    }
}

/* The last packet of the chunk wanted is in: step to the next, deliver. */
static void rx_complete(struct am_window *window, const struct am_chan_hdr *hdr,
                        void *message)
{
    struct am_window_rx *rx = &window->rx[hdr->class];
    uint32_t packets = rx->packets + 1;
    bool full = rx_is_full(window, packets, rx->offset);

    rx->offset = rx->packets = 0;
    rx_count_untold(window, hdr->class, am_seq_rx_advance(&rx->seq, packets),
                    full);
    window->ops->deliver(window->arg, hdr->class, message, hdr->hdr_bytes,
                         hdr->message_bytes);
}

/* The packet wanted. */
static void rx_take(struct am_window *window, const struct am_chan_hdr *hdr,
                    void *data, uint32_t data_bytes)
{
    struct am_window_rx *rx = &window->rx[hdr->class];
    bool last = rx->offset + data_bytes == hdr->message_bytes;
    void *message = data;

    if (last && !window_may_deliver(window, hdr->class)) {
        window->stats[AM_CHAN_STAT_RX_HELD]++;
        rx->held = true; /* as if lost; asked for when ready again */
        return;
    }
    rx->gap = rx->held = false;
    if (!last || rx->offset != 0) {
        memcpy(rx->landing + rx->offset, data, data_bytes);
        message = rx->landing;
    }
    if (last) {
        rx_complete(window, hdr, message);
        return;
    }
    rx->message_bytes = hdr->message_bytes;
    rx->hdr_bytes = hdr->hdr_bytes;
    rx->offset += data_bytes;
    rx->packets++;
}

void window_rx_data(struct am_window *window, const struct am_chan_hdr *hdr,
                    void *data, uint32_t data_bytes)
{
    const struct am_window_rx *rx = &window->rx[hdr->class];

    switch (am_seq_rx_judge(&rx->seq, hdr->seq, AM_CHAN_WINDOW_MAX)) {
    case AM_SEQ_OLD:
        /* An acknowledgement was lost, or the network made a copy. */
        window->stats[AM_CHAN_STAT_RX_DUPLICATE]++;
        window->due |= WINDOW_DUE_ACK;
        return;
    case AM_SEQ_EARLY:
        rx_early(window, hdr);
        return;
    case AM_SEQ_BEYOND:
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    case AM_SEQ_WANTED: /* the chunk; which of its packets? */
        break;
    }
    if (hdr->offset > rx->offset) {
        rx_early(window, hdr);
    } else if (hdr->offset < rx->offset) {
        window->stats[AM_CHAN_STAT_RX_DUPLICATE]++;
    } else if (!rx_is_sound(window, hdr, data_bytes)) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
    } else {
        rx_take(window, hdr, data, data_bytes);
    }
}

void window_rx_tick(struct am_window *window, uint32_t class, uint64_t now_ps)
{
    struct am_window_rx *rx = &window->rx[class];

    if (rx->held && window_may_deliver(window, class)) {
        rx->held = false;
        window_rx_ask(window, class);
    }
    if (am_seq_rx_is_told(&rx->seq)) {
        rx->untold_ps = 0;
    } else if (!window->params->timer) {
        return;
    } else if (rx->untold_ps == 0) {
        rx->untold_ps = now_ps;
    } else if (now_ps - rx->untold_ps >= window->params->ack_delay_ps) {
        window->due |= WINDOW_DUE_ACK;
    }
}
