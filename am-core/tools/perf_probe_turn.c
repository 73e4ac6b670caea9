/*
 * Hand-off of a turn between two processes: the parent writes turn n to one
 * cache line, the child answers with n in another.
 */
#define _GNU_SOURCE
#include "tools/perf_probe.h"

#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    FLAG_ITERATIONS = 500000,
    HANDOFF_ITERATIONS = 30000
};

#define TURN_STOP UINT32_MAX

struct turns {
    _Alignas(PROBE_LINE_BYTES) _Atomic uint32_t ask;
    _Alignas(PROBE_LINE_BYTES) _Atomic uint32_t answer;
};

typedef uint32_t (*await_fn)(_Atomic uint32_t *turn, uint32_t old);
typedef void (*tell_fn)(_Atomic uint32_t *turn, uint32_t value);

/* Wait until *turn is not `old`; returns what it is. */
static uint32_t await_flag(_Atomic uint32_t *turn, uint32_t old)
{
    for (;;) {
        for (uint32_t i = 0; i < PROBE_LOOKS; i++) {
            uint32_t value = atomic_load_explicit(turn, memory_order_acquire);

            if (value != old) {
                return value;
            }
        }
        sched_yield(); /* the other is not on a core at all */
    }
}

static uint32_t await_yield(_Atomic uint32_t *turn, uint32_t old)
{
    uint32_t value;

    while ((value = atomic_load_explicit(turn, memory_order_acquire)) == old) {
        sched_yield();
    }
    return value;
}

static uint32_t await_futex(_Atomic uint32_t *turn, uint32_t old)
{
    uint32_t value;

    while ((value = atomic_load_explicit(turn, memory_order_acquire)) == old) {
        syscall(SYS_futex, turn, FUTEX_WAIT, old, NULL, NULL, 0);
    }
    return value;
}

static void tell_flag(_Atomic uint32_t *turn, uint32_t value)
{
    atomic_store_explicit(turn, value, memory_order_release);
}

static void tell_futex(_Atomic uint32_t *turn, uint32_t value)
{
    atomic_store_explicit(turn, value, memory_order_release);
    syscall(SYS_futex, turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Inlined into one loop for each way, so that the raw figure has no call. */
static inline __attribute__((always_inline)) void
answer_all(struct probe *probe, await_fn await, tell_fn tell)
{
    struct turns *turns = probe->shared;
    uint32_t turn = 0;

    while ((turn = await(&turns->ask, turn)) != TURN_STOP) {
        tell(&turns->answer, turn);
    }
}

static inline __attribute__((always_inline)) int
ask_once(struct probe *probe, await_fn await, tell_fn tell)
{
    struct turns *turns = probe->shared;
    uint32_t turn = probe->last + 1;

    tell(&turns->ask, turn);
    await(&turns->answer, probe->last);
    probe->last = turn;
    return 0;
}

static void child_flag(struct probe *probe)
{
    answer_all(probe, await_flag, tell_flag);
}

static void child_yield(struct probe *probe)
{
    answer_all(probe, await_yield, tell_flag);
}

static void child_futex(struct probe *probe)
{
    answer_all(probe, await_futex, tell_futex);
}

static int step_flag(void *state)
{
    return ask_once(state, await_flag, tell_flag);
}

static int step_yield(void *state)
{
    return ask_once(state, await_yield, tell_flag);
}

static int step_futex(void *state)
{
    return ask_once(state, await_futex, tell_futex);
}

static int run_turns(struct probe *probe, const char *metric,
                     probe_child_fn child, perf_step_fn step, uint64_t count)
{
    struct perf *perf = probe->perf;
    struct perf_figure figure;
    struct turns *turns;
    int result;

    probe->last = 0;
    if (probe_start(probe, sizeof(struct turns), child) != 0) {
        return -1;
    }
    turns = probe->shared;
    result = perf_time(perf, step, probe, perf_iterations(perf, 0, count, 0),
                       &figure);
    tell_futex(&turns->ask, TURN_STOP);
    if (probe_end(probe) != 0 || result != 0) {
        return -1;
    }
    perf_scale(&figure, 0.5);
    probe_row(probe, metric, &figure);
    return 0;
}

int probe_flag(struct probe *probe, const char *metric)
{
    return run_turns(probe, metric, child_flag, step_flag, FLAG_ITERATIONS);
}

int probe_yield(struct probe *probe, const char *metric)
{
    return run_turns(probe, metric, child_yield, step_yield,
                     HANDOFF_ITERATIONS);
}

int probe_futex(struct probe *probe, const char *metric)
{
    return run_turns(probe, metric, child_futex, step_futex,
                     HANDOFF_ITERATIONS);
}
