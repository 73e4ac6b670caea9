/*
 * Leaving a core that has two ranks more than another.  One rank of four runs the
 * policy; what the others say of their cores is written for them.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"
#include "dev/shm/shm_wait.h"

#include <am.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

enum {
    RANKS = 4,
    SOON = 1000,      /* yields: more than two looks take */
    SHORT = 16,       /* yields: fewer than are between two looks */
    LATER = 100000,   /* yields: more than a rest takes */
    SHORT_WAIT = 100, /* calls: it yields, and does not sleep */
    TRIES = 1000      /* Linux may move this process meanwhile */
};

static uint32_t core_now(void)
{
    return (uint32_t)sched_getcpu();
}

/* Another CPU that I may run on. */
static uint32_t core_beside(uint32_t mine)
{
    cpu_set_t may;
    uint32_t cpu = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(may), &may), 0);
    while (cpu == mine || !CPU_ISSET(cpu, &may)) {
        cpu++;
    }
    return cpu;
}

static struct shm_dev *shm_of(struct am_ctx *ctx)
{
    for (uint32_t i = 0; i < ctx->dev_count; i++) {
        if (ctx->devs[i]->ops == &am_shm_ops) {
            return shm_dev_of(ctx->devs[i]);
        }
    }
    return NULL;
}

/* The three others were last seen on these cores (plus 1; 0: they sleep). */
static void others_say(struct shm_dev *dev, uint32_t one, uint32_t two,
                       uint32_t three)
{
    const uint32_t cores[RANKS] = {0, one, two, three};

    for (uint32_t r = 1; r < RANKS; r++) {
        atomic_store(&shm_seg_rank(dev->job, r)->core, cores[r]);
    }
}

/* Yield so often, or until I go; true: I went. */
static bool yields(struct shm_dev *dev, uint32_t count)
{
    dev->spread.gone = 0;
    while (dev->spread.gone == 0 && count-- > 0) {
        shm_spread_yielded(dev);
    }
    return dev->spread.gone != 0;
}

/* Begin anew: the next yield looks. */
static void begin(struct shm_dev *dev)
{
    dev->spread = (struct shm_spread){0};
}

/* What is wrong with that, or that Linux moved this process meanwhile. */
static int wrong(uint32_t mine, int line)
{
    return core_now() == mine ? line : -1;
}

/* 0, a line that is wrong, or -1: this process was moved. */
static int scenario(struct shm_dev *dev)
{
    uint32_t mine = core_now(), other = core_beside(mine);

    begin(dev);
    others_say(dev, 1 + mine, 1 + other, 1 + other);
    if (yields(dev, SOON)) { /* two and two */
        return wrong(mine, __LINE__);
    }
    others_say(dev, 1 + mine, 1 + other, 0);
    if (yields(dev, SOON)) { /* two and one */
        return wrong(mine, __LINE__);
    }
    /* one look finds three and one, as two say late where they are */
    begin(dev);
    others_say(dev, 1 + mine, 1 + mine, 1 + other);
    if (yields(dev, SHORT)) {
        return wrong(mine, __LINE__);
    }
    others_say(dev, 1 + mine, 1 + other, 1 + other);
    if (yields(dev, SOON)) {
        return wrong(mine, __LINE__);
    }
    /* three and one, and so it stays: I go */
    others_say(dev, 1 + mine, 1 + mine, 1 + other);
    if (!yields(dev, SOON)) {
        return wrong(mine, __LINE__);
    }
    return dev->spread.gone == 1 + other ? 0 : __LINE__;
}

/* Linux takes me back each time: I rest twice as long after each. */
static int taken_back(struct shm_dev *dev)
{
    cpu_set_t one, may;
    uint32_t mine = core_now(), other = core_beside(mine), rest = 0;

    assert_int_equal(sched_getaffinity(0, sizeof(may), &may), 0);
    CPU_ZERO(&one);
    CPU_SET(mine, &one);
    begin(dev);
    others_say(dev, 1 + mine, 1 + mine, 1 + other);
    for (int i = 0; i < 4; i++) {
        uint32_t gone;

        if (!yields(dev, LATER)) {
            return wrong(mine, __LINE__);
        }
        gone = dev->spread.gone;
        assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
        while (dev->spread.gone == gone) {
            shm_spread_yielded(dev);
        }
        assert_int_equal(sched_setaffinity(0, sizeof(may), &may), 0);
        if (dev->spread.rest <= rest) {
            return __LINE__;
        }
        rest = dev->spread.rest;
    }
    return 0;
}

/* A rank may run on this CPU only. */
static void cpu_say(struct shm_rank *rank, uint32_t cpu)
{
    for (uint32_t i = 0; i < SHM_CPU_WORDS; i++) {
        atomic_store(&rank->cpus[i], 0);
    }
    atomic_store(&rank->cpus[cpu / 64 % SHM_CPU_WORDS], UINT64_C(1)
                                                                << cpu % 64);
}

/* On a large machine each has a core of its own, then two share one. */
static int crowd(struct shm_dev *dev)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        cpu_say(shm_seg_rank(dev->job, r), 44 + 256 * r);
    }
    dev->crowd_known = false;
    if (shm_is_crowded(dev)) {
        return __LINE__;
    }
    cpu_say(shm_seg_rank(dev->job, RANKS - 1), 44);
    dev->crowd_known = false;
    return shm_is_crowded(dev) ? 0 : __LINE__;
}

static int tried(int (*body)(struct shm_dev *dev), struct shm_dev *dev)
{
    int line = -1;

    for (int i = 0; i < TRIES && line == -1; i++) {
        line = body(dev);
    }
    return line;
}

/* Rank 0 has found this line wrong, or 0; the others wait for it. */
static int part(struct rank *me, int line)
{
    if (line != 0) {
        print_error("line %d\n", line);
    }
    if (me->rank == 0) {
        atomic_store(&me->board->flag[1], 1);
    }
    while (atomic_load(&me->board->flag[1]) == 0) {
        usleep(1000); /* it does not poll, and says nothing */
    }
    am_close(me->ctx);
    return line == 0 ? 0 : 3;
}

static int spread_body(struct rank *me)
{
    int line = 0;

    if (rank_open_pings(me, NULL, 0) != 0) {
        return 2;
    }
    rank_meet(me, 0, RANKS);
    if (me->rank == 0) {
        struct shm_dev *dev = shm_of(me->ctx);

        line = tried(scenario, dev);
        if (line == 0) {
            line = tried(taken_back, dev);
        }
        if (line == 0) {
            line = crowd(dev);
        }
    }
    return part(me, line);
}

static void run_on_cores(uint32_t ranks, int (*body)(struct rank *me))
{
    cpu_set_t may;

    if (sched_getaffinity(0, sizeof(may), &may) != 0 || CPU_COUNT(&may) < 2) {
        skip();
    }
    run_ranks(ranks, body, NULL);
}

static void test_spread(void **state)
{
    run_on_cores(RANKS, spread_body);
}

/* Two ranks with cores enough, both on one: who waits leaves it. */
static int both_on_one(struct shm_dev *dev)
{
    uint32_t mine = core_now(), other = core_beside(mine);

    begin(dev);
    atomic_store(&shm_seg_rank(dev->job, 1)->core, 1 + mine);
    for (uint32_t i = 0; i < LATER && dev->spread.gone == 0; i++) {
        (void)shm_wait(&dev->base, i % SHORT_WAIT, AM_DEV_REST_ASK);
    }
    return dev->spread.gone == 1 + other ? 0 : wrong(mine, __LINE__);
}

static int pair_body(struct rank *me)
{
    int line = 0;

    if (rank_open_pings(me, NULL, 0) != 0) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 0) {
        line = tried(both_on_one, shm_of(me->ctx));
    }
    return part(me, line);
}

static void test_pair(void **state)
{
    run_on_cores(2, pair_body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_spread),
                                       cmocka_unit_test(test_pair)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
