/*
 * How a segment's descriptor gets to the processes that map it: over abstract
 * Unix sockets (no file, so nothing to leave behind), with the kernel's word
 * for the sender's user.
 *
 *   job:   rank k  --FETCH(index, nonce)-->  leader (lowest local rank)
 *                  <------- descriptor -----
 *   late:  A       --OFFER(nonce) + descriptor of the pair's segment-->  B
 *
 * All of it is driven from poll and never blocks, so that contexts that share
 * one thread can connect to each other.
 */
#include "config.h"

#include "dev/shm/shm.h"
#include "dev/shm/shm_message.h"
#include "dev/shm/shm_wait.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define SHM_HELLO_MAGIC 0x616d6869u /* "amhi" */

enum {
    SHM_FETCH = 1,
    SHM_OFFER = 2
};

struct shm_hello {
    uint32_t magic, kind;
    uint32_t index; /* FETCH: the sender's local index */
    uint32_t pid;
    uint64_t nonce; /* of the sender */
    uint64_t to;    /* nonce of the one it means */
    uint64_t start; /* of the sender's process: shm_process_start */
};

am_status_t shm_listen(struct shm_dev *dev)
{
    struct sockaddr_un name;
    socklen_t length = shm_socket_name(&name, "libam", dev->nonce);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&name, length) != 0 ||
        listen(fd, SOMAXCONN) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return AM_ERR_SYSTEM;
    }
    dev->listener = fd;
    return AM_OK;
}

/* The process at the other end, by the kernel's word; 0 when it is another
 * user's. */
static uint32_t same_user(int socket)
{
    struct ucred cred;
    socklen_t length = sizeof(cred);

    return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &length) == 0 &&
                           cred.uid == geteuid()
                   ? (uint32_t)cred.pid
                   : 0;
}

static int socket_connect(uint64_t nonce)
{
    struct sockaddr_un name;
    socklen_t length = shm_socket_name(&name, "libam", nonce);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int saved;

    if (fd < 0) {
        return -1;
    }
    if (connect(fd, (struct sockaddr *)&name, length) == 0) {
        if (same_user(fd) != 0) {
            return fd;
        }
        errno = EACCES;
    }
    saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

void shm_fetch(struct shm_dev *dev)
{
    struct shm_hello hello = {SHM_HELLO_MAGIC, SHM_FETCH,  dev->local_index,
                              dev->pid,        dev->nonce, dev->locals[0].nonce,
                              dev->start};

    dev->socket_mask = 7;
    dev->leader_socket = socket_connect(dev->locals[0].nonce);
    if (dev->leader_socket < 0) {
        if (errno == ECONNREFUSED) { /* it listened when it gave its address */
            dev->locals[0].cut = "it has closed, or failed to open, before it "
                                 "gave this rank the job's shared memory";
        }
        return; /* its queue is full: serve tries again */
    }
    if (shm_message_send(dev->leader_socket, &hello, sizeof(hello), -1) < 0) {
        close(dev->leader_socket);
        dev->leader_socket = -1;
    }
}

/* Has the leader sent the descriptor? */
static void fetch_continue(struct shm_dev *dev)
{
    struct shm_seg *seg;
    char byte;
    int fd;
    ssize_t got;

    if (dev->locals[0].cut != NULL || dev->base.error != NULL) {
        return; /* nothing will come of it */
    }
    if (dev->leader_socket < 0) {
        shm_fetch(dev);
        return;
    }
    got = shm_message_receive(dev->leader_socket, &byte, 1, 0, &fd);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return;
    }
    close(dev->leader_socket);
    dev->leader_socket = -1;
    if (got == 1 && fd >= 0) {
        am_status_t status =
                shm_seg_attach(dev, fd, dev->local_count, dev->local_index,
                               dev->locals[0].nonce, &seg);

        if (status == AM_OK) {
            shm_job_ready(dev, seg);
            dev->socket_mask = 4095;
        }
        if (status == AM_ERR_PEER) {
            dev->locals[0].cut =
                    "what it passed is no shared memory of this job";
        }
    }
    if (fd >= 0) {
        close(fd);
    }
}

am_status_t shm_offer(struct shm_dev *dev, const struct shm_address *to, int fd)
{
    struct shm_hello hello = {SHM_HELLO_MAGIC, SHM_OFFER, 0,         dev->pid,
                              dev->nonce,      to->nonce, dev->start};
    int socket = socket_connect(to->nonce);
    am_status_t status = AM_OK;

    if (socket < 0) {
        am_log(dev->log, AM_LOG_ERROR, "shm: no process %u to connect to: %m",
               to->pid);
        return AM_ERR_PEER;
    }
    if (shm_message_send(socket, &hello, sizeof(hello), fd) < 0) {
        am_log(dev->log, AM_LOG_ERROR, "shm: connecting to process %u: %m",
               to->pid);
        status = AM_ERR_PEER;
    }
    close(socket);
    return status;
}

/* A process of the job asks for the segment. */
static void serve_fetch(struct shm_dev *dev, int socket,
                        const struct shm_hello *hello)
{
    if (dev->job == NULL || dev->job->fd < 0 || hello->index == 0 ||
        hello->index >= dev->local_count ||
        hello->nonce != dev->locals[hello->index].nonce ||
        shm_message_send(socket, "", 1, dev->job->fd) < 0) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
    }
}

/* Who has mapped the segment needs its descriptor no more; before that a rank
 * may ask again.  When all have, nobody will. */
static void job_look(struct shm_dev *dev)
{
    struct shm_seg *job = dev->job;

    while (dev->served_count < dev->local_count - 1 &&
           atomic_load(&shm_seg_rank(job, dev->served_count + 1)->pid) != 0) {
        dev->served_count++;
    }
    if (dev->served_count == dev->local_count - 1) {
        close(job->fd);
        job->fd = -1;
        dev->socket_mask = 4095;
    }
}

/* An offer that this process has no room for waits until there is.  It says so
 * once, not at each try. */
static bool offer_waits(struct shm_dev *dev, const struct shm_hello *hello,
                        const char *why)
{
    if (!dev->offer_waits) {
        am_log(dev->log, AM_LOG_WARN,
               "shm: process %u connects and has to wait: %s", hello->pid, why);
    }
    dev->offer_waits = true;
    return false;
}

/* False: it has to be served later. */
static bool serve_offer(struct shm_dev *dev, int socket,
                        const struct shm_hello *hello, int fd)
{
    struct shm_seg *seg;
    am_status_t status;

    if (fd == SHM_NO_ROOM) {
        return offer_waits(dev, hello, "no descriptor is free (ulimit -n)");
    }
    if (fd < 0) {
        return true;
    }
    status = shm_seg_attach(dev, fd, 2, 1, hello->nonce, &seg);
    if (status == AM_ERR_MEMORY) {
        dev->base.error = NULL; /* nobody asked for this one */
        return offer_waits(dev, hello, dev->error);
    }
    dev->offer_waits = false;
    if (status == AM_OK) {
        seg->maker_pid = same_user(socket);
        seg->maker_start = hello->start;
        shm_seg_add(dev, seg);
    }
    return true;
}

/* Has the visitor said what it wants, and got it?  Its hello may come later
 * than its connection: the other process can lose its core between the two.  The
 * hello stays in the socket, with the descriptor, until it is served; then it is
 * taken out, as the close of a socket that has unread messages is an error to the
 * other process, in the place of what was sent to it. */
static bool visitor_served(struct shm_dev *dev, int socket)
{
    struct shm_hello hello;
    bool served = true;
    int fd;
    ssize_t got = shm_message_receive(socket, &hello, sizeof(hello), MSG_PEEK,
                                      &fd);

    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
        return false;
    }
    if (got == (ssize_t)sizeof(hello) && hello.magic == SHM_HELLO_MAGIC &&
        hello.to == dev->nonce) {
        if (hello.kind == SHM_FETCH) {
            serve_fetch(dev, socket, &hello);
        } else if (hello.kind == SHM_OFFER) {
            served = serve_offer(dev, socket, &hello, fd);
        }
    } else {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (served) {
        (void)recv(socket, &hello, sizeof(hello), 0);
    }
    return served;
}

static void visitors_serve(struct shm_dev *dev)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < dev->visitor_count; i++) {
        if (visitor_served(dev, dev->visitors[i])) {
            close(dev->visitors[i]);
        } else {
            dev->visitors[kept++] = dev->visitors[i];
        }
    }
    dev->visitor_count = kept;
}

/* Strangers have no say; of those who say nothing the oldest gives way. */
static void visitor_add(struct shm_dev *dev, int socket)
{
    if (same_user(socket) == 0) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        close(socket);
        return;
    }
    if (dev->visitor_count == SHM_VISITORS) {
        visitors_serve(dev);
    }
    if (dev->visitor_count == SHM_VISITORS) {
        dev->stats[AM_DEV_STAT_RX_BAD]++;
        close(dev->visitors[0]);
        memmove(dev->visitors, dev->visitors + 1,
                (SHM_VISITORS - 1) * sizeof(dev->visitors[0]));
        dev->visitor_count--;
    }
    dev->visitors[dev->visitor_count++] = socket;
}

static void visitors_let_in(struct shm_dev *dev)
{
    int socket;

    while ((socket = accept4(dev->listener, NULL, NULL,
                             SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        visitor_add(dev, socket);
    }
    visitors_serve(dev);
}

void shm_sockets_serve(struct shm_dev *dev)
{
    if (dev->local_count > 1 && dev->local_index != 0 && dev->job == NULL) {
        fetch_continue(dev);
    }
    if (dev->listener < 0) {
        return;
    }
    visitors_let_in(dev);
    if (dev->job != NULL && dev->job->fd >= 0) {
        job_look(dev);
    }
}

/* Whoever has offered a segment by now is told in it that this process closes:
 * the end of a process that did not is taken for its death.  Whoever comes later
 * is refused.  A child of fork has its parent's socket and lets it be. */
void shm_sockets_close(struct shm_dev *dev)
{
    if (dev->listener >= 0) {
        if (!dev->forked) {
            (void)shutdown(dev->listener, SHUT_RD);
            visitors_let_in(dev);
        }
        close(dev->listener);
    }
    for (uint32_t i = 0; i < dev->visitor_count; i++) {
        close(dev->visitors[i]);
    }
    if (dev->leader_socket >= 0) {
        close(dev->leader_socket);
    }
    shm_bell_close(dev);
}
