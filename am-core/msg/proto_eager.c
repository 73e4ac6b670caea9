/*
 * Eager: the payload travels with the envelope, in one packet when it fits and
 * as a stream of packets when not.  Copied to the receive buffer, or to an
 * unexpected buffer that the sender has credit for.
 *
 *   sender                                   receiver
 *   EAGER(envelope, payload) -------------->  match, copy        one packet
 *   (done)
 *   FIRST(envelope, length, slot, bytes) -->  match, copy        longer
 *   MORE(slot, offset, bytes) ------------->  copy; the last: done
 *   (done)
 *   with AM_MSG_SYNC, when matched:   <------ END(id)
 *
 * The packets after FIRST go on the peer's bulk queue, so that a long stream
 * holds up nobody; its slot names it until its last packet.
 */
#include "msg/msg_cancel.h"
#include "msg/msg_credit.h"
#include "msg/msg_id.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"
#include "msg/proto_eager_inl.h"
#include "msg/rndv.h"

#define STREAM_BURST 8u /* packets of one stream in one turn */

/* ------------------------------------------------------------- the sender */

/* The next packets, at most *count, which falls.  AM_DONE: that was all; AM_OK:
 * all, an answer is awaited; AM_ERR_AGAIN: more later; errors end the send. */
static am_status_t stream_packets(struct am_msg_req *send, struct am_op *op,
                                  size_t *count)
{
    size_t packet =
            am_packet_step(send->data.bytes, send->mp->kind->packet_max);

    for (; *count > 0; --*count) {
        uint64_t offset = send->moved_bytes;
        size_t left = send->data.bytes - send->moved_bytes;
        size_t bytes = left < packet ? left : packet;
        am_status_t status = am_msg_packet(send, op, AM_MSG_H_MORE, send->slot,
                                           &offset, 1, bytes);

        if (status != AM_OK) {
            return status;
        }
        if (send->moved_bytes == send->data.bytes) {
            send->mp->slots_free |= 1u << send->slot;
            send->state = AM_REQ_WAIT;
            return send->sync ? AM_OK : AM_DONE;
        }
    }
    return AM_ERR_AGAIN;
}

static am_turn_t stream_run(struct am_op *op)
{
    struct am_msg_req *send = am_container(op, struct am_msg_req, stream_op);
    size_t count = STREAM_BURST;
    am_status_t status = stream_packets(send, op, &count);

    if (status == AM_ERR_AGAIN) {
        return count == 0 ? AM_TURN_MORE : AM_TURN_NO_SPACE;
    }
    if (status != AM_OK) {
        am_msg_send_finish(send, status == AM_DONE ? send->status : status);
    }
    return AM_TURN_LAST;
}

/* FIRST, and what there is space for at once, unless others stream. */
static am_status_t emit_first(struct am_msg_req *send, struct am_op *op,
                              uint64_t *words)
{
    struct am_msg_peer *mp = send->mp;
    size_t count = SIZE_MAX;
    am_status_t status;

    send->slot = (uint32_t)__builtin_ctz(mp->slots_free);
    words[3] = send->data.bytes;
    words[4] = send->slot;
    status = am_msg_packet(
            send, op, AM_MSG_H_FIRST, send->node.tag, words, 5,
            am_packet_step(send->data.bytes, mp->kind->packet_max));
    if (status != AM_OK) {
        return status;
    }
    am_credit_ridden(mp, words[1]);
    mp->slots_free &= ~(1u << send->slot);
    send->state = AM_REQ_STREAM;
    status = op == NULL && am_list_is_empty(&mp->peer->bulk)
                     ? stream_packets(send, NULL, &count)
                     : AM_ERR_AGAIN;
    if (status != AM_ERR_AGAIN) {
        return status;
    }
    am_op_queue(&send->stream_op, mp->peer, stream_run, AM_OP_BULK);
    return AM_OK;
}

static am_status_t eager_emit(struct am_msg_req *send, bool queued)
{
    struct am_msg_peer *mp = send->mp;
    struct am_op *op = queued ? &send->op : NULL;
    uint64_t words[5] = {send->node.key, am_credit_riding(mp), 0, 0, 0};
    bool whole = send->data.bytes <= mp->kind->packet_max;
    uint32_t count;
    am_status_t status;

    if (send->sync && send->id == 0 && am_msg_id_get(send) != AM_OK) {
        return AM_ERR_MEMORY;
    }
    words[2] = send->id;
    if (!whole) {
        return mp->slots_free == 0 ? AM_ERR_AGAIN : emit_first(send, op, words);
    }
    /* no more words than it needs: the receiver's short way takes one */
    count = send->id != 0 ? 3 : words[1] != 0 ? 2 : 1;
    status = am_msg_packet(send, op, AM_MSG_H_EAGER, send->node.tag, words,
                           count, send->data.bytes);
    if (status != AM_OK) {
        return status;
    }
    am_credit_ridden(mp, words[1]);
    return send->sync ? AM_OK : AM_DONE;
}

/* ----------------------------------------------------------- the receiver */

/* The receive of an acknowledged send is matched: say so. */
static void acknowledge(const struct am_msg_info *info)
{
    if (info->remote_id != 0) {
        am_rndv_end(info->mp, info->remote_id, AM_OK);
    }
}

/* Payload of a stream into a receive, or a message with a buffer. */
static void stream_store(struct am_msg_req *req, const void *from, size_t bytes)
{
    am_msg_copy_long(req->mp->peer, &req->data, req->moved_bytes, from, bytes);
    req->moved_bytes += bytes;
}

/* Copy out what is here of a message; the rest goes to the receive. */
static am_status_t unpack(struct am_msg_req *recv, struct am_msg_req *message)
{
    bool whole = message->moved_bytes == message->info.length;

    am_msg_copy_in(recv->msg, &recv->data, 0, message->buffer,
                   message->moved_bytes);
    if (!whole) {
        recv->moved_bytes = message->moved_bytes;
        recv->slot = message->slot;
        recv->mp->streams[recv->slot] = recv;
    }
    am_credit_owe(recv->mp, message->info.charge);
    am_msg_message_free(message);
    return whole ? AM_DONE : AM_OK;
}

static am_status_t eager_deliver(struct am_msg_req *recv,
                                 struct am_msg_req *message)
{
    acknowledge(&recv->info);
    if (recv->msg->staged && message->moved_bytes < message->info.length) {
        message->partner = recv;
        recv->partner = message;
        return AM_OK;
    }
    return unpack(recv, message);
}

/* The first packet, of which all others of the message go the same way. */
static void stream_begin(struct am_msg_req *into, const void *data,
                         size_t bytes, uint32_t slot)
{
    stream_store(into, data, bytes);
    into->slot = slot;
    if (bytes < into->info.length) {
        into->mp->streams[slot] = into;
    }
}

/* No receive is posted for it: it is kept until one is. */
static void arrive_unexpected(struct am_msg *msg, uint64_t key, uint32_t tag,
                              const struct am_msg_info *info, const void *data,
                              size_t bytes, uint32_t slot)
{
    struct am_msg_req *message = am_msg_message_keep(msg, key, tag, info);

    if (message != NULL) {
        stream_begin(message, data, bytes, slot);
        am_msg_store(message);
    }
}

/* Its receive is to get it when all of it is here (AM_BUFFERING). */
static void arrive_staged(struct am_msg_req *recv, const void *data,
                          size_t bytes, uint32_t slot)
{
    struct am_msg_req *message = am_msg_message_keep(
            recv->msg, recv->node.key, recv->node.tag, &recv->info);

    if (message == NULL) {
        am_msg_recv_finish(recv, AM_ERR_MEMORY);
        return;
    }
    stream_begin(message, data, bytes, slot);
    if (eager_deliver(recv, message) == AM_DONE) {
        am_msg_recv_finish(recv, AM_OK);
    }
}

/* An envelope with the first of its payload, and credit that rode on it. */
static void arrive(struct am_msg *msg, uint64_t key, uint32_t tag,
                   const struct am_msg_info *info, const void *data,
                   size_t bytes, uint32_t slot, uint64_t riding)
{
    struct am_msg_req *recv = am_msg_match(msg, key, tag, info);

    if (recv == NULL) {
        arrive_unexpected(msg, key, tag, info, data, bytes, slot);
    } else if (msg->staged) {
        arrive_staged(recv, data, bytes, slot);
    } else {
        stream_begin(recv, data, bytes, slot);
        acknowledge(info);
        am_credit_owe(info->mp, info->charge);
        if (bytes == info->length) {
            am_msg_recv_finish(recv, AM_OK);
        }
    }
    if (riding != 0) {
        am_credit_returned(info->mp, riding);
    }
}

/* In one packet, but with extras, or the context is not plain. */
static __attribute__((noinline)) void eager_general(struct am_token *token,
                                                    const uint64_t *words,
                                                    uint32_t word_count,
                                                    void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_info info = {
            .mp = am_msg_peer_of(msg, token->peer),
            .length = bytes,
            .charge = am_credit_charge(bytes),
            .proto = AM_PROTO_EAGER,
    };

    if (word_count < 1 || word_count > 3 || info.mp == NULL) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    info.remote_id = word_count > 2 ? am_msg_word(words, 2) : 0;
    arrive(msg, am_msg_word(words, 0), token->aux, &info, data, bytes, 0,
           word_count > 1 ? am_msg_word(words, 1) : 0);
}

static __attribute__((noinline)) void
eager_unexpected(const struct am_token *token, uint64_t key, const void *data,
                 size_t bytes)
{
    const struct am_msg_info info = {.mp = token->peer->msg,
                                     .length = bytes,
                                     .charge = am_credit_charge(bytes),
                                     .proto = AM_PROTO_EAGER};

    arrive_unexpected(token->arg, key, token->aux, &info, data, bytes, 0);
}

/* Any message that is in one packet. */
static __attribute__((noinline)) void eager_whole(struct am_token *token,
                                                  const uint64_t *words,
                                                  uint32_t word_count,
                                                  void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_match_node *node;
    uint64_t key;

    if (word_count != 1 || mp == NULL || !msg->plain) {
        eager_general(token, words, word_count, data, bytes);
        return;
    }
    key = am_msg_word(words, 0);
    node = am_match_arrive(&msg->match, key, token->aux);
    if (am_unlikely(node == NULL)) {
        eager_unexpected(token, key, data, bytes);
        return;
    }
    am_eager_land(token, mp, am_container(node, struct am_msg_req, node), key,
                  data, bytes, false);
}

/* The hot path: a short message without extras whose receive is posted, exact,
 * and the first of its bin.  Only the last thing that it does is a call, so it
 * keeps little in registers that it would have to save. */
static void eager_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_match_node *node;
    struct am_msg_peer *mp;
    struct am_msg_req *recv;

    if (am_unlikely(word_count != 1 || bytes > AM_COPY_SMALL || !msg->plain)) {
        eager_whole(token, words, word_count, data, bytes);
        return;
    }
    node = am_match_first(&msg->match, am_msg_word(words, 0), token->aux);
    mp = token->peer->msg;
    recv = am_container(node, struct am_msg_req, node);
    if (am_unlikely(node == NULL || !am_eager_is_plain(mp, recv, bytes))) {
        eager_whole(token, words, 1, data, bytes);
        return;
    }
    am_match_take_first(&msg->match, node);
    am_eager_land(token, mp, recv, node->key, data, bytes, true);
}

static void first_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_info info = {
            .mp = am_msg_peer_of(msg, token->peer),
            .proto = AM_PROTO_EAGER,
    };
    uint64_t slot;

    if (word_count != 5 || info.mp == NULL) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    info.remote_id = am_msg_word(words, 2);
    info.length = am_msg_word(words, 3);
    info.charge = am_credit_charge(info.length);
    slot = am_msg_word(words, 4);
    if (slot >= AM_MSG_SLOTS || info.mp->streams[slot] != NULL ||
        info.length > AM_CREDIT_BYTES_MAX || bytes >= info.length) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    arrive(msg, am_msg_word(words, 0), token->aux, &info, data, bytes,
           (uint32_t)slot, am_msg_word(words, 1));
}

/* The last packet of a stream is in. */
static void stream_done(struct am_msg_req *req)
{
    if (req->state == AM_REQ_RECEIVING) {
        am_msg_recv_finish(req, AM_OK);
    } else if (req->state == AM_REQ_DROPPED) {
        am_msg_drop(req);
    } else if (req->partner != NULL) {
        struct am_msg_req *recv = req->partner;

        recv->partner = NULL;
        unpack(recv, req);
        am_msg_recv_finish(recv, AM_OK);
    }
}

static void more_handle(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_msg_req *req = NULL;

    if (mp != NULL && word_count == 1 && token->aux < AM_MSG_SLOTS) {
        req = mp->streams[token->aux];
    }
    if (req == NULL || am_msg_word(words, 0) != req->moved_bytes ||
        bytes > req->info.length - req->moved_bytes) {
        msg->stats[AM_MSG_RX_BAD_LENGTH]++;
        return;
    }
    stream_store(req, data, bytes);
    if (req->moved_bytes == req->info.length) {
        mp->streams[token->aux] = NULL;
        stream_done(req);
    }
}

void am_proto_eager_register(struct am_msg *msg)
{
    am_handler_set(msg->ctx, AM_MSG_H_EAGER, eager_handle, msg, "msg_eager");
    am_handler_set(msg->ctx, AM_MSG_H_FIRST, first_handle, msg, "msg_first");
    am_handler_set(msg->ctx, AM_MSG_H_MORE, more_handle, msg, "msg_more");
}

const struct am_proto am_proto_eager = {.name = "eager",
                                        .emit = eager_emit,
                                        .deliver = eager_deliver};
