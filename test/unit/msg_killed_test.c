/*
 * A process sends a message that the receiver's device is to fetch, and is killed before that
 * has looked: the receive is told, once, whoever notices first.
 */
#define _GNU_SOURCE
#include "support/cm.h"
#include "support/process.h"

#include "am/ctx.h"

#include <am.h>
#include <am_msg.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum {
    BYTES = 100000,
    POLLS = 20000000
};

static struct am_msg_status received;
static int ended;

static void on_received(void *arg, const struct am_msg_status *status)
{
    received = *status;
    ended++;
}

static void on_sent(void *arg, const struct am_msg_status *status)
{
}

static void rest(void)
{
    const struct timespec time = {0, 100000000};

    (void)nanosleep(&time, NULL);
}

static int killed_body(struct rank *me)
{
    static const struct am_option options[] = {
            {"AM_LOG", "none"}, {"AM_PROTO", "get"}, {"AM_SHM_CMA", "on"}};
    static const struct am_msg_mask exact = {UINT32_MAX, UINT32_MAX,
                                             UINT32_MAX};
    static char memory[BYTES];
    struct am_msg_envelope envelope = {1, 1, 5};
    struct am_data data = am_data_contig(memory, BYTES);
    struct am_msg_status status;
    struct am_msg_req *req;

    if (rank_open_pings(me, options, 3) != 0) {
        return 2;
    }
    rank_meet(me, 0, 2);
    if (me->rank == 1) {
        if (am_msg_isend(me->ctx, 0, &envelope, &data, 0, on_sent, NULL, &req) <
            0) {
            return 3;
        }
        for (int i = 0; i < 100; i++) {
            (void)am_ctx_poll(me->ctx);
        }
        atomic_store(&me->board->flag[1], 1);
        raise(SIGKILL);
    }
    if (am_msg_irecv(me->ctx, &envelope, &exact, &data, on_received, NULL,
                     &status, &req) != AM_OK) {
        return 4;
    }
    while (atomic_load(&me->board->flag[1]) == 0) {
        rest();
    }
    rest();                  /* it has no memory any more, ... */
    am_check_peers(me->ctx); /* ... and this is who notices */
    for (int i = 0; i < POLLS && ended == 0; i++) {
        (void)am_ctx_poll(me->ctx);
    }
    if (ended != 1 || received.status != AM_ERR_PEER) {
        return 5;
    }
    am_close(me->ctx);
    return ended == 1 ? 0 : 6;
}

static void test_killed(void **state)
{
    static const int expected[] = {0, -SIGKILL};

    for (int i = 0; i < 5; i++) {
        run_ranks(2, killed_body, expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_killed)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
