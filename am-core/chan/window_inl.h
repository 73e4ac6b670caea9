/*
 * The inside of the window, shared by window.c (control packets, ticks) and the
 * other files window_*.c only.
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
    WINDOW_DUE_SACK = 1 << 9, /* and 1 << 10, by class */
};

/* Acknowledgements wait for a packet to ride on, or for the tick. */
#define WINDOW_DUE_TOLD                                                        \
    ((uint32_t)(WINDOW_DUE_ACK | WINDOW_DUE_SACK | WINDOW_DUE_SACK << 1))

/* Most memory for packets of one class that come too early. */
#define WINDOW_EARLY_BYTES (UINT32_C(512) * 1024)

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

/* Does it say HELLO or BYE until it is answered? */
static inline bool window_is_asking(const struct am_window *window)
{
    return window->leaving || (window->state == AM_WINDOW_OPENING &&
                               !am_window_is_drained(window));
}

static inline bool window_may_deliver(const struct am_window *window,
                                      uint32_t class)
{
    return class == WINDOW_REPLY || window->ops->ready(window->arg);
}

/* Do ticks tell the time? */
static inline bool window_knows_time(const struct am_window *window)
{
    return window->params->timer || window->params->asks_by_time;
}

/*
 * Count one more tick without progress, on *polls since *ps.  True when it is
 * time to do something about it, once: after `most` ticks (nack), or after wait_ps
 * where ticks tell the time, whichever is earlier; the next wait is twice as long.
 */
bool window_is_overdue(const struct am_window *window, uint32_t most,
                       uint64_t wait_ps, uint64_t now_ps, uint32_t *polls,
                       uint64_t *ps, uint32_t *backoff);

/* window_memory.c: entries of a list of chunks, a power of two; memory for messages
 * to send, now or from here on. */
uint32_t window_entries(uint32_t window_packets);
bool window_has_memory(struct am_window *window);

/* Hand a packet to the device with the acknowledgements on it. */
am_status_t window_transmit(struct am_window *window, uint32_t class,
                            struct am_chan_hdr *hdr, const void *data,
                            uint32_t data_bytes);
/* Send the control packets that are due, but for those in `not_now`. */
void window_control(struct am_window *window, uint32_t not_now);

/* The chunk with a count. */
static inline struct am_window_chunk *window_chunk(const struct am_window_tx *tx,
                                                   uint32_t count)
{
    return &tx->chunks[count & tx->chunk_mask];
}

/* window_tx.c: start numbering; is there something to send that may go now; send
 * what the device takes; the peer has all before `ack`; wait no longer; tick. */
void window_tx_open(struct am_window_tx *tx, uint32_t seq);
bool window_tx_can_send(const struct am_window *window, uint32_t class);
void window_tx_pump(struct am_window *window);
void window_tx_acked(struct am_window *window, uint32_t class, uint32_t ack);
void window_tx_drop(struct am_window_tx *tx);
void window_tx_tick(struct am_window *window, uint32_t class, uint64_t now_ps);

/* window_again.c: fill in a PROBE; a NACK says what the peer misses; packets `first`
 * to `end`, which were sent, are sent again, those that are LOST where states are
 * kept, the counter of the cause, and is it for a loss; all from `first` on are;
 * the first of these was sent; those that are not LOST are passed over; and those
 * before una. */
void window_again_probe(const struct am_window_tx *tx, struct am_chan_hdr *hdr);
void window_again_wanted(struct am_window *window,
                         const struct am_chan_hdr *hdr);
void window_again_add(struct am_window *window, uint32_t class, uint32_t first,
                      uint32_t end, int stat, bool lost);
void window_again_from(struct am_window *window, uint32_t class, uint32_t first,
                       int stat);
void window_again_step(struct am_window_tx *tx);
void window_again_skip(struct am_window_tx *tx);
void window_again_acked(struct am_window_tx *tx);

/* window_rate.c: start; may the packet under the cursor go now, and the next one
 * after it; one that is sent again; it went, for the first time or again; the
 * peer has one before `end`; so many were acknowledged, una is past them; one was
 * lost; time-outs came to an end, with no way measured; a tick that tells the time;
 * picoseconds, and ticks, without an acknowledgement before something is done. */
void window_rate_open(struct am_window *window, uint32_t class);
bool window_rate_allows(const struct am_window *window, uint32_t class,
                        uint32_t after);
bool window_rate_allows_again(const struct am_window *window, uint32_t class,
                              uint32_t after);
void window_rate_sent(struct am_window *window, uint32_t class, uint32_t end,
                      bool first);
void window_rate_answered(struct am_window *window, uint32_t class,
                          uint32_t end);
void window_rate_acked(struct am_window *window, uint32_t class,
                       uint32_t packets);
void window_rate_lost(struct am_window *window, uint32_t class);
void window_rate_overdue(struct am_window *window, uint32_t class);
void window_rate_tick(struct am_window_rate *rate, uint64_t now_ps);
uint64_t window_rate_wait_ps(const struct am_window *window, uint32_t class);
uint32_t window_rate_polls(const struct am_window *window, uint32_t class);

/* window_conn.c: a HELLO or WELCOME. */
void window_hello(struct am_window *window, const struct am_chan_hdr *hdr);

/* window_rx.c: start numbering; a DATA packet; answer a PROBE by what is wanted;
 * fill in a NACK; tick. */
void window_rx_open(struct am_window_rx *rx, uint32_t seq);
void window_rx_data(struct am_window *window, const struct am_chan_hdr *hdr,
                    void *data, uint32_t data_bytes);
void window_rx_answer(struct am_window *window, const struct am_chan_hdr *hdr);
void window_rx_nack(const struct am_window_rx *rx, struct am_chan_hdr *hdr);
void window_rx_tick(struct am_window *window, uint32_t class, uint64_t now_ps);

/* The number of the packet that is wanted next. */
static inline uint32_t window_rx_wanted(const struct am_window_rx *rx)
{
    return rx->seq.next + rx->packets;
}

/* window_sack.c: do acknowledgements name packets; fill in a SACK, its bits and how
 * many bytes they are; a SACK came; a packet of the window went; a chunk is
 * acknowledged, una is not past it yet; una is past some; packets `first` to
 * `end` are missing; a time-out. */
static inline bool window_names_packets(const struct am_window *window)
{
    return window->params->timer && window->params->early_packets != 0;
}

enum {
    WINDOW_WAITING, /* not sent, or not in the window */
    WINDOW_FLYING,
    WINDOW_IN,
    WINDOW_LOST
};

uint32_t window_sack_fill(const struct am_window *window, uint32_t class,
                          struct am_chan_hdr *hdr, uint8_t *bits);
void window_sack_take(struct am_window *window, const struct am_chan_hdr *hdr,
                      const uint8_t *bits, uint32_t bytes);
void window_sack_sent(struct am_window_tx *tx, uint32_t number);
void window_sack_popped(struct am_window_tx *tx,
                        const struct am_window_chunk *chunk);
void window_sack_moved(struct am_window *window, uint32_t class);
void window_sack_missing(struct am_window *window, uint32_t class,
                         uint32_t first, uint32_t end, int stat);
void window_sack_overdue(struct am_window *window, uint32_t class);

/* A packet that came too early; its data lies behind all of these. */
struct window_kept {
    struct am_chan_hdr hdr;
    uint32_t number;
    uint32_t data_bytes;
    bool used;
};

struct am_window_early {
    _Alignas(8) uint32_t count; /* of `kept`; */
    uint32_t used;              /* of these */
    uint32_t data_stride;
    struct window_kept kept[];
};

/* Nothing of a message, nor a packet that came too early, is kept. */
static inline bool window_rx_may_rest(const struct am_window_rx *rx)
{
    return rx->offset == 0 && (rx->early == NULL || rx->early->used == 0);
}

/* window_early.c: the number of a packet, false when it cannot be one; keep it;
 * the data of the one that is kept under a number, or NULL; drop it; is it kept,
 * where there is a place for any; the first one that is kept, or the one that is
 * wanted when none is. */
typedef enum {
    WINDOW_EARLY_KEPT,
    WINDOW_EARLY_TWICE,
    WINDOW_EARLY_NO_ROOM
} window_early_t;

bool window_early_number(const struct am_window *window,
                         const struct am_chan_hdr *hdr, uint32_t data_bytes,
                         uint32_t *number_p);
window_early_t window_early_put(struct am_window *window,
                                const struct am_chan_hdr *hdr, uint32_t number,
                                const void *data, uint32_t data_bytes);
void *window_early_find(const struct am_window_rx *rx, uint32_t number,
                        struct am_chan_hdr *hdr, uint32_t *data_bytes_p);
void window_early_drop(struct am_window_rx *rx, uint32_t number);
bool window_early_has(const struct am_window_rx *rx, uint32_t number);
uint32_t window_early_first(const struct am_window_rx *rx);
/* Where the data of the packet with a number lies, or would. */
void *window_early_data(struct am_window_early *early, uint32_t number);

#endif
