/*
 * The udp device: packets between hosts by UDP over IPv4 or IPv6.  It loses,
 * reorders and duplicates as the network does, so a channel stands on it; what
 * did not come from a peer of this context as it was sent does not get through.
 *
 *   send -> udp_tx: staged, marked   -> sendmmsg, UDP_SEGMENT -> network
 *   poll <- udp_rx: checked, counted <- recvmmsg, UDP_GRO     <- network
 *
 * One socket hears and reaches all peers.  While nearly all packets go to one of
 * them, a second one on the same port is connected to that peer (udp_direct.c).
 *
 * Authentication.  Each context has a key of 128 bits for what is sent to it.
 * It is random and stands in the context's address, so those have it who were
 * given the address; or it is derived from AM_UDP_KEY, which the launcher hands
 * to all, and then the address does not show it.  Each direction of a connection
 * has a key of its own, derived from that one and the two contexts' nonces, and
 * counts its packets under it.  So a packet that somebody outside the job made
 * up, changed, or sent once more is dropped and counted.  It does not keep
 * packets secret, nor hold a rank back from playing another, nor help when
 * somebody reads the exchange of addresses and AM_UDP_KEY is not set.
 *
 * Files: udp_init.c life and variables, udp_if.c which interface, udp_sock.c
 * the socket and its options, udp_direct.c the second one, udp_auth.c keys and
 * replays, udp_ep.c peers, udp_tx.c, udp_rx.c, udp_alive.c refusals, silence and
 * waiting.
 */
#ifndef AM_DEV_UDP_UDP_H
#define AM_DEV_UDP_UDP_H

#include "base/config.h"
#include "base/forked.h"
#include "base/list.h"
#include "dev/dev.h"
#include "dev/udp/udp_wire.h"

#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define UDP_HDR_BYTES    ((size_t)sizeof(struct udp_hdr))
#define UDP_DATAGRAM_MAX ((size_t)65536)
#define UDP_HDR_MAX      ((size_t)256) /* of the layer above */
/* Staged for one system call: datagrams, or runs of them to one peer.  What a
 * request leaves free is one reply of any size. */
#define UDP_TX_BYTES (4 * UDP_DATAGRAM_MAX)
#define UDP_TX_RUNS  16
#define UDP_RX_RUNS  16 /* taken by one system call */
/* Packets that may come so much later than one with a higher number. */
#define UDP_REPLAY_PACKETS 2048
#define UDP_REPLAY_WORDS   (UDP_REPLAY_PACKETS / 64)
#define UDP_BUCKETS        1024 /* of the table of peers */
#define UDP_CLOSED_MAX     1024 /* peers that were let go and are still known */
#define UDP_STAY           4    /* looks at one socket for one at a quiet one */

extern const struct am_dev_ops am_udp_ops;

struct udp_config {
    char interface[AM_CONFIG_TEXT_BYTES];
    char ports[AM_CONFIG_TEXT_BYTES];
    char key[AM_CONFIG_TEXT_BYTES];
    int auth;
    size_t packet_bytes;  /* 0: the interface's */
    size_t buffer_bytes;
    uint64_t silence_s; /* 0: any */
};

union udp_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct udp_key {
    uint8_t bytes[UDP_KEY_BYTES];
};

/* Which of the last numbers came: bit (number % UDP_REPLAY_PACKETS). */
struct udp_replay {
    uint64_t next; /* one more than the highest that came */
    uint64_t seen[UDP_REPLAY_WORDS];
};

/* A connection.  It stays in the table, closed, after its end: a packet of it
 * that comes once more must not look like a new one's. */
struct udp_ep {
    struct am_dev_ep base;
    struct udp_ep *next; /* of its bucket */
    uint64_t nonce;      /* the peer's */
    uint64_t number;     /* of the next packet */
    uint32_t conn;
    uint8_t flags; /* of all its packets: UDP_FLAG_ANSWER or 0 */
    bool open, heard;
    bool known;   /* it was open */
    bool refused; /* its port is closed; told when all that came is read */
    bool dead;
    union udp_sockaddr to;
    socklen_t to_bytes;
    struct udp_key tx_key, rx_key;
    uint32_t rank; /* UINT32_MAX: not of the job */
    uint64_t heard_ps, pinged_ps;
    struct am_list link; /* of all, or of those that are closed */
    struct udp_replay replay;
};

/* Datagrams of one length (the last may be shorter) to one peer. */
struct udp_run {
    struct udp_ep *ep;
    uint32_t offset, bytes, segment_bytes, count;
};

struct udp_tx {
    uint8_t *memory; /* UDP_TX_BYTES */
    uint32_t bytes;  /* of it in use, until all runs have gone */
    uint32_t run_first, run_end;
    struct udp_run runs[UDP_TX_RUNS];
};

/* The context's sockets; all have its port. */
enum {
    UDP_ALL,    /* hears every peer that the other one does not */
    UDP_DIRECT, /* connected to one peer, and hears that one */
    UDP_SOCKS
};

struct udp_sock {
    int fd;           /* -1: none, or this is the child of a fork */
    bool quiet;       /* the last look found nothing */
    bool many;        /* the last look took in all that it could */
    bool runs;        /* the kernel puts neighbours together now */
    uint32_t singles; /* datagrams since there was reason for that */
};

/* Whom UDP_DIRECT is for. */
struct udp_direct {
    struct udp_ep *to; /* it is connected to this one's address, or NULL */
    struct udp_ep *favourite; /* nearly all packets may be going to this one */
    uint32_t score;           /* of the favourite, at most `enough` */
    uint32_t enough;          /* to connect to it; 0: it cannot be done */
    uint64_t parked_ps;       /* open, connected to no peer, since then */
    int epoll;                /* that watches the sockets; -1: none */
};

/* What one system call takes in, ready for the next. */
struct udp_rx {
    uint8_t *memory; /* UDP_RX_RUNS * UDP_DATAGRAM_MAX */
    struct mmsghdr messages[UDP_RX_RUNS];
    struct iovec pieces[UDP_RX_RUNS];
    union udp_sockaddr sources[UDP_RX_RUNS];
    /* one control message, an int: the length of a run's datagrams */
    _Alignas(8) uint8_t controls[UDP_RX_RUNS][CMSG_SPACE(sizeof(int))];
};

struct udp_dev {
    struct am_dev base;
    struct udp_sock socks[UDP_SOCKS];
    uint32_t turn; /* the socket on which something came last */
    uint32_t stay; /* looks at it since one at the other */
    struct udp_direct direct;
    bool segments;  /* the kernel cuts runs into datagrams */
    bool coalesces; /* and gives them back as runs */
    bool crowded;   /* the last yield took long */
    bool polling;   /* in poll, at whose end what is staged goes out */
    uint32_t looks; /* more that the next poll takes, as its caller waits */
    uint32_t refused_count;
    uint64_t *stats;
    uint64_t nonce;
    struct am_env *env;
    struct am_log *log;
    struct udp_tx tx;
    struct udp_rx rx;
    struct udp_ep *buckets[UDP_BUCKETS];

    /* cold */
    struct udp_config config;
    struct am_list eps, closed;
    uint32_t closed_count;
    uint32_t conn_count;
    uint64_t number_base; /* higher than any number of an ep that is gone */
    uint64_t check_ps;    /* the last look at who is alive */
    uint64_t back_ps;     /* the last one that followed a while without any */
    uint32_t ping_from; /* of the endpoints: the next look pings from here on */
    struct udp_address me;
    struct udp_key key; /* of what is sent to this context */
    struct udp_address *job;
    uint32_t job_size;
    union udp_sockaddr bound;
    socklen_t bound_bytes;
    size_t mtu_bytes, socket_bytes;
    char interface[IF_NAMESIZE];
    char text[160]; /* base.error */
    struct am_fork_watch fork_watch;
};

static inline struct udp_dev *udp_dev_of(struct am_dev *dev)
{
    return am_container(dev, struct udp_dev, base);
}

static inline struct udp_ep *udp_ep_of(struct am_dev_ep *ep)
{
    return am_container(ep, struct udp_ep, base);
}

/* False in the child of a fork. */
static inline bool udp_is_open(const struct udp_dev *dev)
{
    return dev->socks[UDP_ALL].fd >= 0;
}

/* ---------------------------------------------------------------- udp_if.c */

struct udp_if {
    union udp_sockaddr address; /* port 0 */
    socklen_t address_bytes;
    size_t mtu_bytes;
    char name[IF_NAMESIZE];
};

/* The interface that `spec` names (empty: the route's): AM_OK, or
 * AM_ERR_CONFIG or AM_ERR_SYSTEM with a sentence in `error`. */
am_status_t udp_if_find(const char *spec, struct udp_if *found, char *error,
                        size_t error_bytes);
/* Can `spec` be the name, or the network in CIDR notation, of one? */
bool udp_if_is_sound(const char *spec);
bool udp_is_loopback(const union udp_sockaddr *address);
/* The address as text, with its port: "10.0.0.1 port 4000". */
const char *udp_address_text(const union udp_sockaddr *address, char *text,
                             size_t bytes);

/* -------------------------------------------------------------- udp_sock.c */

/* "any", or "40000-40100": false when it is neither. */
bool udp_ports_parse(const char *text, uint16_t *first_p, uint16_t *last_p);
/* Is the kernel to put datagrams together (UDP_GRO)? */
void udp_runs_set(struct udp_sock *sock, bool on);
/* A socket with all options that is not bound: false, and errno says why. */
bool udp_sock_make(const struct udp_dev *dev, struct udp_sock *sock);
void udp_sock_close(struct udp_sock *sock);
/* Open and bind UDP_ALL; AM_ERR_SYSTEM with a sentence in `error`. */
am_status_t udp_socket_open(struct udp_dev *dev, const struct udp_if *on,
                            char *error, size_t error_bytes);

/* ------------------------------------------------------------ udp_direct.c */

void udp_direct_init(struct udp_dev *dev);
void udp_direct_close(struct udp_dev *dev);
/* A packet goes to `ep`, and that is not settled yet: see udp_direct_count. */
void udp_direct_vote(struct udp_dev *dev, struct udp_ep *ep);
/* The endpoint has come to its end. */
void udp_direct_forget(struct udp_dev *dev, const struct udp_ep *ep);
/* Close the socket if it has been nobody's for long enough. */
void udp_direct_check(struct udp_dev *dev, uint64_t now_ps);
/* An epoll that watches this device's sockets, now and later. */
am_status_t udp_direct_watch(struct udp_dev *dev, int epoll);

/* A packet goes to `ep`. */
static inline void udp_direct_count(struct udp_dev *dev, struct udp_ep *ep)
{
    if (ep != dev->direct.favourite || dev->direct.score < dev->direct.enough) {
        udp_direct_vote(dev, ep);
    }
}

/* The socket to look at now: where something came last, and the other one now
 * and then, or by turns while both have something. */
static inline struct udp_sock *udp_sock_next(struct udp_dev *dev)
{
    struct udp_sock *other = &dev->socks[!dev->turn];

    if (other->fd >= 0 && ++dev->stay >= (other->quiet ? UDP_STAY : 1)) {
        dev->stay = 0;
        return other;
    }
    return &dev->socks[dev->turn];
}

/* -------------------------------------------------------------- udp_auth.c */

/* Read AM_UDP_KEY, 32 hexadecimal digits. */
bool udp_key_parse(const char *text, struct udp_key *key);
/* Fill dev->key and what the own address tells of it. */
am_status_t udp_auth_open(struct udp_dev *dev, char *error, size_t error_bytes);
void udp_auth_close(struct udp_dev *dev);
/* The key of packets to the context with that address. */
void udp_key_of(const struct udp_dev *dev, const struct udp_address *address,
                struct udp_key *key);
/* Of packets from one context to another under the key of either. */
void udp_key_derive(const struct udp_key *key, uint64_t from, uint64_t to,
                    uint32_t conn, uint8_t flags, struct udp_key *derived);
/* What belongs into the mac field of a datagram from or to this context, under
 * its key; `to` is the nonce of the context that it goes to. */
uint64_t udp_mac(const struct udp_dev *dev, const struct udp_key *key,
                 uint64_t to, const void *datagram, size_t bytes);
/* Has this number not come yet?  Then it has now.  *old_p: it is too far back
 * to tell. */
bool udp_replay_is_new(struct udp_replay *replay, uint64_t number, bool *old_p);

/* ---------------------------------------------------------------- udp_ep.c */

struct udp_ep *udp_ep_find(struct udp_dev *dev, uint64_t nonce, uint32_t conn,
                           uint8_t flags);
/* A packet of nobody who has an endpoint: it is one's whose address this
 * context knows, or who knows this one's.  `hdr` is a copy of what lies at
 * `at`.  The new endpoint, not accepted yet, or NULL, counted. */
struct udp_ep *udp_ep_stranger(struct udp_dev *dev,
                               const union udp_sockaddr *source,
                               const struct udp_hdr *hdr, const uint8_t *at,
                           size_t bytes);
/* Ask the layer above whether it wants the peer; false: no. */
bool udp_ep_accept(struct udp_dev *dev, struct udp_ep *ep);
void udp_ep_end(struct udp_dev *dev, struct udp_ep *ep);
void udp_eps_free(struct udp_dev *dev);
bool udp_reachable(struct am_dev *dev, const void *part, size_t bytes);
am_status_t udp_connect_all(struct am_dev *dev, const void *const *parts,
                            const size_t *part_bytes, uint32_t count);
am_status_t udp_connect(struct am_dev *dev, const void *part, size_t bytes,
                        uint32_t rank, void *user, struct am_dev_ep **ep_p);
void udp_disconnect(struct am_dev_ep *ep);
bool udp_sockaddr_is(const union udp_sockaddr *a, const union udp_sockaddr *b);

/* ---------------------------------------------------------------- udp_tx.c */

am_status_t udp_send(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                     size_t hdr_bytes, const void *data, size_t data_bytes);
am_status_t udp_send_fill(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                          size_t hdr_bytes, am_dev_fill_fn fill, void *arg,
                          size_t data_bytes);
bool udp_reply_ready(struct am_dev_ep *ep);
bool udp_drained(struct am_dev *dev);
/* A PING or PONG; lost when there is no space. */
void udp_tx_control(struct udp_ep *ep, uint8_t flag);
/* Hand what is staged to the kernel; what it has no space for stays. */
void udp_tx_flush(struct udp_dev *dev);
/* The endpoint is about to go: nothing staged may refer to it. */
void udp_tx_forget(struct udp_dev *dev, const struct udp_ep *ep);

/* ---------------------------------------------------------------- udp_rx.c */

/* dev->rx.memory is there: make the rest of it ready. */
void udp_rx_init(struct udp_dev *dev);
int udp_poll(struct am_dev *dev, uint32_t packets_max);

/* ------------------------------------------------------------- udp_alive.c */

/* Read what the network answered to packets that did not get through. */
void udp_errors_read(struct udp_dev *dev);
/* Tell of those whose port is closed. */
void udp_refused_tell(struct udp_dev *dev);
void udp_check(struct am_dev *dev);
bool udp_wait(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest);
am_status_t udp_watch(struct am_dev *dev, int epoll);
am_status_t udp_arm(struct am_dev *dev, uint64_t *most_ns);

#endif
