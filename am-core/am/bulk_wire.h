/*
 * The words of a transfer's messages, see am/bulk.c for who sends them; and what bulk.c and
 * bulk_get.c call of each other.
 */
#ifndef AM_AM_BULK_WIRE_H
#define AM_AM_BULK_WIRE_H

#include "am/core.h"

/*
 * Words of STREAM.  Each piece says where the whole transfer lies, so that the
 * target refuses all of one that does not fit, from the first piece on.  STREAM_START
 * counts the bytes of the transfer before this piece, STREAM_LEFT those from it
 * to the end.  While both are below 2^32 they cost no words: what is left is
 * the header's aux, and the start, which is needed for a bare address only, is
 * STREAM_REGION (no handle is so small).
 */
enum {
    STREAM_REGION, /* a handle, or 0 for a bare address */
    STREAM_OFFSET,
    STREAM_WORDS,
    STREAM_START = STREAM_WORDS,
    STREAM_LEFT,
    STREAM_LONG_WORDS
};

/* Words of STREAM_LAST; up to LAST_ARGUMENTS of the handler follow. */
enum {
    LAST_REGION,
    LAST_OFFSET,
    LAST_HANDLER, /* index; 0: none */
    LAST_ACK,     /* the sender's handle; 0: none */
    LAST_BYTES,   /* of the whole transfer */
    LAST_WORDS,
    LAST_ARGUMENTS = 4
};

enum {
    GET_REGION,
    GET_OFFSET,
    GET_BYTES,
    GET_LANDING,
    GET_WORDS
};

/* The device's put or get has ended; what follows a put's bytes goes now. */
void am_bulk_device_done(void *bulk, am_status_t status);
/* Begin a get, or go on with it. */
am_turn_t am_bulk_get_run(struct am_op *op);
/* A get is to be found when its peer dies. */
void am_bulk_get_lasts(struct am_bulk *bulk);

#endif
