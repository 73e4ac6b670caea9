/*
 * Sending.  A packet is written into a buffer behind this device's header.  A
 * short one is injected: the provider has it, and the buffer is free again.  A
 * longer one stays in its buffer until the completion queue says that the
 * provider is done.  One that the provider has no space for waits in the queue of
 * its peer, and so do those after it.
 *
 *   free -> written -> injected ------------------------> free
 *                   -> flying, the provider's -> done --> free
 *                   -> queue of the peer -> injected, or flying
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <string.h>

/* How many more packets there may be before the next poll. */
static uint32_t tx_room(const struct ofi_dev *dev)
{
    return dev->tx_free_count > dev->tx_spent
                   ? dev->tx_free_count - dev->tx_spent
                   : 0;
}

static struct ofi_tx *tx_take(struct ofi_dev *dev, struct ofi_ep *ep)
{
    struct ofi_tx *tx =
            am_container(dev->tx_free.next, struct ofi_tx, link);

    am_list_remove(&tx->link);
    dev->tx_free_count--;
    tx->ep = ep;
    tx->told = false;
    return tx;
}

/* The one that was used last is taken first: its memory is in the cache. */
static void tx_free(struct ofi_dev *dev, struct ofi_tx *tx)
{
    struct am_list *head = &dev->tx_free;

    tx->link.next = head->next;
    tx->link.prev = head;
    head->next->prev = &tx->link;
    head->next = &tx->link;
    dev->tx_free_count++;
}

void ofi_tx_done(struct ofi_dev *dev, struct ofi_tx *tx)
{
    tx->ep->flying--;
    tx->ep->flying_bytes -= tx->bytes;
    dev->tx_lost -= tx->ep->told;
    tx_free(dev, tx);
}

void ofi_tx_forget(struct ofi_dev *dev, struct ofi_ep *ep)
{
    while (!am_list_is_empty(&ep->queue)) {
        tx_free(dev, am_container(am_list_pop(&ep->queue), struct ofi_tx,
                                  link));
    }
    am_list_remove(&ep->stuck_link);
}

/* -------------------------------------------------------------- to the provider */

/* Offer it one packet: 0, or what it says (FI_EAGAIN: it is still ours). */
static ssize_t tx_offer(struct ofi_dev *dev, struct ofi_tx *tx)
{
    struct ofi_ep *ep = tx->ep;
    ssize_t said;

    if (tx->bytes <= dev->inject_bytes && !tx->told) {
        said = fi_inject(dev->ep, tx->memory, tx->bytes, ep->to);
        if (said == 0) {
            tx_free(dev, tx);
            dev->tx_spent++;
        }
        return said;
    }
    if (ep->flying > 0 &&
        ep->flying_bytes + tx->bytes > dev->flying_bytes_max) {
        return -FI_EAGAIN;
    }
    said = fi_send(dev->ep, tx->memory, tx->bytes, dev->tx_desc, ep->to,
                   &tx->context);
    if (said == 0) {
        ep->flying++;
        ep->flying_bytes += tx->bytes;
    }
    return said;
}

/* False: the provider has no space; the packet is the caller's. */
static bool tx_go(struct ofi_dev *dev, struct ofi_tx *tx)
{
    ssize_t said = tx_offer(dev, tx);

    if (said != 0 && said != -FI_EAGAIN) {
        struct ofi_ep *ep = tx->ep;

        tx_free(dev, tx);
        ofi_ep_doom(dev, ep, (int)-said);
    }
    return said != -FI_EAGAIN;
}

static void tx_post(struct ofi_dev *dev, struct ofi_tx *tx)
{
    struct ofi_ep *ep = tx->ep;

    ep->used = true;
    if (ep->left) { /* nobody takes it; shm's memory of it may be no more */
        dev->stats[AM_DEV_STAT_TX_LOST]++;
        tx_free(dev, tx);
    } else if (!am_list_is_empty(&ep->queue)) {
        am_list_push(&ep->queue, &tx->link);
    } else if (!tx_go(dev, tx)) {
        am_list_push(&ep->queue, &tx->link);
        am_list_push(&dev->stuck, &ep->stuck_link);
    }
}

/* The head goes first, and keeps its place when it cannot. */
static bool queue_go(struct ofi_dev *dev, struct ofi_ep *ep)
{
    while (!am_list_is_empty(&ep->queue)) {
        struct ofi_tx *tx =
                am_container(am_list_pop(&ep->queue), struct ofi_tx, link);

        if (!tx_go(dev, tx)) {
            tx->link.next = ep->queue.next;
            tx->link.prev = &ep->queue;
            ep->queue.next->prev = &tx->link;
            ep->queue.next = &tx->link;
            return false;
        }
    }
    return true;
}

void ofi_tx_queued(struct ofi_dev *dev)
{
    struct am_list *link = dev->stuck.next;

    while (link != &dev->stuck) {
        struct ofi_ep *ep = am_container(link, struct ofi_ep, stuck_link);

        link = link->next;
        if (queue_go(dev, ep)) {
            am_list_remove(&ep->stuck_link);
        }
    }
}

/* ------------------------------------------------------------------ packets */

/* Write this device's header over a packet that is whole, and off it goes. */
static void tx_mark(struct ofi_dev *dev, struct ofi_tx *tx, uint8_t flags,
                    size_t hdr_bytes, size_t data_bytes)
{
    struct ofi_ep *ep = tx->ep;
    struct ofi_hdr hdr = {.to = ep->nonce,
                          .from = dev->nonce,
                          .conn = ep->conn,
                          .credits = (uint16_t)ep->owed,
                          .flags = ep->flags | flags,
                          .hdr_words = (uint8_t)(hdr_bytes / 8)};

    ep->owed = 0;
    memcpy(tx->memory, &hdr, sizeof(hdr));
    tx->bytes = (uint32_t)(OFI_HDR_BYTES + hdr_bytes + data_bytes);
    tx_post(dev, tx);
}

/* The address goes before all else to a late peer. */
static void greet(struct ofi_dev *dev, struct ofi_ep *ep)
{
    struct ofi_tx *tx = tx_take(dev, ep);
    size_t bytes = ofi_address_bytes(&dev->me);

    ep->greets = false;
    memcpy(tx->memory + OFI_HDR_BYTES, &dev->me, bytes);
    tx_mark(dev, tx, OFI_FLAG_HELLO, 0, bytes);
}

static am_status_t tx_reserve(struct am_dev_ep *base, uint32_t class,
                              size_t hdr_bytes, size_t data_bytes,
                              struct ofi_tx **tx_p)
{
    struct ofi_dev *dev = ofi_dev_of(base->dev);
    struct ofi_ep *ep = ofi_ep_of(base);
    uint32_t kept = class == AM_DEV_REQUEST ? OFI_TX_REPLIES : 0;

    if (hdr_bytes > OFI_HDR_MAX ||
        data_bytes > dev->base.attr.packet_bytes_max - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    if (ep->dead || dev->forked) {
        return AM_ERR_PEER;
    }
    if (tx_room(dev) <= kept + ep->greets ||
        (class == AM_DEV_REQUEST && ep->credit == 0)) {
        dev->stats[AM_DEV_STAT_TX_AGAIN]++;
        return AM_ERR_AGAIN;
    }
    if (ep->greets) {
        greet(dev, ep);
    }
    ep->credit -= class == AM_DEV_REQUEST;
    *tx_p = tx_take(dev, ep);
    return AM_OK;
}

static void tx_commit(struct ofi_dev *dev, struct ofi_tx *tx, uint32_t class,
                      size_t hdr_bytes, size_t data_bytes)
{
    dev->stats[AM_DEV_STAT_TX_PACKETS]++;
    dev->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    dev->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    tx_mark(dev, tx, class == AM_DEV_REPLY ? OFI_FLAG_REPLY : 0, hdr_bytes,
            data_bytes);
}

am_status_t ofi_send(struct am_dev_ep *base, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes)
{
    struct ofi_tx *tx;
    am_status_t status = tx_reserve(base, class, hdr_bytes, data_bytes, &tx);

    if (status != AM_OK) {
        return status;
    }
    memcpy(tx->memory + OFI_HDR_BYTES, hdr, hdr_bytes);
    if (data_bytes > 0) {
        memcpy(tx->memory + OFI_HDR_BYTES + hdr_bytes, data, data_bytes);
    }
    tx_commit(ofi_dev_of(base->dev), tx, class, hdr_bytes, data_bytes);
    return AM_OK;
}

am_status_t ofi_send_fill(struct am_dev_ep *base, uint32_t class,
                          const void *hdr, size_t hdr_bytes,
                          am_dev_fill_fn fill, void *arg, size_t data_bytes)
{
    struct ofi_tx *tx;
    am_status_t status = tx_reserve(base, class, hdr_bytes, data_bytes, &tx);

    if (status != AM_OK) {
        return status;
    }
    memcpy(tx->memory + OFI_HDR_BYTES, hdr, hdr_bytes);
    if (data_bytes > 0) {
        fill(arg, tx->memory + OFI_HDR_BYTES + hdr_bytes, data_bytes);
    }
    tx_commit(ofi_dev_of(base->dev), tx, class, hdr_bytes, data_bytes);
    return AM_OK;
}

bool ofi_tx_control(struct ofi_ep *ep, uint8_t flag)
{
    struct ofi_dev *dev = ofi_dev_of(ep->base.dev);
    struct ofi_tx *tx;

    /* the last ones are replies' */
    if (ep->dead || tx_room(dev) <= OFI_TX_REPLIES / 2) {
        return false;
    }
    tx = tx_take(dev, ep);
    tx->told = flag == OFI_FLAG_BYE;
    tx_mark(dev, tx, flag, 0, 0);
    return true;
}

void ofi_tx_owed(struct ofi_dev *dev)
{
    struct am_list *link = dev->owing.next;

    while (link != &dev->owing) {
        struct ofi_ep *ep = am_container(link, struct ofi_ep, owing_link);

        link = link->next;
        if (ep->owed < OFI_CREDITS / 2 || ep->left || ep->dead ||
            ofi_tx_control(ep, OFI_FLAG_CREDIT)) {
            am_list_remove(&ep->owing_link);
        }
    }
}

bool ofi_reply_ready(struct am_dev_ep *base)
{
    return tx_room(ofi_dev_of(base->dev)) > OFI_TX_REPLIES / 2;
}

bool ofi_drained(struct am_dev *base)
{
    struct ofi_dev *dev = ofi_dev_of(base);

    /* what is for the dead arrives nowhere, whenever it comes back */
    return dev->forked || dev->tx_free_count + dev->tx_lost == OFI_TX_COUNT;
}
