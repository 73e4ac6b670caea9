/*
 * The second socket.  A call that sends by a socket that is connected to a peer
 * takes less than one that names the peer: the kernel does not look up the way
 * again.  So while nearly all packets go to one peer, this socket, which has the
 * same port, is connected to that one.
 *
 *   vote   `enough` more to the favourite   connect (open it first)
 *   vote   an eighth as many to others      park; another favourite
 *   end of the peer                         park
 *   check  parked for 0.1 s, empty          close
 *
 * Nothing is lost between the sockets.  The kernel gives a datagram to the socket
 * that is connected to its sender, else to the one that is not connected
 * (compute_score in Linux); what comes between bind and connect goes to
 * either, whoever sends it.  So both are read, both may hold datagrams of any
 * peer, and one that is to hear nobody is connected to the context itself rather
 * than closed, as a datagram could be under way to it.
 *
 * Two sockets have one port where both allow it (SO_REUSEPORT).  They do while
 * bind is called, and a socket that asks for a port of its own, of this program
 * or another one, is refused that one even then.
 */
#include "config.h"

#include "dev/udp/udp.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#define ENOUGH_FIRST 256   /* packets that pay for system calls of 20 us */
#define ENOUGH_MAX   65536 /* doubled by each connect, as favourites change */
#define AGAINST      8     /* votes that one for another peer outweighs */
#define PARKED_PS    UINT64_C(100000000000) /* 0.1 s */

void udp_direct_init(struct udp_dev *dev)
{
    dev->socks[UDP_DIRECT].fd = -1;
    dev->direct = (struct udp_direct){.enough = ENOUGH_FIRST, .epoll = -1};
}

static void direct_close(struct udp_dev *dev)
{
    struct udp_sock *sock = &dev->socks[UDP_DIRECT];

    if (sock->fd >= 0 && dev->direct.epoll >= 0) {
        (void)epoll_ctl(dev->direct.epoll, EPOLL_CTL_DEL, sock->fd, NULL);
    }
    udp_sock_close(sock);
    dev->direct.to = NULL;
    dev->turn = UDP_ALL;
}

void udp_direct_close(struct udp_dev *dev)
{
    /* Not out of the epoll, which this may share with the parent of a fork: the
     * socket goes with its last descriptor. */
    udp_sock_close(&dev->socks[UDP_DIRECT]);
    if (dev->direct.epoll >= 0) {
        close(dev->direct.epoll);
    }
    udp_direct_init(dev);
    dev->turn = UDP_ALL;
}

/* ---------------------------------------------------------------- the socket */

static void shares_set(const struct udp_dev *dev, bool on)
{
    int value = on;

    for (uint32_t i = 0; i < UDP_SOCKS; i++) {
        (void)setsockopt(dev->socks[i].fd, SOL_SOCKET, SO_REUSEPORT, &value,
                         sizeof(value));
    }
}

static bool direct_open(struct udp_dev *dev)
{
    struct udp_sock *sock = &dev->socks[UDP_DIRECT];
    bool done;

    if (!udp_sock_make(dev, sock)) {
        return false;
    }
    shares_set(dev, true);
    done = bind(sock->fd, &dev->bound.any, dev->bound_bytes) == 0;
    shares_set(dev, false);
    return done && (dev->direct.epoll < 0 ||
                    am_dev_watch_fd(dev->direct.epoll, sock->fd) == AM_OK);
}

static void direct_connect(struct udp_dev *dev, struct udp_ep *ep)
{
    struct udp_sock *sock = &dev->socks[UDP_DIRECT];

    if ((sock->fd < 0 && !direct_open(dev)) ||
        connect(sock->fd, &ep->to.any, ep->to_bytes) != 0) {
        direct_close(dev);
        dev->direct.enough = 0;
        return;
    }
    dev->direct.to = ep;
    if (dev->direct.enough < ENOUGH_MAX) {
        dev->direct.enough *= 2;
    }
}

/* Let the socket hear nobody. */
static void direct_park(struct udp_dev *dev)
{
    dev->direct.to = NULL;
    dev->direct.parked_ps = am_env_now(dev->env);
    if (connect(dev->socks[UDP_DIRECT].fd, &dev->bound.any, dev->bound_bytes) !=
        0) {
        direct_close(dev);
    }
}

void udp_direct_check(struct udp_dev *dev, uint64_t now_ps)
{
    const struct udp_sock *sock = &dev->socks[UDP_DIRECT];
    char byte;

    if (sock->fd >= 0 && dev->direct.to == NULL &&
        now_ps - dev->direct.parked_ps >= PARKED_PS &&
        recv(sock->fd, &byte, sizeof(byte), MSG_PEEK) < 0 && errno == EAGAIN) {
        direct_close(dev);
    }
}

/* ------------------------------------------------------------------ for whom */

void udp_direct_vote(struct udp_dev *dev, struct udp_ep *ep)
{
    struct udp_direct *direct = &dev->direct;

    if (direct->enough == 0) {
        return;
    }
    if (ep == direct->favourite) {
        direct->score++;
        if (direct->score >= direct->enough && direct->to == NULL) {
            direct_connect(dev, ep);
        }
    } else if (direct->score > AGAINST) {
        direct->score -= AGAINST;
    } else {
        if (direct->to != NULL) {
            direct_park(dev);
        }
        direct->favourite = ep;
        direct->score = 1;
    }
}

void udp_direct_forget(struct udp_dev *dev, const struct udp_ep *ep)
{
    struct udp_direct *direct = &dev->direct;

    if (ep == direct->to) {
        direct_park(dev);
    }
    if (ep == direct->favourite) {
        direct->favourite = NULL;
        direct->score = 0;
    }
}

am_status_t udp_direct_watch(struct udp_dev *dev, int epoll)
{
    struct udp_direct *direct = &dev->direct;

    if (am_dev_watch_fd(epoll, dev->socks[UDP_ALL].fd) != AM_OK ||
        (dev->socks[UDP_DIRECT].fd >= 0 &&
         am_dev_watch_fd(epoll, dev->socks[UDP_DIRECT].fd) != AM_OK)) {
        return AM_ERR_SYSTEM;
    }
    /* A descriptor of its own: whose the other one is may close that first. */
    direct->epoll = fcntl(epoll, F_DUPFD_CLOEXEC, 0);
    return direct->epoll < 0 ? AM_ERR_SYSTEM : AM_OK;
}
