/*
 * The sending side of the window: messages kept until acknowledged, the cursor
 * of transmission, acknowledgements and the wait for them.  Pure.
 */
#include "chan/window_inl.h"

static uint32_t packets_of(const struct am_window *window, uint32_t bytes)
{
    uint32_t payload_bytes = window->params->payload_bytes;

    return bytes == 0 ? 1 : (bytes + payload_bytes - 1) / payload_bytes;
}

void window_tx_open(struct am_window_tx *tx, uint32_t seq)
{
    am_seq_tx_open(&tx->seq, seq);
    tx->in_end = tx->missing = seq;
}

/* ------------------------------------------------------------------ sending */

/* A chunk that could not be longer: its number in flight has a limit. */
static bool tx_is_full(const struct am_window *window, uint32_t packets)
{
    return packets > 1 && packets == window->params->chunk_packets;
}

static bool tx_fits(const struct am_window *window, uint32_t class,
                    uint32_t packets)
{
    const struct am_window_tx *tx = &window->tx[class];
    const struct am_window_params *params = window->params;

    return am_seq_tx_fits(&tx->seq, packets, params->window_packets[class]) &&
           (!tx_is_full(window, packets) ||
            tx->full_count < params->chunks_max);
}

/*
 * Where a chunk lies: in one piece, so the slots at the end are skipped when
 * it does not fit there.  What is in use, skipped slots included, is less than
 * window_packets + chunk_packets, so the slots there are always free.
 */
static uint32_t tx_slot(const struct am_window_tx *tx, uint32_t packets)
{
    return tx->slot_next + packets <= tx->slot_count ? tx->slot_next : 0;
}

void *am_window_reserve(struct am_window *window, uint32_t class,
                        uint32_t bytes)
{
    const struct am_window_tx *tx = &window->tx[class];
    uint32_t packets = packets_of(window, bytes);

    if (window->state == AM_WINDOW_GONE ||
        packets > window->params->chunk_packets ||
        !tx_fits(window, class, packets) || !window_has_memory(window)) {
        window->stats[AM_CHAN_STAT_TX_WINDOW_FULL]++;
        return NULL;
    }
    return tx->slots +
           (size_t)tx_slot(tx, packets) * window->params->payload_bytes;
}

void am_window_commit(struct am_window *window, uint32_t class,
                      uint32_t hdr_bytes, uint32_t bytes)
{
    struct am_window_tx *tx = &window->tx[class];
    struct am_window_chunk *chunk = window_chunk(tx, tx->chunk_next);
    bool first = am_window_is_drained(window);

    chunk->packets = packets_of(window, bytes);
    chunk->seq = am_seq_tx_take(&tx->seq, chunk->packets);
    chunk->bytes = bytes;
    chunk->hdr_bytes = hdr_bytes;
    chunk->slot = tx_slot(tx, chunk->packets);
    tx->slot_next = chunk->slot + chunk->packets;
    tx->full_count += tx_is_full(window, chunk->packets);
    tx->chunk_next++;
    window->stats[AM_CHAN_STAT_TX_MESSAGES]++;
    if (window->state == AM_WINDOW_OPENING && first) {
        window->due |= WINDOW_DUE_HELLO;
        window_control(window, 0);
    }
    window_tx_pump(window);
}

bool am_window_has_room(struct am_window *window, uint32_t class)
{
    return tx_fits(window, class, window->params->chunk_packets) &&
           window_has_memory(window);
}

/* Transmit a packet of the chunk with this count; does another follow at once? */
static am_status_t tx_transmit(struct am_window *window, uint32_t class,
                               uint32_t count, uint32_t packet, bool more)
{
    struct am_window_tx *tx = &window->tx[class];
    const struct am_window_chunk *chunk = window_chunk(tx, count);
    uint32_t payload_bytes = window->params->payload_bytes;
    uint32_t offset = packet * payload_bytes;
    uint32_t rest = chunk->bytes - offset;
    uint32_t end = chunk->seq + packet + 1;
    struct am_chan_hdr hdr = {.seq = chunk->seq,
                              .offset = offset,
                              .message_bytes = chunk->bytes,
                              .hdr_bytes = (uint16_t)chunk->hdr_bytes,
                              .type = AM_CHAN_DATA,
                              .class = (uint8_t) class};
    am_status_t status;
    bool first;

    window->more = more;
    window->words = chunk->hdr_bytes == chunk->bytes && chunk->packets == 1;
    status = window_transmit(
            window, class, &hdr,
            tx->slots + (size_t)(chunk->slot + packet) * payload_bytes,
            rest < payload_bytes ? rest : payload_bytes);
    window->more = window->words = false;
    if (status != AM_OK) {
        return status;
    }
    first = am_seq_tx_sent(&tx->seq, end);
    if (tx->sent != NULL) {
        window_sack_sent(tx, end - 1);
    }
    window->stats[AM_CHAN_STAT_TX_RETRANSMITTED] += !first;
    window_rate_sent(window, class, end, first);
    if (count == tx->chunk_una) {
        tx->quiet_polls = 0;
    }
    window->stats[AM_CHAN_STAT_TX_PACKETS]++;
    return AM_OK;
}

/* The packet under the cursor. */
static am_status_t tx_transmit_next(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    uint32_t packets = window_chunk(tx, tx->chunk_cur)->packets;
    bool more = (tx->cur_packet + 1 < packets ||
                 tx->chunk_cur + 1 != tx->chunk_next) &&
                window_rate_allows(window, class, 1);
    am_status_t status =
            tx_transmit(window, class, tx->chunk_cur, tx->cur_packet, more);

    if (status == AM_OK && ++tx->cur_packet == packets) {
        tx->cur_packet = 0;
        tx->chunk_cur++;
    }
    return status;
}

/* The first of the packets that the peer misses. */
static am_status_t tx_transmit_again(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    const struct am_window_chunk *chunk = window_chunk(tx, tx->again_chunk);
    bool more = tx->sent == NULL
                        ? tx->again_next + 1 != tx->again_end
                        : tx->lost > 1 &&
                                  window_rate_allows_again(window, class, 1);
    am_status_t status = tx_transmit(window, class, tx->again_chunk,
                                     tx->again_next - chunk->seq, more);

    if (status == AM_OK) {
        window_again_step(tx);
        window_again_skip(tx);
    }
    return status;
}

static bool can_send_again(const struct am_window *window, uint32_t class)
{
    const struct am_window_tx *tx = &window->tx[class];

    return tx->again_next != tx->again_end &&
           window_rate_allows_again(window, class, 0);
}

bool window_tx_can_send(const struct am_window *window, uint32_t class)
{
    const struct am_window_tx *tx = &window->tx[class];

    return can_send_again(window, class) ||
           (tx->chunk_cur != tx->chunk_next &&
            window_rate_allows(window, class, 0));
}

void window_tx_pump(struct am_window *window)
{
    if (window->state != AM_WINDOW_OPEN) {
        return;
    }
    for (uint32_t class = AM_WINDOW_CLASSES; class -- > 0;) {
        am_status_t status = AM_OK;

        while (can_send_again(window, class) && status == AM_OK) {
            status = tx_transmit_again(window, class);
        }
        while (window_tx_can_send(window, class) && status == AM_OK) {
            status = tx_transmit_next(window, class);
        }
    }
}

/* --------------------------------------------------------- acknowledgements */

static void tx_pop(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    const struct am_window_chunk *chunk = window_chunk(tx, tx->chunk_una);

    if (tx->sent != NULL) {
        window_sack_popped(tx, chunk);
    }
    am_seq_tx_acked(&tx->seq, chunk->packets);
    tx->full_count -= tx_is_full(window, chunk->packets);
    if (tx->chunk_cur == tx->chunk_una) {
        tx->chunk_cur++;
        tx->cur_packet = 0;
    }
    tx->chunk_una++;
    tx->quiet_polls = 0;
}

/* The wait for acknowledgements, which has doubled, is over.  After several in a
 * row what else was on its way is as likely lost as what was sent again: where
 * that is only some of it (window_sack.c), the next time-out is a second one. */
static void tx_waited(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    bool twice = tx->backoff > 1;

    if (tx->backoff != 0 && !tx->recovers) {
        window_rate_overdue(window, class);
    }
    tx->recovers = twice && window_names_packets(window) &&
                   window_has_unacked(tx);
    tx->backoff = tx->recovers ? 1 : 0;
}

void window_tx_acked(struct am_window *window, uint32_t class, uint32_t ack)
{
    struct am_window_tx *tx = &window->tx[class];

    am_seq_ack_t judged = am_seq_tx_judge(&tx->seq, ack);
    uint32_t una = tx->seq.una;

    if (judged != AM_SEQ_ACK_NEW) {
        window->stats[AM_CHAN_STAT_RX_BAD] += judged == AM_SEQ_ACK_BAD;
        return;
    }
    while (window_has_unacked(tx)) {
        const struct am_window_chunk *chunk = window_chunk(tx, tx->chunk_una);

        if (am_seq_before(ack, chunk->seq + chunk->packets)) {
            break;
        }
        tx_pop(window, class);
    }
    if (tx->seq.una != una) {
        tx_waited(window, class);
    }
    window_again_acked(tx);
    window_rate_acked(window, class, tx->seq.una - una);
    if (tx->sent != NULL) {
        window_sack_moved(window, class);
    }
    window->stats[AM_CHAN_STAT_RX_BAD] += ack != tx->seq.una;
}

void window_tx_drop(struct am_window_tx *tx)
{
    am_seq_tx_drop(&tx->seq);
    tx->chunk_una = tx->chunk_cur = tx->chunk_next;
    tx->cur_packet = tx->full_count = 0;
    tx->again_next = tx->again_end;
    tx->flying = tx->lost = 0;
    tx->recovers = false;
    tx->rate.timed = tx->rate.answered = false;
}

void window_tx_tick(struct am_window *window, uint32_t class, uint64_t now_ps)
{
    struct am_window_tx *tx = &window->tx[class];

    if (window_knows_time(window)) {
        window_rate_tick(&tx->rate, now_ps);
    }
    if (!window_has_unacked(tx)) {
        return;
    }
    if (window_tx_can_send(window, class)) {
        /* What waits for the device asks by itself; a probe would only take
         * the space that it waits for, and starting over before the end is
         * reached would never reach it. */
        window->due &= ~(WINDOW_DUE_PROBE << class);
        return;
    }
    if (!window_is_overdue(window, window_rate_polls(window, class),
                           window_rate_wait_ps(window, class), now_ps,
                           &tx->quiet_polls, &tx->quiet_ps, &tx->backoff)) {
        return;
    }
    if (tx->sent != NULL) {
        window_sack_overdue(window, class);
    } else if (window->params->timer) {
        window_again_from(window, class, tx->seq.una,
                          AM_CHAN_STAT_TX_AGAIN_TIME);
    } else {
        window->due |= WINDOW_DUE_PROBE << class;
        tx->rate.timed = false; /* the answer is not to the packet */
    }
}
