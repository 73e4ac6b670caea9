/*
 * Regions, both sides; see msg_region.h.
 */
#include "msg/msg_region.h"

#include "base/binalloc.h"
#include "base/copy.h"
#include "msg/msg_cancel.h"
#include "msg/proto.h"

#include <stdlib.h>
#include <string.h>

am_status_t am_msg_bins_parse(const char *text, uint64_t *count_p,
                              size_t *bytes_p)
{
    char count_text[32];
    const char *cross = strchr(text, 'x');
    size_t digits = cross == NULL ? 0 : (size_t)(cross - text);
    size_t count;

    if (digits == 0 || digits >= sizeof(count_text)) {
        return AM_ERR_CONFIG;
    }
    memcpy(count_text, text, digits);
    count_text[digits] = '\0';
    if (am_config_parse_bytes(count_text, &count) != AM_OK ||
        am_config_parse_bytes(cross + 1, bytes_p) != AM_OK) {
        return AM_ERR_CONFIG;
    }
    *count_p = count;
    return AM_OK;
}

/* ------------------------------------------------------------- the sender */

bool am_msg_region_take(struct am_msg_req *send, am_proto_t proto)
{
    struct am_msg_peer *mp = send->mp;
    struct am_msg *msg = send->msg;
    size_t bytes = send->data.bytes;
    am_status_t status;

    if (mp->tx_state != AM_REGION_READY) {
        if (mp->tx_state == AM_REGION_NONE) {
            uint64_t word = 0;

            mp->tx_state = AM_REGION_ASKED;
            am_msg_control(mp, AM_MSG_H_REGION_ASK, &word, 1);
        }
        msg->stats[AM_MSG_REGION_WAIT]++;
        return false;
    }
    if (proto == AM_PROTO_PREFIX && bytes > msg->config->prefix_bytes) {
        bytes = msg->config->prefix_bytes;
    }
    status = am_binalloc_get(mp->tx_alloc, bytes, &send->info.offset);
    am_env_charge(msg->env, AM_COST_ALLOC,
                  am_binalloc_take_steps(mp->tx_alloc));
    if (status == AM_OK) {
        send->info.prefix_bytes = bytes;
        return true;
    }
    msg->stats[AM_MSG_REGION_FULL]++;
    if (status == AM_ERR_AGAIN && !mp->tx_want_said) {
        mp->tx_want_said = true;
        am_msg_control(mp, AM_MSG_H_REGION_WANT, NULL, 0);
    }
    return false;
}

am_status_t am_msg_region_store(struct am_msg_req *send, struct am_op *op)
{
    struct am_msg_peer *mp = send->mp;
    size_t end = send->info.prefix_bytes;
    size_t packet;

    if (send->moved_bytes == end) {
        return AM_OK;
    }
    if (mp->tx_map != NULL) {
        am_msg_copy_out(send->msg, &send->data, 0,
                        mp->tx_map + send->info.offset, end);
        send->moved_bytes = end;
        return AM_OK;
    }
    packet = am_peer_payload_max(mp->peer, 1);
    while (send->moved_bytes < end) {
        size_t left = end - send->moved_bytes;
        uint64_t offset = send->info.offset + send->moved_bytes;
        am_status_t status =
                am_msg_packet(send, op, AM_MSG_H_REGION_STORE, 0, &offset, 1,
                              left < packet ? left : packet);

        if (status != AM_OK) {
            return status;
        }
    }
    return AM_OK;
}

void am_msg_region_freed(struct am_msg_peer *mp, uint64_t offset)
{
    if (mp->tx_state != AM_REGION_READY ||
        am_binalloc_put(mp->tx_alloc, offset) != AM_OK) {
        mp->msg->stats[AM_MSG_RX_BAD_REGION]++;
    }
}

static void grant_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    struct am_binalloc_params params = {0};
    struct am_dev_key key;
    bool mapped;

    if (mp == NULL || word_count != 7 || mp->tx_state != AM_REGION_ASKED) {
        msg->stats[AM_MSG_RX_BAD_REGION]++;
        return;
    }
    params.region_bytes = am_msg_word(words, 0);
    params.bin_count = am_msg_word(words, 1);
    params.bin_bytes = am_msg_word(words, 2);
    mapped = am_msg_word(words, 3) == token->peer->dev->bottom->number;
    for (int i = 0; i < 3; i++) {
        key.w[i] = am_msg_word(words, 4 + (uint32_t)i);
    }
    mp->tx_state = AM_REGION_REFUSED;
    if (params.region_bytes == 0 || params.region_bytes > AM_MSG_REGION_MAX ||
        am_binalloc_open(&params, &mp->tx_alloc) != AM_OK) {
        return;
    }
    mp->tx_bytes = params.region_bytes;
    if (mapped) {
        mp->tx_map = token->peer->dev->ops->map(token->peer->ep, &key, 0,
                                                params.region_bytes);
    }
    mp->tx_state = AM_REGION_READY;
}

static void free_handle(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;

    if (mp == NULL) {
        msg->stats[AM_MSG_RX_BAD_REGION]++;
        return;
    }
    for (uint32_t i = 0; i < word_count; i++) {
        am_msg_region_freed(mp, am_msg_word(words, i));
    }
    mp->tx_want_said = false;
}

/* ----------------------------------------------------------- the receiver */

/* Memory for the peer's region: the device's, which the peer may map, or our
 * own.  Half as much is tried when there is not enough. */
static void region_alloc(struct am_msg_peer *mp)
{
    struct am_dev *dev = mp->peer->dev;
    size_t bytes = mp->msg->config->buffer_bytes;

    if (bytes > AM_MSG_REGION_MAX) {
        bytes = AM_MSG_REGION_MAX;
    }
    for (; bytes > 0; bytes = bytes > 4096 ? bytes / 2 : 0) {
        if ((dev->attr.caps & AM_DEV_CAP_MAPPED) != 0) {
            mp->rx_base = dev->ops->alloc(dev, bytes, &mp->rx_key);
            mp->rx_mapped = mp->rx_base != NULL;
        }
        if (mp->rx_base == NULL) {
            mp->rx_base = malloc(bytes);
        }
        if (mp->rx_base != NULL) {
            mp->rx_bytes = bytes;
            return;
        }
    }
}

static void ask_handle(struct am_token *token, const uint64_t *words,
                       uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = am_msg_peer_of(msg, token->peer);
    uint64_t grant[7] = {0};
    uint64_t bin_count = 0;
    size_t bin_bytes = 0;

    if (mp == NULL || mp->asked_region) {
        msg->stats[AM_MSG_RX_BAD_REGION]++;
        return;
    }
    mp->asked_region = true;
    region_alloc(mp);
    am_msg_bins_parse(msg->config->buffer_bins, &bin_count, &bin_bytes);
    grant[0] = mp->rx_bytes;
    grant[1] = bin_count;
    grant[2] = bin_bytes;
    grant[3] = mp->rx_mapped ? mp->peer->dev->bottom->number : 0;
    for (int i = 0; i < 3; i++) {
        grant[4 + i] = mp->rx_mapped ? mp->rx_key.w[i] : 0;
    }
    am_msg_control(mp, AM_MSG_H_REGION_GRANT, grant, 7);
}

bool am_msg_region_has(const struct am_msg_peer *mp, size_t offset,
                       size_t bytes)
{
    return bytes <= mp->rx_bytes && offset <= mp->rx_bytes - bytes;
}

bool am_msg_region_expect(const struct am_msg_info *info)
{
    if (info->prefix_bytes == 0 || info->remote_id == 0 ||
        info->mp->ahead_id != 0) {
        return false;
    }
    info->mp->ahead_id = info->remote_id;
    info->mp->ahead_end = info->offset + info->prefix_bytes;
    return true;
}

/* A prefix is whole now. */
static void ahead_end(struct am_msg_peer *mp)
{
    struct am_msg_req *req = am_msg_remote(mp, mp->ahead_id);

    mp->ahead_id = 0;
    if (req != NULL && req->info.ahead) {
        req->info.ahead = false;
        if (req->state == AM_REQ_RECEIVING) {
            am_prefix_arrived(req);
        }
    }
}

static void store_handle(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;
    size_t offset = word_count == 1 ? am_msg_word(words, 0) : SIZE_MAX;

    if (mp == NULL || !am_msg_region_has(mp, offset, bytes)) {
        msg->stats[AM_MSG_RX_BAD_REGION]++;
        return;
    }
    if (bytes > 0) {
        am_copy(mp->rx_base + offset, data, bytes);
        msg->stats[AM_MSG_COPIES]++;
        msg->stats[AM_MSG_COPY_BYTES] += bytes;
        am_env_charge(msg->env, AM_COST_COPY, bytes);
    }
    if (mp->ahead_id != 0 && offset + bytes == mp->ahead_end) {
        ahead_end(mp);
    }
}

static void frees_send(struct am_msg_peer *mp)
{
    struct am_msg *msg = mp->msg;

    if (mp->free_count == 0) {
        return;
    }
    msg->stats[AM_MSG_REGION_FREES]++;
    am_msg_control(mp, AM_MSG_H_REGION_FREE, mp->frees, mp->free_count);
    mp->free_count = 0;
    mp->rx_wanted = false;
}

void am_msg_region_free(struct am_msg_peer *mp, size_t offset, size_t bytes)
{
    if (mp->peer->dead) {
        return; /* nobody wants it back, and `frees` would run over */
    }
    if (mp->free_count == 0) {
        mp->free_bytes = 0; /* not when they ride: that may be taken back */
    }
    mp->frees[mp->free_count++] = offset;
    mp->free_bytes += bytes;
    if (mp->rx_wanted || mp->free_count == AM_MSG_FREES_MAX ||
        mp->free_bytes >= mp->rx_bytes / 4) {
        frees_send(mp);
    }
}

uint32_t am_msg_region_ride(struct am_msg_peer *mp, uint64_t *words,
                            uint32_t count)
{
    uint32_t n = 0;

    while (n < count && mp->free_count > 0) {
        words[n++] = mp->frees[--mp->free_count];
    }
    return n;
}

void am_msg_region_unride(struct am_msg_peer *mp, const uint64_t *words,
                          uint32_t count)
{
    while (count > 0) {
        mp->frees[mp->free_count++] = words[--count];
    }
}

static void want_handle(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    struct am_msg *msg = token->arg;
    struct am_msg_peer *mp = token->peer->msg;

    if (mp == NULL) {
        msg->stats[AM_MSG_RX_BAD_REGION]++;
        return;
    }
    mp->rx_wanted = true;
    frees_send(mp);
}

void am_msg_region_register(struct am_msg *msg)
{
    am_handler_set(msg->ctx, AM_MSG_H_REGION_ASK, ask_handle, msg,
                   "msg_region_ask");
    am_handler_set(msg->ctx, AM_MSG_H_REGION_GRANT, grant_handle, msg,
                   "msg_region_grant");
    am_handler_set(msg->ctx, AM_MSG_H_REGION_STORE, store_handle, msg,
                   "msg_region_store");
    am_handler_set(msg->ctx, AM_MSG_H_REGION_FREE, free_handle, msg,
                   "msg_region_free");
    am_handler_set(msg->ctx, AM_MSG_H_REGION_WANT, want_handle, msg,
                   "msg_region_want");
}

void am_msg_region_close(struct am_msg_peer *mp)
{
    struct am_dev *dev = mp->peer->dev;

    if (mp->tx_alloc != NULL) {
        am_binalloc_close(mp->tx_alloc);
    }
    if (mp->rx_mapped) {
        dev->ops->release(dev, mp->rx_base, mp->rx_bytes);
    } else {
        free(mp->rx_base);
    }
}
