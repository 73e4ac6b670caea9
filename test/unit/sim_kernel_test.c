/*
 * nic-sim's kernel: event order, clocks and sleeping, fibers.
 */
#include "support/cm.h"

#include "nicsim.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct ns_engine *open_engine(bool no_sleep)
{
    const struct ns_engine_params params = {.seed = 1, .no_sleep = no_sleep};
    struct ns_engine *engine = ns_engine_open(&params, 2);

    assert_non_null(engine);
    return engine;
}

/* ------------------------------------------------------------------- order */

struct probe {
    struct ns_event event;
    int id;
};

static int ran[4096];
static int ran_count;

static void probe_run(struct ns_event *event)
{
    ran[ran_count++] = am_container(event, struct probe, event)->id;
}

static void test_order(void **state)
{
    struct ns_engine *engine = open_engine(false);
    struct ns_component first, second;
    struct probe p[6];
    static const int expected[] = {0, 1, 2, 3, 4, 5};

    (void)state;
    ns_component_init(&first, engine, "first", 0);
    ns_component_init(&second, engine, "second", 1);
    for (int i = 0; i < 6; i++) {
        ns_event_init(&p[i].event, probe_run);
        p[i].id = i;
    }
    /* time, then phase, then component, then sequence */
    ns_event_schedule(&second, &p[4].event, NS_PHASE_HOST, 20);
    ns_event_schedule(&second, &p[5].event, NS_PHASE_HOST, 20);
    ns_event_schedule(&first, &p[3].event, NS_PHASE_HOST, 20);
    ns_event_schedule(&second, &p[2].event, NS_PHASE_WIRE, 20);
    ns_event_schedule(&second, &p[1].event, NS_PHASE_STAT, 10);
    ns_event_schedule(&second, &p[0].event, NS_PHASE_NIC, 10);
    ran_count = 0;
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    assert_int_equal(ran_count, 6);
    assert_memory_equal(ran, expected, sizeof(expected));
    assert_int_equal(ns_engine_now(engine), 20);
    ns_engine_close(engine);
}

#define MANY 2000

/* Many events at random times, a third cancelled: they run sorted. */
static void test_heap(void **state)
{
    static struct probe p[MANY];
    struct ns_engine *engine = open_engine(false);
    struct ns_component component;
    uint64_t x = 12345;
    uint64_t last = 0;
    int expected = 0;

    (void)state;
    ns_component_init(&component, engine, "many", 0);
    for (int i = 0; i < MANY; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        ns_event_init(&p[i].event, probe_run);
        p[i].id = i;
        ns_event_schedule(&component, &p[i].event, NS_PHASE_NIC,
                          (x >> 33) % 500);
    }
    for (int i = 0; i < MANY; i += 3) {
        ns_event_cancel(engine, &p[i].event);
        assert_false(ns_event_pending(&p[i].event));
    }
    ran_count = 0;
    assert_int_equal(ns_engine_run(engine), NS_RUN_IDLE);
    for (int i = 0; i < MANY; i++) {
        expected += i % 3 != 0;
    }
    assert_int_equal(ran_count, expected);
    for (int i = 0; i < ran_count; i++) {
        assert_int_not_equal(ran[i] % 3, 0);
        assert_true(p[ran[i]].event.time_ps >= last);
        if (i > 0 && p[ran[i]].event.time_ps == last) {
            assert_true(ran[i] > ran[i - 1]);
        }
        last = p[ran[i]].event.time_ps;
    }
    ns_engine_close(engine);
}

static void test_limit(void **state)
{
    const struct ns_engine_params params = {.limit_ps = 99};
    struct ns_engine *engine = ns_engine_open(&params, 1);
    struct ns_component component;
    struct probe p = {.id = 7};

    (void)state;
    ns_component_init(&component, engine, "late", 0);
    ns_event_init(&p.event, probe_run);
    ns_event_schedule(&component, &p.event, NS_PHASE_NIC, 100);
    ran_count = 0;
    assert_int_equal(ns_engine_run(engine), NS_RUN_LIMIT);
    assert_int_equal(ran_count, 0);
    ns_engine_close(engine);
}

/* An event may be advanced to only when nothing comes before it. */
static void test_advance(void **state)
{
    struct ns_engine *engine = open_engine(false);
    struct ns_component low, high;
    struct probe p = {.id = 1};

    (void)state;
    ns_component_init(&low, engine, "low", 0);
    ns_component_init(&high, engine, "high", 0);
    assert_true(ns_engine_advance(&low, NS_PHASE_HOST, 50));
    assert_int_equal(ns_engine_now(engine), 50);
    ns_event_init(&p.event, probe_run);
    ns_event_schedule(&low, &p.event, NS_PHASE_HOST, 100);
    assert_true(ns_engine_advance(&high, NS_PHASE_HOST, 99));
    assert_false(ns_engine_advance(&high, NS_PHASE_HOST, 100));
    assert_true(ns_engine_advance(&high, NS_PHASE_NIC, 100));
    ns_engine_close(engine);
}

/* ------------------------------------------------------------------ clocks */

/*
 * Two cells of one domain pass a value to and fro: each latches the other's
 * output, adds one when it has changed, and publishes.  In a chain of updates
 * within one phase the result would depend on the order of construction.
 */
struct cell {
    struct ns_clocked clocked;
    struct cell *other;
    uint64_t in, next, out;
    bool fresh;
    uint64_t *evaluations;
    struct ns_component *trace;
};

static struct cell *cell_of(struct ns_clocked *clocked)
{
    return am_container(clocked, struct cell, clocked);
}

static void cell_sample(struct ns_clocked *clocked)
{
    struct cell *cell = cell_of(clocked);

    cell->fresh = cell->other->out != cell->in;
    cell->in = cell->other->out;
}

static uint64_t cell_evaluate(struct ns_clocked *clocked)
{
    struct cell *cell = cell_of(clocked);

    (*cell->evaluations)++;
    cell->next = cell->out;
    if (cell->fresh && cell->in < 200) {
        cell->next = cell->in + 1;
    }
    return NS_NEVER;
}

static void cell_commit(struct ns_clocked *clocked)
{
    struct cell *cell = cell_of(clocked);

    if (cell->next != cell->out) {
        cell->out = cell->next;
        ns_trace(cell->trace, NS_TRACE_USER, cell->out, 0);
        ns_clocked_wake(&cell->other->clocked);
    }
}

static const struct ns_clocked_ops cell_ops = {
        .sample = cell_sample,
        .evaluate = cell_evaluate,
        .commit = cell_commit,
};

struct poke {
    struct ns_component component;
    struct ns_event event;
    struct cell *cell;
};

/* From outside the domain, between edges. */
static void poke_run(struct ns_event *event)
{
    struct poke *poke = am_container(event, struct poke, event);

    poke->cell->out = 1;
    ns_clocked_wake(&poke->cell->other->clocked);
}

static void end_run(struct ns_event *event)
{
    struct poke *poke = am_container(event, struct poke, event);

    ns_engine_stop(poke->component.engine);
}

static uint64_t clock_hash(bool no_sleep, bool swapped, ns_phase_t phase,
                           uint64_t *evaluations)
{
    struct ns_engine *engine = open_engine(no_sleep);
    struct ns_clock clock;
    struct cell cells[2];
    struct poke poke, end;
    uint64_t hash;

    *evaluations = 0;
    memset(cells, 0, sizeof(cells));
    ns_component_init(&poke.component, engine, "poke", 0);
    ns_component_init(&end.component, engine, "end", 0);
    ns_clock_init(&clock, engine, "clock", 0, 25);
    for (int i = 0; i < 2; i++) {
        struct cell *cell = &cells[swapped ? 1 - i : i];

        ns_clocked_init(&cell->clocked, &clock, &cell_ops);
        cell->other = cell == &cells[0] ? &cells[1] : &cells[0];
        cell->evaluations = evaluations;
        cell->trace = &poke.component;
    }
    poke.cell = &cells[0];
    ns_event_init(&poke.event, poke_run);
    ns_event_schedule(&poke.component, &poke.event, phase, 1000);
    ns_event_init(&end.event, end_run);
    ns_event_schedule(&end.component, &end.event, NS_PHASE_STAT, 100000);
    assert_int_equal(ns_engine_run(engine), NS_RUN_STOPPED);
    assert_int_equal(cells[0].out > cells[1].out ? cells[0].out : cells[1].out,
                     200);
    hash = ns_engine_hash(engine);
    ns_engine_close(engine);
    return hash;
}

static void test_clock(void **state)
{
    uint64_t slept, spun, unused;
    uint64_t hash = clock_hash(false, false, NS_PHASE_NIC, &slept);

    (void)state;
    assert_int_equal(clock_hash(true, false, NS_PHASE_NIC, &spun), hash);
    assert_int_equal(clock_hash(false, true, NS_PHASE_NIC, &unused), hash);
    assert_true(slept * 10 < spun); /* sleeping did happen */
    /* After the edges of its instant: one edge later, asleep or not. */
    assert_int_not_equal(clock_hash(false, false, NS_PHASE_HOST, &unused),
                         hash);
    assert_int_equal(clock_hash(false, false, NS_PHASE_HOST, &unused),
                     clock_hash(true, false, NS_PHASE_HOST, &unused));
}

/* ------------------------------------------------------------------ fibers */

struct talk {
    struct ns_fiber *fiber;
    int steps;
    int seen;
};

static __attribute__((noinline)) int depth_sum(int depth, volatile char *above)
{
    volatile char frame[256];

    frame[0] = *above;
    return depth == 0 ? 0 : depth_sum(depth - 1, frame) + 1 + frame[0];
}

static void talk_main(void *arg)
{
    struct talk *talk = arg;

    for (int i = 0; i < talk->steps; i++) {
        volatile char zero = 0;

        talk->seen += depth_sum(50, &zero) == 50;
        ns_fiber_yield(talk->fiber);
    }
}

static void fibers_run(ns_fiber_kind_t kind)
{
    struct talk talks[3];

    for (int i = 0; i < 3; i++) {
        talks[i] = (struct talk){.steps = 10 + i};
        talks[i].fiber = ns_fiber_open(kind, talk_main, &talks[i], 64 * 1024);
        assert_non_null(talks[i].fiber);
    }
    for (int round = 0; round < 11; round++) {
        for (int i = 0; i < 3; i++) {
            if (!ns_fiber_ended(talks[i].fiber)) {
                ns_fiber_resume(talks[i].fiber);
            }
        }
    }
    assert_true(ns_fiber_ended(talks[0].fiber));
    assert_false(ns_fiber_ended(talks[1].fiber)); /* closed in the middle */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(talks[i].seen, i == 0 ? 10 : 11);
        ns_fiber_close(talks[i].fiber);
    }
}

static void test_fiber_context(void **state)
{
    (void)state;
    fibers_run(NS_FIBER_CONTEXT);
}

static void test_fiber_thread(void **state)
{
    (void)state;
    fibers_run(NS_FIBER_THREAD);
}

static void overflow_main(void *arg)
{
    struct talk *talk = arg;

    volatile char zero = 0;

    talk->seen = depth_sum(1 << 20, &zero);
}

/* A stack that is too small is a clean fault, not damage elsewhere. */
static void test_fiber_guard(void **state)
{
    int status;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        struct talk talk = {0};

        signal(SIGSEGV, SIG_DFL);
        signal(SIGABRT, SIG_DFL);
        freopen("/dev/null", "w", stderr);
        talk.fiber = ns_fiber_open(NS_FIBER_CONTEXT, overflow_main, &talk,
                                   64 * 1024);
        ns_fiber_resume(talk.fiber);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_order),
            cmocka_unit_test(test_heap),
            cmocka_unit_test(test_limit),
            cmocka_unit_test(test_advance),
            cmocka_unit_test(test_clock),
            cmocka_unit_test(test_fiber_context),
            cmocka_unit_test(test_fiber_thread),
            cmocka_unit_test(test_fiber_guard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
