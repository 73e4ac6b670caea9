/*
 * Messages over the abstract Unix sockets of the shm device, each with at most one
 * descriptor.  None of the calls waits.
 */
#ifndef AM_DEV_SHM_SHM_MESSAGE_H
#define AM_DEV_SHM_SHM_MESSAGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

/* The abstract name of a socket of the context with this nonce; its length. */
uint32_t shm_socket_name(struct sockaddr_un *name, const char *what,
                         uint64_t nonce);
/* Send a message with, if fd >= 0, a descriptor; as sendmsg. */
ssize_t shm_message_send(int socket, const void *bytes, size_t length, int fd);
#define SHM_NO_ROOM (-2) /* for a descriptor: this process may have no more */

/* Receive a message, as recvmsg with `flags`; *fd_p is the descriptor that it
 * carried, which is then the caller's, SHM_NO_ROOM, or -1.  With MSG_PEEK the message
 * can be received once more, with another descriptor of the same. */
ssize_t shm_message_receive(int socket, void *bytes, size_t length, int flags,
                            int *fd_p);

#endif
