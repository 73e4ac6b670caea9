/*
 * Requests handed over by other threads: each arrives once, those of a thread
 * in their order; what cannot be is refused or counted.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include <am.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

enum {
    H_NOTE = AM_HANDLER_USER,
    THREADS = 3,
    EACH = 20000,
    SLOTS = 64
};

struct seen {
    uint64_t next[THREADS];
    uint64_t wrong;
};

struct poster {
    struct am_ctx *ctx;
    uint64_t index;
    uint64_t full; /* times the ring had no slot */
    am_status_t status;
};

static void on_note(struct am_token *token, const uint64_t *words,
                    uint32_t word_count, void *data, size_t bytes)
{
    struct seen *seen = am_token_arg(token);
    uint64_t number;

    if (word_count != 2 || words[0] >= THREADS || bytes != sizeof(number)) {
        seen->wrong++;
        return;
    }
    memcpy(&number, data, sizeof(number));
    seen->wrong += number != ~words[1] || words[1] != seen->next[words[0]];
    seen->next[words[0]]++;
}

static void *poster_main(void *arg)
{
    struct poster *poster = arg;

    for (uint64_t i = 0; i < EACH && poster->status == AM_OK; i++) {
        uint64_t words[2] = {poster->index, i}, number = ~i;

        while ((poster->status = am_ctx_post(poster->ctx, 1, H_NOTE, words, 2,
                                             &number, sizeof(number))) ==
               AM_ERR_AGAIN) {
            poster->full++;
            sched_yield();
        }
    }
    return NULL;
}

static bool all_seen(const struct seen *seen)
{
    for (int i = 0; i < THREADS; i++) {
        if (seen->next[i] != EACH) {
            return false;
        }
    }
    return true;
}

static void test_threads(void **state)
{
    struct poster posters[THREADS];
    pthread_t threads[THREADS];
    struct seen seen = {{0}, 0};
    struct world world;

    world_open(&world, 2, NULL);
    am_handler_register(world.ctx[1], H_NOTE, on_note, &seen, "note");
    assert_int_equal(am_ctx_post_open(world.ctx[0], SLOTS), AM_OK);
    for (uint64_t i = 0; i < THREADS; i++) {
        posters[i] = (struct poster){.ctx = world.ctx[0], .index = i};
        assert_int_equal(
                pthread_create(&threads[i], NULL, poster_main, &posters[i]), 0);
    }
    while (!all_seen(&seen) && seen.wrong == 0) {
        world_poll(&world);
    }
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(posters[i].status, AM_OK);
    }
    assert_int_equal(seen.wrong, 0);
    assert_int_equal(world_counter(&world, 0, "posted"), THREADS * EACH);
    world_close(&world);
}

/* A flush is over when what was posted has gone, too: more than a poll sends. */
static void test_flush(void **state)
{
    struct seen seen = {{0}, 0};
    struct world world;

    (void)state;
    world_open(&world, 2, NULL);
    am_handler_register(world.ctx[1], H_NOTE, on_note, &seen, "note");
    assert_int_equal(am_ctx_post_open(world.ctx[0], 256), AM_OK);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(am_ctx_post(world.ctx[0], 1, H_NOTE, NULL, 0, NULL, 0),
                         AM_OK);
    }
    assert_false(am_is_flushed(world.ctx[0]));
    while (!am_is_flushed(world.ctx[0])) {
        world_poll(&world);
    }
    assert_int_equal(world_counter(&world, 0, "posted"), 200);
    assert_int_equal(world_counter(&world, 0, "tx_requests"), 200);
    world_close(&world);
}

static void test_limits(void **state)
{
    struct seen seen = {{0}, 0};
    char data[AM_POST_BYTES + 1] = {0};
    struct world world;
    uint32_t count = 0;

    world_open(&world, 2, NULL);
    am_handler_register(world.ctx[1], H_NOTE, on_note, &seen, "note");
    assert_int_equal(am_ctx_post(world.ctx[0], 1, H_NOTE, NULL, 0, NULL, 0),
                     AM_ERR_INVALID); /* not open */
    assert_int_equal(am_ctx_post_open(world.ctx[0], 3), AM_ERR_INVALID);
    assert_int_equal(am_ctx_post_open(world.ctx[0], SLOTS), AM_OK);
    assert_int_equal(am_ctx_post_open(world.ctx[0], SLOTS), AM_ERR_INVALID);
    assert_int_equal(am_ctx_post(world.ctx[0], 1, H_NOTE, NULL, 0, data,
                                 AM_POST_BYTES + 1),
                     AM_ERR_INVALID);
    assert_int_equal(
            am_ctx_post(world.ctx[0], 1, AM_HANDLERS_MAX, NULL, 0, NULL, 0),
            AM_ERR_INVALID);
    /* a full ring refuses; polls make room */
    while (am_ctx_post(world.ctx[0], 1, H_NOTE, NULL, 0, data, AM_POST_BYTES) ==
           AM_OK) {
        count++;
    }
    assert_int_equal(count, SLOTS);
    (void)am_ctx_poll(world.ctx[0]);
    assert_int_equal(am_ctx_post(world.ctx[0], 7, H_NOTE, NULL, 0, NULL, 0),
                     AM_OK); /* to nobody: found out by the owner */
    world_settle(&world);
    assert_int_equal(world_counter(&world, 0, "posted"), SLOTS);
    assert_int_equal(world_counter(&world, 0, "post_failed"), 1);
    assert_int_equal(seen.wrong, SLOTS); /* all arrived */
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_threads),
            cmocka_unit_test(test_flush),
            cmocka_unit_test(test_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
