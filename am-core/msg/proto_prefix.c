/*
 * Prefix: rendezvous whose request comes with the first part of the message in
 * the sender's region, so that the pipeline is full when the address comes
 * back.  Without space in the region the message goes by put.
 *
 *   sender                                     receiver
 *   allocate, store(prefix) --------------->   region
 *   RTS(envelope, id, length, offset) ----->   match now, or keep the envelope
 *                       <------------------    CTS(id, id', bytes, key)
 *                                              copy the prefix out
 *   put(the rest) ------------------------->   into the receive buffer
 *   PUT_END(id') -------------------------->   done
 *   (done)
 *                       <------------------    frees, in batches
 *
 * When the prefix is all that the receive can take, END(id) is the answer.
 */
#include "msg/msg_credit.h"
#include "msg/msg_region.h"
#include "msg/proto.h"
#include "msg/rndv.h"

static am_status_t prefix_emit(struct am_msg_req *send, bool queued)
{
    struct am_op *op = queued ? &send->op : NULL;
    uint64_t words[7];
    am_status_t status = am_msg_region_store(send, op);

    if (status == AM_OK) {
        status = am_rndv_words(send, words, AM_MSG_RTS_PREFIX);
    }
    if (status == AM_OK) {
        words[5] = send->info.offset;
        words[6] = send->info.prefix_bytes;
        status = am_msg_packet(send, op, AM_MSG_H_RTS, send->node.tag, words, 7,
                               0);
    }
    if (status == AM_OK) {
        am_credit_ridden(send->mp, words[1]);
    }
    return status;
}

static am_status_t prefix_deliver(struct am_msg_req *recv,
                                  struct am_msg_req *message)
{
    struct am_msg_peer *mp = recv->mp;
    const struct am_msg_info *info = &recv->info;
    am_status_t status;

    am_credit_owe(mp, info->charge);
    if (message != NULL) {
        am_msg_message_free(message);
    }
    status = am_rndv_answer(recv, info->prefix_bytes);
    am_msg_copy_in(recv->msg, &recv->data, 0, mp->rx_base + info->offset,
                   info->prefix_bytes);
    am_msg_region_free(mp, info->offset, info->prefix_bytes);
    return status;
}

const struct am_proto am_proto_prefix = {.name = "prefix",
                                         .emit = prefix_emit,
                                         .deliver = prefix_deliver};
