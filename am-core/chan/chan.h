/*
 * Channels: reliable, ordered packets over a device that may lose, duplicate,
 * reorder or corrupt them.  A channel is a device that wraps a device, so the
 * layer above sees one interface; over a reliable and ordered device there is
 * none, and the device is used bare.
 *
 *   am -> [chan -> [fault ->]] device         the brackets as needed
 */
#ifndef AM_CHAN_CHAN_H
#define AM_CHAN_CHAN_H

#include "base/config.h"
#include "base/stats.h"
#include "dev/dev.h"

/* AM_RELIABILITY, AM_FAULT and AM_CHAN_*: list it among the tables whose
 * names are known and printed.  The values are struct am_chan_values. */
extern const struct am_config_table am_chan_config;

typedef enum {
    AM_RELIABILITY_AUTO, /* nack where the device needs it, else none */
    AM_RELIABILITY_NONE, /* the bare device, whatever it does */
    AM_RELIABILITY_NACK, /* SP AM's window */
    AM_RELIABILITY_TIMER /* LCI's I-hrx: timers, no negative acknowledgement */
} am_reliability_t;

/* The value of AM_RELIABILITY, as a word; of another number "something else". */
const char *am_reliability_text(uint32_t reliability);

/* As the user gave them; am_chan_wrap brings each into its range. */
struct am_chan_values {
    int reliability; /* am_reliability_t */
    char fault[AM_CONFIG_TEXT_BYTES];
    uint64_t request_window, reply_window; /* packets */
    uint64_t chunk_packets, chunks_max;
    size_t packet_bytes;
    uint64_t ack_fraction; /* 0: 4 for nack, 2 for timer */
    uint64_t keepalive_polls;
    uint64_t rto_us, rto_max_us, ack_delay_us;
    uint64_t linger_ms;
    uint64_t give_up_s; /* 0: never */
};

/*
 * Open a device with what has to be around it: faults when AM_FAULT asks for
 * them, a channel when the device (or the faults) need one or AM_RELIABILITY
 * forces it.  What is returned is used as any device and closed by its own
 * close; `params` must live as its pointers say, the struct itself and
 * `values` only during the call.  Errors: those of ops->open, AM_ERR_MEMORY,
 * AM_ERR_UNSUPPORTED as am_chan_wrap.  Not in a handler.
 */
am_status_t am_dev_stack_open(const struct am_dev_ops *ops,
                              const struct am_dev_params *params,
                              const struct am_chan_values *values,
                              struct am_dev **dev_p);

/*
 * Put a channel around an open device, which is then the channel's: its close
 * closes both, after it has waited (at most linger_ms without news) until the
 * peers have acknowledged all and know that this end is gone.  On error `lower`
 * is still the caller's: AM_ERR_MEMORY, or AM_ERR_UNSUPPORTED when its packets
 * are too small for the channel's header.
 */
am_status_t am_chan_wrap(struct am_dev *lower,
                         const struct am_dev_params *params,
                         const struct am_chan_values *values,
                         struct am_dev **dev_p);

/* The counters of the channel of a stack, with their table; NULL when `dev` is
 * NULL or not a channel (*count_p is written all the same).  They live as long
 * as it. */
extern const struct am_stat_row am_chan_stat_rows[];
const uint64_t *am_chan_stats(const struct am_dev *dev, uint32_t *count_p);

#endif
