/*
 * Life and end of requests: where they come from, what they hold while they
 * are under way, how their owners are told, and what a dead peer ends.
 */
#include "msg/msg_core.h"
#include "msg/msg_id.h"
#include "msg/rndv.h"

#include <stdlib.h>
#include <string.h>

enum {
    SLAB_REQS = 64
};

struct am_msg_req_slab {
    struct am_msg_req_slab *next;
    _Alignas(64) struct am_msg_req reqs[SLAB_REQS];
};

struct am_msg_req *am_msg_req_more(struct am_msg *msg)
{
    struct am_msg_req_slab *slab = aligned_alloc(64, sizeof(*slab));

    if (slab == NULL) {
        return NULL;
    }
    memset(slab, 0, sizeof(*slab));
    slab->next = msg->slabs;
    msg->slabs = slab;
    for (int i = SLAB_REQS - 1; i >= 0; i--) {
        slab->reqs[i].msg = msg;
        am_msg_req_drop(msg, &slab->reqs[i]);
    }
    return am_msg_req_get(msg);
}

void am_msg_req_each(struct am_msg *msg,
                     void (*fn)(void *arg, const struct am_msg_req *req),
                     void *arg)
{
    for (struct am_msg_req_slab *slab = msg->slabs; slab != NULL;
         slab = slab->next) {
        for (int i = 0; i < SLAB_REQS; i++) {
            if (slab->reqs[i].state != AM_REQ_FREE) {
                fn(arg, &slab->reqs[i]);
            }
        }
    }
}

void am_msg_req_fini(struct am_msg *msg)
{
    while (msg->slabs != NULL) {
        struct am_msg_req_slab *slab = msg->slabs;

        msg->slabs = slab->next;
        for (int i = 0; i < SLAB_REQS; i++) {
            if (slab->reqs[i].state != AM_REQ_FREE) {
                am_msg_req_put(&slab->reqs[i]);
            }
        }
        free(slab);
    }
}

void am_msg_req_put(struct am_msg_req *req)
{
    struct am_msg *msg = req->msg;

    if (req->buffer != NULL) {
        am_msg_buffer_put(msg, req->buffer, req->buffer_bytes);
        if (req->packed) {
            req->mp->packed_bytes -= req->buffer_bytes;
        }
    }
    if (req->id != 0) {
        am_msg_id_put(req);
    }
    if (req->rndv != NULL) {
        am_rndv_put(req);
    }
    memset((char *)req + offsetof(struct am_msg_req, state), 0,
           sizeof(*req) - offsetof(struct am_msg_req, state));
    am_msg_req_drop(msg, req);
}

void am_msg_req_activate(struct am_msg_req *req, struct am_msg_peer *mp)
{
    req->mp = mp;
    am_list_push(&mp->active, &req->active);
}

void am_msg_req_deactivate(struct am_msg_req *req)
{
    if (req->active.next != NULL) {
        am_list_remove(&req->active);
        req->active.next = NULL;
    }
}

void am_msg_status_fill(const struct am_msg_req *recv, am_status_t status,
                        struct am_msg_status *out)
{
    size_t bytes = am_msg_fit(&recv->data, recv->info.length);

    if (status == AM_OK && bytes < recv->info.length) {
        status = AM_ERR_TRUNCATE;
        recv->msg->stats[AM_MSG_TRUNCATED]++;
    }
    *out = (struct am_msg_status){
            .envelope = am_msg_envelope_of(&recv->node),
            .peer = recv->mp != NULL ? recv->mp->peer->index : UINT32_MAX,
            .status = status,
            .bytes = status == AM_OK || status == AM_ERR_TRUNCATE ? bytes : 0,
            .bytes_sent = recv->info.length,
    };
}

void am_msg_recv_count(const struct am_msg_req *recv,
                       const struct am_msg_status *out)
{
    if (out->status == AM_OK || out->status == AM_ERR_TRUNCATE) {
        recv->msg->stats[AM_MSG_RX_MESSAGES + recv->info.proto]++;
        recv->msg->stats[AM_MSG_RX_BYTES + recv->info.proto] += out->bytes;
    }
}

/* Off the list of those under way, and its memory is its owner's again. */
static void retire(struct am_msg_req *req, am_status_t status)
{
    am_msg_req_deactivate(req);
    if (status == AM_ERR_PEER && req->rndv != NULL) {
        am_rndv_withdraw(req);
    }
    am_msg_req_put(req);
}

void am_msg_recv_finish(struct am_msg_req *recv, am_status_t status)
{
    struct am_msg_status out;
    am_msg_done_fn done = recv->done;
    void *arg = recv->arg;

    am_msg_status_fill(recv, status, &out);
    am_msg_recv_count(recv, &out);
    retire(recv, status);
    if (done != NULL) {
        done(arg, &out);
    }
}

am_status_t am_msg_send_finish(struct am_msg_req *send, am_status_t status)
{
    struct am_msg_status out = {
            .envelope = am_msg_envelope_of(&send->node),
            .peer = send->mp->peer->index,
            .status = status,
            .bytes = status == AM_OK ? send->data.bytes : 0,
            .bytes_sent = send->data.bytes,
    };
    am_msg_done_fn done = send->done;
    void *arg = send->arg;
    bool inside = send->inside;

    if (status == AM_OK) {
        send->msg->stats[AM_MSG_TX_MESSAGES + send->proto]++;
        send->msg->stats[AM_MSG_TX_BYTES + send->proto] += send->data.bytes;
    }
    retire(send, status);
    if (inside) {
        return status == AM_OK ? AM_DONE : status;
    }
    if (done != NULL) {
        done(arg, &out);
    }
    return AM_OK;
}

/* ------------------------------------------------------------ a dead peer */

bool am_msg_message_is_whole(const struct am_msg_req *message)
{
    return message->info.proto == AM_PROTO_BUFFERED ||
           (message->info.proto == AM_PROTO_EAGER &&
            message->moved_bytes == message->info.length);
}

/* A message that nobody has received yet. */
static bool is_message(const struct am_msg_req *req)
{
    return req->state == AM_REQ_UNEXPECTED || req->state == AM_REQ_CLAIMED;
}

static void fail_one(struct am_msg_req *req, struct am_msg_peer *mp)
{
    bool receiving = req->state == AM_REQ_RECEIVING;

    if (req->rndv != NULL && req->rndv->busy) {
        am_list_push(&mp->active, &req->active); /* its transfer ends it */
        return;
    }
    if (req->state == AM_REQ_DROPPED) {
        am_msg_message_free(req);
        return;
    }
    if (is_message(req)) {
        am_list_push(&mp->active, &req->active);
        return;
    }
    am_op_cancel(&req->op);
    am_op_cancel(&req->stream_op);
    if (receiving) {
        if (req->partner != NULL) {
            am_msg_message_free(req->partner);
        }
        am_msg_recv_finish(req, AM_ERR_PEER);
    } else {
        am_msg_send_finish(req, AM_ERR_PEER);
    }
}

/* All messages get their status before the first request ends: its `done` may
 * receive any of them, and of one that is not whole nothing more comes. */
static void fail_list(struct am_list *list, struct am_msg_peer *mp)
{
    struct am_list failed, *at;

    am_list_init(&failed);
    while ((at = am_list_pop(list)) != NULL) {
        struct am_msg_req *req = am_container(at, struct am_msg_req, active);

        if (is_message(req) && !am_msg_message_is_whole(req)) {
            req->status = AM_ERR_PEER;
        }
        am_list_push(&failed, at);
    }
    while ((at = am_list_pop(&failed)) != NULL) {
        fail_one(am_container(at, struct am_msg_req, active), mp);
    }
}

void am_msg_peer_fail(struct am_msg_peer *mp)
{
    mp->eager_limit = mp->eager_short = 0;
    for (int i = 0; i < AM_MSG_SLOTS; i++) {
        mp->streams[i] = NULL;
    }
    fail_list(&mp->held, mp);
    fail_list(&mp->active, mp);
}
