/*
 * The default context and the plain GAM names that act on it.  The library's
 * only process-wide object lives here: the context, and the connection to the
 * launcher, which outlives it (see pmi.h).  Calls am.h and pmi.h, and looks
 * into a context for one thing: whether a rank of the job is dead.
 */
#include "am/ctx.h"
#include "am/pmi.h"

#include <am.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Empty polls in am_barrier before it waits for the launcher in the kernel,
 * and how long it then stays there between polls of the context. */
enum {
    BARRIER_SPIN_POLLS = 64,
    BARRIER_WAIT_MS = 1
};

static struct {
    struct am_ctx *ctx;
    struct am_pmi pmi;
    bool pmi_open;   /* joined the job (perhaps of one) */
    bool ended_well; /* the last context was closed by am_fini */
    char error[512]; /* of the last am_init */
} process;

/* A forked child is not a rank: the connection stays its parent's. */
static void forget_launcher(void)
{
    if (process.pmi.fd >= 0) {
        close(process.pmi.fd);
        process.pmi.fd = -1;
    }
}

static am_status_t join_job(void)
{
    uint64_t timeout_ms = am_connect_timeout_ms(NULL, 0);
    am_status_t status;

    if (process.pmi_open) {
        process.pmi.timeout_ms = timeout_ms;
        return AM_OK;
    }
    process.pmi.fd = -1;
    status = am_pmi_open(&process.pmi, timeout_ms);
    if (status != AM_OK) {
        snprintf(process.error, sizeof(process.error), "%s", process.pmi.error);
        return status;
    }
    process.pmi_open = true;
    pthread_atfork(NULL, NULL, forget_launcher);
    return AM_OK;
}

am_status_t am_init(void)
{
    struct am_params params = {.allgather = am_pmi_allgather,
                               .allgather_arg = &process.pmi,
                               .error = process.error,
                               .error_bytes = sizeof(process.error)};
    am_status_t status;

    if (process.ctx != NULL) {
        return AM_ERR_INVALID;
    }
    process.error[0] = '\0';
    process.ended_well = false;
    status = join_job();
    if (status != AM_OK) {
        return status;
    }
    params.rank = process.pmi.rank;
    params.size = process.pmi.size;
    status = am_open(&params, &process.ctx);
    if (status != AM_OK) {
        process.ctx = NULL;
        if (process.pmi.broken) {
            snprintf(process.error, sizeof(process.error), "%s",
                     process.pmi.error);
        }
    }
    return status;
}

const char *am_init_error(void)
{
    return process.error;
}

void am_fini(void)
{
    am_status_t status;

    if (process.ctx == NULL) {
        return;
    }
    status = am_flush(process.ctx);
    if (status == AM_OK) {
        status = am_barrier();
    }
    am_close(process.ctx);
    process.ctx = NULL;
    process.ended_well = status == AM_OK;
}

/* The launcher is told only of a good end; it ends the job after a bad one. */
__attribute__((destructor)) static void process_end(void)
{
    if (process.pmi_open && process.ended_well) {
        am_pmi_finalize(&process.pmi);
    }
}

struct am_ctx *am_default(void)
{
    return process.ctx;
}

static void poll_once(void *arg)
{
    (void)am_ctx_poll(arg);
}

am_status_t am_barrier(void)
{
    am_status_t status;
    int empty_polls = 0;

    if (process.ctx == NULL) {
        return AM_ERR_INVALID;
    }
    if (process.ctx->forked.is) {
        return am_forked_refuse(process.ctx);
    }
    if (process.ctx->polling) {
        return AM_ERR_HANDLER; /* nothing would come while it waits */
    }
    if (am_rank_is_dead(process.ctx)) {
        return AM_ERR_PEER; /* then no barrier of the job will ever end */
    }
    if (process.ctx->env->ops->meet != NULL) { /* takes its time, not ours */
        process.ctx->env->ops->meet(process.ctx->env, poll_once, process.ctx);
        return AM_OK;
    }
    status = am_pmi_barrier_enter(&process.pmi);
    if (status != AM_OK) {
        return status;
    }
    for (;;) {
        bool spin = empty_polls < BARRIER_SPIN_POLLS;
        int events;

        status = am_pmi_barrier_test(&process.pmi, spin ? 0 : BARRIER_WAIT_MS);
        if (status != AM_ERR_AGAIN) {
            return status;
        }
        if (!spin) {
            am_check_peers(process.ctx);
        }
        events = am_ctx_poll(process.ctx); /* peers may wait for our replies */
        if (events < 0 && am_rank_is_dead(process.ctx)) {
            return (am_status_t)events;
        }
        empty_polls = events > 0 ? 0 : empty_polls + 1;
    }
}

int am_poll(void)
{
    return process.ctx == NULL ? AM_ERR_INVALID : am_ctx_poll(process.ctx);
}

/* ------------------------------------------------------- requests, replies */

static inline am_status_t request(uint32_t dest, uint32_t handler,
                                  const uint64_t *words, uint32_t word_count)
{
    if (__builtin_expect(process.ctx == NULL, 0)) {
        return AM_ERR_INVALID;
    }
    return am_ctx_request(process.ctx, dest, handler, words, word_count, NULL,
                          0);
}

am_status_t am_request_1(uint32_t dest, uint32_t handler, uint32_t a0)
{
    return request(dest, handler, (const uint64_t[]){a0}, 1);
}

am_status_t am_request_2(uint32_t dest, uint32_t handler, uint32_t a0,
                         uint32_t a1)
{
    return request(dest, handler, (const uint64_t[]){a0, a1}, 2);
}

am_status_t am_request_3(uint32_t dest, uint32_t handler, uint32_t a0,
                         uint32_t a1, uint32_t a2)
{
    return request(dest, handler, (const uint64_t[]){a0, a1, a2}, 3);
}

am_status_t am_request_4(uint32_t dest, uint32_t handler, uint32_t a0,
                         uint32_t a1, uint32_t a2, uint32_t a3)
{
    return request(dest, handler, (const uint64_t[]){a0, a1, a2, a3}, 4);
}

am_status_t am_reply_1(struct am_token *token, uint32_t handler, uint32_t a0)
{
    return am_token_reply(token, handler, (const uint64_t[]){a0}, 1, NULL, 0);
}

am_status_t am_reply_2(struct am_token *token, uint32_t handler, uint32_t a0,
                       uint32_t a1)
{
    return am_token_reply(token, handler, (const uint64_t[]){a0, a1}, 2, NULL,
                          0);
}

am_status_t am_reply_3(struct am_token *token, uint32_t handler, uint32_t a0,
                       uint32_t a1, uint32_t a2)
{
    return am_token_reply(token, handler, (const uint64_t[]){a0, a1, a2}, 3,
                          NULL, 0);
}

am_status_t am_reply_4(struct am_token *token, uint32_t handler, uint32_t a0,
                       uint32_t a1, uint32_t a2, uint32_t a3)
{
    return am_token_reply(token, handler, (const uint64_t[]){a0, a1, a2, a3}, 4,
                          NULL, 0);
}

/* -------------------------------------------------------------- store, get */

am_status_t am_store(uint32_t dest, const void *local, void *remote,
                     size_t bytes, uint32_t handler, uint32_t a0)
{
    if (process.ctx == NULL) {
        return AM_ERR_INVALID;
    }
    return am_ctx_store(process.ctx, dest, local, remote, bytes, handler,
                        (const uint64_t[]){a0}, 1);
}

am_status_t am_store_async(uint32_t dest, const void *local, void *remote,
                           size_t bytes, uint32_t handler, uint32_t a0,
                           am_done_fn done, void *arg)
{
    if (process.ctx == NULL) {
        return AM_ERR_INVALID;
    }
    return am_ctx_store_async(process.ctx, dest, local, remote, bytes, handler,
                              (const uint64_t[]){a0}, 1, done, arg);
}

am_status_t am_get(uint32_t dest, const void *remote, void *local, size_t bytes,
                   uint32_t handler, uint32_t a0)
{
    if (process.ctx == NULL) {
        return AM_ERR_INVALID;
    }
    return am_ctx_get(process.ctx, dest, remote, local, bytes, handler,
                      (const uint64_t[]){a0}, 1);
}
