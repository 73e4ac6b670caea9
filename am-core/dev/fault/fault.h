/*
 * The fault device: wraps any device and spoils what is sent through it, so
 * that reliability can be tested on a network that has none of these faults.
 * All draws come from one seeded sequence for each device: the same seed, rank
 * and calls give the same faults.  It is neither reliable nor ordered and has
 * no put, get, fetch_add or mapped memory.
 */
#ifndef AM_DEV_FAULT_FAULT_H
#define AM_DEV_FAULT_FAULT_H

#include "base/prng.h"
#include "dev/dev.h"

struct am_fault_spec {
    bool any; /* false: AM_FAULT is empty, there is nothing to do */
    struct am_ratio drop, duplicate, reorder, corrupt, delay, stall;
    uint32_t delay_polls; /* a delayed packet stays for so many polls */
    uint32_t stall_polls; /* AGAIN for so many polls */
    uint64_t seed;
};

/*
 * Parse AM_FAULT: "drop=1/100,dup=1/50,reorder=1/20,corrupt=1/100,
 * delay=1/50:16,stall=1/10:8,seed=7", each part optional, ":polls" too.
 * AM_ERR_CONFIG when it is anything else; *spec_p is then untouched.
 */
am_status_t am_fault_parse(const char *text, struct am_fault_spec *spec_p);

/* The check of a configuration row: writes what is accepted on error. */
am_status_t am_fault_check(const char *text, char *accepted, size_t bytes);

/*
 * Put faults around an open device, which is then the wrapper's: its close
 * closes both.  On error (AM_ERR_MEMORY) `lower` is still the caller's.
 */
am_status_t am_fault_wrap(struct am_dev *lower,
                          const struct am_dev_params *params,
                          const struct am_fault_spec *spec,
                          struct am_dev **dev_p);

#endif
