/*
 * The inside of the window, shared by window.c (control packets, ticks),
 * window_conn.c, window_tx.c and window_rx.c only.
 */
#ifndef AM_CHAN_WINDOW_INL_H
#define AM_CHAN_WINDOW_INL_H

#include "chan/window.h"

/* Control packets to send, at the next chance. */
enum {
    WINDOW_DUE_HELLO = 1 << 0,
    WINDOW_DUE_WELCOME = 1 << 1,
    WINDOW_DUE_NACK = 1 << 2,  /* and 1 << 3, by class */
    WINDOW_DUE_PROBE = 1 << 4, /* and 1 << 5, by class */
    WINDOW_DUE_ACK = 1 << 6,
    WINDOW_DUE_BYE = 1 << 7,
    WINDOW_DUE_GONE = 1 << 8,
};

/* Times of going back that a PROBE can tell apart. */
#define WINDOW_ROUNDS 4096

enum {
    WINDOW_REQUEST = 0,
    WINDOW_REPLY = 1
};

static inline bool window_has_unacked(const struct am_window_tx *tx)
{
    return am_seq_tx_open_count(&tx->seq) != 0;
}

static inline bool window_may_deliver(const struct am_window *window,
                                      uint32_t class)
{
    return class == WINDOW_REPLY || window->ops->ready(window->arg);
}

/*
 * Count one more tick without progress, on *polls since *ps.  True when it is
 * time to do something about it, once, after `patience` ticks (nack); the next
 * wait is twice as long.
 */
bool window_is_overdue(const struct am_window *window, uint32_t patience,
                       uint64_t now_ps, uint32_t *polls, uint64_t *ps,
                       uint32_t *backoff);

/* Hand a packet to the device with the acknowledgements on it. */
am_status_t window_transmit(struct am_window *window, uint32_t class,
                            struct am_chan_hdr *hdr, const void *data,
                            uint32_t data_bytes);
/* Send the control packets that are due, but for those in `not_now`. */
void window_control(struct am_window *window, uint32_t not_now);

/* window_tx.c: start numbering; send what the device takes; the peer has all
 * before `ack`; a NACK says what the peer wants; fill in a PROBE; wait no longer;
 * tick. */
void window_tx_open(struct am_window_tx *tx, uint32_t seq);
void window_tx_pump(struct am_window *window);
void window_tx_acked(struct am_window *window, uint32_t class, uint32_t ack);
void window_tx_wanted(struct am_window *window, const struct am_chan_hdr *hdr);
void window_tx_probe(const struct am_window_tx *tx, struct am_chan_hdr *hdr);
void window_tx_drop(struct am_window_tx *tx);
void window_tx_tick(struct am_window *window, uint32_t class, uint64_t now_ps);

/* window_rate.c: start; may the packet under the cursor go now, and the next one
 * after it; it went, for the first time or again; so many were acknowledged, una
 * is past them; one was lost; ticks without an acknowledgement before the peer
 * is asked. */
void window_rate_open(struct am_window *window, uint32_t class);
bool window_rate_allows(const struct am_window *window, uint32_t class,
                        uint32_t after);
void window_rate_sent(struct am_window *window, uint32_t class, uint32_t end,
                      bool first);
void window_rate_acked(struct am_window *window, uint32_t class,
                       uint32_t packets);
void window_rate_lost(struct am_window *window, uint32_t class);
uint32_t window_rate_patience(const struct am_window *window, uint32_t class);

/* window_conn.c: a HELLO or WELCOME. */
void window_hello(struct am_window *window, const struct am_chan_hdr *hdr);

/* window_rx.c: start numbering; a DATA packet; ask for what is missing, or
 * answer a PROBE by what is wanted; tick. */
void window_rx_open(struct am_window_rx *rx, uint32_t seq, void *landing);
void window_rx_data(struct am_window *window, const struct am_chan_hdr *hdr,
                    void *data, uint32_t data_bytes);
void window_rx_ask(struct am_window *window, uint32_t class);
void window_rx_answer(struct am_window *window, const struct am_chan_hdr *hdr);
void window_rx_tick(struct am_window *window, uint32_t class, uint64_t now_ps);

#endif
