/*
 * Barriers by what they promise: of two threads that announce and then look,
 * at least one sees the other; and the last words of a failed assertion.
 */
#include "base/assert.h"
#include "base/barrier.h"

#include "support/cm.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 300000

/* Two sides of "who looks last"; each line is one side's. */
struct side {
    _Alignas(64) _Atomic uint32_t mark; /* the round announced */
    _Alignas(64) _Atomic uint32_t ready;
    bool saw[ROUNDS + 1]; /* in this round, the other's mark */
    struct side *other;
};

static void *run_side(void *arg)
{
    struct side *side = arg;

    for (uint32_t round = 1; round <= ROUNDS; round++) {
        /* start together: the other is ready for this round too */
        am_publish32(&side->ready, round);
        for (uint32_t spin = 1; am_observe32(&side->other->ready) < round;
             spin++) {
            if (spin % 256 == 0) {
                am_cpu_pause();
                sched_yield(); /* there may be one core only */
            }
        }
        atomic_store_explicit(&side->mark, round, memory_order_relaxed);
        am_barrier_announce();
        side->saw[round] = atomic_load_explicit(&side->other->mark,
                                                memory_order_relaxed) >= round;
    }
    return NULL;
}

static void test_announce(void **state)
{
    static struct side sides[2];
    pthread_t thread;

    sides[0].other = &sides[1];
    sides[1].other = &sides[0];
    assert_int_equal(pthread_create(&thread, NULL, run_side, &sides[1]), 0);
    run_side(&sides[0]);
    pthread_join(thread, NULL);
    for (uint32_t round = 1; round <= ROUNDS; round++) {
        assert_true(sides[0].saw[round] || sides[1].saw[round]);
    }
}

/* Run a check in a child; its stderr is in `said`, its status returned. */
static int run_check(bool condition, char *said, size_t bytes)
{
    int pipe_fd[2];
    int status = 0;
    ssize_t length;
    pid_t child;

    assert_int_equal(pipe(pipe_fd), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGABRT, SIG_DFL);
        dup2(pipe_fd[1], STDERR_FILENO);
        AM_CHECK(condition && bytes > 1);
        _exit(7);
    }
    close(pipe_fd[1]);
    length = read(pipe_fd[0], said, bytes - 1);
    said[length > 0 ? length : 0] = '\0';
    close(pipe_fd[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void test_check(void **state)
{
    char said[256];
    int status = run_check(true, said, sizeof(said));

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    assert_string_equal(said, "");
    status = run_check(false, said, sizeof(said));
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_memory_equal(said, "am: ", 4);
    assert_non_null(strstr(said, "base_barrier_test.c:"));
    assert_non_null(strstr(said, ": condition && bytes > 1 is not true\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_announce),
            cmocka_unit_test(test_check),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
