/*
 * struct am_ctx: all that one endpoint owns.  For the am layer's own files.
 */
#ifndef AM_AM_CTX_H
#define AM_AM_CTX_H

#include "am/core.h"
#include "base/assert.h"
#include "base/config.h"
#include "base/forked.h"
#include "base/pool.h"
#include "dev/profile.h"

#define AM_DEVS_MAX    6                     /* as many as the build may have */
#define AM_TABLES_MAX  (10 + AM_MODULES_MAX) /* am, chan, devices, modules */
#define AM_QUEUE_MAX   65536      /* requests to a peer queued by handlers */
#define AM_POLL_BUDGET 64         /* packets of one lane in one poll */
#define AM_ONE_BYTES   640        /* an object of one_pool */
#define AM_SEND_BYTES  768        /* an object of send_pool */
#define AM_OPS_MAX     (1u << 20) /* quota of each pool: objects */

/* am's own handlers, below AM_HANDLER_MSG. */
enum {
    AM_H_HELLO = AM_HANDLER_AM, /* a late peer's address blob */
    AM_H_STREAM,                /* a piece of a put */
    AM_H_STREAM_LAST,           /* its last piece: handler, acknowledgement */
    AM_H_ACK,                   /* reply: a put is in place */
    AM_H_GET,                   /* stream me this, please */
    AM_H_REFUSED,               /* that region does not exist */
    AM_H_FETCH_ADD,
    AM_H_FETCHED,
    AM_H_SEND,     /* client send, whole */
    AM_H_SEND_RTS, /* client send, to be fetched */
    AM_H_SEND_FIN
};

/* Counters of the am layer; rows in am/counters.c. */
enum {
    AM_STAT_TX_REQUESTS,
    AM_STAT_TX_REPLIES,
    AM_STAT_RX_REQUESTS,
    AM_STAT_RX_REPLIES,
    AM_STAT_QUEUED,
    AM_STAT_STREAM_BYTES,
    AM_STAT_LANDED_BYTES,
    AM_STAT_DEVICE_PUTS,
    AM_STAT_DEVICE_GETS,
    AM_STAT_SPARED,
    AM_STAT_FETCH_ADDS,
    AM_STAT_RX_BAD_PACKET,
    AM_STAT_RX_BAD_HANDLER,
    AM_STAT_RX_BAD_REGION,
    AM_STAT_RX_BAD_HANDLE,
    AM_STAT_RX_BAD_CONNECTION,
    AM_STAT_PEERS_DEAD,
    AM_STAT_POSTED,
    AM_STAT_POST_FAILED,
    AM_STAT_COUNT
};

struct am_values { /* the am layer's variables */
    char devices[AM_CONFIG_TEXT_BYTES];
    char log[AM_CONFIG_TEXT_BYTES];
    char stats[AM_CONFIG_TEXT_BYTES];
    char trace[AM_CONFIG_TEXT_BYTES];
    size_t trace_records;
    char sim_machine[AM_CONFIG_TEXT_BYTES], sim_compute[AM_CONFIG_TEXT_BYTES];
    char sim_engine[AM_CONFIG_TEXT_BYTES]; /* these three are the tools' */
    uint64_t connect_timeout_ms;
    int learn, wait;
    char profile[AM_CONFIG_TEXT_BYTES];
};

/* What a peer may name by number: regions, operations that await an answer. */
typedef enum {
    AM_HANDLE_FREE,
    AM_HANDLE_REGION,
    AM_HANDLE_BULK,
    AM_HANDLE_FETCH,
    AM_HANDLE_SEND
} am_handle_kind_t;

struct am_handle {
    void *object;
    uint32_t generation; /* changes when the slot is freed */
    uint16_t kind;
    uint32_t next_free;
};

/*
 * An address blob: what am_address gives and peers exchange.  It names the
 * context and, for each device, has a part that the device alone can read:
 *
 *   magic, version, bytes, rank, flags, nonce | part | part | ...
 *          a part: number, reliability, bytes | the device's bytes | padding
 *
 * A reader passes over the parts of devices that it does not know.  A part
 * begins at a multiple of 8 bytes, and the blob is as long as its parts; what
 * follows that in the room of AM_ADDRESS_BYTES is zero and need not be sent.
 */
#define AM_BLOB_MAGIC   0x616d6164u /* "amad" */
#define AM_BLOB_VERSION 3
/* AM_DEVICES is auto, and there are devices that open when ranks need them. */
#define AM_BLOB_MORE 1u

struct am_blob {
    uint32_t magic;
    uint16_t version;
    uint16_t bytes; /* of the whole, this header included */
    uint32_t rank;
    uint32_t flags; /* AM_BLOB_... */
    uint64_t nonce;
    uint8_t parts[AM_ADDRESS_BYTES - 24];
};

AM_STATIC_ASSERT(sizeof(struct am_blob) == AM_ADDRESS_BYTES, "wire format");

struct am_blob_part {
    uint8_t number;      /* AM_DEV_NUMBER_... */
    uint8_t reliability; /* as of struct am_dev */
    uint16_t bytes;      /* of what follows, without the padding */
    uint32_t short_ns; /* what its owner pays for a short message by it */
};

AM_STATIC_ASSERT(sizeof(struct am_blob_part) == 8, "wire format");

/* A device that is polled each time, or after a rest while nothing comes by it. */
struct am_dev_poll {
    struct am_dev *dev;
    uint32_t short_ns; /* as in its slot */
    uint32_t rest; /* polls to leave out, ... */
    uint32_t left; /* ... and how many of them are left */
    uint32_t idle; /* polls in a row that found nothing */
};

/* An open device, whatever wraps it. */
struct am_dev_slot {
    const struct am_dev_ops *ops; /* dev->bottom */
    uint32_t short_ns;            /* in the address; does not change */
    uint64_t stats[AM_DEV_STAT_COUNT];
};

struct am_posts;
struct am_events;

/* A context in the child of a fork: what it had (forked.c). */
struct am_forked {
    struct am_fork_watch watch;
    bool is, told;
    uint32_t dev_count, peer_count;
    struct am_posts *posts;
};

struct am_ctx {
    struct am_ctx_modules modules; /* first: am_module_data */
    /* hot: what a poll and a short send read */
    struct am_peer **peers;
    uint32_t peer_count; /* job ranks, then late peers */
    uint32_t used_count;
    bool polling;   /* inside am_ctx_poll: handlers, done calls */
    bool waiting;   /* that poll is of a caller that waits */
    bool failed;    /* a peer died since the last report */
    bool costs;     /* of a device changed: tell the modules */
    bool attention; /* look at busy, finished, failed, costs, simulated */
    bool watched;   /* dispatch traces, or charges a simulated host */
    uint32_t polls;
    struct am_dev_poll used[AM_DEVS_MAX]; /* devices that peers are reached by;
                                           * others are looked at rarely */
    uint32_t due; /* bits: modules whose poll is to run */
    uint64_t idle;           /* empty polls in a row, of am_ctx_poll_wait */
    struct am_list busy;     /* peers with queued ops */
    struct am_list finished; /* transfers whose done function is due */
    struct am_env *env;
    struct am_trace *trace;
    uint64_t stats[AM_STAT_COUNT];
    struct am_token token; /* of the packet that is handled */
    struct am_handler handlers[AM_HANDLERS_MAX];

    /* cold */
    uint32_t dev_count;
    struct am_dev *devs[AM_DEVS_MAX];
    struct am_dev *self; /* loop-back; among devs once used */
    struct am_dev_slot slots[AM_DEVS_MAX];
    uint32_t slot_count;
    uint32_t rank, size;
    uint64_t nonce;
    struct am_blob **blobs; /* of the job's ranks, each as long as it says; in
                             * one piece of memory */
    uint32_t peer_max;     /* allocated entries of peers */
    struct am_handle *handles;
    uint32_t handle_count, handle_free;
    struct am_list public_regions;
    struct am_pool *bulk_pool; /* gets served: struct am_bulk */
    struct am_pool *one_pool;  /* AM_ONE_BYTES: one-sided operations */
    struct am_pool *send_pool; /* client sends and receives */
    struct am_pool pools[3];
    struct am_client **clients;
    uint32_t client_count;
    struct am_list manys;    /* client.c: sends to many under way */
    struct am_list deferred; /* short receives that hold a copy */
    uint64_t checked_ps, unused_ps; /* last looks: deaths, unused devices */
    bool attends;           /* `attention` is always set: simulated, posts */
    struct am_posts *posts; /* post.c; NULL until opened */
    struct am_events *events; /* event.c; NULL until asked for */
    struct am_profile profile; /* no row is given: there is none */
    char profile_path[512];
    struct am_log log;
    struct am_values values;
    void *table_values[AM_TABLES_MAX]; /* by table of am_config_tables() */
    uint64_t *module_stats[AM_MODULES_MAX];
    char error[512];
    struct am_forked forked;
    am_dead_fn dead; /* the user's; NULL: none */
    void *dead_arg;
};

/* ------------------------------------------------------- peer.c, death.c */

/* A new peer at `index`, not connected. */
struct am_peer *am_peer_new(struct am_ctx *ctx, uint32_t index);
/* Is it the introduction to a late peer?  Then it is malloc's own. */
bool am_op_is_hello(const struct am_op *op);
void am_peers_close(struct am_ctx *ctx);
/* Free one that nothing refers to any more. */
void am_peer_free(struct am_ctx *ctx, struct am_peer *peer);
/* The device upcalls. */
void *am_peer_accept(void *arg, struct am_dev_ep *ep, uint32_t rank);
void am_peer_dead(void *user, const char *why);
/* The `send` of a dead peer, and of one that is not connected yet: no test on
 * the path of the living. */
am_status_t am_send_to_dead(struct am_dev_ep *ep, uint32_t class, uint64_t first,
                            const uint64_t *words, const void *data,
                            size_t data_bytes);

/* ------------------------------------------------------------- address.c */

/* Copy the blob that begins `from` (`bytes` bytes, AM_ADDRESS_BYTES at most) to
 * *blob, with zeros after it.  AM_ERR_INVALID: it is none, is of another
 * version, or its parts do not add up. */
am_status_t am_blob_read(const void *from, size_t bytes, struct am_blob *blob);
/* A copy of a blob that was read, as long as it is; malloc's.  NULL: no memory. */
struct am_blob *am_blob_copy(const struct am_blob *blob);
/* This device's part of a blob that was read: the device's bytes, and *part;
 * NULL, and no bytes, if it has none. */
const void *am_blob_part(const struct am_blob *blob, const struct am_dev *dev,
                         struct am_blob_part *part);

/* ----------------------------------------------------------- peer_late.c */

void am_peer_init(struct am_ctx *ctx); /* register the handler */
/* The peer with this address if it is known and there, else UINT32_MAX. */
uint32_t am_peer_find(const struct am_ctx *ctx, const struct am_blob *blob);
/* Let go of those that left and nobody here asked for; not inside a poll. */
void am_peers_reap(struct am_ctx *ctx);
/* Is nothing under way with it, so that it may be closed? */
bool am_peer_is_idle(struct am_ctx *ctx, struct am_peer *peer);
/* Does anything under way end in an error when it dies? */
bool am_peer_is_needed(struct am_ctx *ctx, struct am_peer *peer);

/* ------------------------------------------------------------- request.c */

/* The context closes: give up what waits for space, whoever it belongs to. */
void am_peers_drop_ops(struct am_ctx *ctx);
/* job.c: exchange addresses with the ranks of the job, then wait for them. */
am_status_t am_job_connect(struct am_ctx *ctx, const struct am_params *params,
                           char *error, size_t error_bytes);
/* lib.c: the environment for these parameters; NULL: `error` says why. */
struct am_env *am_env_find(const struct am_params *params, char *error,
                           size_t error_bytes);

/* Let a simulated host pay for building a message of so many words, once for each. */
void am_peer_charge(struct am_peer *peer, uint32_t word_count);
/* The device's send_words on a simulated host, which pays. */
am_status_t am_peer_send_charged(struct am_dev_ep *ep, uint32_t class,
                                 uint64_t first, const uint64_t *words,
                                 const void *data, size_t data_bytes);

/* -------------------------------------------------------------- handle.c */

/* The next am_handle_new will have memory.  AM_ERR_MEMORY. */
am_status_t am_handle_reserve(struct am_ctx *ctx);
/* A number for `object`: index | generation << 32, never 0; 0: no memory.  And the object,
 * or NULL (counted) when the number is stale or of another kind. */
uint64_t am_handle_new(struct am_ctx *ctx, am_handle_kind_t kind, void *object);
void *am_handle_find(struct am_ctx *ctx, uint64_t handle, am_handle_kind_t kind);
void am_handle_free(struct am_ctx *ctx, uint64_t handle);

/* ---------------------------------------------------------------- post.c */

/* Send what other threads posted; how many there were. */
int am_posts_run(struct am_ctx *ctx);
bool am_posts_are_run(struct am_ctx *ctx); /* is all of it sent? */
void am_posts_close(struct am_ctx *ctx);
/* Is something posted?  If not, whoever posts next calls am_events_ring. */
bool am_posts_armed(struct am_ctx *ctx);

/* --------------------------------------------------------------- event.c */

/* From any thread: the context's descriptor gets readable. */
void am_events_ring(struct am_ctx *ctx);
/* A wait's sleep over all devices, unless something is there; false: no descriptor. */
bool am_events_sleep(struct am_ctx *ctx, bool *slept_p);
void am_events_close(struct am_ctx *ctx);

/* -------------------------------------------------------------- forked.c */

/* From now on a child of this process cannot use the context. */
void am_forked_watch(struct am_ctx *ctx);
/* This is such a child: say so, once.  AM_ERR_FORKED. */
am_status_t am_forked_refuse(struct am_ctx *ctx);
/* The context closes, wherever it is. */
void am_forked_close(struct am_ctx *ctx);

/* -------------------------------------------------------------- region.c */

/* The region that `peer` names by handle and offset, or by handle 0 and an
 * address (then *offset becomes relative); NULL, counted, when the range is
 * not inside one, or the peer may not do there what `rights` say. */
struct am_region *am_region_find(const struct am_peer *peer, uint32_t rights,
                                 uint64_t handle, size_t *offset, size_t bytes);

/* ------------------------------------------------------------ dispatch.c */

void am_dispatch(void *user, uint32_t class, const void *hdr, size_t hdr_bytes,
                 void *data, size_t bytes);
/* A message is for a handler that nobody registered: count it, and say so the
 * first time that this peer sends one there. */
void am_handler_missing(struct am_peer *peer, uint64_t handler);
/* Has the message the words that it should have?  If not it is counted; then
 * drop it before looking at one. */
bool am_token_has(const struct am_token *token, uint32_t word_count,
                  uint32_t wanted);

/* ------------------------------------------- handlers of regions, transfers */

void am_bulk_init(struct am_ctx *ctx); /* register the handlers */
void am_onesided_init(struct am_ctx *ctx);
void am_client_init(struct am_ctx *ctx);
void am_client_fini(struct am_ctx *ctx);
/* The transfer has ended: its done function is called later in the poll. */
void am_bulk_end(struct am_bulk *bulk, am_status_t status);

/* Answers of a peer are taken only for what is out: sent, and not with the device. */
static inline bool am_op_is_out(const struct am_op *op,
                                const struct am_peer *peer)
{
    return op->peer == peer && !op->queued;
}

static inline bool am_bulk_is_out(const struct am_bulk *bulk,
                                  const struct am_peer *peer)
{
    return am_op_is_out(&bulk->op, peer) && !bulk->in_device;
}

/* bulk_copy.c: is a single copy possible, and cheaper than a stream? */
bool am_bulk_single(const struct am_bulk *bulk, struct am_peer *peer);
/* Copy: AM_DONE when the bytes are in place, AM_OK when the device is at it and
 * calls `done(bulk)` later; AM_ERR_UNSUPPORTED: stream instead. */
am_status_t am_bulk_copy(struct am_bulk *bulk, am_done_fn done);
/* The peer has died: end what waits for it. */
void am_bulk_fail(struct am_bulk *bulk, am_status_t status);
void am_fetch_fail(struct am_ctx *ctx, void *fetch, struct am_peer *peer);
void am_send_fail(struct am_ctx *ctx, void *send, struct am_peer *peer);
/* Call the done functions that are due. */
int am_bulk_finish(struct am_ctx *ctx);

/* ---------------------------------------------------- progress.c, wait.c */

/* am_ctx_poll_wait; `for_space`: the caller waits for space at a peer, which
 * rings no bell, so do not sleep. */
int am_poll_blocked(struct am_ctx *ctx, bool for_space);
/* Look for dead peers, if the last look was some time ago.  Not in a poll. */
void am_check_peers(struct am_ctx *ctx);
/* The next poll does what polls do rarely, too. */
void am_poll_rare_next(struct am_ctx *ctx);
/* Is a rank of the job dead? */
bool am_rank_is_dead(const struct am_ctx *ctx);

/* ---------------------------------------------------------------- info.c */

extern const struct am_config_table am_ctx_config;
/* All tables of this build, in am_variable's order, and the sizes of the
 * structs they fill (AM_TABLES_MAX entries each); how many there are. */
uint32_t am_config_tables(const struct am_config_table **tables,
                          size_t *value_bytes);
/* What this context read by a table; NULL when the table is NULL. */
const void *am_ctx_values(const struct am_ctx *ctx,
                          const struct am_config_table *table);

/* ----------------------------------------------------------------- ctx.c */

/* Has every variable in the environment an acceptable value?  Else *error says
 * in a sentence which has not; for a program that only starts others. */
am_status_t am_variables_check(char *error, size_t error_bytes);

/* address.c: can every rank send without another one's help? */
bool am_connected(struct am_ctx *ctx);

#endif
