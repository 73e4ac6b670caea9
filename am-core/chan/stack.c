/*
 * Decides what stands around a device: faults, a channel, or nothing.  May
 * call chan, dev and base only.
 */
#include "chan/chan.h"
#include "dev/fault/fault.h"

#include <stddef.h>

#define CHAN_ROW(_name, _def, _type, _unit, _field, _help)          \
    {                                                               \
        _name, _def, _type, _unit, _help,                           \
                offsetof(struct am_chan_values, _field), NULL, NULL \
    }

/* Defaults: Chang et al. 1996, section 2.2, for what the SP had. */
static const struct am_config_row chan_rows[] = {
        {"AM_RELIABILITY", "auto", AM_CONFIG_CHOICE, "",
         "How packets are made reliable and ordered: auto is none on devices "
         "that are both, timer on simulated Myrinet whose hosts have to do it "
         "(lanai.reliability=host), nack elsewhere; the same on all ranks.",
         offsetof(struct am_chan_values, reliability), "auto|none|nack|timer",
         NULL},
        {"AM_FAULT", "", AM_CONFIG_TEXT, "",
         "Faults to inject below the channel, for example "
         "drop=1/100,dup=1/50,reorder=1/20,corrupt=1/100,delay=1/50:16,"
         "stall=1/10:8,seed=7; the same on all ranks.",
         offsetof(struct am_chan_values, fault), NULL, am_fault_check},
        CHAN_ROW("AM_CHAN_REQUEST_WINDOW", "75", AM_CONFIG_COUNT, "packets",
                 request_window,
                 "Unacknowledged packets of requests to one peer, at most."),
        CHAN_ROW("AM_CHAN_REPLY_WINDOW", "76", AM_CONFIG_COUNT, "packets",
                 reply_window,
                 "Unacknowledged packets of replies to one peer, at most."),
        CHAN_ROW("AM_CHAN_CHUNK", "36", AM_CONFIG_COUNT, "packets",
                 chunk_packets,
                 "Packets of one chunk, which has one sequence number and one "
                 "acknowledgement; at most half a window, and 8 on a network "
                 "that drops (udp)."),
        CHAN_ROW("AM_CHAN_CHUNKS", "2", AM_CONFIG_COUNT, "chunks", chunks_max,
                 "Unacknowledged chunks of AM_CHAN_CHUNK packets, at most; not "
                 "on a network that drops."),
        CHAN_ROW("AM_CHAN_PACKET_BYTES", "4k", AM_CONFIG_BYTES, "bytes",
                 packet_bytes,
                 "Largest packet, header and data; at most the device's."),
        CHAN_ROW("AM_CHAN_ACK_FRACTION", "0", AM_CONFIG_COUNT, "", ack_fraction,
                 "One part in so many of the sender's window is acknowledged "
                 "by a packet of its own; 0 is 4 for nack, 2 for timer."),
        CHAN_ROW("AM_CHAN_KEEPALIVE", "1000", AM_CONFIG_COUNT, "polls",
                 keepalive_polls,
                 "Polls without an acknowledgement after which the peer is "
                 "asked what it wants (nack); doubles each time."),
        CHAN_ROW(
                "AM_CHAN_RTO", "1000", AM_CONFIG_COUNT, "us", rto_us,
                "Time without an acknowledgement after which all is sent "
                "again (timer) or the peer is asked (nack), over udp until the "
                "way there and back is measured; doubles each time."),
        CHAN_ROW("AM_CHAN_RTO_MAX", "100000", AM_CONFIG_COUNT, "us", rto_max_us,
                 "Largest AM_CHAN_RTO after doubling."),
        CHAN_ROW("AM_CHAN_ACK_DELAY", "100", AM_CONFIG_COUNT, "us",
                 ack_delay_us,
                 "Time after which a packet is acknowledged at the latest "
                 "(timer)."),
        CHAN_ROW("AM_CHAN_LINGER", "200", AM_CONFIG_COUNT, "ms", linger_ms,
                 "How long a close waits for peers that say nothing, and a "
                 "connection that was left for the other end's goodbye."),
        CHAN_ROW("AM_CHAN_GIVE_UP", "7200", AM_CONFIG_COUNT, "s", give_up_s,
                 "How long a peer that owes an acknowledgement may say nothing "
                 "before it counts as dead; a peer that computes says nothing, "
                 "and what this process computes does not count. 0: for ever."),
};

const struct am_config_table am_chan_config = {
        chan_rows, sizeof(chan_rows) / sizeof(chan_rows[0])};

const char *am_reliability_text(uint32_t reliability)
{
    static const char *const texts[] = {"auto", "none", "nack", "timer"};

    return reliability < sizeof(texts) / sizeof(texts[0]) ? texts[reliability]
                                                          : "something else";
}

/* Put what is needed around an open device; on error it is still open. */
static am_status_t stack_wrap(struct am_dev *lower,
                              const struct am_dev_params *params,
                              const struct am_chan_values *values,
                              struct am_dev **dev_p)
{
    const uint32_t sound = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED;
    struct am_chan_values chosen;

    if (values->reliability == AM_RELIABILITY_NONE ||
        (values->reliability == AM_RELIABILITY_AUTO &&
         (lower->attr.caps & sound) == sound)) {
        lower->reliability = AM_RELIABILITY_NONE;
        *dev_p = lower;
        return AM_OK;
    }
    chosen = *values;
    if (chosen.reliability == AM_RELIABILITY_AUTO) {
        chosen.reliability = (lower->attr.caps & AM_DEV_CAP_TIMER) != 0
                                     ? AM_RELIABILITY_TIMER
                                     : AM_RELIABILITY_NACK;
    }
    return am_chan_wrap(lower, params, &chosen, dev_p);
}

am_status_t am_dev_stack_open(const struct am_dev_ops *ops,
                              const struct am_dev_params *params,
                              const struct am_chan_values *values,
                              struct am_dev **dev_p)
{
    struct am_fault_spec spec;
    struct am_dev *dev;
    am_status_t status;

    status = am_fault_parse(values->fault, &spec);
    if (status != AM_OK) {
        return status;
    }
    status = ops->open(params, &dev);
    if (status != AM_OK) {
        return status;
    }
    if (spec.any) {
        status = am_fault_wrap(dev, params, &spec, &dev);
    }
    if (status == AM_OK) {
        status = stack_wrap(dev, params, values, dev_p);
    }
    if (status != AM_OK) {
        dev->ops->close(dev);
        return status;
    }
    (*dev_p)->bottom = ops;
    return AM_OK;
}
