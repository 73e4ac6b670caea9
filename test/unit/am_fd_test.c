/*
 * A context as a file descriptor: whoever sleeps on it is woken by what comes.  The
 * timer that would hide a lost wake-up never fires here, but where a test says so.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"
#include "support/silent.h"

#include "base/env.h"
#include "dev/dev.h"

#include <am.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    H_PING = AM_HANDLER_USER,
    H_ARM,
    ROUNDS = 3000,
    POSTS = 2000,
    FREE_MAX = 64, /* more descriptors than a context opens to sleep on */
    MOST_NS = 50000000,
    LOST_MS = 60000 /* so long, and a wake-up was lost */
};

static int setup(void **state)
{
    silent_init(MOST_NS);
    return 0;
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    if (words[0] == me->pings) { /* in order */
        me->pings++;
    }
}

static void on_arm(struct am_token *token, const uint64_t *words,
                   uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pongs = am_ctx_arm(me->ctx) == AM_ERR_HANDLER;
}

static int open_on(struct rank *me, struct am_env *env, const char *devices,
                   const char *fault)
{
    const struct am_option options[] = {{"AM_DEVICES", devices},
                                        {"AM_RELIABILITY", "timer"},
                                        {"AM_FAULT", fault}};
    struct am_params params = {.rank = me->rank,
                               .size = me->size,
                               .env = env,
                               .allgather = me->size > 1 ? rank_exchange : NULL,
                               .allgather_arg = me,
                               .options = options,
                               .option_count = fault != NULL ? 3 : 1};

    if (am_open(&params, &me->ctx) != AM_OK) {
        return -1;
    }
    am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
    am_handler_register(me->ctx, H_ARM, on_arm, me, "arm");
    return 0;
}

/* Poll; if nothing comes, sleep.  False: nobody woke me. */
static bool poll_or_sleep(struct am_ctx *ctx)
{
    struct pollfd look = {.events = POLLIN};

    return am_ctx_poll(ctx) > 0 ||
           (am_ctx_fd(ctx, &look.fd) == AM_OK &&
            (am_ctx_arm(ctx) != AM_OK || poll(&look, 1, LOST_MS) == 1));
}

/* Two ranks in turn, each asleep until the other has sent; now and then late, so
 * that a message meets the other before, in and after its arming. */
static int take_turns(struct rank *me, struct am_env *env, const char *devices,
                      const char *fault, uint64_t rounds)
{
    if (open_on(me, env, devices, fault) != 0) {
        return 1;
    }
    for (uint64_t i = 0; i < rounds; i++) {
        volatile uint64_t idle = am_env_random(am_env_real()) % 4096;

        while (idle > 0) {
            idle--;
        }
        if (me->rank == 0 &&
            am_ctx_request(me->ctx, 1, H_PING, &i, 1, NULL, 0) != AM_OK) {
            return 2;
        }
        while (me->pings <= i) {
            if (!poll_or_sleep(me->ctx)) {
                return 3;
            }
        }
        if (me->rank == 1 &&
            am_ctx_request(me->ctx, 0, H_PING, &i, 1, NULL, 0) != AM_OK) {
            return 4;
        }
    }
    rank_meet(me, 0, me->size);
    am_close(me->ctx);
    return 0;
}

static int shm_turns(struct rank *me)
{
    return take_turns(me, &silent_env, "shm", NULL, ROUNDS);
}

/* What is lost is sent again by the clock: these two need the timer. */
static int udp_turns(struct rank *me)
{
    return take_turns(me, NULL, "udp", NULL, ROUNDS / 10);
}

/* A provider with something to sleep on, as AM_WAIT=sleep asks for it: only a few of the sleeps, while a
 * connection is made or a packet is not gone, are naps. */
static int ofi_turns(struct rank *me)
{
    int failed;

    setenv("AM_WAIT", "sleep", 1);
    setenv("AM_OFI_PROVIDER", "tcp;ofi_rxm", 1);
    setenv("AM_OFI_DOMAIN", "lo", 1);
    failed = take_turns(me, &silent_env, "ofi", NULL, ROUNDS / 3);
    if (failed == 0 && silent_short > ROUNDS / 10) {
        fprintf(stderr, "%u sleeps were naps\n", silent_short);
        failed = 5;
    }
    return failed;
}

/* One that has nothing to sleep on: naps. */
static int ofi_naps(struct rank *me)
{
    setenv("AM_WAIT", "sleep", 1);
    setenv("AM_OFI_PROVIDER", "shm", 1);
    return take_turns(me, &silent_env, "ofi", NULL, ROUNDS / 30);
}

/* While descriptors get free, one after the other: each look fails as the one
 * before it, and then it succeeds. */
static int udp_full(struct rank *me)
{
    am_status_t status = AM_ERR_SYSTEM;
    struct rlimit all, less;
    rlim_t least;
    int fd;

    if (open_on(me, NULL, "udp", NULL) != 0 ||
        getrlimit(RLIMIT_NOFILE, &all) != 0) {
        return 1;
    }
    fd = dup(0);
    least = (rlim_t)fd;
    close(fd);
    less = all;
    for (rlim_t i = 0; i < FREE_MAX && status == AM_ERR_SYSTEM; i++) {
        less.rlim_cur = least + i;
        (void)setrlimit(RLIMIT_NOFILE, &less);
        status = am_ctx_fd(me->ctx, &fd);
    }
    (void)setrlimit(RLIMIT_NOFILE, &all);
    if (status != AM_OK || least + 1 >= less.rlim_cur) {
        return 2;
    }
    rank_meet(me, 0, me->size);
    am_close(me->ctx);
    return 0;
}

static int lossy_turns(struct rank *me)
{
    return take_turns(me, NULL, "shm", "drop=1/20", ROUNDS / 10);
}

static void test_turns(void **state)
{
    run_ranks(2, shm_turns, NULL);
}

/* Over a device that this build may not have. */
static void turns_by(const char *device, int (*turns)(struct rank *me))
{
    bool there = false;

    for (uint32_t i = 0; am_dev_table[i] != NULL; i++) {
        there = there || strcmp(am_dev_table[i]->name, device) == 0;
    }
    if (!there) {
        skip();
    }
    run_ranks(2, turns, NULL);
}

static void test_turns_udp(void **state)
{
    turns_by("udp", udp_turns);
}

static void test_full_udp(void **state)
{
    turns_by("udp", udp_full);
}

static void test_turns_ofi(void **state)
{
    turns_by("ofi", ofi_turns);
}

static void test_naps_ofi(void **state)
{
    turns_by("ofi", ofi_naps);
}

static void test_lost_packets(void **state)
{
    run_ranks(2, lossy_turns, NULL);
}

/* Another thread posts to the owner, who sleeps. */
static void *post_all(void *arg)
{
    struct rank *me = arg;

    for (uint64_t i = 0; i < POSTS;) {
        if (am_ctx_post(me->ctx, 0, H_PING, &i, 1, NULL, 0) == AM_OK) {
            i++;
        }
    }
    return NULL;
}

static void test_posts(void **state)
{
    struct rank me = {.size = 1};
    pthread_t thread;

    assert_int_equal(open_on(&me, &silent_env, "shm", NULL), 0);
    assert_int_equal(am_ctx_post_open(me.ctx, 16), AM_OK);
    assert_int_equal(pthread_create(&thread, NULL, post_all, &me), 0);
    while (me.pings < POSTS) {
        assert_true(poll_or_sleep(me.ctx));
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    am_close(me.ctx);
}

/* A stranger connects and sends; then it is killed. */
static int visited(struct rank *me)
{
    struct rank alone = {.board = me->board, .size = 1};
    unsigned char blob[AM_ADDRESS_BYTES];
    uint64_t zero = 0;
    uint32_t peer;

    if (open_on(&alone, NULL, "shm", NULL) != 0) {
        return 1;
    }
    if (me->rank == 0) {
        (void)am_address(alone.ctx, me->board->blobs[0]);
        atomic_store(&me->board->flag[0], 1);
        while (alone.pings == 0) {
            if (!poll_or_sleep(alone.ctx)) {
                return 2;
            }
        }
        atomic_store(&me->board->flag[1], 1);
        while (!am_peer_is_dead(alone.ctx, 1)) {
            if (!poll_or_sleep(alone.ctx)) {
                return 3;
            }
        }
        am_close(alone.ctx);
        return 0;
    }
    while (atomic_load(&me->board->flag[0]) == 0) {
    }
    memcpy(blob, me->board->blobs[0], sizeof(blob));
    if (am_connect(alone.ctx, blob, &peer) != AM_OK ||
        am_ctx_request(alone.ctx, peer, H_PING, &zero, 1, NULL, 0) != AM_OK) {
        return 4;
    }
    while (atomic_load(&me->board->flag[1]) == 0) {
        (void)am_ctx_poll(alone.ctx);
    }
    return raise(SIGKILL);
}

static void test_stranger_and_death(void **state)
{
    static const int expected[] = {0, -SIGKILL};

    run_ranks(2, visited, expected);
}

static void test_errors(void **state)
{
    struct am_env_ops without = silent_env_ops;
    struct am_env old = {.ops = &without};
    struct rank me = {.size = 1};
    int fd, again;

    without.alarm_open = NULL;
    assert_int_equal(open_on(&me, &old, "shm", NULL), 0);
    assert_int_equal(am_ctx_arm(me.ctx), AM_ERR_INVALID);
    assert_int_equal(am_ctx_fd(me.ctx, &fd), AM_ERR_UNSUPPORTED);
    assert_non_null(strstr(am_error_text(me.ctx), "descriptor"));
    am_close(me.ctx);

    assert_int_equal(open_on(&me, &silent_env, "shm", NULL), 0);
    assert_int_equal(am_ctx_fd(me.ctx, &fd), AM_OK);
    assert_int_equal(am_ctx_fd(me.ctx, &again), AM_OK);
    assert_int_equal(fd, again);
    assert_int_equal(am_ctx_arm(me.ctx), AM_OK);
    /* a message to itself is there at once */
    assert_int_equal(am_ctx_try_request(me.ctx, 0, H_ARM, NULL, 0, NULL, 0),
                     AM_OK);
    assert_int_equal(am_ctx_arm(me.ctx), AM_ERR_AGAIN);
    while (am_ctx_poll(me.ctx) > 0) {
    }
    assert_int_equal(me.pongs, 1);
    am_close(me.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_turns),
            cmocka_unit_test(test_turns_udp),
            cmocka_unit_test(test_full_udp),
            cmocka_unit_test(test_turns_ofi),
            cmocka_unit_test(test_naps_ofi),
            cmocka_unit_test(test_lost_packets),
            cmocka_unit_test(test_posts),
            cmocka_unit_test(test_stranger_and_death),
            cmocka_unit_test(test_errors),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
