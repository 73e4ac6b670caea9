/*
 * Inside the meter: meter.c takes the samples, and asks meter_use.c after each what the
 * costs are to be computed from.
 */
#ifndef AM_DEV_METER_USE_H
#define AM_DEV_METER_USE_H

#include "dev/meter.h"

enum {
    AM_METER_SURE = 16, /* samples before the mean is believed */
    /* On a core that ranks share the first copies of a stream tell nothing, until all of
     * its ring is in the cache; so many bytes. */
    AM_METER_COLD = 4 * 1024 * 1024
};

/* The numbers of the way that is noticed, by am_copy_t. */
static inline struct am_rate *am_meter_rates(struct am_meter *meter)
{
    return meter->rates[am_meter_ways(meter)];
}

/* A sample of this copy has been taken: is something else used from now on? */
bool am_meter_use(struct am_meter *meter, am_copy_t copy);
/* The same of a copy that says nothing of itself, only that the others were not seen. */
bool am_meter_passed(struct am_meter *meter, am_copy_t copy);

#endif
