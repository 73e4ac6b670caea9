/*
 * A context on one node of a simulated machine.
 */
#ifndef AM_TEST_SUPPORT_SIM_CTX_H
#define AM_TEST_SUPPORT_SIM_CTX_H

#include "nicsim_sim.h"

#include <am.h>

/* Open it as this node's rank of the job, with these options.  NULL: it could not,
 * and the run is given up. */
struct am_ctx *sim_ctx_open(struct ns_sim_node *view,
                            const struct am_option *options,
                            uint32_t option_count);
/* Poll until all nodes are here. */
void sim_ctx_meet(struct ns_sim_node *view, struct am_ctx *ctx);
/* The same when all that was sent has arrived; and close it then. */
void sim_ctx_close(struct ns_sim_node *view, struct am_ctx *ctx);

#endif
