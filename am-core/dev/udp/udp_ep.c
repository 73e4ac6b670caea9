/*
 * The peers: the table by nonce, connecting, being connected to, letting go.
 * May call the layer above (accept) and base.
 *
 * Between two ranks of a job there is one connection, number 0, whoever sends
 * first.  With a process outside the job there may be several; the caller
 * numbers them, and ANSWER tells the two ends' packets apart.
 *
 *                    number  to the called, or in the job   back to the caller
 *   under the key    0       of the receiver                (the same)
 *                    1..     of the called                  of the called
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --------------------------------------------------------------- addresses */

bool udp_sockaddr_is(const union udp_sockaddr *a, const union udp_sockaddr *b)
{
    if (a->any.sa_family != b->any.sa_family) {
        return false;
    }
    if (a->any.sa_family == AF_INET) {
        return a->v4.sin_port == b->v4.sin_port &&
               a->v4.sin_addr.s_addr == b->v4.sin_addr.s_addr;
    }
    return a->v6.sin6_port == b->v6.sin6_port &&
           memcmp(&a->v6.sin6_addr, &b->v6.sin6_addr,
                  sizeof(a->v6.sin6_addr)) == 0;
}

static socklen_t sockaddr_make(const struct udp_address *address,
                               union udp_sockaddr *to)
{
    memset(to, 0, sizeof(*to));
    if (address->version == 4) {
        to->v4.sin_family = AF_INET;
        to->v4.sin_port = address->port;
        memcpy(&to->v4.sin_addr, address->ip, sizeof(to->v4.sin_addr));
        return sizeof(to->v4);
    }
    to->v6.sin6_family = AF_INET6;
    to->v6.sin6_port = address->port;
    memcpy(&to->v6.sin6_addr, address->ip, sizeof(to->v6.sin6_addr));
    return sizeof(to->v6);
}

/* A part of an address that this device can have written. */
static bool address_take(const struct udp_dev *dev, const void *part,
                         size_t bytes, struct udp_address *address)
{
    union udp_sockaddr to;

    if (part == NULL || bytes != udp_address_bytes(dev->me.version)) {
        return false;
    }
    memset(address, 0, sizeof(*address));
    memcpy(address, part, bytes);
    if (address->version != dev->me.version || address->port == 0) {
        return false;
    }
    (void)sockaddr_make(address, &to);
    return udp_is_loopback(&to) == udp_is_loopback(&dev->bound);
}

/* Both want macs, by keys from the same place. */
static bool address_agrees(const struct udp_dev *dev,
                           const struct udp_address *address)
{
    return address->flags == dev->me.flags &&
           ((address->flags & UDP_ADDRESS_SHARED) == 0 ||
            memcmp(address->key, dev->me.key, sizeof(address->key)) == 0);
}

bool udp_reachable(struct am_dev *base, const void *part, size_t bytes)
{
    struct udp_address address;

    return address_take(udp_dev_of(base), part, bytes, &address);
}

/* Why ranks that do not agree cannot talk, for whoever reads the error. */
static am_status_t disagree(struct udp_dev *dev,
                            const struct udp_address *address, uint32_t rank)
{
    char who[32] = "a process outside the job";

    if (rank != UINT32_MAX) {
        snprintf(who, sizeof(who), "rank %u", rank);
    }
    snprintf(dev->text, sizeof(dev->text), "udp: %s is not the same here and at %s",
             address->flags == dev->me.flags ? "AM_UDP_KEY"
             : (address->flags ^ dev->me.flags) == UDP_ADDRESS_AUTH
                     ? "AM_UDP_AUTH"
                     : "whether AM_UDP_KEY is set",
             who);
    dev->base.error = dev->text;
    return AM_ERR_CONFIG;
}

am_status_t udp_connect_all(struct am_dev *base, const void *const *parts,
                            const size_t *part_bytes, uint32_t count)
{
    struct udp_dev *dev = udp_dev_of(base);
    struct udp_address *job = calloc(count, sizeof(*job));

    if (job == NULL) {
        return AM_ERR_MEMORY;
    }
    for (uint32_t rank = 0; rank < count; rank++) {
        if (!address_take(dev, parts[rank], part_bytes[rank], &job[rank])) {
            memset(&job[rank], 0, sizeof(job[rank]));
        } else if (!address_agrees(dev, &job[rank])) {
            am_status_t status = disagree(dev, &job[rank], rank);

            free(job);
            return status;
        }
    }
    free(dev->job);
    dev->job = job;
    dev->job_size = count;
    return AM_OK;
}

/* --------------------------------------------------------------- the table */

static struct udp_ep **bucket_of(struct udp_dev *dev, uint64_t nonce)
{
    /* Fibonacci hashing (Knuth, vol. 3, 6.4): the high bits of the product */
    return &dev->buckets[(nonce * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

AM_STATIC_ASSERT(UDP_BUCKETS == 1 << (64 - 54), "bucket_of");

struct udp_ep *udp_ep_find(struct udp_dev *dev, uint64_t nonce, uint32_t conn,
                           uint8_t flags)
{
    struct udp_ep *ep = *bucket_of(dev, nonce);

    while (ep != NULL && (ep->nonce != nonce || ep->conn != conn ||
                          ep->flags != flags)) {
        ep = ep->next;
    }
    return ep;
}

static void ep_free(struct udp_dev *dev, struct udp_ep *ep)
{
    struct udp_ep **at = bucket_of(dev, ep->nonce);

    while (*at != ep) {
        at = &(*at)->next;
    }
    *at = ep->next;
    if (ep->number > dev->number_base) {
        dev->number_base = ep->number;
    }
    udp_tx_forget(dev, ep);
    udp_direct_forget(dev, ep);
    am_list_remove(&ep->link);
    free(ep);
}

void udp_eps_free(struct udp_dev *dev)
{
    while (!am_list_is_empty(&dev->eps)) {
        ep_free(dev, am_container(dev->eps.next, struct udp_ep, link));
    }
    while (!am_list_is_empty(&dev->closed)) {
        ep_free(dev, am_container(dev->closed.next, struct udp_ep, link));
    }
}

/* One more that is closed but known; the one that has been so longest goes. */
static void closed_push(struct udp_dev *dev, struct udp_ep *ep)
{
    am_list_push(&dev->closed, &ep->link);
    if (dev->closed_count < UDP_CLOSED_MAX) {
        dev->closed_count++;
    } else {
        ep_free(dev, am_container(dev->closed.next, struct udp_ep, link));
    }
}

/* A new connection, closed so far, without keys and address. */
static struct udp_ep *ep_new(struct udp_dev *dev, uint64_t nonce, uint32_t conn,
                             uint8_t flags, uint32_t rank)
{
    struct udp_ep **bucket = bucket_of(dev, nonce);
    struct udp_ep *ep = calloc(1, sizeof(*ep));

    if (ep == NULL) {
        return NULL;
    }
    ep->base.dev = &dev->base;
    ep->nonce = nonce;
    ep->conn = conn;
    ep->flags = flags;
    ep->rank = rank;
    ep->number = dev->number_base;
    ep->next = *bucket;
    *bucket = ep;
    closed_push(dev, ep);
    return ep;
}

static void ep_open(struct udp_dev *dev, struct udp_ep *ep, void *user)
{
    ep->base.user = user;
    if (!ep->open) {
        am_list_remove(&ep->link);
        dev->closed_count--;
        am_list_push(&dev->eps, &ep->link);
        ep->open = ep->known = ep->heard = true; /* as of now */
    }
}

void udp_ep_end(struct udp_dev *dev, struct udp_ep *ep)
{
    ep->open = false;
    ep->base.user = NULL;
    dev->refused_count -= ep->refused;
    ep->refused = false;
    udp_direct_forget(dev, ep);
    am_list_remove(&ep->link);
    closed_push(dev, ep);
}

void udp_disconnect(struct am_dev_ep *base)
{
    udp_ep_end(udp_dev_of(base->dev), udp_ep_of(base));
}

/* ----------------------------------------------------- connect, be connected */

/* To a context whose address is known: a rank, or one that is called. */
static struct udp_ep *ep_to(struct udp_dev *dev,
                            const struct udp_address *address, uint32_t conn,
                            uint32_t rank)
{
    struct udp_ep *ep = ep_new(dev, address->nonce, conn, 0, rank);
    struct udp_key key;

    if (ep == NULL) {
        return NULL;
    }
    ep->to_bytes = sockaddr_make(address, &ep->to);
    udp_key_of(dev, address, &key);
    udp_key_derive(&key, dev->nonce, ep->nonce, conn, 0, &ep->tx_key);
    if (conn == 0) {
        udp_key_derive(&dev->key, ep->nonce, dev->nonce, 0, 0, &ep->rx_key);
    } else {
        udp_key_derive(&key, ep->nonce, dev->nonce, conn, UDP_FLAG_ANSWER,
                       &ep->rx_key);
    }
    return ep;
}

am_status_t udp_connect(struct am_dev *base, const void *part, size_t bytes,
                        uint32_t rank, void *user, struct am_dev_ep **ep_p)
{
    struct udp_dev *dev = udp_dev_of(base);
    struct udp_address address;
    struct udp_ep *ep = NULL;
    uint32_t conn = 0;

    if (!address_take(dev, part, bytes, &address)) {
        return AM_ERR_PEER;
    }
    if (!address_agrees(dev, &address)) {
        return disagree(dev, &address, rank);
    }
    if (rank == UINT32_MAX) {
        conn = ++dev->conn_count;
    } else {
        ep = udp_ep_find(dev, address.nonce, 0, 0);
    }
    if (ep == NULL) {
        ep = ep_to(dev, &address, conn, rank);
    }
    if (ep == NULL) {
        return AM_ERR_MEMORY;
    }
    ep_open(dev, ep, user);
    *ep_p = &ep->base;
    return AM_OK;
}

/* The rank of the job that sends from there, by what all were told. */
static const struct udp_address *job_find(const struct udp_dev *dev,
                                          uint64_t nonce,
                                          const union udp_sockaddr *source)
{
    union udp_sockaddr address;

    for (uint32_t rank = 0; rank < dev->job_size; rank++) {
        if (dev->job[rank].nonce == nonce && dev->job[rank].port != 0) {
            (void)sockaddr_make(&dev->job[rank], &address);
            return udp_sockaddr_is(&address, source) ? &dev->job[rank] : NULL;
        }
    }
    return NULL;
}

struct udp_ep *udp_ep_stranger(struct udp_dev *dev,
                               const union udp_sockaddr *source,
                               const struct udp_hdr *hdr, const uint8_t *at,
                               size_t bytes)
{
    const struct udp_address *address = NULL;
    struct udp_key key;
    struct udp_ep *ep;

    udp_key_derive(&dev->key, hdr->from, dev->nonce, hdr->conn, 0, &key);
    if (hdr->conn == 0) {
        address = job_find(dev, hdr->from, source);
    }
    if ((hdr->conn == 0 && address == NULL) ||
        udp_mac(dev, &key, dev->nonce, at, bytes) != hdr->mac) {
        dev->stats[AM_DEV_STAT_RX_FOREIGN]++;
        return NULL;
    }
    if ((hdr->flags & (UDP_FLAG_ANSWER | UDP_FLAG_PONG)) != 0 ||
        (address == NULL && (hdr->flags & UDP_FLAG_PING) != 0)) {
        dev->stats[AM_DEV_STAT_RX_STALE]++; /* of a connection that is over */
        return NULL;
    }
    if (address != NULL) {
        return ep_to(dev, address, 0, (uint32_t)(address - dev->job));
    }
    ep = ep_new(dev, hdr->from, hdr->conn, UDP_FLAG_ANSWER, UINT32_MAX);
    if (ep != NULL) {
        ep->to = *source;
        ep->to_bytes = dev->bound_bytes;
        ep->rx_key = key;
        udp_key_derive(&dev->key, dev->nonce, ep->nonce, ep->conn,
                       UDP_FLAG_ANSWER, &ep->tx_key);
    }
    return ep;
}

bool udp_ep_accept(struct udp_dev *dev, struct udp_ep *ep)
{
    struct am_dev_up *up = &dev->base.up;

    ep_open(dev, ep, NULL);
    ep->base.user = up->accept(up->arg, &ep->base, ep->rank);
    if (ep->base.user == NULL) {
        udp_ep_end(dev, ep);
        return false;
    }
    return true;
}
