/*
 * A wait where packets come by two devices: asleep over both, woken by each.  Rank
 * 0 is near rank 1 and far from rank 2, and waits for one after the other, who are
 * late.  The alarm that would hide a lost wake-up is silent.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"
#include "support/silent.h"
#include "support/two_devs.h"

#include "am/ctx.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    H_PING = AM_HANDLER_USER,
    RANKS = 3,
    ROUNDS = 40,
    FAST = 2000, /* rounds in which nobody is late */
    LATE = 30, /* looks of a millisecond */
    SLEEPS_MOST = 50, /* a round: naps of 50 us, one after the other, are 200 */
    LONG_NS = 10000000
};

static void on_ping(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pings += words[0] == me->pings; /* in order */
}

static int job_open(struct rank *me)
{
    const struct am_option options[] = {{"AM_DEVICES", "shm,udp"},
                                        {"AM_UDP_IF", "lo"},
                                        {"AM_RELIABILITY", "timer"},
                                        {"AM_WAIT", "sleep"}};
    struct am_params params = {.rank = me->rank,
                               .size = me->size,
                               .env = &silent_env,
                               .allgather = rank_exchange,
                               .allgather_arg = me,
                               .options = options,
                               .option_count = 4};

    if (am_open(&params, &me->ctx) != AM_OK) {
        return -1;
    }
    return am_handler_register(me->ctx, H_PING, on_ping, me, "ping");
}

static int ping(struct rank *me, uint32_t to, uint64_t number)
{
    return am_ctx_request(me->ctx, to, H_PING, &number, 1, NULL, 0);
}

static bool wait_for(struct rank *me, uint64_t pings)
{
    while (me->pings < pings) {
        if (am_ctx_poll_wait(me->ctx) < 0) {
            return false;
        }
    }
    return true;
}

static uint64_t sleeps_of(const struct am_ctx *ctx)
{
    uint64_t sleeps = 0;

    for (uint32_t i = 0; i < ctx->slot_count; i++) {
        sleeps += ctx->slots[i].stats[AM_DEV_STAT_SLEEP];
    }
    return sleeps;
}

/* A while in which what comes is acknowledged. */
static void be_late(struct rank *me)
{
    const struct timespec millisecond = {0, 1000000};

    for (int i = 0; i < LATE; i++) {
        (void)am_ctx_poll(me->ctx);
        nanosleep(&millisecond, NULL);
    }
}

/* Rank 0 asks rank 1, then 2, and so on. */
static int asked(struct rank *me, uint64_t rounds)
{
    uint64_t before, sleeps;

    for (uint64_t i = 0; i < 2; i++) { /* both devices are in use */
        if (ping(me, 1 + (uint32_t)i, 0) != AM_OK || !wait_for(me, i + 1)) {
            return 2;
        }
    }
    before = sleeps_of(me->ctx);
    for (uint64_t i = 0; i < rounds; i++) {
        if (ping(me, 1 + (uint32_t)(i % 2), 1 + i / 2) != AM_OK ||
            !wait_for(me, 3 + i)) {
            return 3;
        }
    }
    sleeps = sleeps_of(me->ctx) - before;
    /* a round has none if the machine let this rank wait until the answer came */
    if (rounds == ROUNDS &&
        (sleeps < ROUNDS / 2 || sleeps > ROUNDS * SLEEPS_MOST)) {
        fprintf(stderr, "%llu sleeps in %d rounds\n",
                (unsigned long long)sleeps, ROUNDS);
        return 4;
    }
    return 0;
}

static int answers(struct rank *me, uint64_t rounds)
{
    for (uint64_t i = 0; i < 1 + rounds / 2; i++) {
        if (!wait_for(me, i + 1)) {
            return 5;
        }
        if (rounds == ROUNDS) {
            be_late(me);
        }
        /* rank 0 counts those of both ranks */
        if (ping(me, 0, 2 * i + me->rank - 1) != AM_OK ||
            am_flush(me->ctx) != AM_OK) {
            return 6;
        }
    }
    return 0;
}

static int waits(struct rank *me, uint64_t rounds)
{
    int failed;

    if (job_open(me) != 0) {
        return 1;
    }
    failed = me->rank == 0 ? asked(me, rounds) : answers(me, rounds);
    rank_meet(me, 0, me->size);
    am_close(me->ctx);
    return failed;
}

static int waits_long(struct rank *me)
{
    return waits(me, ROUNDS);
}

static int waits_often(struct rank *me)
{
    return waits(me, FAST);
}

static void test_long(void **state)
{
    run_ranks(RANKS, waits_long, NULL);
}

/* A wake-up that is lost is a hang. */
static void test_often(void **state)
{
    run_ranks(RANKS, waits_often, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_long),
                                       cmocka_unit_test(test_often)};

    two_devs_init(TWO_NEAR, 0);
    silent_init(LONG_NS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
