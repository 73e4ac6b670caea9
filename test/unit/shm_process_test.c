/*
 * Shared memory between real processes: sleeping and waking, memory for peers that
 * are never used, lanes that are looked at.
 */
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"

#include <am.h>
#include <malloc.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Ping-pong in which whoever waits sleeps at once: a lost wake-up costs a
 * whole nap and would show as a test that takes minutes. */
static int sleeping_body(struct rank *me)
{
    static const struct am_option sleep[] = {{"AM_WAIT", "sleep"}};

    enum {
        COUNT = 20000
    };

    uint64_t naps;

    if (rank_open_pings(me, sleep, 1) != 0) {
        return 2;
    }
    for (uint64_t i = 0; i < COUNT; i++) {
        if (me->rank == 0) {
            if (am_ctx_request(me->ctx, 1, RANK_PING, &i, 1, NULL, 0) !=
                AM_OK) {
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
    naps = rank_counter(me, "sleep");
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

    if (rank_open_pings(me, NULL, 0) != 0) {
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
            am_ctx_request(me->ctx, 1, RANK_PING, &i, 1, NULL, 0) != AM_OK) {
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

    if (rank_open_pings(me, NULL, 0) != 0) {
        return 2;
    }
    if (me->rank == 1) {
        while (atomic_load(&me->board->flag[0]) == 0) {
            sched_yield();
        }
    } else {
        while (am_ctx_try_request(me->ctx, 1, RANK_PING, &word, 1, NULL, 0) ==
               AM_OK) {
        }
        naps = rank_counter(me, "sleep");
        for (int i = 0; i < POLLS && rank_counter(me, "sleep") == naps; i++) {
            (void)am_poll_blocked(me->ctx, true);
        }
        naps = rank_counter(me, "sleep") - naps;
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

    if (rank_open_pings(me, options, me->board->flag[3] != 0 ? 2 : 0) != 0) {
        return 2;
    }
    while (me->pings < COUNT || me->pongs < COUNT) {
        if (sent < COUNT) {
            sent += am_ctx_try_request(me->ctx, 1 - me->rank, RANK_PING, &sent,
                                       1, payload,
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
            cmocka_unit_test(test_idle_peer_memory),
            cmocka_unit_test(test_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
