/*
 * What a context waits for, as text.
 */
#ifndef AM_MSG_MSG_WAITS_H
#define AM_MSG_MSG_WAITS_H

#include "msg/msg_core.h"

/* The sends and receives that are not complete; as am_describe. */
size_t am_msg_waits(struct am_msg *msg, char *text, size_t bytes);

#endif
