/*
 * Two processes of am_tune, a socket between them, and messages.
 */
#include "config.h"

#include "tools/tune.h"

#include "tools/perf.h"

#include <am_msg.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    OPTIONS_MAX = 8,
    MEET_LOOKS = 2000, /* before the core is left to others */
    WAIT_LOOKS = 256   /* between looks whether the other is there */
};

/* How often each has come to a meeting; the two are a line apart. */
struct tune_meeting {
    _Atomic uint64_t came[2][8];
};

int tune_pair_open(struct tune_pair *pair, const uint16_t cores[2])
{
    char error[256];
    int ends[2];

    *pair = (struct tune_pair){.env = am_env_real()};
    fflush(NULL);
    pair->meeting = mmap(NULL, sizeof(*pair->meeting), PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pair->meeting == MAP_FAILED ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        (pair->child = fork()) < 0) {
        fprintf(stderr, "am_tune: cannot start a second process: %s\n",
                strerror(errno));
        return -1;
    }
    pair->rank = pair->child == 0;
    pair->socket = ends[pair->rank];
    close(ends[1 - pair->rank]);
    if (perf_pin(cores[pair->rank], error, sizeof(error)) != 0) {
        fprintf(stderr, "am_tune: %s\n", error);
        return tune_pair_close(pair, -1);
    }
    return 0;
}

int tune_pair_close(struct tune_pair *pair, int result)
{
    int status;

    close(pair->socket);
    munmap(pair->meeting, sizeof(*pair->meeting));
    if (pair->rank == 1) {
        fflush(NULL);
        _exit(result == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    if (waitpid(pair->child, &status, 0) != pair->child || !WIFEXITED(status) ||
        WEXITSTATUS(status) != EXIT_SUCCESS) {
        return -1;
    }
    return result;
}

int tune_swap(struct tune_pair *pair, const void *mine, void *theirs,
              size_t bytes)
{
    size_t at = 0;

    if (send(pair->socket, mine, bytes, MSG_NOSIGNAL) != (ssize_t)bytes) {
        return -1; /* the other has ended, and said why */
    }
    while (at < bytes) {
        ssize_t got = recv(pair->socket, (char *)theirs + at, bytes - at, 0);

        if (got <= 0) {
            return -1;
        }
        at += (size_t)got;
    }
    return 0;
}

/* Has the other ended? */
static bool is_alone(const struct tune_pair *pair)
{
    char word;

    return recv(pair->socket, &word, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

int tune_meet(struct tune_pair *pair)
{
    _Atomic uint64_t *mine = &pair->meeting->came[pair->rank][0];
    _Atomic uint64_t *theirs = &pair->meeting->came[1 - pair->rank][0];
    uint64_t count = atomic_fetch_add(mine, 1) + 1;

    for (uint32_t looks = 1; atomic_load(theirs) < count; looks++) {
        if (looks % MEET_LOOKS == 0) {
            if (is_alone(pair)) {
                return -1;
            }
            sched_yield();
        }
    }
    return 0;
}

static int allgather(void *arg, const void *mine, void *all, size_t bytes)
{
    struct tune_pair *pair = arg;
    char *to = all;

    memcpy(to + pair->rank * bytes, mine, bytes);
    return tune_swap(pair, mine, to + (1 - pair->rank) * bytes, bytes);
}

struct am_ctx *tune_ctx_open(struct tune_pair *pair,
                             const struct am_option *options)
{
    struct am_option all[OPTIONS_MAX] = {{"AM_DEVICES", "shm"}};
    uint32_t count = 1;
    char error[512];
    struct am_params params = {.rank = pair->rank,
                               .size = 2,
                               .allgather = allgather,
                               .allgather_arg = pair,
                               .options = all,
                               .error = error,
                               .error_bytes = sizeof(error)};
    struct am_ctx *ctx;

    for (; options->name != NULL && count < OPTIONS_MAX; options++) {
        all[count++] = *options;
    }
    params.option_count = count;
    if (am_open(&params, &ctx) != AM_OK) {
        fprintf(stderr, "am_tune: %s\n", error);
        return NULL;
    }
    return ctx;
}

/* --------------------------------------------------------------- messages */

struct flow {
    const struct tune_pair *pair;
    struct am_ctx *ctx;
    uint32_t rank;
    int pending;
    am_status_t status;
};

static void on_done(void *arg, const struct am_msg_status *status)
{
    struct flow *flow = arg;

    flow->pending--;
    if (status->status != AM_OK) {
        flow->status = status->status;
    }
}

/* One buffer for each place in a window: a message goes where the one before
 * it in that place was. */
static char *buffer_at(size_t bytes, int slot, bool out)
{
    static char *memory[2];
    static size_t allocated;
    const size_t line = 4096;
    size_t step = (bytes + line - 1) & ~(line - 1);

    if (allocated < TUNE_WINDOW * step) {
        for (int i = 0; i < 2; i++) {
            free(memory[i]);
            memory[i] = aligned_alloc(line, TUNE_WINDOW * step);
            if (memory[i] == NULL) {
                fputs("am_tune: out of memory\n", stderr);
                exit(EXIT_FAILURE);
            }
            memset(memory[i], i, TUNE_WINDOW * step);
        }
        allocated = TUNE_WINDOW * step;
    }
    return memory[out] + (size_t)slot * step;
}

static am_status_t start_one(struct flow *flow, size_t bytes, int slot,
                             bool out)
{
    struct am_msg_envelope envelope = {1, out ? flow->rank : 1 - flow->rank, 7};
    const struct am_msg_mask exact = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_data data = {.kind = AM_DATA_CONTIG,
                           .bytes = bytes,
                           .u.base = buffer_at(bytes, slot, out)};
    struct am_msg_status done;
    struct am_msg_req *req;
    am_status_t status;

    if (out &&
        am_msg_send_now(flow->ctx, 1 - flow->rank, am_msg_key(1, flow->rank), 7,
                        data.u.base, bytes)) {
        return AM_OK;
    }
    flow->pending++;
    status = out ? am_msg_isend(flow->ctx, 1 - flow->rank, &envelope, &data, 0,
                                on_done, flow, &req)
                 : am_msg_irecv(flow->ctx, &envelope, &exact, &data, on_done,
                                flow, &done, &req);
    if (status != AM_OK) { /* done at once, or refused */
        flow->pending--;
    }
    return status < 0 ? status : AM_OK;
}

/* The other may have given up in order, which is no death to its peer. */
static int flow_wait(struct flow *flow)
{
    for (uint32_t looks = 1; flow->pending > 0 && flow->status == AM_OK;
         looks++) {
        int count = am_ctx_poll_wait(flow->ctx);

        if (count < 0) {
            flow->status = (am_status_t)count;
        } else if (looks % WAIT_LOOKS == 0 && is_alone(flow->pair)) {
            return -1; /* it has said why */
        }
    }
    if (flow->status != AM_OK) {
        fprintf(stderr, "am_tune: a message failed: %s\n",
                am_status_text(flow->status));
        return -1;
    }
    return 0;
}

static int move(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                int sends, int receives, int window, int buffers)
{
    struct flow flow = {.pair = pair, .ctx = ctx, .rank = pair->rank};

    for (int at = 0; at < sends || at < receives; at += window) {
        for (int i = 0; i < window && flow.status == AM_OK; i++) {
            if (at + i < receives) {
                flow.status = start_one(&flow, bytes, i % buffers, false);
            }
        }
        for (int i = 0; i < window && flow.status == AM_OK; i++) {
            if (at + i < sends) {
                flow.status = start_one(&flow, bytes, i % buffers, true);
            }
        }
        if (flow_wait(&flow) != 0) {
            return -1;
        }
    }
    return 0;
}

int tune_move(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
              int sends, int receives)
{
    return move(pair, ctx, bytes, sends, receives, TUNE_WINDOW, TUNE_WINDOW);
}

int tune_half(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
              int iterations, uint64_t *half_ps)
{
    uint64_t start = am_env_now(pair->env);

    for (int i = 0; i < iterations; i++) {
        if (tune_move(pair, ctx, bytes, pair->rank == 0, pair->rank == 1) !=
                    0 ||
            tune_move(pair, ctx, bytes, pair->rank == 1, pair->rank == 0) !=
                    0) {
            return -1;
        }
    }
    *half_ps = (am_env_now(pair->env) - start) / (uint64_t)iterations / 2;
    return 0;
}

static int stream(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                  int count, int window, int buffers, bool both)
{
    int sends = both || pair->rank == 0 ? count : 0;
    int receives = both || pair->rank == 1 ? count : 0;

    if (move(pair, ctx, bytes, sends, receives, window, buffers) != 0) {
        return -1;
    }
    /* who sends knows of the end by an answer */
    return tune_move(pair, ctx, 1, pair->rank == 1, pair->rank == 0);
}

int tune_stream(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                int count, bool both)
{
    return stream(pair, ctx, bytes, count, TUNE_WINDOW, TUNE_WINDOW, both);
}

int tune_window(struct tune_pair *pair, struct am_ctx *ctx, size_t bytes,
                int count, bool both)
{
    return stream(pair, ctx, bytes, count, count, 1, both);
}

int tune_timed_start(struct tune_pair *pair, uint64_t *start_ps)
{
    int result = tune_meet(pair);

    *start_ps = am_env_now(pair->env);
    return result;
}

int tune_timed_stop(struct tune_pair *pair, uint64_t start_ps,
                    uint64_t *elapsed_ps)
{
    uint64_t mine[2] = {start_ps, am_env_now(pair->env)}, theirs[2];

    if (tune_swap(pair, mine, theirs, sizeof(mine)) != 0) {
        return -1;
    }
    *elapsed_ps = (mine[1] > theirs[1] ? mine[1] : theirs[1]) -
                  (mine[0] < theirs[0] ? mine[0] : theirs[0]);
    return 0;
}
