/*
 * The peers: the table by nonce, connecting, being connected to, letting go.
 * May call the layer above (accept) and base.
 *
 * Between two ranks of a job there is one connection, number 0, whoever sends
 * first; what this end knows of it stays when the layer above lets go, as the
 * other end goes on counting.  With a process outside the job there may be
 * several; the caller numbers them, introduces itself by a HELLO on each, and
 * ANSWER tells the two ends' packets apart.
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --------------------------------------------------------------- addresses */

/* A part of an address that this device can have written, of a context that
 * can be reached from here. */
static bool address_take(const struct ofi_dev *dev, const void *part,
                         size_t bytes, struct ofi_address *address)
{
    uint32_t format = dev->info->addr_format;

    if (part == NULL || bytes < OFI_ADDRESS_HEAD ||
        bytes > OFI_ADDRESS_HEAD + OFI_NAME_MAX) { /* the struct is padded */
        return false;
    }
    memset(address, 0, sizeof(*address));
    memcpy(address, part, bytes);
    return bytes == ofi_address_bytes(address) &&
           address->name_bytes == dev->me.name_bytes &&
           address->version == OFI_WIRE_VERSION &&
           address->kind == dev->me.kind &&
           ofi_name_is_loopback(format, address->name) ==
                   ofi_name_is_loopback(format, dev->me.name);
}

/* The same where names are text, of no fixed length, which the provider reads up to
 * its end. */
static bool text_take(const struct ofi_dev *dev, const void *part, size_t bytes,
                      struct ofi_address *address)
{
    if (part == NULL || bytes <= OFI_ADDRESS_HEAD ||
        bytes > OFI_ADDRESS_HEAD + OFI_NAME_MAX) {
        return false;
    }
    memset(address, 0, sizeof(*address));
    memcpy(address, part, bytes);
    return bytes == ofi_address_bytes(address) &&
           address->version == OFI_WIRE_VERSION &&
           address->kind == dev->me.kind &&
           address->name[address->name_bytes - 1] == '\0';
}

bool ofi_reachable(struct am_dev *base, const void *part, size_t bytes)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct ofi_address address;

    return dev->info->addr_format == FI_ADDR_STR
                   ? text_take(dev, part, bytes, &address)
                   : address_take(dev, part, bytes, &address);
}

static bool address_read(struct ofi_dev *dev, const void *part, size_t bytes,
                         struct ofi_address *address)
{
    if (!ofi_reachable(&dev->base, part, bytes)) {
        return false;
    }
    memset(address, 0, sizeof(*address));
    memcpy(address, part, bytes);
    return true;
}

/* Packets are as long as both agree, or buffers would not hold them. */
static am_status_t disagree(struct ofi_dev *dev, uint32_t rank)
{
    char who[32] = "a process outside the job";

    if (rank != UINT32_MAX) {
        snprintf(who, sizeof(who), "rank %u", rank);
    }
    snprintf(dev->text, sizeof(dev->text),
             "ofi: AM_OFI_PACKET is not the same here and at %s", who);
    dev->base.error = dev->text;
    return AM_ERR_CONFIG;
}

am_status_t ofi_connect_all(struct am_dev *base, const void *const *parts,
                            const size_t *part_bytes, uint32_t count)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct ofi_address *job = calloc(count, sizeof(*job));

    if (job == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        if (!address_read(dev, parts[rank], part_bytes[rank], &job[rank])) {
            memset(&job[rank], 0, sizeof(job[rank]));
        } else if (job[rank].packet_bytes != dev->me.packet_bytes) {
            free(job);
            return disagree(dev, rank);
        }
    }
    free(dev->job);
    dev->job = job;
    dev->job_size = count;
    return AM_OK;
}

/* --------------------------------------------------------------- the table */

static struct ofi_ep **bucket_of(struct ofi_dev *dev, uint64_t nonce)
{
    /* Fibonacci hashing (Knuth, vol. 3, 6.4): the high bits of the product */
    return &dev->buckets[(nonce * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

AM_STATIC_ASSERT(OFI_BUCKETS == 1 << (64 - 54), "bucket_of");

struct ofi_ep *ofi_ep_find(struct ofi_dev *dev, uint64_t nonce, uint32_t conn,
                           uint8_t flags)
{
    struct ofi_ep *ep = *bucket_of(dev, nonce);

    while (ep != NULL && (ep->nonce != nonce || ep->conn != conn ||
                          ep->flags != flags)) {
        ep = ep->next;
    }
    return ep;
}

static void table_remove(struct ofi_dev *dev, struct ofi_ep *ep)
{
    struct ofi_ep **at = bucket_of(dev, ep->nonce);

    while (*at != ep) {
        at = &(*at)->next;
    }
    *at = ep->next;
}

static void ep_free(struct ofi_dev *dev, struct ofi_ep *ep)
{
    ofi_tx_forget(dev, ep);
    ofi_rx_forget(ep);
    am_list_remove(&ep->owing_link);
    am_list_remove(&ep->doomed_link);
    am_list_remove(&ep->link);
    if (ep->gone) {
        dev->gone_count--;
    } else {
        table_remove(dev, ep);
    }
    if (ep->probe_fd >= 0) {
        close(ep->probe_fd);
    }
    free(ep);
}

/* The provider may still have buffers of one that goes: it stays until then.  Its
 * address stays with the provider, which might cut the connection at once. */
void ofi_eps_reap(struct ofi_dev *dev)
{
    struct am_list *link = dev->eps.next;

    while (dev->gone_count > 0 && link != &dev->eps) {
        struct ofi_ep *ep = am_container(link, struct ofi_ep, link);

        link = link->next;
        if (ep->gone && ep->flying == 0 && ep->rmas == 0 &&
            am_list_is_empty(&ep->queue)) {
            ep_free(dev, ep);
        }
    }
}

void ofi_eps_free(struct ofi_dev *dev)
{
    while (!am_list_is_empty(&dev->eps)) {
        ep_free(dev, am_container(dev->eps.next, struct ofi_ep, link));
    }
}

/* A new connection, closed so far, to a context with that address. */
static struct ofi_ep *ep_new(struct ofi_dev *dev,
                             const struct ofi_address *address, uint32_t conn,
                             uint8_t flags, uint32_t rank)
{
    struct ofi_ep **bucket = bucket_of(dev, address->nonce);
    struct ofi_ep *ep = calloc(1, sizeof(*ep));

    if (ep == NULL) {
        return NULL;
    }
    ep->base.dev = &dev->base;
    ep->nonce = address->nonce;
    ep->conn = conn;
    ep->flags = flags;
    ep->rank = rank;
    ep->credit = OFI_CREDITS;
    ep->probe_fd = -1;
    ep->name_bytes = address->name_bytes;
    memcpy(ep->name, address->name, address->name_bytes);
    if (fi_av_insert(dev->av, ep->name, 1, &ep->to, 0, NULL) != 1) {
        free(ep);
        return NULL;
    }
    am_list_init(&ep->queue);
    am_list_init(&ep->held);
    am_list_init(&ep->stuck_link);
    am_list_init(&ep->held_link);
    am_list_init(&ep->owing_link);
    am_list_init(&ep->doomed_link);
    am_list_push(&dev->eps, &ep->link);
    ep->next = *bucket;
    *bucket = ep;
    return ep;
}

static void ep_open(struct ofi_ep *ep, void *user)
{
    ep->base.user = user;
    ep->open = ep->heard = true; /* as of now */
    ep->pinged = false;
}

/* Of a rank what is known stays; others do not come back. */
static void ep_end(struct ofi_dev *dev, struct ofi_ep *ep)
{
    ep->open = false;
    ep->base.user = NULL;
    ofi_rx_forget(ep);
    if (ep->conn != 0 && !ep->gone) {
        table_remove(dev, ep);
        ep->gone = true;
        dev->gone_count++;
    }
}

void ofi_disconnect(struct am_dev_ep *base)
{
    struct ofi_dev *dev = ofi_dev_of(base->dev);

    if (!dev->forked) {
        ep_end(dev, ofi_ep_of(base));
    }
}

/* ----------------------------------------------------- connect, be connected */

am_status_t ofi_connect(struct am_dev *base, const void *part, size_t bytes,
                        uint32_t rank, void *user, struct am_dev_ep **ep_p)
{
    struct ofi_dev *dev = ofi_dev_of(base);
    struct ofi_address address;
    struct ofi_ep *ep = NULL;
    bool late = rank == UINT32_MAX;

    if (dev->forked || !address_read(dev, part, bytes, &address)) {
        return AM_ERR_PEER;
    }
    if (address.packet_bytes != dev->me.packet_bytes) {
        return disagree(dev, rank);
    }
    if (!late) {
        ep = ofi_ep_find(dev, address.nonce, 0, 0);
    }
    if (ep == NULL) {
        ep = ep_new(dev, &address, late ? ++dev->conn_count : 0, 0, rank);
    }
    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    ep->greets = late;
    ep_open(ep, user);
    *ep_p = &ep->base;
    return AM_OK;
}

/* The rank of the job that has this nonce, by what all were told. */
static const struct ofi_address *job_find(const struct ofi_dev *dev,
                                          uint64_t nonce)
{
    for (uint32_t rank = 0; rank < dev->job_size; rank++) {
        if (dev->job[rank].nonce == nonce && dev->job[rank].name_bytes != 0) {
            return &dev->job[rank];
        }
    }
    return NULL;
}

struct ofi_ep *ofi_ep_stranger(struct ofi_dev *dev, const struct ofi_hdr *hdr,
                               const uint8_t *data, size_t bytes)
{
    const struct ofi_address *known;
    struct ofi_address address;

    if (hdr->conn == 0) {
        known = job_find(dev, hdr->from);
        if (known != NULL) {
            return ep_new(dev, known, 0, 0, (uint32_t)(known - dev->job));
        }
        dev->stats[AM_DEV_STAT_RX_FOREIGN]++;
        return NULL;
    }
    if ((hdr->flags & OFI_FLAG_HELLO) == 0) {
        dev->stats[AM_DEV_STAT_RX_STALE]++; /* of a connection that is over */
        return NULL;
    }
    if ((hdr->flags & OFI_FLAG_ANSWER) != 0 ||
        !address_read(dev, data, bytes, &address) ||
        address.nonce != hdr->from ||
        address.packet_bytes != dev->me.packet_bytes) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return NULL;
    }
    return ep_new(dev, &address, hdr->conn, OFI_FLAG_ANSWER, UINT32_MAX);
}

bool ofi_ep_accept(struct ofi_dev *dev, struct ofi_ep *ep)
{
    struct am_dev_up *up = &dev->base.up;

    ep_open(ep, NULL);
    ep->base.user = up->accept(up->arg, &ep->base, ep->rank);
    if (ep->base.user == NULL) {
        ep_end(dev, ep);
        return false;
    }
    return true;
}
