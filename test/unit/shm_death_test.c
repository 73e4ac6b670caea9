/*
 * What the dead leave behind in shared memory: a process number that another
 * process gets, and the word that they wait on a CPU.  And one that only looks dead.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"
#include "dev/shm/shm_wait.h"

#include <am.h>
#include <am_msg.h>
#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    H_PING = AM_HANDLER_USER,
    CORE_TURN = 7 /* the next wait looks who else waits on the CPU */
};

static const struct am_option quiet[] = {{"AM_LOG", "none"}};

static struct shm_dev *shm_of(struct rank *me)
{
    return shm_dev_of(me->ctx->devs[0]);
}

static void flag_raise(struct rank *me, uint32_t index)
{
    atomic_store(&me->board->flag[index], 1);
}

static void flag_await(struct rank *me, uint32_t index)
{
    while (atomic_load(&me->board->flag[index]) == 0) {
        (void)am_ctx_poll(me->ctx);
        sched_yield();
    }
}

/* ------------------------------------------------------ a number used again */

/* A process with this number that waits for its end; -1: not allowed. */
static pid_t fork_as(pid_t pid)
{
    struct clone_args args = {.exit_signal = SIGCHLD,
                              .set_tid = (uintptr_t)&pid,
                              .set_tid_size = 1};
    pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

    if (child == 0) {
        for (;;) {
            pause();
        }
    }
    return child;
}

static void end(pid_t child)
{
    if (child > 0) {
        (void)kill(child, SIGKILL);
        (void)waitpid(child, NULL, 0);
    }
}

/* The same, begun at another tick of the kernel's clock than `start`. */
static pid_t fork_later(pid_t pid, uint64_t start)
{
    pid_t child = fork_as(pid);

    while (child > 0 && shm_process_start((uint32_t)child) == start) {
        end(child);
        child = fork_as(pid);
    }
    return child;
}

/* It is a privilege to choose the number of a process. */
static bool may_fork_as(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        _exit(0);
    }
    (void)waitpid(pid, NULL, 0);
    pid = fork_as(pid);
    end(pid);
    return pid > 0;
}

/* Rank 1 is dead, its number another's, and nobody has looked at it so far. */
static int reused_body(struct rank *me)
{
    int status = 0;
    struct shm_local *local;
    pid_t other;

    if (rank_open(me, quiet, 1) != AM_OK) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 1) {
        raise(SIGKILL);
    }
    local = &shm_of(me)->locals[1];
    while (kill((pid_t)local->pid, 0) == 0) {
        sched_yield();
    }
    other = fork_later((pid_t)local->pid, local->start);
    if (other < 0 && errno != EEXIST) { /* else somebody has it already */
        return 3;
    }
    if (local->pidfd >= 0) {
        close(local->pidfd);
        local->pidfd = -1;
    }
    am_shm_ops.check(me->ctx->devs[0]);
    status = am_ctx_poll(me->ctx);
    end(other);
    am_close(me->ctx);
    return status == AM_ERR_PEER ? 0 : 4;
}

static void test_reused_number(void **state)
{
    static const int expected[] = {0, -SIGKILL};

    if (!may_fork_as()) {
        skip();
    }
    run_ranks(2, reused_body, expected);
}

/* The same for a process that connected late, seen from either side. */
static int reused_late_body(struct rank *me)
{
    struct am_ctx *ctx;
    struct shm_ep *ep;
    uint32_t peer = 1, rank = me->rank;
    bool dead;
    pid_t other;

    me->rank = 0;
    me->size = 1;
    if (rank_open(me, quiet, 1) != AM_OK) {
        return 2;
    }
    ctx = me->ctx;
    if (rank == 1) {
        am_address(ctx, me->board->blobs[1]);
        flag_raise(me, 0);
    } else {
        flag_await(me, 0);
        if (am_connect(ctx, me->board->blobs[1], &peer) != AM_OK) {
            return 3;
        }
    }
    while (ctx->peer_count < 2 || ctx->peers[1]->blob == NULL ||
           atomic_load(&shm_ep_of(ctx->peers[1]->ep)->peer->pid) == 0) {
        (void)am_ctx_poll(ctx);
        sched_yield();
    }
    rank_meet(me, 1, 2);
    if (rank == atomic_load(&me->board->flag[3])) {
        raise(SIGKILL);
    }
    ep = shm_ep_of(ctx->peers[1]->ep);
    while (kill((pid_t)ep->pid, 0) == 0) {
        sched_yield();
    }
    other = fork_later((pid_t)ep->pid, ep->start);
    if (other < 0 && errno != EEXIST) {
        return 4;
    }
    am_shm_ops.check(ctx->devs[0]);
    dead = am_peer_is_dead(ctx, 1);
    end(other);
    am_close(ctx);
    return dead ? 0 : 5;
}

static int reused_late_other_body(struct rank *me)
{
    atomic_store(&me->board->flag[3], 1);
    return reused_late_body(me);
}

static void test_reused_late_number(void **state)
{
    static const int first[] = {-SIGKILL, 0}, second[] = {0, -SIGKILL};

    if (!may_fork_as()) {
        skip();
    }
    run_ranks(2, reused_late_body, first);
    run_ranks(2, reused_late_other_body, second);
}

/* ---------------------------------------------------------- a CPU waited on */

static bool two_cores(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 1;
}

/* Tell the others my CPU, and look at theirs.  Is it also another's? */
static bool core_look(struct rank *me)
{
    me->ctx->idle = CORE_TURN;
    am_shm_ops.wait(me->ctx->devs[0], CORE_TURN + 1, false);
    return shm_of(me)->core_shared;
}

static int dead_core_body(struct rank *me)
{
    int status = 0;

    if (rank_open(me, quiet, 1) != AM_OK) {
        return 2;
    }
    (void)shm_is_crowded(shm_of(me));
    rank_meet(me, 0, 2);
    if (stay_on_one_core() != 0) {
        return 3;
    }
    if (me->rank == 1) {
        (void)core_look(me);
        flag_raise(me, 1);
        flag_await(me, 2);
        raise(SIGKILL);
    }
    flag_await(me, 1);
    if (!core_look(me)) {
        return 4;
    }
    flag_raise(me, 2);
    while (status != AM_ERR_PEER) {
        status = am_ctx_poll_wait(me->ctx);
    }
    if (core_look(me)) {
        return 5;
    }
    am_close(me->ctx);
    return 0;
}

/* Who waits on a dead rank's CPU need not yield to it. */
static void test_core_of_the_dead(void **state)
{
    static const int expected[] = {0, -SIGKILL};

    if (!two_cores()) {
        skip();
    }
    run_ranks(2, dead_core_body, expected);
}

/* Two jobs of one rank; 1 connects to 0, and both wait on one CPU. */
static int late_core_body(struct rank *me)
{
    uint32_t peer, rank = me->rank;

    me->rank = 0;
    me->size = 1;
    if (rank_open(me, quiet, 1) != AM_OK || stay_on_one_core() != 0) {
        return 2;
    }
    if (rank == 0) {
        am_address(me->ctx, me->board->blobs[1]);
        flag_raise(me, 0);
        flag_await(me, 1);
        if (!core_look(me)) {
            return 3;
        }
        flag_raise(me, 2);
        flag_await(me, 3);
        if (core_look(me)) {
            return 4;
        }
    } else {
        flag_await(me, 0);
        if (am_connect(me->ctx, me->board->blobs[1], &peer) != AM_OK) {
            return 5;
        }
        while (atomic_load(&shm_ep_of(me->ctx->peers[peer]->ep)->peer->pid) ==
               0) {
            (void)am_ctx_poll(me->ctx);
            sched_yield();
        }
        (void)core_look(me);
        flag_raise(me, 1);
        flag_await(me, 2);
    }
    am_close(me->ctx);
    flag_raise(me, 3);
    return 0;
}

/* A process that connected late counts as well, until it closes. */
static void test_core_of_the_late(void **state)
{
    run_ranks(2, late_core_body, NULL);
}

/* ------------------------------------------------ whose first thread ended */

enum {
    COPIED_BYTES = 160000
};

static char copied[COPIED_BYTES];

/* Wait until the process's first thread has ended; pthread_join takes it for
 * memory that leaks (ASan) and for a thread it never saw (TSan). */
static void first_thread_await(void)
{
    char path[64], state = 0;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)getpid());
    while (state != 'Z') {
        FILE *stat = fopen(path, "r");

        if (stat == NULL || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1) {
            _exit(5);
        }
        fclose(stat);
    }
}

static void copy_ended(void *arg, const struct am_msg_status *status)
{
    *(struct am_msg_status *)arg = *status;
}

/* Send or receive a message by one copy; poll until both ranks have it. */
static void *copy_run(void *arg)
{
    struct rank *me = arg;
    const struct am_msg_envelope envelope = {.tag = 1};
    const struct am_msg_mask mask = {UINT32_MAX, UINT32_MAX, UINT32_MAX};
    struct am_data data = am_data_contig(copied, COPIED_BYTES);
    struct am_msg_status got = {0};
    struct am_msg_req *req;

    memset(copied, me->rank == 1 ? 7 : 0, COPIED_BYTES);
    if (me->rank == 1) {
        first_thread_await();
        (void)am_msg_isend(me->ctx, 0, &envelope, &data, 0, NULL, NULL, &req);
    } else {
        (void)am_msg_irecv(me->ctx, &envelope, &mask, &data, copy_ended, &got,
                           &got, &req);
        while (got.bytes_sent == 0 && am_ctx_poll(me->ctx) >= 0) {
            sched_yield();
        }
        me->pongs = got.status == AM_OK && got.bytes == COPIED_BYTES &&
                    copied[0] == 7 && copied[COPIED_BYTES - 1] == 7;
    }
    rank_meet(me, 1, 2);
    am_close(me->ctx);
    if (me->rank == 1) {
        _exit(0);
    }
    return NULL;
}

/* The kernel gives nobody the memory of a process whose first thread has ended. */
static int headless_body(struct rank *me)
{
    static const struct am_option copy[] = {{"AM_PROTO", "get"},
                                            {"AM_SHM_CMA", "on"}};
    pthread_t thread;

    if (rank_open(me, copy, 2) != AM_OK) {
        return 2;
    }
    if (me->rank == 0) {
        (void)copy_run(me);
        return me->pongs == 1 ? 0 : 3;
    }
    if (pthread_create(&thread, NULL, copy_run, me) != 0) {
        return 4;
    }
    (void)syscall(SYS_exit, 0);
    return 6; /* not reached */
}

static void test_headless(void **state)
{
    run_ranks(2, headless_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_reused_number),
            cmocka_unit_test(test_reused_late_number),
            cmocka_unit_test(test_core_of_the_dead),
            cmocka_unit_test(test_core_of_the_late),
            cmocka_unit_test(test_headless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
