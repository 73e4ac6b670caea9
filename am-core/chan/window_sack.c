/*
 * Acknowledgements that name packets, in the timer variant where the receiver
 * keeps those that come too early: the sender sends again what is missing and
 * nothing else (as TCP does by selective acknowledgements, RFC 2018 and 6675).
 * Pure.
 *
 * A SACK says which packet is missing first, and which of those after it are in.
 * It is advice: a message leaves the window only when its chunk is acknowledged,
 * and the third time-out in a row forgets all that SACKs have said.  So one that
 * is old or forged costs time at most.
 *
 * What the sender knows of a packet that is in the window:
 *
 *   state   | sent   | SACK names it | later ones | time-out: 1st | 2nd  | 3rd
 *           |        |               | are in     |               |      |
 *   --------+--------+---------------+------------+---------------+------+-----
 *   WAITING | FLYING | (refused)     | -          | -             | -    | -
 *   FLYING  | -      | IN            | LOST       | LOST (1)      | LOST | (1)
 *   IN      | -      | -             | -          | - (2)         | -(2) | (3)
 *   LOST    | FLYING | IN            | -          | -             | -    | -
 *
 * (1) The first and the last of them: when only an acknowledgement was lost, or
 * the peer was slow, little goes twice; else the last one shows what else is
 * missing.  (2) When none is FLYING, the one that the peer said to miss first is
 * LOST; the first of the window, if it misses none.  (3) Is FLYING, then as
 * (1): a network that is cut off is asked after by two packets.  All that the
 * answer to them says is news, so that a second time-out follows.
 *
 * A SACK that names a later packet than any before, as in or as missing first,
 * makes the time-out that follows a second one at most; so does the
 * acknowledgement of a chunk that comes after two time-outs or more.
 *
 * Later ones are in: a packet is LOST when one is in that is REORDER - 1 numbers
 * or more beyond the first that was first sent after it.  That one went later,
 * whatever of the two was sent again since, so that a packet that was sent again
 * and lost again is found in the same way.
 */
#include "chan/window_inl.h"

#include <string.h>

#define REORDER 3 /* as many as TCP waits for (RFC 5681) */

/* ----------------------------------------------------------------- receiver */

uint32_t window_sack_fill(const struct am_window *window, uint32_t class,
                          struct am_chan_hdr *hdr, uint8_t *bits)
{
    const struct am_window_rx *rx = &window->rx[class];
    uint32_t wanted = window_rx_wanted(rx), end = wanted, bytes = 0;
    uint32_t most = window->params->payload_bytes < AM_CHAN_SACK_BYTES
                            ? window->params->payload_bytes
                            : AM_CHAN_SACK_BYTES;

    memset(bits, 0, AM_CHAN_SACK_BYTES);
    if (rx->early != NULL && rx->early->used != 0) {
        end += rx->early->count;
    }
    while (wanted != end && window_early_has(rx, wanted)) {
        wanted++; /* kept, since nobody is ready for it */
    }
    hdr->seq = wanted;
    for (uint32_t i = 0;
         am_seq_before(wanted + 1 + i, end) && i < 8 * most; i++) {
        if (window_early_has(rx, wanted + 1 + i)) {
            bits[i / 8] |= (uint8_t)(1 << i % 8);
            bytes = i / 8 + 1;
        }
    }
    return bytes;
}

/* ------------------------------------------------------------------- sender */

static struct am_window_sent *sent_of(const struct am_window_tx *tx,
                                      uint32_t number)
{
    return &tx->sent[number & tx->chunk_mask];
}

static void set_state(struct am_window_tx *tx, struct am_window_sent *sent,
                      uint32_t state)
{
    tx->flying += state == WINDOW_FLYING;
    tx->flying -= sent->state == WINDOW_FLYING;
    tx->lost += state == WINDOW_LOST;
    tx->lost -= sent->state == WINDOW_LOST;
    sent->state = state;
}

void window_sack_sent(struct am_window_tx *tx, uint32_t number)
{
    struct am_window_sent *sent = sent_of(tx, number);

    set_state(tx, sent, WINDOW_FLYING);
    sent->after = tx->seq.sent;
}

void window_sack_popped(struct am_window_tx *tx,
                        const struct am_window_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->packets; i++) {
        struct am_window_sent *sent = sent_of(tx, chunk->seq + i);

        set_state(tx, sent, WINDOW_WAITING);
        sent->after = 0;
    }
}

/* Those in this state are lost; were there any? */
static bool lose(struct am_window_tx *tx, uint32_t first, uint32_t end,
                 uint32_t state)
{
    bool any = false;

    for (uint32_t number = first; number != end; number++) {
        if (sent_of(tx, number)->state == state) {
            set_state(tx, sent_of(tx, number), WINDOW_LOST);
            any = true;
        }
    }
    return any;
}

/* Which are lost, since later ones are in? */
static void judge(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    uint32_t first = tx->in_end, end = tx->in_end;

    for (uint32_t number = tx->seq.una; number != tx->in_end; number++) {
        struct am_window_sent *sent = sent_of(tx, number);

        if (sent->state == WINDOW_FLYING &&
            !am_seq_before(tx->in_end, sent->after + REORDER)) {
            set_state(tx, sent, WINDOW_LOST);
            first = first == tx->in_end ? number : first;
            end = number + 1;
        }
    }
    if (first != tx->in_end) {
        window_again_add(window, class, first, end, AM_CHAN_STAT_TX_AGAIN_ACK,
                        true);
    }
}

void window_sack_moved(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];

    if (am_seq_before(tx->in_end, tx->seq.una)) {
        tx->in_end = tx->seq.una;
    }
    if (am_seq_before(tx->missing, tx->seq.una)) {
        tx->missing = tx->seq.una;
    }
    window_again_skip(tx);
    judge(window, class);
}

static bool is_in(const uint8_t *bits, uint32_t index)
{
    return (bits[index / 8] >> index % 8 & 1) != 0;
}

/* The number after the last packet that a SACK names. */
static uint32_t named_end(uint32_t wanted, const uint8_t *bits, uint32_t bytes)
{
    for (uint32_t i = 8 * bytes; i-- > 0;) {
        if (is_in(bits, i)) {
            return wanted + 1 + i + 1;
        }
    }
    return wanted;
}

/* Take what a SACK says that is sound. */
static void take_in(struct am_window_tx *tx, uint32_t wanted, uint32_t end,
                    const uint8_t *bits)
{
    for (uint32_t number = tx->seq.una; number != wanted; number++) {
        set_state(tx, sent_of(tx, number), WINDOW_IN);
    }
    for (uint32_t i = 0; wanted != end && i < end - wanted - 1; i++) {
        if (is_in(bits, i)) {
            set_state(tx, sent_of(tx, wanted + 1 + i), WINDOW_IN);
        }
    }
    if (am_seq_before(tx->missing, wanted) || am_seq_before(tx->in_end, end)) {
        tx->backoff = tx->backoff == 0 ? 0 : 1; /* it listens */
    }
    tx->missing = am_seq_before(tx->missing, wanted) ? wanted : tx->missing;
    tx->in_end = am_seq_before(tx->in_end, end) ? end : tx->in_end;
}

void window_sack_take(struct am_window *window, const struct am_chan_hdr *hdr,
                      const uint8_t *bits, uint32_t bytes)
{
    struct am_window_tx *tx = &window->tx[hdr->class];
    uint32_t wanted = hdr->seq, end = named_end(wanted, bits, bytes);

    if (!window_names_packets(window) || am_seq_before(wanted, tx->seq.una)) {
        return; /* of no use, or overtaken by a later one */
    }
    if (am_seq_before(tx->seq.sent, wanted) ||
        am_seq_before(tx->seq.sent, end)) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    }
    take_in(tx, wanted, end, bits);
    window_rate_answered(window, hdr->class, tx->in_end);
    window_sack_moved(window, hdr->class);
}

void window_sack_missing(struct am_window *window, uint32_t class,
                         uint32_t first, uint32_t end, int stat)
{
    if (lose(&window->tx[class], first, end, WINDOW_FLYING)) {
        window_again_add(window, class, first, end, stat, true);
    }
}

/* The first and the last of those that are FLYING, of which there are some. */
static void lose_ends(struct am_window_tx *tx)
{
    uint32_t first = tx->seq.una, last = tx->seq.sent - 1;

    while (sent_of(tx, first)->state != WINDOW_FLYING) {
        first++;
    }
    while (sent_of(tx, last)->state != WINDOW_FLYING) {
        last--;
    }
    set_state(tx, sent_of(tx, first), WINDOW_LOST);
    set_state(tx, sent_of(tx, last), WINDOW_LOST);
}

/* Nothing is known of what is in. */
static void forget(struct am_window_tx *tx)
{
    for (uint32_t number = tx->seq.una; number != tx->seq.sent; number++) {
        struct am_window_sent *sent = sent_of(tx, number);

        if (sent->state == WINDOW_IN) {
            set_state(tx, sent, WINDOW_FLYING);
        }
    }
    tx->in_end = tx->missing = tx->seq.una;
}

void window_sack_overdue(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    uint32_t una = tx->seq.una, end = tx->seq.sent;
    bool lost = false;

    if (tx->backoff >= 3) {
        forget(tx);
    } else if (tx->flying == 0) {
        uint32_t first = tx->missing == end ? una : tx->missing;

        (void)lose(tx, first, first + 1, WINDOW_IN);
    }
    if (tx->backoff == 2) {
        lost = lose(tx, una, end, WINDOW_FLYING);
    } else if (tx->flying > 0) {
        lose_ends(tx);
    }
    window_again_add(window, class, una, end, AM_CHAN_STAT_TX_AGAIN_TIME, lost);
}
