/*
 * Generic Active Messages, the public interface of libam's am layer.
 *
 * A context (struct am_ctx) is one endpoint: it owns its devices, peers,
 * handlers and configuration, and shares nothing mutable with any other, so
 * one process may hold thousands.  A context is not thread safe: its owner
 * serialises the calls, of which other threads may make one, am_ctx_post.
 * Peers are named by index: 0..size-1 are the ranks of the job, larger ones are
 * late connections (am_connect).
 *
 * A context belongs to the process that opened it.  In a child after fork() each
 * call that connects, sends, receives, cancels, registers memory or polls fails
 * with AM_ERR_FORKED, which is logged once, whether its comment says so or not;
 * am_close frees what is the child's, and no peer notices.  The children of _Fork() and of a bare clone() are not noticed:
 * they must not use the context.
 *
 * Names and rules follow Generic Active Messages 1.1 as given for SP AM (Chang
 * et al. 1996, section 1.1).  am_onesided.h (regions, store, get, put, fetch-and-
 * add) and am_client.h (DCMF's sends) come with this header.
 *
 * Handlers.  A handler runs inside am_poll (or a look for dead peers, am_check, for what one has
 * left), to completion.  It may send at most one reply, may not block, and may not poll.  Requests,
 * stores and gets that it issues leave at once while there is space; what finds none is queued,
 * and later polls send it.  Calls are legal in a handler unless their comment
 * says that they are not.
 *
 * Why replies always drain.  Requests and replies travel in two classes with
 * separate space (credits) for each peer.  (1) A reply handler may not reply,
 * so handling a reply needs no space and every poll can drain all replies.
 * (2) A request is dispatched only when space for one reply to its sender is
 * free, so a handler's reply never waits.  (3) By (1) the peer's polls free
 * reply space, so (2) holds again after finitely many polls of the peer, and
 * request space is freed in turn.  No cycle of waiting contains a reply.
 */
#ifndef AM_H
#define AM_H

#include <am_types.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct am_ctx;
struct am_token;

/* ---------------------------------------------------------------- contexts */

/*
 * Gather `bytes` bytes from each rank into `all` (size * bytes), in rank
 * order.  Called collectively while a context opens: once, or a second time
 * when all have learnt that the job needs devices from host to host.  Returns 0
 * on success.
 */
typedef int (*am_allgather_fn)(void *arg, const void *mine, void *all,
                               size_t bytes);

struct am_env; /* base/env.h; NULL means the real machine */

/* Fields may be added at the end; 0 or NULL, as where a program was compiled
 * before, means what libam did without the field. */
struct am_params {
    uint32_t rank, size;       /* my rank, ranks of the job (>= 1) */
    am_allgather_fn allgather; /* NULL: caller does address/connect */
    void *allgather_arg;
    const struct am_option *options; /* read during the call only */
    uint32_t option_count;
    struct am_env *env; /* borrowed for the context's life */
    char *error;        /* receives one sentence on failure */
    size_t error_bytes;
};

/*
 * Open a context.  With `allgather` it is connected when the call returns;
 * without, the caller passes every rank's am_address to am_connect_all.
 * *ctx_p is owned by the caller until am_close.  Errors: AM_ERR_CONFIG,
 * AM_ERR_MEMORY, AM_ERR_SYSTEM, AM_ERR_INVALID, AM_ERR_PEER, AM_ERR_UNSUPPORTED (a
 * device that AM_DEVICES names is not there).  Not in a handler.
 */
AM_API am_status_t am_open(const struct am_params *params,
                           struct am_ctx **ctx_p);
/*
 * The same, told how large the program's am_params is, so that a program and a
 * libam of different age agree; the macro am_open does so, and the function
 * takes one as large as that of libam 0.1.  AM_ERR_UNSUPPORTED, too: a field that
 * this libam does not know is set.
 */
AM_API am_status_t am_open_sized(const struct am_params *params,
                                 size_t params_bytes, struct am_ctx **ctx_p);
#define am_open(_params, _ctx_p) \
    am_open_sized(_params, sizeof(struct am_params), _ctx_p)

/*
 * How long am_open with these options waits for other ranks, in ms
 * (AM_CONNECT_TIMEOUT), for callers whose own exchange is to keep to it; UINT64_MAX:
 * for ever.  Its default when am_open would not accept them.
 */
AM_API uint64_t am_connect_timeout_ms(const struct am_option *options,
                                      uint32_t option_count);

/* My address blob: AM_ADDRESS_BYTES bytes are written to `blob`.  It has a part
 * for each open device.  AM_ERR_MEMORY: they do not fit. */
AM_API am_status_t am_address(struct am_ctx *ctx, void *blob);
/* How many bytes of a blob say something; the rest, to AM_ADDRESS_BYTES, is zero
 * and need not be sent.  0: it is no address.  Legal in a handler. */
AM_API size_t am_address_bytes(const void *blob);

/*
 * Tell the context the addresses of ranks 0..size-1 (size * AM_ADDRESS_BYTES,
 * copied).  Returns at once; the peers connect by being polled.  Errors:
 * AM_ERR_INVALID (a blob is not an address), AM_ERR_CONFIG (a variable that has to
 * be the same on all ranks is not), AM_ERR_MEMORY, AM_ERR_SYSTEM.  Not in a
 * handler.
 */
AM_API am_status_t am_connect_all(struct am_ctx *ctx, const void *blobs);

/*
 * Connect late to the context with this address; *peer_p is its index here.
 * One that it has connected to gives its index.  Errors: AM_ERR_INVALID
 * (not an address), AM_ERR_PEER (no device reaches it), AM_ERR_CONFIG (as above),
 * AM_ERR_MEMORY.  Not in a handler.
 */
AM_API am_status_t am_connect(struct am_ctx *ctx, const void *blob,
                              uint32_t *peer_p);

/*
 * Let go of a peer outside the job: its memory and its connection are freed, and
 * its index may be given to a later one.  Both ends are to do so, when they have
 * agreed that neither sends any more (as before am_close): what the other one
 * sends on this connection after that is not looked at, and what this one has sent
 * still arrives.  The connection that the other one made, by its am_connect, is its
 * to let go of: this end follows.  Errors:
 * AM_ERR_AGAIN (something of it is under way, or a message of it has not been
 * received: poll, and call again), AM_ERR_INVALID (a rank of the job, or no
 * peer).  Not in a handler: AM_ERR_HANDLER.
 */
AM_API am_status_t am_disconnect(struct am_ctx *ctx, uint32_t peer);

/* Write the address blob of a known peer (AM_ADDRESS_BYTES) to `blob`.
 * AM_ERR_INVALID: no such peer. */
AM_API am_status_t am_peer_address(struct am_ctx *ctx, uint32_t peer,
                                   void *blob);

/*
 * Poll until nothing that was sent by this context waits for space or for a
 * peer's acknowledgement.  Errors: those of am_ctx_poll; AM_ERR_HANDLER.
 */
AM_API am_status_t am_flush(struct am_ctx *ctx);
/* Is that so now?  1 or 0; does not poll. */
AM_API int am_is_flushed(struct am_ctx *ctx);

/*
 * Close a context and free all it owns.  The caller has made sure (am_flush
 * and a barrier) that no peer still sends to it.  What has not ended by then is
 * given up: its done function is not called.  Not in a handler.
 */
AM_API void am_close(struct am_ctx *ctx);

/* This context's rank, and the ranks of its job, as am_params gave them. */
AM_API uint32_t am_rank(const struct am_ctx *ctx);
AM_API uint32_t am_size(const struct am_ctx *ctx);

/*
 * The default context, opened through PMI-1 when the process was started by
 * mpiexec (PMI_RANK, PMI_SIZE, PMI_FD in the environment) and as a job of one
 * rank otherwise.  May be called again after am_fini.  Errors: those of
 * am_open; AM_ERR_INVALID when it is open already.  Not in a handler.
 */
AM_API am_status_t am_init(void);
/* Flush, wait for all ranks, close the default context.  Not in a handler. */
AM_API void am_fini(void);
/* The default context, the library's until am_fini; NULL before am_init. */
AM_API struct am_ctx *am_default(void);
/* Why the last am_init failed, as one sentence; "" if it did not. */
AM_API const char *am_init_error(void);
/*
 * Wait, polling, until all ranks of the default context's job are here (through
 * PMI).  Errors: AM_ERR_PEER (a rank is dead), AM_ERR_SYSTEM (the launcher is),
 * AM_ERR_INVALID (before am_init), AM_ERR_HANDLER (in a handler).
 */
AM_API am_status_t am_barrier(void);

/* The last error as one sentence, owned by the context, "" if none. */
AM_API const char *am_error_text(const struct am_ctx *ctx);

/*
 * Look whether a rank of the job has died, unless the last look was less than 10 to 200 ms ago,
 * for a caller that waits for something else and does not poll.  Handlers run for what a dead
 * peer has left; what waits for it ends here, with its `done`, or in the next poll.  AM_OK, or
 * AM_ERR_PEER when one is dead (am_error_text has the sentence); AM_ERR_HANDLER in a handler;
 * AM_ERR_FORKED.  A rank that closed in order has not died, unless something waited for it.
 */
AM_API am_status_t am_check(struct am_ctx *ctx);

/* Is this peer known to have died, or to be gone after it closed?  Sends to it fail
 * with AM_ERR_PEER.  A late peer that connected to this context keeps its index until
 * another late peer dies. */
AM_API bool am_peer_is_dead(const struct am_ctx *ctx, uint32_t peer);

/* How this peer died, as one sentence that names it, owned by the context; ""
 * while it lives. */
AM_API const char *am_peer_death(const struct am_ctx *ctx, uint32_t peer);

/* `dead` is called once for each peer that dies from now on, from a poll, am_check(_now), am_barrier
 * or am_disconnect, with a handler's rules.  The `done` of what was under way may come later. */
typedef void (*am_dead_fn)(void *arg, uint32_t peer);
AM_API void am_set_dead(struct am_ctx *ctx, am_dead_fn dead, void *arg);

/* Look for dead peers whenever the last look was.  Nothing in a handler. */
AM_API void am_check_now(struct am_ctx *ctx);

/* ---------------------------------------------------------------- handlers */

/*
 * words[0..word_count) are the arguments, data[0..bytes) the payload (NULL
 * and 0 without).  All of it is valid only until the handler returns.
 */
typedef void (*am_handler_fn)(struct am_token *token, const uint64_t *words,
                              uint32_t word_count, void *data, size_t bytes);

/*
 * Register `fn` at `index` (AM_HANDLER_USER..AM_HANDLERS_MAX-1) under `name`
 * (static storage; appears in traces).  All ranks must agree on the index.  A
 * request that is polled before that is dropped, counted as rx_bad_handler and,
 * the first one of each sender, told by a warning: register right after am_open
 * (no handler runs in it), or before a barrier.
 * `arg` is what am_token_arg returns.  Errors: AM_ERR_INVALID.
 */
AM_API am_status_t am_handler_register(struct am_ctx *ctx, uint32_t index,
                                       am_handler_fn fn, void *arg,
                                       const char *name);

/* Who sent it (a peer's index), the context it came to, and the `arg` of its
 * registration.  A token is valid only until its handler returns. */
AM_API uint32_t am_token_source(const struct am_token *token);
AM_API struct am_ctx *am_token_ctx(const struct am_token *token);
AM_API void *am_token_arg(const struct am_token *token);

/* ------------------------------------------------------- requests, replies */

/*
 * Send a request of `word_count` 64-bit words (0..AM_WORDS_MAX) and `bytes`
 * payload bytes (0..am_payload_max; `data` may be reused on return).  Blocks,
 * polling, while the peer's request space is full; inside a handler it is
 * queued instead.  Polls once after sending, as GAM's am_request does.
 * Errors: AM_ERR_INVALID, AM_ERR_PEER, AM_ERR_MEMORY (none is left, or 65,536 to
 * it are queued).
 */
AM_API am_status_t am_ctx_request(struct am_ctx *ctx, uint32_t dest,
                                  uint32_t handler, const uint64_t *words,
                                  uint32_t word_count, const void *data,
                                  size_t bytes);

/* The same, but never blocks, polls nor queues: AM_ERR_AGAIN when there is no
 * space.  The other errors are the same. */
AM_API am_status_t am_ctx_try_request(struct am_ctx *ctx, uint32_t dest,
                                      uint32_t handler, const uint64_t *words,
                                      uint32_t word_count, const void *data,
                                      size_t bytes);

/*
 * Reply to the request that `token` stands for; only inside its handler, at
 * most once, never from a reply's handler: AM_ERR_HANDLER otherwise.  Does not
 * poll and never blocks.  At most am_payload_max / 4 payload bytes, 8 less for each word from the
 * fourth on, which may be reused on return.  Errors: AM_ERR_INVALID (too large), AM_ERR_PEER.
 */
AM_API am_status_t am_token_reply(struct am_token *token, uint32_t handler,
                                  const uint64_t *words, uint32_t word_count,
                                  const void *data, size_t bytes);

/* Largest payload of one request to `dest`, bytes; 0: no such peer. */
AM_API size_t am_payload_max(struct am_ctx *ctx, uint32_t dest);

#define AM_POST_BYTES 104 /* largest payload of am_ctx_post */

/*
 * From any thread: hand a request to the thread that owns the context, whose
 * next poll sends it.  What one thread hands over stays in order.  AM_ERR_AGAIN:
 * all slots are taken until the owner polls.  AM_ERR_INVALID: not open, or too
 * large.  What the owner cannot send (no such peer, a dead one) is counted as
 * post_failed.  The owner opens the queue before others use it, with a power of
 * two of slots of 256 bytes (AM_ERR_INVALID, AM_ERR_MEMORY); from then on it
 * sleeps for 50 us at most in am_ctx_poll_wait (for longer on a descriptor: am_ctx_fd), and looks
 * at the queue in each poll.
 */
AM_API am_status_t am_ctx_post_open(struct am_ctx *ctx, uint32_t slot_count);
AM_API am_status_t am_ctx_post(struct am_ctx *ctx, uint32_t dest,
                               uint32_t handler, const uint64_t *words,
                               uint32_t word_count, const void *data,
                               size_t bytes);

/*
 * GAM's names: am_ctx_request with 1 to 4 words of 32 bits on the default
 * context, and am_token_reply.  The same rules and errors; AM_ERR_INVALID before
 * am_init.
 */
AM_API am_status_t am_request_1(uint32_t dest, uint32_t handler, uint32_t a0);
AM_API am_status_t am_request_2(uint32_t dest, uint32_t handler, uint32_t a0,
                                uint32_t a1);
AM_API am_status_t am_request_3(uint32_t dest, uint32_t handler, uint32_t a0,
                                uint32_t a1, uint32_t a2);
AM_API am_status_t am_request_4(uint32_t dest, uint32_t handler, uint32_t a0,
                                uint32_t a1, uint32_t a2, uint32_t a3);
AM_API am_status_t am_reply_1(struct am_token *token, uint32_t handler,
                              uint32_t a0);
AM_API am_status_t am_reply_2(struct am_token *token, uint32_t handler,
                              uint32_t a0, uint32_t a1);
AM_API am_status_t am_reply_3(struct am_token *token, uint32_t handler,
                              uint32_t a0, uint32_t a1, uint32_t a2);
AM_API am_status_t am_reply_4(struct am_token *token, uint32_t handler,
                              uint32_t a0, uint32_t a1, uint32_t a2,
                              uint32_t a3);

/* ---------------------------------------------------------------- progress */

/* Called once when an operation ends, from am_poll or a look for dead peers (am_check); it may
 * start others, with the rules of a handler. */
typedef void (*am_done_fn)(void *arg, am_status_t status);

/*
 * One bounded pass over devices, queues and timers: the number of events, or a
 * negative am_status_t when a rank of the job died (see am_error_text; a late
 * peer's death only fails what waits for it), or in a handler AM_ERR_HANDLER.
 */
AM_API int am_ctx_poll(struct am_ctx *ctx);
AM_API int am_poll(void); /* the default context; AM_ERR_INVALID without */

/*
 * The same for a caller that only waits: after a pass that found nothing it
 * spins, yields the core, or sleeps until a peer sends, as AM_WAIT says.  Not
 * in a handler: AM_ERR_HANDLER.
 */
AM_API int am_ctx_poll_wait(struct am_ctx *ctx);

/*
 * The context as a file descriptor, for programs that sleep in poll(2), epoll or an
 * event loop that holds other descriptors as well:
 *
 *     am_ctx_fd(ctx, &fd);
 *     for (;;) {
 *         while (am_ctx_poll(ctx) > 0) {
 *         }
 *         if (am_ctx_arm(ctx) == AM_OK) {
 *             poll(...);  // readable: there may be something to poll for
 *         }
 *     }
 *
 * The descriptor is the context's, the same each time, and closed with it; it is
 * only to be waited for.  AM_ERR_UNSUPPORTED: on a simulated host.  AM_ERR_MEMORY.
 * AM_ERR_SYSTEM: no descriptors are left; am_error_text has the cause.
 * AM_ERR_FORKED.
 */
AM_API am_status_t am_ctx_fd(struct am_ctx *ctx, int *fd_p);

/*
 * Before each sleep on the descriptor of am_ctx_fd.  AM_OK: nothing is there now,
 * and what comes from now on makes it readable: a packet, a connection, an
 * am_ctx_post by another thread, and a timer (of 0.1 s; less while something is to
 * be retransmitted or waits for space), as some things are found by polls only.
 * AM_ERR_AGAIN: poll instead of sleeping.  It stays readable until the next
 * am_ctx_arm.  Not in a handler: AM_ERR_HANDLER.  AM_ERR_INVALID: before am_ctx_fd.
 * AM_ERR_SYSTEM: a device that is new since then cannot be watched.  AM_ERR_FORKED.
 */
AM_API am_status_t am_ctx_arm(struct am_ctx *ctx);

/* ------------------------------------------------- variables and counters */

/* Static storage, but for `value`; `unit` and `choices` may be NULL. */
struct am_variable_info {
    const char *name, *value, *def, *unit, *help, *choices;
};

/* Variable `index` (0, 1, ...) with its value in `ctx` (NULL: its default),
 * which is written to `text`, `text_bytes` long; info->value points there.
 * AM_ERR_INVALID past the last one. */
AM_API am_status_t am_variable(const struct am_ctx *ctx, uint32_t index,
                               struct am_variable_info *info, char *text,
                               size_t text_bytes);

/* Static storage. */
struct am_counter_info {
    const char *name, *unit, *help;
    uint64_t value;
};

/* Counter `index` with its value in `ctx` (NULL: 0).  AM_ERR_INVALID past the
 * last one. */
AM_API am_status_t am_counter(const struct am_ctx *ctx, uint32_t index,
                              struct am_counter_info *info);

/* Print what am_info prints of "devices" or "protocols" (the table with its reasons), "waits"
 * (sends and receives that are not complete) or "collectives", into `text`, with a final 0; how
 * many bytes that are, 0 for none and anything else. */
AM_API size_t am_describe(struct am_ctx *ctx, const char *what, char *text,
                          size_t text_bytes);

#ifdef __cplusplus
}
#endif

#include <am_client.h>
#include <am_onesided.h>
#endif
