/*
 * Hot inlines of the eager protocol: one small contiguous message out, and the
 * copy of a small payload.
 */
#ifndef AM_MSG_PROTO_EAGER_INL_H
#define AM_MSG_PROTO_EAGER_INL_H

#include "base/copy.h"
#include "msg/msg_credit.h"

#include <string.h>

/*
 * Envelope and payload in one packet.  AM_OK: gone, counted, credit taken;
 * anything else: nothing happened, the general way must be tried.
 */
static inline am_status_t am_eager_short(struct am_msg_peer *mp, uint64_t key,
                                         uint32_t tag, const void *base,
                                         size_t bytes)
{
    uint64_t words[2];
    uint64_t left = mp->credit - am_credit_charge(bytes);
    uint32_t word_count = 1;
    am_status_t status;

    words[0] = key;
    if (am_unlikely(!am_credit_covers(left))) {
        return AM_ERR_AGAIN;
    }
    if (am_unlikely(mp->owed >= AM_CREDIT_RIDE)) {
        words[1] = am_credit_riding(mp);
        word_count = 2;
    }
    status = am_peer_send(mp->peer, AM_MSG_H_EAGER, tag, words, word_count,
                          base, bytes);
    if (am_unlikely(status != AM_OK)) {
        return status;
    }
    if (am_unlikely(word_count == 2)) {
        am_credit_ridden(mp, words[1]);
    }
    mp->credit = left;
    mp->msg->stats[AM_MSG_TX_MESSAGES + AM_PROTO_EAGER]++;
    mp->msg->stats[AM_MSG_TX_BYTES + AM_PROTO_EAGER] += bytes;
    return AM_OK;
}

/* Is the receive the usual one, and no credit to give back yet? */
static inline bool am_eager_is_plain(const struct am_msg_peer *mp,
                                     const struct am_msg_req *recv,
                                     size_t bytes)
{
    return mp != NULL && recv->data.kind == AM_DATA_CONTIG &&
           bytes <= recv->data.bytes &&
           am_credit_covers(mp->owed_limit -
                            (mp->owed + am_credit_charge(bytes)));
}

/* A payload of at most AM_COPY_SMALL bytes into a receive that it fits. */
static inline void am_eager_copy_short(struct am_msg *msg,
                                       const struct am_msg_req *recv,
                                       const void *data, size_t bytes)
{
    am_copy_small(recv->data.u.base, data, bytes);
    msg->stats[AM_MSG_COPIES]++;
    msg->stats[AM_MSG_COPY_BYTES] += bytes;
}

/* am_msg_copy_in out of a packet of this peer: timed if it is long. */
void am_msg_copy_long(const struct am_peer *peer, const struct am_data *data,
                      size_t offset, const void *from, size_t bytes);
/* As many as am_copy_may_be_far says out of a packet of this peer, a whole message: timed if
 * they are many. */
void am_msg_copy_far(const struct am_peer *peer, void *to, const void *from,
                     size_t bytes);

/* A payload of any length into the receive, as much as fits.  One of no bytes,
 * for which there may be no memory, wraps and is more than fits. */
static inline void am_eager_copy(const struct am_peer *peer, struct am_msg *msg,
                                 const struct am_msg_req *recv,
                                 const void *data, size_t bytes)
{
    if (am_unlikely(recv->data.kind != AM_DATA_CONTIG ||
                    bytes - 1 >= recv->data.bytes)) {
        am_msg_copy_in(msg, &recv->data, 0, data, bytes);
        return;
    }
    if (am_unlikely(bytes >= AM_COPY_NEAR_FROM) &&
        am_copy_may_be_far(bytes, peer->ep->near)) {
        am_msg_copy_far(peer, recv->data.u.base, data, bytes);
    } else {
        memcpy(recv->data.u.base, data, bytes);
    }
    msg->stats[AM_MSG_COPIES]++;
    msg->stats[AM_MSG_COPY_BYTES] += bytes;
}

/* What am_eager_finish tells of a message of `sent` bytes. */
static inline void am_eager_status(struct am_msg *msg,
                                   const struct am_token *token, uint64_t key,
                                   size_t sent, size_t bytes)
{
    struct am_msg_status *out = &msg->done_status;
    uint32_t source_tag[2] = {(uint32_t)key, token->aux};

    out->envelope.context = (uint32_t)(key >> 32);
    /* in one store: who copies both loads them as one, and two would have to
     * reach the cache first */
    memcpy(&out->envelope.source, source_tag, sizeof(source_tag));
    out->peer = token->peer->index;
    out->status = AM_OK;
    out->bytes = bytes;
    out->bytes_sent = sent;
    if (am_unlikely(bytes < sent)) {
        out->status = AM_ERR_TRUNCATE;
        msg->stats[AM_MSG_TRUNCATED]++;
    }
    msg->stats[AM_MSG_RX_MESSAGES + AM_PROTO_EAGER]++;
    msg->stats[AM_MSG_RX_BYTES + AM_PROTO_EAGER] += bytes;
}

/* The end of a receive that has stayed clean. */
static inline void am_eager_finish(struct am_msg *msg, struct am_msg_req *recv)
{
    am_msg_done_fn done = recv->done;
    void *arg = recv->arg;

    am_msg_req_drop(msg, recv);
    if (am_likely(done != NULL)) {
        done(arg, &msg->done_status);
    }
}

/* A message without extras meets its receive: status, payload, credit, end.
 * `is_short`, which is a constant: it is one of am_eager_is_plain. */
static inline __attribute__((always_inline)) void
am_eager_land(struct am_token *token, struct am_msg_peer *mp,
              struct am_msg_req *recv, uint64_t key, const void *data,
              size_t bytes, bool is_short)
{
    struct am_msg *msg = token->arg;

    mp->in_row = 0;
    if (is_short) {
        am_eager_status(msg, token, key, bytes, bytes);
        am_eager_copy_short(msg, recv, data, bytes);
        mp->owed += am_credit_charge(bytes);
    } else {
        am_eager_copy(token->peer, msg, recv, data, bytes);
        am_eager_status(msg, token, key, bytes, am_msg_fit(&recv->data, bytes));
        am_credit_owe(mp, am_credit_charge(bytes));
    }
    am_eager_finish(msg, recv);
}

#endif
