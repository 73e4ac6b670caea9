/*
 * The rendezvous base: requests to send, answers, transfers, ends.
 *
 *   request            sender's states         receiver's states
 *   RTS  ----------->  WAIT                    UNEXPECTED, or RECEIVING
 *   CTS  <-----------  TRANSFER (put, prefix,  RECEIVING, region open
 *                      get that was offered
 *                      to the device in vain)
 *   put, PUT_END --->  (done)                  (done)
 *   END  <-----------  (done)                  get: (done) when fetched; or
 *                                              cancelled (msg_cancel.c)
 *   FAIL ----------->  (failed)                (failed)
 *
 * Every id in a message is looked up with its generation and its peer, every
 * length is checked against the request; what does not fit, or does not fit the
 * request's state, is counted and dropped.
 */
#include "msg/rndv.h"

#include "msg/msg_credit.h"
#include "msg/msg_id.h"
#include "msg/msg_region.h"
#include "msg/proto.h"

am_status_t am_rndv_get(struct am_msg_req *req)
{
    if (req->id == 0 && am_msg_id_get(req) != AM_OK) {
        return AM_ERR_MEMORY;
    }
    if (req->rndv == NULL) {
        req->rndv = am_pool_get(&req->msg->rndvs);
        if (req->rndv == NULL) {
            return AM_ERR_MEMORY;
        }
        req->rndv->is_open = req->rndv->has_key = false;
        req->rndv->busy = req->rndv->is_ahead = false;
        req->rndv->answer.kind = AM_ANSWER_NONE;
    }
    return AM_OK;
}

void am_rndv_put(struct am_msg_req *req)
{
    if (req->rndv->is_open) {
        am_region_close(&req->rndv->region);
    }
    if (req->rndv->has_key) {
        struct am_dev *dev = req->mp->peer->dev;

        dev->ops->mem_deregister(dev, &req->rndv->key);
    }
    am_pool_put(&req->msg->rndvs, req->rndv);
    req->rndv = NULL;
}

void am_rndv_withdraw(struct am_msg_req *req)
{
    if (req->rndv->is_open) {
        am_region_withdraw(&req->rndv->region, AM_ERR_PEER);
    }
    if (req->rndv->has_key) {
        am_dev_mem_withdraw(req->mp->peer->dev, &req->rndv->key, AM_ERR_PEER);
    }
}

am_status_t am_rndv_open(struct am_msg_req *req, uint32_t caps, size_t bytes,
                         struct am_key *key)
{
    struct am_data data = req->data;
    am_status_t status;

    data.bytes = bytes;
    status = am_region_open(req->msg->ctx, &req->rndv->region, &data, caps,
                            req->mp->peer);
    if (status == AM_OK) {
        req->rndv->is_open = true;
        am_region_key_for(&req->rndv->region, req->mp->peer, key);
    }
    return status;
}

am_status_t am_rndv_words(struct am_msg_req *send, uint64_t *words,
                          uint64_t kind)
{
    am_status_t status = am_rndv_get(send);

    words[0] = send->node.key;
    words[1] = am_credit_riding(send->mp);
    words[2] = send->id;
    words[3] = send->data.bytes | kind << AM_MSG_LENGTH_BITS;
    return status;
}

void am_rndv_end(struct am_msg_peer *mp, uint64_t id, am_status_t status)
{
    uint64_t words[2] = {id, (uint64_t)(int64_t)status};

    am_msg_control(mp, AM_MSG_H_END, words, 2);
}

/* ---------------------------------------------------------- the receiver */

am_status_t am_rndv_answer(struct am_msg_req *recv, size_t have)
{
    struct am_msg_peer *mp = recv->mp;
    size_t bytes = am_msg_fit(&recv->data, recv->info.length);
    uint64_t words[7] = {recv->info.remote_id, 0, bytes, 0, 0, 0, 0};
    struct am_key key;
    am_status_t status;

    if (bytes <= have) {
        am_rndv_end(mp, recv->info.remote_id, AM_OK);
        return AM_DONE;
    }
    status = am_rndv_get(recv);
    if (status == AM_OK) {
        status = am_rndv_open(recv, AM_DEV_CAP_PUT, bytes, &key);
    }
    if (status != AM_OK) {
        am_rndv_end(mp, recv->info.remote_id, status);
        return status;
    }
    words[1] = recv->id;
    for (int i = 0; i < 4; i++) {
        words[3 + i] = key.w[i];
    }
    am_msg_control(mp, AM_MSG_H_CTS, words, 7);
    return AM_OK;
}

/* A get, and its sender has not been asked to put it instead. */
static bool is_fetching(const struct am_msg_req *recv)
{
    return recv->info.proto == AM_PROTO_GET &&
           (recv->rndv == NULL || !recv->rndv->is_open);
}

static void put_end_handle(struct am_token *token, const uint64_t *words,
                           uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_msg_req *recv;

    if (mp == NULL || word_count != 1) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    recv = am_msg_id_find(mp, am_msg_word(words, 0));
    if (recv == NULL) {
        return;
    }
    if (recv->state != AM_REQ_RECEIVING || is_fetching(recv) ||
        recv->info.ahead) {
        msg->stats[AM_MSG_RX_BAD_ID]++;
        return;
    }
    am_msg_recv_finish(recv, AM_OK);
}

static void fail_handle(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_msg_req *recv;
    int64_t status;

    if (mp == NULL || word_count != 2) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    recv = am_msg_id_find(mp, am_msg_word(words, 0));
    status = (int64_t)am_msg_word(words, 1);
    if (recv == NULL) {
        return;
    }
    if (recv->state != AM_REQ_RECEIVING || status >= 0 ||
        status < AM_ERR_CANCELLED || recv->info.ahead ||
        (recv->rndv != NULL && recv->rndv->busy)) {
        msg->stats[AM_MSG_RX_BAD_ID]++;
        return;
    }
    am_msg_recv_finish(recv, (am_status_t)status);
}

/* ------------------------------------------------------------ the sender */

static void put_done(void *arg, am_status_t status)
{
    struct am_msg_req *send = arg;

    send->rndv->busy = false;
    if (status != AM_OK && status != AM_ERR_PEER) {
        uint64_t words[2] = {send->rndv->bulk.words[0],
                             (uint64_t)(int64_t)status};

        am_msg_control(send->mp, AM_MSG_H_FAIL, words, 2);
    }
    am_msg_send_finish(send, status);
}

static void transfer_start(struct am_msg_req *send,
                           const struct am_answer *answer)
{
    size_t have = send->moved_bytes;

    send->state = AM_REQ_TRANSFER;
    send->rndv->busy = true;
    am_bulk_put(&send->rndv->bulk, send->mp->peer,
                &(struct am_transfer){.local = &send->data,
                                      .local_offset = have,
                                      .key = &answer->key,
                                      .offset = have,
                                      .bytes = answer->bytes - have,
                                      .by = send->info.by,
                                      .done = put_done,
                                      .arg = send,
                                      .handler = AM_MSG_H_PUT_END,
                                      .words = &answer->remote_id,
                                      .word_count = 1});
}

am_status_t am_rndv_resume(struct am_msg_req *send)
{
    const struct am_answer *answer = &send->rndv->answer;

    switch (answer->kind) {
    case AM_ANSWER_CTS:
        transfer_start(send, answer);
        return AM_OK;
    case AM_ANSWER_END:
        return answer->status == AM_OK ? AM_DONE : answer->status;
    default:
        return AM_OK;
    }
}

/* Has its request gone, and is there no answer yet? */
static bool awaits_answer(const struct am_msg_req *send)
{
    const struct am_rndv *rndv = send->rndv;

    return (rndv == NULL || rndv->answer.kind == AM_ANSWER_NONE) &&
           (send->state == AM_REQ_WAIT || (send->state == AM_REQ_QUEUED &&
                                           rndv != NULL && rndv->is_ahead));
}

/* Its prefix has not left yet: the answer waits for that. */
static bool is_early(const struct am_msg_req *send)
{
    return send->rndv != NULL && send->moved_bytes < send->info.prefix_bytes;
}

static void cts_handle(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_answer answer = {.kind = AM_ANSWER_CTS};
    struct am_msg_req *send;

    if (mp == NULL || word_count != 7) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    send = am_msg_id_find(mp, am_msg_word(words, 0));
    if (send == NULL) {
        return;
    }
    answer.remote_id = am_msg_word(words, 1);
    answer.bytes = am_msg_word(words, 2);
    if (!awaits_answer(send) || send->rndv == NULL ||
        (send->proto == AM_PROTO_GET && !send->rndv->has_key) ||
        answer.bytes > send->data.bytes ||
        answer.bytes <= send->info.prefix_bytes) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    for (uint32_t i = 0; i < 4; i++) {
        answer.key.w[i] = am_msg_word(words, 3 + i);
    }
    if (is_early(send)) {
        send->rndv->answer = answer;
    } else {
        transfer_start(send, &answer);
    }
}

static void end_handle(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_msg_req *send;
    int64_t status;

    if (mp == NULL || word_count != 2) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    send = am_msg_id_find(mp, am_msg_word(words, 0));
    status = (int64_t)am_msg_word(words, 1);
    if (send == NULL) {
        return;
    }
    if (status > 0 || status < AM_ERR_CANCELLED ||
        (status == AM_ERR_CANCELLED && !send->cancel)) {
        msg->stats[AM_MSG_RX_BAD_ID]++;
        return;
    }
    if (send->state == AM_REQ_STREAM && send->sync) {
        send->sync = false; /* matched, or lost, before its last packet left */
        send->status = (am_status_t)status;
        return;
    }
    if (!awaits_answer(send)) {
        msg->stats[AM_MSG_RX_BAD_ID]++;
        return;
    }
    if (is_early(send)) {
        send->rndv->answer = (struct am_answer){
                .kind = AM_ANSWER_END, .status = (am_status_t)status};
    } else {
        am_msg_send_finish(send, (am_status_t)status);
    }
}

/* --------------------------------------------------------------- the request */

static void rts_handle(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    static const am_proto_t protos[] = {
            [AM_MSG_RTS_PUT] = AM_PROTO_PUT,
            [AM_MSG_RTS_GET] = AM_PROTO_GET,
            [AM_MSG_RTS_PREFIX] = AM_PROTO_PREFIX,
            [AM_MSG_RTS_GET_SINGLE] = AM_PROTO_GET,
            [AM_MSG_RTS_AHEAD] = AM_PROTO_PREFIX,
    };
    static const uint32_t counts[] = {4, 8, 6, 6, 6};
    struct am_msg *msg = token->arg;
    struct am_msg_info info = {.mp = am_msg_peer_of(msg, token->peer),
                               .charge = AM_CREDIT_MESSAGE};
    uint64_t kind, riding;

    kind = word_count < AM_RNDV_WORDS
                   ? UINT64_MAX
                   : am_msg_word(words, 3) >> AM_MSG_LENGTH_BITS;
    if (info.mp == NULL || kind >= AM_MSG_RTS_COUNT ||
        word_count != counts[kind]) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    info.proto = protos[kind];
    riding = am_msg_word(words, 1);
    info.remote_id = am_msg_word(words, 2);
    info.length = am_msg_word(words, 3) & AM_MSG_LENGTH_MAX;
    if (kind == AM_MSG_RTS_GET_SINGLE) {
        info.by = AM_BY_SINGLE;
        info.key = (struct am_key){
                {0, am_msg_word(words, 4), info.length, am_msg_word(words, 5)}};
    } else if (info.proto == AM_PROTO_GET) {
        for (uint32_t i = 0; i < 4; i++) {
            info.key.w[i] = am_msg_word(words, 4 + i);
        }
    } else if (info.proto == AM_PROTO_PREFIX) {
        info.offset = am_msg_word(words, 4);
        info.prefix_bytes = am_msg_word(words, 5);
        info.ahead = kind == AM_MSG_RTS_AHEAD;
        if (info.mp->rx_base == NULL || info.prefix_bytes > info.length ||
            !am_msg_region_has(info.mp, info.offset, info.prefix_bytes) ||
            (info.ahead && !am_msg_region_expect(&info))) {
            msg->stats[AM_MSG_RX_BAD_REGION]++;
            return;
        }
    }
    am_msg_arrive(msg, am_msg_word(words, 0), token->aux, &info);
    if (riding != 0) {
        am_credit_returned(info.mp, riding);
    }
}

void am_rndv_register(struct am_msg *msg)
{
    am_handler_set(msg->ctx, AM_MSG_H_RTS, rts_handle, msg, "msg_rts");
    am_handler_set(msg->ctx, AM_MSG_H_CTS, cts_handle, msg, "msg_cts");
    am_handler_set(msg->ctx, AM_MSG_H_PUT_END, put_end_handle, msg,
                   "msg_put_end");
    am_handler_set(msg->ctx, AM_MSG_H_FAIL, fail_handle, msg, "msg_fail");
    am_handler_set(msg->ctx, AM_MSG_H_END, end_handle, msg, "msg_end");
}
