/*
 * The receiving side of the window: takes packets in order only, keeps or drops
 * those that come too early, puts chunks together, delivers, and decides what the
 * peer is told.  Pure.
 */
#include "chan/window_inl.h"

#include "base/copy.h"

#include <string.h>

void window_rx_open(struct am_window_rx *rx, uint32_t seq)
{
    am_seq_rx_open(&rx->seq, seq);
    rx->early_end = seq;
}

static void rx_ask(struct am_window *window, uint32_t class)
{
    struct am_window_rx *rx = &window->rx[class];

    window->due |= WINDOW_DUE_NACK << class;
    rx->probe_mark = 0;
    rx->hole = rx->hole_end = window_rx_wanted(rx);
}

/* Packets `hole` to `end` are missing.  What is asked for already and could not be
 * sent yet is asked for with them. */
static void rx_ask_hole(struct am_window *window, uint32_t class, uint32_t hole,
                        uint32_t end)
{
    struct am_window_rx *rx = &window->rx[class];

    if ((window->due & WINDOW_DUE_NACK << class) == 0) {
        rx->hole = hole;
        rx->probe_mark = 0;
    } else if (rx->hole == rx->hole_end) {
        return;
    }
    window->due |= WINDOW_DUE_NACK << class;
    rx->hole_end = end;
}

void window_rx_nack(const struct am_window_rx *rx, struct am_chan_hdr *hdr)
{
    hdr->seq = window_rx_wanted(rx);
    if (rx->hole == rx->hole_end) {
        hdr->offset = window_early_first(rx);
    } else {
        hdr->seq = am_seq_before(hdr->seq, rx->hole) ? rx->hole : hdr->seq;
        hdr->offset = rx->hole_end;
    }
    hdr->message_bytes = rx->probe_end;
    hdr->hdr_bytes = rx->probe_mark;
}

/*
 * A packet beyond the one wanted that is dropped: ask for what is missing, once
 * for the gap and once more each time one comes that is not behind the first
 * seen: then the sender has started over and the packet wanted is lost again.
 */
static void rx_drop_early(struct am_window *window,
                          const struct am_chan_hdr *hdr)
{
    struct am_window_rx *rx = &window->rx[hdr->class];
    bool behind = am_seq_before(rx->gap_seq, hdr->seq) ||
                  (hdr->seq == rx->gap_seq && hdr->offset > rx->gap_offset);

    if (rx->gap && behind) {
        return;
    }
    if (!window->params->timer && !rx->held) {
        rx_ask(window, hdr->class);
    }
    rx->gap = true;
    rx->gap_seq = hdr->seq;
    rx->gap_offset = hdr->offset;
}

/* One that is kept: ask for what is missing between it and the latest one. */
static void rx_kept(struct am_window *window, uint32_t class, uint32_t number)
{
    struct am_window_rx *rx = &window->rx[class];
    uint32_t wanted = window_rx_wanted(rx), from = rx->early_end;

    if (am_seq_before(from, wanted)) {
        from = wanted;
    }
    if (am_seq_before(number, from)) {
        return; /* it fills a hole */
    }
    rx->early_end = number + 1;
    if (number != from && !window->params->timer) {
        rx_ask_hole(window, class, from, number);
    }
}

/* Where acknowledgements name packets, one is due that says what is in. */
static void rx_name(struct am_window *window, uint32_t class)
{
    if (window_names_packets(window)) {
        window->due |= WINDOW_DUE_SACK << class;
    }
}

/* A packet beyond the one wanted. */
static void rx_early(struct am_window *window, const struct am_chan_hdr *hdr,
                     const void *data, uint32_t data_bytes)
{
    uint32_t number;

    if (window->params->early_packets == 0) {
        window->stats[AM_CHAN_STAT_RX_GAP]++;
        rx_drop_early(window, hdr);
        return;
    }
    if (!window_early_number(window, hdr, data_bytes, &number)) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    }
    switch (window_early_put(window, hdr, number, data, data_bytes)) {
    case WINDOW_EARLY_KEPT:
        window->stats[AM_CHAN_STAT_RX_GAP]++;
        rx_kept(window, hdr->class, number);
        rx_name(window, hdr->class);
        break;
    case WINDOW_EARLY_TWICE:
        window->stats[AM_CHAN_STAT_RX_DUPLICATE]++;
        rx_name(window, hdr->class);
        break;
    case WINDOW_EARLY_NO_ROOM:
        window->stats[AM_CHAN_STAT_RX_GAP]++;
        rx_drop_early(window, hdr);
        break;
    }
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
    if (am_seq_before(rx->early_end, rx->seq.next)) {
        rx->early_end = rx->seq.next; /* never so far behind that it seems ahead */
    }
    window->ops->deliver(window->arg, hdr->class, message, hdr->hdr_bytes,
                         hdr->message_bytes);
}

/* The packet wanted, which is not taken: nobody is ready for its message.  It is
 * as if lost, and asked for when they are, where it cannot be kept. */
static void rx_hold(struct am_window *window, const struct am_chan_hdr *hdr,
                    const void *data, uint32_t data_bytes)
{
    struct am_window_rx *rx = &window->rx[hdr->class];
    uint32_t number;

    window->stats[AM_CHAN_STAT_RX_HELD]++;
    rx->held = true;
    rx_name(window, hdr->class);
    if (window->params->early_packets != 0 &&
        window_early_number(window, hdr, data_bytes, &number) &&
        window_early_put(window, hdr, number, data, data_bytes) ==
                WINDOW_EARLY_KEPT) {
        rx_kept(window, hdr->class, number);
    }
}

/* Where the messages of several packets are put together; NULL: no memory. */
static uint8_t *rx_landing(struct am_window *window, uint32_t class)
{
    struct am_window_rx *rx = &window->rx[class];

    if (rx->landing == NULL) {
        rx->landing =
                window->ops->landing(window->arg, class, window->landing_bytes);
    }
    return rx->landing;
}

/* The packet wanted, from the network or kept; false when it is not taken. */
static bool rx_take(struct am_window *window, const struct am_chan_hdr *hdr,
                    void *data, uint32_t data_bytes)
{
    struct am_window_rx *rx = &window->rx[hdr->class];
    bool last = rx->offset + data_bytes == hdr->message_bytes;
    bool whole = last && rx->offset == 0;
    void *message = data;

    if (!rx_is_sound(window, hdr, data_bytes)) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        window_early_drop(rx, window_rx_wanted(rx));
        return false;
    }
    if (last && !window_may_deliver(window, hdr->class)) {
        rx_hold(window, hdr, data, data_bytes);
        return false;
    }
    if (!whole && rx_landing(window, hdr->class) == NULL) {
        return false; /* as if lost */
    }
    window_early_drop(rx, window_rx_wanted(rx));
    rx->gap = rx->held = false;
    if (!whole) {
        am_copy(rx->landing + rx->offset, data, data_bytes);
        message = rx->landing;
    }
    if (last) {
        rx_complete(window, hdr, message);
        return true;
    }
    rx->message_bytes = hdr->message_bytes;
    rx->hdr_bytes = hdr->hdr_bytes;
    rx->offset += data_bytes;
    rx->packets++;
    return true;
}

/* Take what was kept and is wanted now; was there any? */
static bool rx_take_kept(struct am_window *window, uint32_t class)
{
    struct am_window_rx *rx = &window->rx[class];
    struct am_chan_hdr hdr;
    uint32_t data_bytes;
    bool any = false;
    void *data;

    while (window->state == AM_WINDOW_OPEN &&
           (data = window_early_find(rx, window_rx_wanted(rx), &hdr,
                                     &data_bytes)) != NULL) {
        any = true;
        if (!rx_take(window, &hdr, data, data_bytes)) {
            break;
        }
    }
    if (rx->hole != rx->hole_end &&
        !am_seq_before(window_rx_wanted(rx), rx->hole_end)) {
        rx->hole = rx->hole_end;
        window->due &= ~(uint32_t)(WINDOW_DUE_NACK << class);
    }
    return any;
}

/* What nobody was ready for is taken when they are. */
static void rx_go_on(struct am_window *window, uint32_t class)
{
    struct am_window_rx *rx = &window->rx[class];

    if (rx->held && window_may_deliver(window, class)) {
        rx->held = false;
        if (!rx_take_kept(window, class)) {
            rx_ask(window, class);
        }
    }
}

void window_rx_answer(struct am_window *window, const struct am_chan_hdr *hdr)
{
    struct am_window_rx *rx = &window->rx[hdr->class];

    rx_go_on(window, hdr->class);
    if ((window->due & WINDOW_DUE_NACK << hdr->class) != 0 &&
        rx->probe_mark == 0) {
        return; /* what is missing is asked for anyway */
    }
    window->due |= WINDOW_DUE_NACK << hdr->class;
    rx->hole = rx->hole_end = window_rx_wanted(rx);
    rx->probe_end = hdr->seq;
    rx->probe_mark = hdr->hdr_bytes;
}

/* A packet of the chunk that is wanted. */
static void rx_of_chunk(struct am_window *window, const struct am_chan_hdr *hdr,
                        void *data, uint32_t data_bytes)
{
    const struct am_window_rx *rx = &window->rx[hdr->class];

    if (hdr->offset > rx->offset) {
        rx_early(window, hdr, data, data_bytes);
    } else if (hdr->offset < rx->offset) {
        window->stats[AM_CHAN_STAT_RX_DUPLICATE]++;
        rx_name(window, hdr->class);
    } else if (rx_take(window, hdr, data, data_bytes)) {
        (void)rx_take_kept(window, hdr->class);
        if (rx->early != NULL && rx->early->used != 0) {
            rx_name(window, hdr->class);
        }
    }
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
        break;
    case AM_SEQ_EARLY:
        rx_early(window, hdr, data, data_bytes);
        break;
    case AM_SEQ_BEYOND:
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        break;
    case AM_SEQ_WANTED: /* the chunk; which of its packets? */
        rx_of_chunk(window, hdr, data, data_bytes);
        break;
    }
}

void window_rx_tick(struct am_window *window, uint32_t class, uint64_t now_ps)
{
    struct am_window_rx *rx = &window->rx[class];

    rx_go_on(window, class);
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
