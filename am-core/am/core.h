/*
 * The inside of a context, for the am layer and the layers on it (msg,
 * collectives).  Owns: peers, handler dispatch, the queues of work that waits
 * for space, regions, bulk transfers.  May call chan, dev and base only.
 *
 *   caller -> am_peer_send -> peer->send        (space: gone at once)
 *                \-> AM_ERR_AGAIN -> am_op_queue -> am_ctx_poll -> op->run
 *   device poll -> am_dispatch -> handler(token, words, data)
 */
#ifndef AM_AM_CORE_H
#define AM_AM_CORE_H

#include "am/cost.h"
#include "am/spare.h"
#include "base/env.h"
#include "base/list.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/trace.h"
#include "dev/dev.h"

#include <am.h>

#define am_likely(_x)   __builtin_expect(!!(_x), 1)
#define am_unlikely(_x) __builtin_expect(!!(_x), 0)

/* The first 8 bytes of every packet; argument words follow. */
struct am_hdr {
    uint8_t handler;
    uint8_t word_count;
    uint16_t flags;
    uint32_t aux; /* 32 bits for the handler's own use */
};

struct am_peer;
struct am_op;

#define AM_MODULES_MAX 4

/* How a turn of an op has ended. */
typedef enum {
    AM_TURN_LAST,     /* it is over: it has been taken off its queue before the
                       * turn, and may be gone after it, or queued again; errors
                       * are its own business */
    AM_TURN_NO_SPACE, /* it stays queued, and those behind it wait as well */
    AM_TURN_MORE      /* bulk ops: it stays queued until the next poll; there may
                       * be space for others */
} am_turn_t;

/* Try once. */
typedef am_turn_t (*am_op_run_fn)(struct am_op *op);

/* The turn of an op that is over unless there was no space. */
static inline am_turn_t am_turn_of(am_status_t status)
{
    return status == AM_ERR_AGAIN ? AM_TURN_NO_SPACE : AM_TURN_LAST;
}

/*
 * AM_OP_ORDERED ops of a peer run strictly in the order queued, and while one
 * waits am_peer_send answers AM_ERR_AGAIN, so nothing overtakes.  AM_OP_BULK
 * ops (streams of payload) take turns after them: the queue is served from its
 * head until one finds no space; that one goes to the end.
 */
typedef enum {
    AM_OP_ORDERED,
    AM_OP_BULK
} am_op_kind_t;

/* Work that waits for space to a peer; embedded in its owner, zeroed. */
struct am_op {
    struct am_list link;
    am_op_run_fn run;
    struct am_peer *peer;
    am_op_kind_t kind;
    bool queued;
};

struct am_peer {
    /* hot: one cache line for a short send */
    struct am_dev_ep *ep;
    am_status_t (*send)(struct am_dev_ep *ep, uint32_t class, uint64_t first,
                        const uint64_t *words, const void *data,
                        size_t data_bytes); /* the device's send_words; on a
                                               simulated host it charges, too */
    struct am_ctx *ctx;
    uint32_t index;
    uint32_t ordered_count; /* ops on `ordered`; 0 = send directly */
    void *msg;              /* owned by the msg layer; NULL at first */
    bool dead, left; /* left: dead, a rank of the job, and nobody misses it */
    /* cold */
    struct am_dev *dev;
    bool named;      /* am_connect has given its index away */
    uint32_t landing; /* sends of it to clients that have not ended */
    uint32_t pins;    /* callers that wait for space to it */
    bool died_last; /* of late peers: it keeps its index, for who asks whether it is dead */
    bool paid;  /* a message is built, charged for, and waits for space */
    void *blob; /* address of a late peer, or NULL */
    char *death; /* how it died, as a sentence; NULL: it lives, or no memory */
    struct am_spare spare;
    struct am_list ordered, bulk;
    struct am_list busy_link; /* on ctx->busy while an op is queued */
    uint32_t queued_count;    /* requests that handlers queued */
    void *slots[AM_MODULES_MAX]; /* a module's own, by its slot; NULL */
    bool client_said;         /* it sent to a client that there is not */
    uint64_t handler_said[AM_HANDLERS_MAX / 64]; /* bits: the same, handlers */
};

/* What a handler gets.  Packets are handled one by one: a context has one. */
struct am_token {
    struct am_ctx *ctx;
    struct am_peer *peer;
    void *arg;
    uint32_t aux;
    uint32_t class; /* AM_DEV_REQUEST: it may be replied to */
};

struct am_handler {
    am_handler_fn fn;
    void *arg;
    const char *name;
};

/* A module above am (msg, coll) plugs into a context here; see am-core/lib.c. */
struct am_config_table;

struct am_module {
    const char *name;
    const struct am_config_table *config; /* NULL: no variables */
    size_t config_bytes;                  /* of the values struct */
    const struct am_stat_row *stats;
    uint32_t stat_count;
    /* `values` (parsed) and `stats` live as long as the context. */
    am_status_t (*open)(struct am_ctx *ctx, uint32_t slot, const void *values,
                        uint64_t *stats);
    void (*close)(struct am_ctx *ctx, uint32_t slot);
    /* Go on with what needs no packet: once, at the end of this poll or the next
     * one, after each am_module_wake.  The number of events.  NULL: nothing. */
    int (*poll)(struct am_ctx *ctx, uint32_t slot);
    /* Up to a hundred times a second; not on simulated hosts.  NULL: nothing. */
    void (*check)(struct am_ctx *ctx);
    /* A peer died: fail what waits for it. */
    void (*peer_dead)(struct am_ctx *ctx, struct am_peer *peer);
    /* Is nothing of it under way, so that it may be closed?  NULL: nothing. */
    bool (*peer_idle)(struct am_ctx *ctx, struct am_peer *peer);
    /* Does anything that is under way need it to live?  NULL: nothing does. */
    bool (*peer_needed)(struct am_ctx *ctx, struct am_peer *peer);
    /* Free peer->msg, its slot and the like. */
    void (*peer_close)(struct am_ctx *ctx, struct am_peer *peer);
    /* In the child of a fork: let every call ask am for its peer.  NULL: it
     * does.  Sets fields only (base/forked.h). */
    void (*forked)(struct am_ctx *ctx, uint32_t slot);
    /* What am_peer_perf and the devices' capabilities say has changed. */
    void (*costs_changed)(struct am_ctx *ctx);
    /* Text for am_describe(ctx, what); 0 if `what` is not this module's. */
    size_t (*describe)(struct am_ctx *ctx, const char *what, char *text,
                       size_t bytes);
};

extern const struct am_module *const am_modules[]; /* NULL-terminated */

struct am_ctx;

/* A module's own state; first in a context: modules find theirs without a call. */
struct am_ctx_modules {
    void *data[AM_MODULES_MAX];
};

static inline void *am_module_data(const struct am_ctx *ctx, uint32_t slot)
{
    return ((const struct am_ctx_modules *)ctx)->data[slot];
}

void am_module_set_data(struct am_ctx *ctx, uint32_t slot, void *data);
/* Let the module's `poll` run in this or the next am_ctx_poll.  Legal in a
 * handler, and in that function: then it runs again in the next poll. */
void am_module_wake(struct am_ctx *ctx, uint32_t slot);

/* Read a word of a packet once, as memory that its sender may still write. */
static inline uint64_t am_word(const uint64_t *words, uint32_t index)
{
    return *(const volatile uint64_t *)&words[index];
}

/* Is a poll under way, so that this is a handler or a completion function? */
bool am_ctx_is_polling(const struct am_ctx *ctx);
/* Its caller waits: a module may look for a while for what comes by no device. */
bool am_ctx_is_waiting(const struct am_ctx *ctx);
/* Polls inside another call have reported a death: the next poll does, too. */
void am_poll_owe(struct am_ctx *ctx);
struct am_env *am_ctx_env(struct am_ctx *ctx);
/* Its devices, from 0 on; NULL: there are no more. */
const struct am_dev *am_ctx_device(const struct am_ctx *ctx, uint32_t index);
/* The one whose network does this (AM_DEV_CAP_COLLECTIVE, AM_DEV_CAP_MULTICAST) for
 * all ranks of the job, and them alone; NULL: there is none. */
struct am_dev *am_ctx_network(const struct am_ctx *ctx, uint32_t cap);
/* Send one message to all other ranks of the job by its network, am_dev_payload_max
 * bytes at most; who gets it may not reply.  AM_ERR_AGAIN: no space. */
am_status_t am_ctx_multicast(struct am_ctx *ctx, struct am_dev *network,
                             uint32_t handler, uint32_t aux,
                             const uint64_t *words, uint32_t word_count,
                             const void *data, size_t bytes);
struct am_log *am_ctx_log(struct am_ctx *ctx);
struct am_trace *am_ctx_trace(struct am_ctx *ctx); /* NULL when off */

/* Handler indices below AM_HANDLER_USER belong to the library:
 * 1..15 am, 16..39 msg, 40..63 collectives. */
enum {
    AM_HANDLER_AM = 1,
    AM_HANDLER_MSG = 16,
    AM_HANDLER_COLL = 40
};

/* Send it when there is space.  AM_ERR_MEMORY; AM_ERR_INVALID: too long. */
am_status_t am_request_queue(struct am_peer *peer, uint32_t handler,
                             const uint64_t *words, uint32_t word_count,
                             const void *data, size_t bytes);
am_status_t am_handler_set(struct am_ctx *ctx, uint32_t index, am_handler_fn fn,
                           void *arg, const char *name);

/* AM_OK; AM_ERR_FORKED in a child of the process that opened the context. */
am_status_t am_owned(struct am_ctx *ctx);

/* The peer with this index, connecting to it on first use; NULL and *status_p
 * AM_ERR_INVALID or AM_ERR_PEER when that cannot be. */
struct am_peer *am_peer_get(struct am_ctx *ctx, uint32_t index,
                            am_status_t *status_p);

/*
 * Send one request; never blocks.  AM_ERR_AGAIN without side effect when
 * there is no space or ordered ops wait: queue an op then.  AM_ERR_PEER: dead.
 */
static inline am_status_t am_peer_send(struct am_peer *peer, uint32_t handler,
                                       uint32_t aux, const uint64_t *words,
                                       uint32_t word_count, const void *data,
                                       size_t bytes);
/* The same with the payload written by `fill` straight into the packet. */
am_status_t am_peer_send_fill(struct am_peer *peer, uint32_t handler,
                              uint32_t aux, const uint64_t *words,
                              uint32_t word_count, am_dev_fill_fn fill,
                              void *arg, size_t bytes);
/* For ops: the same sends, not held up by the op itself being queued. */
am_status_t am_op_send(struct am_op *op, uint32_t handler, uint32_t aux,
                       const uint64_t *words, uint32_t word_count,
                       const void *data, size_t bytes);
am_status_t am_op_send_fill(struct am_op *op, uint32_t handler, uint32_t aux,
                            const uint64_t *words, uint32_t word_count,
                            am_dev_fill_fn fill, void *arg, size_t bytes);
/* Reply with an aux; the rules of am_token_reply. */
am_status_t am_token_reply_aux(struct am_token *token, uint32_t handler,
                               uint32_t aux, const uint64_t *words,
                               uint32_t word_count, const void *data,
                               size_t bytes);

void am_op_queue(struct am_op *op, struct am_peer *peer, am_op_run_fn run,
                 am_op_kind_t kind);
void am_op_cancel(struct am_op *op); /* take it off its queue, if on one */

/* What it costs to reach this connected peer, by its meter, which changes it. */
const struct am_dev_perf *am_peer_perf(const struct am_peer *peer);
/* Time a long copy out of a packet of this peer: stop gets what start gave. */
static inline uint64_t am_peer_copy_start(const struct am_peer *peer,
                                          size_t bytes);
static inline void am_peer_copy_stop(const struct am_peer *peer, size_t bytes,
                                     uint64_t start);

/* The file in which a user keeps this machine's profile (AM_PROFILE=auto). */
bool am_profile_path(char *path, size_t bytes);

/* Largest payload of one request with `word_count` words. */
size_t am_peer_payload_max(const struct am_peer *peer, uint32_t word_count);
/* The same by a device. */
size_t am_dev_payload_max(const struct am_dev *dev, uint32_t word_count);

/* Bytes of each packet but the last of a stream of `bytes`: as few packets as can be, of equal
 * length, and long ones of whole lines, as others are copied up to a third more slowly. */
static inline size_t am_packet_step(size_t bytes, size_t packet_max)
{
    const size_t line = 64, page = 4096;
    size_t most = packet_max < page ? packet_max : packet_max & ~(line - 1);
    size_t packets = bytes / most + 1;
    size_t step = (bytes / packets + line) & ~(line - 1);

    return step < most ? step : most;
}

/* ----------------------------------------------------------- am_data helpers */

/* Copy [offset, offset + bytes) of the packed form out of, or into, `data`; `near`: out of a
 * packet that a near core has written (am_dev_ep's). */
void am_data_read(const struct am_data *data, size_t offset, void *to,
                  size_t bytes);
void am_data_write(const struct am_data *data, size_t offset, const void *from,
                   size_t bytes, bool near);
/* The address of [offset, offset + bytes) if it is contiguous, else NULL. */
void *am_data_at(const struct am_data *data, size_t offset, size_t bytes);

/* ------------------------------------------------------- regions, transfers */

#include "am/region.h"

/* What a transfer is to do.  It is copied with all that it points to but `local`'s memory. */
struct am_transfer {
    const struct am_data *local;
    size_t local_offset; /* of its first byte in `local`; a get's is 0 */
    const struct am_key *key;
    size_t offset; /* of its first byte in the region of `key`; where the key
                    * names none, an address of the peer's */
    size_t bytes;
    am_done_fn done; /* called once, from am_ctx_poll only */
    void *arg;
    am_by_t by;  /* whatever the costs say here, unless AM_BY_COST */
    bool later;  /* not before the next poll: the caller's call returns first */
    /* of a put: */
    bool acknowledged; /* done when the bytes are in place; else when `local` may be reused */
    uint32_t handler;  /* runs at the peer when they are in place; 0: none */
    const uint64_t *words; /* the handler's, 4 at most */
    uint32_t word_count;
    uint64_t source; /* the put answers a get, of the region with this handle,
                      * and ends when that is closed; 0: it does not */
};

/* One transfer under way, in the caller's memory: untouched until it is done. */
struct am_bulk {
    struct am_op op;
    struct am_data local;
    struct am_key key;
    size_t offset, bytes, sent_bytes; /* offset: in the region */
    size_t local_offset; /* of byte 0 of the transfer in `local` */
    bool by_device;      /* single copy chosen */
    bool in_device;      /* and under way there */
    bool get;
    am_by_t by; /* asked for */
    uint32_t handler, word_count;
    uint64_t words[4];
    am_done_fn done;
    void *arg;
    am_status_t status;
    uint64_t handle;          /* that the answer names; 0: none */
    uint64_t source;          /* am_transfer.source */
    struct am_region landing; /* get over send: where the stream arrives */
};

/* Write to, or read from, a region of the peer; nothing in *bulk need be set
 * before.  The cheaper way is taken: the device's put or get (single copy), or a
 * stream of packets (put over send).  A range that no region can hold, and a key
 * that is none, end it with AM_ERR_INVALID, as the peer's refusal does.  Legal in
 * a handler. */
void am_bulk_put(struct am_bulk *bulk, struct am_peer *peer,
                 const struct am_transfer *transfer);
void am_bulk_get(struct am_bulk *bulk, struct am_peer *peer,
                 const struct am_transfer *transfer);
/* Give up a transfer that has not ended: `done` will not be called. */
void am_bulk_cancel(struct am_bulk *bulk);

#include "am/core_inl.h"
#endif
