/*
 * Credit: how much a sender may have waiting at a receiver before the receiver
 * has taken it.  Caps the memory for unexpected messages (AM_UNEXP_MAX) and
 * owns the queue of sends that are held back.
 *
 * A sender holds, for each receiver, credit for messages and for bytes.  An
 * envelope costs one message; a payload that travels with its envelope costs
 * its bytes and AM_MSG_UNEXP_FIXED more.  When the message has left the
 * receiver's unexpected memory (at once when a receive was posted) the
 * receiver owes that much, and gives it back on its own next messages, or in
 * a message of its own when a quarter of the grant is owed.  Both amounts sit
 * in one word, each under a guard bit, so that the hot path pays one
 * subtraction and one test.
 *
 *   63 guard | 62..48 messages | 47 guard | 46..0 bytes
 *
 * No bytes left: the message goes as a rendezvous, whose request costs one
 * message.  No message left: the send is held here, in order.
 *
 * Who grants what.  Each receiver cuts AM_UNEXP_MAX evenly among the ranks of
 * the job (a share), and grants one message for every 256 bytes of a share, at
 * least AM_CREDIT_MESSAGES_MIN.  A sender starts with what its own settings
 * would grant, at most AM_CREDIT_FIRST_BYTES and _MESSAGES, says so (HELLO),
 * and is corrected once (GRANT).  So a receiver whose cap is smaller than its
 * peers' may hold that much more for each of them, once.  What a peer sends
 * beyond both is dropped and counted (am_credit_admit).
 *
 * Why nothing deadlocks.
 * (1) Control messages (credit, CTS, ends, frees) cost no credit and are never
 *     held here; a full device ring holds them only until the peer polls, and
 *     no handler waits.  So credit that is owed and asked for always arrives.
 * (2) A send that lacks bytes becomes a rendezvous: it needs one message.
 * (3) A send is held only while all messages of its grant are at the receiver,
 *     there unmatched, or owed but less than a quarter.  On the first one held
 *     the sender says so (STALL) and the receiver gives back what it owes.
 * (4) Then the messages at the receiver are all unmatched.  If its user wants
 *     any of them they match and (3) frees credit.  If its user only wants
 *     messages that are still held (it receives out of order), then receives
 *     are posted and none of this peer's messages matches: after
 *     AM_CREDIT_STARVE_POLLS polls of that kind the receiver grants a further
 *     set of messages, envelopes only, and so on until the wanted one is in.
 *     That memory is what MPI's rules ask for; a receiver that posts nothing,
 *     or takes a message of this peer every so many polls, never grants it.
 *     What others send does not count: they may never stop, and the receiver
 *     cannot tell whom its receives are for.  So one that takes messages of
 *     some peers only, for long, holds the envelopes of what the others send.
 *     The extra grant is taken in again as its messages match.
 */
#ifndef AM_MSG_MSG_CREDIT_H
#define AM_MSG_MSG_CREDIT_H

#include "msg/msg_core.h"

#define AM_CREDIT_MESSAGE        (UINT64_C(1) << 48)
#define AM_CREDIT_GUARDS         (UINT64_C(1) << 63 | UINT64_C(1) << 47)
#define AM_CREDIT_BYTES_MAX      ((UINT64_C(1) << 46) - 1)
#define AM_CREDIT_MESSAGES_MAX   UINT64_C(16384)
#define AM_CREDIT_MESSAGES_MIN   UINT64_C(16)
#define AM_CREDIT_FIELD_MAX      UINT64_C(0x7fff) /* messages in one word */
/* one extra grant: a whole grant that was not used, and this, fit the field */
#define AM_CREDIT_EXTRA_MAX      (AM_CREDIT_FIELD_MAX - AM_CREDIT_MESSAGES_MAX)
#define AM_CREDIT_FIRST_BYTES    (UINT64_C(64) * 1024)
#define AM_CREDIT_FIRST_MESSAGES UINT64_C(256)
#define AM_CREDIT_RIDE           (32 * AM_CREDIT_MESSAGE)
#define AM_MSG_UNEXP_FIXED       64u

enum {
    AM_CREDIT_STARVE_POLLS = 256
};

static inline uint64_t am_credit_pack(uint64_t messages, uint64_t bytes)
{
    return messages << 48 | bytes;
}

static inline uint64_t am_credit_messages(uint64_t packed)
{
    return packed >> 48 & 0x7fff;
}

static inline uint64_t am_credit_bytes(uint64_t packed)
{
    return packed & ((UINT64_C(1) << 47) - 1);
}

/* What an envelope with `bytes` of payload costs; `bytes` below 2^46. */
static inline uint64_t am_credit_charge(size_t bytes)
{
    return AM_CREDIT_MESSAGE + bytes + AM_MSG_UNEXP_FIXED;
}

/* `credit` (with its guards) covers `charge`: what is left has its guards. */
static inline bool am_credit_covers(uint64_t left)
{
    return (left & AM_CREDIT_GUARDS) == AM_CREDIT_GUARDS;
}

/* Set up a new peer, and tell it what is assumed.  May queue a message. */
void am_credit_open(struct am_msg_peer *mp);

/* Take credit for a send; false, and nothing taken, when there is not enough. */
bool am_credit_take(struct am_msg_peer *mp, uint64_t charge);

/* A message of this charge has left unexpected memory. */
static inline void am_credit_owe(struct am_msg_peer *mp, uint64_t charge);
void am_credit_flush(struct am_msg_peer *mp);

/* What may ride on a message to `mp` now, or 0.  Once the message is gone,
 * am_credit_ridden takes it from what is owed. */
static inline uint64_t am_credit_riding(const struct am_msg_peer *mp)
{
    return mp->extra == 0 ? mp->owed : 0;
}

void am_credit_ridden(struct am_msg_peer *mp, uint64_t packed);

/* A peer gave back or granted credit: check it, send what was held. */
void am_credit_returned(struct am_msg_peer *mp, uint64_t packed);

/* Hold a send back until there is credit, behind those held already. */
void am_credit_hold(struct am_msg_req *req);

/* Take a send that is held out of its place. */
void am_credit_unhold(struct am_msg_req *req);

/* A receive was posted while peers are stalled: start counting. */
void am_credit_watch(struct am_msg *msg);

/* Handlers of AM_MSG_H_CREDIT, _HELLO, _GRANT and _STALL. */
void am_credit_register(struct am_msg *msg);

/* An unexpected message of this charge comes to wait here; false, counted,
 * when its sender has no credit for it.  am_credit_leave: it does not any
 * more. */
bool am_credit_admit(struct am_msg_peer *mp, uint64_t charge);

static inline void am_credit_leave(struct am_msg_peer *mp, uint64_t charge)
{
    mp->waiting_messages -= am_credit_messages(charge);
    mp->waiting_bytes -= am_credit_bytes(charge);
}

/* The peer is gone: forget what it was owed. */
void am_credit_close(struct am_msg_peer *mp);

static inline void am_credit_owe(struct am_msg_peer *mp, uint64_t charge)
{
    mp->owed += charge;
    if (__builtin_expect(!am_credit_covers(mp->owed_limit - mp->owed), 0)) {
        am_credit_flush(mp);
    }
}

#endif
