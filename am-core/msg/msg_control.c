/*
 * Messages of msg's own: credit, answers, ends.  They go in order with the
 * envelopes, at once or, when the device has no space, from the peer's queue.
 * How many can wait is bounded by the requests and peers that send them.
 */
#include "msg/msg_core.h"

struct control {
    struct am_op op;
    struct am_msg *msg;
    uint32_t handler, word_count;
    uint64_t words[AM_WORDS_MAX];
};

_Static_assert(sizeof(struct control) <= AM_MSG_CONTROL_BYTES, "control size");

static am_turn_t control_run(struct am_op *op)
{
    struct control *control = am_container(op, struct control, op);
    am_status_t status = am_op_send(op, control->handler, 0, control->words,
                                    control->word_count, NULL, 0);

    if (status != AM_ERR_AGAIN) {
        am_pool_put(&control->msg->controls, control);
    }
    return am_turn_of(status);
}

am_status_t am_msg_control(struct am_msg_peer *mp, uint32_t handler,
                           const uint64_t *words, uint32_t word_count)
{
    struct am_msg *msg = mp->msg;
    struct control *control;
    am_status_t status =
            am_peer_send(mp->peer, handler, 0, words, word_count, NULL, 0);

    if (am_likely(status != AM_ERR_AGAIN)) {
        return status;
    }
    control = am_pool_get(&msg->controls);
    if (control == NULL) {
        am_log(am_ctx_log(msg->ctx), AM_LOG_ERROR,
               "no memory for a control message to peer %u; it will stall",
               mp->peer->index);
        return AM_ERR_MEMORY;
    }
    *control = (struct control){
            .msg = msg, .handler = handler, .word_count = word_count};
    for (uint32_t i = 0; i < word_count; i++) {
        control->words[i] = words[i];
    }
    am_op_queue(&control->op, mp->peer, control_run, AM_OP_ORDERED);
    return AM_OK;
}
