/*
 * The inside of msg, shared by its files: the module's state in a context, a
 * peer's state, and a request.  May call am, dev and base.
 *
 *   am_ctx --slot AM_MSG_SLOT--> am_msg --match--> am_msg_req (receives, and
 *      |                                           messages nobody wanted yet)
 *   am_peer --msg--> am_msg_peer --active--> am_msg_req (under way)
 *                                --held----> am_msg_req (sends without credit)
 */
#ifndef AM_MSG_MSG_CORE_H
#define AM_MSG_MSG_CORE_H

#include "am/core.h"
#include "base/config.h"
#include "base/pool.h"
#include "msg/match.h"
#include "msg/msg_config.h"
#include "msg/msg_wire.h"
#include "msg/proto_round.h"

#include <am_msg.h>

struct am_binalloc;
struct am_rndv;
struct am_proto_kind;

/* Place of &am_msg_module in am_modules (am-core/lib.c). */
enum {
    AM_MSG_SLOT = 0
};

/* Index of a protocol, in the order in which a cost tie is decided. */
typedef enum {
    AM_PROTO_EAGER,
    AM_PROTO_BUFFERED,
    AM_PROTO_PREFIX,
    AM_PROTO_GET,
    AM_PROTO_PUT,
    AM_PROTO_COUNT
} am_proto_t;

/* Counters; the rows are in msg_tables.c, in this order. */
enum {
    AM_MSG_TX_MESSAGES, /* one for each protocol, by am_proto_t */
    AM_MSG_TX_BYTES = AM_MSG_TX_MESSAGES + AM_PROTO_COUNT,
    AM_MSG_RX_MESSAGES = AM_MSG_TX_BYTES + AM_PROTO_COUNT,
    AM_MSG_RX_BYTES = AM_MSG_RX_MESSAGES + AM_PROTO_COUNT,
    AM_MSG_COPIES = AM_MSG_RX_BYTES + AM_PROTO_COUNT,
    AM_MSG_COPY_BYTES,
    AM_MSG_UNEXP_MESSAGES,
    AM_MSG_UNEXP_BYTES_NOW,
    AM_MSG_UNEXP_BYTES_PEAK,
    AM_MSG_UNEXP_REQUESTS_PEAK,
    AM_MSG_MATCH_STEPS,
    AM_MSG_TRUNCATED,
    AM_MSG_CREDIT_HELD,
    AM_MSG_CREDIT_RNDV,
    AM_MSG_CREDIT_SENT,
    AM_MSG_CREDIT_RIDDEN,
    AM_MSG_CREDIT_EXTRA,
    AM_MSG_REGION_FULL,
    AM_MSG_REGION_WAIT,
    AM_MSG_REGION_FREES,
    AM_MSG_RX_BAD_ID,
    AM_MSG_RX_BAD_LENGTH,
    AM_MSG_RX_BAD_CREDIT,
    AM_MSG_RX_BAD_REGION,
    AM_MSG_TABLES,
    AM_MSG_TRIALS,
    AM_MSG_TRIALS_WON,
    AM_MSG_STAT_COUNT
};

/* Where a request stands.  Every change is in the file named. */
typedef enum {
    AM_REQ_FREE,
    AM_REQ_POSTED,     /* receive in the match queue            msg_recv */
    AM_REQ_RECEIVING,  /* receive matched (or lost)   msg_recv, msg_lost */
    AM_REQ_UNEXPECTED, /* message in the match queue            msg_recv */
    AM_REQ_CLAIMED,    /* message taken by improbe              msg_recv */
    AM_REQ_HELD,       /* send without credit                   msg_credit */
    AM_REQ_QUEUED,     /* send whose envelope waits for space   msg_send */
    AM_REQ_STREAM,     /* send, more packets of an eager one    proto_eager */
    AM_REQ_WAIT,       /* send, answer awaited     msg_send, proto_eager */
    AM_REQ_TRANSFER,   /* send, am_bulk_put running             rndv */
    AM_REQ_DROPPED,    /* cancelled stream that still comes in  msg_cancel */
} am_req_state_t;

/* What an arrived envelope says. */
struct am_msg_info {
    struct am_msg_peer *mp;
    size_t length;      /* of the message */
    uint64_t remote_id; /* the sender's request, 0: none asks for an answer */
    uint64_t charge;    /* credit to give back when it leaves memory */
    am_proto_t proto;
    size_t offset;       /* in the region: buffered, prefix */
    size_t prefix_bytes; /* prefix */
    struct am_key key;   /* get */
    am_by_t by; /* of a send; and of a get that has come: single or not */
    bool ahead;          /* prefix: it is not in the region yet */
};

struct am_msg_req {
    struct am_match_node node;
    struct am_data data;
    am_msg_done_fn done;
    void *arg;
    struct am_msg *msg;
    /* third line on: touched by slow paths only, but for `state` */
    am_req_state_t state;
    am_status_t status;     /* of the operation so far */
    struct am_msg_peer *mp; /* sends; receives once matched */
    struct am_list active;  /* on mp->active or mp->held */
    struct am_op op;        /* the envelope, while it waits for space */
    struct am_op stream_op; /* the packets after it */
    size_t moved_bytes;     /* sent, or arrived */
    uint64_t id;            /* in the id table, 0: none */
    struct am_rndv *rndv;   /* region and bulk transfer, or NULL */
    void *buffer;           /* unexpected or packed payload, or NULL */
    size_t buffer_bytes;
    struct am_msg_req *partner;  /* stream in a buffer <-> its receive */
    struct am_msg_info info;     /* received messages */
    struct am_match_links links; /* unexpected messages */
    am_proto_t proto;            /* sends */
    uint32_t slot;               /* streams */
    bool sync, packed, inside;
    bool cancel; /* send: the receiver has been asked to drop it */
};

/* The sender's side of its region at a receiver. */
typedef enum {
    AM_REGION_NONE, /* not asked for */
    AM_REGION_ASKED,
    AM_REGION_READY,
    AM_REGION_REFUSED
} am_region_state_t;

struct am_msg_peer {
    /* hot, sending */
    uint64_t credit;    /* packed, with guards */
    size_t eager_limit; /* fewer contiguous bytes go the short way */
    struct am_peer *peer;
    struct am_msg *msg;
    /* hot, receiving */
    uint64_t owed;       /* packed */
    uint64_t owed_limit; /* packed, with guards */
    uint32_t in_row; /* long messages sent by a request since any has come */
    /* sending */
    size_t eager_short; /* eager_limit while nothing is held */
    const struct am_proto_kind *kind;
    uint64_t granted_messages, granted_bytes; /* ever, for checks */
    uint64_t debt; /* packed: to be taken from what comes back */
    struct am_list held;
    bool stall_said, tx_want_said;
    uint32_t slots_free; /* bit mask */
    am_region_state_t tx_state;
    struct am_binalloc *tx_alloc;
    size_t tx_bytes;
    uint8_t *tx_map; /* direct pointer to the region, or NULL */
    size_t packed_bytes; /* pvm: packed and not yet gone */
    /* receiving */
    uint64_t share; /* packed: what this side grants */
    uint64_t extra; /* messages granted beyond it */
    uint64_t waiting_messages, waiting_bytes; /* of it, unexpected ones here */
    bool stalled, hello_seen, asked_region;
    struct am_op watch;
    uint32_t watch_polls;
    uint64_t watch_waiting; /* the messages that waited then */
    struct am_msg_req *streams[AM_MSG_SLOTS];
    uint8_t *rx_base;
    size_t rx_bytes, free_bytes, ahead_end;
    bool rx_mapped, rx_wanted;
    uint64_t ahead_id; /* of the prefix that comes in, 0: none */
    struct am_dev_key rx_key;
    uint64_t frees[AM_MSG_FREES_MAX];
    uint32_t free_count;
    /* both */
    uint32_t one_way; /* messages of several packets sent since one has come */
    struct am_round_peer trial;
    struct am_list active; /* sends under way, receives matched */
    struct am_list link;   /* on msg->peers */
};

struct am_msg_id_entry;

struct am_msg {
    struct am_ctx *ctx;
    struct am_env *env;
    uint64_t *stats;
    bool staged; /* pvm: receives go through a buffer */
    bool plain;  /* neither staged nor charged for: eager has a short way */
    /* peers that wait for credit from here; dead ones; being a forked child */
    uint32_t trouble_count;
    struct am_match match;
    struct am_msg_peer **by_index; /* peers that are open, NULL: not */
    uint32_t by_index_count;
    struct am_msg_req *req_free; /* clean requests, last in first out */
    struct am_msg_req_slab *slabs;
    struct am_pool rndvs, controls;
    uint32_t fetches; /* gets that this end makes for its receives */
    struct am_list peers;
    struct am_proto_kind *kinds;
    const struct am_msg_config *config;
    bool probed;         /* a probe found nothing */
    am_msg_lost_fn lost; /* msg_lost.c */
    void *lost_arg;
    struct am_op lost_op;
    uint64_t met_ps;       /* when am_msg_lost_check looked last, */
    uint32_t met_rank;     /* and all before this rank are connected */
    bool waits_any, probes; /* for any source; since then this found nothing: */
    struct am_msg_envelope probe;
    struct am_msg_mask probe_mask;
    struct am_peer *look_peer; /* lost_op is queued at it; NULL: no need yet */
    struct am_msg_id_entry *ids;
    uint32_t id_count, id_free;
    void *buffer_free[32]; /* msg_buffer.c: lists by class */
    uint64_t unexp_requests;
    struct am_msg_status done_status; /* for the `done` that is called next */
    uint64_t steps_charged;           /* match steps that are paid for */
};

/* The module's state in a context. */
static inline struct am_msg *am_msg_of(const struct am_ctx *ctx)
{
    return am_module_data(ctx, AM_MSG_SLOT);
}

/* Does this end receive, or fetch, just now? */
static inline bool am_msg_receives(const struct am_msg *msg)
{
    return msg->fetches != 0 || am_match_posted_count(&msg->match) != 0;
}

/* The state of an open peer, NULL if it is not open (or does not exist). */
static inline struct am_msg_peer *am_msg_peer_at(const struct am_msg *msg,
                                                 uint32_t index)
{
    return am_likely(index < msg->by_index_count) ? msg->by_index[index] : NULL;
}

/* A peer's state, made on first use; NULL without memory. */
struct am_msg_peer *am_msg_peer_open(struct am_msg *msg, struct am_peer *peer);

static inline struct am_msg_peer *am_msg_peer_of(struct am_msg *msg,
                                                 struct am_peer *peer)
{
    struct am_msg_peer *mp = peer->msg;

    return am_likely(mp != NULL) ? mp : am_msg_peer_open(msg, peer);
}

/*
 * Send a message of msg's own, in order, now or when there is space; it costs
 * no credit.  Legal in a handler.  AM_ERR_MEMORY is logged; AM_ERR_PEER.
 */
am_status_t am_msg_control(struct am_msg_peer *mp, uint32_t handler,
                           const uint64_t *words, uint32_t word_count);

#define AM_MSG_UNEXP_LONG    ((size_t)1024)
#define AM_MSG_CONTROL_BYTES 256 /* one that waits for space */

static inline uint64_t am_msg_word(const uint64_t *words, uint32_t index)
{
    return am_word(words, index);
}

/* ------------------------------------------------------- requests, msg_done */

/*
 * Requests.  A free one is clean: all from `state` on is zero.  A receive that
 * an eager message completes at once leaves it so, and is given back with
 * am_msg_req_drop; all others with am_msg_req_put, which gives up what the
 * request holds and cleans it.
 */
struct am_msg_req *am_msg_req_more(struct am_msg *msg);

static inline struct am_msg_req *am_msg_req_get(struct am_msg *msg)
{
    struct am_msg_req *req = msg->req_free;

    if (am_unlikely(req == NULL)) {
        return am_msg_req_more(msg);
    }
    msg->req_free = (struct am_msg_req *)req->arg;
    return req;
}

static inline void am_msg_req_drop(struct am_msg *msg, struct am_msg_req *req)
{
    req->state = AM_REQ_FREE;
    req->arg = msg->req_free;
    msg->req_free = req;
}

void am_msg_req_put(struct am_msg_req *req);
void am_msg_req_fini(struct am_msg *msg);
/* Call `fn` for each request that is in use. */
void am_msg_req_each(struct am_msg *msg,
                     void (*fn)(void *arg, const struct am_msg_req *req),
                     void *arg);
/* Put a request on, or take it off, the list of what a dead peer ends. */
void am_msg_req_activate(struct am_msg_req *req, struct am_msg_peer *mp);
void am_msg_req_deactivate(struct am_msg_req *req);

/* What a message or a receive is known by. */
static inline struct am_msg_envelope
am_msg_envelope_of(const struct am_match_node *node)
{
    return (struct am_msg_envelope){(uint32_t)(node->key >> 32),
                                    (uint32_t)node->key, node->tag};
}

/* A pending receive is over: fill its status, free it, tell its owner. */
void am_msg_recv_finish(struct am_msg_req *recv, am_status_t status);
/* Count a receive that ended with this status. */
void am_msg_recv_count(const struct am_msg_req *recv,
                       const struct am_msg_status *out);
/* A send is over.  AM_DONE when isend itself will say so. */
am_status_t am_msg_send_finish(struct am_msg_req *send, am_status_t status);
/* The status of a receive from what its envelope said. */
void am_msg_status_fill(const struct am_msg_req *recv, am_status_t status,
                        struct am_msg_status *out);
/* Fail everything that waits for `mp`. */
void am_msg_peer_fail(struct am_msg_peer *mp);
/* Is a message that nobody has received yet all here? */
bool am_msg_message_is_whole(const struct am_msg_req *message);

/* Pay for the match steps since the last call. */
void am_msg_charge_steps(struct am_msg *msg);

static inline void am_msg_charge_match(struct am_msg *msg)
{
    if (am_env_is_charged(msg->env)) {
        am_msg_charge_steps(msg);
    }
}

/* ------------------------------------------------------------ data, copies */

/* Copy `bytes` of payload from `offset` on into a receive buffer that may be short. */
void am_msg_copy_in(struct am_msg *msg, const struct am_data *data,
                    size_t offset, const void *from, size_t bytes);
/* Copy bytes out of user data, counted. */
void am_msg_copy_out(struct am_msg *msg, const struct am_data *data,
                     size_t offset, void *to, size_t bytes);

/* Bytes of a message that fit a receive buffer. */
static inline size_t am_msg_fit(const struct am_data *data, size_t length)
{
    return length < data->bytes ? length : data->bytes;
}

/* Buffers for unexpected and packed payload, kept in lists by size. */
void *am_msg_buffer_get(struct am_msg *msg, size_t bytes);
void am_msg_buffer_put(struct am_msg *msg, void *buffer, size_t bytes);
void am_msg_buffer_fini(struct am_msg *msg);

/* -------------------------------------------------- sending, msg_send.c */

/* Start or restart a send whose credit may have come: AM_DONE when it is
 * complete, AM_OK when that comes later, AM_ERR_AGAIN when it must be held. */
am_status_t am_msg_send_start(struct am_msg_req *send);
/* Send the next `bytes` of the request's data with these words; from `op`'s
 * run, or directly when `op` is NULL. */
am_status_t am_msg_packet(struct am_msg_req *send, struct am_op *op,
                          uint32_t handler, uint32_t aux, const uint64_t *words,
                          uint32_t word_count, size_t bytes);

/* -------------------------------------------------- receiving, msg_recv.c */

/* An envelope arrived: the receive it matches, marked as receiving, or NULL.
 * Then the caller makes a message of it and stores it. */
struct am_msg_req *am_msg_match(struct am_msg *msg, uint64_t key, uint32_t tag,
                                const struct am_msg_info *info);
/* A message that has no receive yet, in no queue; NULL and a log line without
 * memory.  am_msg_message_free takes it out of any queue. */
struct am_msg_req *am_msg_message_get(struct am_msg *msg, uint64_t key,
                                      uint32_t tag,
                                      const struct am_msg_info *info);
/* The same with a buffer for its payload. */
struct am_msg_req *am_msg_message_keep(struct am_msg *msg, uint64_t key,
                                       uint32_t tag,
                                       const struct am_msg_info *info);
void am_msg_message_free(struct am_msg_req *message);
/* Put it in the unexpected queue. */
void am_msg_store(struct am_msg_req *message);
/* An envelope whose payload is elsewhere: match and deliver, or store. */
void am_msg_arrive(struct am_msg *msg, uint64_t key, uint32_t tag,
                   const struct am_msg_info *info);

#endif
