/*
 * A child of a fork uses its parent's context: each call fails and says why,
 * and the parent, which goes on sending and receiving, loses nothing.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"

#include <am.h>
#include <am_client.h>
#include <am_msg.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    H_PING = AM_HANDLER_USER,
    H_PONG,
    COUNT = 20000,
    FORKS = 20
};

static char folder[64];
static pid_t (*fork_in_handler)(void);

/* What a rank has under way with itself while it forks. */
static struct {
    struct am_client *client;
    struct am_recv *deferred;           /* waits for a buffer */
    struct am_msg_req *posted, *claimed; /* a receive, a message */
    struct am_region *region;
    struct am_key key;
    char memory[64];
    uint64_t landed;
    uint32_t supplied, ended_in_child;
} held;

static int setup(void **state)
{
    strcpy(folder, "am_fork_test.XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    char command[96];

    snprintf(command, sizeof(command), "rm -r %s", folder);
    return system(command);
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    if (words[0] != me->pings) {
        abort();
    }
    me->pings++;
    if (fork_in_handler != NULL && fork_in_handler() == 0) {
        fork_in_handler = NULL;
        if (am_token_reply(token, H_PONG, words, count, NULL, 0) == AM_OK) {
            abort();
        }
        return;
    }
    if (am_token_reply(token, H_PONG, words, count, data, bytes) != AM_OK) {
        abort();
    }
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    if (words[0] != me->pongs || bytes != words[0] % 300) {
        abort();
    }
    me->pongs++;
}

static void never(void *arg, const struct am_msg_status *status)
{
    abort();
}

static am_status_t on_send(void *arg, struct am_recv *recv, uint32_t source,
                           const void *info, size_t info_bytes, size_t bytes,
                           struct am_data *landing, am_done_fn *done,
                           void **done_arg)
{
    held.deferred = recv;
    return AM_ERR_AGAIN;
}

static void on_supplied(void *arg, am_status_t status)
{
    if (status != AM_OK) {
        abort();
    }
    held.supplied++;
}

static struct am_msg_envelope envelope_of(const struct rank *me, uint32_t tag)
{
    return (struct am_msg_envelope){.source = me->rank, .tag = tag};
}

static const struct am_msg_mask whole = {UINT32_MAX, UINT32_MAX, UINT32_MAX};

/* Fill `held`; 0, or not. */
static int hold(struct rank *me)
{
    uint64_t word = 77;
    struct am_data data = am_data_contig(&word, sizeof(word));
    struct am_msg_envelope message = envelope_of(me, 2);
    struct am_msg_envelope never_sent = envelope_of(me, 3);
    struct am_msg_status status;
    struct am_msg_req *req;

    if (am_client_register(me->ctx, AM_ORDERED, on_send, NULL, &held.client) !=
                AM_OK ||
        am_region_register(me->ctx, held.memory, sizeof(held.memory),
                           &held.region) != AM_OK ||
        am_send(held.client, me->rank, NULL, 0, &data, NULL, NULL) != AM_OK ||
        am_msg_isend(me->ctx, me->rank, &message, &data, 0, NULL, NULL, &req) <
                0 ||
        am_msg_irecv(me->ctx, &never_sent, &whole, &data, never, NULL, &status,
                     &held.posted) != AM_OK) {
        return -1;
    }
    am_region_key(held.region, &held.key);
    while (held.deferred == NULL || held.claimed == NULL) {
        if (held.claimed == NULL &&
            am_msg_improbe(me->ctx, &message, &whole, &status, &held.claimed) <
                    AM_ERR_AGAIN) {
            return -1;
        }
        (void)am_ctx_poll(me->ctx);
    }
    return 0;
}

/* All of it is still there, and ends as it should; 0, or not. */
static int let_go(struct rank *me)
{
    struct am_data data = am_data_contig(&held.landed, sizeof(held.landed));
    struct am_msg_status status;
    struct am_msg_req *req;

    if (am_msg_cancel(held.posted) != AM_DONE ||
        am_msg_imrecv(held.claimed, &data, NULL, NULL, &status, &req) !=
                AM_DONE ||
        held.landed != 77) {
        return -1;
    }
    held.landed = 0;
    if (am_recv_supply(held.deferred, &data, on_supplied, NULL) != AM_OK ||
        held.supplied != 1 || held.landed != 77) {
        return -1;
    }
    am_region_deregister(me->ctx, held.region);
    return 0;
}

static void never_done(void *arg, am_status_t status)
{
    held.ended_in_child++;
}

/* A child's calls on what its parent has under way; 0, or which did not fail. */
static int child_held(struct am_ctx *ctx)
{
    char memory[16];
    struct am_data data = am_data_contig(memory, sizeof(memory));
    struct am_msg_status status;
    struct am_region *region;
    struct am_msg_req *req;

    if (am_recv_supply(held.deferred, &data, never_done, NULL) !=
        AM_ERR_FORKED) {
        return 20;
    }
    if (am_msg_cancel(held.posted) != AM_ERR_FORKED) {
        return 21;
    }
    if (am_msg_imrecv(held.claimed, &data, never, NULL, &status, &req) !=
        AM_ERR_FORKED) {
        return 22;
    }
    if (am_region_register(ctx, memory, sizeof(memory), &region) !=
        AM_ERR_FORKED) {
        return 23;
    }
    return am_disconnect(ctx, am_size(ctx)) == AM_ERR_FORKED ? 0 : 24;
}

/* The same for what goes to `to`. */
static int child_transfers(struct am_ctx *ctx, uint32_t to)
{
    const struct am_many many = {.dest = to};
    uint64_t word = 0;
    struct am_data data = am_data_contig(&word, sizeof(word));
    struct am_key key;

    if (am_ctx_put(ctx, to, &data, &held.key, 0, never_done, NULL) !=
                AM_ERR_FORKED ||
        am_ctx_rget(ctx, to, &data, &held.key, 0, never_done, NULL) !=
                AM_ERR_FORKED ||
        am_ctx_fetch_add(ctx, to, &held.key, 0, 1, &word, never_done, NULL) !=
                AM_ERR_FORKED) {
        return 30;
    }
    if (am_ctx_store(ctx, to, &word, held.memory, 8, H_PING, &word, 1) !=
                AM_ERR_FORKED ||
        am_ctx_store_async(ctx, to, &word, held.memory, 8, H_PING, &word, 1,
                           never_done, NULL) != AM_ERR_FORKED ||
        am_ctx_get(ctx, to, held.memory, &word, 8, H_PING, &word, 1) !=
                AM_ERR_FORKED ||
        am_region_key_to(held.region, to, &key) != AM_ERR_FORKED) {
        return 31;
    }
    if (am_send(held.client, to, NULL, 0, &data, never_done, NULL) !=
        AM_ERR_FORKED) {
        return 32;
    }
    if (am_multicast(held.client, &to, 1, NULL, 0, &data, never_done, NULL) !=
                AM_ERR_FORKED ||
        am_many_to_many(held.client, &many, 1, NULL, 0, never_done, NULL) !=
                AM_ERR_FORKED) {
        return 33;
    }
    return 0;
}

/* All calls of a child; 0, or which of them did not fail as it should. */
static int child_calls(struct am_ctx *ctx, uint32_t size)
{
    int held_code = child_held(ctx), code = 0;
    static char memory[100000];
    struct am_data data = am_data_contig(memory, sizeof(memory));
    struct am_msg_envelope envelope = {.source = am_rank(ctx), .tag = 1};
    unsigned char blob[AM_ADDRESS_BYTES];
    struct am_msg_mask mask = {.tag = UINT32_MAX};
    struct am_msg_status status;
    struct am_msg_req *req;
    uint64_t word = 0;
    uint32_t peer;
    int fd;

    for (int i = 0; i < 100; i++) {
        if (am_ctx_poll(ctx) != AM_ERR_FORKED ||
            am_ctx_poll_wait(ctx) != AM_ERR_FORKED) {
            return 1;
        }
    }
    for (uint32_t to = 0; to < size; to++) {
        code = code != 0 ? code : child_transfers(ctx, to);
        if (am_ctx_request(ctx, to, H_PING, &word, 1, NULL, 0) !=
                    AM_ERR_FORKED ||
            am_ctx_try_request(ctx, to, H_PING, &word, 1, NULL, 0) !=
                    AM_ERR_FORKED) {
            return 2;
        }
        if (am_msg_send_now(ctx, to, 0, 0, memory, 8) ||
            am_msg_isend(ctx, to, &envelope, &data, 0, never, NULL, &req) !=
                    AM_ERR_FORKED) {
            return 3;
        }
    }
    if (am_flush(ctx) != AM_ERR_FORKED || am_check(ctx) != AM_ERR_FORKED ||
        am_ctx_fd(ctx, &fd) != AM_ERR_FORKED ||
        am_ctx_arm(ctx) != AM_ERR_FORKED) {
        return 4;
    }
    if (am_msg_post(ctx, 0, 0, memory, 8, never, NULL) != NULL ||
        am_msg_irecv(ctx, &envelope, &mask, &data, never, NULL, &status,
                     &req) != AM_ERR_FORKED ||
        am_msg_iprobe(ctx, &envelope, &mask, &status) != AM_ERR_FORKED) {
        return 7;
    }
    memset(blob, 0, sizeof(blob));
    if (am_connect(ctx, blob, &peer) != AM_ERR_FORKED ||
        am_ctx_post(ctx, 0, H_PING, &word, 1, NULL, 0) != AM_ERR_FORKED) {
        return 5;
    }
    if (strstr(am_error_text(ctx), "a child of rank ") == NULL) {
        return 6;
    }
    if (held_code != 0 || code != 0) {
        return held_code != 0 ? held_code : code;
    }
    return held.ended_in_child == 0 ? 0 : 34;
}

/* The child's whole life; it closes the context, or leaves that undone. */
static void child_run(struct rank *me, int number)
{
    int code = child_calls(me->ctx, me->size);

    if (code == 0 && fork() == 0) {
        _exit(child_calls(me->ctx, me->size) == 0 ? 0 : 40);
    }
    if (code == 0) {
        int status;

        code = wait(&status) > 0 && status == 0 ? 0 : 41;
    }
    if (number % 2 == 0) {
        am_close(me->ctx);
    }
    _exit(code);
}

static int lines_in(const char *path)
{
    FILE *file = fopen(path, "r");
    int lines = 0;

    for (int c; file != NULL && (c = fgetc(file)) != EOF;) {
        lines += c == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return lines;
}

static int open_rank(struct rank *me, char *stats, char *log, size_t bytes)
{
    const struct am_option options[] = {{"AM_STATS", stats}, {"AM_LOG", log}};

    snprintf(stats, bytes, "%s/stats%u", folder, me->rank);
    snprintf(log, bytes, "error:%s/log%u", folder, me->rank);
    (void)unlink(stats);
    (void)unlink(log + strlen("error:"));
    if (rank_open(me, options, 2) != AM_OK) {
        return -1;
    }
    am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
    am_handler_register(me->ctx, H_PONG, on_pong, me, "pong");
    return hold(me);
}

/* Send another request of mine, with some payload, if there is space. */
static void ping(struct rank *me, uint64_t *sent)
{
    static const char payload[300];

    if (*sent < COUNT && am_ctx_try_request(me->ctx, 1 - me->rank, H_PING, sent,
                                            1, payload, *sent % 300) == AM_OK) {
        ++*sent;
    }
}

/* Both ranks ask and answer; rank 0 forks now and then, and goes on while its
 * children are there. */
static int traffic_body(struct rank *me)
{
    char stats[128], log[128];
    uint64_t sent = 0;
    uint32_t forks = 0;
    int left = 0, status;

    if (open_rank(me, stats, log, sizeof(stats)) != 0) {
        return 2;
    }
    while (me->pongs < COUNT || me->pings < COUNT || left > 0) {
        ping(me, &sent);
        if (am_ctx_poll(me->ctx) < 0) {
            return 3;
        }
        if (me->rank == 0 && forks < FORKS &&
            sent > (uint64_t)forks * COUNT / FORKS) {
            pid_t child = fork();

            if (child == 0) {
                child_run(me, (int)forks);
            }
            forks++;
            left++;
        }
        while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
            left--;
            if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
                return 10 + (WIFEXITED(status) ? WEXITSTATUS(status) : 0);
            }
        }
    }
    if (me->rank == 0 &&
        (forks != FORKS || lines_in(log + strlen("error:")) != FORKS ||
         access(stats, F_OK) == 0)) {
        return 4;
    }
    if (let_go(me) != 0) {
        return 7;
    }
    if (system("exit 3") == -1 || system("true") != 0) {
        return 5;
    }
    rank_meet(me, 0, 2);
    am_close(me->ctx);
    return access(stats, F_OK) == 0 ? 0 : 6;
}

static void test_traffic(void **state)
{
    run_ranks(2, traffic_body, NULL);
}

/* Rank 0 forks in a handler, and the child goes on there and in the poll. */
static int handler_body(struct rank *me)
{
    char stats[128], log[128];
    pid_t parent = getpid();
    uint64_t sent = 0;
    int status;

    if (open_rank(me, stats, log, sizeof(stats)) != 0) {
        return 2;
    }
    while (me->pongs < COUNT || me->pings < COUNT) {
        ping(me, &sent);
        fork_in_handler =
                me->rank == 0 && me->pings % (COUNT / FORKS) == 0 ? fork : NULL;
        (void)am_ctx_poll(me->ctx);
        if (getpid() != parent) {
            child_run(me, (int)(me->pings / (COUNT / FORKS)));
        }
        if (me->rank == 0 && waitpid(-1, &status, WNOHANG) > 0 && status != 0) {
            return 100 + WEXITSTATUS(status) + WTERMSIG(status);
        }
    }
    if (let_go(me) != 0) {
        return 5;
    }
    rank_meet(me, 0, 2);
    am_close(me->ctx);
    while (wait(&status) > 0) {
        if (status != 0) {
            return 4;
        }
    }
    return 0;
}

static void test_in_handler(void **state)
{
    run_ranks(2, handler_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_traffic),
            cmocka_unit_test(test_in_handler),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
