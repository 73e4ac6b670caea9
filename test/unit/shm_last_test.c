/*
 * A rank that dies while its lane here is full of requests, and its lane of
 * replies, too, as it has not polled: all that it has sent is delivered, though
 * no reply finds room.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"

enum {
    ASK = AM_HANDLER_USER,
    ANSWER,
    POLLS = 1000
};

static uint32_t asked;
static am_status_t answered; /* how the last reply was taken */

static void ask_handler(struct am_token *token, const uint64_t *words,
                        uint32_t word_count, void *data, size_t bytes)
{
    asked++;
    answered = am_token_reply(token, ANSWER, words, word_count, NULL, 0);
}

static void answer_handler(struct am_token *token, const uint64_t *words,
                           uint32_t word_count, void *data, size_t bytes)
{
}

/* Rank 1 sends, and only rank 0 polls, until neither can do any more. */
static uint32_t fill_lanes(struct world *world)
{
    const uint64_t word = 1;
    uint32_t sent = 0;

    for (int idle = 0; idle < POLLS; idle++) {
        while (am_ctx_try_request(world->ctx[1], 0, ASK, &word, 1, NULL, 0) ==
               AM_OK) {
            sent++;
            idle = 0;
        }
        (void)am_ctx_poll(world->ctx[0]);
    }
    return sent;
}

static void test_last_requests(void **state)
{
    const uint64_t word = 1;
    struct shm_ep *ep;
    struct world world;
    uint32_t sent;

    world_open(&world, 2, NULL);
    world_settle(&world);
    am_handler_register(world.ctx[0], ASK, ask_handler, NULL, "ask");
    am_handler_register(world.ctx[1], ANSWER, answer_handler, NULL, "answer");
    assert_int_equal(am_ctx_request(world.ctx[1], 0, ASK, &word, 1, NULL, 0),
                     AM_OK);
    world_settle(&world);
    asked = 0;
    sent = fill_lanes(&world);
    assert_in_range(asked, 1, sent - 1);
    assert_int_equal(answered, AM_OK);
    ep = shm_ep_of(world.ctx[0]->peers[1]->ep);
    world.ctx[0]->polling = true;
    shm_ep_die(shm_dev_of(ep->ep.dev), ep, "this test says so");
    world.ctx[0]->polling = false;
    assert_int_equal(asked, sent);
    assert_int_equal(answered, AM_ERR_PEER);
    assert_true(am_peer_is_dead(world.ctx[0], 1));
    am_close(world.ctx[0]);
    am_close(world.ctx[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_last_requests)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
