/*
 * MPI-style two-sided messages on Active Messages: matching by context,
 * source and tag, and four protocols that carry the payload (see
 * docs/architecture.md and `am_info -p`).  Nothing here knows MPI; the MPICH
 * netmod and am_perf are its users.
 *
 * Rules.  Every call takes a context, and runs on the thread that owns it.
 * Messages from one sender to one receiver match in the order sent.  A call
 * that returns AM_DONE is complete: no request exists and `done` is not called.
 * A call that returns AM_OK left a request pending: `done` is called exactly
 * once, from am_ctx_poll (or, for a receive that is cancelled, not at all),
 * after which the request is gone.  All calls but probes are legal in `done`.
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
 * poll, by am_msg_attach.  Errors: AM_ERR_INVALID, AM_ERR_MEMORY, AM_ERR_PEER.
 */
AM_API am_status_t am_msg_isend(struct am_ctx *ctx, uint32_t dest,
                                const struct am_msg_envelope *envelope,
                                const struct am_data *data, unsigned flags,
                                am_msg_done_fn done, void *arg,
                                struct am_msg_req **req_p);

/*
 * Post a receive into `data`.  AM_DONE: it matched a message that was all
 * there, and *status is written.  AM_OK: pending in *req_p.
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
 * died, with the receive's completion function and argument (NULL, NULL: about
 * a probe): it returns the index of the dead peer (am_peer_is_dead) that the
 * receive can only wait for, or UINT32_MAX when it may still match.  One that
 * waits for the dead completes with AM_ERR_PEER, and status->peer names it.
 * Without this call sources are taken to be peer indices, and a receive from
 * any source waits for the dead when all other ranks are.
 */
typedef uint32_t (*am_msg_lost_fn)(void *arg, am_msg_done_fn done,
                                   void *done_arg,
                                   const struct am_msg_envelope *envelope,
                                   const struct am_msg_mask *mask);
AM_API void am_msg_set_lost(struct am_ctx *ctx, am_msg_lost_fn lost, void *arg);

/* Give a pending request its completion function. */
AM_API void am_msg_attach(struct am_msg_req *req, am_msg_done_fn done,
                          void *arg);

/*
 * Is a matching message there?  Returns AM_DONE and fills *status (bytes and
 * bytes_sent are the message's length), or AM_ERR_AGAIN, or AM_ERR_PEER when
 * only a dead peer could have sent it.  Does not poll.
 */
AM_API am_status_t am_msg_iprobe(struct am_ctx *ctx,
                                 const struct am_msg_envelope *envelope,
                                 const struct am_msg_mask *mask,
                                 struct am_msg_status *status);
/* The same, and the message is taken out of the queue; it must be received by
 * am_msg_imrecv, with the rules of irecv. */
AM_API am_status_t am_msg_improbe(struct am_ctx *ctx,
                                  const struct am_msg_envelope *envelope,
                                  const struct am_msg_mask *mask,
                                  struct am_msg_status *status,
                                  struct am_msg_req **message_p);
AM_API am_status_t am_msg_imrecv(struct am_msg_req *message,
                                 const struct am_data *data,
                                 am_msg_done_fn done, void *arg,
                                 struct am_msg_status *status,
                                 struct am_msg_req **req_p);

/*
 * Cancel a posted receive.  AM_DONE: it had not matched; the request is gone
 * and `done` will not be called.  AM_ERR_AGAIN: it matched already and will
 * complete as usual.
 */
AM_API am_status_t am_msg_cancel(struct am_msg_req *req);

#ifdef __cplusplus
}
#endif
#endif
