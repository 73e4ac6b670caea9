/*
 * How many packets a sender has on their way when the network drops what it
 * has no space for, and when it asks after those of which nothing is heard.
 * Pure.
 *
 * The limit is between one full chunk, which is acknowledged as a whole, and
 * the configured window.  A loss halves it, once for all packets that were on
 * their way then (Jacobson 1988), which lets the network's queues drain.  It grows
 * by one for each packet acknowledged up to the goal, and beyond that by GROWTH for
 * each limit's worth.  The goal is what was reached before the loss, less one part
 * in GOAL_PART: where packets are lost for other reasons than queues, at random, a
 * goal of one half as TCP has it would leave sqrt(3 / 2p) packets on their way, 12
 * when one in a hundred is lost; this leaves about sqrt(2 GROWTH GOAL_PART / p).
 * Several senders that share a queue still end with equal shares, since what is
 * added is the same for all and what is taken is in proportion (Chiu and Jain 1989).
 *
 * The time from a packet to its acknowledgement is counted in ticks, for a
 * window has no clock; packets that were sent again are not counted (Karn 1987).
 * Where ticks tell the time it is also taken from those that follow the two, and
 * the window waits for the mean and four mean deviations (RFC 6298), but not for
 * less than the mean and the time by which the peer may delay an acknowledgement.
 */
#include "chan/window_inl.h"

#define START_CHUNKS  2
#define GROWTH        4
#define GOAL_PART     8
#define SMOOTH_SHIFT  3 /* the mean of about 8 */
#define PATIENCE_LEAST 64
#define RTT_SHIFT      3 /* RFC 6298: an eighth, a quarter, four deviations */
#define RTT_VAR_SHIFT  2

void window_rate_open(struct am_window *window, uint32_t class)
{
    const struct am_window_params *params = window->params;
    struct am_window_rate *rate = &window->tx[class].rate;

    rate->limit = START_CHUNKS * params->chunk_packets;
    rate->goal = params->window_packets[class];
    if (rate->limit > rate->goal) {
        rate->limit = rate->goal;
    }
}

bool window_rate_allows(const struct am_window *window, uint32_t class,
                        uint32_t after)
{
    const struct am_window_tx *tx = &window->tx[class];
    const struct am_window_chunk *chunk =
            &tx->chunks[tx->chunk_cur & tx->chunk_mask];

    if (tx->sent != NULL) {
        return !window->params->adapts || tx->flying + after < tx->rate.limit;
    }
    return !window->params->adapts ||
           chunk->seq + tx->cur_packet + after - tx->seq.una <
                   tx->rate.limit;
}

/* What a loss takes from the limit is there for what is sent again. */
bool window_rate_allows_again(const struct am_window *window, uint32_t class,
                              uint32_t after)
{
    const struct am_window_tx *tx = &window->tx[class];

    return !window->params->adapts || tx->sent == NULL ||
           tx->flying + after < 2 * tx->rate.limit;
}

void window_rate_sent(struct am_window *window, uint32_t class, uint32_t end,
                      bool first)
{
    struct am_window_rate *rate = &window->tx[class].rate;

    if (!first) {
        rate->timed = rate->timed && window_names_packets(window) &&
                      am_seq_before(end, rate->timed_end);
    } else if (window->params->adapts && !rate->timed && !rate->answered) {
        rate->timed = true;
        rate->timed_end = end;
        rate->timed_tick = window->ticks;
        rate->timed_ps = 0;
    }
}

static void rtt_take(struct am_window_rate *rate, uint32_t ticks)
{
    if (rate->rtt_ticks_8 == 0) {
        rate->rtt_ticks_8 = ticks << SMOOTH_SHIFT;
    }
    rate->rtt_ticks_8 += ticks - (rate->rtt_ticks_8 >> SMOOTH_SHIFT);
}

void window_rate_answered(struct am_window *window, uint32_t class,
                          uint32_t end)
{
    struct am_window_rate *rate = &window->tx[class].rate;

    if (!rate->timed || am_seq_before(end, rate->timed_end)) {
        return;
    }
    rate->answered = window_knows_time(window);
    rtt_take(rate, window->ticks - rate->timed_tick);
    rate->timed = false;
}

/* One more measured way there and back (RFC 6298). */
static void rtt_take_ps(struct am_window_rate *rate, uint64_t ps)
{
    uint64_t away = ps < rate->rtt_ps ? rate->rtt_ps - ps : ps - rate->rtt_ps;

    rate->doubled = 0;
    if (rate->rtt_ps == 0) {
        rate->rtt_ps = ps;
        rate->rtt_var_ps = ps / 2;
        return;
    }
    rate->rtt_var_ps += (away >> RTT_VAR_SHIFT) -
                        (rate->rtt_var_ps >> RTT_VAR_SHIFT);
    rate->rtt_ps += (ps >> RTT_SHIFT) - (rate->rtt_ps >> RTT_SHIFT);
}

void window_rate_tick(struct am_window_rate *rate, uint64_t now_ps)
{
    if (rate->answered && rate->timed_ps != 0) {
        rtt_take_ps(rate, now_ps - rate->timed_ps);
    }
    rate->answered = false;
    if (rate->timed && rate->timed_ps == 0) {
        rate->timed_ps = now_ps;
    }
}

void window_rate_acked(struct am_window *window, uint32_t class,
                       uint32_t packets)
{
    struct am_window_tx *tx = &window->tx[class];
    struct am_window_rate *rate = &tx->rate;
    uint32_t limit_max = window->params->window_packets[class];

    if (!window->params->adapts) {
        return;
    }
    window_rate_answered(window, class, tx->seq.una);
    if (rate->lost && am_seq_before(rate->lost_end, tx->seq.una)) {
        rate->lost_end = tx->seq.una; /* or, 2^31 packets later, it is ahead */
    }
    if (rate->limit < rate->goal) {
        rate->limit += packets;
    } else {
        rate->part += GROWTH * packets;
        rate->limit += rate->part / rate->limit;
        rate->part %= rate->limit;
    }
    if (rate->limit > limit_max) {
        rate->limit = limit_max;
    }
}

void window_rate_lost(struct am_window *window, uint32_t class)
{
    struct am_window_tx *tx = &window->tx[class];
    struct am_window_rate *rate = &tx->rate;
    uint32_t limit_min = window->params->chunk_packets;

    rate->timed = rate->timed && window_names_packets(window);
    if (!window->params->adapts ||
        (rate->lost && am_seq_before(tx->seq.una, rate->lost_end))) {
        return;
    }
    if (!rate->lost || rate->goal < rate->limit) {
        rate->goal = rate->limit;
    }
    rate->lost = true;
    rate->lost_end = tx->seq.sent;
    rate->goal -= rate->goal / GOAL_PART;
    rate->limit = rate->limit / 2 < limit_min ? limit_min : rate->limit / 2;
    rate->part = 0;
    window->stats[AM_CHAN_STAT_TX_HALVED]++;
}

uint64_t window_rate_wait_ps(const struct am_window *window, uint32_t class)
{
    const struct am_window_rate *rate = &window->tx[class].rate;
    uint64_t spread_ps = rate->rtt_var_ps << RTT_VAR_SHIFT;
    uint64_t least_ps = window->params->ack_delay_ps;

    if (rate->rtt_ps == 0) {
        return window->params->rto_ps;
    }
    spread_ps = spread_ps < least_ps ? least_ps : spread_ps;
    return (rate->rtt_ps + spread_ps) << rate->doubled;
}

/* The wait is twice as long until more is measured (RFC 6298, 5.5 to 5.7): where
 * every packet goes twice since the way has become longer, nothing can be.  Where
 * the peer is only asked, nothing goes twice for that. */
void window_rate_overdue(struct am_window *window, uint32_t class)
{
    struct am_window_rate *rate = &window->tx[class].rate;

    if (window->params->timer && rate->rtt_ps != 0 &&
        window_rate_wait_ps(window, class) < window->params->rto_max_ps) {
        rate->doubled++;
    }
}

uint32_t window_rate_polls(const struct am_window *window, uint32_t class)
{
    uint32_t most = window->params->keepalive_polls;
    uint64_t ticks = 2 * (window->tx[class].rate.rtt_ticks_8 >> SMOOTH_SHIFT);

    if (!window->params->adapts || ticks == 0) {
        return most;
    }
    ticks += PATIENCE_LEAST;
    return ticks < most ? (uint32_t)ticks : most;
}
