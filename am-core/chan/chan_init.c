/*
 * The channel device's set-up, close and description.  May call chan, dev and
 * base only.
 */
#include "base/text.h"
#include "chan/chan_dev.h"

#include <stdio.h>
#include <stdlib.h>

#define PS_PER_US UINT64_C(1000000)
#define PS_PER_MS UINT64_C(1000000000)
#define PS_PER_S  UINT64_C(1000000000000)
/* Longer waits than these would only look like hangs: the last messages before
 * a flush are acknowledged after ack_delay or asked about after keepalive. */
#define CHAN_RTO_MAX_US       UINT64_C(10000000)
#define CHAN_ACK_DELAY_MAX_US UINT64_C(10000)
#define CHAN_KEEPALIVE_MAX    100000
#define CHAN_LINGER_MAX_MS    (UINT64_C(3600) * 1000)
#define CHAN_GIVE_UP_MAX_S    (UINT64_C(30) * 24 * 3600)
#define LINGER_FACTOR         10
#define LINGER_POLL_PACKETS   64
#define LINGER_RELAX_PS       (10 * PS_PER_US)
/* A quarter: Chang et al. 1996; half: I-hrx of Verstoep et al. 2004. */
#define ACK_FRACTION_NACK  4
#define ADAPTS_CHUNK_PACKETS 8
#define EARLY_PACKETS_MAX 256
#define ACK_FRACTION_TIMER 2
/* Costs on a core of about 3 GHz: bookkeeping, one more copy and the checksum
 * by tables, which takes most. */
#define CHAN_FIXED_PS 50000
#define CHAN_SEND_FS  600000
#define CHAN_RECV_FS  500000

const struct am_stat_row am_chan_stat_rows[AM_CHAN_STAT_COUNT] = {
        [AM_CHAN_STAT_TX_MESSAGES] = {"chan_tx_messages", "messages",
                                      "Messages put into a window."},
        [AM_CHAN_STAT_TX_PACKETS] = {"chan_tx_packets", "packets",
                                     "Packets with data that were sent."},
        [AM_CHAN_STAT_TX_RETRANSMITTED] = {"chan_tx_retransmitted", "packets",
                                           "Of these, sent before already."},
        [AM_CHAN_STAT_TX_AGAIN_NACK] = {"chan_tx_again_nack", "times",
                                        "Sent again for a gap at the peer."},
        [AM_CHAN_STAT_TX_AGAIN_PROBE] = {"chan_tx_again_probe", "times",
                                         "Sent again as a keep-alive told."},
        [AM_CHAN_STAT_TX_AGAIN_TIME] = {"chan_tx_again_time", "times",
                                        "Sent again after a time (timer)."},
        [AM_CHAN_STAT_TX_AGAIN_ACK] = {"chan_tx_again_ack", "times",
                                       "Sent again as later ones were in."},
        [AM_CHAN_STAT_TX_HALVED] = {"chan_tx_halved", "times",
                                    "The window was halved for a loss."},
        [AM_CHAN_STAT_TX_WINDOW_FULL] = {"chan_tx_window_full", "times",
                                         "Sends refused by a full window."},
        [AM_CHAN_STAT_TX_ACK] = {"chan_tx_ack", "packets",
                                 "Explicit acknowledgements sent."},
        [AM_CHAN_STAT_TX_NACK] = {"chan_tx_nack", "packets",
                                  "Negative acknowledgements sent."},
        [AM_CHAN_STAT_TX_PROBE] = {"chan_tx_probe", "packets",
                                   "Keep-alives that ask what is wanted."},
        [AM_CHAN_STAT_RX_NACK] = {"chan_rx_nack", "packets",
                                  "Negative acknowledgements received."},
        [AM_CHAN_STAT_RX_DUPLICATE] = {"chan_rx_duplicate", "packets",
                                       "Dropped because they were in."},
        [AM_CHAN_STAT_RX_GAP] = {"chan_rx_gap", "packets",
                                 "Dropped because an earlier one was not in."},
        [AM_CHAN_STAT_RX_HELD] = {"chan_rx_held", "packets",
                                  "Requests dropped because not ready."},
        [AM_CHAN_STAT_RX_STALE] = {"chan_rx_stale", "packets",
                                   "Dropped as of another connection."},
        [AM_CHAN_STAT_RX_BAD_CRC] = {"chan_rx_bad_crc", "packets",
                                     "Dropped for a wrong checksum."},
        [AM_CHAN_STAT_RX_BAD] = {"chan_rx_bad", "packets",
                                 "With a field that cannot be."},
};

const uint64_t *am_chan_stats(const struct am_dev *dev, uint32_t *count_p)
{
    *count_p = AM_CHAN_STAT_COUNT;
    if (dev == NULL || dev->ops != &chan_ops) {
        return NULL;
    }
    return ((const struct chan_dev *)dev)->stats;
}

/* ------------------------------------------------------------------- set-up */

uint32_t chan_epoch(struct chan_dev *chan)
{
    uint64_t mix = chan->nonce + chan->epoch_count++;

    /* splitmix64's finaliser (Steele et al. 2014): near numbers go far apart */
    do {
        mix = (mix ^ mix >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mix = (mix ^ mix >> 27) * UINT64_C(0x94d049bb133111eb);
        mix = (mix ^ mix >> 31) + 1;
    } while ((uint32_t)mix == 0);
    return (uint32_t)mix;
}

static uint32_t within(uint64_t value, uint64_t min, uint64_t max)
{
    return (uint32_t)(value < min ? min : value > max ? max : value);
}

static uint64_t time_ps(uint64_t us, uint64_t us_max)
{
    return (us < us_max ? us : us_max) * PS_PER_US;
}

/* Bring the values into their ranges: any number works.  A simulated host polls
 * as often as its program does: there counting them is enough. */
static void params_set(struct am_window_params *params,
                       const struct am_chan_values *values,
                       const struct am_dev_attr *lower,
                       const struct am_env *env)
{
    bool timer = values->reliability == AM_RELIABILITY_TIMER;
    uint32_t payload_max = within(lower->packet_bytes_max - CHAN_HDR_BYTES, 1,
                                  AM_CHAN_MESSAGE_MAX);
    /* No packet so small that a header needs more than one. */
    uint32_t payload_min = within(CHAN_UPPER_HDR_MAX, 1, payload_max);
    uint32_t window_min;

    *params = (struct am_window_params){
            .window_packets = {within(values->request_window, 1,
                                      AM_CHAN_WINDOW_MAX),
                               within(values->reply_window, 1,
                                      AM_CHAN_WINDOW_MAX)},
            .chunks_max = within(values->chunks_max, 1, AM_CHAN_WINDOW_MAX),
            .payload_bytes = within(values->packet_bytes, CHAN_HDR_BYTES,
                                    payload_max + CHAN_HDR_BYTES) -
                             CHAN_HDR_BYTES,
            .ack_fraction = within(values->ack_fraction, 1, AM_CHAN_WINDOW_MAX),
            .keepalive_polls =
                    within(values->keepalive_polls, 1, CHAN_KEEPALIVE_MAX),
            .timer = timer,
            .asks_by_time = !timer && !env->simulated,
            .adapts = (lower->caps & AM_DEV_CAP_DROPS) != 0,
            .rto_ps = time_ps(values->rto_us, CHAN_RTO_MAX_US),
            .rto_max_ps = time_ps(values->rto_max_us, CHAN_RTO_MAX_US),
            .ack_delay_ps =
                    time_ps(values->ack_delay_us, CHAN_ACK_DELAY_MAX_US),
    };
    params->payload_bytes =
            within(params->payload_bytes, payload_min, payload_max);
    if (values->ack_fraction == 0) {
        params->ack_fraction = timer ? ACK_FRACTION_TIMER : ACK_FRACTION_NACK;
    }
    window_min =
            within(params->window_packets[0], 1, params->window_packets[1]);
    params->chunk_packets = within(values->chunk_packets, 1,
                                   within(window_min / 2, 1, window_min));
    params->chunk_packets = within(params->chunk_packets, 1,
                                   AM_CHAN_MESSAGE_MAX / params->payload_bytes);
    if (params->adapts) { /* a full chunk is the least on its way */
        params->early_packets = EARLY_PACKETS_MAX;
        params->chunk_packets =
                within(params->chunk_packets, 1, ADAPTS_CHUNK_PACKETS);
        params->chunks_max = AM_CHAN_WINDOW_MAX;
    }
    params->hdr_bytes_max =
            within(CHAN_UPPER_HDR_MAX, 1,
                   params->chunk_packets * params->payload_bytes);
}

static void attr_set(struct am_dev_attr *attr, const struct am_dev_attr *lower,
                     const struct am_window_params *params)
{
    *attr = *lower;
    attr->caps = (lower->caps & AM_DEV_CAP_WAIT) | AM_DEV_CAP_RELIABLE |
                 AM_DEV_CAP_ORDERED;
    attr->packet_bytes_max =
            (size_t)params->chunk_packets * params->payload_bytes;
    attr->reply_bytes_max = attr->packet_bytes_max;
    attr->hdr_bytes_max = params->hdr_bytes_max;
    attr->depth = params->window_packets[AM_DEV_REQUEST];
    attr->perf.send_overhead.fixed_ps += CHAN_FIXED_PS;
    attr->perf.send_overhead.per_byte_fs += CHAN_SEND_FS;
    attr->perf.recv_overhead.fixed_ps += CHAN_FIXED_PS;
    attr->perf.recv_overhead.per_byte_fs += CHAN_RECV_FS;
    attr->perf.put = attr->perf.get = (struct am_linfn){0, 0};
}

am_status_t am_chan_wrap(struct am_dev *lower,
                         const struct am_dev_params *params,
                         const struct am_chan_values *values,
                         struct am_dev **dev_p)
{
    struct chan_dev *chan;

    if (lower->attr.hdr_bytes_max < CHAN_HDR_BYTES ||
        lower->attr.packet_bytes_max <= CHAN_HDR_BYTES) {
        return AM_ERR_UNSUPPORTED;
    }
    chan = calloc(1, sizeof(*chan));
    if (chan == NULL) {
        return AM_ERR_MEMORY;
    }
    params_set(&chan->window_params, values, &lower->attr, params->env);
    attr_set(&chan->wrap.base.attr, &lower->attr, &chan->window_params);
    am_crc32c_init(&chan->crc32c);
    am_list_init(&chan->eps);
    am_list_init(&chan->busy);
    am_list_init(&chan->waiting);
    am_twheel_init(&chan->wheel, am_env_now(params->env), AM_TWHEEL_TICK_SHIFT);
    chan->wrap.base.ops = &chan_ops;
    chan->wrap.base.reliability = chan->window_params.timer
                                          ? AM_RELIABILITY_TIMER
                                          : AM_RELIABILITY_NACK;
    chan->wrap.base.up = params->up;
    chan->wrap.lower = lower;
    chan->wrap.ep_new = chan_ep_new;
    chan->wrap.ep_delete = chan_ep_delete;
    chan->env = params->env;
    chan->nonce = params->nonce;
    chan->dev_stats = params->stats;
    chan->linger_ps =
            (values->linger_ms < CHAN_LINGER_MAX_MS ? values->linger_ms
                                                    : CHAN_LINGER_MAX_MS) *
            PS_PER_MS;
    chan->give_up_ps =
            (values->give_up_s < CHAN_GIVE_UP_MAX_S ? values->give_up_s
                                                    : CHAN_GIVE_UP_MAX_S) *
            PS_PER_S;
    lower->up = chan_up;
    lower->up.arg = chan;
    if ((lower->attr.caps & AM_DEV_CAP_DROPS) != 0) {
        lower->up.ready = NULL; /* the window knows what it then asks for */
    }
    *dev_p = &chan->wrap.base;
    return AM_OK;
}

/* -------------------------------------------------------------------- close */

/* Poll, at least once, until the last endpoint is gone, but no longer than linger_ps without
 * news, and not more than LINGER_FACTOR times that in all. */
static void linger(struct chan_dev *chan)
{
    uint64_t start_ps = am_env_now(chan->env);
    uint64_t news_ps = start_ps, now_ps = start_ps;

    do {
        if (chan_poll(&chan->wrap.base, LINGER_POLL_PACKETS) > 0) {
            news_ps = now_ps;
        } else {
            am_wrap_check(&chan->wrap.base);
            if (chan->env->ops->pass == NULL || !chan_pass(&chan->wrap.base)) {
                am_env_relax(chan->env, now_ps + LINGER_RELAX_PS);
            }
        }
        now_ps = am_env_now(chan->env);
    } while (!am_list_is_empty(&chan->eps) &&
             now_ps - news_ps < chan->linger_ps &&
             now_ps - start_ps < LINGER_FACTOR * chan->linger_ps);
}

void chan_close(struct am_dev *dev)
{
    struct chan_dev *chan = chan_of(dev);
    struct am_dev *lower = chan->wrap.lower;

    chan->closing = true;
    lower->abandoned = dev->abandoned;
    if (!dev->abandoned) { /* else nobody is told that this side is through */
        for (struct am_list *link = chan->eps.next; link != &chan->eps;
             link = link->next) {
            chan_disconnect(
                    &am_container(link, struct chan_ep, link)->wrap.base);
        }
        linger(chan);
    }
    while (!am_list_is_empty(&chan->eps)) {
        chan_ep_end(am_container(chan->eps.next, struct chan_ep, link));
    }
    chan_spares_free(chan);
    lower->ops->close(lower);
    free(chan);
}

/* -------------------------------------------------------------- description */

size_t chan_describe(struct am_dev *dev, char *text, size_t bytes)
{
    struct chan_dev *chan = chan_of(dev);
    struct am_dev *lower = chan->wrap.lower;
    const struct am_window_params *params = &chan->window_params;
    struct am_text out = {.text = text, .bytes = bytes};

    am_text_add(&out,
                "chan: %s, window %u requests %u replies, chunk %u packets of "
                "%u bytes, %u chunks",
                params->timer ? "timer" : "nack",
                params->window_packets[AM_DEV_REQUEST],
                params->window_packets[AM_DEV_REPLY], params->chunk_packets,
                params->payload_bytes, params->chunks_max);
    for (uint32_t i = 0; i < AM_CHAN_STAT_COUNT; i++) {
        if (chan->stats[i] != 0) {
            am_text_add(&out, ", %s %llu", am_chan_stat_rows[i].name,
                        (unsigned long long)chan->stats[i]);
        }
    }
    am_text_add(&out, "\n");
    if (out.length < bytes) {
        out.length += lower->ops->describe(lower, text + out.length,
                                           bytes - out.length);
    }
    return out.length;
}
