/*
 * A prefix whose request has gone ahead of it, over a network of short packets and
 * few of them: answers that come before the prefix has left, receives that are
 * posted in its middle, and forged messages at that time.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/two_devs.h"

#include "am/ctx.h"
#include "msg/msg_core.h"
#include "msg/rndv.h"

#include <string.h>

enum {
    SENDER, /* the two are on two nodes */
    RECEIVER,
    RANKS,
    BYTES = 20000,
    PREFIX = 12 << 10,
    POLLS = 10000
};

static const struct am_msg_envelope envelope = {1, 0, 3};

static const char *const refusals[] = {"msg_rx_bad_id", "msg_rx_bad_length",
                                       "msg_rx_bad_region"};

/* One message, and where it is. */
struct trial {
    struct world world;
    struct shaped source, target;
    struct ended sent, received;
};

static uint64_t refused(struct trial *trial, uint32_t rank)
{
    uint64_t sum = 0;

    for (int i = 0; i < 3; i++) {
        sum += world_counter(&trial->world, rank, refusals[i]);
    }
    return sum;
}

static void receive(struct trial *trial, size_t capacity)
{
    shaped_open(&trial->target, SHAPE_IOV, capacity);
    world_recv(&trial->world, RECEIVER, envelope, MASK_EXACT,
               &trial->target.data, &trial->received);
}

static void send(struct trial *trial)
{
    shaped_open(&trial->source, SHAPE_CONTIG, BYTES);
    shaped_fill(&trial->source, 7);
    world_send(&trial->world, SENDER, RECEIVER, envelope, &trial->source.data,
               0, &trial->sent);
}

/* Both ends, what was received, and that nothing is left of it. */
static void finish(struct trial *trial, size_t capacity)
{
    size_t bytes = capacity < BYTES ? capacity : BYTES;

    world_wait(&trial->world, &trial->received);
    world_wait(&trial->world, &trial->sent);
    assert_int_equal(trial->sent.status.status, AM_OK);
    assert_int_equal(trial->received.status.status,
                     bytes < BYTES ? AM_ERR_TRUNCATE : AM_OK);
    assert_int_equal(trial->received.status.bytes, bytes);
    shaped_check(&trial->target, 7, bytes);
    shaped_close(&trial->target);
    shaped_close(&trial->source);
    assert_int_equal(refused(trial, SENDER), 0);
}

/* A world whose sender has its region at the receiver. */
static void trial_open(struct trial *trial)
{
    static const struct am_option list[] = {{"AM_PROTO", "prefix"},
                                            {"AM_PREFIX_BYTES", "12k"},
                                            {"AM_BUFFER_BYTES", "64k"},
                                            {"AM_CHAN_REQUEST_WINDOW", "4"},
                                            {"AM_LOG", "none"},
                                            {NULL, NULL}};
    const struct am_option *options[] = {list, list};

    two_devs_init(TWO_FAR, 0);
    two_net.depth = 2;
    memset(trial, 0, sizeof(*trial));
    world_open(&trial->world, RANKS, options);
    for (int i = 0; i < 2; i++) { /* the first one asks for the region */
        receive(trial, BYTES);
        send(trial);
        finish(trial, BYTES);
        world_settle(&trial->world);
    }
    assert_int_not_equal(world_counter(&trial->world, SENDER, "msg_tx_prefix"),
                         0);
}

static void trial_close(struct trial *trial)
{
    world_settle(&trial->world);
    assert_int_equal(world_counter(&trial->world, RECEIVER,
                                   "msg_unexpected_bytes"),
                     0);
    world_close(&trial->world);
}

/* Poll until the answer is there before the prefix has left. */
static void wait_early(struct trial *trial, am_answer_kind_t kind)
{
    const struct am_msg_req *req = trial->sent.req;

    for (int i = 0; i < POLLS; i++) {
        assert_int_equal(trial->sent.count, 0);
        if (req->rndv != NULL && req->rndv->answer.kind == kind) {
            assert_true(req->moved_bytes < PREFIX);
            return;
        }
        (void)world_poll(&trial->world);
    }
    fail_msg("no answer came before the prefix had left");
}

/* Poll until the receiver has the request and not the prefix. */
static void wait_ahead(struct trial *trial)
{
    const struct am_msg_peer *mp =
            trial->world.ctx[RECEIVER]->peers[SENDER]->msg;

    for (int i = 0; i < POLLS && mp->ahead_id == 0; i++) {
        (void)world_poll(&trial->world);
    }
    assert_int_not_equal(mp->ahead_id, 0);
}

/* The address comes back while the prefix leaves. */
static void test_early(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial);
    receive(&trial, BYTES + 9);
    send(&trial);
    wait_early(&trial, AM_ANSWER_CTS);
    finish(&trial, BYTES + 9);
    assert_int_equal(refused(&trial, RECEIVER), 0);
    trial_close(&trial);
}

/* The receive has no room for more than the prefix, or for less: the send may
 * not end before its bytes have left. */
static void test_early_end(void **state)
{
    static const size_t capacities[] = {0, 1, PREFIX - 1, PREFIX};
    struct trial trial;

    (void)state;
    trial_open(&trial);
    for (int i = 0; i < 4; i++) {
        receive(&trial, capacities[i]);
        send(&trial);
        wait_early(&trial, AM_ANSWER_END);
        finish(&trial, capacities[i]);
    }
    assert_int_equal(refused(&trial, RECEIVER), 0);
    trial_close(&trial);
}

/* Nobody has posted the receive when the request comes. */
static void test_middle(void **state)
{
    struct am_msg_req *message;
    struct am_msg_status status;
    struct trial trial;

    (void)state;
    trial_open(&trial);
    for (int i = 0; i < 2; i++) {
        size_t capacity = i == 0 ? BYTES : 100;

        send(&trial);
        wait_ahead(&trial);
        receive(&trial, capacity);
        finish(&trial, capacity);
    }
    send(&trial);
    wait_ahead(&trial);
    assert_int_equal(am_msg_improbe(trial.world.ctx[RECEIVER], &envelope,
                                    &MASK_EXACT, &status, &message),
                     AM_DONE);
    world_poll(&trial.world);
    shaped_open(&trial.target, SHAPE_PACK, BYTES);
    memset(&trial.received, 0, sizeof(trial.received));
    assert_int_equal(am_msg_imrecv(message, &trial.target.data, ended_done,
                                   &trial.received, &status,
                                   &trial.received.req),
                     AM_OK);
    finish(&trial, BYTES);
    assert_int_equal(refused(&trial, RECEIVER), 0);
    trial_close(&trial);
}

static void forge(struct trial *trial, uint32_t from, uint32_t handler,
                  const uint64_t *words, uint32_t word_count)
{
    struct am_peer *peer = trial->world.ctx[from]->peers[1 - from];
    uint64_t before = refused(trial, 1 - from);

    assert_int_equal(peer->send(peer->ep, AM_DEV_REPLY,
                                am_hdr_bits(handler, 0, word_count), words,
                                NULL, 0),
                     AM_OK);
    for (int i = 0; i < 10 && refused(trial, 1 - from) == before; i++) {
        (void)world_poll(&trial->world);
    }
    assert_int_equal(refused(trial, 1 - from), before + 1);
    assert_true(trial->sent.req->moved_bytes < PREFIX);
}

/* The end of a receive whose prefix is not there, one more prefix beside it, a
 * second answer. */
static void test_forged(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial);
    receive(&trial, BYTES);
    send(&trial);
    wait_early(&trial, AM_ANSWER_CTS);
    {
        const uint64_t put_end[] = {trial.received.req->id};
        const uint64_t fail[] = {trial.received.req->id,
                                 (uint64_t)(int64_t)AM_ERR_MEMORY};
        const uint64_t length = BYTES | (uint64_t)AM_MSG_RTS_AHEAD
                                                << AM_MSG_LENGTH_BITS;
        const uint64_t rts[] = {0, 0, 5, length, 0, 16};
        const uint64_t empty[] = {0, 0, 5, length, 0, 0};
        const uint64_t cts[] = {trial.sent.req->id, 1, BYTES, 0, 0, 0, 0};

        forge(&trial, SENDER, AM_MSG_H_PUT_END, put_end, 1);
        forge(&trial, SENDER, AM_MSG_H_FAIL, fail, 2);
        forge(&trial, SENDER, AM_MSG_H_RTS, rts, 6);
        forge(&trial, SENDER, AM_MSG_H_RTS, empty, 6);
        forge(&trial, RECEIVER, AM_MSG_H_CTS, cts, 7);
    }
    world_wait(&trial.world, &trial.received);
    world_wait(&trial.world, &trial.sent);
    assert_int_equal(trial.received.status.status, AM_OK);
    shaped_check(&trial.target, 7, BYTES);
    shaped_close(&trial.target);
    shaped_close(&trial.source);
    trial_close(&trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_early),
            cmocka_unit_test(test_early_end),
            cmocka_unit_test(test_middle),
            cmocka_unit_test(test_forged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
