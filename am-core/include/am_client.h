/*
 * Sends to clients, after DCMF (Kumar et al., ICS 2008): several users of one
 * context side by side, each with a reception callback that learns of a send
 * before its payload is received and names the buffer.  Comes with am.h.
 */
#ifndef AM_CLIENT_H
#define AM_CLIENT_H

#include <am.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A client registers a reception callback once and gets an id; all ranks must
 * register clients in the same order, right after am_open or before a peer sends
 * to them.  When the first packet of a send arrives, am_ctx_poll calls `receive`,
 * with the rules of a handler, with the metadata (valid until it returns) and the
 * total size.  It returns
 *
 *   AM_OK         with *landing filled in (bytes >= total; kind any) and, if
 *                 wanted, *done and *done_arg, called when the bytes are there;
 *                 a landing that is too small ends the receive with
 *                 AM_ERR_TRUNCATE;
 *   AM_DONE       when am_recv_payload gave it all and it has used it;
 *   AM_ERR_AGAIN  to defer, keeping `recv`, and to call am_recv_supply later;
 *   other errors  to refuse it: nothing lands.
 */
struct am_client;
struct am_recv; /* one incoming send; valid until its done function ran */

typedef am_status_t (*am_receive_fn)(void *arg, struct am_recv *recv,
                                     uint32_t source, const void *info,
                                     size_t info_bytes, size_t bytes,
                                     struct am_data *landing, am_done_fn *done,
                                     void **done_arg);

typedef enum {
    AM_ORDERED = 0, /* delivered in the order sent, for each (client, peer) */
    AM_UNORDERED,   /* may overtake: large sends do not delay small ones */
} am_order_t;

#define AM_INFO_BYTES_MAX 128

/* *client_p belongs to the context and lives as long.  AM_ERR_MEMORY. */
AM_API am_status_t am_client_register(struct am_ctx *ctx, am_order_t order,
                                      am_receive_fn receive, void *arg,
                                      struct am_client **client_p);
/* Inside a reception callback: the payload, if it came with the metadata (as
 * short ones do).  If the callback returns AM_DONE, it has used all of it. */
AM_API const void *am_recv_payload(const struct am_recv *recv);
/*
 * Supply the buffer of a deferred receive; `done` (NULL: none) as above, perhaps
 * before this returns.  AM_ERR_TRUNCATE: too small, nothing happened.
 * AM_ERR_INVALID: it was not deferred.  AM_ERR_FORKED.
 */
AM_API am_status_t am_recv_supply(struct am_recv *recv,
                                  const struct am_data *landing,
                                  am_done_fn done, void *arg);

/*
 * Send `data` (what it points to lives until `done`) with up to
 * AM_INFO_BYTES_MAX bytes of `info` (copied) to the client of the same id at
 * `dest`.  Any size.  `done` (NULL: none) is called when `data` may be reused,
 * for a short send perhaps before this returns, with AM_ERR_PEER when the peer
 * died.  A send too long for one packet is done when it has been received, or
 * with the error with which the receive has ended: that of a refusal,
 * AM_ERR_TRUNCATE, AM_ERR_INVALID (no such client there).  AM_OK, or an error at
 * once: AM_ERR_INVALID, AM_ERR_PEER, AM_ERR_MEMORY, AM_ERR_FORKED.
 */
AM_API am_status_t am_send(struct am_client *client, uint32_t dest,
                           const void *info, size_t info_bytes,
                           const struct am_data *data, am_done_fn done,
                           void *arg);

/*
 * One send to many, and a different one to each: as many am_sends, with the cost
 * of one call and one `done`, which gets the last error if there was one.
 * The lists are read during the call only.  AM_ERR_MEMORY, AM_ERR_FORKED.
 */
AM_API am_status_t am_multicast(struct am_client *client, const uint32_t *dests,
                                uint32_t dest_count, const void *info,
                                size_t info_bytes, const struct am_data *data,
                                am_done_fn done, void *arg);

struct am_many {
    uint32_t dest;
    struct am_data data;
};

AM_API am_status_t am_many_to_many(struct am_client *client,
                                   const struct am_many *many,
                                   uint32_t many_count, const void *info,
                                   size_t info_bytes, am_done_fn done,
                                   void *arg);

#ifdef __cplusplus
}
#endif
#endif
