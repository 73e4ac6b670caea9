/*
 * Shared memory between real processes: sleeping and waking, ranks that are
 * killed, what is left behind, memory for peers that are never used, lanes that
 * are looked at.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"

#include <am.h>
#include <dirent.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    H_PING = AM_HANDLER_USER,
    H_PONG
};

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pings++;
    (void)am_token_reply(token, H_PONG, words, count, NULL, 0);
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pongs++;
}

static int open_rank(struct rank *me, const struct am_option *options,
                     uint32_t option_count)
{
    if (rank_open(me, options, option_count) != AM_OK) {
        return 1;
    }
    am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
    am_handler_register(me->ctx, H_PONG, on_pong, me, "pong");
    return 0;
}

static uint64_t counter(struct am_ctx *ctx, const char *name)
{
    struct am_counter_info info;

    for (uint32_t i = 0; am_counter(ctx, i, &info) == AM_OK; i++) {
        if (strcmp(info.name, name) == 0) {
            return info.value;
        }
    }
    return UINT64_MAX;
}

/* Ping-pong in which whoever waits sleeps at once: a lost wake-up costs a
 * whole nap and would show as a test that takes minutes. */
static int sleeping_body(struct rank *me)
{
    static const struct am_option sleep[] = {{"AM_WAIT", "sleep"}};

    enum {
        COUNT = 20000
    };

    uint64_t naps;

    if (open_rank(me, sleep, 1) != 0) {
        return 2;
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        if (me->rank == 0) {
            if (am_ctx_request(me->ctx, 1, H_PING, &i, 1, NULL, 0) != AM_OK) {
                return 3;
            }
            while (me->pongs <= i) {
                (void)am_ctx_poll_wait(me->ctx);
            }
        } else {
            while (me->pings <= i) {
                (void)am_ctx_poll_wait(me->ctx);
            }
        }
    }
    naps = counter(me->ctx, "sleep");
    atomic_fetch_add(&me->board->flag[0], 1);
    while (atomic_load(&me->board->flag[0]) < 2) {
        sched_yield();
    }
    am_close(me->ctx);
    return naps > 0 && naps < 4 * COUNT ? 0 : 4;
}

static void test_sleep_and_wake(void **state)
{
    run_ranks(2, sleeping_body, NULL);
}

/* Two ranks that have cores enough, and that the scheduler puts on one: who
 * waits must soon let the other run, not look on until a time slice is over. */
static int one_core_body(struct rank *me)
{
    enum {
        TURNS = 2000,
        POLLS = 300 /* of a wait, on average; a fifth of those before a yield */
    };

    uint64_t *seen = me->rank == 0 ? &me->pongs : &me->pings;
    uint64_t polls = 0;

    if (open_rank(me, NULL, 0) != 0) {
        return 2;
    }
    for (uint64_t i = 0; i < TURNS; i++) {
        if (i == 1) { /* connected, and the cores were counted */
            for (int idle = 0; idle < 100; idle++) {
                (void)am_ctx_poll_wait(me->ctx);
            }
            atomic_fetch_add(&me->board->flag[0], 1);
            while (atomic_load(&me->board->flag[0]) < 2) {
                (void)am_ctx_poll_wait(me->ctx);
            }
            if (stay_on_one_core() != 0) {
                return 3;
            }
        }
        if (me->rank == 0 &&
            am_ctx_request(me->ctx, 1, H_PING, &i, 1, NULL, 0) != AM_OK) {
            return 4;
        }
        for (; *seen <= i; polls += i > 0) {
            (void)am_ctx_poll_wait(me->ctx);
        }
    }
    atomic_fetch_add(&me->board->flag[1], 1);
    while (atomic_load(&me->board->flag[1]) < 2) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    am_close(me->ctx);
    return polls < TURNS * POLLS ? 0 : 5;
}

static void test_one_core(void **state)
{
    run_ranks(2, one_core_body, NULL);
}

/* Who waits for space at a peer that does not poll must sleep as well, not
 * only yield. */
static int full_body(struct rank *me)
{
    enum {
        POLLS = 30000 /* more than the spinning and yielding before */
    };

    uint64_t word = 0, naps;

    if (open_rank(me, NULL, 0) != 0) {
        return 2;
    }
    if (me->rank == 1) {
        while (atomic_load(&me->board->flag[0]) == 0) {
            sched_yield();
        }
    } else {
        while (am_ctx_try_request(me->ctx, 1, H_PING, &word, 1, NULL, 0) ==
               AM_OK) {
        }
        naps = counter(me->ctx, "sleep");
        for (int i = 0; i < POLLS && counter(me->ctx, "sleep") == naps; i++) {
            (void)am_poll_blocked(me->ctx, true);
        }
        naps = counter(me->ctx, "sleep") - naps;
        atomic_fetch_add(&me->board->flag[0], 1);
        if (naps == 0) {
            return 3;
        }
    }
    am_close(me->ctx);
    return 0;
}

static void test_sleep_for_space(void **state)
{
    run_ranks(2, full_body, NULL);
}

/* Rank 2 is killed; the others must be told its name, and go on. */
static int killed_body(struct rank *me)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}};
    int status = 0;
    uint64_t word = 0;

    if (open_rank(me, quiet, 1) != 0) {
        return 2;
    }
    if (me->rank == 2) {
        while (atomic_load(&me->board->flag[0]) < 2) {
            (void)am_ctx_poll(me->ctx); /* else am_open of the others fails */
        }
        (void)am_ctx_request(me->ctx, 0, H_PING, &word, 1, NULL, 0);
        raise(SIGKILL);
    }
    atomic_fetch_add(&me->board->flag[0], 1);
    while (status != AM_ERR_PEER) {
        status = am_ctx_poll_wait(me->ctx);
    }
    if (strstr(am_error_text(me->ctx), "rank 2") == NULL) {
        return 3;
    }
    if (am_ctx_request(me->ctx, 2, H_PING, &word, 1, NULL, 0) != AM_ERR_PEER) {
        return 4;
    }
    /* the living still reach each other */
    if (am_ctx_request(me->ctx, 1 - me->rank, H_PING, &word, 1, NULL, 0) !=
        AM_OK) {
        return 5;
    }
    while (me->pongs == 0) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    atomic_fetch_add(&me->board->flag[1], 1);
    while (atomic_load(&me->board->flag[1]) < 2) {
        (void)am_ctx_poll(me->ctx);
    }
    am_close(me->ctx);
    return 0;
}

/* Whom `poll` tells to close and to end before it looks; it does not look
 * before that has happened. */
static struct board *leaving;

/* In place of the C library's. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000000};

    if (leaving != NULL) {
        atomic_store(&leaving->flag[1], 1);
        leaving = NULL;
        timeout_ms = -1;
    }
    return (int)syscall(SYS_ppoll, fds, count, timeout_ms < 0 ? NULL : &limit,
                        NULL, 0);
}

/* Rank 1 closes and ends while rank 0 looks whether it has died. */
static int leaving_body(struct rank *me)
{
    if (open_rank(me, NULL, 0) != 0) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 1) {
        while (atomic_load(&me->board->flag[1]) == 0) {
            sched_yield();
        }
    } else {
        leaving = me->board;
        while (leaving != NULL) {
            am_check_peers(me->ctx);
        }
        if (am_ctx_poll(me->ctx) < 0 || counter(me->ctx, "peers_dead") != 0) {
            return 3;
        }
    }
    am_close(me->ctx);
    return 0;
}

static void test_leaving_rank(void **state)
{
    run_ranks(2, leaving_body, NULL);
}

static int shm_entries(void)
{
    DIR *dir = opendir("/dev/shm");
    int count = 0;

    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        count += strncmp(entry->d_name, "libam", 5) == 0;
    }
    closedir(dir);
    return count;
}

static void test_killed_rank(void **state)
{
    static const int expected[] = {0, 0, -SIGKILL};

    run_ranks(3, killed_body, expected);
    assert_int_equal(shm_entries(), 0);
}

/* Rank 1 is killed.  Rank 0 rests between polls, as a program does that has
 * something else to do: deaths are looked for by the clock, however few the
 * polls are. */
static int resting_body(struct rank *me)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}};
    int status = 0;

    enum {
        REST_US = 1000,
        POLLS_MAX = 2048
    };

    if (open_rank(me, quiet, 1) != 0) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 1) {
        raise(SIGKILL);
    }
    for (int i = 0; i < POLLS_MAX && status != AM_ERR_PEER; i++) {
        status = am_ctx_poll(me->ctx);
        usleep(REST_US);
    }
    return status == AM_ERR_PEER ? 0 : 3;
}

/* Rank 1 is killed.  Each wait of rank 0 is a sleep of at most 20 ms, some of
 * which must be enough. */
static int sleeper_body(struct rank *me)
{
    static const struct am_option sleep[] = {{"AM_LOG", "none"},
                                             {"AM_WAIT", "sleep"}};
    int status = 0;

    enum {
        WAITS_MAX = 40
    };

    if (open_rank(me, sleep, 2) != 0) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 1) {
        raise(SIGKILL);
    }
    for (int i = 0; i < WAITS_MAX && status != AM_ERR_PEER; i++) {
        status = am_ctx_poll_wait(me->ctx);
    }
    return status == AM_ERR_PEER ? 0 : 3;
}

static void test_resting(void **state)
{
    static const int expected[] = {0, -SIGKILL};

    run_ranks(2, resting_body, expected);
    run_ranks(2, sleeper_body, expected);
}

/* Rank 2's part of the exchange: it goes no further, once rank 1 is open. */
static int exchange_and_die(void *arg, const void *mine, void *all,
                            size_t bytes)
{
    struct rank *me = arg;

    (void)rank_exchange(me, mine, all, bytes);
    if (me->rank == 2) {
        while (atomic_load(&me->board->flag[0]) == 0) {
            sched_yield();
        }
        raise(SIGKILL);
    }
    return 0;
}

/* Rank 2 is killed in am_open.  Rank 1 has opened before, rank 0 waits for rank
 * 2 and cannot open: it lives on, but to rank 1 it is gone like a dead one. */
static int no_job_body(struct rank *me)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}};
    const struct am_params params = {.rank = me->rank,
                                     .size = me->size,
                                     .allgather = exchange_and_die,
                                     .allgather_arg = me,
                                     .options = quiet,
                                     .option_count = 1};
    am_status_t status = am_open(&params, &me->ctx);

    if (me->rank == 0) {
        while (atomic_load(&me->board->flag[1]) == 0) {
            sched_yield();
        }
        return status == AM_ERR_PEER ? 0 : 2;
    }
    if (status != AM_OK) {
        return 3;
    }
    atomic_store(&me->board->flag[0], 1);
    while (!am_peer_is_dead(me->ctx, 0)) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    atomic_store(&me->board->flag[1], 1);
    status = am_ctx_request(me->ctx, 0, H_PING, NULL, 0, NULL, 0);
    if (status != AM_ERR_PEER ||
        strstr(am_peer_death(me->ctx, 0), "could not open") == NULL) {
        return 4;
    }
    am_close(me->ctx);
    return 0;
}

static void test_no_job(void **state)
{
    static const int expected[] = {0, 0, -SIGKILL};

    run_ranks(3, no_job_body, expected);
}

/* All are killed while they send: nothing stays behind. */
static int all_killed_body(struct rank *me)
{
    uint64_t word = 1;

    if (open_rank(me, NULL, 0) != 0) {
        return 2;
    }
    atomic_fetch_add(&me->board->flag[0], 1);
    while (atomic_load(&me->board->flag[0]) < me->size) {
        sched_yield();
    }
    for (int i = 0; i < 100; i++) {
        (void)am_ctx_try_request(me->ctx, (me->rank + 1) % me->size, H_PING,
                                 &word, 1, NULL, 0);
    }
    raise(SIGKILL);
    return 3;
}

static void test_all_killed(void **state)
{
    static const int expected[] = {-SIGKILL, -SIGKILL, -SIGKILL, -SIGKILL};

    run_ranks(4, all_killed_body, expected);
    assert_int_equal(shm_entries(), 0);
}

/* Three jobs of one rank each.  Two connect to the first; one closes and ends,
 * which is no death, the other is killed: no poll fails, but sends to it do. */
static int late_body(struct rank *me)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}};

    enum {
        ADDRESS = 1, /* the exchange of each job uses the first */
        DEAD = 2,
        CLOSED = 3
    };

    uint32_t rank = me->rank, peer = 1;
    uint64_t word = 0;

    me->rank = 0;
    me->size = 1;
    if (open_rank(me, quiet, 1) != 0) {
        return 2;
    }
    if (rank == 0) {
        am_address(me->ctx, me->board->blobs[ADDRESS]);
        atomic_store(&me->board->flag[0], 1);
        while (me->pings < 2 || counter(me->ctx, "peers_dead") == 0) {
            if (am_ctx_poll_wait(me->ctx) < 0) {
                return 3;
            }
        }
        peer = am_peer_is_dead(me->ctx, 1) ? 1 : 2;
        if (am_ctx_request(me->ctx, peer, H_PING, &word, 1, NULL, 0) !=
                    AM_ERR_PEER ||
            strstr(am_error_text(me->ctx), "has died") == NULL) {
            return 4;
        }
        while (atomic_load(&me->board->flag[CLOSED]) == 0) {
            (void)am_ctx_poll_wait(me->ctx);
        }
        for (int i = 0; i < 100; i++) {
            am_check_peers(me->ctx);
            usleep(1000);
        }
        if (counter(me->ctx, "peers_dead") != 1) {
            return 5;
        }
    } else {
        while (atomic_load(&me->board->flag[0]) == 0) {
            sched_yield();
        }
        if (am_connect(me->ctx, me->board->blobs[ADDRESS], &peer) != AM_OK ||
            am_ctx_request(me->ctx, peer, H_PING, &word, 1, NULL, 0) != AM_OK) {
            return 6;
        }
        while (me->pongs == 0) {
            (void)am_ctx_poll_wait(me->ctx);
        }
        if (rank == DEAD) {
            raise(SIGKILL);
        }
    }
    am_close(me->ctx);
    atomic_store(&me->board->flag[CLOSED], 1);
    return 0;
}

static void test_killed_late_peer(void **state)
{
    static const int expected[] = {0, 0, -SIGKILL};

    run_ranks(3, late_body, expected);
}

/* A job of many ranks of which none is ever talked to. */
static void test_idle_peer_memory(void **state)
{
    enum {
        RANKS = 512,
        LIMIT = 256
    };
    struct am_blob *blobs = calloc(RANKS, sizeof(*blobs));
    struct am_params params = {.rank = 0, .size = 1};
    struct mallinfo2 before, one, many;
    struct am_ctx *ctx;

    assert_non_null(blobs);
    before = mallinfo2();
    assert_int_equal(am_open(&params, &ctx), AM_OK);
    assert_int_equal(am_address(ctx, &blobs[0]), AM_OK);
    assert_int_equal(am_connect_all(ctx, blobs), AM_OK);
    one = mallinfo2();
    am_close(ctx);
    params.size = RANKS;
    assert_int_equal(am_open(&params, &ctx), AM_OK);
    assert_int_equal(am_address(ctx, &blobs[0]), AM_OK);
    for (uint32_t r = 1; r < RANKS; r++) {
        blobs[r] = blobs[0];
        blobs[r].rank = r;
        blobs[r].nonce += r;
    }
    assert_int_equal(am_connect_all(ctx, blobs), AM_OK);
    many = mallinfo2();
    am_close(ctx);
    free(blobs);
    if (one.uordblks == before.uordblks) {
        skip(); /* a sanitizer's allocator does not count here */
    }
    assert_true(many.uordblks + many.hblkhd - (one.uordblks + one.hblkhd) <
                (size_t)RANKS * LIMIT);
}

/* Two ranks that send to each other, and look at their lanes all the time, find
 * nothing wrong in them. */
static int look_body(struct rank *me)
{
    static const struct am_option options[] = {{"AM_SHM_SLOTS", "4"},
                                               {"AM_SHM_RING", "16k"}};
    static char payload[3000];
    uint64_t sent = 0;

    enum {
        COUNT = 10000
    };

    if (open_rank(me, options, me->board->flag[3] != 0 ? 2 : 0) != 0) {
        return 2;
    }
    while (me->pings < COUNT || me->pongs < COUNT) {
        if (sent < COUNT) {
            sent += am_ctx_try_request(me->ctx, 1 - me->rank, H_PING, &sent, 1,
                                       payload,
                                       sent * 37 % sizeof(payload)) == AM_OK;
        }
        if (am_ctx_poll(me->ctx) < 0) {
            return 3;
        }
        shm_look(shm_dev_of(me->ctx->devs[0]));
    }
    rank_meet(me, 0, 2);
    if (am_peer_is_dead(me->ctx, 1 - me->rank)) {
        return 4;
    }
    am_close(me->ctx);
    return 0;
}

static int look_small_body(struct rank *me)
{
    atomic_store(&me->board->flag[3], 1);
    return look_body(me);
}

static void test_look(void **state)
{
    run_ranks(2, look_body, NULL);
    run_ranks(2, look_small_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sleep_and_wake),
            cmocka_unit_test(test_one_core),
            cmocka_unit_test(test_sleep_for_space),
            cmocka_unit_test(test_leaving_rank),
            cmocka_unit_test(test_killed_rank),
            cmocka_unit_test(test_resting),
            cmocka_unit_test(test_no_job),
            cmocka_unit_test(test_all_killed),
            cmocka_unit_test(test_killed_late_peer),
            cmocka_unit_test(test_idle_peer_memory),
            cmocka_unit_test(test_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
