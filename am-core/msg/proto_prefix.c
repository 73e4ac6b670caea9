/*
 * Prefix: rendezvous whose request comes with the first part of the message in
 * the sender's region, so that the pipeline is full while the address comes
 * back (Chang et al., SC'96).  Without space in the region the message goes by
 * put or get.
 *
 *   sender                                     receiver
 *   allocate
 *   RTS(envelope, id, length, offset) ----->   match now, or keep the envelope
 *   store(prefix) ------------------------->   region; copied out after the answer
 *                       <------------------    CTS(id, id', bytes, key)
 *   put(the rest) ------------------------->   into the receive buffer
 *   PUT_END(id') -------------------------->   done
 *   (done)
 *                       <------------------    frees, in batches
 *
 * When the prefix is all that the receive can take, END(id) is the answer.  An
 * answer that comes before the prefix has left waits for it (am_rndv_resume), so
 * that all of a message is in order.  Into a region that the sender has mapped
 * the prefix goes first: it is there at once, and one message tells of both.
 */
#include "msg/msg_credit.h"
#include "msg/msg_region.h"
#include "msg/proto.h"
#include "msg/rndv.h"

static am_status_t request_emit(struct am_msg_req *send, struct am_op *op,
                                uint64_t kind)
{
    uint64_t words[AM_RNDV_WORDS + 2];
    am_status_t status = am_rndv_words(send, words, kind);

    if (status == AM_OK) {
        words[4] = send->info.offset;
        words[5] = send->info.prefix_bytes;
        status = am_msg_packet(send, op, AM_MSG_H_RTS, send->node.tag, words,
                               AM_RNDV_WORDS + 2, 0);
    }
    if (status == AM_OK) {
        am_credit_ridden(send->mp, words[1]);
    }
    return status;
}

static am_status_t prefix_emit(struct am_msg_req *send, bool queued)
{
    struct am_op *op = queued ? &send->op : NULL;
    bool is_first = send->mp->tx_map != NULL || send->info.prefix_bytes == 0;
    am_status_t status = AM_OK;

    if (is_first) {
        status = am_msg_region_store(send, op);
        return status != AM_OK ? status
                               : request_emit(send, op, AM_MSG_RTS_PREFIX);
    }
    if (send->rndv == NULL || !send->rndv->is_ahead) {
        status = request_emit(send, op, AM_MSG_RTS_AHEAD);
        if (status == AM_OK) {
            send->rndv->is_ahead = true;
        }
    }
    if (status == AM_OK) {
        status = am_msg_region_store(send, op);
    }
    return status == AM_OK ? am_rndv_resume(send) : status;
}

static void prefix_take(struct am_msg_req *recv)
{
    struct am_msg_peer *mp = recv->mp;
    const struct am_msg_info *info = &recv->info;

    am_msg_copy_in(recv->msg, &recv->data, 0, mp->rx_base + info->offset,
                   info->prefix_bytes);
    am_msg_region_free(mp, info->offset, info->prefix_bytes);
}

void am_prefix_arrived(struct am_msg_req *recv)
{
    prefix_take(recv);
    if (am_msg_fit(&recv->data, recv->info.length) <= recv->info.prefix_bytes) {
        am_msg_recv_finish(recv, AM_OK);
    }
}

static am_status_t prefix_deliver(struct am_msg_req *recv,
                                  struct am_msg_req *message)
{
    am_status_t status;

    am_credit_owe(recv->mp, recv->info.charge);
    if (message != NULL) {
        am_msg_message_free(message);
    }
    status = am_rndv_answer(recv, recv->info.prefix_bytes);
    if (!recv->info.ahead) {
        prefix_take(recv);
        return status;
    }
    if (status == AM_OK || status == AM_DONE) {
        return AM_OK; /* am_prefix_arrived goes on */
    }
    /* what still comes in will not be read, and goes before what comes there
     * next */
    am_msg_region_free(recv->mp, recv->info.offset, recv->info.prefix_bytes);
    return status;
}

const struct am_proto am_proto_prefix = {.name = "prefix",
                                         .emit = prefix_emit,
                                         .deliver = prefix_deliver};
