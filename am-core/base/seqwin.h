/*
 * Sliding windows over sequence numbers modulo 2^32, both halves, as pure
 * arithmetic: the channel's window (chan/window.c) counts packets with them.
 *
 *   sender    una               sent              next         una + span
 *              | not acked yet   | not sent yet    | free         |
 *
 *   receiver  told              next                           next + span
 *              | in, not told    | wanted  | early ...            | beyond
 *   (old)      |
 *
 * Numbers that are compared are never 2^31 apart: spans are far smaller, and
 * what a peer sends is judged against the span before it is used.
 */
#ifndef AM_BASE_SEQWIN_H
#define AM_BASE_SEQWIN_H

#include <stdbool.h>
#include <stdint.h>

/* Does `a` come before `b`? */
static inline bool am_seq_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

/* -------------------------------------------------------------- the sender */

struct am_seq_tx {
    uint32_t una;  /* the oldest that is not acknowledged */
    uint32_t sent; /* all before it were sent at least once */
    uint32_t next; /* the next to be given out */
};

static inline void am_seq_tx_open(struct am_seq_tx *tx, uint32_t first)
{
    tx->una = tx->sent = tx->next = first;
}

/* Numbers given out and not acknowledged. */
static inline uint32_t am_seq_tx_open_count(const struct am_seq_tx *tx)
{
    return tx->next - tx->una;
}

/* Is there room for `count` more in a window of `span`? */
static inline bool am_seq_tx_fits(const struct am_seq_tx *tx, uint32_t count,
                                  uint32_t span)
{
    return count <= span && tx->next - tx->una <= span - count;
}

/* Give out `count` numbers; the first of them. */
static inline uint32_t am_seq_tx_take(struct am_seq_tx *tx, uint32_t count)
{
    tx->next += count;
    return tx->next - count;
}

/* All before `end` have been sent; false when they had been before. */
bool am_seq_tx_sent(struct am_seq_tx *tx, uint32_t end);

typedef enum {
    AM_SEQ_ACK_OLD, /* says nothing new: overtaken by a later one */
    AM_SEQ_ACK_NEW,
    AM_SEQ_ACK_BAD /* of what was never sent */
} am_seq_ack_t;

/* The peer says that it has all before `ack`.  Changes nothing: the caller
 * moves una by whole messages, with am_seq_tx_acked. */
am_seq_ack_t am_seq_tx_judge(const struct am_seq_tx *tx, uint32_t ack);

/* The oldest `count` numbers are acknowledged. */
void am_seq_tx_acked(struct am_seq_tx *tx, uint32_t count);

/* Nothing will be acknowledged any more: count all as acknowledged. */
void am_seq_tx_drop(struct am_seq_tx *tx);

/* ------------------------------------------------------------ the receiver */

struct am_seq_rx {
    uint32_t next; /* wanted; all before it are in */
    uint32_t told; /* next when the sender was last told */
};

typedef enum {
    AM_SEQ_OLD,    /* in already */
    AM_SEQ_WANTED, /* next */
    AM_SEQ_EARLY,  /* something before it is missing */
    AM_SEQ_BEYOND  /* further ahead than a sender may be */
} am_seq_place_t;

static inline void am_seq_rx_open(struct am_seq_rx *rx, uint32_t first)
{
    rx->next = rx->told = first;
}

/* Where a number that arrived stands, with a sender of at most `span`. */
am_seq_place_t am_seq_rx_judge(const struct am_seq_rx *rx, uint32_t seq,
                               uint32_t span);

/* The `count` numbers from `next` on are in; how many are not told now. */
static inline uint32_t am_seq_rx_advance(struct am_seq_rx *rx, uint32_t count)
{
    rx->next += count;
    return rx->next - rx->told;
}

static inline bool am_seq_rx_is_told(const struct am_seq_rx *rx)
{
    return rx->next == rx->told;
}

/* The sender is being told `next`. */
static inline void am_seq_rx_tell(struct am_seq_rx *rx)
{
    rx->told = rx->next;
}

#endif
