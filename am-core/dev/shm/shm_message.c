/*
 * Messages over the abstract Unix sockets of the shm device, each with at most one
 * descriptor.
 */
#include "config.h"

#include "dev/shm/shm_message.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

uint32_t shm_socket_name(struct sockaddr_un *name, const char *what,
                         uint64_t nonce)
{
    memset(name, 0, sizeof(*name));
    name->sun_family = AF_UNIX;
    /* sun_path[0] == 0: the abstract name space */
    snprintf(name->sun_path + 1, sizeof(name->sun_path) - 1, "%s-%016llx",
             what, (unsigned long long)nonce);
    return (uint32_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                      strlen(name->sun_path + 1));
}

ssize_t shm_message_send(int socket, const void *bytes, size_t length, int fd)
{
    struct iovec iov = {(void *)(uintptr_t)bytes, length};

    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

    if (fd >= 0) {
        struct cmsghdr *header;

        message.msg_control = control.bytes;
        message.msg_controllen = sizeof(control.bytes);
        header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(header), &fd, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL);
}

/* The one descriptor that a message carries, or -1.  Of more, for which there is
 * room as the control data is padded, none is kept. */
static int message_descriptor(struct cmsghdr *header)
{
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    int fd = -1;

    for (size_t i = 0; i < count; i++) {
        memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
        if (count > 1) {
            close(fd);
            fd = -1;
        }
    }
    return fd;
}

ssize_t shm_message_receive(int socket, void *bytes, size_t length, int flags,
                            int *fd_p)
{
    struct iovec iov = {bytes, length};

    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = &iov,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof(control.bytes)};
    ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    struct cmsghdr *header;

    *fd_p = -1;
    if (got < 0) {
        return got;
    }
    header = CMSG_FIRSTHDR(&message);
    if (header != NULL && header->cmsg_level == SOL_SOCKET &&
        header->cmsg_type == SCM_RIGHTS) {
        *fd_p = message_descriptor(header);
    } else if ((message.msg_flags & MSG_CTRUNC) != 0) {
        *fd_p = SHM_NO_ROOM;
    }
    return got;
}
