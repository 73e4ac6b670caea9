/*
 * The funnel of receives: posted ones meet envelopes, unexpected ones wait,
 * and the protocol of the message delivers it.
 */
#include "msg/msg_cancel.h"
#include "msg/msg_credit.h"
#include "msg/msg_lost.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"

/* --------------------------------------------------------------- arrivals */

struct am_msg_req *am_msg_match(struct am_msg *msg, uint64_t key, uint32_t tag,
                                const struct am_msg_info *info)
{
    struct am_match_node *node = am_match_arrive(&msg->match, key, tag);
    struct am_msg_req *recv;

    am_msg_charge_match(msg);
    if (node == NULL) {
        return NULL;
    }
    recv = am_container(node, struct am_msg_req, node);
    recv->node.key = key;
    recv->node.tag = tag;
    recv->info = *info;
    recv->state = AM_REQ_RECEIVING;
    am_msg_req_activate(recv, info->mp);
    am_proto_long_received(info->mp, info);
    return recv;
}

struct am_msg_req *am_msg_message_get(struct am_msg *msg, uint64_t key,
                                      uint32_t tag,
                                      const struct am_msg_info *info)
{
    struct am_msg_req *message;

    if (!am_credit_admit(info->mp, info->charge)) {
        return NULL;
    }
    message = am_msg_req_get(msg);
    if (message == NULL) {
        am_credit_leave(info->mp, info->charge);
        am_msg_lose(info);
        return NULL;
    }
    message->node.key = key;
    message->node.tag = tag;
    message->info = *info;
    message->state = AM_REQ_CLAIMED;
    am_msg_req_activate(message, info->mp);
    msg->unexp_requests++;
    if (msg->unexp_requests > msg->stats[AM_MSG_UNEXP_REQUESTS_PEAK]) {
        msg->stats[AM_MSG_UNEXP_REQUESTS_PEAK] = msg->unexp_requests;
    }
    return message;
}

struct am_msg_req *am_msg_message_keep(struct am_msg *msg, uint64_t key,
                                       uint32_t tag,
                                       const struct am_msg_info *info)
{
    struct am_msg_req *message = am_msg_message_get(msg, key, tag, info);

    if (message == NULL) {
        return NULL;
    }
    if (info->length > 0) {
        message->buffer = am_msg_buffer_get(msg, info->length);
        message->buffer_bytes = info->length;
        if (message->buffer == NULL) {
            am_msg_message_free(message);
            am_msg_lose(info);
            return NULL;
        }
    }
    message->data = am_data_contig(message->buffer, info->length);
    return message;
}

void am_msg_message_free(struct am_msg_req *message)
{
    struct am_msg *msg = message->msg;

    if (message->state == AM_REQ_UNEXPECTED) {
        am_match_unstore(&msg->match, &message->node);
    }
    am_credit_leave(message->mp, message->info.charge);
    msg->unexp_requests--;
    am_msg_req_deactivate(message);
    am_msg_req_put(message);
}

/* The copy of a long payload costs more than a poll: let the caller of this one
 * post the receives of those behind it. */
void am_msg_store(struct am_msg_req *message)
{
    if (message->buffer_bytes >= AM_MSG_UNEXP_LONG) {
        message->mp->peer->dev->enough = true;
    }
    message->state = AM_REQ_UNEXPECTED;
    message->msg->stats[AM_MSG_UNEXP_MESSAGES]++;
    am_match_store(&message->msg->match, &message->node, &message->links);
}

void am_msg_arrive(struct am_msg *msg, uint64_t key, uint32_t tag,
                   const struct am_msg_info *info)
{
    struct am_msg_req *recv = am_msg_match(msg, key, tag, info);
    am_status_t status;

    if (recv == NULL) {
        struct am_msg_req *message = am_msg_message_get(msg, key, tag, info);

        if (message != NULL) {
            am_msg_store(message);
        }
        return;
    }
    status = am_protos[info->proto]->deliver(recv, NULL);
    if (status != AM_OK) {
        am_msg_recv_finish(recv, status == AM_DONE ? AM_OK : status);
    }
}

/* ---------------------------------------------------------------- receives */

static bool data_is_valid(const struct am_data *data)
{
    return data->kind <= AM_DATA_PACK &&
           (data->kind != AM_DATA_PACK || data->unpack != NULL);
}

/* A receive for a message that is here. */
static am_status_t receive_message(struct am_msg_req *message,
                                   const struct am_data *data,
                                   am_msg_done_fn done, void *arg,
                                   struct am_msg_status *status,
                                   struct am_msg_req **req_p)
{
    struct am_msg *msg = message->msg;
    struct am_msg_req *recv = am_msg_req_get(msg);
    am_status_t result;

    if (recv == NULL) {
        return AM_ERR_MEMORY;
    }
    if (message->state == AM_REQ_UNEXPECTED) {
        am_match_unstore(&msg->match, &message->node);
        message->state = AM_REQ_CLAIMED;
    }
    recv->node.key = message->node.key;
    recv->node.tag = message->node.tag;
    recv->data = *data;
    recv->done = done;
    recv->arg = arg;
    recv->info = message->info;
    recv->state = AM_REQ_RECEIVING;
    am_msg_req_activate(recv, message->mp);
    am_proto_long_received(message->mp, &message->info);
    result = message->status;
    if (result != AM_OK) {
        am_msg_message_free(message); /* its sender died */
    } else {
        result = am_protos[recv->info.proto]->deliver(recv, message);
    }
    if (result == AM_OK) {
        *req_p = recv;
        return AM_OK;
    }
    am_msg_status_fill(recv, result == AM_DONE ? AM_OK : result, status);
    am_msg_recv_count(recv, status);
    am_msg_req_deactivate(recv);
    am_msg_req_put(recv);
    return AM_DONE;
}

static struct am_match_want want_of(const struct am_msg_envelope *envelope,
                                    const struct am_msg_mask *mask)
{
    return (struct am_match_want){
            .key = am_msg_key(envelope->context, envelope->source),
            .key_mask = am_msg_key(mask->context, mask->source),
            .tag = envelope->tag,
            .tag_mask = mask->tag & AM_MATCH_TAG_MASK,
    };
}

static __attribute__((noinline)) struct am_msg_req *
find(struct am_msg *msg, const struct am_msg_envelope *envelope,
     const struct am_msg_mask *mask)
{
    struct am_match_want want = want_of(envelope, mask);
    struct am_match_node *node = am_match_find(&msg->match, &want);

    am_msg_charge_match(msg);
    return node == NULL ? NULL : am_container(node, struct am_msg_req, node);
}

/* AM_ERR_FORKED in a child of the context's process. */
static inline am_status_t usable(struct am_msg *msg)
{
    return am_likely(msg->trouble_count == 0) ? AM_OK : am_owned(msg->ctx);
}

/* Is there a request to use, and nothing to look at before a receive is posted:
 * no message that waits, no peer in trouble? */
static inline bool is_quiet(const struct am_msg *msg)
{
    return am_likely(msg->req_free != NULL &&
                     am_match_unexpected_count(&msg->match) == 0 &&
                     msg->trouble_count == 0);
}

/* A request becomes a receive that is posted: all but what it matches, and the
 * rest of `data` where that is not contiguous. */
static inline void recv_fill(struct am_msg_req *recv, am_data_kind_t kind,
                             void *base, size_t bytes, am_msg_done_fn done,
                             void *arg)
{
    recv->done = done;
    recv->arg = arg;
    recv->state = AM_REQ_POSTED;
    recv->data.kind = kind;
    recv->data.bytes = bytes;
    recv->data.u.base = base;
}

static inline void post(struct am_msg *msg, struct am_msg_req *recv,
                        const struct am_msg_envelope *envelope,
                        const struct am_msg_mask *mask)
{
    const struct am_match_want want = want_of(envelope, mask);

    recv->node.key = want.key;
    recv->node.key_mask = want.key_mask;
    recv->node.tag = want.tag;
    recv->node.tag_mask = want.tag_mask;
    am_match_post(&msg->match, &recv->node);
}

/* Any receive: messages may wait, requests be used up, peers in trouble. */
static __attribute__((noinline)) am_status_t
irecv_general(struct am_ctx *ctx, const struct am_msg_envelope *envelope,
              const struct am_msg_mask *mask, const struct am_data *data,
              am_msg_done_fn done, void *arg, struct am_msg_status *status,
              struct am_msg_req **req_p)
{
    struct am_msg *msg = am_msg_of(ctx);
    struct am_msg_req *recv;
    am_status_t result = usable(msg);

    if (result != AM_OK) {
        return result;
    }
    if (!data_is_valid(data)) {
        return AM_ERR_INVALID;
    }
    if (am_match_unexpected_count(&msg->match) != 0) {
        struct am_msg_req *message = find(msg, envelope, mask);

        if (message != NULL) {
            return receive_message(message, data, done, arg, status, req_p);
        }
    }
    recv = am_msg_req_get(msg);
    if (recv == NULL) {
        return AM_ERR_MEMORY;
    }
    recv_fill(recv, data->kind, data->u.base, data->bytes, done, arg);
    if (data->kind != AM_DATA_CONTIG) {
        recv->data = *data;
    }
    post(msg, recv, envelope, mask);
    if (msg->trouble_count != 0) {
        am_msg_trouble(msg);
    }
    *req_p = recv;
    return AM_OK;
}

/* A receive into contiguous memory for which nothing has come yet; calls
 * nothing, so that no register is saved. */
am_status_t am_msg_irecv(struct am_ctx *ctx,
                         const struct am_msg_envelope *envelope,
                         const struct am_msg_mask *mask,
                         const struct am_data *data, am_msg_done_fn done,
                         void *arg, struct am_msg_status *status,
                         struct am_msg_req **req_p)
{
    struct am_msg *msg = am_msg_of(ctx);
    struct am_msg_req *recv;

    if (am_unlikely(data->kind != AM_DATA_CONTIG || !is_quiet(msg))) {
        return irecv_general(ctx, envelope, mask, data, done, arg, status,
                             req_p);
    }
    recv = am_msg_req_get(msg);
    *req_p = recv;
    recv_fill(recv, AM_DATA_CONTIG, data->u.base, data->bytes, done, arg);
    post(msg, recv, envelope, mask);
    return AM_OK;
}

/* The same with less to read and to choose; calls nothing at all. */
struct am_msg_req *am_msg_post(struct am_ctx *ctx, uint64_t key, uint32_t tag,
                               void *base, size_t bytes, am_msg_done_fn done,
                               void *arg)
{
    struct am_msg *msg = am_msg_of(ctx);
    struct am_msg_req *recv;

    if (am_unlikely(!is_quiet(msg) || !am_match_has_room(&msg->match))) {
        return NULL;
    }
    recv = am_msg_req_get(msg);
    recv_fill(recv, AM_DATA_CONTIG, base, bytes, done, arg);
    am_match_post_exact(&msg->match, &recv->node, key, tag);
    return recv;
}

am_status_t am_msg_imrecv(struct am_msg_req *message,
                          const struct am_data *data, am_msg_done_fn done,
                          void *arg, struct am_msg_status *status,
                          struct am_msg_req **req_p)
{
    am_status_t result = usable(message->mp->msg);

    if (result != AM_OK) {
        return result;
    }
    if (message->state != AM_REQ_CLAIMED || !data_is_valid(data)) {
        return AM_ERR_INVALID;
    }
    return receive_message(message, data, done, arg, status, req_p);
}

/* ------------------------------------------------------------------ probes */

static am_status_t probe(struct am_msg *msg,
                         const struct am_msg_envelope *envelope,
                         const struct am_msg_mask *mask,
                         struct am_msg_status *status,
                         struct am_msg_req **message_p)
{
    am_status_t result = usable(msg);
    struct am_msg_req *message;

    if (result != AM_OK) {
        return result;
    }
    message = find(msg, envelope, mask);
    if (message == NULL) {
        msg->probes = true; /* who waits so is looked after: msg_lost.c */
        msg->probe = *envelope;
        msg->probe_mask = *mask;
        return am_likely(msg->trouble_count == 0)
                       ? AM_ERR_AGAIN
                       : am_msg_probe_trouble(msg, envelope, mask);
    }
    *status = (struct am_msg_status){
            .envelope = am_msg_envelope_of(&message->node),
            .peer = message->mp->peer->index,
            .status = AM_OK,
            .bytes = message->info.length,
            .bytes_sent = message->info.length,
    };
    *message_p = message;
    return AM_DONE;
}

am_status_t am_msg_iprobe(struct am_ctx *ctx,
                          const struct am_msg_envelope *envelope,
                          const struct am_msg_mask *mask,
                          struct am_msg_status *status)
{
    struct am_msg_req *message;

    return probe(am_msg_of(ctx), envelope, mask, status, &message);
}

am_status_t am_msg_improbe(struct am_ctx *ctx,
                           const struct am_msg_envelope *envelope,
                           const struct am_msg_mask *mask,
                           struct am_msg_status *status,
                           struct am_msg_req **message_p)
{
    struct am_msg *msg = am_msg_of(ctx);
    am_status_t result = probe(msg, envelope, mask, status, message_p);

    if (result == AM_DONE) {
        am_match_unstore(&msg->match, &(*message_p)->node);
        (*message_p)->state = AM_REQ_CLAIMED;
    }
    return result;
}
