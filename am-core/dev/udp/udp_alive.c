/*
 * Who is still there, and waiting.
 *
 * A process that ends closes its port, and its host says so to who sends there
 * (ICMP port unreachable).  So a peer that was not heard of for a while is
 * pinged: if its port is closed it is dead.  The host's word is taken only when
 * it quotes a whole packet of this context with the right mac, which only who
 * saw that packet can do.  Hosts and networks that cannot be reached say
 * nothing about the process: it is waited for as long as AM_UDP_SILENCE says.
 */
#include "config.h"

#include "dev/silence.h"
#include "dev/udp/udp.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define PS_PER_S      UINT64_C(1000000000000)
#define PING_PS       PS_PER_S        /* after so long without a word */
#define CHECK_PS      (PS_PER_S / 10) /* between looks */
#define PINGS_MAX     64              /* in one look; the next goes on behind */
#define ERRORS_MAX    64              /* read at a time */
#define WAIT_SPIN     64   /* empty waits, about 0.1 ms: look on, */
#define WAIT_LOOKS    4    /* so often more in the poll that follows */
#define WAIT_YIELD    4096 /* then yield, then sleep */
#define WAIT_SLEEP_MS 20   /* dead peers are looked for */
#define WAIT_BRIEF_MS 1    /* what is sent again is looked for */
#define NS_PER_MS     UINT64_C(1000000)
#define SLICE_PS      (PS_PER_S / 1000) /* a yield for so long: somebody computes */

/* ----------------------------------------------------------------- refusals */

/* The connection of this context that a quoted packet of its own belongs to. */
static struct udp_ep *quoted_ep(struct udp_dev *dev,
                                const union udp_sockaddr *to,
                                const struct udp_hdr *quoted, size_t bytes)
{
    struct am_list *link;

    if (bytes < UDP_HDR_BYTES || quoted->from != dev->nonce) {
        return NULL;
    }
    for (link = dev->eps.next; link != &dev->eps; link = link->next) {
        struct udp_ep *ep = am_container(link, struct udp_ep, link);

        if (udp_sockaddr_is(&ep->to, to) && quoted->conn == ep->conn &&
            quoted->number < ep->number &&
            quoted->mac ==
                    udp_mac(dev, &ep->tx_key, ep->nonce, quoted, bytes)) {
            return ep;
        }
    }
    return NULL;
}

/* Does the control message say that a port is closed? */
static bool is_refusal(const struct cmsghdr *control)
{
    struct sock_extended_err error;
    bool v4 = control->cmsg_level == IPPROTO_IP &&
              control->cmsg_type == IP_RECVERR;
    bool v6 = control->cmsg_level == IPPROTO_IPV6 &&
              control->cmsg_type == IPV6_RECVERR;

    if (!v4 && !v6) {
        return false;
    }
    memcpy(&error, CMSG_DATA(control), sizeof(error));
    return error.ee_errno == ECONNREFUSED &&
           (error.ee_origin == SO_EE_ORIGIN_ICMP ||
            error.ee_origin == SO_EE_ORIGIN_ICMP6);
}

static void refused_mark(struct udp_dev *dev, struct udp_ep *ep)
{
    if (ep != NULL && !ep->refused && !ep->dead) {
        ep->refused = true;
        dev->refused_count++;
    }
}

static void errors_read(struct udp_dev *dev, int fd)
{
    _Alignas(8) uint8_t quoted[2048];
    _Alignas(8) uint8_t control[512];
    union udp_sockaddr to;

    for (int i = 0; i < ERRORS_MAX; i++) {
        struct iovec piece = {quoted, sizeof(quoted)};
        struct msghdr message = {.msg_name = &to,
                                 .msg_namelen = sizeof(to),
                                 .msg_iov = &piece,
                                 .msg_iovlen = 1,
                                 .msg_control = control,
                                 .msg_controllen = sizeof(control)};
        ssize_t bytes = recvmsg(fd, &message, MSG_ERRQUEUE);

        if (bytes < 0) {
            return;
        }
        for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at != NULL;
             at = CMSG_NXTHDR(&message, at)) {
            if (is_refusal(at)) {
                refused_mark(dev,
                             quoted_ep(dev, &to, (struct udp_hdr *)quoted,
                                       (size_t)bytes));
            }
        }
    }
}

void udp_errors_read(struct udp_dev *dev)
{
    for (uint32_t i = 0; i < UDP_SOCKS && dev->socks[i].fd >= 0; i++) {
        errors_read(dev, dev->socks[i].fd);
    }
}

/* Wait so long for one of the sockets, and say by the next looks what came: the
 * count of those that have something. */
static int sockets_wait(struct udp_dev *dev, int most_ms)
{
    struct pollfd looks[UDP_SOCKS];
    int count = 0;

    for (uint32_t i = 0; i < UDP_SOCKS; i++) {
        looks[i] = (struct pollfd){.fd = dev->socks[i].fd, .events = POLLIN};
    }
    (void)poll(looks, UDP_SOCKS, most_ms);
    dev->stay = 0;
    for (uint32_t i = 0; i < UDP_SOCKS; i++) {
        dev->socks[i].quiet = (looks[i].revents & POLLIN) == 0;
        if (!dev->socks[i].quiet) {
            dev->turn = i;
            count++;
        }
    }
    return count;
}

/* The upcall may let go of endpoints, so the list is walked from its head after
 * each. */
void udp_refused_tell(struct udp_dev *dev)
{
    struct am_list *link = dev->eps.next;
    char why[96], where[64];

    if (sockets_wait(dev, 0) > 0) {
        return; /* something that they had sent may be unread */
    }
    while (link != &dev->eps) {
        struct udp_ep *ep = am_container(link, struct udp_ep, link);

        link = link->next;
        if (!ep->refused) {
            continue;
        }
        ep->refused = false;
        ep->dead = true;
        dev->refused_count--;
        snprintf(why, sizeof(why), "%s is closed",
                 udp_address_text(&ep->to, where, sizeof(where)));
        dev->base.up.dead(ep->base.user, why);
        link = dev->eps.next;
    }
}

/* ------------------------------------------------------------------ silence */

/* True: it was pinged. */
static bool ep_ping(struct udp_ep *ep, uint64_t now_ps)
{
    if (now_ps - ep->heard_ps < PING_PS || now_ps - ep->pinged_ps < PING_PS) {
        return false;
    }
    ep->pinged_ps = now_ps;
    udp_tx_control(ep, UDP_FLAG_PING);
    return true;
}

/* Has it said nothing for longer than it may, and not answered a ping either?  Then
 * tell.  An answer to what was sent before this process was away may be unread. */
static bool ep_silent(struct udp_dev *dev, struct udp_ep *ep, uint64_t now_ps)
{
    char why[128], where[64];

    if (dev->config.silence_s == 0 ||
        (now_ps - ep->heard_ps) / PS_PER_S < dev->config.silence_s ||
        ep->pinged_ps < ep->heard_ps || ep->pinged_ps < dev->back_ps ||
        now_ps - ep->pinged_ps < PING_PS) {
        return false;
    }
    ep->dead = true;
    snprintf(why, sizeof(why), "nothing was heard from %s for %llu s",
             udp_address_text(&ep->to, where, sizeof(where)),
             (unsigned long long)dev->config.silence_s);
    dev->base.up.dead(ep->base.user, why);
    return true;
}

/* One look at all endpoints. */
struct look {
    uint64_t now_ps;
    uint32_t index, pings, next_from;
};

/* Of an endpoint that is open, at each look.  True: the upcall may have let go of
 * any. */
static bool ep_look(struct udp_dev *dev, struct udp_ep *ep, struct look *look)
{
    uint32_t index = look->index++;

    if (ep->heard) {
        ep->heard = false;
        ep->heard_ps = look->now_ps;
    }
    if (ep_silent(dev, ep, look->now_ps)) {
        return true;
    }
    if (index >= dev->ping_from && look->pings < PINGS_MAX) {
        look->pings += ep_ping(ep, look->now_ps);
        look->next_from = index + 1;
    }
    return false;
}

/* This process is back: what it was away for is nobody's silence. */
static void come_back(struct udp_dev *dev, uint64_t now_ps, uint64_t away_ps)
{
    dev->back_ps = now_ps;
    for (struct am_list *link = dev->eps.next; link != &dev->eps;
         link = link->next) {
        am_container(link, struct udp_ep, link)->heard_ps += away_ps;
    }
}

void udp_check(struct am_dev *base)
{
    struct udp_dev *dev = udp_dev_of(base);
    uint64_t now_ps = am_env_now(dev->env);
    uint64_t away_ps = am_dev_away_ps(now_ps - dev->check_ps, PING_PS);
    struct look look = {.now_ps = now_ps};
    struct am_list *link = dev->eps.next;

    if (!udp_is_open(dev) || now_ps - dev->check_ps < CHECK_PS) {
        return;
    }
    dev->check_ps = now_ps;
    if (away_ps > 0) {
        come_back(dev, now_ps, away_ps);
    }
    udp_errors_read(dev);
    udp_direct_check(dev, now_ps);
    while (link != &dev->eps) {
        struct udp_ep *ep = am_container(link, struct udp_ep, link);

        link = link->next;
        if (!ep->dead && ep_look(dev, ep, &look)) {
            link = dev->eps.next;
            look.index = 0;
        }
    }
    dev->ping_from = look.pings == PINGS_MAX ? look.next_from : 0;
}

/* ------------------------------------------------------------------ waiting */

am_status_t udp_watch(struct am_dev *base, int epoll)
{
    struct udp_dev *dev = udp_dev_of(base);

    return udp_is_open(dev) ? udp_direct_watch(dev, epoll) : AM_OK;
}

/* A datagram that waits is seen by who looks at the descriptor, which does not
 * tell on which socket: the next poll looks at both.  It does not tell either when the
 * kernel has space for what is staged. */
am_status_t udp_arm(struct am_dev *base, uint64_t *most_ns)
{
    struct udp_dev *dev = udp_dev_of(base);

    if (!udp_drained(base)) {
        am_dev_sleep_less(most_ns, WAIT_BRIEF_MS * NS_PER_MS);
    }
    if (dev->socks[UDP_DIRECT].fd >= 0) {
        dev->socks[!dev->turn].quiet = false;
        dev->looks = 1;
    }
    return AM_OK;
}

/* Whoever takes the core for a time slice takes it after each yield; who sleeps
 * gets it back when a packet comes.  So the next wait is a sleep. */
static void yield(struct udp_dev *dev)
{
    uint64_t start_ps = am_env_now(dev->env);

    am_env_relax(dev->env, 0);
    dev->crowded = am_env_now(dev->env) - start_ps > SLICE_PS;
}

bool udp_wait(struct am_dev *base, uint64_t idle, am_dev_rest_t rest)
{
    struct udp_dev *dev = udp_dev_of(base);

    if (idle < WAIT_SPIN) {
        dev->looks = WAIT_LOOKS;
        return false;
    }
    if (!udp_is_open(dev) ||
        (!dev->crowded && (idle < WAIT_YIELD || rest == AM_DEV_REST_BRIEF))) {
        yield(dev);
        return false;
    }
    dev->crowded = false;
    if (rest == AM_DEV_REST_ASK) {
        return true;
    }
    dev->stats[AM_DEV_STAT_SLEEP]++;
    (void)sockets_wait(dev, rest == AM_DEV_REST_BRIEF ? WAIT_BRIEF_MS
                                                      : WAIT_SLEEP_MS);
    return false;
}
