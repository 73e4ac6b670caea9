/*
 * A peer that forges messages of msg's own: answers to sends that are queued or
 * wait for something else, credit that was never given, lengths that nothing
 * has.  What is refused is counted, and what was asked for ends rightly.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "msg/msg_credit.h"

#include <string.h>

enum {
    VICTIM,
    PEER, /* whom the victim's sends go to */
    THIRD,
    RANKS,
    H_USER = AM_HANDLER_USER,
    BYTES = 20000
};

static const char *const names[] = {"msg_rx_bad_id", "msg_rx_bad_length",
                                    "msg_rx_bad_credit", "msg_rx_bad_region"};

static uint64_t refused(struct world *world)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sum += world_counter(world, VICTIM, names[i]);
    }
    return sum;
}

static void open_with(struct world *world, const char *proto)
{
    const struct am_option list[] = {{"AM_PROTO", proto},
                                     {"AM_SHM_CMA", "off"},
                                     {"AM_SHM_SLOTS", "2"},
                                     {"AM_LOG", "none"},
                                     {NULL, NULL}};
    const struct am_option *options[] = {list, list, list};

    world_open(world, RANKS, options);
    for (uint32_t i = 1; i < RANKS; i++) { /* all know each other's credit */
        struct am_data nothing = am_data_contig(NULL, 0);
        struct am_msg_envelope envelope = {.tag = i};
        struct ended sent, received;

        world_recv(world, i, envelope, MASK_EXACT, &nothing, &received);
        world_send(world, VICTIM, i, envelope, &nothing, 0, &sent);
        world_wait(world, &sent);
        world_wait(world, &received);
    }
    world_settle(world);
}

static void forge(struct world *world, uint32_t from, uint32_t handler,
                  const uint64_t *words, uint32_t word_count)
{
    struct am_peer *peer = world->ctx[from]->peers[VICTIM];

    assert_int_equal(peer->send(peer->ep, AM_DEV_REPLY,
                                am_hdr_bits(handler, 0, word_count), words,
                                NULL, 0),
                     AM_OK);
    for (int i = 0; i < 20; i++) {
        (void)am_ctx_poll(world->ctx[VICTIM]);
    }
}

/* Every answer that names the one request under way, from its peer while it is
 * queued, and from a third. */
static void forge_answers(struct world *world, const struct ended *ended)
{
    static const uint32_t handlers[] = {AM_MSG_H_CTS, AM_MSG_H_END,
                                        AM_MSG_H_PUT_END, AM_MSG_H_FAIL};
    static const uint32_t counts[] = {7, 2, 1, 2};
    const struct am_msg_req *req = ended->req;

    for (uint32_t i = 0; i < 4; i++) {
        for (uint32_t from = PEER; from <= THIRD; from++) {
            uint64_t words[7] = {req->id, 0, BYTES};
            uint64_t before = refused(world);

            forge(world, from, handlers[i], words, counts[i]);
            assert_int_equal(ended->count, 0);
            assert_int_equal(refused(world), before + 1);
        }
    }
}

static void answers(const char *proto)
{
    static unsigned char data[BYTES] = {1, 2, 3}, back[BYTES];
    struct am_data from = am_data_contig(data, BYTES);
    struct am_data to = am_data_contig(back, BYTES);
    struct am_msg_envelope envelope = {.tag = 9};
    struct ended sent, received;
    struct world world;

    memset(back, 0, sizeof(back));
    open_with(&world, proto);
    while (am_ctx_try_request(world.ctx[VICTIM], PEER, H_USER, NULL, 0, NULL,
                              0) == AM_OK) {
    }
    world_send(&world, VICTIM, PEER, envelope, &from, AM_MSG_SYNC, &sent);
    assert_int_equal(sent.count, 0);
    assert_int_equal(sent.req->state, AM_REQ_QUEUED);
    forge_answers(&world, &sent);
    world_recv(&world, PEER, envelope, MASK_EXACT, &to, &received);
    world_wait(&world, &received);
    world_wait(&world, &sent);
    assert_memory_equal(data, back, BYTES);
    world_close(&world);
}

static void test_answers(void **state)
{
    answers("get");
    answers("put");
    answers("eager");
}

/* A request of no kind, or with more or fewer words than its kind has, is none; nor is a
 * message longer than any. */
static void test_length(void **state)
{
    struct world world;
    uint64_t words[AM_WORDS_MAX] = {PEER, 0, 1};
    struct am_data data = {.kind = AM_DATA_CONTIG,
                           .bytes = AM_MSG_LENGTH_MAX + 1};
    static const uint32_t counts[] = {4, 8, 6, 6, 6};
    struct am_msg_req *req;
    struct am_msg_envelope envelope = {.source = PEER};
    struct am_msg_status status;

    open_with(&world, "put");
    for (uint64_t kind = 0; kind <= 255; kind++) {
        for (uint32_t count = 0; count <= AM_WORDS_MAX; count++) {
            uint64_t before = refused(&world);

            words[3] = 5000 | kind << AM_MSG_LENGTH_BITS;
            if (kind >= AM_MSG_RTS_COUNT || count != counts[kind]) {
                forge(&world, PEER, AM_MSG_H_RTS, words, count);
                assert_int_equal(refused(&world), before + 1);
            }
        }
    }
    assert_int_equal(am_msg_isend(world.ctx[VICTIM], PEER, &envelope, &data, 0,
                                  ended_done, NULL, &req),
                     AM_ERR_INVALID);
    assert_int_equal(
            am_msg_iprobe(world.ctx[VICTIM], &envelope, &MASK_EXACT, &status),
            AM_ERR_AGAIN);
    world_close(&world);
}

/* Credit stays what its word can hold, whatever is granted and returned. */
static void test_credit(void **state)
{
    uint64_t grant[2] = {am_credit_pack(32000, AM_CREDIT_BYTES_MAX / 2), 0};
    uint64_t full = am_credit_pack(0x7fff, AM_CREDIT_BYTES_MAX);
    struct am_msg_peer *mp;
    struct world world;

    open_with(&world, "eager");
    mp = world.ctx[VICTIM]->peers[PEER]->msg;
    for (int i = 0; i < 4; i++) {
        forge(&world, PEER, AM_MSG_H_GRANT, grant, 2);
        assert_true(am_credit_covers(mp->credit));
        mp->credit = AM_CREDIT_GUARDS | am_credit_pack(30000, 1); /* is used */
        forge(&world, PEER, AM_MSG_H_CREDIT, &full, 1);
        assert_true(am_credit_covers(mp->credit));
        mp->credit = AM_CREDIT_GUARDS;
    }
    forge(&world, PEER, AM_MSG_H_CREDIT, &full, 1);
    assert_true(am_credit_covers(mp->credit));
    for (uint32_t i = 0; i < RANKS; i++) {
        am_close(world.ctx[i]);
    }
}

/* Who introduces itself again and again is answered once. */
static void test_hello(void **state)
{
    struct world world;
    struct am_msg_peer *mp;
    uint64_t word = am_credit_pack(1, 1);
    uint64_t before;

    open_with(&world, "eager");
    mp = world.ctx[PEER]->peers[VICTIM]->msg;
    before = mp->granted_messages;
    for (int i = 0; i < 100; i++) {
        forge(&world, PEER, AM_MSG_H_HELLO, &word, 1);
    }
    world_settle(&world);
    assert_int_equal(mp->granted_messages, before);
    assert_int_equal(world_counter(&world, VICTIM, "msg_rx_bad_credit"), 100);
    world_close(&world);
}

/* Who says that it starves and has nothing waiting here gets one more grant,
 * and no other. */
static void test_stall(void **state)
{
    struct am_data nothing = am_data_contig(NULL, 0);
    struct am_msg_envelope envelope = {.source = 77};
    struct ended never;
    struct world world;

    open_with(&world, "eager");
    world_recv(&world, VICTIM, envelope, MASK_EXACT, &nothing, &never);
    for (int i = 0; i < 5; i++) {
        forge(&world, PEER, AM_MSG_H_STALL, NULL, 0);
        for (int n = 0; n < 4 * AM_CREDIT_STARVE_POLLS; n++) {
            (void)am_ctx_poll(world.ctx[VICTIM]);
        }
    }
    assert_in_range(world_counter(&world, VICTIM, "msg_credit_extra"), 0, 1);
    assert_int_equal(am_msg_cancel(never.req), AM_DONE);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_answers), cmocka_unit_test(test_length),
            cmocka_unit_test(test_credit),  cmocka_unit_test(test_hello),
            cmocka_unit_test(test_stall),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
