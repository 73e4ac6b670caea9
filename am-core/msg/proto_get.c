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
 * Where the device of the peer makes a single copy the key is the device's alone, so that
 * the request fits one line of shared memory.  A receiver that cannot fetch it so (its
 * data is strided, or the kernel does not allow it) answers as to a put.
 *
 * What waited for its receive is fetched by the next poll, not inside the call that
 * posts the receive: a program that posts many, and then sends, would else send
 * only when it has copied all that it receives, and its peer would wait for that.
 */
#include "msg/msg_credit.h"
#include "msg/proto.h"
#include "msg/proto_choice.h"
#include "msg/rndv.h"

#include <string.h>

/* Does the device fetch it?  Settled when the request is first sent. */
static bool is_single(const struct am_msg_req *send)
{
    if (send->rndv->has_key || send->rndv->is_open) {
        return send->rndv->has_key;
    }
    return (send->info.by == AM_BY_COST
                    ? am_round_by_cost(send->mp, AM_PROTO_GET, send->data.bytes)
                    : send->info.by) == AM_BY_SINGLE;
}

/* The peer's device alone may fetch the data: the words that say where it is.  False: that
 * cannot be. */
static bool offer(struct am_msg_req *send, uint64_t words[2])
{
    struct am_rndv *rndv = send->rndv;
    struct am_dev *dev = send->mp->peer->dev;
    const struct am_data *data = &send->data;
    const uint32_t needed = AM_DEV_CAP_GET | AM_DEV_CAP_KEY_BYTES;

    if (!rndv->has_key) {
        if (data->kind != AM_DATA_CONTIG ||
            (dev->attr.caps & needed) != needed ||
            dev->ops->mem_register(dev, data->u.base, data->bytes,
                                   AM_DEV_CAP_GET, &rndv->key) != AM_OK) {
            return false;
        }
        rndv->has_key = true;
    }
    words[0] = rndv->key.w[0];
    words[1] = am_key_last(&rndv->key, dev);
    return true;
}

/* Where the data is.  Returns the words that say so, or what is wrong. */
static int words_fill(struct am_msg_req *send, uint64_t *words)
{
    am_status_t status = am_rndv_words(send, words, AM_MSG_RTS_GET);
    struct am_key key = {{0}};

    if (status != AM_OK) {
        return status;
    }
    if (send->data.bytes > 0 && is_single(send) &&
        offer(send, words + AM_RNDV_WORDS)) {
        words[3] += (uint64_t)(AM_MSG_RTS_GET_SINGLE - AM_MSG_RTS_GET)
                    << AM_MSG_LENGTH_BITS;
        return AM_RNDV_WORDS + 2;
    }
    if (send->rndv->is_open) {
        am_region_key_for(&send->rndv->region, send->mp->peer, &key);
    } else if (send->data.bytes > 0) {
        status = am_rndv_open(send, AM_DEV_CAP_GET, send->data.bytes, &key);
    }
    memcpy(words + AM_RNDV_WORDS, key.w, sizeof(key.w));
    return status == AM_OK ? AM_RNDV_WORDS + 4 : status;
}

static am_status_t get_emit(struct am_msg_req *send, bool queued)
{
    uint64_t words[AM_RNDV_WORDS + 4];
    int count = words_fill(send, words);
    am_status_t status;

    if (count < 0) {
        return (am_status_t)count;
    }
    status = am_msg_packet(send, queued ? &send->op : NULL, AM_MSG_H_RTS,
                           send->node.tag, words, (uint32_t)count, 0);
    if (status == AM_OK) {
        am_credit_ridden(send->mp, words[1]);
    }
    return status;
}

/* The device could not fetch it: the sender is to put it, with the key of the receive. */
static void answer_instead(struct am_msg_req *recv)
{
    am_status_t status = am_rndv_answer(recv, 0);

    if (status != AM_OK) {
        am_msg_recv_finish(recv, status);
    }
}

static void get_done(void *arg, am_status_t status)
{
    struct am_msg_req *recv = arg;

    recv->rndv->busy = false;
    recv->msg->fetches--;
    if (status == AM_ERR_UNSUPPORTED && recv->mp->peer->dead) {
        status = AM_ERR_PEER; /* that is why; who is dead answers nothing */
    }
    if (status == AM_ERR_UNSUPPORTED) {
        answer_instead(recv);
        return;
    }
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
