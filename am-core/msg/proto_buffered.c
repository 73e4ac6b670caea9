/*
 * Buffered: the sender allocates in its own region at the receiver, stores the
 * payload there, and sends the envelope; the receiver copies out.
 *
 *   sender                               receiver
 *   allocate
 *   store(payload) ----------------->    region
 *   BUFFERED(envelope, offset) ----->    match, copy out, done; or keep the
 *   (done)                               envelope, the payload stays there
 *                      <-------------    frees, in batches
 *
 *   with AM_MSG_SYNC, when matched: <--  END(id)
 *
 * Asking for the region, its frees and their batches are in msg_region.c.
 */
#include "msg/msg_credit.h"
#include "msg/msg_id.h"
#include "msg/msg_region.h"
#include "msg/proto.h"
#include "msg/rndv.h"

static am_status_t buffered_emit(struct am_msg_req *send, bool queued)
{
    struct am_msg_peer *mp = send->mp;
    struct am_op *op = queued ? &send->op : NULL;
    uint64_t words[AM_WORDS_MAX];
    uint32_t frees;
    am_status_t status;

    if (send->sync && send->id == 0 && am_msg_id_get(send) != AM_OK) {
        return AM_ERR_MEMORY;
    }
    status = am_msg_region_store(send, op);
    if (status != AM_OK) {
        return status;
    }
    words[0] = send->node.key;
    words[1] = am_credit_riding(mp);
    words[2] = send->id;
    words[3] = send->data.bytes;
    words[4] = send->info.offset;
    frees = am_msg_region_ride(mp, &words[5], AM_MSG_FREES_RIDE);
    status = am_msg_packet(send, op, AM_MSG_H_BUFFERED, send->node.tag, words,
                           5 + frees, 0);
    if (status != AM_OK) {
        am_msg_region_unride(mp, &words[5], frees);
        return status;
    }
    am_credit_ridden(mp, words[1]);
    return send->sync ? AM_OK : AM_DONE;
}

static am_status_t buffered_deliver(struct am_msg_req *recv,
                                    struct am_msg_req *message)
{
    struct am_msg_peer *mp = recv->mp;
    const struct am_msg_info *info = &recv->info;

    am_msg_copy_in(recv->msg, &recv->data, 0, mp->rx_base + info->offset,
                   info->length);
    if (message != NULL) {
        am_msg_message_free(message);
    }
    am_msg_region_free(mp, info->offset, info->length);
    am_credit_owe(mp, info->charge);
    if (info->remote_id != 0) {
        am_rndv_end(mp, info->remote_id, AM_OK);
    }
    return AM_DONE;
}

static void buffered_handle(struct am_token *token, const uint64_t *words,
                            uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_info info = {.mp = token->peer->msg,
                               .charge = AM_CREDIT_MESSAGE,
                               .proto = AM_PROTO_BUFFERED};
    uint64_t riding;

    if (info.mp == NULL || word_count < 5) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    riding = am_msg_word(words, 1);
    info.remote_id = am_msg_word(words, 2);
    info.length = am_msg_word(words, 3);
    info.offset = am_msg_word(words, 4);
    if (info.mp->rx_base == NULL ||
        !am_msg_region_has(info.mp, info.offset, info.length)) {
        msg->stats[AM_MSG_RX_BAD_REGION]++;
        return;
    }
    for (uint32_t i = 5; i < word_count; i++) {
        am_msg_region_freed(info.mp, am_msg_word(words, i));
    }
    am_msg_arrive(msg, am_msg_word(words, 0), token->aux, &info);
    if (riding != 0) {
        am_credit_returned(info.mp, riding);
    }
}

void am_proto_buffered_register(struct am_msg *msg)
{
    am_handler_set(msg->ctx, AM_MSG_H_BUFFERED, buffered_handle, msg,
                   "msg_buffered");
    am_msg_region_register(msg);
}

const struct am_proto am_proto_buffered = {.name = "buffered",
                                           .emit = buffered_emit,
                                           .deliver = buffered_deliver};
