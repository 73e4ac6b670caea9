/*
 * Messages of collectives: of steps, and about failures.
 */
#ifndef AM_COLLECTIVES_MESSAGE_H
#define AM_COLLECTIVES_MESSAGE_H

#include "collectives/coll.h"

/* ---------------------------------------------------------- message.c, rx.c */

/* The first words of all messages of collectives but CREDIT: which collective of
 * which group, and who says it, with the step's tag. */
#define AM_COLL_MEMBER_AT 44
#define AM_COLL_SALT_AT   32
#define AM_COLL_SALT_MASK 0xfff

static inline void am_coll_head_write(const struct am_coll_group *group,
                                      uint32_t number, uint32_t tag,
                                      uint64_t *words)
{
    words[0] = (uint64_t)group->id << 32 | number;
    words[1] = (uint64_t)group->rank << AM_COLL_MEMBER_AT |
               (uint64_t)group->salt << AM_COLL_SALT_AT | tag;
}

/* Begin a step: it ends (am_coll_step_end) now or later. */
void am_coll_send_begin(struct am_step *step);
void am_coll_recv_begin(struct am_step *step);
/* Carry on with a step on cp->waiting.  AM_ERR_AGAIN: no space.  Ops send past
 * the queue that they are in themselves. */
am_status_t am_coll_step_offer(struct am_coll_peer *cp, struct am_step *step,
                               struct am_op *op);
/* A message for a step that waits for it; false when none does. */
bool am_coll_step_deliver(struct am_coll_req *req,
                          const struct am_coll_held *what, const void *data);
/* Let a member that does not agree find out, too, if there is space, by a hash that
 * is not its own: it may be waiting for what will never be sent. */
void am_coll_req_tell(struct am_coll_req *req, uint32_t member);
/* The words of a step's messages: which collective, from whom, and its tag. */
void am_coll_step_words(const struct am_step *step, uint64_t *words);
/* Send what the step has to say, now or in its turn. */
void am_coll_step_tell(struct am_coll_peer *cp, struct am_step *step);
/* An answer to the step's RTS or READY is here, or is not waited for any more. */
void am_coll_note_end(struct am_step *step);
/* What has come for a group of this id that is not open, and for its parts. */
void am_coll_strangers_drop(const struct am_coll_group *group);
/* What came before the group was opened here. */
void am_coll_strangers_take(struct am_coll_group *group);
void am_coll_rx_register(struct am_coll *coll);

/* ------------------------------------------------------------------- xfer.c */

static inline struct am_coll_peer *am_coll_step_peer(const struct am_step *step)
{
    return am_coll_member_peer(step->req->group, step->member);
}

/* Open the step's memory, unless it is, to be read or written.  False: it has failed. */
bool am_coll_xfer_open(struct am_step *step, struct am_coll_peer *cp);
/* The key to it, in four words. */
void am_coll_xfer_key(const struct am_step *step, const struct am_coll_peer *cp,
                      uint64_t *words);
/* The other end has moved the bytes: close it. */
void am_coll_xfer_close(struct am_step *step);
/* The receiver has said where: put it there, and FIN after it. */
void am_coll_put_start(struct am_step *step, const struct am_key *key);
/* The sender has said where: get it from there, and then tell it, FIN. */
void am_coll_get_start(struct am_step *step, const struct am_key *key);
void am_coll_xfer_end(struct am_step *step);
/* Take back what a step has under way but for a put or get.  `at_close`: that, too. */
void am_coll_step_stop(struct am_step *step, bool at_close);

/* ------------------------------------------------------------------- fail.c */

/* No collective of the group can be started any more, and those under way fail.  Unless
 * somebody has died, which all find out, the other members are told. */
void am_coll_group_fail(struct am_coll_group *group, am_status_t status);
/* The same without a word to anybody, and those under way end with it. */
void am_coll_group_end(struct am_coll_group *group, am_status_t status);
/* A member has told it. */
void am_coll_group_told(struct am_coll_group *group);
/* What tells the group's messages from those of a group of other members that had its
 * id: of 12 bits. */
uint32_t am_coll_salt_of(const struct am_coll_group *group);

#endif
