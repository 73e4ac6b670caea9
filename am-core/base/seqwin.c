/*
 * The judgements of sequence windows; see seqwin.h.
 */
#include "base/seqwin.h"

#include "base/assert.h"

bool am_seq_tx_sent(struct am_seq_tx *tx, uint32_t end)
{
    if (!am_seq_before(tx->sent, end)) {
        return false;
    }
    AM_ASSERT(!am_seq_before(tx->next, end));
    tx->sent = end;
    return true;
}

am_seq_ack_t am_seq_tx_judge(const struct am_seq_tx *tx, uint32_t ack)
{
    if (am_seq_before(tx->sent, ack)) {
        return AM_SEQ_ACK_BAD;
    }
    return am_seq_before(tx->una, ack) ? AM_SEQ_ACK_NEW : AM_SEQ_ACK_OLD;
}

void am_seq_tx_acked(struct am_seq_tx *tx, uint32_t count)
{
    AM_ASSERT(count <= tx->sent - tx->una);
    tx->una += count;
}

void am_seq_tx_drop(struct am_seq_tx *tx)
{
    tx->una = tx->sent = tx->next;
}

am_seq_place_t am_seq_rx_judge(const struct am_seq_rx *rx, uint32_t seq,
                               uint32_t span)
{
    if (am_seq_before(seq, rx->next)) {
        return AM_SEQ_OLD;
    }
    if (seq == rx->next) {
        return AM_SEQ_WANTED;
    }
    return seq - rx->next > span ? AM_SEQ_BEYOND : AM_SEQ_EARLY;
}
