/*
 * The window's connection: who the peer is, when it opens, when it is gone.
 * The table of states and events is in window.c.  Pure.
 */
#include "chan/window_inl.h"

/* The number of the connection in packets from one epoch to another. */
static uint32_t conn_of(uint32_t from, uint32_t to)
{
    uint64_t mix = (uint64_t)from << 32 | to;

    /* the 64-bit finaliser of MurmurHash3 (Appleby), public domain */
    mix ^= mix >> 33;
    mix *= UINT64_C(0xff51afd7ed558ccd);
    mix ^= mix >> 33;
    mix *= UINT64_C(0xc4ceb9fe1a85ec53);
    mix ^= mix >> 33;
    return (uint32_t)mix == 0 ? 1 : (uint32_t)mix;
}

static bool hello_is_sound(const struct am_chan_hdr *hdr)
{
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        if (hdr->ack[i] < 1 || hdr->ack[i] > AM_CHAN_WINDOW_MAX) {
            return false;
        }
    }
    return hdr->seq != 0 && hdr->hdr_bytes == AM_CHAN_WIRE_VERSION &&
           hdr->message_bytes >= 1 &&
           hdr->message_bytes <= AM_CHAN_MESSAGE_MAX && hdr->conn >= 1 &&
           hdr->conn <= hdr->message_bytes;
}

/* Packets that are acknowledged on their own.  A sender that adapts may have no
 * more than a full chunk on its way. */
static uint32_t ack_part(const struct am_window_params *params,
                         uint32_t window_packets)
{
    uint32_t part = window_packets / params->ack_fraction;
    uint32_t part_max = params->chunk_packets / 2;

    return params->adapts && part > part_max ? part_max : part;
}

static void window_open(struct am_window *window, const struct am_chan_hdr *hdr)
{
    window->peer_epoch = hdr->seq;
    window->conn_tx = conn_of(window->epoch, hdr->seq);
    window->conn_rx = conn_of(hdr->seq, window->epoch);
    window->landing_bytes = hdr->message_bytes;
    window->peer_payload_bytes = hdr->conn;
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        uint32_t part = ack_part(window->params, hdr->ack[i]);

        window->ack_packets[i] = part == 0 ? 1 : part;
        window_rx_open(&window->rx[i], hdr->seq);
    }
    window->state = AM_WINDOW_OPEN;
    window->due &= ~(uint32_t)WINDOW_DUE_HELLO;
}

void window_hello(struct am_window *window, const struct am_chan_hdr *hdr)
{
    bool asks = hdr->type == AM_CHAN_HELLO;

    if (!hello_is_sound(hdr)) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
    } else if (window->state == AM_WINDOW_OPEN) {
        if (hdr->seq != window->peer_epoch) {
            window->stats[AM_CHAN_STAT_RX_STALE]++;
        } else if (asks) {
            window->due |= WINDOW_DUE_WELCOME;
        }
    } else if (hdr->offset == window->epoch) {
        window_open(window, hdr);
        window->due |= asks ? WINDOW_DUE_WELCOME : 0;
    } else if (asks) {
        /* Nothing is kept for it but the name to answer to. */
        window->peer_epoch = hdr->seq;
        window->due |= WINDOW_DUE_HELLO;
    } else {
        window->stats[AM_CHAN_STAT_RX_STALE]++;
    }
}

void am_window_gone(struct am_window *window)
{
    window->state = AM_WINDOW_GONE;
    window->leaving = false;
    window->due = 0;
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        window_tx_drop(&window->tx[i]);
        am_seq_rx_tell(&window->rx[i].seq);
        window->rx[i].held = false;
    }
}

void am_window_farewell(struct am_window *window)
{
    bool gone = window->state == AM_WINDOW_GONE;

    if (window->state == AM_WINDOW_OPENING || window->parted) {
        return;
    }
    window->leaving = false;
    for (uint32_t i = 0; i < AM_WINDOW_FAREWELLS; i++) {
        window->due = gone ? WINDOW_DUE_GONE : WINDOW_DUE_BYE;
        window_control(window, 0);
    }
    window->due = 0;
    window->parted = true;
}

void am_window_bye(struct am_window *window)
{
    if (window->state == AM_WINDOW_OPEN && !window->leaving) {
        window->leaving = true;
        window->hello_polls = window->hello_backoff = 0;
        window->due |= WINDOW_DUE_BYE;
        window_control(window, 0);
    }
}
