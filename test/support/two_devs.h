/*
 * Contexts with two devices in one process: shared memory, and the pipe.  The
 * ranks are on pretended nodes, two on each:
 *
 *   TWO_FAR     0 | 1 2 | 3 4 | ...     ranks 0 and 1 are far from each other
 *   TWO_NEAR    0 1 | 2 3 | ...         and near, with the pipe open beside
 *
 * Ranks of one node reach each other by both devices and take shared memory, as
 * it costs less; those of two nodes have the pipe only.  A third device,
 * `broken`, never opens.  With TWO_UDP or TWO_OFI defined the device udp or ofi is
 * in the place of the pipe, and AM_DEVICES has to name both.
 */
#ifndef AM_TEST_SUPPORT_TWO_DEVS_H
#define AM_TEST_SUPPORT_TWO_DEVS_H

#include "support/msg_world.h"
#include "support/pipe_dev.h"

enum {
    TWO_NEAR,
    TWO_FAR
};

extern struct pipe_net two_net;
/* How the third device fails; AM_ERR_UNSUPPORTED at first. */
extern am_status_t two_broken;

/* Before the first context of either kind; `caps` are the pipe's. */
void two_devs_init(int nodes, uint32_t caps);

#define TWO_USER AM_HANDLER_USER

/* A handler that counts its calls in its argument, a uint32_t. */
void two_count(struct am_token *token, const uint64_t *words,
               uint32_t word_count, void *data, size_t bytes);
/* Each rank sends a request to each, itself too, whose handler, TWO_USER, counts
 * in *calls. */
void two_each_to_each(struct world *world, uint32_t *calls);

#endif
