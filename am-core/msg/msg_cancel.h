/*
 * What a cancelled send, and one that is lost, means for the other files of msg;
 * am_msg_cancel itself is in am_msg.h.
 */
#ifndef AM_MSG_MSG_CANCEL_H
#define AM_MSG_MSG_CANCEL_H

#include "msg/msg_core.h"

/* Receiver: free a message that its sender takes back, with its credit and
 * space, and tell the sender so. */
void am_msg_drop(struct am_msg_req *message);

/* Receiver: there is no memory for a message.  Log it, give back its credit and
 * space, and let its sender fail, if that awaits an answer. */
void am_msg_lose(const struct am_msg_info *info);

/* Receiver: what the peer's send `remote_id`, not 0, is here: a message, or the
 * receive that it met; NULL: it is over.  The latest are looked at first. */
struct am_msg_req *am_msg_remote(struct am_msg_peer *mp, uint64_t remote_id);

/* Handler of AM_MSG_H_CANCEL. */
void am_msg_cancel_register(struct am_msg *msg);

#endif
