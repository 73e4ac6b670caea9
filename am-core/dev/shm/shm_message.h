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
/* Receive a message; *fd_p is the descriptor that it carried, which is then the
 * caller's, or -1; as recvmsg. */
ssize_t shm_message_receive(int socket, void *bytes, size_t length, int *fd_p);

#endif
