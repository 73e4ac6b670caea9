/*
 * Receiving: what the completion queue says came, each packet judged before
 * anything of it is believed.
 *
 *   too short, lengths that cannot be                  rx_bad
 *   nobody's, or not for this context                  rx_foreign
 *   of a connection that is over                       rx_stale
 *   a request that the layer above is not ready for    held here, rx_held
 *   one more of them than the peer may send            rx_bad, and its death
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ buffers */

/* What has no space in the provider is posted by a later poll. */
static void rx_post(struct ofi_dev *dev, struct ofi_rx *rx)
{
    struct iovec piece = {rx->memory, dev->rx_bytes};
    struct fi_msg message = {.msg_iov = &piece,
                             .desc = &dev->rx_desc,
                             .iov_count = 1,
                             .addr = FI_ADDR_UNSPEC,
                             .context = &rx->context};
    ssize_t said = fi_recvmsg(dev->ep, &message,
                              dev->multi ? FI_MULTI_RECV : 0);

    if (said != 0) {
        rx->next_unposted = dev->unposted;
        dev->unposted = rx;
    }
}

static void rx_post_rest(struct ofi_dev *dev)
{
    struct ofi_rx *rx = dev->unposted;

    dev->unposted = NULL;
    while (rx != NULL) {
        struct ofi_rx *next = rx->next_unposted;

        rx_post(dev, rx);
        rx = next;
    }
}

am_status_t ofi_rx_post_all(struct ofi_dev *dev)
{
    for (uint32_t i = 0; i < dev->rx_count; i++) {
        rx_post(dev, &dev->rx[i]);
    }
    return dev->unposted == NULL ? AM_OK : AM_ERR_SYSTEM;
}

/* ------------------------------------------------------------------ delivery */

static void taken(struct ofi_dev *dev, struct ofi_ep *ep)
{
    if (++ep->owed >= OFI_CREDITS / 2 && am_list_is_empty(&ep->owing_link)) {
        am_list_push(&dev->owing, &ep->owing_link);
    }
}

static void deliver(struct ofi_dev *dev, struct ofi_ep *ep, uint32_t class,
                    const void *hdr, size_t hdr_bytes, void *data,
                    size_t data_bytes)
{
    dev->stats[AM_DEV_STAT_RX_PACKETS]++;
    dev->stats[AM_DEV_STAT_RX_BYTES] += hdr_bytes + data_bytes;
    if (class == AM_DEV_REQUEST) {
        taken(dev, ep);
    }
    dev->base.up.packet(ep->base.user, class, hdr, hdr_bytes, data, data_bytes);
}

static bool is_deliverable(const struct ofi_dev *dev, struct ofi_ep *ep)
{
    const struct am_dev_up *up = &dev->base.up;

    return ofi_reply_ready(&ep->base) &&
           (up->ready == NULL || up->ready(ep->base.user));
}

/* The peer's credit bounds how many these can be, of a peer that keeps to it. */
static void hold(struct ofi_dev *dev, struct ofi_ep *ep, const uint8_t *hdr,
                 size_t hdr_bytes, size_t data_bytes)
{
    struct ofi_held *held;

    if (ep->held_count == OFI_CREDITS) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        ofi_ep_doom(dev, ep, EPROTO);
        return;
    }
    held = malloc(sizeof(*held) + data_bytes);
    if (held == NULL) {
        ofi_ep_doom(dev, ep, FI_ENOMEM);
        return;
    }
    held->hdr_bytes = hdr_bytes;
    held->data_bytes = data_bytes;
    memcpy(held->hdr, hdr, hdr_bytes);
    memcpy(held->data, hdr + hdr_bytes, data_bytes);
    dev->stats[AM_DEV_STAT_RX_HELD]++;
    dev->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    if (am_list_is_empty(&ep->held)) {
        am_list_push(&dev->held, &ep->held_link);
    }
    am_list_push(&ep->held, &held->link);
    ep->held_count++;
}

void ofi_rx_forget(struct ofi_ep *ep)
{
    while (!am_list_is_empty(&ep->held)) {
        free(am_container(am_list_pop(&ep->held), struct ofi_held, link));
        taken(ofi_dev_of(ep->base.dev), ep);
    }
    ep->held_count = 0;
    am_list_remove(&ep->held_link);
}

/* Deliver what waits, of one peer after the other, as far as it goes; an upcall
 * may let go of any endpoint, which is then in no list any more. */
static int held_deliver(struct ofi_dev *dev)
{
    struct am_list rest;
    int count = 0;

    am_list_init(&rest);
    while (!am_list_is_empty(&dev->held)) {
        struct ofi_ep *ep =
                am_container(am_list_pop(&dev->held), struct ofi_ep, held_link);

        am_list_push(&rest, &ep->held_link);
        while (!am_list_is_empty(&ep->held) && is_deliverable(dev, ep)) {
            struct ofi_held *held = am_container(am_list_pop(&ep->held),
                                                 struct ofi_held, link);

            ep->held_count--;
            if (am_list_is_empty(&ep->held)) {
                am_list_remove(&ep->held_link);
            }
            deliver(dev, ep, AM_DEV_REQUEST, held->hdr, held->hdr_bytes,
                    held->data, held->data_bytes);
            free(held);
            count++;
        }
    }
    while (!am_list_is_empty(&rest)) {
        am_list_push(&dev->held, am_list_pop(&rest));
    }
    return count;
}

/* ------------------------------------------------------------------- packets */

static bool hdr_is_sound(const struct ofi_hdr *hdr, size_t bytes)
{
    size_t hdr_bytes = (size_t)hdr->hdr_words * 8;

    return (hdr->flags & OFI_FLAG_END) == 0 && hdr_bytes <= OFI_HDR_MAX &&
           hdr_bytes <= bytes - OFI_HDR_BYTES &&
           (hdr->conn != 0 || (hdr->flags & OFI_FLAG_ANSWER) == 0) &&
           ((hdr->flags & OFI_FLAGS_CONTROL) == 0 || hdr_bytes == 0);
}

/* Packets that the layer above does not see. */
static void rx_control(struct ofi_dev *dev, struct ofi_ep *ep, uint8_t flags)
{
    if ((flags & OFI_FLAG_PING) != 0 && !ep->left) {
        (void)ofi_tx_control(ep, OFI_FLAG_PONG);
    }
    if ((flags & OFI_FLAG_BYE) != 0) {
        ep->left = true;
        ofi_tx_forget(dev, ep);
    }
}

/* A packet of an endpoint that is open, or may be opened by it.  What is not
 * wanted counts as taken, or its sender would wait. */
static int rx_of_ep(struct ofi_dev *dev, struct ofi_ep *ep,
                    const struct ofi_hdr *own, uint8_t *at, size_t bytes)
{
    uint64_t copy[OFI_HDR_MAX / sizeof(uint64_t)];
    size_t hdr_bytes = (size_t)own->hdr_words * 8;
    size_t data_bytes = bytes - OFI_HDR_BYTES - hdr_bytes;
    const uint8_t *hdr = at + OFI_HDR_BYTES;
    uint32_t class = (own->flags & OFI_FLAG_REPLY) != 0 ? AM_DEV_REPLY
                                                         : AM_DEV_REQUEST;

    if (ep->dead || (!ep->open && !ofi_ep_accept(dev, ep))) {
        dev->stats[AM_DEV_STAT_RX_STALE]++;
        if (class == AM_DEV_REQUEST) {
            taken(dev, ep);
        }
        return 0;
    }
    if (class == AM_DEV_REQUEST &&
        (!am_list_is_empty(&ep->held) || !is_deliverable(dev, ep))) {
        hold(dev, ep, hdr, hdr_bytes, data_bytes);
        return 0;
    }
    if ((uintptr_t)hdr % sizeof(uint64_t) != 0) { /* inside a long buffer */
        memcpy(copy, hdr, hdr_bytes);
        hdr = (const uint8_t *)copy;
    }
    deliver(dev, ep, class, hdr, hdr_bytes, at + OFI_HDR_BYTES + hdr_bytes,
            data_bytes);
    return 1;
}

static int rx_packet(struct ofi_dev *dev, uint8_t *at, size_t bytes)
{
    struct ofi_hdr hdr;
    struct ofi_ep *ep;

    if (bytes < OFI_HDR_BYTES) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return 0;
    }
    memcpy(&hdr, at, sizeof(hdr));
    if (hdr.to != dev->nonce) {
        dev->stats[AM_DEV_STAT_RX_FOREIGN]++;
        return 0;
    }
    if (!hdr_is_sound(&hdr, bytes)) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return 0;
    }
    ep = ofi_ep_find(dev, hdr.from, hdr.conn,
                     hdr.conn == 0 ? 0 : ~hdr.flags & OFI_FLAG_ANSWER);
    if (ep == NULL && dev->closing) {
        return 0;
    }
    if (ep == NULL) {
        ep = ofi_ep_stranger(dev, &hdr, at + OFI_HDR_BYTES,
                             bytes - OFI_HDR_BYTES);
        if (ep == NULL) {
            return 0;
        }
    }
    ep->heard = ep->used = true;
    ep->credit += hdr.credits;
    if (ep->credit > OFI_CREDITS) { /* more than it was sent */
        ep->credit = OFI_CREDITS;
    }
    if ((hdr.flags & OFI_FLAGS_CONTROL) != 0) {
        rx_control(dev, ep, hdr.flags);
        return 0;
    }
    if (dev->closing) {
        return 0;
    }
    return rx_of_ep(dev, ep, &hdr, at, bytes);
}

/* ---------------------------------------------------------------------- poll */

static int completed(struct ofi_dev *dev, const struct fi_cq_data_entry *entry)
{
    struct ofi_rx *rx;
    int count = 0;

    switch (((struct ofi_context *)entry->op_context)->kind) {
    case OFI_KIND_TX:
        ofi_tx_done(dev, am_container(entry->op_context, struct ofi_tx,
                                      context));
        return 0;
    case OFI_KIND_RMA:
        ofi_rma_done(dev,
                     am_container(entry->op_context, struct ofi_rma, context),
                     0);
        return 1;
    }
    rx = am_container(entry->op_context, struct ofi_rx, context);
    if ((entry->flags & FI_RECV) != 0) {
        count = rx_packet(dev, dev->multi ? entry->buf : rx->memory,
                          entry->len);
    }
    if (!dev->forked &&
        (!dev->multi || (entry->flags & FI_MULTI_RECV) != 0)) {
        rx_post(dev, rx);
    }
    return count;
}

int ofi_poll(struct am_dev *base, uint32_t packets_max)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct fi_cq_data_entry entries[OFI_CQ_ENTRIES];
    ssize_t got;
    int count = 0;

    if (dev->forked || packets_max == 0) {
        return 0;
    }
    dev->tx_spent = 0;
    if (!am_list_is_empty(&dev->held) && !dev->closing) {
        count = held_deliver(dev);
    }
    if (dev->forked) {
        return count;
    }
    got = fi_cq_read(dev->cq, entries,
                     packets_max < OFI_CQ_ENTRIES ? packets_max
                                                  : OFI_CQ_ENTRIES);
    for (ssize_t i = 0; i < got && !dev->forked; i++) {
        count += completed(dev, &entries[i]);
    }
    if (dev->forked) { /* by the upcall, in whose child this is */
        return count;
    }
    if (got < 0 && got != -FI_EAGAIN) {
        ofi_error_read(dev);
    }
    if (!am_list_is_empty(&dev->stuck)) {
        ofi_tx_queued(dev);
    }
    if (!am_list_is_empty(&dev->owing)) {
        ofi_tx_owed(dev);
    }
    if (dev->unposted != NULL) {
        rx_post_rest(dev);
    }
    if (!am_list_is_empty(&dev->doomed)) {
        ofi_doomed_tell(dev);
    }
    if (dev->gone_count > 0) {
        ofi_eps_reap(dev);
    }
    return count;
}
