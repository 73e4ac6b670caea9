/*
 * Decides what stands around a device: faults, a channel, or nothing.  May
 * call chan, dev and base only.
 */
#include "chan/chan.h"

#include <stddef.h>

static const struct am_config_row chan_rows[] = {
        {"AM_RELIABILITY", "auto", AM_CONFIG_CHOICE, "",
         "How packets are made reliable and ordered: auto is nack where the "
         "device needs it and none elsewhere.",
         offsetof(struct am_chan_values, reliability), "auto|none|nack|timer",
         NULL},
};

const struct am_config_table am_chan_config = {
        chan_rows, sizeof(chan_rows) / sizeof(chan_rows[0])};

am_status_t am_dev_stack_open(const struct am_dev_ops *ops,
                              const struct am_dev_params *params,
                              struct am_dev **dev_p)
{
    struct am_chan_values values;
    am_status_t status;

    status = am_config_load(&am_chan_config, &values, params->options,
                            params->option_count, params->error,
                            params->error_bytes);
    if (status != AM_OK) {
        return status;
    }
    return ops->open(params, dev_p);
}
