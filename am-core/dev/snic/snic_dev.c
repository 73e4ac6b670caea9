/*
 * The simulated NIC's device: packets, upcalls, requests that wait.  Set-up
 * and endpoints are snic_init.c.  May call base and nic-sim/include only.
 */
#include "dev/defaults.h"
#include "dev/snic/snic.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ sending */

static bool has_credits(const struct snic_dev *snic)
{
    return (snic->base.attr.caps & AM_DEV_CAP_RELIABLE) != 0;
}

/* The credits that go with the next packet. */
static uint32_t credits_take(struct snic_dev *snic, struct snic_ep *ep)
{
    uint32_t credits = ep->owed;

    snic->owing -= credits >= SNIC_HELD_MAX / 2;
    ep->owed = 0;
    return credits;
}

/* Header and data one after the other, and to the NIC. */
void snic_packet_send(struct snic_dev *snic, const struct snic_info *info,
                      const void *hdr, const void *data, am_dev_fill_fn fill,
                      void *arg)
{
    struct snic_tx tx;

    tx.info = *info;
    tx.body = (uint8_t *)tx.image + SNIC_HEAD_BYTES;
    if (hdr != NULL) {
        memcpy(tx.body, hdr, info->hdr_bytes);
    }
    if (fill != NULL) {
        fill(arg, tx.body + info->hdr_bytes, info->data_bytes);
    } else if (data != NULL) {
        memcpy(tx.body + info->hdr_bytes, data, info->data_bytes);
    }
    snic->nic->transmit(snic, &tx);
}

static am_status_t snic_transmit(struct am_dev_ep *base, uint32_t class,
                                 const void *hdr, size_t hdr_bytes,
                                 const void *data, am_dev_fill_fn fill,
                                 void *arg, size_t data_bytes)
{
    struct snic_ep *ep = snic_ep_of(base);
    struct snic_dev *snic = snic_of(base->dev);
    const struct am_dev_attr *attr = &snic->base.attr;
    struct snic_info info = {.node = ep->node,
                             .class = class,
                             .hdr_bytes = (uint32_t)hdr_bytes,
                             .data_bytes = (uint32_t)data_bytes};

    if (hdr_bytes > attr->hdr_bytes_max ||
        data_bytes > attr->packet_bytes_max - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    if (class == AM_DEV_REQUEST && has_credits(snic) &&
        ep->requests_out == SNIC_HELD_MAX) {
        snic->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    if (!snic->nic->room(snic,
                         class == AM_DEV_REQUEST ? SNIC_REPLY_SPARE : 0)) {
        snic->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    info.credits = credits_take(snic, ep);
    snic_packet_send(snic, &info, hdr, data, fill, arg);
    ep->requests_out += class == AM_DEV_REQUEST && has_credits(snic);
    snic->port->ops->sent(snic->port, ep->node, hdr_bytes + data_bytes);
    snic->stats[AM_DEV_STAT_TX_PACKETS]++;
    snic->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    snic->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    return AM_OK;
}

static am_status_t snic_send(struct am_dev_ep *ep, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             const void *data, size_t data_bytes)
{
    return snic_transmit(ep, class, hdr, hdr_bytes, data, NULL, NULL,
                         data_bytes);
}

static am_status_t snic_send_fill(struct am_dev_ep *ep, uint32_t class,
                                  const void *hdr, size_t hdr_bytes,
                                  am_dev_fill_fn fill, void *arg,
                                  size_t data_bytes)
{
    return snic_transmit(ep, class, hdr, hdr_bytes, NULL, fill, arg,
                         data_bytes);
}

static bool snic_reply_ready(struct am_dev_ep *ep)
{
    struct snic_dev *snic = snic_of(ep->dev);

    return snic->nic->room(snic, 0);
}

/* ---------------------------------------------------------------- receiving */

bool snic_take(struct snic_dev *snic, const struct snic_info *info,
               uint32_t address, struct snic_rx *rx)
{
    const struct ns_port_ops *ops = snic->port->ops;

    if (info->node >= snic->port->nodes || info->class > SNIC_CLASS_MULTICAST ||
        info->hdr_bytes > SNIC_HDR_BYTES ||
        info->data_bytes > snic->base.attr.packet_bytes_max - info->hdr_bytes) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return false;
    }
    rx->info = *info;
    rx->hdr = (const uint8_t *)rx->buffer;
    rx->data = (uint8_t *)rx->buffer + info->hdr_bytes;
    ops->load(snic->port, address, rx->buffer,
              info->hdr_bytes + info->data_bytes);
    ops->charge(snic->port, NS_WORK_RECEIVE, 1);
    return true;
}

static bool may_deliver(struct snic_dev *snic, struct snic_ep *ep,
                        uint32_t class)
{
    if (class != AM_DEV_REQUEST) {
        return true;
    }
    return snic_reply_ready(&ep->base) &&
           (snic->base.up.ready == NULL || snic->base.up.ready(ep->base.user));
}

static void deliver(struct snic_dev *snic, struct snic_ep *ep,
                    struct snic_rx *rx)
{
    if (rx->info.class == AM_DEV_REQUEST && has_credits(snic)) {
        snic->owing += ++ep->owed == SNIC_HELD_MAX / 2;
    }
    snic->stats[AM_DEV_STAT_RX_PACKETS]++;
    snic->stats[AM_DEV_STAT_RX_BYTES] +=
            rx->info.hdr_bytes + rx->info.data_bytes;
    snic->base.up.packet(
            ep->base.user,
            rx->info.class == AM_DEV_REQUEST ? AM_DEV_REQUEST : AM_DEV_REPLY,
            rx->hdr, rx->info.hdr_bytes, rx->data, rx->info.data_bytes);
}

/* Keep a request that may not be delivered yet; at the limit it is lost. */
static void hold(struct snic_dev *snic, struct snic_ep *ep,
                 const struct snic_rx *rx)
{
    struct snic_rx *to;

    if (ep->held_count == SNIC_HELD_MAX) {
        return;
    }
    to = &snic->held[(snic->held_head + snic->held_count) % snic->held_max];
    *to = *rx;
    to->hdr = (uint8_t *)to->buffer + (rx->hdr - (const uint8_t *)rx->buffer);
    to->data = (uint8_t *)to->buffer + (rx->data - (const uint8_t *)rx->buffer);
    snic->held_count++;
    ep->held_count++;
}

/* Deliver held requests, in order, as far as they may be. */
static uint32_t held_deliver(struct snic_dev *snic)
{
    uint32_t count = 0;

    while (snic->held_count > 0) {
        struct snic_rx *rx = &snic->held[snic->held_head];
        struct snic_ep *ep = snic->eps[rx->info.node];

        if (ep != NULL) {
            if (!may_deliver(snic, ep, rx->info.class)) {
                break;
            }
            ep->held_count--;
            deliver(snic, ep, rx);
            count++;
        }
        snic->held_head = (snic->held_head + 1) % snic->held_max;
        snic->held_count--;
    }
    return count;
}

/* The endpoint of a packet's sender, which may be heard of first now. */
static struct snic_ep *rx_ep(struct snic_dev *snic, uint32_t node)
{
    struct snic_ep *ep = snic->eps[node];

    if (ep != NULL) {
        return ep;
    }
    ep = snic_ep_new(snic, node, NULL);
    if (ep == NULL) {
        return NULL;
    }
    ep->base.user = snic->base.up.accept(snic->base.up.arg, &ep->base,
                                         snic->ranks[node]);
    if (ep->base.user == NULL) {
        snic->eps[node] = NULL;
        free(ep);
        return NULL;
    }
    return ep;
}

static void receive_one(struct snic_dev *snic, struct snic_rx *rx)
{
    struct snic_ep *ep = rx_ep(snic, rx->info.node);

    if (ep == NULL) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    if (rx->info.credits > ep->requests_out) {
        snic->stats[AM_DEV_STAT_RX_BAD]++;
        return;
    }
    ep->requests_out -= rx->info.credits;
    if (rx->info.class == SNIC_CLASS_CREDIT) {
        return;
    }
    snic->port->ops->received(snic->port, rx->info.node,
                              rx->info.hdr_bytes + rx->info.data_bytes);
    if (rx->info.class == AM_DEV_REQUEST &&
        (ep->held_count > 0 || !may_deliver(snic, ep, rx->info.class))) {
        hold(snic, ep, rx);
        return;
    }
    deliver(snic, ep, rx);
}

/* Give back credits for which no packet has gone. */
static void credits_return(struct snic_dev *snic)
{
    for (uint32_t i = 0; i < snic->port->nodes && snic->owing > 0; i++) {
        struct snic_ep *ep = snic->eps[i];

        if (ep != NULL && ep->owed >= SNIC_HELD_MAX / 2 &&
            snic->nic->room(snic, 0)) {
            const struct snic_info info = {.node = ep->node,
                                           .class = SNIC_CLASS_CREDIT,
                                           .credits = credits_take(snic, ep)};

            snic_packet_send(snic, &info, NULL, NULL, NULL, NULL);
        }
    }
}

static int snic_poll(struct am_dev *dev, uint32_t packets_max)
{
    struct snic_dev *snic = snic_of(dev);
    struct snic_rx rx;
    uint32_t count;

    snic->nic->begin(snic);
    count = snic->nic->complete != NULL ? snic->nic->complete(snic) : 0;
    count += held_deliver(snic);
    while (count < packets_max && snic->nic->receive(snic, &rx)) {
        receive_one(snic, &rx);
        count++;
    }
    if (snic->owing > 0) {
        credits_return(snic);
    }
    return (int)count;
}

/* What a reliable NIC was given arrives; but while half of the credits are out,
 * the answer to it is still on its way. */
static bool snic_drained(struct am_dev *dev)
{
    const struct snic_dev *snic = snic_of(dev);

    for (uint32_t i = 0; i < snic->port->nodes; i++) {
        if (snic->eps[i] != NULL &&
            snic->eps[i]->requests_out >= SNIC_HELD_MAX / 2) {
            return false;
        }
    }
    return true;
}

static bool snic_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    /* Who may not sleep counts polls: each must happen. */
    am_env_relax(snic_of(dev)->env, rest == AM_DEV_REST_LONG ? UINT64_MAX : 0);
    return false;
}

static size_t snic_describe(struct am_dev *dev, char *text, size_t bytes)
{
    const struct ns_port *port = snic_of(dev)->port;

    return (size_t)snprintf(text, bytes, "simulated %s, node %u of %u",
                            port->nic, port->node, port->nodes);
}

const struct am_dev_ops am_dev_snic_ops = {
        .name = "sim",
        .number = AM_DEV_NUMBER_SIM,
        .open = snic_open,
        .close = snic_close,
        .address = snic_address,
        .reachable = snic_reachable,
        .connect_all = snic_connect_all,
        .connected = am_dev_no_connected,
        .drained = snic_drained,
        .connect = snic_connect,
        .disconnect = snic_disconnect,
        .presence = am_dev_no_presence,
        .send = snic_send,
        .send_fill = snic_send_fill,
        .send_words = am_dev_send_words,
        .reply_ready = snic_reply_ready,
        .poll = snic_poll,
        .mem_register = snic_register,
        .mem_deregister = snic_deregister,
        .alloc = am_dev_no_alloc,
        .release = am_dev_no_release,
        .put = snic_put,
        .get = snic_get,
        .fetch_add = snic_fetch_add,
        .map = am_dev_no_map,
        .network = &snic_network_ops,
        .wait = snic_wait,
        .check = am_dev_no_check,
        .describe = snic_describe,
};
