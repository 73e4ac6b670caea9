/*
 * Receiving: what the socket has, cut into datagrams again (UDP_GRO), each of
 * them judged before anything of it is believed.
 *
 *   too short, another version, lengths that cannot be     rx_bad
 *   nobody's, from another place, or a wrong mac           rx_foreign
 *   of a connection that is over, or too old to tell       rx_stale
 *   one that came before                                   rx_replayed
 *   a request that the layer above is not ready for        rx_held
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#ifndef UDP_GRO
#define UDP_GRO 104
#endif

#define SINGLES 64 /* datagrams one by one, after which no runs are expected */

void udp_rx_init(struct udp_dev *dev)
{
    struct udp_rx *rx = &dev->rx;

    for (uint32_t i = 0; i < UDP_RX_RUNS; i++) {
        rx->pieces[i] = (struct iovec){rx->memory + i * UDP_DATAGRAM_MAX,
                                       UDP_DATAGRAM_MAX};
        rx->messages[i].msg_hdr = (struct msghdr){.msg_name = &rx->sources[i],
                                                  .msg_iov = &rx->pieces[i],
                                                  .msg_iovlen = 1,
                                                  .msg_control =
                                                          rx->controls[i]};
    }
}

/* ------------------------------------------------------------- is it a peer's */

static bool hdr_is_sound(const struct udp_hdr *hdr, size_t bytes)
{
    const uint8_t control = UDP_FLAG_PING | UDP_FLAG_PONG;

    return hdr->version == UDP_WIRE_VERSION && hdr->flags < UDP_FLAG_END &&
           (hdr->conn != 0 || (hdr->flags & UDP_FLAG_ANSWER) == 0) &&
           hdr->hdr_bytes <= UDP_HDR_MAX &&
           hdr->hdr_bytes % sizeof(uint64_t) == 0 &&
           hdr->hdr_bytes <= bytes - UDP_HDR_BYTES &&
           ((hdr->flags & control) == 0 || bytes == UDP_HDR_BYTES);
}

/* The endpoint of a datagram that is a peer's and comes for the first time, or
 * NULL, counted. */
static struct udp_ep *rx_judge(struct udp_dev *dev,
                               const union udp_sockaddr *source,
                               const struct udp_hdr *hdr, const uint8_t *at,
                               size_t bytes)
{
    uint8_t own_flags = hdr->conn == 0 ? 0
                                       : ~hdr->flags & UDP_FLAG_ANSWER;
    struct udp_ep *ep = udp_ep_find(dev, hdr->from, hdr->conn, own_flags);
    bool old;

    if (ep == NULL) {
        ep = udp_ep_stranger(dev, source, hdr, at, bytes);
        if (ep == NULL) {
            return NULL;
        }
    } else if (!udp_sockaddr_is(source, &ep->to) ||
               hdr->mac != udp_mac(dev, &ep->rx_key, dev->nonce, at, bytes)) {
        dev->stats[AM_DEV_STAT_RX_FOREIGN]++;
        return NULL;
    }
    if (dev->config.auth &&
        !udp_replay_is_new(&ep->replay, hdr->number, &old)) {
        dev->stats[old ? AM_DEV_STAT_RX_STALE : AM_DEV_STAT_RX_REPLAYED]++;
        return NULL;
    }
    return ep;
}

/* Is it for an open endpoint, or may it open one?  A rank may come back after
 * this end has let go of it, and one that only asks is told that this end is
 * there: it may have said nothing yet, and would count it as dead. */
static bool rx_is_wanted(struct udp_dev *dev, struct udp_ep *ep,
                         const struct udp_hdr *hdr)
{
    if (ep->open) {
        return !ep->dead;
    }
    if (!ep->dead && ep->conn == 0 && (hdr->flags & UDP_FLAG_PING) != 0) {
        udp_tx_control(ep, UDP_FLAG_PONG);
        return false;
    }
    if (ep->dead || (ep->known && ep->conn != 0) ||
        (hdr->flags & (UDP_FLAG_PING | UDP_FLAG_PONG)) != 0) {
        dev->stats[AM_DEV_STAT_RX_STALE]++;
        return false;
    }
    return udp_ep_accept(dev, ep);
}

/* ------------------------------------------------------------------ delivery */

static int rx_deliver(struct udp_dev *dev, struct udp_ep *ep,
                      const struct udp_hdr *udp, uint8_t *at, size_t bytes)
{
    const struct am_dev_up *up = &dev->base.up;
    uint32_t class = (udp->flags & UDP_FLAG_REPLY) != 0 ? AM_DEV_REPLY
                                                         : AM_DEV_REQUEST;
    uint64_t copy[UDP_HDR_MAX / sizeof(uint64_t)];
    const void *hdr = at + UDP_HDR_BYTES;
    size_t data_bytes = bytes - UDP_HDR_BYTES - udp->hdr_bytes;

    if (class == AM_DEV_REQUEST &&
        (!udp_reply_ready(&ep->base) ||
         (up->ready != NULL && !up->ready(ep->base.user)))) {
        dev->stats[AM_DEV_STAT_RX_HELD]++;
        return 0;
    }
    dev->stats[AM_DEV_STAT_RX_PACKETS]++;
    dev->stats[AM_DEV_STAT_RX_BYTES] += bytes - UDP_HDR_BYTES;
    if ((uintptr_t)hdr % sizeof(uint64_t) != 0) { /* inside a run */
        memcpy(copy, hdr, udp->hdr_bytes);
        hdr = copy;
    }
    up->packet(ep->base.user, class, hdr, udp->hdr_bytes,
               at + UDP_HDR_BYTES + udp->hdr_bytes, data_bytes);
    return 1;
}

static int rx_datagram(struct udp_dev *dev, const union udp_sockaddr *source,
                       uint8_t *at, size_t bytes)
{
    _Alignas(8) struct udp_hdr hdr;
    struct udp_ep *ep;

    if (bytes < UDP_HDR_BYTES) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return 0;
    }
    memcpy(&hdr, at, sizeof(hdr));
    if (!hdr_is_sound(&hdr, bytes)) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        return 0;
    }
    ep = rx_judge(dev, source, &hdr, at, bytes);
    if (ep == NULL || !rx_is_wanted(dev, ep, &hdr)) {
        return 0;
    }
    ep->heard = true;
    if ((hdr.flags & (UDP_FLAG_PING | UDP_FLAG_PONG)) == 0) {
        return rx_deliver(dev, ep, &hdr, at, bytes);
    }
    if ((hdr.flags & UDP_FLAG_PING) != 0) {
        udp_tx_control(ep, UDP_FLAG_PONG);
    }
    return 0;
}

/* The length of the datagrams that the kernel put together, 0: it is one. */
static size_t run_segment_bytes(struct msghdr *message)
{
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL;
         at = CMSG_NXTHDR(message, at)) {
        if (at->cmsg_level == IPPROTO_UDP && at->cmsg_type == UDP_GRO) {
            int bytes;

            memcpy(&bytes, CMSG_DATA(at), sizeof(bytes));
            return bytes > 0 ? (size_t)bytes : 0;
        }
    }
    return 0;
}

static int rx_run(struct udp_dev *dev, uint32_t index)
{
    struct udp_rx *rx = &dev->rx;
    struct mmsghdr *message = &rx->messages[index];
    uint8_t *at = rx->pieces[index].iov_base;
    size_t rest = message->msg_len;
    size_t segment_bytes = run_segment_bytes(&message->msg_hdr);
    int count = 0;

    do {
        size_t bytes = segment_bytes == 0 || rest < segment_bytes
                               ? rest
                               : segment_bytes;

        count += rx_datagram(dev, &rx->sources[index], at, bytes);
        at += bytes;
        rest -= bytes;
    } while (rest > 0);
    return count;
}

/* One datagram that is not a run, by the call that takes least; -1: none. */
static ssize_t rx_plain(struct udp_rx *rx, const struct udp_sock *sock)
{
    socklen_t name_bytes = sizeof(rx->sources[0]);

    rx->messages[0].msg_hdr.msg_controllen = 0;
    return recvfrom(sock->fd, rx->memory, UDP_DATAGRAM_MAX, 0,
                    &rx->sources[0].any, &name_bytes);
}

static void rx_messages_clear(struct udp_rx *rx, uint32_t runs)
{
    for (uint32_t i = 0; i < runs; i++) {
        rx->messages[i].msg_hdr.msg_namelen = sizeof(rx->sources[i]);
        rx->messages[i].msg_hdr.msg_controllen = sizeof(rx->controls[i]);
    }
}

static int rx_one(struct udp_rx *rx, const struct udp_sock *sock)
{
    ssize_t bytes;

    if (sock->runs) {
        rx_messages_clear(rx, 1);
        bytes = recvmsg(sock->fd, &rx->messages[0].msg_hdr, 0);
    } else {
        bytes = rx_plain(rx, sock);
    }
    rx->messages[0].msg_len = bytes < 0 ? 0 : (unsigned)bytes;
    return bytes < 0 ? -1 : 1;
}

/* One look at a socket: as recvmmsg, which takes longer than other calls for one
 * datagram, and for none. */
static int rx_look(struct udp_rx *rx, struct udp_sock *sock,
                   uint32_t packets_max)
{
    uint32_t runs_max = sock->many ? UDP_RX_RUNS : 1;
    uint32_t runs = packets_max < runs_max ? packets_max : runs_max;
    int got;

    if (runs > 1) {
        rx_messages_clear(rx, runs);
        got = recvmmsg(sock->fd, rx->messages, runs, 0, NULL);
    } else {
        got = rx_one(rx, sock);
    }
    /* After each datagram that it finds the kernel looks for another one: where
     * they come one at a time, asking for one takes less. */
    sock->many = got == (int)runs;
    sock->quiet = got <= 0;
    return got;
}

/* Where several datagrams wait at a time the kernel may give them as runs.  Where
 * they come one by one it may not: the shortest call that takes one does not tell
 * how a run is cut.  A run that the socket has already when this changes is taken
 * for one datagram, whose mac (or chan's checksum) is wrong: lost, as by the
 * network. */
static void rx_count_singles(struct udp_dev *dev, struct udp_sock *sock,
                             int got)
{
    struct udp_rx *rx = &dev->rx;
    bool runs = got > 1 ||
                (got == 1 && rx->messages[0].msg_hdr.msg_controllen > 0);

    if (runs) {
        sock->singles = 0;
    } else if (got == 1) {
        sock->singles++;
    }
    if (runs != sock->runs && dev->coalesces &&
        (runs || (got <= 0 && sock->singles >= SINGLES))) {
        udp_runs_set(sock, runs);
    }
}

static int rx_some(struct udp_dev *dev, uint32_t packets_max)
{
    uint32_t looks = dev->looks;
    struct udp_sock *sock;
    int got, count = 0;

    dev->looks = 0;
    do {
        sock = udp_sock_next(dev);
        got = rx_look(&dev->rx, sock, packets_max);
    } while (got < 0 && errno == EAGAIN && looks-- > 0);
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
        udp_errors_read(dev);
    }
    rx_count_singles(dev, sock, got);
    if (got <= 0 && dev->refused_count > 0) {
        udp_refused_tell(dev);
    }
    if (got > 0) {
        dev->turn = (uint32_t)(sock - dev->socks);
    }
    for (int i = 0; i < got; i++) {
        count += rx_run(dev, (uint32_t)i);
    }
    return count;
}

int udp_poll(struct am_dev *base, uint32_t packets_max)
{
    struct udp_dev *dev = udp_dev_of(base);
    int count;

    if (!udp_is_open(dev) || packets_max == 0) {
        return 0;
    }
    dev->polling = true;
    count = rx_some(dev, packets_max);
    dev->polling = false;
    if (!udp_drained(base)) {
        udp_tx_flush(dev);
    }
    return count;
}
