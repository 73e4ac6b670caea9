/*
 * The machine's environment with an alarm that is silent where it is not known to
 * be needed: a context that sleeps for as long as it may is woken by what comes, or
 * never.
 */
#ifndef AM_TEST_SUPPORT_SILENT_H
#define AM_TEST_SUPPORT_SILENT_H

#include "base/env.h"

extern struct am_env silent_env;
extern struct am_env_ops silent_env_ops;
extern uint32_t silent_short; /* alarms for less than silent_init said */

/* Alarms for `most_ns` and more do not ring. */
void silent_init(uint64_t most_ns);

#endif
