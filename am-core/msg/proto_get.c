/*
 * Get: the request carries the key of the source, and the receiver fetches
 * when it has a receive (until then the request waits: deferral).
 *
 *   sender                                 receiver
 *   RTS(envelope, id, length, key) ----->  match now, or keep the envelope
 *                   <--------------------  get(bytes)
 *                                          done
 *                   <--------------------  END(id)
 *   (done)
 *
 * What waited for its receive is fetched by the next poll, not inside the call that
 * posts the receive: a program that posts many, and then sends, would else send
 * only when it has copied all that it receives, and its peer would wait for that.
 */
#include "am/cost.h"
#include "msg/msg_credit.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"
#include "msg/rndv.h"

static am_status_t get_emit(struct am_msg_req *send, bool queued)
{
    const struct am_cost_in *cost = &send->mp->kind->cost;
    uint64_t words[9];
    struct am_key key = {{0}};
    am_status_t status;
    bool single = send->info.by == AM_BY_SINGLE;

    if (send->info.by == AM_BY_COST) {
        (void)am_cost_bulk_ps(&cost->perf, cost->caps, cost->packet_max,
                              AM_COST_GET, send->data.bytes, &single);
    }
    status = am_rndv_words(send, words,
                           single ? AM_MSG_RTS_GET_SINGLE : AM_MSG_RTS_GET);

    if (status == AM_OK && send->data.bytes > 0) {
        if (send->rndv->is_open) {
            am_region_key_for(&send->rndv->region, send->mp->peer, &key);
        } else {
            status = am_rndv_open(send, AM_DEV_CAP_GET, send->data.bytes, &key);
        }
    }
    if (status == AM_OK) {
        for (int i = 0; i < 4; i++) {
            words[5 + i] = key.w[i];
        }
        status = am_msg_packet(send, queued ? &send->op : NULL, AM_MSG_H_RTS,
                               send->node.tag, words, 9, 0);
    }
    if (status == AM_OK) {
        am_credit_ridden(send->mp, words[1]);
    }
    return status;
}

static void get_done(void *arg, am_status_t status)
{
    struct am_msg_req *recv = arg;

    recv->rndv->busy = false;
    recv->msg->fetches--;
    if (status != AM_ERR_PEER) {
        am_rndv_end(recv->mp, recv->info.remote_id, status);
    }
    am_msg_recv_finish(recv, status);
}

static am_status_t get_deliver(struct am_msg_req *recv,
                               struct am_msg_req *message)
{
    size_t bytes = am_msg_fit(&recv->data, recv->info.length);
    bool unexpected = message != NULL;
    am_status_t status;

    am_credit_owe(recv->mp, recv->info.charge);
    if (message != NULL) {
        am_msg_message_free(message);
    }
    if (bytes == 0) {
        am_rndv_end(recv->mp, recv->info.remote_id, AM_OK);
        return AM_DONE;
    }
    status = am_rndv_get(recv);
    if (status != AM_OK) {
        am_rndv_end(recv->mp, recv->info.remote_id, status);
        return status;
    }
    recv->rndv->busy = true;
    recv->msg->fetches++;
    am_bulk_get(&recv->rndv->bulk, recv->mp->peer,
                &(struct am_transfer){.local = &recv->data,
                                      .key = &recv->info.key,
                                      .bytes = bytes,
                                      .by = recv->info.by,
                                      .later = unexpected,
                                      .done = get_done,
                                      .arg = recv});
    return AM_OK;
}

const struct am_proto am_proto_get = {.name = "get",
                                      .emit = get_emit,
                                      .deliver = get_deliver};
