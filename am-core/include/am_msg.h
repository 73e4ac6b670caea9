/*
 * MPI-style two-sided messages on Active Messages: matching by context,
 * source and tag, and five protocols that carry the payload: eager, buffered,
 * and prefix, get and put, which are the three forms of rendezvous (see
 * docs/architecture.md and `am_info -p`).  Nothing here knows MPI; the MPICH
 * netmod and am_perf are its users.
 *
 * Rules.  Every call takes a context, and runs on the thread that owns it.
 * Messages from one sender to one receiver match in the order sent.  A call
 * that returns AM_DONE is complete: no request exists and `done` is not called.
 * A call that returns AM_OK left a request pending: `done` is called exactly
 * once, from am_ctx_poll or a look for dead peers (am_check; or not at all, when
 * am_msg_cancel returns AM_DONE), after which the request is gone.
 *
 * Handlers.  No call here blocks or polls.  In a handler, a client's reception
 * callback, `done` and every other function that am_ctx_poll calls, all calls
 * here are legal but the two probes; sends leave at once while there is space
 * and are queued otherwise.  A `lost` function (am_msg_set_lost) may only ask:
 * am_peer_is_dead, am_rank, am_size.
 *
 * Errors.  AM_ERR_INVALID: an argument is out of its range (peer, flags, kind of
 * data, a pack or unpack function that is missing, 2^56 bytes or more to
 * send).  AM_ERR_FORKED: the context belongs to the parent of this process (am.h);
 * every call that returns a status may return it.  Unless the comment of a call
 * says otherwise, a call that returns an error has changed nothing, *req_p and
 * *status are not written, and `done` will not be called.
 */
#ifndef AM_MSG_H
#define AM_MSG_H

#include <am.h>

#ifdef __cplusplus
extern "C" {
#endif

struct am_msg_req; /* one pending send or receive, or a claimed message */

/*
 * What is matched.  `source` is the sender's number of itself (MPI: its rank
 * in the communicator), chosen by the sender; it is not a peer index.
 */
struct am_msg_envelope {
    uint32_t context;
    uint32_t source;
    uint32_t tag;
};

/*
 * Tag bits that MPI's device uses as marks (error bits): it sends with any
 * value in them and never lets them decide a match.  Whatever a mask says
 * about them, matching ignores these bits; the status shows them as sent.
 * That keeps a receive with a full mask in the exact bins.
 */
#define AM_MSG_TAG_MARKS 0xe0000000u

/*
 * Which bits must agree.  Exact receives have all ones; any source is
 * source 0.  The envelope's bits outside the mask, and AM_MSG_TAG_MARKS, are
 * ignored.
 */
struct am_msg_mask {
    uint32_t context;
    uint32_t source;
    uint32_t tag;
};

struct am_msg_status {
    struct am_msg_envelope envelope; /* as the sender gave it, all bits */
    uint32_t peer;                   /* index of the sending peer */
    am_status_t status;              /* AM_OK, AM_ERR_TRUNCATE, AM_ERR_PEER.. */
    size_t bytes;                    /* bytes placed in the buffer */
    size_t bytes_sent;               /* length of the message */
};

typedef void (*am_msg_done_fn)(void *arg, const struct am_msg_status *status);

enum {
    AM_MSG_SYNC = 1, /* complete only when matched (MPI_Ssend) */
};

/*
 * Send `data` to peer `dest`.  AM_DONE: the data may be reused.  AM_OK: a
 * request is pending in *req_p; `done` may be given now or, before the next
 * poll, by am_msg_attach; it gets AM_OK, AM_ERR_PEER, AM_ERR_CANCELLED, or AM_ERR_MEMORY
 * (the receiver had none for a message that waits for an answer, as those with
 * AM_MSG_SYNC and by rendezvous do).  Errors: AM_ERR_INVALID, AM_ERR_MEMORY, AM_ERR_PEER
 * (it is dead or cannot be reached), AM_ERR_FORKED.
 */
AM_API am_status_t am_msg_isend(struct am_ctx *ctx, uint32_t dest,
                                const struct am_msg_envelope *envelope,
                                const struct am_data *data, unsigned flags,
                                am_msg_done_fn done, void *arg,
                                struct am_msg_req **req_p);

/*
 * Post a receive into `data`.  AM_DONE: it matched a message that was all
 * there, and *status is written; status->status says how the receive ended:
 * AM_OK, AM_ERR_TRUNCATE, AM_ERR_MEMORY, or AM_ERR_PEER (the sender died before
 * all of the message was here).  AM_OK: pending in *req_p, and `done` will get
 * the same.  Errors: AM_ERR_INVALID, AM_ERR_MEMORY (no request; a message that
 * waits goes on waiting), AM_ERR_FORKED.
 */
AM_API am_status_t am_msg_irecv(struct am_ctx *ctx,
                                const struct am_msg_envelope *envelope,
                                const struct am_msg_mask *mask,
                                const struct am_data *data, am_msg_done_fn done,
                                void *arg, struct am_msg_status *status,
                                struct am_msg_req **req_p);

/*
 * The usual send and receive in fewer steps.  A message of any length from
 * contiguous memory leaves at once, or nothing happens: false, and am_msg_isend
 * is to be called.  A receive whose context, source and tag must all agree is
 * posted to contiguous memory while nothing unexpected waits: the result is the
 * pending request, or NULL, nothing has happened, and am_msg_irecv is to be
 * called.
 */
static inline uint64_t am_msg_key(uint32_t context, uint32_t source)
{
    return (uint64_t)context << 32 | source;
}

AM_API bool am_msg_send_now(struct am_ctx *ctx, uint32_t dest, uint64_t key,
                            uint32_t tag, const void *base, size_t bytes);
AM_API struct am_msg_req *am_msg_post(struct am_ctx *ctx, uint64_t key,
                                      uint32_t tag, void *base, size_t bytes,
                                      am_msg_done_fn done, void *arg);

/*
 * Which receives wait for a dead peer?  Only who numbers the sources knows.
 * `lost` is asked, from am_ctx_poll, about each posted receive once a peer has
 * died, and once a second, with the receive's completion function and argument
 * (NULL, NULL: about a probe).  It returns the index of the peer, dead or alive,
 * that the receive can only wait for, or of a dead one (am_peer_is_dead) without
 * which it cannot match; else UINT32_MAX.  One that waits for the dead completes
 * with AM_ERR_PEER, and status->peer names it; a rank that is waited for is
 * connected to, so that its death is seen over a network, too.
 * AM_MSG_REVOKED ends it, too, with AM_ERR_CANCELLED, whoever lives.
 * Without this call sources are taken to be peer indices, and a receive from
 * any source waits for the dead when all other ranks are.
 */
#define AM_MSG_REVOKED (UINT32_MAX - 1)
typedef uint32_t (*am_msg_lost_fn)(void *arg, am_msg_done_fn done,
                                   void *done_arg,
                                   const struct am_msg_envelope *envelope,
                                   const struct am_msg_mask *mask);
AM_API void am_msg_set_lost(struct am_ctx *ctx, am_msg_lost_fn lost, void *arg);

/* What `lost` answers has changed: it is asked about all posted receives at
 * the next poll, and from now on about each that is posted, as after a death. */
AM_API void am_msg_look(struct am_ctx *ctx);

/* Give a pending request its completion function. */
AM_API void am_msg_attach(struct am_msg_req *req, am_msg_done_fn done,
                          void *arg);

/*
 * Is a matching message there?  Returns AM_DONE and fills *status (bytes and
 * bytes_sent are the message's length), or AM_ERR_AGAIN, or AM_ERR_PEER when
 * only a dead peer could have sent it, or AM_ERR_CANCELLED (am_msg_set_lost), or
 * AM_ERR_FORKED.  Does not poll.
 */
AM_API am_status_t am_msg_iprobe(struct am_ctx *ctx,
                                 const struct am_msg_envelope *envelope,
                                 const struct am_msg_mask *mask,
                                 struct am_msg_status *status);
/*
 * The same, and AM_DONE takes the message out of the queue: no other receive or
 * probe finds it, and *message_p must be given to am_msg_imrecv.  AM_ERR_AGAIN and
 * errors: as iprobe; *message_p is not written.
 */
AM_API am_status_t am_msg_improbe(struct am_ctx *ctx,
                                  const struct am_msg_envelope *envelope,
                                  const struct am_msg_mask *mask,
                                  struct am_msg_status *status,
                                  struct am_msg_req **message_p);
/*
 * Receive a message that am_msg_improbe took.  Results, *status and `done` as
 * those of am_msg_irecv.  AM_ERR_INVALID (`message` is not one that am_msg_improbe
 * gave, or `data` is out of range), AM_ERR_MEMORY, AM_ERR_FORKED: the message is
 * still the caller's, to be given to another am_msg_imrecv.  After AM_DONE or AM_OK
 * `message` may not be used any more.
 */
AM_API am_status_t am_msg_imrecv(struct am_msg_req *message,
                                 const struct am_data *data,
                                 am_msg_done_fn done, void *arg,
                                 struct am_msg_status *status,
                                 struct am_msg_req **req_p);

/*
 * Cancel a pending receive or send.  AM_DONE: it had not matched; the request
 * is gone and `done` will not be called.  AM_OK: a send whose receiver must be
 * asked; once it has answered, `done` gets AM_ERR_CANCELLED, or what it gets
 * else when the message was matched before.  AM_ERR_AGAIN: it has matched, or
 * does not wait for that, and completes as usual.  AM_ERR_FORKED.
 */
AM_API am_status_t am_msg_cancel(struct am_msg_req *req);

#ifdef __cplusplus
}
#endif
#endif
