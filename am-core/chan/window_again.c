/*
 * What the sending side of the window sends again: the packets that the peer misses,
 * by its word or by what it has (window_sack.c), or all from one on.  Pure.
 */
#include "chan/window_inl.h"

void window_again_step(struct am_window_tx *tx)
{
    const struct am_window_chunk *chunk = window_chunk(tx, tx->again_chunk);

    tx->again_next++;
    tx->again_chunk += tx->again_next == chunk->seq + chunk->packets;
}

void window_again_skip(struct am_window_tx *tx)
{
    while (tx->sent != NULL && tx->again_next != tx->again_end &&
           tx->sent[tx->again_next & tx->chunk_mask].state != WINDOW_LOST) {
        window_again_step(tx);
    }
}

void window_again_acked(struct am_window_tx *tx)
{
    uint32_t number = tx->seq.una;

    if (tx->again_next == tx->again_end) {
        return;
    }
    if (am_seq_before(tx->again_next, number)) {
        tx->again_next = number;
        tx->again_chunk = tx->chunk_una;
    }
    if (!am_seq_before(tx->again_next, tx->again_end)) {
        tx->again_next = tx->again_end;
    }
}

/* All before the cursor has been sent. */
static uint32_t cursor_seq(const struct am_window_tx *tx)
{
    return tx->chunk_cur == tx->chunk_next
                   ? tx->seq.next
                   : window_chunk(tx, tx->chunk_cur)->seq + tx->cur_packet;
}

/* A PROBE says what was sent before it: of that, what the peer still wants when
 * it comes is lost, but nothing of what follows the PROBE.  And it says how often
 * the cursor had gone back: the answer to one from before is of no use.  A window
 * that does not adapt waits so long before it asks that neither matters. */
void window_again_probe(const struct am_window_tx *tx, struct am_chan_hdr *hdr)
{
    hdr->seq = cursor_seq(tx);
    hdr->hdr_bytes = (uint16_t)(1 + tx->round);
}

static bool wants_lost(const struct am_window_tx *tx,
                       const struct am_chan_hdr *hdr)
{
    return hdr->hdr_bytes == 0 ||
           (hdr->hdr_bytes == 1 + tx->round &&
            am_seq_before(hdr->seq, hdr->message_bytes));
}

/* Packets that were sent before are sent again. */
static void went_back(struct am_window *window, uint32_t class, int stat,
                      bool lost)
{
    struct am_window_tx *tx = &window->tx[class];

    window->stats[stat]++;
    if (lost) {
        window_rate_lost(window, class);
    }
    if (window->params->adapts) {
        tx->round = (tx->round + 1) % WINDOW_ROUNDS;
    }
}

/* Packets `first` to `end` are, besides those that are to be sent again already;
 * what lies between the two as well, which is rare. */
static void add_range(struct am_window_tx *tx, uint32_t count, uint32_t first,
                      uint32_t end)
{
    bool none = tx->again_next == tx->again_end;

    if (none || am_seq_before(first, tx->again_next)) {
        tx->again_next = first;
        tx->again_chunk = count;
    }
    if (none || am_seq_before(tx->again_end, end)) {
        tx->again_end = end;
    }
}

/* The chunk that a packet is of. */
static uint32_t count_of(const struct am_window_tx *tx, uint32_t number)
{
    uint32_t count = tx->chunk_una;

    while (!am_seq_before(number, window_chunk(tx, count)->seq +
                                          window_chunk(tx, count)->packets)) {
        count++;
    }
    return count;
}

void window_again_add(struct am_window *window, uint32_t class, uint32_t first,
                      uint32_t end, int stat, bool lost)
{
    struct am_window_tx *tx = &window->tx[class];

    add_range(tx, count_of(tx, first), first, end);
    window_again_skip(tx);
    went_back(window, class, stat, lost);
}

/* The cursor goes back, where it is not known what the peer has of the rest. */
void window_again_from(struct am_window *window, uint32_t class, uint32_t first,
                       int stat)
{
    struct am_window_tx *tx = &window->tx[class];

    tx->chunk_cur = count_of(tx, first);
    tx->cur_packet = first - window_chunk(tx, tx->chunk_cur)->seq;
    tx->again_next = tx->again_end;
    went_back(window, class, stat, true);
}

void window_again_wanted(struct am_window *window, const struct am_chan_hdr *hdr)
{
    uint32_t class = hdr->class, first = hdr->seq, end = hdr->offset;
    struct am_window_tx *tx = &window->tx[class];
    uint32_t sent = cursor_seq(tx);
    int stat = hdr->hdr_bytes == 0 ? AM_CHAN_STAT_TX_AGAIN_NACK
                                   : AM_CHAN_STAT_TX_AGAIN_PROBE;

    window->stats[AM_CHAN_STAT_RX_NACK]++;
    tx->backoff = 0; /* it listens */
    if (first == tx->seq.next || am_seq_before(first, tx->seq.una)) {
        return; /* it has all, or had it by the time of a later packet */
    }
    if (am_seq_before(tx->seq.next, first) || am_seq_before(end, first)) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    }
    if (!wants_lost(tx, hdr) || !am_seq_before(first, sent)) {
        return;
    }
    if (end != first && am_seq_before(sent, end)) {
        end = sent;
    }
    window_rate_answered(window, class, end);
    if (tx->sent != NULL) {
        window_sack_missing(window, class, first, end == first ? sent : end,
                            stat);
    } else if (end != first) {
        window_again_add(window, class, first, end, stat, true);
    } else {
        window_again_from(window, class, first, stat);
    }
}
