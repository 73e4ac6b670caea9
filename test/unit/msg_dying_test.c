/*
 * The moment in which a peer dies: one receive is told, and its `done` receives
 * another message of the same peer, of which the rest will never come.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "msg/msg_core.h"

#include <stdlib.h>

enum {
    BYTES = 1 << 20, /* more than leaves at once */
    POLLS = 100000,
    FIRST = 1,
    SECOND = 2
};

static struct world world;
static struct shaped target;
static struct ended second;

static const struct am_msg_envelope envelopes[] =
        {[FIRST] = {1, 1, FIRST}, [SECOND] = {1, 1, SECOND}};

static void receive_second(struct am_msg_req *claimed)
{
    const struct am_msg_mask mask = MASK_EXACT;
    am_status_t status =
            claimed != NULL
                    ? am_msg_imrecv(claimed, &target.data, ended_done, &second,
                                    &second.status, &second.req)
                    : am_msg_irecv(world.ctx[0], &envelopes[SECOND], &mask,
                                   &target.data, ended_done, &second,
                                   &second.status, &second.req);

    assert_true(status == AM_OK || status == AM_DONE);
    second.count += status == AM_DONE;
}

static void first_done(void *arg, const struct am_msg_status *status)
{
    assert_int_equal(status->status, AM_ERR_PEER);
    receive_second(*(struct am_msg_req **)arg);
}

static void die_so(const char *proto, bool claims)
{
    const struct am_option options[] = {{"AM_PROTO", proto}, {NULL, NULL}};
    const struct am_option *const lists[] = {options, options};
    const struct am_msg_mask mask = MASK_EXACT;
    struct am_msg_req *claimed = NULL, *req;
    struct am_msg_status status;
    struct ended sent[2];
    struct shaped source;

    second = (struct ended){0};
    world_open(&world, 2, lists);
    shaped_open(&source, SHAPE_CONTIG, BYTES);
    shaped_open(&target, SHAPE_CONTIG, BYTES);
    world_polls(&world, 2000);
    assert_int_equal(am_msg_irecv(world.ctx[0], &envelopes[FIRST], &mask,
                                  &target.data, first_done, &claimed, &status,
                                  &req),
                     AM_OK);
    world_send(&world, 1, 0, envelopes[FIRST], &source.data, 0, &sent[0]);
    world_send(&world, 1, 0, envelopes[SECOND], &source.data, 0, &sent[1]);
    for (int i = 0; i < 64; i++) {
        (void)am_ctx_poll(world.ctx[0]); /* rank 1 does not go on */
    }
    assert_int_equal(am_match_unexpected_count(&am_msg_of(world.ctx[0])->match),
                     1);
    if (claims) {
        assert_int_equal(am_msg_improbe(world.ctx[0], &envelopes[SECOND], &mask,
                                        &status, &claimed),
                         AM_DONE);
    }
    world.ctx[0]->polling = true;
    am_peer_dead(world.ctx[0]->peers[1], "this test says so");
    world.ctx[0]->polling = false;
    for (int i = 0; i < POLLS && second.count == 0; i++) {
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_int_equal(second.count, 1);
    assert_int_equal(second.status.status, AM_ERR_PEER);
    am_close(world.ctx[0]);
    am_close(world.ctx[1]);
    shaped_close(&source);
    shaped_close(&target);
}

static void test_posted(void **state)
{
    die_so("put", false);
    die_so("get", false);
    die_so("eager", false);
}

static void test_claimed(void **state)
{
    die_so("put", true);
    die_so("get", true);
    die_so("eager", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_posted),
            cmocka_unit_test(test_claimed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
