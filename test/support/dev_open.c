/*
 * Reads the tables of a device and of the channel, and opens the stack.
 */
#include "support/dev_open.h"

#include "base/config.h"
#include "chan/chan.h"

#include <stdlib.h>

am_status_t dev_open_options(const struct am_dev_ops *ops,
                             const struct am_dev_params *params,
                             const struct am_option *options,
                             uint32_t option_count, struct am_dev **dev_p)
{
    struct am_dev_params with_values = *params;
    struct am_chan_values chan_values;
    void *values = calloc(1, ops->config_bytes + 1);
    am_status_t status;

    status = am_config_load(&am_chan_config, &chan_values, options,
                            option_count, params->error, params->error_bytes);
    if (status == AM_OK && ops->config != NULL) {
        status = am_config_load(ops->config, values, options, option_count,
                                params->error, params->error_bytes);
    }
    if (status == AM_OK) {
        with_values.values = values;
        status = am_dev_stack_open(ops, &with_values, &chan_values, dev_p);
    }
    free(values);
    return status;
}
