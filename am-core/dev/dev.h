/*
 * The device interface: moves packets to endpoints, puts and gets where the
 * hardware has them.  A device may lose or reorder packets if its capability
 * bits do not say otherwise; it knows no tags, handlers or sequence numbers.
 *
 * Contract.
 * - `send` copies or consumes all it was given before it returns AM_OK, or
 *   returns AM_ERR_AGAIN with no side effect.  It never blocks and never makes
 *   an upcall, so it is legal inside one.
 * - A header is whole words: 8-byte aligned and a multiple of 8 bytes long, on
 *   both sides.  Data has any length and alignment.
 * - Upcalls (the am_dev_up functions) are made only from `poll` and `check`
 *   (`costs`: from anywhere), and none for an endpoint after its `disconnect`.
 * - The packet an upcall is given is valid until the upcall returns.
 * - Two classes, request and reply, have space of their own.  A request is
 *   delivered only while the device has room for one reply of the largest
 *   size to its sender (reply_ready), and while `up.ready`, if given, says
 *   yes; else it stays where it is, or is dropped and counted where the device
 *   says CAP_DROPS.  Replies are always delivered.
 * - put, get and fetch_add return AM_OK and complete through their done
 *   function, from `poll`; or they are complete when they return AM_DONE, and
 *   done is not called; or they return an error, and nothing happened.
 * - A missing op points at am_dev_no_<op> and its capability bit is clear.
 */
#ifndef AM_DEV_DEV_H
#define AM_DEV_DEV_H

#include "base/env.h"
#include "base/log.h"
#include "dev/network.h"

#include <am_types.h>
#include <stdbool.h>

enum {
    AM_DEV_CAP_RELIABLE = 1 << 0, /* no loss, duplication or corruption */
    AM_DEV_CAP_ORDERED = 1 << 1,  /* in order for each (endpoint, class) */
    AM_DEV_CAP_PUT = 1 << 2,
    AM_DEV_CAP_GET = 1 << 3,
    AM_DEV_CAP_FETCH_ADD = 1 << 4, /* am does not use it: it sends messages */
    AM_DEV_CAP_WAIT = 1 << 5, /* `wait` can sleep until something comes */
    AM_DEV_CAP_MAPPED = 1 << 6, /* `alloc` gives memory peers may write */
    AM_DEV_CAP_TIMER = 1 << 7,  /* not RELIABLE; its channel is the timer's */
    AM_DEV_CAP_COLLECTIVE = 1 << 8, /* the network combines and broadcasts */
    /* A network that drops what it has no space for, and an end that drops a
     * request that is not ready: the channel's window adapts, and asks again. */
    AM_DEV_CAP_DROPS = 1 << 9,
    AM_DEV_CAP_MULTICAST = 1 << 10, /* the network copies a packet to all */
    AM_DEV_CAP_KEY_BYTES = 1 << 11, /* w[1] of a key is the memory's length */
    AM_DEV_RIGHTS_ALL = AM_DEV_CAP_PUT | AM_DEV_CAP_GET, /* of mem_register */
};

enum {
    AM_DEV_REQUEST = 0,
    AM_DEV_REPLY = 1,
    AM_DEV_CLASS_COUNT = 2
};

/* Cost of moving n bytes: fixed_ps + n * per_byte_fs / 1000. */
struct am_linfn {
    uint64_t fixed_ps;
    uint64_t per_byte_fs;
};

/* LogGP numbers (Alexandrov et al. 1995), the input of protocol choice. */
struct am_dev_perf {
    struct am_linfn send_overhead; /* o_s: sender's core, per packet/byte */
    struct am_linfn recv_overhead; /* o_r: receiver's core */
    struct am_linfn wire;          /* L + nG: neither core */
    uint64_t gap_ps;               /* g: between packets */
    uint64_t gap_byte_fs; /* G: for each byte of a stream of packets, where the
                           * network and no core is the bound; 0: it never is */
    struct am_linfn put, get;      /* whole operation, initiator's core */
    uint64_t own_byte_fs; /* of what its own cache has; 0: as of others */
    uint64_t step_ps; /* besides, for a message that comes while this end sends, or
                       * behind another; 0: nothing */
    uint64_t turn_ps; /* the other end waits so long for its turn; 0: it runs */
    uint64_t round_ps; /* the ranks of a core go round in it; 0: not measured */
    uint32_t core_ranks; /* that share a core, at most; 0: not known */
    uint64_t cache_bytes; /* that a core has to itself; 0: not known */
    bool shared_core; /* both ends compete for a core */
    bool both_ways;   /* both ends stream, so each core makes both copies */
};

struct am_dev_attr {
    uint32_t caps;
    size_t packet_bytes_max; /* hdr + data of one `send` (the MTU) */
    size_t reply_bytes_max;  /* the same for AM_DEV_REPLY */
    size_t hdr_bytes_max;
    uint32_t depth; /* packets in flight to one endpoint */
    /* An empty poll costs much, a system call say: where others are polled too,
     * so many of their polls may pass before the next of this device, while
     * nothing comes.  0: it is polled each time. */
    uint32_t poll_rest_max;
    struct am_dev_perf perf;
    struct am_dev_network network; /* with CAP_COLLECTIVE or CAP_MULTICAST */
};

struct am_meter;   /* dev/meter.h */
struct am_profile; /* dev/profile.h */

/* Memory between two ends that costs both when it is used first, as a page fault does:
 * of a stream to a peer, until it has been used. */
struct am_dev_pages {
    size_t ready_bytes; /* messages of up to so many use none that is new */
    size_t most_bytes;  /* no message uses more */
    uint64_t byte_fs;   /* for each byte, both ends together; 0: not known */
    uint64_t more_ps;   /* put and get take so much more than they are said to */
};

/* One peer as a device sees it.  The device's own struct begins with this. */
struct am_dev_ep {
    struct am_dev *dev;
    void *user; /* set by the layer above at connect or accept */
    struct am_meter *meter; /* of its distance; NULL: its costs are attr.perf */
    const struct am_dev_pages *pages; /* of a stream to it; NULL: none is new */
    bool near; /* what it has written comes quickly, as the device saw last */
};

/* A region as a device names it to a peer: 23 opaque bytes inside am_key, the
 * highest byte of the last word being 0; there am_key has the device's number. */
#define AM_DEV_KEY_BITS 56 /* of w[2] */

struct am_dev_key {
    uint64_t w[3];
};

typedef void (*am_dev_done_fn)(void *arg, am_status_t status);

typedef enum {
    AM_DEV_HERE,
    AM_DEV_LEAVING, /* it takes nothing any more, but packets of it are here */
    AM_DEV_LEFT
} am_dev_presence_t;

/* What the layer above supplies. */
struct am_dev_up {
    void *arg;
    /* A packet: hdr is 8-byte aligned; data may be anywhere; both may lie in
     * memory that a peer can still write: read each word once. */
    void (*packet)(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes);
    /* May a request of this endpoint be delivered now?  NULL: always. */
    bool (*ready)(void *user);
    /* A peer that has no endpoint here sends: its rank, or UINT32_MAX when it
     * is outside the job.  The answer becomes ep->user; NULL refuses it. */
    void *(*accept)(void *arg, struct am_dev_ep *ep, uint32_t rank);
    /* The endpoint can not be reached any more; once for each. */
    void (*dead)(void *user, const char *why);
    /* Costs of endpoints, or capabilities, have changed.  Called from anywhere,
     * also within a send: it only takes note.  NULL: nobody asks. */
    void (*costs)(void *arg);
};

/* Do costs follow what the device sees?  (AM_LEARN) */
typedef enum {
    AM_LEARN_NO,
    AM_LEARN_MUCH, /* what is very different */
    AM_LEARN_YES,
    AM_LEARN_COUNT
} am_learn_t;

/* What a device does that is asked to wait.  (AM_WAIT) */
typedef enum {
    AM_WAIT_AUTO,
    AM_WAIT_SPIN,
    AM_WAIT_YIELD,
    AM_WAIT_SLEEP /* what makes a device able to sleep may cost each message */
} am_wait_t;

struct am_dev_params {
    struct am_env *env;
    struct am_log *log;
    uint32_t rank, size;
    uint64_t nonce;     /* unique number of this context */
    const void *values; /* of ops->config, parsed; valid during open */
    struct am_dev_up up;
    uint64_t *stats; /* AM_DEV_STAT_COUNT counters */
    const struct am_profile *profile; /* dev/profile.h; NULL: none */
    am_learn_t learn;
    am_wait_t wait;
    char *error;
    size_t error_bytes;
};

/* Counters every device has; in the context's table under "dev". */
enum {
    AM_DEV_STAT_TX_PACKETS,
    AM_DEV_STAT_TX_BYTES,
    AM_DEV_STAT_TX_AGAIN,
    AM_DEV_STAT_RX_PACKETS,
    AM_DEV_STAT_RX_BYTES,
    AM_DEV_STAT_RX_BAD,     /* packets with an impossible length or offset */
    AM_DEV_STAT_COPY_BYTES, /* copied by the CPU inside the device */
    AM_DEV_STAT_PUT,
    AM_DEV_STAT_GET,
    AM_DEV_STAT_WAKE,  /* doorbells rung for a sleeping peer */
    AM_DEV_STAT_SLEEP, /* times this context slept */
    AM_DEV_STAT_RX_FOREIGN,  /* packets of nobody known, or with a wrong mac */
    AM_DEV_STAT_RX_STALE,    /* of a connection that is over, or very late */
    AM_DEV_STAT_RX_REPLAYED, /* that came before */
    AM_DEV_STAT_RX_HELD,     /* requests dropped as not ready */
    AM_DEV_STAT_TX_LOST,     /* packets the system refused to send */
    AM_DEV_STAT_COUNT
};

/* Fill the payload in place: write exactly `bytes` bytes to `to`. */
typedef void (*am_dev_fill_fn)(void *arg, void *to, size_t bytes);

struct am_config_table;

/* The numbers of devices, in addresses and in keys: part of the wire format, so
 * that one is never given to another device. */
enum {
    AM_DEV_NUMBER_NONE, /* of a wrapper, which is no device to peers */
    AM_DEV_NUMBER_SELF,
    AM_DEV_NUMBER_SHM,
    AM_DEV_NUMBER_SIM,
    AM_DEV_NUMBER_UDP,
    AM_DEV_NUMBER_OFI,
    AM_DEV_NUMBER_TEST = 240, /* from here on: devices of tests */
    AM_DEV_NUMBER_MAX = 255
};

/* How a device may wait. */
typedef enum {
    AM_DEV_REST_BRIEF, /* the layer above has work queued: not for long */
    AM_DEV_REST_LONG,  /* until a packet comes */
    AM_DEV_REST_ASK    /* not asleep: others bring packets, too.  Who asks sleeps
                        * over all of them (watch, arm) */
} am_dev_rest_t;

struct am_dev_ops {
    const char *name;
    uint32_t number;                      /* AM_DEV_NUMBER_... */
    const struct am_config_table *config; /* its variables; NULL: none */
    size_t config_bytes;                  /* of the struct they fill */
    /* A late peer that has connected to this one can be connected to as well: two
     * endpoints, of which each side lets go of its own.  Else one serves both. */
    bool own_ends;
    /* It goes from host to host: AM_DEVICES=auto opens it when ranks are told
     * of each other that no other device reaches. */
    bool far;
    /* AM_DEVICES=auto leaves it alone: it opens where it is named. */
    bool named;
    am_status_t (*open)(const struct am_dev_params *params,
                        struct am_dev **dev_p);
    void (*close)(struct am_dev *dev);
    /* Write this device's part of the address blob; returns its length. */
    size_t (*address)(struct am_dev *dev, void *to, size_t bytes_max);
    /* Can a context with this address part be reached? */
    bool (*reachable)(struct am_dev *dev, const void *address, size_t bytes);
    /* All ranks' address parts are known (job start); parts[i] may be NULL. */
    am_status_t (*connect_all)(struct am_dev *dev, const void *const *parts,
                               const size_t *part_bytes, uint32_t count);
    /* Have all ranks of connect_all that this device reaches got what they
     * need to send without this context's help?  Asked until it is so, without
     * polls: the device does here what they wait for. */
    bool (*connected)(struct am_dev *dev);
    /* Has all that was sent reached its peers (for a channel: been
     * acknowledged)? */
    bool (*drained)(struct am_dev *dev);
    /* An endpoint for the address; `rank` UINT32_MAX when outside the job. */
    am_status_t (*connect)(struct am_dev *dev, const void *address,
                           size_t bytes, uint32_t rank, void *user,
                           struct am_dev_ep **ep_p);
    void (*disconnect)(struct am_dev_ep *ep);
    /* Has a peer disconnected or closed?  Of a rank of the job LEFT means that its
     * goodbye is here, HERE nothing. */
    am_dev_presence_t (*presence)(struct am_dev_ep *ep);

    am_status_t (*send)(struct am_dev_ep *ep, uint32_t class, const void *hdr,
                        size_t hdr_bytes, const void *data, size_t data_bytes);
    am_status_t (*send_fill)(struct am_dev_ep *ep, uint32_t class,
                             const void *hdr, size_t hdr_bytes,
                             am_dev_fill_fn fill, void *arg, size_t data_bytes);
    /* `send` with the header in two parts, so that nobody need build it in
     * memory first: its first word, of which bits 8..15 count the words that
     * follow, and those. */
    am_status_t (*send_words)(struct am_dev_ep *ep, uint32_t class,
                              uint64_t first, const uint64_t *words,
                              const void *data, size_t data_bytes);
    /* Is there room for one reply of the largest size? */
    bool (*reply_ready)(struct am_dev_ep *ep);
    int (*poll)(struct am_dev *dev, uint32_t packets_max);

    /* `rights`: what peers may do, AM_DEV_CAP_PUT and GET. */
    am_status_t (*mem_register)(struct am_dev *dev, void *base, size_t bytes,
                                uint32_t rights, struct am_dev_key *key);
    void (*mem_deregister)(struct am_dev *dev, const struct am_dev_key *key);
    /* Before that, of a key that peers may have still, as what it was given for has
     * failed: once this has returned they neither read nor write the memory by it.
     * Attempts end with AM_ERR_PEER if `why` is that (somebody has died), else with
     * AM_ERR_INVALID.  It waits for copies under way, and not for peers.  NULL:
     * mem_deregister is enough. */
    void (*mem_withdraw)(struct am_dev *dev, const struct am_dev_key *key,
                         am_status_t why);
    /* Memory that peers can store into directly (CAP_MAPPED). */
    void *(*alloc)(struct am_dev *dev, size_t bytes, struct am_dev_key *key);
    void (*release)(struct am_dev *dev, void *base, size_t bytes);
    am_status_t (*put)(struct am_dev_ep *ep, const struct iovec *local,
                       uint32_t count, const struct am_dev_key *key,
                       size_t offset, am_dev_done_fn done, void *arg);
    am_status_t (*get)(struct am_dev_ep *ep, const struct iovec *local,
                       uint32_t count, const struct am_dev_key *key,
                       size_t offset, am_dev_done_fn done, void *arg);
    am_status_t (*fetch_add)(struct am_dev_ep *ep, const struct am_dev_key *key,
                             size_t offset, uint64_t value, uint64_t *old_p,
                             am_dev_done_fn done, void *arg);
    /* Direct pointer to peer memory named by key, or NULL. */
    void *(*map)(struct am_dev_ep *ep, const struct am_dev_key *key,
                 size_t offset, size_t bytes);

    /* NULL, or what the network does itself (dev/network.h). */
    const struct am_dev_network_ops *network;

    /* Nothing to do: spin, yield or sleep.  `idle` counts empty polls.  True only
     * with AM_DEV_REST_ASK: it would sleep now, and has not. */
    bool (*wait)(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest);
    /* NULL, or of a device that counts polls, in place of `wait`: let those go
     * by that would only be counted, in an environment that can (am_env_ops).
     * False: wait. */
    bool (*pass)(struct am_dev *dev);
    /* NULL, or for a sleep outside the library: add to `epoll` what gets readable
     * when a packet comes or a stranger knocks; once in the device's life. */
    am_status_t (*watch)(struct am_dev *dev, int epoll);
    /* NULL, or before each such sleep: AM_OK when nothing is there and what comes
     * from now on will be noticed; *most_ns is lowered to how long the sleep may
     * be.  AM_ERR_AGAIN: poll first.  A device with neither is polled often. */
    am_status_t (*arm)(struct am_dev *dev, uint64_t *most_ns);
    /* Look for dead endpoints (cheap to call rarely). */
    void (*check)(struct am_dev *dev);
    size_t (*describe)(struct am_dev *dev, char *text, size_t bytes);
};

struct am_dev {
    const struct am_dev_ops *ops;
    struct am_dev_attr attr;
    struct am_dev_up up; /* used for all upcalls: a device that wraps this one
                          * puts its own here before the first connect */
    const struct am_dev_ops *bottom; /* of the device that does the work: its
                                      * name and number stand for all that is
                                      * around it; set by who opens the stack */
    bool enough; /* set in an upcall: of this peer no more packets in this poll
                  * would be better; a device may leave that unheard */
    bool more; /* set by the sender around a send: another follows at once, so
                * this one may wait for it; a device may leave that unheard */
    bool words; /* set by the sender around a send: the data is whole words, of
                 * which a device may send each in fewer bytes */
    uint8_t reliability; /* what makes packets reliable above the device: an
                          * am_reliability_t of chan/chan.h; set by who opens the
                          * stack */
    bool abandoned; /* set before close: the job did not come about, or is not a fork's
                     * child's; to peers that wait for this rank it has not left in order */
    const char *error; /* why connect_all or connect failed, or connected will never
                        * be true, as one sentence that lives as long as the device;
                        * NULL: the status says it */
};

/* The devices of this build, NULL-terminated, in order of preference. */
extern const struct am_dev_ops *const am_dev_table[];

/* Words after the first of a header whose first word this is. */
static inline uint32_t am_dev_word_count(uint64_t first)
{
    return (uint8_t)(first >> 8);
}

/* `arm`, of a device that may have none: then polls are due every millisecond. */
am_status_t am_dev_arm(struct am_dev *dev, uint64_t *most_ns);
/* For `watch`: add one descriptor.  AM_ERR_SYSTEM: errno says why. */
am_status_t am_dev_watch_fd(int epoll, int fd);
/* Lower *most_ns to `ns`. */
static inline void am_dev_sleep_less(uint64_t *most_ns, uint64_t ns)
{
    *most_ns = *most_ns < ns ? *most_ns : ns;
}

static inline void am_dev_mem_withdraw(struct am_dev *dev,
                                       const struct am_dev_key *key,
                                       am_status_t why)
{
    if (dev->ops->mem_withdraw != NULL) {
        dev->ops->mem_withdraw(dev, key, why);
    }
}

#endif
