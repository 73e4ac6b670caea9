/*
 * Cancel of receives and sends.  A receive is here, and is taken off its queue.
 * So is a send that is still held; one that has left must ask its receiver.
 *
 *   sender                          receiver
 *   envelope(id) --------------->   UNEXPECTED
 *   (am_msg_cancel)
 *   CANCEL(id) ----------------->   still nobody's: dropped
 *              <-----------------   END(id, AM_ERR_CANCELLED)
 *   (done, cancelled)
 *
 * CANCEL goes in order behind the envelope.  A message that has met its receive
 * is not to be found any more, CANCEL is not answered, and the send ends as
 * it always does.  The packets of a stream that CANCEL overtakes still come:
 * the message is DROPPED then, and answered when it is whole.
 */
#include "msg/msg_cancel.h"

#include "msg/msg_credit.h"
#include "msg/msg_id.h"
#include "msg/msg_region.h"
#include "msg/rndv.h"

/* ------------------------------------------------------------- the sender */

/* Does this send end only when its message is matched? */
static bool waits_for_match(const struct am_msg_req *send)
{
    return send->sync ||
           (send->proto != AM_PROTO_EAGER && send->proto != AM_PROTO_BUFFERED);
}

static am_status_t cancel_left(struct am_msg_req *send)
{
    if (send->cancel) {
        return AM_OK; /* it is asked already */
    }
    if (!waits_for_match(send) ||
        (send->id == 0 && am_msg_id_get(send) != AM_OK)) {
        return AM_ERR_AGAIN;
    }
    send->cancel = true;
    am_msg_control(send->mp, AM_MSG_H_CANCEL, &send->id, 1);
    return AM_OK;
}

am_status_t am_msg_cancel(struct am_msg_req *req)
{
    am_status_t status = am_owned(req->msg->ctx);

    if (status != AM_OK) {
        return status;
    }
    switch (req->state) {
    case AM_REQ_POSTED:
        am_match_unpost(&req->msg->match, &req->node);
        am_msg_req_put(req);
        return AM_DONE;
    case AM_REQ_HELD:
        am_credit_unhold(req);
        am_msg_req_put(req);
        return AM_DONE;
    case AM_REQ_QUEUED:
    case AM_REQ_STREAM:
    case AM_REQ_WAIT:
        return cancel_left(req);
    default:
        return AM_ERR_AGAIN;
    }
}

/* ----------------------------------------------------------- the receiver */

/* The credit and the space of a message go back, and its sender is told how it
 * ended, if it awaits an answer. */
static void give_back(const struct am_msg_info *info, am_status_t status)
{
    am_credit_owe(info->mp, info->charge);
    if (info->proto == AM_PROTO_BUFFERED) {
        am_msg_region_free(info->mp, info->offset, info->length);
    } else if (info->proto == AM_PROTO_PREFIX) {
        am_msg_region_free(info->mp, info->offset, info->prefix_bytes);
    }
    if (info->remote_id != 0) {
        am_rndv_end(info->mp, info->remote_id, status);
    }
}

void am_msg_drop(struct am_msg_req *message)
{
    const struct am_msg_info info = message->info;

    am_msg_message_free(message);
    give_back(&info, AM_ERR_CANCELLED);
}

void am_msg_lose(const struct am_msg_info *info)
{
    am_log(am_ctx_log(info->mp->msg->ctx), AM_LOG_ERROR,
           "no memory for an unexpected message of %zu bytes, it is lost",
           info->length);
    give_back(info, AM_ERR_MEMORY);
}

struct am_msg_req *am_msg_remote(struct am_msg_peer *mp, uint64_t remote_id)
{
    for (struct am_list *at = mp->active.prev; at != &mp->active;
         at = at->prev) {
        struct am_msg_req *req = am_container(at, struct am_msg_req, active);

        if (req->info.remote_id == remote_id) {
            return req;
        }
    }
    return NULL;
}

static void cancel_handle(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_msg_req *message;
    uint64_t id;

    if (mp == NULL || word_count != 1) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    id = am_msg_word(words, 0);
    message = id == 0 ? NULL : am_msg_remote(mp, id);
    if (message == NULL || message->state != AM_REQ_UNEXPECTED) {
        return; /* it is matched */
    }
    if (message->info.proto == AM_PROTO_EAGER &&
        message->moved_bytes < message->info.length) {
        am_match_unstore(&msg->match, &message->node);
        message->state = AM_REQ_DROPPED;
        return;
    }
    am_msg_drop(message);
}

void am_msg_cancel_register(struct am_msg *msg)
{
    am_handler_set(msg->ctx, AM_MSG_H_CANCEL, cancel_handle, msg, "msg_cancel");
}
