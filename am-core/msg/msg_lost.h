/*
 * Receives and probes whose sender has died; see msg_lost.c.
 */
#ifndef AM_MSG_MSG_LOST_H
#define AM_MSG_MSG_LOST_H

#include "msg/msg_core.h"

/* Sources are peer indices until am_msg_set_lost says what they are. */
void am_msg_lost_open(struct am_msg *msg);
/* A peer has died: look for its receives at the next poll. */
void am_msg_lost_dead(struct am_msg *msg);
/* Receives and probes that wait for ranks without a connection: connect to these,
 * since over a network only who is connected is looked after.  Who waits for any
 * source is connected to all, some at a time.  At most once a second. */
void am_msg_lost_check(struct am_ctx *ctx);
/* A receive was posted while trouble_count is not 0. */
void am_msg_trouble(struct am_msg *msg);
/* The same for a probe that found nothing: its answer. */
am_status_t am_msg_probe_trouble(struct am_msg *msg,
                                 const struct am_msg_envelope *envelope,
                                 const struct am_msg_mask *mask);

#endif
