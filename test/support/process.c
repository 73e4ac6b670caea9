/*
 * Forking ranks, and the exchange of their addresses through shared memory.
 */
#define _GNU_SOURCE
#include "support/process.h"

#include "support/cm.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int rank_exchange(void *arg, const void *mine, void *all, size_t bytes)
{
    struct rank *me = arg;

    memcpy(me->board->blobs[me->rank], mine, bytes);
    atomic_fetch_add(&me->board->arrived, 1);
    while (atomic_load(&me->board->arrived) < me->size) {
        sched_yield();
    }
    memcpy(all, me->board->blobs, me->size * bytes);
    return 0;
}

am_status_t rank_open(struct rank *me, const struct am_option *options,
                      uint32_t option_count)
{
    /* jobs of one rank, several on the board, must not see each other's */
    struct am_params params = {.rank = me->rank,
                               .size = me->size,
                               .allgather = me->size > 1 ? rank_exchange : NULL,
                               .allgather_arg = me,
                               .options = options,
                               .option_count = option_count};

    return am_open(&params, &me->ctx);
}

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pings++;
    (void)am_token_reply(token, RANK_PONG, words, count, NULL, 0);
}

static void on_pong(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pongs++;
}

int rank_open_pings(struct rank *me, const struct am_option *options,
                    uint32_t option_count)
{
    if (rank_open(me, options, option_count) != AM_OK) {
        return -1;
    }
    am_handler_register(me->ctx, RANK_PING, on_ping, me, "ping");
    am_handler_register(me->ctx, RANK_PONG, on_pong, me, "pong");
    return 0;
}

uint64_t rank_counter(const struct rank *me, const char *name)
{
    struct am_counter_info info;

    for (uint32_t i = 0; am_counter(me->ctx, i, &info) == AM_OK; i++) {
        if (strcmp(info.name, name) == 0) {
            return info.value;
        }
    }
    return UINT64_MAX;
}

int stay_on_one_core(void)
{
    cpu_set_t all, one;
    int cpu = 0;

    if (sched_getaffinity(0, sizeof(all), &all) != 0) {
        return -1;
    }
    while (!CPU_ISSET(cpu, &all)) {
        cpu++;
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return sched_setaffinity(0, sizeof(one), &one);
}

void rank_meet(struct rank *me, uint32_t index, uint32_t count)
{
    atomic_fetch_add(&me->board->flag[index], 1);
    while (atomic_load(&me->board->flag[index]) < count) {
        (void)am_ctx_poll(me->ctx);
        sched_yield();
    }
}

static void kill_ranks(const pid_t *pids, uint32_t count)
{
    for (uint32_t r = 0; r < count; r++) {
        if (pids[r] != 0) {
            (void)kill(pids[r], SIGKILL);
            (void)waitpid(pids[r], NULL, 0);
        }
    }
}

/* cmocka's handlers would go on with the parent's tests in the child. */
static void signals_default(void)
{
    static const int caught[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};

    for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++) {
        (void)signal(caught[i], SIG_DFL);
    }
}

void run_ranks(uint32_t size, int (*body)(struct rank *me), const int *expected)
{
    struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
                               MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pids[RANKS_MAX];

    assert_ptr_not_equal(board, MAP_FAILED);
    for (uint32_t r = 0; r < size; r++) {
        pids[r] = fork();
        if (pids[r] == 0) {
            struct rank me = {.board = board, .rank = r, .size = size};

            signals_default();
            _exit(body(&me));
        }
    }
    for (uint32_t left = size; left > 0; left--) {
        uint32_t rank = 0;
        int status, code;
        pid_t pid = waitpid(-1, &status, 0);

        while (rank < size && pids[rank] != pid) {
            rank++;
        }
        assert_in_range(rank, 0, size - 1);
        pids[rank] = 0;
        code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
        if (code != (expected == NULL ? 0 : expected[rank])) {
            kill_ranks(pids, size); /* they may wait for this one for ever */
            fail_msg("rank %u ended with %d", rank, code);
        }
    }
    munmap(board, sizeof(*board));
}
