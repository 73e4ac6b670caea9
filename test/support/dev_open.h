/*
 * A device with what stands around it, opened by options as a context does.
 */
#ifndef AM_TEST_SUPPORT_DEV_OPEN_H
#define AM_TEST_SUPPORT_DEV_OPEN_H

#include "dev/dev.h"

/* am_dev_stack_open with the values that the options give; AM_ERR_CONFIG and
 * a sentence in params->error when one is bad. */
am_status_t dev_open_options(const struct am_dev_ops *ops,
                             const struct am_dev_params *params,
                             const struct am_option *options,
                             uint32_t option_count, struct am_dev **dev_p);

#endif
