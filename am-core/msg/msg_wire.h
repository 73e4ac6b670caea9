/*
 * What msg puts on the wire: handler indices and the meaning of their words.
 * A message's envelope always goes as an ordered request, so that messages of
 * one sender match in the order sent.
 *
 *   w0 of every envelope   context << 32 | source;  the tag is the header's aux
 *   w1 of every envelope   credit given back, packed (msg_credit.h), or 0
 *   id                     index and generation of a request (msg_id.h)
 */
#ifndef AM_MSG_MSG_WIRE_H
#define AM_MSG_MSG_WIRE_H

#include "am/core.h"

enum {
    /* envelope + the whole payload.  1 word, or 2, or 3: w2 id to acknowledge
     * when matched, 0 for none */
    AM_MSG_H_EAGER = AM_HANDLER_MSG,
    /* envelope + the first bytes: w2 id, w3 length of the message, w4 slot */
    AM_MSG_H_FIRST,
    /* next bytes of the stream in slot aux; w0 offset */
    AM_MSG_H_MORE,
    /* envelope of a payload that lies in the region: w2 id, w3 length, w4
     * offset, w5.. offsets that are free again in the other direction */
    AM_MSG_H_BUFFERED,
    /* store the payload in the region: w0 offset */
    AM_MSG_H_REGION_STORE,
    /* w0 bytes asked for (unused, 0) */
    AM_MSG_H_REGION_ASK,
    /* w0 bytes, w1 bins, w2 bin bytes, w3 number of the
     * device that maps it, or 0, w4..w6 device key */
    AM_MSG_H_REGION_GRANT,
    /* w0..: offsets that are free again */
    AM_MSG_H_REGION_FREE,
    /* the sender found no space: give back what is free */
    AM_MSG_H_REGION_WANT,
    /* envelope of a rendezvous: w2 sender's id, w3 kind << 56 | length; get: w4..w7
     * key of the source; get by the device: w4 and w5 first and last word of the
     * device's key; prefix, ahead: w4 offset, w5 bytes in the region.  All but the
     * get's fit one line of shared memory (shm_layout.h) */
    AM_MSG_H_RTS,
    /* w0 sender's id, w1 receiver's id, w2 bytes to send, w3..w6 key of the
     * destination */
    AM_MSG_H_CTS,
    /* run by the put after its data: w0 receiver's id */
    AM_MSG_H_PUT_END,
    /* to the receiver: w0 its id, w1 status: the sender cannot go on */
    AM_MSG_H_FAIL,
    /* to the sender: w0 its id, w1 status: matched (sync), or all fetched, or
     * dropped (AM_ERR_CANCELLED, only after AM_MSG_H_CANCEL) */
    AM_MSG_H_END,
    /* w0 credit given back */
    AM_MSG_H_CREDIT,
    /* w0 credit that the sender of this assumes it has */
    AM_MSG_H_HELLO,
    /* w0 credit added, w1 credit taken away */
    AM_MSG_H_GRANT,
    /* messages wait here for credit */
    AM_MSG_H_STALL,
    /* to the receiver: w0 sender's id: drop its message unless it is matched */
    AM_MSG_H_CANCEL,
    AM_MSG_H_LAST
};

/* Kinds of rendezvous, in w3 of AM_MSG_H_RTS. */
enum {
    AM_MSG_RTS_PUT = 0,
    AM_MSG_RTS_GET = 1,
    AM_MSG_RTS_PREFIX = 2,
    /* get by the device, a single copy: the sender has seen that a stream costs more,
     * which a receiver need not know, as it sees only how long its own copies take.  The
     * source has no handle: who cannot fetch it so answers as to a put.  The key's
     * second word is the length */
    AM_MSG_RTS_GET_SINGLE = 3,
    /* prefix, whose bytes come next: nothing else in order comes before them */
    AM_MSG_RTS_AHEAD = 4,
    AM_MSG_RTS_COUNT
};

#define AM_MSG_LENGTH_BITS 56
#define AM_MSG_LENGTH_MAX  (((uint64_t)1 << AM_MSG_LENGTH_BITS) - 1)

enum {
    AM_MSG_SLOTS = 16,     /* streams at one time from one sender */
    AM_MSG_FREES_MAX = 16, /* offsets in one AM_MSG_H_REGION_FREE */
    AM_MSG_FREES_RIDE = 11 /* offsets that ride on AM_MSG_H_BUFFERED */
};

_Static_assert((int)AM_MSG_H_LAST <= (int)AM_HANDLER_COLL,
               "msg has 24 handlers");
_Static_assert(AM_MSG_FREES_RIDE + 5 <= AM_WORDS_MAX, "riding frees");

#endif
