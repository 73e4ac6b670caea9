/*
 * Ids: how a peer names a request of this side.  An id is an index into a
 * table and the generation of its entry, so an id that is unknown, old or made
 * up finds nothing.  0 is never an id.
 */
#ifndef AM_MSG_MSG_ID_H
#define AM_MSG_MSG_ID_H

#include "msg/msg_core.h"

/* Give `req` an id (req->id).  AM_ERR_MEMORY. */
am_status_t am_msg_id_get(struct am_msg_req *req);
/* The request of this id that `mp` may name, NULL (and counted) if none. */
struct am_msg_req *am_msg_id_find(struct am_msg_peer *mp, uint64_t id);
/* Take the id back. */
void am_msg_id_put(struct am_msg_req *req);
void am_msg_id_fini(struct am_msg *msg);

#endif
