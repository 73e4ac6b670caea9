/*
 * A collective over Blue Gene/P's collective network whose nodes have several
 * processes, by its device: a round of sim_coll.h.
 */
#ifndef AM_TOOLS_SIM_COLL_NET_H
#define AM_TOOLS_SIM_COLL_NET_H

#include "tools/sim_coll.h"

/* Allreduce of test->bytes, in pieces of test->piece.  The sums are checked:
 * AM_ERR_INVALID.  AM_ERR_UNSUPPORTED: the device is another one's. */
am_status_t coll_network(struct coll_node *node);

#endif
