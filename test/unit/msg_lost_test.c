/*
 * Receives of dead ranks: one that names a dead rank ends with an error that
 * names it, whether it was posted before the death or after; one from any
 * source waits until all others are dead; what a rank sent before it died is
 * received.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/process.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
    TAG = 3,
    TAG_LAST = 5,
    BODY_FAILED = 100 /* exit codes: this and the step */
};

static const struct am_option quiet[] = {{"AM_LOG", "none"}};

/* What am_set_dead's function was told. */
static struct {
    int count;
    uint32_t peer;
} told;

static void tell(void *arg, uint32_t peer)
{
    told.count += arg == &told;
    told.peer = peer;
}

static void post(struct rank *me, uint32_t source, uint32_t source_mask,
                 uint32_t tag, struct ended *ended)
{
    const struct am_msg_envelope envelope = {1, source, tag};
    const struct am_msg_mask mask = {UINT32_MAX, source_mask, UINT32_MAX};
    struct am_data none = am_data_contig(NULL, 0);

    *ended = (struct ended){0};
    ended->count += am_msg_irecv(me->ctx, &envelope, &mask, &none, ended_done,
                                 ended, &ended->status, &ended->req) == AM_DONE;
}

static am_status_t send(struct rank *me, uint32_t dest, uint32_t tag)
{
    const struct am_msg_envelope envelope = {1, me->rank, tag};
    struct am_data none = am_data_contig(NULL, 0);
    struct am_msg_req *req;

    return am_msg_isend(me->ctx, dest, &envelope, &none, 0, NULL, NULL, &req);
}

/* Poll until it has ended so; `peer` is whom the status must name. */
static bool ends(struct rank *me, struct ended *ended, am_status_t status,
                 uint32_t peer)
{
    while (ended->count == 0) {
        (void)am_ctx_poll_wait(me->ctx);
    }
    return ended->count == 1 && ended->status.status == status &&
           ended->status.peer == peer;
}

/* The ranks that see another one die; each `return` is a step. */
static int survivor(struct rank *me)
{
    const struct am_msg_mask exact = MASK_EXACT;
    const struct am_msg_envelope from_dead = {1, 2, TAG + 9};
    struct ended named, named_wild_tag, any, other, late, last;
    struct am_msg_status status;
    uint32_t friend = 1 - me->rank;

    am_set_dead(me->ctx, tell, &told);
    post(me, 2, UINT32_MAX, TAG, &named);
    post(me, 2, UINT32_MAX, TAG + 1, &named_wild_tag);
    post(me, 0, 0, TAG, &any);
    post(me, friend, UINT32_MAX, TAG + 2, &other);
    rank_meet(me, 0, 2);
    if (!ends(me, &named, AM_ERR_PEER, 2) ||
        !ends(me, &named_wild_tag, AM_ERR_PEER, 2)) {
        return BODY_FAILED + 1;
    }
    if (strstr(am_error_text(me->ctx), "rank 2") == NULL ||
        !am_peer_is_dead(me->ctx, 2) || am_peer_is_dead(me->ctx, friend)) {
        return BODY_FAILED + 2;
    }
    if (told.count != 1 || told.peer != 2 ||
        strstr(am_peer_death(me->ctx, 2), "rank 2") == NULL ||
        am_peer_death(me->ctx, friend)[0] != '\0') {
        return BODY_FAILED + 10;
    }
    if (any.count != 0 || other.count != 0) {
        return BODY_FAILED + 3;
    }
    post(me, 2, UINT32_MAX, TAG_LAST, &last); /* sent before it died */
    if (!ends(me, &last, AM_OK, 2)) {
        return BODY_FAILED + 4;
    }
    post(me, 2, UINT32_MAX, TAG, &late);
    if (!ends(me, &late, AM_ERR_PEER, 2)) {
        return BODY_FAILED + 5;
    }
    if (am_msg_iprobe(me->ctx, &from_dead, &exact, &status) != AM_ERR_PEER ||
        send(me, 2, TAG) != AM_ERR_PEER) {
        return BODY_FAILED + 6;
    }
    rank_meet(me, 2, 2); /* the other has seen all of that, too */
    if (send(me, friend, TAG) < 0 || send(me, friend, TAG + 2) < 0) {
        return BODY_FAILED + 7;
    }
    if (!ends(me, &any, AM_OK, friend) || !ends(me, &other, AM_OK, friend)) {
        return BODY_FAILED + 8;
    }
    rank_meet(me, 1, 2);
    return 0;
}

static int body(struct rank *me)
{
    struct ended any;
    int step;

    if (rank_open(me, quiet, 1) != AM_OK) {
        return BODY_FAILED;
    }
    if (me->rank == 2) {
        while (me->board->flag[0] < 2) {
            (void)am_ctx_poll(me->ctx);
        }
        for (uint32_t r = 0; r < 2; r++) {
            while (send(me, r, TAG_LAST) == AM_ERR_AGAIN) {
                (void)am_ctx_poll(me->ctx);
            }
        }
        raise(SIGKILL);
    }
    step = survivor(me);
    if (step != 0) {
        return step;
    }
    if (me->rank == 1) {
        raise(SIGKILL);
    }
    /* alone: nobody is left whose message could come */
    post(me, 0, 0, TAG, &any);
    if (!ends(me, &any, AM_ERR_PEER, 2)) {
        return BODY_FAILED + 9;
    }
    am_close(me->ctx);
    return 0;
}

static void test_dead_ranks(void **state)
{
    static const int expected[] = {0, -SIGKILL, -SIGKILL};

    run_ranks(3, body, expected);
}

/* Context 7 is given up. */
static uint32_t given_up(void *arg, am_msg_done_fn done, void *done_arg,
                         const struct am_msg_envelope *envelope,
                         const struct am_msg_mask *mask)
{
    return *(bool *)arg && envelope->context == 7 ? AM_MSG_REVOKED : UINT32_MAX;
}

static void post_in(struct am_ctx *ctx, uint32_t context, uint32_t tag,
                    struct ended *ended)
{
    const struct am_msg_envelope envelope = {context, 0, tag};
    const struct am_msg_mask mask = MASK_EXACT;
    struct am_data none = am_data_contig(NULL, 0);

    *ended = (struct ended){0};
    assert_int_equal(am_msg_irecv(ctx, &envelope, &mask, &none, ended_done,
                                  ended, &ended->status, &ended->req),
                     AM_OK);
}

/* Receives of a context that is given up end, those posted later as well, and
 * a probe says so; others stay. */
static void test_given_up(void **state)
{
    const struct am_msg_envelope envelope = {7, 0, TAG};
    const struct am_msg_mask mask = MASK_EXACT;
    struct am_params params = {
            .size = 1, .options = quiet, .option_count = 1};
    struct ended posted, later, other;
    struct am_msg_status status;
    struct am_ctx *ctx;
    bool is_given_up = false;

    assert_int_equal(am_open(&params, &ctx), AM_OK);
    am_msg_set_lost(ctx, given_up, &is_given_up);
    post_in(ctx, 7, TAG, &posted);
    post_in(ctx, 8, TAG, &other);
    (void)am_ctx_poll(ctx);
    assert_int_equal(posted.count, 0);
    is_given_up = true;
    am_msg_look(ctx);
    assert_int_equal(posted.count, 0); /* in a poll only */
    (void)am_ctx_poll(ctx);
    assert_int_equal(posted.count, 1);
    assert_int_equal(posted.status.status, AM_ERR_CANCELLED);
    assert_int_equal(other.count, 0);
    post_in(ctx, 7, TAG, &later);
    (void)am_ctx_poll(ctx);
    assert_int_equal(later.count, 1);
    assert_int_equal(later.status.status, AM_ERR_CANCELLED);
    assert_int_equal(am_msg_iprobe(ctx, &envelope, &mask, &status),
                     AM_ERR_CANCELLED);
    assert_int_equal(am_msg_cancel(other.req), AM_DONE);
    am_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_dead_ranks),
            cmocka_unit_test(test_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
