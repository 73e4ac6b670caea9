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

struct am_chan_values {
    int reliability; /* am_reliability_t */
    char fault[AM_CONFIG_TEXT_BYTES];
};

/*
 * Open a device with what has to be around it: faults when AM_FAULT asks for
 * them, a channel when the device (or the faults) need one or AM_RELIABILITY
 * forces it.  What is returned is used as any device and closed by its own
 * close; `params` must live as its pointers say, the struct itself only
 * during the call.  Errors: those of ops->open, AM_ERR_CONFIG with a sentence
 * in params->error, AM_ERR_MEMORY.  Not in a handler.
 */
am_status_t am_dev_stack_open(const struct am_dev_ops *ops,
                              const struct am_dev_params *params,
                              struct am_dev **dev_p);

#endif
