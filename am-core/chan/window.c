/*
 * The window: set-up, control packets, ticks, and the way of a packet that came
 * to the side it belongs to.  Pure: see window.h.
 *
 * States and events.  "for me" is a HELLO or WELCOME that names my epoch,
 * "conn" any other packet with the connection's hash.
 *
 *            | OPENING               | OPEN                 | GONE
 *  ----------+-----------------------+----------------------+---------
 *  commit    | keep, HELLO           | keep, transmit       | keep not
 *  HELLO     | HELLO, naming it      | WELCOME if it is the | -
 *            |                       | peer's, else stale   |
 *  HELLO     | WELCOME -> OPEN       | WELCOME if it is the | -
 *   for me   |                       | peer's, else stale   |
 *  WELCOME   | -> OPEN               | -                    | -
 *   for me   |                       |                      |
 *  DATA conn | (unknown conn: HELLO) | window_rx            | -
 *  ACK       | (unknown conn: HELLO) | acknowledged         | -
 *  NACK      | (unknown conn: HELLO) | acknowledged, again  | -
 *  PROBE     | (unknown conn: HELLO) | NACK (ACK when held) | -
 *  SACK      | (unknown conn: HELLO) | acknowledged, again  | -
 *  BYE       | (unknown conn: HELLO) | GONE -> GONE         | GONE
 *  GONE      | (unknown conn: HELLO) | -> GONE              | -
 *  other     | HELLO                 | stale, dropped       | -
 *  tick      | HELLO if overdue      | due packets, PROBE,  | due GONE
 *            |                       | BYE while leaving    |
 */
#include "chan/window_inl.h"

#include <string.h>

/* ------------------------------------------------------------------- set-up */

void am_window_init(struct am_window *window,
                    const struct am_window_params *params, uint32_t epoch,
                    const struct am_window_ops *ops, void *arg, uint64_t *stats)
{
    memset(window, 0, sizeof(*window));
    window->params = params;
    window->ops = ops;
    window->arg = arg;
    window->stats = stats;
    window->epoch = epoch;
    window->state = AM_WINDOW_OPENING;
    for (uint32_t class = 0; class < AM_WINDOW_CLASSES; class ++) {
        struct am_window_tx *tx = &window->tx[class];

        tx->chunk_mask = window_entries(params->window_packets[class]) - 1;
        tx->slot_count = params->window_packets[class] + params->chunk_packets;
        window_tx_open(tx, epoch);
        window_rate_open(window, class);
    }
}

/* ---------------------------------------------------------- control packets */

am_status_t window_transmit(struct am_window *window, uint32_t class,
                            struct am_chan_hdr *hdr, const void *data,
                            uint32_t data_bytes)
{
    am_status_t status;

    hdr->conn = window->conn_tx;
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        hdr->ack[i] = window->rx[i].seq.next;
    }
    status = window->ops->transmit(window->arg, class, hdr, data, data_bytes);
    if (status != AM_OK) {
        return status;
    }
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        am_seq_rx_tell(&window->rx[i].seq);
        window->rx[i].untold_ps = 0;
    }
    window->due &= ~(uint32_t)WINDOW_DUE_ACK;
    return AM_OK;
}

static am_status_t control_hello(struct am_window *window, uint8_t type)
{
    const struct am_window_params *params = window->params;
    struct am_chan_hdr hdr = {.conn = params->payload_bytes,
                              .seq = window->epoch,
                              .offset = window->peer_epoch,
                              .message_bytes = params->chunk_packets *
                                               params->payload_bytes,
                              .hdr_bytes = AM_CHAN_WIRE_VERSION,
                              .type = type};

    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        hdr.ack[i] = params->window_packets[i];
    }
    return window->ops->transmit(window->arg, WINDOW_REPLY, &hdr, NULL, 0);
}

static am_status_t control_plain(struct am_window *window, uint8_t type,
                                 uint32_t class)
{
    struct am_chan_hdr hdr = {.type = type, .class = (uint8_t) class};
    uint8_t bits[AM_CHAN_SACK_BYTES];

    if (type == AM_CHAN_SACK) {
        uint32_t bytes = window_sack_fill(window, class, &hdr, bits);

        return window_transmit(window, WINDOW_REPLY, &hdr, bits, bytes);
    }
    if (type == AM_CHAN_NACK) {
        window_rx_nack(&window->rx[class], &hdr);
    } else if (type == AM_CHAN_PROBE && window->params->adapts) {
        window_again_probe(&window->tx[class], &hdr);
    }
    return window_transmit(window, WINDOW_REPLY, &hdr, NULL, 0);
}

void window_control(struct am_window *window, uint32_t not_now)
{
    /* In this order: what opens a connection, then what moves data, then the
     * acknowledgement, which rides on any of these. */
    static const struct {
        uint32_t due;
        uint8_t type, class;
        uint8_t stat; /* AM_CHAN_STAT_COUNT: not counted */
    } rows[] = {
            {WINDOW_DUE_HELLO, AM_CHAN_HELLO, 0, AM_CHAN_STAT_COUNT},
            {WINDOW_DUE_WELCOME, AM_CHAN_WELCOME, 0, AM_CHAN_STAT_COUNT},
            {WINDOW_DUE_NACK, AM_CHAN_NACK, 0, AM_CHAN_STAT_TX_NACK},
            {WINDOW_DUE_NACK << 1, AM_CHAN_NACK, 1, AM_CHAN_STAT_TX_NACK},
            {WINDOW_DUE_PROBE, AM_CHAN_PROBE, 0, AM_CHAN_STAT_TX_PROBE},
            {WINDOW_DUE_PROBE << 1, AM_CHAN_PROBE, 1, AM_CHAN_STAT_TX_PROBE},
            {WINDOW_DUE_SACK, AM_CHAN_SACK, 0, AM_CHAN_STAT_TX_ACK},
            {WINDOW_DUE_SACK << 1, AM_CHAN_SACK, 1, AM_CHAN_STAT_TX_ACK},
            {WINDOW_DUE_ACK, AM_CHAN_ACK, 0, AM_CHAN_STAT_TX_ACK},
            {WINDOW_DUE_BYE, AM_CHAN_BYE, 0, AM_CHAN_STAT_COUNT},
            {WINDOW_DUE_GONE, AM_CHAN_GONE, 0, AM_CHAN_STAT_COUNT},
    };

    if ((window->due & ~not_now) == 0) {
        return; /* as mostly */
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        am_status_t status;

        if ((window->due & rows[i].due & ~not_now) == 0) {
            continue;
        }
        status =
                rows[i].type == AM_CHAN_HELLO || rows[i].type == AM_CHAN_WELCOME
                        ? control_hello(window, rows[i].type)
                        : control_plain(window, rows[i].type, rows[i].class);
        if (status != AM_OK) {
            return; /* no space: the rest stays due */
        }
        window->due &= ~rows[i].due;
        if (rows[i].stat != AM_CHAN_STAT_COUNT) {
            window->stats[rows[i].stat]++;
        }
    }
}

/* ------------------------------------------------------------------ packets */

/* A packet of the open connection; the table is at the head of the file. */
static void packet_open(struct am_window *window, const struct am_chan_hdr *hdr,
                        void *data, uint32_t data_bytes)
{
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        window_tx_acked(window, i, hdr->ack[i]);
    }
    switch (hdr->type) {
    case AM_CHAN_DATA:
        window_rx_data(window, hdr, data, data_bytes);
        break;
    case AM_CHAN_NACK:
        window_again_wanted(window, hdr);
        break;
    case AM_CHAN_PROBE:
        if (window_may_deliver(window, hdr->class)) {
            window_rx_answer(window, hdr);
        } else {
            window->due |= WINDOW_DUE_ACK;
        }
        break;
    case AM_CHAN_SACK:
        window_sack_take(window, hdr, data, data_bytes);
        break;
    case AM_CHAN_BYE:
        am_window_gone(window);
        window->due |= WINDOW_DUE_GONE;
        break;
    case AM_CHAN_GONE:
        am_window_gone(window);
        window->parted = true;
        break;
    default: /* ACK: said all by its header */
        break;
    }
}

void am_window_packet(struct am_window *window, const struct am_chan_hdr *hdr,
                      void *data, size_t data_bytes)
{
    size_t data_most = hdr->type == AM_CHAN_DATA   ? AM_CHAN_MESSAGE_MAX
                       : hdr->type == AM_CHAN_SACK ? AM_CHAN_SACK_BYTES
                                                   : 0;

    if (window->state == AM_WINDOW_GONE) {
        if (hdr->type == AM_CHAN_BYE && hdr->conn == window->conn_rx) {
            window->due |= WINDOW_DUE_GONE;
        }
        return;
    }
    if (hdr->type < AM_CHAN_DATA || hdr->type >= AM_CHAN_TYPE_END ||
        hdr->class >= AM_WINDOW_CLASSES || data_bytes > data_most) {
        window->stats[AM_CHAN_STAT_RX_BAD]++;
        return;
    }
    if (hdr->type == AM_CHAN_HELLO || hdr->type == AM_CHAN_WELCOME) {
        window_hello(window, hdr);
    } else if (window->state == AM_WINDOW_OPENING) {
        window->due |= WINDOW_DUE_HELLO; /* one for all of them, by tick */
        return;
    } else if (hdr->conn != window->conn_rx) {
        window->stats[AM_CHAN_STAT_RX_STALE]++;
        return;
    } else {
        packet_open(window, hdr, data, (uint32_t)data_bytes);
    }
    window_control(window, WINDOW_DUE_TOLD);
    window_tx_pump(window);
}

/* -------------------------------------------------------------------- ticks */

static uint64_t rto_of(const struct am_window_params *params, uint64_t wait_ps,
                       uint32_t backoff)
{
    wait_ps <<= backoff;
    return wait_ps < params->rto_max_ps ? wait_ps : params->rto_max_ps;
}

bool window_is_overdue(const struct am_window *window, uint32_t most,
                       uint64_t wait_ps, uint64_t now_ps, uint32_t *polls,
                       uint64_t *ps, uint32_t *backoff)
{
    const struct am_window_params *params = window->params;

    if ((*polls)++ == 0) {
        *ps = now_ps;
    }
    if ((params->timer || *polls < (uint64_t)most << *backoff) &&
        (!window_knows_time(window) ||
         now_ps - *ps < rto_of(params, wait_ps, *backoff))) {
        return false;
    }
    *polls = 0;
    *backoff += *backoff < AM_WINDOW_BACKOFF_MAX;
    return true;
}

void am_window_tick(struct am_window *window, uint64_t now_ps)
{
    const struct am_window_params *params = window->params;

    window->ticks += params->adapts;
    if (window_is_asking(window) &&
        window_is_overdue(window, params->keepalive_polls, params->rto_ps,
                          now_ps, &window->hello_polls, &window->hello_ps,
                          &window->hello_backoff)) {
        window->due |= window->leaving ? WINDOW_DUE_BYE : WINDOW_DUE_HELLO;
    }
    for (uint32_t i = 0;
         i < AM_WINDOW_CLASSES && window->state == AM_WINDOW_OPEN; i++) {
        window_tx_tick(window, i, now_ps);
        window_rx_tick(window, i, now_ps);
    }
    window_control(window, 0);
    window_tx_pump(window);
}

/* The end of a wait that window_is_overdue counts; 0: not begun. */
static uint64_t overdue_at(const struct am_window_params *params,
                           uint64_t wait_ps, uint32_t polls, uint64_t ps,
                           uint32_t backoff)
{
    return polls == 0 ? 0 : ps + rto_of(params, wait_ps, backoff);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One class of an open window of the timer variant. */
static uint64_t class_due_ps(const struct am_window *window, uint32_t class)
{
    const struct am_window_params *params = window->params;
    const struct am_window_tx *tx = &window->tx[class];
    const struct am_window_rx *rx = &window->rx[class];
    uint64_t due_ps = UINT64_MAX;

    if (rx->held || tx->rate.answered || window_tx_can_send(window, class)) {
        return 0;
    }
    if (window_has_unacked(tx)) {
        due_ps = overdue_at(params, window_rate_wait_ps(window, class),
                            tx->quiet_polls, tx->quiet_ps, tx->backoff);
    }
    if (!am_seq_rx_is_told(&rx->seq)) {
        due_ps =
                rx->untold_ps == 0
                        ? 0
                        : earlier(due_ps, rx->untold_ps + params->ack_delay_ps);
    }
    return due_ps;
}

uint64_t am_window_due_ps(const struct am_window *window)
{
    uint64_t due_ps = UINT64_MAX;

    if (am_window_is_idle(window)) {
        return UINT64_MAX;
    }
    if (!window->params->timer || window->due != 0) {
        return 0;
    }
    if (window->leaving || window->state == AM_WINDOW_OPENING) {
        due_ps = overdue_at(window->params, window->params->rto_ps,
                            window->hello_polls, window->hello_ps,
                            window->hello_backoff);
    }
    for (uint32_t i = 0;
         i < AM_WINDOW_CLASSES && window->state == AM_WINDOW_OPEN; i++) {
        due_ps = earlier(due_ps, class_due_ps(window, i));
    }
    return due_ps;
}

bool am_window_is_drained(const struct am_window *window)
{
    return !window_has_unacked(&window->tx[WINDOW_REQUEST]) &&
           !window_has_unacked(&window->tx[WINDOW_REPLY]);
}

bool am_window_is_idle(const struct am_window *window)
{
    for (uint32_t i = 0; i < AM_WINDOW_CLASSES; i++) {
        const struct am_window_rx *rx = &window->rx[i];

        if (rx->held || window->tx[i].rate.answered ||
            (window->params->timer && !am_seq_rx_is_told(&rx->seq))) {
            return false;
        }
    }
    return window->due == 0 && !window->leaving && am_window_is_drained(window);
}
