/*
 * Put: plain rendezvous.
 *
 *   sender                            receiver
 *   RTS(envelope, id, length) ----->  match now, or keep the envelope
 *                             <-----  CTS(id, id', bytes, key of the buffer)
 *   put(bytes) -------------------->  into the receive buffer
 *   PUT_END(id') ------------------>  done
 *   (done when they are copied, or their packets have left)
 *
 * A receive with no room for a byte of it answers END(id) instead of CTS.
 */
#include "msg/msg_credit.h"
#include "msg/proto.h"
#include "msg/rndv.h"

static am_status_t put_emit(struct am_msg_req *send, bool queued)
{
    uint64_t words[AM_RNDV_WORDS];
    am_status_t status = am_rndv_words(send, words, AM_MSG_RTS_PUT);

    if (status == AM_OK) {
        status = am_msg_packet(send, queued ? &send->op : NULL, AM_MSG_H_RTS,
                               send->node.tag, words, AM_RNDV_WORDS, 0);
    }
    if (status == AM_OK) {
        am_credit_ridden(send->mp, words[1]);
    }
    return status;
}

static am_status_t put_deliver(struct am_msg_req *recv,
                               struct am_msg_req *message)
{
    am_credit_owe(recv->mp, recv->info.charge);
    if (message != NULL) {
        am_msg_message_free(message);
    }
    return am_rndv_answer(recv, 0);
}

const struct am_proto am_proto_put = {.name = "put",
                                      .emit = put_emit,
                                      .deliver = put_deliver};
