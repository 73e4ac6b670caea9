/*
 * The funnel of sends: the short way for small contiguous messages, and for
 * all others a request, its protocol, its credit, its envelope.
 */
#include "msg/msg_credit.h"
#include "msg/msg_region.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"
#include "msg/proto_eager_inl.h"

#include <stdlib.h>

/* ------------------------------------------------------------- packets out */

static void packet_fill(void *arg, void *to, size_t bytes)
{
    struct am_msg_req *send = arg;

    am_msg_copy_out(send->msg, &send->data, send->moved_bytes, to, bytes);
}

am_status_t am_msg_packet(struct am_msg_req *send, struct am_op *op,
                          uint32_t handler, uint32_t aux, const uint64_t *words,
                          uint32_t word_count, size_t bytes)
{
    struct am_peer *peer = send->mp->peer;
    void *at = bytes == 0 ? NULL
                          : am_data_at(&send->data, send->moved_bytes, bytes);
    am_status_t status;

    if (bytes == 0 || at != NULL) {
        status = op != NULL ? am_op_send(op, handler, aux, words, word_count,
                                         at, bytes)
                            : am_peer_send(peer, handler, aux, words,
                                           word_count, at, bytes);
    } else {
        status = op != NULL
                         ? am_op_send_fill(op, handler, aux, words, word_count,
                                           packet_fill, send, bytes)
                         : am_peer_send_fill(peer, handler, aux, words,
                                             word_count, packet_fill, send,
                                             bytes);
    }
    if (status == AM_OK) {
        send->moved_bytes += bytes;
    }
    return status;
}

/* --------------------------------------------------------------- envelopes */

/* What an emission's result means for the request. */
static am_status_t emitted(struct am_msg_req *send, am_status_t status)
{
    return status == AM_OK ? AM_OK
                           : am_msg_send_finish(
                                     send, status == AM_DONE ? AM_OK : status);
}

static am_turn_t emit_run(struct am_op *op)
{
    struct am_msg_req *send = am_container(op, struct am_msg_req, op);
    am_status_t status;

    send->state = AM_REQ_WAIT;
    status = am_protos[send->proto]->emit(send, true);
    if (status == AM_ERR_AGAIN) {
        send->state = AM_REQ_QUEUED;
        return AM_TURN_NO_SPACE;
    }
    emitted(send, status);
    return AM_TURN_LAST;
}

/* Where there is no credit, or no region. */
static am_proto_t plain_rndv(const struct am_msg_req *send)
{
    return send->info.by == AM_BY_STREAM ? AM_PROTO_PUT : send->mp->kind->rndv;
}

/* Settle protocol and credit.  The choice may be overruled: a payload for
 * which there is no credit or no space in the region goes another way. */
static void settle(struct am_msg_req *send)
{
    struct am_msg_peer *mp = send->mp;
    size_t bytes = send->data.bytes;
    bool contiguous = send->data.kind == AM_DATA_CONTIG;
    am_proto_t proto =
            contiguous ? am_proto_select_behind(mp->kind, bytes, mp->in_row)
                       : am_proto_select(mp->kind, bytes, false);

    send->info.by = AM_BY_COST;
    if (contiguous && bytes >= AM_FASTER_BYTES && mp->kind->tries) {
        proto = am_round_proto(send, proto);
    } else if (contiguous && bytes >= mp->eager_short) {
        proto = am_proto_spare(send, proto);
    }
    if (proto == AM_PROTO_BUFFERED || proto == AM_PROTO_PREFIX) {
        if (am_msg_region_take(send, proto)) {
            send->proto = proto;
            am_credit_take(mp, AM_CREDIT_MESSAGE);
            return;
        }
        proto = proto == AM_PROTO_BUFFERED && bytes <= mp->kind->packet_max
                        ? AM_PROTO_EAGER
                        : plain_rndv(send);
    }
    if (proto == AM_PROTO_EAGER) {
        if (bytes < AM_CREDIT_BYTES_MAX &&
            (bytes <= mp->kind->packet_max || mp->slots_free != 0) &&
            am_credit_take(mp, am_credit_charge(bytes))) {
            send->proto = proto;
            return;
        }
        send->msg->stats[AM_MSG_CREDIT_RNDV]++;
        proto = plain_rndv(send);
    }
    send->proto = proto;
    am_credit_take(mp, AM_CREDIT_MESSAGE);
}

am_status_t am_msg_send_start(struct am_msg_req *send)
{
    struct am_msg_peer *mp = send->mp;
    am_status_t status;

    if (!am_credit_covers(mp->credit - AM_CREDIT_MESSAGE)) {
        return AM_ERR_AGAIN;
    }
    settle(send);
    am_msg_req_activate(send, mp);
    am_proto_long_sent(mp, send->data.bytes);
    send->state = AM_REQ_WAIT;
    status = am_protos[send->proto]->emit(send, false);
    if (status == AM_ERR_AGAIN) {
        send->state = AM_REQ_QUEUED;
        am_op_queue(&send->op, mp->peer, emit_run, AM_OP_ORDERED);
        return AM_OK;
    }
    return emitted(send, status);
}

/* ----------------------------------------------------------------- isend */

/* AM_BUFFERING=pvm: the message is copied whole before it leaves, and the
 * user's data is free at once.  As much as AM_UNEXP_MAX may be packed. */
static bool pack(struct am_msg_req *send)
{
    struct am_msg_peer *mp = send->mp;
    size_t bytes = send->data.bytes;
    void *buffer;

    if (bytes == 0 || bytes > send->msg->config->unexp_max ||
        mp->packed_bytes > send->msg->config->unexp_max - bytes) {
        return bytes == 0;
    }
    buffer = am_msg_buffer_get(send->msg, bytes);
    if (buffer == NULL) {
        return false;
    }
    am_msg_copy_out(send->msg, &send->data, 0, buffer, bytes);
    send->data = am_data_contig(buffer, bytes);
    send->buffer = buffer;
    send->buffer_bytes = bytes;
    send->packed = true;
    mp->packed_bytes += bytes;
    return true;
}

static am_status_t send_run(struct am_msg_req *send)
{
    am_status_t status;
    bool free_now = false;

    send->inside = true;
    if (send->msg->config->buffering == AM_BUFFERING_PVM && pack(send) &&
        !send->sync) {
        send->done = NULL;
        send->inside = false; /* nobody waits for it */
        free_now = true;
    }
    status = am_list_is_empty(&send->mp->held) ? am_msg_send_start(send)
                                               : AM_ERR_AGAIN;
    if (status == AM_ERR_AGAIN) {
        am_credit_hold(send);
        status = AM_OK;
    }
    if (status == AM_OK && !free_now) {
        send->inside = false;
    }
    return status == AM_OK && free_now ? AM_DONE : status;
}

/* One of the long messages that go without a look at how long they take. */
static __attribute__((noinline)) bool
send_rested(struct am_msg_peer *mp, const struct am_msg_envelope *envelope,
            const struct am_data *data)
{
    if (data->kind != AM_DATA_CONTIG || !am_round_rests(mp) ||
        am_eager_short(mp, am_msg_key(envelope->context, envelope->source),
                       envelope->tag, data->u.base, data->bytes) != AM_OK) {
        return false;
    }
    am_proto_long_sent(mp, data->bytes);
    return true;
}

static __attribute__((noinline)) am_status_t
send_general(struct am_msg *msg, uint32_t dest,
             const struct am_msg_envelope *envelope, const struct am_data *data,
             unsigned flags, am_msg_done_fn done, void *arg,
             struct am_msg_req **req_p)
{
    am_status_t status;
    struct am_peer *peer = am_peer_get(msg->ctx, dest, &status);
    struct am_msg_peer *mp;
    struct am_msg_req *send;

    if ((flags & ~(unsigned)AM_MSG_SYNC) != 0 || data->kind > AM_DATA_PACK ||
        data->bytes > AM_MSG_LENGTH_MAX ||
        (data->kind == AM_DATA_PACK && data->pack == NULL)) {
        return AM_ERR_INVALID;
    }
    if (peer == NULL || peer->dead) {
        return peer == NULL ? status : AM_ERR_PEER;
    }
    mp = am_msg_peer_of(msg, peer);
    if (mp != NULL && am_unlikely(data->bytes == mp->trial.rest.bytes) &&
        flags == 0 && send_rested(mp, envelope, data)) {
        return AM_DONE;
    }
    send = mp == NULL ? NULL : am_msg_req_get(msg);
    if (send == NULL) {
        return AM_ERR_MEMORY;
    }
    send->node.key = am_msg_key(envelope->context, envelope->source);
    send->node.tag = envelope->tag;
    send->data = *data;
    send->done = done;
    send->arg = arg;
    send->mp = mp;
    send->sync = (flags & AM_MSG_SYNC) != 0;
    send->status = AM_OK;
    status = send_run(send);
    if (status == AM_OK) {
        *req_p = send;
    }
    return status;
}

static inline bool send_now(struct am_msg *msg, uint32_t dest, uint64_t key,
                            uint32_t tag, const void *base, size_t bytes)
{
    struct am_msg_peer *mp = am_msg_peer_at(msg, dest);

    return am_likely(mp != NULL) && bytes < mp->eager_limit &&
           am_likely(am_eager_short(mp, key, tag, base, bytes) == AM_OK);
}

bool am_msg_send_now(struct am_ctx *ctx, uint32_t dest, uint64_t key,
                     uint32_t tag, const void *base, size_t bytes)
{
    return send_now(am_msg_of(ctx), dest, key, tag, base, bytes);
}

am_status_t am_msg_isend(struct am_ctx *ctx, uint32_t dest,
                         const struct am_msg_envelope *envelope,
                         const struct am_data *data, unsigned flags,
                         am_msg_done_fn done, void *arg,
                         struct am_msg_req **req_p)
{
    struct am_msg *msg = am_msg_of(ctx);

    if (am_likely(flags == 0) && data->kind == AM_DATA_CONTIG &&
        send_now(msg, dest, am_msg_key(envelope->context, envelope->source),
                 envelope->tag, data->u.base, data->bytes)) {
        return AM_DONE;
    }
    return send_general(msg, dest, envelope, data, flags, done, arg, req_p);
}

void am_msg_attach(struct am_msg_req *req, am_msg_done_fn done, void *arg)
{
    req->done = done;
    req->arg = arg;
}
