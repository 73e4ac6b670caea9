/*
 * Agreement among the members of a communicator that live, whatever dies
 * meanwhile.
 *
 *   am_agree.c          the calls; MPIX_Comm_agree
 *   am_agree_step.c     the protocol, and the results that are kept
 *   am_agree_msg.c      values, messages, and those that come too early
 *
 * The lowest member that lives coordinates.  libam takes none for dead that
 * lives, and all learn of a death sooner or later.
 *
 *   member                       coordinator
 *   GIVE(value) ------------->   all that live have given: joins the values
 *               <-------------   OFFER(joined)
 *   TAKEN       ------------->   all that live have taken it: decided
 *               <-------------   DONE(joined)
 *
 * Who knows that its coordinator is dead gives to the next one: its own value,
 * or the last that it has taken, with the number of who offered it.  A new
 * coordinator that gets a taken value offers that of the highest number.
 * Nobody is through before all that live have taken a value, so a later
 * coordinator finds no other.  It also asks (ASK) who is through already; those
 * answer DONE from the results that are kept, one for each context.
 *
 * A value is some words, joined by AND, and a byte for each rank: has it died
 * (joined by OR), is its death acknowledged (by AND).
 *
 * The caller of what stands here has the lock of am_ft.h, but where it says otherwise.
 */
#ifndef AM_AGREE_H_INCLUDED
#define AM_AGREE_H_INCLUDED

#include "am_ft.h"

/* What a message says.  The last has no agreement: its communicator is revoked. */
enum {
    MPIDI_AM_GIVE,
    MPIDI_AM_OFFER,
    MPIDI_AM_TAKEN,
    MPIDI_AM_DONE,
    MPIDI_AM_ASK,
    MPIDI_AM_REVOKE,
};

enum { MPIDI_AM_RANK_FAILED = 1, MPIDI_AM_RANK_ACKED = 2 };

struct MPIDI_AM_wire {
    int32_t type, context_id, rank, offered_by;
    uint32_t number;
    uint32_t count, size;       /* of the value: words, ranks */
};

struct MPIDI_AM_value {
    uint32_t count, size;
    uint32_t words[];           /* and then a byte for each rank */
};

struct MPIDI_AM_agreement {
    struct MPIDI_AM_agreement *next;
    MPIR_Comm *comm;
    uint32_t number;
    int coordinator;            /* to whom the value was given; -1: nobody yet */
    struct MPIDI_AM_value *mine;        /* as coordinator: joined with those of others */
    struct MPIDI_AM_value *taken;       /* NULL: none */
    int offered_by;             /* of `taken` */
    bool offering, done;
    uint8_t *given, *agreed, *asked;    /* of each rank */
};

/* Values need no lock.  They are freed by MPL_free. */
struct MPIDI_AM_value *MPIDI_AM_value_new(uint32_t count, uint32_t size);
struct MPIDI_AM_value *MPIDI_AM_value_copy(const struct MPIDI_AM_value *from);
/* Of two values of the same count and size. */
void MPIDI_AM_value_join(struct MPIDI_AM_value *into, const struct MPIDI_AM_value *from);
uint8_t *MPIDI_AM_value_ranks(const struct MPIDI_AM_value *value);

/* Send a message, with a copy of the value where it is not NULL: to a peer of libam, or to a rank
 * of the agreement, or to all others of it that live.  The dead are sent to in vain. */
void MPIDI_AM_agree_post(uint32_t peer, const struct MPIDI_AM_wire *wire,
                         const struct MPIDI_AM_value *value);
void MPIDI_AM_agree_say(struct MPIDI_AM_agreement *agreement, int rank, int type,
                        const struct MPIDI_AM_value *value, int offered_by);
void MPIDI_AM_agree_say_all(struct MPIDI_AM_agreement *agreement, int type,
                            const struct MPIDI_AM_value *value);
/* Hand out those that came too early: an agreement has begun. */
void MPIDI_AM_agree_letters_read(void);

/* A message has come from this peer.  False: it is of an agreement that has not begun here. */
bool MPIDI_AM_agree_message(uint32_t source, const struct MPIDI_AM_wire *wire,
                            const struct MPIDI_AM_value *value);
/* It takes part from its begin to its end. */
void MPIDI_AM_agree_begin(struct MPIDI_AM_agreement *agreement);
void MPIDI_AM_agree_end(struct MPIDI_AM_agreement *agreement);
/* The module ends: let go of all results.  It needs no lock. */
void MPIDI_AM_agree_forget_all(void);

#endif /* AM_AGREE_H_INCLUDED */
