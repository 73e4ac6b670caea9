/*
 * The regions of the buffered and prefix protocols.  A receiver gives each
 * sender that asks a region of its memory (AM_BUFFER_BYTES, AM_BUFFER_BINS);
 * the sender alone allocates in it, with no communication; the receiver says
 * what is free again, in batches.
 *
 *   sender                               receiver
 *   REGION_ASK  --------------------->   allocate
 *               <---------------------   REGION_GRANT(bytes, bins, key)
 *   allocate, store ----------------->   (memory)
 *   envelope(offset) ---------------->   copy out, note the offset
 *               <---------------------   REGION_FREE(offsets), or the offsets
 *                                        ride on a BUFFERED going back
 *
 * Stores go straight to the memory where the device can map it.  Where it cannot
 * they go as packets (REGION_STORE), those of a buffered message in front of its
 * envelope, those of a prefix behind it.  Until the grant is
 * in, and when there is no space, messages go by other protocols.
 *
 * Frees are sent off the copying path: when AM_MSG_FREES_MAX offsets or a
 * quarter of the region wait, or when the sender found no space (REGION_WANT,
 * said once for each batch that comes back).
 */
#ifndef AM_MSG_MSG_REGION_H
#define AM_MSG_MSG_REGION_H

#include "msg/msg_core.h"

/* Larger values of AM_BUFFER_BYTES are cut to this for each peer. */
#define AM_MSG_REGION_MAX ((size_t)16 << 20)

/* Sender: take space for a buffered message, or for a prefix, and note it in
 * send->info (offset, prefix_bytes).  False: use another protocol. */
bool am_msg_region_take(struct am_msg_req *send, am_proto_t proto);
/* Sender: bring send->info.prefix_bytes bytes into the region.  AM_ERR_AGAIN:
 * call again (moved_bytes says how far it is). */
am_status_t am_msg_region_store(struct am_msg_req *send, struct am_op *op);

/* Receiver: is [offset, offset + bytes) inside the peer's region? */
bool am_msg_region_has(const struct am_msg_peer *mp, size_t offset,
                       size_t bytes);
/* Receiver: the prefix of this message comes next; am_prefix_arrived is called of
 * its receive when it is there.  False: it cannot be so. */
bool am_msg_region_expect(const struct am_msg_info *info);
/* Receiver: the allocation at `offset`, of `bytes`, is not needed any more. */
void am_msg_region_free(struct am_msg_peer *mp, size_t offset, size_t bytes);
/* Receiver: up to `count` offsets that ride on a message to the peer. */
uint32_t am_msg_region_ride(struct am_msg_peer *mp, uint64_t *words,
                            uint32_t count);
/* ... which was not sent after all: wait for the next. */
void am_msg_region_unride(struct am_msg_peer *mp, const uint64_t *words,
                          uint32_t count);
/* Sender: an offset that is free again. */
void am_msg_region_freed(struct am_msg_peer *mp, uint64_t offset);

void am_msg_region_register(struct am_msg *msg);
/* Release both sides' memory. */
void am_msg_region_close(struct am_msg_peer *mp);

/* Parse AM_BUFFER_BINS ("8x1k").  AM_ERR_CONFIG. */
am_status_t am_msg_bins_parse(const char *text, uint64_t *count_p,
                              size_t *bytes_p);

#endif
