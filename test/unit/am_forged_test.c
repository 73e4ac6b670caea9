/*
 * A peer that forges messages of am's own: answers to operations that are
 * queued, out with somebody else or over, ranges that leave a region, memory
 * that it may not write, handlers that are not for it.  What is refused is
 * counted, nothing is touched, and what was asked for still ends rightly.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/bulk_wire.h"
#include "am/client.h"
#include "msg/msg_wire.h"

#include <am.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    VICTIM,
    OWNER, /* whom the victim's operations go to */
    THIRD,
    RANKS,
    H_USER = AM_HANDLER_USER,
    BYTES = 100000
};

/* No single copy, and so little room that an operation waits for it. */
static const struct am_option tiny[] = {
        {"AM_SHM_CMA", "off"},   {"AM_SHM_SLOTS", "2"}, {"AM_SHM_RING", "8k"},
        {"AM_SHM_PACKET", "1k"}, {"AM_LOG", "none"},    {NULL, NULL}};

/* A region of OWNER's and what the victim has to send. */
struct scene {
    struct world world;
    unsigned char *memory, *data;
    struct am_data local;
    struct am_region *region;
    struct am_key key;
    uint32_t called;
    const void *called_data;
};

static void on_user(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct scene *scene = am_token_arg(token);

    scene->called++;
    scene->called_data = data;
}

static void scene_open(struct scene *scene, const struct am_option *option)
{
    const struct am_option *options[] = {option, option, option};

    memset(scene, 0, sizeof(*scene));
    scene->memory = malloc(BYTES);
    scene->data = malloc(BYTES);
    memset(scene->memory, 0xee, BYTES);
    memset(scene->data, 0x11, BYTES);
    scene->local = am_data_contig(scene->data, BYTES);
    world_open(&scene->world, RANKS, option == NULL ? NULL : options);
    for (uint32_t i = 0; i < RANKS; i++) {
        am_handler_register(scene->world.ctx[i], H_USER, on_user, scene, "u");
    }
    assert_int_equal(am_region_register(scene->world.ctx[OWNER], scene->memory,
                                        BYTES, &scene->region),
                     AM_OK);
    am_region_key(scene->region, &scene->key);
    world_settle(&scene->world);
}

static void scene_close(struct scene *scene)
{
    world_close(&scene->world);
    free(scene->memory);
    free(scene->data);
}

static void check_untouched(const struct scene *scene)
{
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(scene->memory[i], 0xee);
    }
}

/* A packet made up by `from`, which the addressee then polls. */
static void forge(struct scene *scene, uint32_t from, uint32_t to,
                  uint32_t handler, uint32_t aux, const uint64_t *words,
                  uint32_t word_count, const void *data, size_t bytes)
{
    struct am_ctx *ctx = scene->world.ctx[from];
    am_status_t status;
    struct am_peer *peer = am_peer_get(ctx, to, &status);

    assert_int_equal(peer->send(peer->ep, AM_DEV_REPLY,
                                am_hdr_bits(handler, aux, word_count), words,
                                data, bytes),
                     AM_OK);
    for (int i = 0; i < 20; i++) {
        (void)am_ctx_poll(scene->world.ctx[to]);
    }
}

/* The one handle of a kind that a context has given out. */
static uint64_t handle_of(struct am_ctx *ctx, am_handle_kind_t kind)
{
    uint64_t found = 0;

    for (uint32_t i = 0; i < ctx->handle_count; i++) {
        if (ctx->handles[i].kind == kind) {
            assert_int_equal(found, 0);
            found = (uint64_t)ctx->handles[i].generation << 32 | i;
        }
    }
    assert_true(found != 0);
    return found;
}

static uint64_t refused(struct scene *scene, uint32_t rank)
{
    static const char *const names[] = {"rx_bad_handle", "rx_bad_region",
                                        "rx_bad_packet", "rx_bad_handler",
                                        "msg_rx_bad_id", "msg_rx_bad_length"};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sum += world_counter(&scene->world, rank, names[i]);
    }
    return sum;
}

/* OWNER does not poll: fill its lane, so that what follows is queued. */
static void fill_lane(struct scene *scene)
{
    struct am_ctx *ctx = scene->world.ctx[VICTIM];

    while (am_ctx_try_request(ctx, OWNER, H_USER, NULL, 0, NULL, 0) == AM_OK) {
    }
}

/* ------------------------------------------------------------------ answers */

/* Forge one answer that is not due: nothing ends by it. */
static void forge_answer(struct scene *scene, uint32_t from, uint32_t handler,
                         const uint64_t *words, uint32_t word_count,
                         const struct world_done *result)
{
    uint64_t before = refused(scene, VICTIM);

    forge(scene, from, VICTIM, handler, 0, words, word_count, NULL, 0);
    assert_int_equal(result->count, 0);
    assert_int_equal(refused(scene, VICTIM), before + 1);
}

/* In turn to an operation that is queued, from a third when it is out, and when
 * it is over. */
static void forge_answers(struct scene *scene, uint32_t handler,
                          const uint64_t *words, uint32_t word_count,
                          struct world_done *result)
{
    struct am_ctx *ctx = scene->world.ctx[VICTIM];
    uint64_t before;

    forge_answer(scene, OWNER, handler, words, word_count, result);
    forge_answer(scene, THIRD, handler, words, word_count, result);
    world_wait_done(&scene->world, result);
    assert_int_equal(result->status, AM_OK);
    before = refused(scene, VICTIM);
    forge(scene, OWNER, VICTIM, handler, 0, words, word_count, NULL, 0);
    assert_int_equal(refused(scene, VICTIM), before + 1);
    assert_int_equal(result->count, 1);
    assert_true(am_is_flushed(ctx));
}

static void test_put_answers(void **state)
{
    for (int ok = 0; ok < 2; ok++) {
        struct world_done result = {0};
        struct scene scene;
        uint64_t words[2] = {0, (uint64_t)ok};

        scene_open(&scene, tiny);
        assert_int_equal(am_ctx_put(scene.world.ctx[VICTIM], OWNER,
                                    &scene.local, &scene.key, 0, world_on_done,
                                    &result),
                         AM_OK);
        words[0] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_BULK);
        forge_answers(&scene, AM_H_ACK, words, 2, &result);
        assert_memory_equal(scene.memory, scene.data, BYTES);
        scene_close(&scene);
    }
}

static void test_get_answers(void **state)
{
    struct world_done result = {0};
    struct scene scene;
    uint64_t words[2] = {0};
    uint64_t before;

    scene_open(&scene, tiny);
    fill_lane(&scene);
    assert_int_equal(am_ctx_rget(scene.world.ctx[VICTIM], OWNER, &scene.local,
                                 &scene.key, 0, world_on_done, &result),
                     AM_OK);
    words[0] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_BULK);
    words[1] = 1;
    forge_answer(&scene, OWNER, AM_H_ACK, words, 2, &result);
    words[0] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    /* data for it, from one that was not asked and one not asked yet */
    for (uint32_t from = OWNER; from <= THIRD; from++) {
        static const char wrong[64] = {1};

        before = refused(&scene, VICTIM);
        words[1] = 0;
        forge(&scene, from, VICTIM, AM_H_STREAM, BYTES, words, 2, wrong,
              sizeof(wrong));
        assert_int_equal(scene.data[0], 0x11);
        assert_int_equal(refused(&scene, VICTIM), before + 1);
    }
    forge_answers(&scene, AM_H_REFUSED, words, 1, &result);
    check_untouched(&scene);
    assert_memory_equal(scene.data, scene.memory, BYTES);
    scene_close(&scene);
}

/* All of a get of no bytes is there before its turn comes. */
static void test_empty_get(void **state)
{
    struct am_data nothing = am_data_contig(NULL, 0);
    struct world_done first = {0}, result = {0};
    struct scene scene;
    uint64_t words[2] = {0};

    scene_open(&scene, tiny);
    assert_int_equal(am_ctx_put(scene.world.ctx[VICTIM], OWNER, &scene.local,
                                &scene.key, 0, world_on_done, &first),
                     AM_OK);
    assert_int_equal(am_ctx_rget(scene.world.ctx[VICTIM], OWNER, &nothing,
                                 &scene.key, 0, world_on_done, &result),
                     AM_OK);
    words[0] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    forge(&scene, OWNER, VICTIM, AM_H_STREAM, 0, words, 2, NULL, 0);
    world_wait_done(&scene.world, &result);
    world_wait_done(&scene.world, &first);
    world_settle(&scene.world);
    assert_int_equal(result.count, 1); /* and not by the packet, too */
    assert_true(refused(&scene, VICTIM) > 0);
    scene_close(&scene);
}

static void test_fetch_answers(void **state)
{
    struct world_done result = {0};
    struct scene scene;
    uint64_t words[3] = {0, 77, 1};
    uint64_t old = 0;

    scene_open(&scene, tiny);
    memset(scene.memory, 0, 8);
    fill_lane(&scene);
    assert_int_equal(am_ctx_fetch_add(scene.world.ctx[VICTIM], OWNER,
                                      &scene.key, 0, 5, &old, world_on_done, &result),
                     AM_OK);
    words[0] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_FETCH);
    forge_answers(&scene, AM_H_FETCHED, words, 3, &result);
    assert_int_equal(old, 0);
    assert_int_equal(scene.memory[0], 5);
    scene_close(&scene);
}

static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
                              const void *info, size_t info_bytes, size_t bytes,
                              struct am_data *landing, am_done_fn *done,
                              void **done_arg)
{
    struct scene *scene = arg;

    *landing = am_data_contig(scene->memory, BYTES);
    return AM_OK;
}

static void test_send_answers(void **state)
{
    struct am_client *client[RANKS];
    struct world_done result = {0};
    struct scene scene;
    uint64_t words[FIN_WORDS] = {0};

    scene_open(&scene, tiny);
    for (uint32_t i = 0; i < RANKS; i++) {
        assert_int_equal(am_client_register(scene.world.ctx[i], AM_ORDERED,
                                            on_receive, &scene, &client[i]),
                         AM_OK);
    }
    fill_lane(&scene);
    assert_int_equal(am_send(client[VICTIM], OWNER, NULL, 0, &scene.local,
                             world_on_done, &result),
                     AM_OK);
    words[FIN_HANDLE] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_SEND);
    forge_answers(&scene, AM_H_SEND_FIN, words, FIN_WORDS, &result);
    assert_memory_equal(scene.memory, scene.data, BYTES);
    scene_close(&scene);
}

/* Longer than memory can be: nobody is offered it, its sender learns so. */
static void test_long_send(void **state)
{
    struct am_client *client;
    struct scene scene;
    uint64_t words[RTS_WORDS] = {[RTS_BYTES] = SIZE_MAX - 10};
    uint64_t before;

    scene_open(&scene, tiny);
    assert_int_equal(am_client_register(scene.world.ctx[VICTIM], AM_ORDERED,
                                        on_receive, &scene, &client),
                     AM_OK);
    before = refused(&scene, VICTIM);
    forge(&scene, OWNER, VICTIM, AM_H_SEND_RTS, 0, words, RTS_WORDS, NULL, 0);
    assert_int_equal(refused(&scene, VICTIM), before + 1);
    scene_close(&scene);
}

/* ------------------------------------------------------------------- ranges */

/* A put and a get outside the region, by every way: all of it is refused. */
static void outside(const struct am_option *option, uint32_t from)
{
    static const size_t offsets[] = {SIZE_MAX - 5, SIZE_MAX - BYTES + 1,
                                     BYTES / 2, BYTES, BYTES + 1};
    struct scene scene;

    scene_open(&scene, option);
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        struct am_ctx *ctx = scene.world.ctx[from];
        struct world_done result[2] = {{0}};

        assert_int_equal(am_ctx_put(ctx, OWNER, &scene.local, &scene.key,
                                    offsets[i], world_on_done, &result[0]),
                         AM_OK);
        world_wait_done(&scene.world, &result[0]);
        assert_int_equal(result[0].status, AM_ERR_INVALID);
        assert_int_equal(am_ctx_rget(ctx, OWNER, &scene.local, &scene.key,
                                     offsets[i], world_on_done, &result[1]),
                         AM_OK);
        world_wait_done(&scene.world, &result[1]);
        assert_int_equal(result[1].status, AM_ERR_INVALID);
        check_untouched(&scene);
        assert_int_equal(scene.data[0], 0x11);
    }
    scene_close(&scene);
}

static void test_outside(void **state)
{
    static const struct am_option single[] = {{"AM_SHM_CMA", "on"},
                                              {NULL, NULL}};

    outside(tiny, VICTIM);
    outside(NULL, VICTIM);
    outside(single, VICTIM);
    outside(NULL, OWNER);
}

/* A store by address that begins before a region, or ends behind it. */
static void test_store_outside(void **state)
{
    const long ends[] = {-1, 1, -(BYTES / 2), BYTES / 2};
    struct scene scene;

    scene_open(&scene, tiny);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct world_done result = {0};
        uintptr_t to = (uintptr_t)scene.memory + (uintptr_t)ends[i];

        assert_int_equal(am_ctx_store_async(scene.world.ctx[VICTIM], OWNER,
                                            scene.data, (void *)to, BYTES,
                                            H_USER, NULL, 0, world_on_done, &result),
                         AM_OK);
        world_wait_done(&scene.world, &result);
        assert_int_equal(result.status, AM_ERR_INVALID);
        check_untouched(&scene);
    }
    assert_int_equal(scene.called, 0);
    scene_close(&scene);
}

/* A stream says in each piece where the whole of it lies. */
static void test_pieces(void **state)
{
    static const char piece[64] = {1};
    struct scene scene;
    uint64_t handle, before;

    scene_open(&scene, tiny);
    handle = scene.key.w[0];
    {
        const uintptr_t at = (uintptr_t)scene.memory;

        const struct {
            uint64_t region, offset, start, left;
        } pieces[] = {
                {handle, BYTES - 63, 0, 64},
                {handle, 0, 0, 63}, /* less than the piece */
                {handle, 1, 0, BYTES},
                {handle, 64, 0, SIZE_MAX},
                {handle, SIZE_MAX - 63, 0, 64},
                {0, at - 1, 0, 64},
                {0, at + 63, 64, 64},
                {0, at + 64, 64, BYTES - 63},
                {0, at + 64, 64, SIZE_MAX - 60},
                {0, at, SIZE_MAX, 64},
        };

        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
            uint64_t words[STREAM_LONG_WORDS] = {
                    [STREAM_REGION] = pieces[i].region,
                    [STREAM_OFFSET] = pieces[i].offset,
                    [STREAM_START] = pieces[i].start,
                    [STREAM_LEFT] = pieces[i].left};

            before = refused(&scene, OWNER);
            forge(&scene, THIRD, OWNER, AM_H_STREAM, 0, words,
                  STREAM_LONG_WORDS, piece, sizeof(piece));
            assert_int_equal(refused(&scene, OWNER), before + 1);
            check_untouched(&scene);
        }
    }
    scene_close(&scene);
}

/* The last piece: its whole, and what it may run. */
static void test_last(void **state)
{
    static const char piece[64] = {1};
    struct scene scene;
    uint64_t words[LAST_WORDS + 5] = {0};
    uint64_t before;

    scene_open(&scene, tiny);
    words[LAST_REGION] = scene.key.w[0];
    words[LAST_HANDLER] = H_USER;
    words[LAST_OFFSET] = 128;
    words[LAST_BYTES] = 193; /* begins before the region */
    before = refused(&scene, OWNER);
    forge(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS, piece,
          sizeof(piece));
    assert_int_equal(refused(&scene, OWNER), ++before);
    words[LAST_BYTES] = 63; /* less than the piece */
    forge(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS, piece,
          sizeof(piece));
    assert_int_equal(refused(&scene, OWNER), ++before);
    words[LAST_BYTES] = 64; /* more words than a store has */
    forge(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS + 5,
          piece, sizeof(piece));
    assert_int_equal(refused(&scene, OWNER), ++before);
    words[LAST_HANDLER] = AM_HANDLERS_MAX;
    forge(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS, NULL,
          0);
    assert_int_equal(refused(&scene, OWNER), ++before);
    check_untouched(&scene);
    assert_int_equal(scene.called, 0);
    scene_close(&scene);
}

/* ------------------------------------------------------------------- rights */

/* What a send offers to be fetched is not to be written, and not for others. */
static void test_source_is_read_only(void **state)
{
    static const struct am_option get[] = {
            {"AM_SHM_CMA", "off"}, {"AM_PROTO", "get"}, {NULL, NULL}};
    static const char piece[64] = {1};
    struct am_msg_envelope envelope = {.source = VICTIM, .tag = 3};
    struct ended sent, received;
    struct scene scene;
    struct shaped shaped, back;
    uint64_t words[LAST_WORDS] = {0};
    uint64_t before;

    scene_open(&scene, get);
    shaped_open(&shaped, SHAPE_PACK, BYTES);
    shaped_open(&back, SHAPE_CONTIG, BYTES);
    shaped_fill(&shaped, 5);
    shaped.data.unpack = NULL; /* as a sender may */
    world_send(&scene.world, VICTIM, OWNER, envelope, &shaped.data, 0, &sent);
    world_settle(&scene.world);
    words[0] = handle_of(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    for (uint32_t from = OWNER; from <= THIRD; from++) {
        uint64_t ask[GET_WORDS] = {[GET_REGION] = words[0], [GET_BYTES] = 64};

        before = refused(&scene, VICTIM);
        forge(&scene, from, VICTIM, AM_H_STREAM, BYTES, words, 2, piece,
              sizeof(piece));
        assert_int_equal(refused(&scene, VICTIM), ++before);
        words[LAST_BYTES] = sizeof(piece);
        forge(&scene, from, VICTIM, AM_H_STREAM_LAST, 0, words, LAST_WORDS,
              piece, sizeof(piece));
        assert_int_equal(refused(&scene, VICTIM), ++before);
        if (from == THIRD) {
            forge(&scene, from, VICTIM, AM_H_GET, 0, ask, GET_WORDS, NULL, 0);
            assert_int_equal(refused(&scene, VICTIM), ++before);
        }
    }
    world_recv(&scene.world, OWNER, envelope, MASK_EXACT, &back.data,
               &received);
    world_wait(&scene.world, &received);
    world_wait(&scene.world, &sent);
    shaped_check(&back, 5, BYTES);
    scene_close(&scene);
    shaped_close(&shaped);
    shaped_close(&back);
}

/* The buffer of a receive is for its sender, and not to be read; no more of it
 * than the message has. */
static void test_buffer_is_write_only(void **state)
{
    static const struct am_option put[] = {{"AM_SHM_CMA", "off"},
                                           {"AM_PROTO", "put"},
                                           {"AM_LOG", "none"},
                                           {NULL, NULL}};
    static const char piece[64] = {1};
    struct am_msg_envelope envelope = {.source = OWNER, .tag = 3};
    struct ended received;
    struct scene scene;
    struct shaped back;
    uint64_t words[LAST_WORDS] = {0};
    uint64_t rts[5] = {OWNER, 0, 1, 2000, AM_MSG_RTS_PUT};
    uint64_t ask[GET_WORDS] = {[GET_BYTES] = 64};
    uint64_t before;

    scene_open(&scene, put);
    shaped_open(&back, SHAPE_PACK, BYTES);
    back.data.pack = NULL; /* as a receiver may */
    world_recv(&scene.world, VICTIM, envelope, MASK_EXACT, &back.data,
               &received);
    forge(&scene, OWNER, VICTIM, AM_MSG_H_RTS, 3, rts, 5, NULL, 0);
    words[0] = ask[GET_REGION] =
            handle_of(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    before = refused(&scene, VICTIM);
    forge(&scene, OWNER, VICTIM, AM_H_GET, 0, ask, GET_WORDS, NULL, 0);
    assert_int_equal(refused(&scene, VICTIM), ++before);
    forge(&scene, THIRD, VICTIM, AM_H_STREAM, 64, words, 2, piece, 64);
    assert_int_equal(refused(&scene, VICTIM), ++before);
    words[1] = 2000;
    forge(&scene, OWNER, VICTIM, AM_H_STREAM, 64, words, 2, piece, 64);
    assert_int_equal(refused(&scene, VICTIM), ++before);
    /* all handlers after a put that is only announced, its data in pieces */
    words[1] = 0;
    words[LAST_BYTES] = 64;
    for (uint32_t handler = 1; handler < AM_HANDLERS_MAX; handler++) {
        words[LAST_HANDLER] = handler;
        if (handler != AM_MSG_H_PUT_END) {
            forge(&scene, OWNER, VICTIM, AM_H_STREAM_LAST, 0, words, LAST_WORDS,
                  piece, 64);
        }
    }
    assert_int_equal(scene.called, 0); /* there is no data as one piece */
    assert_int_equal(received.count, 0);
    scene_close(&scene);
    shaped_close(&back);
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
    struct scene scene;
    uint64_t words[RTS_WORDS] = {0};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    close(fd);
    snprintf(log, sizeof(log), "warn:%s", path);
    scene_open(&scene, told);
    for (int i = 0; i < 3; i++) {
        forge(&scene, OWNER, VICTIM, 200, 0, NULL, 0, NULL, 0);
        forge(&scene, THIRD, VICTIM, 200, 0, NULL, 0, NULL, 0);
        forge(&scene, THIRD, VICTIM, 201, 0, NULL, 0, NULL, 0);
        words[RTS_CLIENT] = 7;
        forge(&scene, THIRD, VICTIM, AM_H_SEND_RTS, 0, words, RTS_WORDS, NULL,
              0);
        words[LAST_REGION] = scene.key.w[0];
        words[LAST_HANDLER] = 202;
        forge(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS,
              NULL, 0);
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
    scene_close(&scene);
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
            cmocka_unit_test(test_outside),
            cmocka_unit_test(test_store_outside),
            cmocka_unit_test(test_pieces),
            cmocka_unit_test(test_last),
            cmocka_unit_test(test_source_is_read_only),
            cmocka_unit_test(test_buffer_is_write_only),
            cmocka_unit_test(test_missing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
