/*
 * The simulator from the side of a rank's process: the environment of the host
 * that the rank has on a simulated machine, whose engine is another process.
 * Part of libam.
 */
#ifndef NS_NICSIM_COSIM_H
#define NS_NICSIM_COSIM_H

#include "base/env.h"

#include <stddef.h>

/*
 * Become rank `rank` of `size` with the engine of this name (AM_SIM_ENGINE).
 * The environment lives as long as the process and has all of am_env_ops.  NULL
 * with one sentence in `error`: there is no such engine, or it does not want
 * this rank.  Once in a process.  When the engine ends, or ends the run, this
 * process ends in a call of the environment or of its port.
 */
struct am_env *ns_attach(const char *engine, uint32_t rank, uint32_t size,
                         char *error, size_t error_bytes);

/* The same when it has been called, else NULL. */
struct am_env *ns_attached(void);

#endif
