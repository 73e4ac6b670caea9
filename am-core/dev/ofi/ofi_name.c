/*
 * Addresses of providers: as text, and whether who had one is surely gone.
 *
 * A provider over TCP does not tell that a peer's process has ended: it tries to
 * connect again for ever.  But a host refuses connections to a port that nobody
 * listens on, which this file asks it directly.  The provider shm has the
 * number of the process in its addresses.
 */
#include "config.h"

#include "dev/ofi/ofi.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

union name {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    char text[OFI_NAME_MAX + 1];
};

/* False: it is not as long as addresses of its form are. */
static bool name_take(const struct ofi_dev *dev, const uint8_t *name,
                      size_t bytes, union name *copy)
{
    memset(copy, 0, sizeof(*copy));
    if (bytes > OFI_NAME_MAX) {
        return false;
    }
    memcpy(copy, name, bytes);
    switch (dev->info->addr_format) {
    case FI_SOCKADDR_IN:
        return bytes >= sizeof(copy->v4) && copy->any.sa_family == AF_INET;
    case FI_SOCKADDR_IN6:
        return bytes >= sizeof(copy->v6) && copy->any.sa_family == AF_INET6;
    default:
        return true;
    }
}

static bool is_ip(const struct ofi_dev *dev)
{
    return dev->info->addr_format == FI_SOCKADDR_IN ||
           dev->info->addr_format == FI_SOCKADDR_IN6;
}

const char *ofi_name_text(const struct ofi_dev *dev, const uint8_t *name,
                          size_t name_bytes, char *text, size_t bytes)
{
    char ip[INET6_ADDRSTRLEN] = "?";
    union name copy;
    size_t length = 0;

    if (name_take(dev, name, name_bytes, &copy) && is_ip(dev)) {
        bool v4 = copy.any.sa_family == AF_INET;

        (void)inet_ntop(copy.any.sa_family,
                        v4 ? (void *)&copy.v4.sin_addr
                           : (void *)&copy.v6.sin6_addr,
                        ip, sizeof(ip));
        snprintf(text, bytes, "%s port %u", ip,
                 ntohs(v4 ? copy.v4.sin_port : copy.v6.sin6_port));
    } else if (dev->info->addr_format == FI_ADDR_STR) {
        snprintf(text, bytes, "%s", copy.text);
    } else {
        for (size_t i = 0; i < name_bytes && length + 3 <= bytes; i++) {
            length += (size_t)snprintf(text + length, bytes - length, "%02x",
                                       name[i]);
        }
    }
    return text;
}

bool ofi_name_is_loopback(uint32_t format, const void *name)
{
    union name copy;

    switch (format) {
    case FI_SOCKADDR_IN:
        memcpy(&copy.v4, name, sizeof(copy.v4));
        return ntohl(copy.v4.sin_addr.s_addr) >> 24 == 127;
    case FI_SOCKADDR_IN6:
        memcpy(&copy.v6, name, sizeof(copy.v6));
        return IN6_IS_ADDR_LOOPBACK(&copy.v6.sin6_addr);
    default:
        return false;
    }
}

/* Begin to connect, or see how it went; the connection is not used. */
static bool port_is_closed(const union name *name, int *fd_p)
{
    struct pollfd look = {.events = POLLOUT};
    socklen_t bytes = name->any.sa_family == AF_INET ? sizeof(name->v4)
                                                     : sizeof(name->v6);
    int error = 0;
    socklen_t error_bytes = sizeof(error);

    if (*fd_p < 0) {
        *fd_p = socket(name->any.sa_family,
                       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (*fd_p < 0) {
            return false;
        }
        error = connect(*fd_p, &name->any, bytes) == 0 ? 0 : errno;
    } else {
        look.fd = *fd_p;
        error = EINPROGRESS;
        if (poll(&look, 1, 0) == 1 &&
            getsockopt(*fd_p, SOL_SOCKET, SO_ERROR, &error, &error_bytes) !=
                    0) {
            error = 0;
        }
    }
    if (error != EINPROGRESS) {
        close(*fd_p);
        *fd_p = -1;
    }
    return error == ECONNREFUSED;
}

static bool process_has_ended(uint32_t pid)
{
    struct pollfd look = {.events = POLLIN};
    bool ended;

    look.fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (look.fd < 0) {
        return errno == ESRCH;
    }
    ended = poll(&look, 1, 0) == 1;
    close(look.fd);
    return ended;
}

bool ofi_name_is_gone(const struct ofi_dev *dev, const uint8_t *name,
                      size_t name_bytes, int *fd_p)
{
    union name copy;
    unsigned long pid;

    if (!name_take(dev, name, name_bytes, &copy)) {
        return false;
    }
    if (is_ip(dev)) {
        return port_is_closed(&copy, fd_p);
    }
    if (dev->info->addr_format != FI_ADDR_STR ||
        strncmp(copy.text, OFI_SHM_PREFIX, strlen(OFI_SHM_PREFIX)) != 0) {
        return false;
    }
    pid = strtoul(copy.text + strlen(OFI_SHM_PREFIX), NULL, 10);
    if (pid == 0 || pid >= UINT32_MAX || !process_has_ended((uint32_t)pid)) {
        return false;
    }
    /* who was killed could not remove its file */
    (void)shm_unlink(copy.text + strlen(OFI_SHM_PREFIX));
    return true;
}
