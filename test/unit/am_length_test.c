/*
 * Lengths that are none: so long that a header's length added to them wraps, or
 * more than a packet takes.  Each call refuses them, and touches no payload.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"

#include <am_client.h>
#include <string.h>

enum {
    ECHO = AM_HANDLER_USER, /* its handler tries what a handler may */
    COUNT                   /* counts what comes */
};

static const size_t lengths[] = {SIZE_MAX, SIZE_MAX - 7, SIZE_MAX - 63,
                                 (size_t)PTRDIFF_MAX + 1};

enum {
    LENGTHS = sizeof(lengths) / sizeof(lengths[0]),
    QUEUED = 100
};

static char byte;
static int counted;

static void count_handler(struct am_token *token, const uint64_t *words,
                          uint32_t word_count, void *data, size_t bytes)
{
    assert_int_equal(bytes, 0);
    counted++;
}

static void request_is_refused(struct am_ctx *ctx, uint32_t dest, size_t bytes)
{
    const uint64_t words[AM_WORDS_MAX] = {0};

    for (uint32_t count = 0; count <= AM_WORDS_MAX; count++) {
        assert_int_equal(
                am_ctx_request(ctx, dest, COUNT, words, count, &byte, bytes),
                AM_ERR_INVALID);
    }
}

/* With space and without, when a request has to be queued. */
static void echo_handler(struct am_token *token, const uint64_t *words,
                         uint32_t word_count, void *data, size_t bytes)
{
    struct am_ctx *ctx = am_token_ctx(token);

    for (int i = 0; i < LENGTHS; i++) {
        for (uint32_t count = 0; count <= 4; count++) {
            assert_int_equal(am_token_reply(token, COUNT, words, count, &byte,
                                            lengths[i]),
                             AM_ERR_INVALID);
        }
    }
    for (int queued = 0; queued < QUEUED;) {
        queued += ctx->stats[AM_STAT_QUEUED] > 0;
        assert_int_equal(am_ctx_request(ctx, 0, COUNT, NULL, 0, NULL, 0),
                         AM_OK);
    }
    for (int i = 0; i < LENGTHS; i++) {
        request_is_refused(ctx, 0, lengths[i]);
    }
    request_is_refused(ctx, 0, am_peer_payload_max(ctx->peers[0], 0) + 1);
}

static void test_requests(void **state)
{
    const uint64_t words[4] = {0};
    struct world world;

    world_open(&world, 2, NULL);
    am_handler_register(world.ctx[0], COUNT, count_handler, NULL, "count");
    am_handler_register(world.ctx[1], ECHO, echo_handler, NULL, "echo");
    am_handler_register(world.ctx[1], COUNT, count_handler, NULL, "count");
    assert_int_equal(am_ctx_request(world.ctx[0], 1, COUNT, NULL, 0, NULL, 0),
                     AM_OK); /* opens the way */
    world_settle(&world);
    for (int i = 0; i < LENGTHS; i++) {
        request_is_refused(world.ctx[0], 1, lengths[i]);
        assert_int_equal(am_ctx_try_request(world.ctx[0], 1, COUNT, NULL, 0,
                                            &byte, lengths[i]),
                         AM_ERR_INVALID);
    }
    counted = 0;
    assert_int_equal(am_ctx_request(world.ctx[0], 1, ECHO, words, 4, NULL, 0),
                     AM_OK);
    world_settle(&world);
    assert_int_equal(counted, world.ctx[1]->stats[AM_STAT_TX_REQUESTS]);
    world_close(&world);
}

/* An operation that is too long is refused at once, and is nowhere then. */
static void test_operations(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 1};
    struct world_done done = {0};
    struct ended sent = {0};
    struct am_client *client;
    struct world world;

    world_open(&world, 2, NULL);
    assert_int_equal(
            am_client_register(world.ctx[0], AM_ORDERED, NULL, NULL, &client),
            AM_OK);
    for (int i = 0; i < LENGTHS; i++) {
        struct am_data data = am_data_contig(&byte, lengths[i]);

        assert_int_equal(am_msg_isend(world.ctx[0], 1, &envelope, &data, 0,
                                      ended_done, &sent, &sent.req),
                         AM_ERR_INVALID);
        assert_int_equal(
                am_send(client, 1, &byte, 1, &data, world_on_done, &done),
                AM_ERR_INVALID);
    }
    world_settle(&world);
    assert_int_equal(sent.count, 0);
    assert_int_equal(done.count, 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_requests),
            cmocka_unit_test(test_operations),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
