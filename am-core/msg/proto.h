/*
 * A protocol carries one message's payload.  Each is one file with both its
 * sides; this is what the funnels (msg_send.c, msg_recv.c) know of it.
 */
#ifndef AM_MSG_PROTO_H
#define AM_MSG_PROTO_H

#include "msg/msg_core.h"

struct am_proto {
    const char *name;
    /*
     * Send the envelope and what goes with it; the credit is taken already.
     * `queued`: called from send->op.  AM_DONE: sent, and the data may be
     * reused; AM_OK: sent, the protocol completes it later; AM_ERR_AGAIN: no
     * space, call again; other errors end the send.
     */
    am_status_t (*emit)(struct am_msg_req *send, bool queued);
    /*
     * A receive and a message met.  recv->info is what the envelope said;
     * `message` holds the payload if the message was unexpected (NULL: not),
     * and is the protocol's to free.  AM_DONE: the payload is in place;
     * AM_OK: the protocol completes the receive later; errors end it.
     */
    am_status_t (*deliver)(struct am_msg_req *recv, struct am_msg_req *message);
};

extern const struct am_proto am_proto_eager, am_proto_buffered, am_proto_prefix,
        am_proto_get, am_proto_put;

/* By am_proto_t. */
extern const struct am_proto *const am_protos[AM_PROTO_COUNT];

/* The prefix of a message that has met its receive is in the region now. */
void am_prefix_arrived(struct am_msg_req *recv);

/* The handlers of each protocol. */
void am_proto_eager_register(struct am_msg *msg);
void am_proto_buffered_register(struct am_msg *msg);
void am_rndv_register(struct am_msg *msg);

#endif
