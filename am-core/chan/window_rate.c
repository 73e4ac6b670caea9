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
 */
#include "chan/window_inl.h"

#define START_CHUNKS  2
#define GROWTH        4
#define GOAL_PART     8
#define SMOOTH_SHIFT  3 /* the mean of about 8 */
#define PATIENCE_LEAST 64

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

    return !window->params->adapts ||
           chunk->seq + tx->cur_packet + after - tx->seq.una <
                   tx->rate.limit;
}

void window_rate_sent(struct am_window *window, uint32_t class, uint32_t end,
                      bool first)
{
    struct am_window_rate *rate = &window->tx[class].rate;

    if (!first) {
        rate->timed = false;
    } else if (window->params->adapts && !rate->timed) {
        rate->timed = true;
        rate->timed_end = end;
        rate->timed_tick = window->ticks;
    }
}

static void rtt_take(struct am_window_rate *rate, uint32_t ticks)
{
    if (rate->rtt_ticks_8 == 0) {
        rate->rtt_ticks_8 = ticks << SMOOTH_SHIFT;
    }
    rate->rtt_ticks_8 += ticks - (rate->rtt_ticks_8 >> SMOOTH_SHIFT);
    rate->timed = false;
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
    if (rate->timed && !am_seq_before(tx->seq.una, rate->timed_end)) {
        rtt_take(rate, window->ticks - rate->timed_tick);
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

    rate->timed = false;
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

uint32_t window_rate_patience(const struct am_window *window, uint32_t class)
{
    uint32_t most = window->params->keepalive_polls;
    uint64_t ticks = 2 * (window->tx[class].rate.rtt_ticks_8 >> SMOOTH_SHIFT);

    if (!window->params->adapts || ticks == 0) {
        return most;
    }
    ticks += PATIENCE_LEAST;
    return ticks < most ? (uint32_t)ticks : most;
}
