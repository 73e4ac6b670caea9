/*
 * Shared memory between real processes of which some are killed, or close and end
 * while they are looked for: who is told, and what is left behind.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"

#include <am.h>
#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Rank 2 is killed; the others must be told its name, and go on. */
static int killed_body(struct rank *me)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}};
    int status = 0;
    uint64_t word = 0;

    if (rank_open_pings(me, quiet, 1) != 0) {
        return 2;
    }
    if (me->rank == 2) {
        while (atomic_load(&me->board->flag[0]) < 2) {
            (void)am_ctx_poll(me->ctx); /* else am_open of the others fails */
        }
        (void)am_ctx_request(me->ctx, 0, RANK_PING, &word, 1, NULL, 0);
        raise(SIGKILL);
    }
    atomic_fetch_add(&me->board->flag[0], 1);
    while (status != AM_ERR_PEER) {
        status = am_ctx_poll_wait(me->ctx);
    }
    if (strstr(am_error_text(me->ctx), "rank 2") == NULL) {
        return 3;
    }
    if (am_ctx_request(me->ctx, 2, RANK_PING, &word, 1, NULL, 0) !=
        AM_ERR_PEER) {
        return 4;
    }
    /* the living still reach each other */
    if (am_ctx_request(me->ctx, 1 - me->rank, RANK_PING, &word, 1, NULL, 0) !=
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
    if (rank_open_pings(me, NULL, 0) != 0) {
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
        if (am_ctx_poll(me->ctx) < 0 || rank_counter(me, "peers_dead") != 0) {
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

    if (rank_open_pings(me, quiet, 1) != 0) {
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
 * which must be enough: as many as a slow machine may take for a death. */
static int sleeper_body(struct rank *me)
{
    static const struct am_option sleep[] = {{"AM_LOG", "none"},
                                             {"AM_WAIT", "sleep"}};
    int status = 0;

    enum {
        WAITS_MAX = 3000
    };

    if (rank_open_pings(me, sleep, 2) != 0) {
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

/* Rank 1 is killed.  Rank 0 finds out in the poll that a request ends with, whose
 * result it does not see: its own next poll must tell, once. */
static int asking_body(struct rank *me)
{
    static const struct am_option quiet[] = {{"AM_LOG", "none"}};
    uint64_t word = 0;

    if (rank_open_pings(me, quiet, 1) != 0) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 1) {
        raise(SIGKILL);
    }
    while (!am_peer_is_dead(me->ctx, 1)) {
        (void)am_ctx_request(me->ctx, 0, RANK_PING, &word, 1, NULL, 0);
    }
    return am_ctx_poll(me->ctx) != AM_ERR_PEER ? 3
           : am_ctx_poll(me->ctx) < 0          ? 4
                                               : 0;
}

static void test_resting(void **state)
{
    static const int expected[] = {0, -SIGKILL};

    run_ranks(2, resting_body, expected);
    run_ranks(2, sleeper_body, expected);
    run_ranks(2, asking_body, expected);
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
    status = am_ctx_request(me->ctx, 0, RANK_PING, NULL, 0, NULL, 0);
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

    if (rank_open_pings(me, NULL, 0) != 0) {
        return 2;
    }
    atomic_fetch_add(&me->board->flag[0], 1);
    while (atomic_load(&me->board->flag[0]) < me->size) {
        sched_yield();
    }
    for (int i = 0; i < 100; i++) {
        (void)am_ctx_try_request(me->ctx, (me->rank + 1) % me->size, RANK_PING,
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
    if (rank_open_pings(me, quiet, 1) != 0) {
        return 2;
    }
    if (rank == 0) {
        am_address(me->ctx, me->board->blobs[ADDRESS]);
        atomic_store(&me->board->flag[0], 1);
        while (me->pings < 2 || rank_counter(me, "peers_dead") == 0) {
            if (am_ctx_poll_wait(me->ctx) < 0) {
                return 3;
            }
        }
        peer = am_peer_is_dead(me->ctx, 1) ? 1 : 2;
        if (am_ctx_request(me->ctx, peer, RANK_PING, &word, 1, NULL, 0) !=
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
        if (rank_counter(me, "peers_dead") != 1) {
            return 5;
        }
    } else {
        while (atomic_load(&me->board->flag[0]) == 0) {
            sched_yield();
        }
        if (am_connect(me->ctx, me->board->blobs[ADDRESS], &peer) != AM_OK ||
            am_ctx_request(me->ctx, peer, RANK_PING, &word, 1, NULL, 0) !=
                    AM_OK) {
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

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_leaving_rank),
            cmocka_unit_test(test_killed_rank),
            cmocka_unit_test(test_resting),
            cmocka_unit_test(test_no_job),
            cmocka_unit_test(test_all_killed),
            cmocka_unit_test(test_killed_late_peer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
