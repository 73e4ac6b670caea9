/*
 * A peer that forges where its data goes: ranges that leave a region, memory that
 * it may not read or write, handlers that are not for it.  What is refused is
 * counted, and nothing is touched.
 */
#include "support/cm.h"
#include "support/forged.h"

#include "am/bulk_wire.h"
#include "msg/msg_wire.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------- ranges */

/* A put and a get outside the region, by every way: all of it is refused. */
static void outside(const struct am_option *option, uint32_t from)
{
    static const size_t offsets[] = {SIZE_MAX - 5, SIZE_MAX - BYTES + 1,
                                     BYTES / 2, BYTES, BYTES + 1};
    struct forged scene;

    forged_open(&scene, option);
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
        forged_untouched(&scene);
        assert_int_equal(scene.data[0], 0x11);
    }
    forged_close(&scene);
}

static void test_outside(void **state)
{
    static const struct am_option single[] = {{"AM_SHM_CMA", "on"},
                                              {NULL, NULL}};

    outside(forged_tiny, VICTIM);
    outside(NULL, VICTIM);
    outside(single, VICTIM);
    outside(NULL, OWNER);
}

/* A store by address that begins before a region, or ends behind it. */
static void test_store_outside(void **state)
{
    const long ends[] = {-1, 1, -(BYTES / 2), BYTES / 2};
    struct forged scene;

    forged_open(&scene, forged_tiny);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct world_done result = {0};
        uintptr_t to = (uintptr_t)scene.memory + (uintptr_t)ends[i];

        assert_int_equal(am_ctx_store_async(scene.world.ctx[VICTIM], OWNER,
                                            scene.data, (void *)to, BYTES,
                                            H_USER, NULL, 0, world_on_done,
                                            &result),
                         AM_OK);
        world_wait_done(&scene.world, &result);
        assert_int_equal(result.status, AM_ERR_INVALID);
        forged_untouched(&scene);
    }
    assert_int_equal(scene.called, 0);
    forged_close(&scene);
}

/* A stream says in each piece where the whole of it lies. */
static void test_pieces(void **state)
{
    static const char piece[64] = {1};
    struct forged scene;
    uint64_t handle, before;

    forged_open(&scene, forged_tiny);
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

            before = forged_refused(&scene, OWNER);
            forged_send(&scene, THIRD, OWNER, AM_H_STREAM, 0, words,
                        STREAM_LONG_WORDS, piece, sizeof(piece));
            assert_int_equal(forged_refused(&scene, OWNER), before + 1);
            forged_untouched(&scene);
        }
    }
    forged_close(&scene);
}

/* The last piece: its whole, and what it may run. */
static void test_last(void **state)
{
    static const char piece[64] = {1};
    struct forged scene;
    uint64_t words[LAST_WORDS + 5] = {0};
    uint64_t before;

    forged_open(&scene, forged_tiny);
    words[LAST_REGION] = scene.key.w[0];
    words[LAST_HANDLER] = H_USER;
    words[LAST_OFFSET] = 128;
    words[LAST_BYTES] = 193; /* begins before the region */
    before = forged_refused(&scene, OWNER);
    forged_send(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS,
                piece, sizeof(piece));
    assert_int_equal(forged_refused(&scene, OWNER), ++before);
    words[LAST_BYTES] = 63; /* less than the piece */
    forged_send(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS,
                piece, sizeof(piece));
    assert_int_equal(forged_refused(&scene, OWNER), ++before);
    words[LAST_BYTES] = 64; /* more words than a store has */
    forged_send(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words,
                LAST_WORDS + 5, piece, sizeof(piece));
    assert_int_equal(forged_refused(&scene, OWNER), ++before);
    words[LAST_HANDLER] = AM_HANDLERS_MAX;
    forged_send(&scene, THIRD, OWNER, AM_H_STREAM_LAST, 0, words, LAST_WORDS,
                NULL, 0);
    assert_int_equal(forged_refused(&scene, OWNER), ++before);
    forged_untouched(&scene);
    assert_int_equal(scene.called, 0);
    forged_close(&scene);
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
    struct forged scene;
    struct shaped shaped, back;
    uint64_t words[LAST_WORDS] = {0};
    uint64_t before;

    forged_open(&scene, get);
    shaped_open(&shaped, SHAPE_PACK, BYTES);
    shaped_open(&back, SHAPE_CONTIG, BYTES);
    shaped_fill(&shaped, 5);
    shaped.data.unpack = NULL; /* as a sender may */
    world_send(&scene.world, VICTIM, OWNER, envelope, &shaped.data, 0, &sent);
    world_settle(&scene.world);
    words[0] = forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    for (uint32_t from = OWNER; from <= THIRD; from++) {
        uint64_t ask[GET_WORDS] = {[GET_REGION] = words[0], [GET_BYTES] = 64};

        before = forged_refused(&scene, VICTIM);
        forged_send(&scene, from, VICTIM, AM_H_STREAM, BYTES, words, 2, piece,
                    sizeof(piece));
        assert_int_equal(forged_refused(&scene, VICTIM), ++before);
        words[LAST_BYTES] = sizeof(piece);
        forged_send(&scene, from, VICTIM, AM_H_STREAM_LAST, 0, words,
                    LAST_WORDS, piece, sizeof(piece));
        assert_int_equal(forged_refused(&scene, VICTIM), ++before);
        if (from == THIRD) {
            forged_send(&scene, from, VICTIM, AM_H_GET, 0, ask, GET_WORDS, NULL,
                        0);
            assert_int_equal(forged_refused(&scene, VICTIM), ++before);
        }
    }
    world_recv(&scene.world, OWNER, envelope, MASK_EXACT, &back.data,
               &received);
    world_wait(&scene.world, &received);
    world_wait(&scene.world, &sent);
    shaped_check(&back, 5, BYTES);
    forged_close(&scene);
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
    struct forged scene;
    struct shaped back;
    uint64_t words[LAST_WORDS] = {0};
    uint64_t rts[4] = {OWNER, 0, 1,
                       2000 | (uint64_t)AM_MSG_RTS_PUT << AM_MSG_LENGTH_BITS};
    uint64_t ask[GET_WORDS] = {[GET_BYTES] = 64};
    uint64_t before;

    forged_open(&scene, put);
    shaped_open(&back, SHAPE_PACK, BYTES);
    back.data.pack = NULL; /* as a receiver may */
    world_recv(&scene.world, VICTIM, envelope, MASK_EXACT, &back.data,
               &received);
    forged_send(&scene, OWNER, VICTIM, AM_MSG_H_RTS, 3, rts, 4, NULL, 0);
    words[0] = ask[GET_REGION] =
            forged_handle(scene.world.ctx[VICTIM], AM_HANDLE_REGION);
    before = forged_refused(&scene, VICTIM);
    forged_send(&scene, OWNER, VICTIM, AM_H_GET, 0, ask, GET_WORDS, NULL, 0);
    assert_int_equal(forged_refused(&scene, VICTIM), ++before);
    forged_send(&scene, THIRD, VICTIM, AM_H_STREAM, 64, words, 2, piece, 64);
    assert_int_equal(forged_refused(&scene, VICTIM), ++before);
    words[1] = 2000;
    forged_send(&scene, OWNER, VICTIM, AM_H_STREAM, 64, words, 2, piece, 64);
    assert_int_equal(forged_refused(&scene, VICTIM), ++before);
    /* all handlers after a put that is only announced, its data in pieces */
    words[1] = 0;
    words[LAST_BYTES] = 64;
    for (uint32_t handler = 1; handler < AM_HANDLERS_MAX; handler++) {
        words[LAST_HANDLER] = handler;
        if (handler != AM_MSG_H_PUT_END) {
            forged_send(&scene, OWNER, VICTIM, AM_H_STREAM_LAST, 0, words,
                        LAST_WORDS, piece, 64);
        }
    }
    assert_int_equal(scene.called, 0); /* there is no data as one piece */
    assert_int_equal(received.count, 0);
    forged_close(&scene);
    shaped_close(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_outside),
            cmocka_unit_test(test_store_outside),
            cmocka_unit_test(test_pieces),
            cmocka_unit_test(test_last),
            cmocka_unit_test(test_source_is_read_only),
            cmocka_unit_test(test_buffer_is_write_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
