/*
 * Sending: packets are staged in one piece of memory and given their macs, then
 * go to the kernel together.  Neighbours of the same length for one peer are a
 * run, which the kernel cuts into datagrams (UDP_SEGMENT).
 *
 *   memory  | a a a a' | b | a a |  free ...        runs: a x 4, b, a x 2
 *
 * What is staged outside of poll leaves before send returns, unless the caller
 * has said that more follows at once; in poll it leaves at the end.
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <errno.h>
#include <netinet/udp.h>
#include <string.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif

#define RUN_BYTES_MAX    65000 /* below what an IP packet can tell */
#define RUN_SEGMENTS_MAX 60    /* of 64 (UDP_MAX_SEGMENTS) */

/* ------------------------------------------------------------------ staging */

/* Is there room for this many bytes, in a run of their own if need be?  A
 * request leaves room for one reply of any size. */
static bool tx_fits(const struct udp_tx *tx, uint32_t class, size_t bytes)
{
    size_t bytes_max = UDP_TX_BYTES;
    uint32_t runs_max = UDP_TX_RUNS;

    if (class == AM_DEV_REQUEST) {
        bytes_max -= UDP_DATAGRAM_MAX;
        runs_max--;
    }
    return tx->bytes + bytes <= bytes_max && tx->run_end < runs_max;
}

/* Bytes at the end of the last run, or of a new one.  Behind the last run lie bytes of
 * one that was forgotten, perhaps; then nothing can be added to it. */
static uint8_t *tx_take(struct udp_dev *dev, struct udp_ep *ep, uint32_t bytes)
{
    struct udp_tx *tx = &dev->tx;
    uint8_t *at = tx->memory + tx->bytes;
    struct udp_run *run = tx->runs + tx->run_end - (tx->run_end > 0);
    bool more = dev->segments && tx->run_end > tx->run_first && run->ep == ep &&
                run->offset + run->bytes == tx->bytes &&
                run->bytes == run->count * run->segment_bytes &&
                bytes <= run->segment_bytes && run->count < RUN_SEGMENTS_MAX &&
                run->bytes + bytes <= RUN_BYTES_MAX;

    if (!more) {
        run = &tx->runs[tx->run_end++];
        *run = (struct udp_run){
                .ep = ep, .offset = tx->bytes, .segment_bytes = bytes};
    }
    run->bytes += bytes;
    run->count++;
    tx->bytes += bytes;
    return at;
}

/* Write this device's header over staged bytes, and mark them. */
static void tx_mark(struct udp_dev *dev, struct udp_ep *ep, uint8_t flags,
                    uint8_t *at, size_t bytes, size_t hdr_bytes)
{
    struct udp_hdr hdr = {.number = ep->number++,
                          .from = dev->nonce,
                          .conn = ep->conn,
                          .version = UDP_WIRE_VERSION,
                          .flags = ep->flags | flags,
                          .hdr_bytes = (uint16_t)hdr_bytes};

    memcpy(at, &hdr, sizeof(hdr));
    hdr.mac = udp_mac(dev, &ep->tx_key, ep->nonce, at, bytes);
    memcpy(at, &hdr.mac, sizeof(hdr.mac));
}

static am_status_t tx_reserve(struct am_dev_ep *base, uint32_t class,
                              size_t hdr_bytes, size_t data_bytes)
{
    struct udp_dev *dev = udp_dev_of(base->dev);
    size_t bytes = UDP_HDR_BYTES + hdr_bytes + data_bytes;

    if (hdr_bytes > UDP_HDR_MAX ||
        data_bytes > dev->base.attr.packet_bytes_max - hdr_bytes) {
        return AM_ERR_INVALID;
    }
    if (udp_ep_of(base)->dead || !udp_is_open(dev)) {
        return AM_ERR_PEER;
    }
    if (!tx_fits(&dev->tx, class, bytes)) {
        udp_tx_flush(dev);
        if (!tx_fits(&dev->tx, class, bytes)) {
            dev->stats[AM_DEV_STAT_TX_AGAIN]++;
            return AM_ERR_AGAIN;
        }
    }
    return AM_OK;
}

/* The packet is written behind its header: count it, and off it goes. */
static void tx_commit(struct udp_ep *ep, uint32_t class, uint8_t *at,
                      size_t hdr_bytes, size_t data_bytes)
{
    struct udp_dev *dev = udp_dev_of(ep->base.dev);

    tx_mark(dev, ep, class == AM_DEV_REPLY ? UDP_FLAG_REPLY : 0, at,
            UDP_HDR_BYTES + hdr_bytes + data_bytes, hdr_bytes);
    dev->stats[AM_DEV_STAT_TX_PACKETS]++;
    dev->stats[AM_DEV_STAT_TX_BYTES] += hdr_bytes + data_bytes;
    dev->stats[AM_DEV_STAT_COPY_BYTES] += hdr_bytes + data_bytes;
    udp_direct_count(dev, ep);
    if (!dev->base.more && !dev->polling) {
        udp_tx_flush(dev);
    }
}

am_status_t udp_send(struct am_dev_ep *base, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes)
{
    struct udp_ep *ep = udp_ep_of(base);
    am_status_t status = tx_reserve(base, class, hdr_bytes, data_bytes);
    uint8_t *at;

    if (status != AM_OK) {
        return status;
    }
    at = tx_take(udp_dev_of(base->dev), ep,
                 (uint32_t)(UDP_HDR_BYTES + hdr_bytes + data_bytes));
    memcpy(at + UDP_HDR_BYTES, hdr, hdr_bytes);
    if (data_bytes > 0) {
        memcpy(at + UDP_HDR_BYTES + hdr_bytes, data, data_bytes);
    }
    tx_commit(ep, class, at, hdr_bytes, data_bytes);
    return AM_OK;
}

am_status_t udp_send_fill(struct am_dev_ep *base, uint32_t class,
                          const void *hdr, size_t hdr_bytes,
                          am_dev_fill_fn fill, void *arg, size_t data_bytes)
{
    struct udp_ep *ep = udp_ep_of(base);
    am_status_t status = tx_reserve(base, class, hdr_bytes, data_bytes);
    uint8_t *at;

    if (status != AM_OK) {
        return status;
    }
    at = tx_take(udp_dev_of(base->dev), ep,
                 (uint32_t)(UDP_HDR_BYTES + hdr_bytes + data_bytes));
    memcpy(at + UDP_HDR_BYTES, hdr, hdr_bytes);
    if (data_bytes > 0) {
        fill(arg, at + UDP_HDR_BYTES + hdr_bytes, data_bytes);
    }
    tx_commit(ep, class, at, hdr_bytes, data_bytes);
    return AM_OK;
}

void udp_tx_control(struct udp_ep *ep, uint8_t flag)
{
    struct udp_dev *dev = udp_dev_of(ep->base.dev);
    uint8_t *at;

    if (!udp_is_open(dev) ||
        !tx_fits(&dev->tx, AM_DEV_REQUEST, UDP_HDR_BYTES)) {
        return;
    }
    at = tx_take(dev, ep, (uint32_t)UDP_HDR_BYTES);
    tx_mark(dev, ep, flag, at, UDP_HDR_BYTES, 0);
    if (!dev->polling) {
        udp_tx_flush(dev);
    }
}

bool udp_reply_ready(struct am_dev_ep *base)
{
    struct udp_dev *dev = udp_dev_of(base->dev);

    if (tx_fits(&dev->tx, AM_DEV_REPLY, UDP_DATAGRAM_MAX)) {
        return true;
    }
    udp_tx_flush(dev);
    return tx_fits(&dev->tx, AM_DEV_REPLY, UDP_DATAGRAM_MAX);
}

bool udp_drained(struct am_dev *base)
{
    return udp_dev_of(base)->tx.run_end == 0;
}

/* ----------------------------------------------------------- to the kernel */

static int fd_to(const struct udp_dev *dev, const struct udp_ep *ep)
{
    return dev->socks[ep == dev->direct.to ? UDP_DIRECT : UDP_ALL].fd;
}

/* The connected socket gets no address: with one the kernel would look up the way
 * again. */
static ssize_t datagram_send(const struct udp_dev *dev, const struct udp_ep *ep,
                             const void *at, size_t bytes)
{
    return ep == dev->direct.to ? send(dev->socks[UDP_DIRECT].fd, at, bytes, 0)
                                : sendto(dev->socks[UDP_ALL].fd, at, bytes, 0,
                                         &ep->to.any, ep->to_bytes);
}

/* One run as messages of one datagram each, from where it stands: false when
 * the kernel has no space for the rest. */
static bool run_send_singly(struct udp_dev *dev, struct udp_run *run)
{
    while (run->count > 0) {
        uint32_t bytes = run->bytes < run->segment_bytes ? run->bytes
                                                         : run->segment_bytes;

        if (datagram_send(dev, run->ep, dev->tx.memory + run->offset, bytes) <
            0) {
            if (errno == EAGAIN || errno == EWOULDBLOCK) {
                return false;
            }
            dev->stats[AM_DEV_STAT_TX_LOST]++;
        }
        run->offset += bytes;
        run->bytes -= bytes;
        run->count--;
    }
    return true;
}

/* The first run was refused for another reason than space; errno says which.
 * It is sent once more, in pieces if it has several (the path may take less
 * than the interface, or the interface may not cut); what is refused then is
 * lost, as by the network.  False: no space. */
static __attribute__((noinline)) bool run_refused(struct udp_dev *dev)
{
    struct udp_run *run = &dev->tx.runs[dev->tx.run_first];

    if (errno == EIO && run->count > 1) {
        dev->segments = false;
    }
    udp_errors_read(dev); /* an answer to an earlier packet is told here, too */
    return run_send_singly(dev, run);
}

/* The messages of the runs that wait and go by the same socket; their count. */
static uint32_t messages_make(
        struct udp_dev *dev, struct mmsghdr *messages, struct iovec *pieces,
        uint8_t (*controls)[CMSG_SPACE(sizeof(uint16_t))])
{
    struct udp_tx *tx = &dev->tx;
    bool direct = tx->runs[tx->run_first].ep == dev->direct.to;
    uint32_t count = 0;

    for (uint32_t i = tx->run_first; i < tx->run_end; i++, count++) {
        struct udp_run *run = &tx->runs[i];
        struct msghdr *message = &messages[count].msg_hdr;

        if ((run->ep == dev->direct.to) != direct) {
            break;
        }
        pieces[count] = (struct iovec){tx->memory + run->offset, run->bytes};
        *message =
                (struct msghdr){.msg_name = direct ? NULL : &run->ep->to,
                                .msg_namelen = direct ? 0 : run->ep->to_bytes,
                                .msg_iov = &pieces[count],
                                .msg_iovlen = 1};
        if (run->count > 1) {
            uint16_t segment_bytes = (uint16_t)run->segment_bytes;
            struct cmsghdr *control = (struct cmsghdr *)controls[count];

            control->cmsg_level = IPPROTO_UDP;
            control->cmsg_type = UDP_SEGMENT;
            control->cmsg_len = CMSG_LEN(sizeof(segment_bytes));
            memcpy(CMSG_DATA(control), &segment_bytes, sizeof(segment_bytes));
            message->msg_control = control;
            message->msg_controllen = CMSG_SPACE(sizeof(segment_bytes));
        }
    }
    return count;
}

/* The one datagram that waits, by the shortest way; false when there are more, or
 * it cannot go so. */
static bool flush_one(struct udp_dev *dev)
{
    struct udp_tx *tx = &dev->tx;
    const struct udp_run *run = &tx->runs[tx->run_first];

    if (tx->run_end != 1 || tx->run_first != 0 || run->count != 1 ||
        datagram_send(dev, run->ep, tx->memory + run->offset, run->bytes) < 0) {
        return false;
    }
    tx->bytes = tx->run_end = 0;
    return true;
}

void udp_tx_flush(struct udp_dev *dev)
{
    struct udp_tx *tx = &dev->tx;
    struct mmsghdr messages[UDP_TX_RUNS];
    struct iovec pieces[UDP_TX_RUNS];
    _Alignas(8) uint8_t controls[UDP_TX_RUNS][CMSG_SPACE(sizeof(uint16_t))];

    if (flush_one(dev)) {
        return;
    }
    while (tx->run_first < tx->run_end) {
        uint32_t count = messages_make(dev, messages, pieces, controls);
        int sent = sendmmsg(fd_to(dev, tx->runs[tx->run_first].ep), messages,
                            count, 0);

        if (sent > 0) {
            tx->run_first += (uint32_t)sent;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK ||
                   !run_refused(dev)) {
            return; /* the rest goes by a later flush */
        } else {
            tx->run_first++;
        }
    }
    tx->bytes = tx->run_first = tx->run_end = 0;
}

void udp_tx_forget(struct udp_dev *dev, const struct udp_ep *ep)
{
    struct udp_tx *tx = &dev->tx;
    uint32_t end = tx->run_first;

    for (uint32_t i = tx->run_first; i < tx->run_end; i++) {
        if (tx->runs[i].ep != ep) {
            tx->runs[end++] = tx->runs[i];
        }
    }
    tx->run_end = end;
    if (tx->run_first == tx->run_end) {
        tx->bytes = tx->run_first = tx->run_end = 0;
    }
}
