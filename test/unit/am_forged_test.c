/*
 * A peer that forges messages of am's own: answers to operations that are
 * queued, out with somebody else or over, and messages to handlers that are not
 * there.  What is refused is counted, and what was asked for still ends rightly.
 */
#include "support/cm.h"
#include "support/forged.h"

#include "am/bulk_wire.h"
#include "am/client.h"

#include <am.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* OWNER does not poll: fill its lane, so that what follows is queued. */
static void fill_lane(struct forged *scene)
{
    struct am_ctx *ctx = scene->world.ctx[VICTIM];

    while (am_ctx_try_request(ctx, OWNER, H_USER, NULL, 0, NULL, 0) == AM_OK) {
    }
}

/* ------------------------------------------------------------------ answers */

/* Forge one answer that is not due: nothing ends by it. */
static void forge_answer(struct forged *scene, uint32_t from, uint32_t handler,
                         const uint64_t *words, uint32_t word_count,
                         const struct world_done *result)
{
    uint64_t before = forged_refused(scene, VICTIM);

    forged_send(scene, from, VICTIM, handler, 0, words, word_count, NULL, 0);
    assert_int_equal(result->count, 0);
    assert_int_equal(forged_refused(scene, VICTIM), before + 1);
}

/* In turn to an operation that is queued, from a third when it is out, and when
 * it is over. */
static void forge_answers(struct forged *scene, uint32_t handler,
                          const uint64_t *words, uint32_t word_count,
                          struct world_done *result)
{
    struct am_ctx *ctx = scene->world.ctx[VICTIM];
    uint64_t before;

    forge_answer(scene, OWNER, handler, words, word_count, result);
    forge_answer(scene, THIRD, handler, words, word_count, result);
    world_wait_done(&scene->world, result);
    assert_int_equal(result->status, AM_OK);
    before = forged_refused(scene, VICTIM);
    forged_send(scene, OWNER, VICTIM, handler, 0, words, word_count, NULL, 0);
    assert_int_equal(forged_refused(scene, VICTIM), before + 1);
    assert_int_equal(result->count, 1);
    assert_true(am_is_flushed(ctx));
}

static void test_put_answers(void **state)
{
    for (int ok = 0; ok < 2; ok++) {
        struct world_done result = {0};
        struct forged scene;
        uint64_t words[2] = {0, (uint64_t)ok};

        forged_open(&scene, forged_tiny);
        assert_int_equal(am_ctx_put(scene.world.ctx[VICTIM], OWNER,
                                    &scene.local, &scene.key, 0, world_on_done,
                                    &result),
                         AM_OK);
        words[0] = forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_BULK);
        forge_answers(&scene, AM_H_ACK, words, 2, &result);
        assert_memory_equal(scene.memory, scene.data, BYTES);
        forged_close(&scene);
    }
}

static void test_get_answers(void **state)
{
    struct world_done result = {0};
    struct forged scene;
    uint64_t words[2] = {0};
    uint64_t before;

    forged_open(&scene, forged_tiny);
    fill_lane(&scene);
    assert_int_equal(am_ctx_rget(scene.world.ctx[VICTIM], OWNER, &scene.local,
                                 &scene.key, 0, world_on_done, &result),
                     AM_OK);
    words[0] = forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_BULK);
    words[1] = 1;
    forge_answer(&scene, OWNER, AM_H_ACK, words, 2, &result);
    words[0] = forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    /* data for it, from one that was not asked and one not asked yet */
    for (uint32_t from = OWNER; from <= THIRD; from++) {
        static const char wrong[64] = {1};

        before = forged_refused(&scene, VICTIM);
        words[1] = 0;
        forged_send(&scene, from, VICTIM, AM_H_STREAM, BYTES, words, 2, wrong,
                    sizeof(wrong));
        assert_int_equal(scene.data[0], 0x11);
        assert_int_equal(forged_refused(&scene, VICTIM), before + 1);
    }
    forge_answers(&scene, AM_H_REFUSED, words, 1, &result);
    forged_untouched(&scene);
    assert_memory_equal(scene.data, scene.memory, BYTES);
    forged_close(&scene);
}

/* All of a get of no bytes is there before its turn comes. */
static void test_empty_get(void **state)
{
    struct am_data nothing = am_data_contig(NULL, 0);
    struct world_done first = {0}, result = {0};
    struct forged scene;
    uint64_t words[2] = {0};

    forged_open(&scene, forged_tiny);
    assert_int_equal(am_ctx_put(scene.world.ctx[VICTIM], OWNER, &scene.local,
                                &scene.key, 0, world_on_done, &first),
                     AM_OK);
    assert_int_equal(am_ctx_rget(scene.world.ctx[VICTIM], OWNER, &nothing,
                                 &scene.key, 0, world_on_done, &result),
                     AM_OK);
    /* nothing that a packet could name is there for it, ... */
    assert_false(forged_has(scene.world.ctx[VICTIM], AM_HANDLE_REGION));
    words[0] = UINT64_C(1) << 32; /* ... so that one guesses */
    forged_send(&scene, OWNER, VICTIM, AM_H_STREAM, 0, words, 2, NULL, 0);
    world_wait_done(&scene.world, &result);
    world_wait_done(&scene.world, &first);
    world_settle(&scene.world);
    assert_int_equal(result.count, 1); /* and not by the packet, too */
    assert_true(forged_refused(&scene, VICTIM) > 0);
    forged_close(&scene);
}

static void test_fetch_answers(void **state)
{
    struct world_done result = {0};
    struct forged scene;
    uint64_t words[3] = {0, 77, 1};
    uint64_t old = 0;

    forged_open(&scene, forged_tiny);
    memset(scene.memory, 0, 8);
    fill_lane(&scene);
    assert_int_equal(am_ctx_fetch_add(scene.world.ctx[VICTIM], OWNER,
                                      &scene.key, 0, 5, &old, world_on_done, &result),
                     AM_OK);
    words[0] = forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_FETCH);
    forge_answers(&scene, AM_H_FETCHED, words, 3, &result);
    assert_int_equal(old, 0);
    assert_int_equal(scene.memory[0], 5);
    forged_close(&scene);
}

static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
                              const void *info, size_t info_bytes, size_t bytes,
                              struct am_data *landing, am_done_fn *done,
                              void **done_arg)
{
    struct forged *scene = arg;

    *landing = am_data_contig(scene->memory, BYTES);
    return AM_OK;
}

static void test_send_answers(void **state)
{
    struct am_client *client[RANKS];
    struct world_done result = {0};
    struct forged scene;
    uint64_t words[FIN_WORDS] = {0};

    forged_open(&scene, forged_tiny);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(am_client_register(scene.world.ctx[i], AM_ORDERED,
                                            on_receive, &scene, &client[i]),
                         AM_OK);
    }
    fill_lane(&scene);
    assert_int_equal(am_send(client[VICTIM], OWNER, NULL, 0, &scene.local,
                             world_on_done, &result),
                     AM_OK);
    words[FIN_HANDLE] = forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_SEND);
    forge_answers(&scene, AM_H_SEND_FIN, words, FIN_WORDS, &result);
    assert_memory_equal(scene.memory, scene.data, BYTES);
    forged_close(&scene);
}

/* Longer than memory can be: nobody is offered it, its sender learns so. */
static void test_long_send(void **state)
{
    struct am_client *client;
    struct forged scene;
    uint64_t words[RTS_WORDS] = {[RTS_BYTES] = SIZE_MAX - 10};
    uint64_t before;

    forged_open(&scene, forged_tiny);
    assert_int_equal(am_client_register(scene.world.ctx[VICTIM], AM_ORDERED,
                                        on_receive, &scene, &client),
                     AM_OK);
    before = forged_refused(&scene, VICTIM);
    forged_send(&scene, OWNER, VICTIM, AM_H_SEND_RTS, 0, words, RTS_WORDS, NULL,
                0);
    assert_int_equal(forged_refused(&scene, VICTIM), before + 1);
    forged_close(&scene);
}

/* One that asks on and on and reads no answer: at some time no more of them are kept
 * for it. */
static void test_unread_answers(void **state)
{
    struct forged scene;
    struct am_peer *peer;
    uint64_t words[RTS_WORDS] = {[RTS_BYTES] = SIZE_MAX - 10};
    uint64_t before;
    uint32_t waiting;

    forged_open(&scene, forged_tiny);
    fill_lane(&scene);
    peer = scene.world.ctx[VICTIM]->peers[OWNER];
    before = forged_refused(&scene, VICTIM);
    peer->queued_count += AM_QUEUE_MAX;
    forged_send(&scene, OWNER, VICTIM, AM_H_SEND_RTS, 0, words, RTS_WORDS, NULL,
                0);
    waiting = peer->ordered_count;
    assert_true(waiting > 0); /* what handlers queue has a quota of its own */
    assert_int_equal(forged_refused(&scene, VICTIM), before + 1);
    peer->queued_count += 2 * AM_OPS_MAX;
    forged_send(&scene, OWNER, VICTIM, AM_H_SEND_RTS, 0, words, RTS_WORDS, NULL,
                0);
    assert_int_equal(peer->ordered_count, waiting);
    assert_int_equal(forged_refused(&scene, VICTIM), before + 3);
    peer->queued_count -= AM_QUEUE_MAX + 2 * AM_OPS_MAX;
    world_settle(&scene.world);
    forged_close(&scene);
}

/* --------------------------------------------------------- nobody is there */

/* How many lines of the log have this text in them. */
static int lines_with(const char *path, const char *text)
{
    FILE *file = fopen(path, "r");
    char line[512];
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        count += strstr(line, text) != NULL;
    }
    fclose(file);
    return count;
}

/* The first message to a handler that is not there is told, and which handler
 * and sender it was; the others are counted. */
static void test_missing(void **state)
{
    char path[] = "am_forged_test.XXXXXX", log[64];
    struct am_option told[] = {{"AM_LOG", log}, {NULL, NULL}};
    struct forged scene;
    uint64_t words[RTS_WORDS] = {0};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    snprintf(log, sizeof(log), "warn:%s", path);
    forged_open(&scene, told);
    for (int i = 0; i < 3; i++) {
        forged_send(&scene, OWNER, VICTIM, 200, 0, NULL, 0, NULL, 0);
        forged_send(&scene, THIRD, VICTIM, 200, 0, NULL, 0, NULL, 0);
        forged_send(&scene, THIRD, VICTIM, 201, 0, NULL, 0, NULL, 0);
        words[RTS_CLIENT] = 7;
        forged_send(&scene, THIRD, VICTIM, AM_H_SEND_RTS, 0, words, RTS_WORDS,
                    NULL, 0);
        words[LAST_REGION] = scene.key.w[0];
        words[LAST_HANDLER] = 202;
        forged_send(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words,
                    LAST_WORDS, NULL, 0);
        memset(words, 0, sizeof(words));
    }
    assert_int_equal(world_counter(&scene.world, VICTIM, "rx_bad_handler"), 9);
    assert_int_equal(world_counter(&scene.world, OWNER, "rx_bad_handler"), 3);
    assert_int_equal(lines_with(path, "rank 1 is lost: it is for handler 200"),
                     1);
    assert_int_equal(lines_with(path, "rank 2 is lost: it is for handler 200"),
                     1);
    assert_int_equal(lines_with(path, "rank 2 is lost: it is for handler 201"),
                     1);
    assert_int_equal(lines_with(path, "rank 2 is lost: it is for handler 202"),
                     1);
    assert_int_equal(lines_with(path, "rank 2 is lost: it is for client 7"), 1);
    assert_int_equal(lines_with(path, ""), 5);
    forged_close(&scene);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_put_answers),
            cmocka_unit_test(test_get_answers),
            cmocka_unit_test(test_empty_get),
            cmocka_unit_test(test_fetch_answers),
            cmocka_unit_test(test_send_answers),
            cmocka_unit_test(test_long_send),
            cmocka_unit_test(test_unread_answers),
            cmocka_unit_test(test_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
