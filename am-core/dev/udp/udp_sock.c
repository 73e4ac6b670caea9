/*
 * The socket: one for each context, bound to the interface's address, never
 * blocking.
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef UDP_SEGMENT /* Linux 4.18, 5.0 */
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

bool udp_ports_parse(const char *text, uint16_t *first_p, uint16_t *last_p)
{
    unsigned long first, last;
    char *end;

    *first_p = *last_p = 0;
    if (strcmp(text, "any") == 0) {
        return true;
    }
    if (text[0] < '0' || text[0] > '9') {
        return false;
    }
    first = last = strtoul(text, &end, 10);
    if (*end == '-' && end[1] >= '0' && end[1] <= '9') {
        last = strtoul(end + 1, &end, 10);
    }
    if (*end != '\0' || first < 1 || last < first || last > UINT16_MAX) {
        return false;
    }
    *first_p = (uint16_t)first;
    *last_p = (uint16_t)last;
    return true;
}

static void port_set(union udp_sockaddr *address, uint16_t port)
{
    if (address->any.sa_family == AF_INET) {
        address->v4.sin_port = htons(port);
    } else {
        address->v6.sin6_port = htons(port);
    }
}

static int bind_any_of(struct udp_dev *dev)
{
    uint16_t first, last;
    uint32_t port;

    (void)udp_ports_parse(dev->config.ports, &first, &last);
    for (port = first; port <= last; port++) {
        port_set(&dev->bound, (uint16_t)port);
        if (bind(dev->fd, &dev->bound.any, dev->bound_bytes) == 0) {
            return getsockname(dev->fd, &dev->bound.any, &dev->bound_bytes);
        }
        if (errno != EADDRINUSE) {
            return -1;
        }
    }
    return -1;
}

/* Room for what comes while nobody polls: more than the system's limit where
 * that is allowed. */
static void buffers_set(struct udp_dev *dev)
{
    int bytes = (int)dev->config.buffer_bytes;
    socklen_t length = sizeof(bytes);

    if (setsockopt(dev->fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes,
                   sizeof(bytes)) != 0) {
        (void)setsockopt(dev->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    }
    if (setsockopt(dev->fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes,
                   sizeof(bytes)) != 0) {
        (void)setsockopt(dev->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    }
    (void)getsockopt(dev->fd, SOL_SOCKET, SO_RCVBUF, &bytes, &length);
    dev->socket_bytes = (size_t)bytes;
}

void udp_runs_set(struct udp_dev *dev, bool on)
{
    int value = on;

    if (setsockopt(dev->fd, IPPROTO_UDP, UDP_GRO, &value, sizeof(value)) == 0) {
        dev->rx.runs = on;
    }
}

static void options_set(struct udp_dev *dev)
{
    bool v4 = dev->bound.any.sa_family == AF_INET;
    int on = 1, want = IP_PMTUDISC_WANT, segment = 0;
    socklen_t bytes = sizeof(segment);

    /* A path that takes less than the interface is found by the kernel, which
     * then cuts the packets itself. */
    if (v4) {
        (void)setsockopt(dev->fd, IPPROTO_IP, IP_MTU_DISCOVER, &want,
                         sizeof(want));
        (void)setsockopt(dev->fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
    } else {
        (void)setsockopt(dev->fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &want,
                         sizeof(want));
        (void)setsockopt(dev->fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
    }
    dev->segments = getsockopt(dev->fd, IPPROTO_UDP, UDP_SEGMENT, &segment,
                               &bytes) == 0;
    udp_runs_set(dev, true);
    dev->coalesces = dev->rx.runs;
    buffers_set(dev);
}

am_status_t udp_socket_open(struct udp_dev *dev, const struct udp_if *on,
                            char *error, size_t error_bytes)
{
    dev->bound = on->address;
    dev->bound_bytes = on->address_bytes;
    dev->mtu_bytes = on->mtu_bytes;
    snprintf(dev->interface, sizeof(dev->interface), "%s", on->name);
    dev->fd = socket(dev->bound.any.sa_family,
                     SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (dev->fd < 0) {
        snprintf(error, error_bytes, "udp: cannot open a socket: %m");
        return AM_ERR_SYSTEM;
    }
    if (bind_any_of(dev) != 0) {
        snprintf(error, error_bytes,
                 "udp: cannot bind a socket on %s (AM_UDP_PORTS is %s): %m",
                 dev->interface, dev->config.ports);
        close(dev->fd);
        dev->fd = -1;
        return AM_ERR_SYSTEM;
    }
    options_set(dev);
    return AM_OK;
}
