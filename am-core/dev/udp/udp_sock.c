/*
 * The sockets: bound to the interface's address, never blocking.
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
    int fd = dev->socks[UDP_ALL].fd;
    uint16_t first, last;
    uint32_t port;

    (void)udp_ports_parse(dev->config.ports, &first, &last);
    for (port = first; port <= last; port++) {
        port_set(&dev->bound, (uint16_t)port);
        if (bind(fd, &dev->bound.any, dev->bound_bytes) == 0) {
            return getsockname(fd, &dev->bound.any, &dev->bound_bytes);
        }
        if (errno != EADDRINUSE) {
            return -1;
        }
    }
    return -1;
}

/* Room for what comes while nobody polls: more than the system's limit where
 * that is allowed. */
static void buffers_set(int fd, size_t buffer_bytes)
{
    int bytes = (int)buffer_bytes;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) !=
        0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) !=
        0) {
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
    }
}

void udp_runs_set(struct udp_sock *sock, bool on)
{
    int value = on;

    if (setsockopt(sock->fd, IPPROTO_UDP, UDP_GRO, &value, sizeof(value)) ==
        0) {
        sock->runs = on;
    }
}

/* A path that takes less than the interface is found by the kernel, which then
 * cuts the packets itself; it says which of them were refused. */
static void path_set(int fd, bool v4)
{
    int on = 1, want = IP_PMTUDISC_WANT;

    if (v4) {
        (void)setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &want, sizeof(want));
        (void)setsockopt(fd, IPPROTO_IP, IP_RECVERR, &on, sizeof(on));
    } else {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &want,
                         sizeof(want));
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_RECVERR, &on, sizeof(on));
    }
}

bool udp_sock_make(const struct udp_dev *dev, struct udp_sock *sock)
{
    *sock = (struct udp_sock){
            .fd = socket(dev->bound.any.sa_family,
                         SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (sock->fd < 0) {
        return false;
    }
    path_set(sock->fd, dev->bound.any.sa_family == AF_INET);
    buffers_set(sock->fd, dev->config.buffer_bytes);
    udp_runs_set(sock, true);
    return true;
}

void udp_sock_close(struct udp_sock *sock)
{
    if (sock->fd >= 0) {
        close(sock->fd);
    }
    sock->fd = -1;
}

/* What the kernel does with the first socket, it does with all. */
static void abilities_get(struct udp_dev *dev)
{
    int fd = dev->socks[UDP_ALL].fd, segment = 0, buffer = 0;
    socklen_t bytes = sizeof(segment);

    dev->segments =
            getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment, &bytes) == 0;
    dev->coalesces = dev->socks[UDP_ALL].runs;
    bytes = sizeof(buffer);
    (void)getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, &bytes);
    dev->socket_bytes = (size_t)buffer;
}

am_status_t udp_socket_open(struct udp_dev *dev, const struct udp_if *on,
                            char *error, size_t error_bytes)
{
    dev->bound = on->address;
    dev->bound_bytes = on->address_bytes;
    dev->mtu_bytes = on->mtu_bytes;
    snprintf(dev->interface, sizeof(dev->interface), "%s", on->name);
    if (!udp_sock_make(dev, &dev->socks[UDP_ALL])) {
        snprintf(error, error_bytes, "udp: cannot open a socket: %m");
        return AM_ERR_SYSTEM;
    }
    if (bind_any_of(dev) != 0) {
        snprintf(error, error_bytes,
                 "udp: cannot bind a socket on %s (AM_UDP_PORTS is %s): %m",
                 dev->interface, dev->config.ports);
        udp_sock_close(&dev->socks[UDP_ALL]);
        return AM_ERR_SYSTEM;
    }
    abilities_get(dev);
    return AM_OK;
}
