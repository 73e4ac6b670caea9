/*
 * Collectives over Blue Gene/P's collective network and global interrupt, through
 * its driver: rounds of sim_coll.h.
 */
#ifndef AM_TOOLS_SIM_COLL_NET_H
#define AM_TOOLS_SIM_COLL_NET_H

#include "tools/sim_coll.h"

/* Allreduce of test->bytes, in pieces of test->piece.  The sums are checked:
 * AM_ERR_INVALID.  AM_ERR_UNSUPPORTED: the device is another one's. */
am_status_t coll_network(struct coll_node *node);

/* A barrier by the global interrupt. */
am_status_t coll_interrupt(struct coll_node *node);
/* A broadcast of one packet from node 0.  AM_ERR_INVALID: something else came. */
am_status_t coll_network_bcast(struct coll_node *node);

#endif
