/*
 * Requests and replies: the rules of handlers, credits down to a window of one,
 * payloads of every size, late connections.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

enum {
    H_ECHO = AM_HANDLER_USER,
    H_ANSWER,
    H_CHECK,
    H_SPREAD,
    H_RULES
};

struct seen {
    uint64_t requests, answers, sum;
    am_status_t second_reply, reply_to_reply, poll, store, request;
    unsigned char data[65536];
    size_t bytes;
    uint64_t words[AM_WORDS_MAX];
    uint32_t word_count, source;
};

static void on_echo(struct am_token *token, const uint64_t *words,
                    uint32_t count, void *data, size_t bytes)
{
    struct seen *seen = am_token_arg(token);

    seen->requests++;
    assert_int_equal(am_token_reply(token, H_ANSWER, words, count, NULL, 0),
                     AM_OK);
    seen->second_reply = am_token_reply(token, H_ANSWER, words, count, NULL, 0);
}

static void on_answer(struct am_token *token, const uint64_t *words,
                      uint32_t count, void *data, size_t bytes)
{
    struct seen *seen = am_token_arg(token);

    seen->answers++;
    seen->sum += count > 0 ? words[0] : 0;
    seen->reply_to_reply =
            am_token_reply(token, H_ANSWER, words, count, NULL, 0);
}

static void on_check(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    struct seen *seen = am_token_arg(token);

    seen->requests++;
    seen->word_count = count;
    seen->source = am_token_source(token);
    memcpy(seen->words, words, count * sizeof(*words));
    seen->bytes = bytes;
    assert_true(bytes <= sizeof(seen->data));
    if (bytes > 0) {
        memcpy(seen->data, data, bytes);
    } else {
        assert_null(data);
    }
}

/* A handler that sends ten requests back: they must be queued, not lost. */
static void on_spread(struct am_token *token, const uint64_t *words,
                      uint32_t count, void *data, size_t bytes)
{
    for (uint64_t i = 0; i < 10; i++) {
        assert_int_equal(am_ctx_request(am_token_ctx(token),
                                        am_token_source(token), H_CHECK, &i, 1,
                                        NULL, 0),
                         AM_OK);
    }
}

static void on_rules(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    struct seen *seen = am_token_arg(token);
    struct am_ctx *ctx = am_token_ctx(token);

    seen->poll = (am_status_t)am_ctx_poll(ctx);
    seen->store = am_ctx_store(ctx, 0, seen->data, seen->data, 1, 0, NULL, 0);
}

static void handlers(struct world *world, struct seen *seen)
{
    for (uint32_t r = 0; r < world->size; r++) {
        struct am_ctx *ctx = world->ctx[r];

        am_handler_register(ctx, H_ECHO, on_echo, &seen[r], "echo");
        am_handler_register(ctx, H_ANSWER, on_answer, &seen[r], "answer");
        am_handler_register(ctx, H_CHECK, on_check, &seen[r], "check");
        am_handler_register(ctx, H_SPREAD, on_spread, &seen[r], "spread");
        am_handler_register(ctx, H_RULES, on_rules, &seen[r], "rules");
    }
}

static struct seen *seen_new(void)
{
    struct seen *seen = calloc(WORLD_MAX, sizeof(*seen));

    assert_non_null(seen);
    return seen;
}

static void test_one_reply(void **state)
{
    struct seen *seen = seen_new();
    struct world world;
    uint64_t word = 42;

    world_open(&world, 2, NULL);
    handlers(&world, seen);
    assert_int_equal(am_ctx_request(world.ctx[0], 1, H_ECHO, &word, 1, NULL, 0),
                     AM_OK);
    world_settle(&world);
    assert_int_equal(seen[1].requests, 1);
    assert_int_equal(seen[0].answers, 1);
    assert_int_equal(seen[0].sum, 42);
    assert_int_equal(seen[1].second_reply, AM_ERR_HANDLER);
    assert_int_equal(seen[0].reply_to_reply, AM_ERR_HANDLER);
    world_close(&world);
    free(seen);
}

static void test_handler_rules(void **state)
{
    struct seen *seen = seen_new();
    struct world world;

    world_open(&world, 2, NULL);
    handlers(&world, seen);
    assert_int_equal(am_ctx_request(world.ctx[0], 1, H_RULES, NULL, 0, NULL, 0),
                     AM_OK);
    assert_int_equal(
            am_ctx_request(world.ctx[0], 1, H_SPREAD, NULL, 0, NULL, 0), AM_OK);
    world_settle(&world);
    assert_int_equal(seen[1].poll, AM_ERR_HANDLER);
    assert_int_equal(seen[1].store, AM_ERR_HANDLER);
    assert_int_equal(seen[0].requests, 10);
    assert_int_equal(seen[0].words[0], 9); /* the last, in order */
    world_close(&world);
    free(seen);
}

static void test_bad_arguments(void **state)
{
    struct seen *seen = seen_new();
    struct world world;

    world_open(&world, 2, NULL);
    handlers(&world, seen);
    assert_int_equal(am_ctx_request(world.ctx[0], 2, H_ECHO, NULL, 0, NULL, 0),
                     AM_ERR_INVALID);
    assert_int_equal(
            am_ctx_request(world.ctx[0], 1, AM_HANDLERS_MAX, NULL, 0, NULL, 0),
            AM_ERR_INVALID);
    assert_int_equal(am_ctx_request(world.ctx[0], 1, H_ECHO, NULL,
                                    AM_WORDS_MAX + 1, NULL, 0),
                     AM_ERR_INVALID);
    assert_int_equal(am_handler_register(world.ctx[0], AM_HANDLER_USER - 1,
                                         on_echo, NULL, "low"),
                     AM_ERR_INVALID);
    /* nobody registered this one: counted, dropped, the rest goes on */
    assert_int_equal(am_ctx_request(world.ctx[0], 1, AM_HANDLERS_MAX - 1, NULL,
                                    0, NULL, 0),
                     AM_OK);
    assert_int_equal(am_ctx_request(world.ctx[0], 1, H_ECHO, NULL, 0, NULL, 0),
                     AM_OK);
    world_settle(&world);
    assert_int_equal(world_counter(&world, 1, "rx_bad_handler"), 1);
    assert_int_equal(seen[0].answers, 1);
    world_close(&world);
    free(seen);
}

/* Every number of words, and payloads around every boundary. */
static void test_words_and_payload(void **state)
{
    struct seen *seen = seen_new();
    struct world world;
    unsigned char data[65536];
    uint64_t words[AM_WORDS_MAX];

    for (size_t i = 0; i < sizeof(data); i++) {
        data[i] = (unsigned char)(i * 7 + i / 256);
    }
    for (uint64_t i = 0; i < AM_WORDS_MAX; i++) {
        words[i] = 0x1111111111111111ull * i + i;
    }
    world_open(&world, 2, NULL);
    handlers(&world, seen);
    for (uint32_t count = 0; count <= AM_WORDS_MAX; count++) {
        size_t max = am_payload_max(world.ctx[0], 1);

        assert_true(max >= 1024);
        max = max < sizeof(data) ? max : sizeof(data);
        for (size_t bytes = 0; bytes <= max;
             bytes = bytes < 80 ? bytes + 1 : bytes * 3 / 2) {
            assert_int_equal(am_ctx_request(world.ctx[0], 1, H_CHECK, words,
                                            count, data, bytes),
                             AM_OK);
            world_settle(&world);
            assert_int_equal(seen[1].word_count, count);
            assert_int_equal(seen[1].bytes, bytes);
            assert_int_equal(seen[1].source, 0);
            assert_memory_equal(seen[1].words, words, count * sizeof(*words));
            assert_memory_equal(seen[1].data, data, bytes);
        }
    }
    world_close(&world);
    free(seen);
}

/* Both flood each other with requests that are all answered, with room for
 * one packet each way: ends only if replies always drain. */
static void test_window_of_one(void **state)
{
    static const struct am_option one[] = {{"AM_SHM_SLOTS", "1"}, {NULL, NULL}};
    const struct am_option *options[] = {one, one, one};
    struct seen *seen = seen_new();
    struct world world;

    enum {
        EACH = 3000
    };

    uint32_t sent[3] = {0};

    world_open(&world, 3, options);
    handlers(&world, seen);
    while (sent[0] + sent[1] + sent[2] < 3 * EACH) {
        for (uint32_t r = 0; r < 3; r++) {
            uint64_t word = sent[r];

            if (sent[r] < EACH &&
                am_ctx_try_request(world.ctx[r], (r + 1) % 3, H_ECHO, &word, 1,
                                   NULL, 0) == AM_OK) {
                sent[r]++;
            }
        }
        world_poll(&world);
    }
    world_settle(&world);
    for (uint32_t r = 0; r < 3; r++) {
        assert_int_equal(seen[r].requests, EACH);
        assert_int_equal(seen[r].answers, EACH);
        assert_int_equal(seen[r].sum, (uint64_t)EACH * (EACH - 1) / 2);
    }
    world_close(&world);
    free(seen);
}

static void test_to_self(void **state)
{
    struct seen *seen = seen_new();
    struct world world;
    uint64_t word = 5;

    world_open(&world, 1, NULL);
    handlers(&world, seen);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(
                am_ctx_request(world.ctx[0], 0, H_ECHO, &word, 1, NULL, 0),
                AM_OK);
    }
    world_settle(&world);
    assert_int_equal(seen[0].requests, 1000);
    assert_int_equal(seen[0].sum, 5000);
    world_close(&world);
    free(seen);
}

/* Two jobs of one rank each connect late; both directions work, a second
 * connect gives the same index, and the newcomer's address is known. */
static void test_late_connection(void **state)
{
    struct seen *seen = seen_new();
    struct world a, b;
    unsigned char blob[AM_ADDRESS_BYTES], mine[AM_ADDRESS_BYTES];
    uint32_t peer, again, back = 0;
    uint64_t word = 7;

    world_open(&a, 1, NULL);
    world_open(&b, 1, NULL);
    handlers(&a, &seen[0]);
    handlers(&b, &seen[1]);
    am_address(b.ctx[0], blob);
    assert_int_equal(am_connect(a.ctx[0], blob, &peer), AM_OK);
    assert_int_equal(peer, 1);
    assert_int_equal(am_connect(a.ctx[0], blob, &again), AM_OK);
    assert_int_equal(again, peer);
    assert_int_equal(am_ctx_request(a.ctx[0], peer, H_ECHO, &word, 1, NULL, 0),
                     AM_OK);
    for (int i = 0; i < 100000 && seen[0].answers == 0; i++) {
        world_poll(&a);
        world_poll(&b);
    }
    assert_int_equal(seen[0].answers, 1);
    am_address(a.ctx[0], blob);
    assert_int_equal(am_connect(b.ctx[0], blob, &back), AM_OK);
    assert_in_range(back, 1, 2); /* the same connection, or an own one */
    assert_int_equal(am_connect(b.ctx[0], blob, &again), AM_OK);
    assert_int_equal(again, back);
    assert_int_equal(am_peer_address(b.ctx[0], 1, mine), AM_OK);
    assert_memory_equal(blob, mine, sizeof(blob));
    assert_int_equal(am_peer_address(b.ctx[0], back, mine), AM_OK);
    assert_memory_equal(blob, mine, sizeof(blob));
    assert_int_equal(am_ctx_request(b.ctx[0], back, H_ECHO, &word, 1, NULL, 0),
                     AM_OK);
    for (int i = 0; i < 100000 && seen[1].answers == 0; i++) {
        world_poll(&a);
        world_poll(&b);
    }
    assert_int_equal(seen[1].answers, 1);
    world_close(&a);
    world_close(&b);
    free(seen);
}

static void test_connect_to_nobody(void **state)
{
    struct world world;
    unsigned char blob[AM_ADDRESS_BYTES];
    struct am_blob *address = (void *)blob;
    uint32_t peer;

    world_open(&world, 1, NULL);
    am_address(world.ctx[0], blob);
    address->nonce++; /* another context, which does not exist */
    address->parts[sizeof(struct am_blob_part) + 8]++;
    assert_int_equal(am_connect(world.ctx[0], blob, &peer), AM_ERR_PEER);
    memset(blob, 0, sizeof(blob));
    assert_int_equal(am_connect(world.ctx[0], blob, &peer), AM_ERR_INVALID);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_one_reply),
            cmocka_unit_test(test_handler_rules),
            cmocka_unit_test(test_bad_arguments),
            cmocka_unit_test(test_words_and_payload),
            cmocka_unit_test(test_window_of_one),
            cmocka_unit_test(test_to_self),
            cmocka_unit_test(test_late_connection),
            cmocka_unit_test(test_connect_to_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
