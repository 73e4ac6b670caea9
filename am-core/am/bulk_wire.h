/*
 * The words of a transfer's messages; see am/bulk.c for who sends them.
 */
#ifndef AM_AM_BULK_WIRE_H
#define AM_AM_BULK_WIRE_H

/* Words of STREAM_LAST; up to four of the handler follow. */
enum {
    LAST_REGION,
    LAST_OFFSET,
    LAST_HANDLER, /* index; 0: none */
    LAST_ACK,     /* the sender's handle; 0: none */
    LAST_BYTES,   /* of the whole transfer */
    LAST_WORDS
};

enum {
    GET_REGION,
    GET_OFFSET,
    GET_BYTES,
    GET_LANDING,
    GET_WORDS
};

#endif
