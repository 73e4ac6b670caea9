/*
 * The start of a job through shared memory, between processes: what an early
 * rank sends to one that still waits for a third.
 */
#include "support/cm.h"
#include "support/process.h"

#include <am.h>
#include <am_client.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

enum {
    H_EARLY = AM_HANDLER_USER,
    LEADER = 0, /* hands the segment to the others, so it is through last */
    EARLY,
    LATE,
    RANKS
};

enum {
    SENT,
    CHECKED
};

static int exchange_late(void *arg, const void *mine, void *all, size_t bytes)
{
    struct rank *me = arg;

    (void)rank_exchange(arg, mine, all, bytes);
    while (me->rank == LATE && atomic_load(&me->board->flag[SENT]) == 0) {
        sched_yield();
    }
    return 0;
}

static void on_early(struct am_token *token, const uint64_t *words,
                     uint32_t word_count, void *data, size_t bytes)
{
    struct rank *me = am_token_arg(token);

    me->pings++;
}

static am_status_t on_send(void *arg, struct am_recv *recv, uint32_t source,
                           const void *info, size_t info_bytes, size_t bytes,
                           struct am_data *landing, am_done_fn *done,
                           void **done_arg)
{
    struct rank *me = arg;

    me->pongs++;
    return AM_DONE;
}

/* LATE does not fetch the segment before EARLY has sent, and LEADER's am_open
 * waits for LATE: so both messages are there before it has a handler. */
static int early_body(struct rank *me)
{
    struct am_params params = {.rank = me->rank,
                               .size = me->size,
                               .allgather = exchange_late,
                               .allgather_arg = me};
    struct am_data nothing = am_data_contig(NULL, 0);
    struct am_client *client;

    if (am_open(&params, &me->ctx) != AM_OK) {
        return 1;
    }
    if (am_handler_register(me->ctx, H_EARLY, on_early, me, "early") != AM_OK ||
        am_client_register(me->ctx, AM_ORDERED, on_send, me, &client) !=
                AM_OK) {
        return 2;
    }
    if (me->rank == EARLY) {
        if (am_ctx_request(me->ctx, LEADER, H_EARLY, NULL, 0, NULL, 0) !=
                    AM_OK ||
            am_send(client, LEADER, NULL, 0, &nothing, NULL, NULL) != AM_OK) {
            return 3;
        }
        for (int i = 0; i < 1000; i++) { /* time for LEADER to go wrong in */
            sched_yield();
        }
        atomic_store(&me->board->flag[SENT], 1);
    }
    while (me->rank == LEADER && (me->pings == 0 || me->pongs == 0)) {
        struct am_counter_info info;

        (void)am_ctx_poll(me->ctx);
        for (uint32_t i = 0; am_counter(me->ctx, i, &info) == AM_OK; i++) {
            if (strncmp(info.name, "rx_bad", 6) == 0 && info.value != 0) {
                return 4;
            }
        }
    }
    rank_meet(me, CHECKED, RANKS);
    am_close(me->ctx);
    return 0;
}

static void test_early_message(void **state)
{
    run_ranks(RANKS, early_body, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_early_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
