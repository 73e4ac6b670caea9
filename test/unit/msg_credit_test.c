/*
 * Credit in corners: a send that is cancelled while it is held, a peer that
 * starves beside one that talks, the largest extra grant, and space in a region
 * that rides on a message which is not sent.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "msg/msg_core.h"
#include "msg/msg_credit.h"
#include "msg/msg_region.h"

enum {
    SENDS = 100, /* more than the smallest grant */
    POLLS = 100000,
    EVERY = 50 /* polls between two messages of one that talks */
};

static struct am_data nothing(void)
{
    static char byte;

    return am_data_contig(&byte, 0);
}

static struct am_msg_envelope tagged(uint32_t from, uint32_t tag)
{
    return (struct am_msg_envelope){1, from, tag};
}

static struct am_msg_peer *peer_at(struct world *world, uint32_t at,
                                   uint32_t of)
{
    return am_msg_peer_at(am_msg_of(world->ctx[at]), of);
}

static void open_capped(struct world *world, uint32_t size,
                        const char *unexp_max)
{
    const struct am_option options[] = {{"AM_UNEXP_MAX", unexp_max},
                                        {NULL, NULL}};
    const struct am_option *lists[] = {options, options, options};

    world_open(world, size, lists);
}

/* Send until one is held; how many there were before it. */
static int send_until_held(struct world *world, uint32_t from, uint32_t to,
                           struct ended *sent)
{
    struct am_data data = nothing();

    for (int i = 0; i < SENDS; i++) {
        world_send(world, from, to, tagged(from, 1), &data, 0, &sent[i]);
        if (sent[i].count == 0 && sent[i].req->state == AM_REQ_HELD) {
            return i;
        }
        world_polls(world, 4);
    }
    fail_msg("no send is held");
    return 0;
}

static bool comes_within(struct world *world, const struct ended *received)
{
    for (int i = 0; i < POLLS && received->count == 0; i++) {
        world_poll(world);
    }
    return received->count != 0;
}

/* The sender has said that it is stalled, and then is not, as the only send that
 * was held is cancelled.  The next time it has to say so again. */
static void test_cancelled(void **state)
{
    static struct ended sent[SENDS], received[SENDS], wanted_sent, wanted;
    struct am_data data = nothing();
    struct world world;
    int count;

    open_capped(&world, 2, "8k");
    count = send_until_held(&world, 0, 1, sent);
    world_settle(&world);
    assert_int_equal(am_msg_cancel(sent[count].req), AM_DONE);
    for (int i = 0; i < count; i++) {
        world_recv(&world, 1, tagged(0, 1), MASK_EXACT, &data, &received[i]);
        world_wait(&world, &received[i]);
    }
    world_settle(&world);
    (void)send_until_held(&world, 0, 1, sent);
    world_send(&world, 0, 1, tagged(0, 2), &data, 0, &wanted_sent);
    world_recv(&world, 1, tagged(0, 2), MASK_EXACT, &data, &wanted);
    assert_true(comes_within(&world, &wanted));
    world_close(&world);
}

/* What is wanted of rank 1 is held there, while rank 2 sends and is received. */
static void test_beside_a_talker(void **state)
{
    static struct ended sent[SENDS], wanted_sent, wanted, talk, heard;
    struct am_data data = nothing();
    struct world world;

    open_capped(&world, 3, "8k");
    (void)send_until_held(&world, 1, 0, sent);
    world_send(&world, 1, 0, tagged(1, 2), &data, 0, &wanted_sent);
    world_recv(&world, 0, tagged(1, 2), MASK_EXACT, &data, &wanted);
    for (int i = 0; i < POLLS && wanted.count == 0; i += EVERY) {
        world_recv(&world, 0, tagged(2, 7), MASK_EXACT, &data, &heard);
        world_send(&world, 2, 0, tagged(2, 7), &data, 0, &talk);
        world_polls(&world, EVERY);
        world_wait(&world, &heard);
        world_wait(&world, &talk);
    }
    assert_int_equal(wanted.count, 1);
    world_close(&world);
}

/* A sender that has its whole grant, as what it held has been cancelled, takes
 * the largest extra one, too. */
static void test_largest_extra(void **state)
{
    enum {
        EXTRA = 3 * AM_CREDIT_MESSAGES_MAX
    };

    struct ended sent, never;
    struct am_data data = nothing();
    struct am_msg_peer *sender, *receiver;
    struct world world;

    open_capped(&world, 2, "16m");
    world_send(&world, 0, 1, tagged(0, 1), &data, 0, &sent);
    world_recv(&world, 1, tagged(0, 1), MASK_EXACT, &data, &never);
    world_wait(&world, &never);
    world_settle(&world);
    sender = peer_at(&world, 0, 1);
    receiver = peer_at(&world, 1, 0);
    am_credit_flush(receiver);
    world_settle(&world);
    assert_int_equal(am_credit_messages(sender->credit),
                     AM_CREDIT_MESSAGES_MAX);
    receiver->extra = receiver->waiting_messages = EXTRA;
    assert_int_equal(am_msg_control(sender, AM_MSG_H_STALL, NULL, 0), AM_OK);
    world_recv(&world, 1, tagged(0, 2), MASK_EXACT, &data, &never);
    world_settle(&world);
    assert_int_equal(world_counter(&world, 1, "msg_credit_extra"), 1);
    assert_int_equal(world_counter(&world, 0, "msg_rx_bad_credit"), 0);
    assert_int_equal(am_credit_messages(sender->credit),
                     AM_CREDIT_MESSAGES_MAX + receiver->extra - EXTRA);
    receiver->extra -= EXTRA;
    receiver->waiting_messages = 0;
    assert_int_equal(am_msg_cancel(never.req), AM_DONE);
    world_close(&world);
}

/* Offsets that wait to be given back keep their bytes when they have ridden on a
 * message for which there was no space: a quarter of the region is told. */
static void test_unridden(void **state)
{
    uint64_t words[AM_MSG_FREES_RIDE];
    struct am_msg_peer mp = {.peer = &(struct am_peer){0}, .rx_bytes = 4096};
    uint32_t count;

    am_msg_region_free(&mp, 0, 500);
    am_msg_region_free(&mp, 512, 400);
    count = am_msg_region_ride(&mp, words, AM_MSG_FREES_RIDE);
    assert_int_equal(count, 2);
    am_msg_region_unride(&mp, words, count);
    assert_int_equal(mp.free_count, 2);
    assert_int_equal(mp.free_bytes, 900);
    assert_int_equal(mp.frees[0], 0);
    assert_int_equal(mp.frees[1], 512);

    count = am_msg_region_ride(&mp, words, AM_MSG_FREES_RIDE);
    assert_int_equal(count, 2);
    am_msg_region_free(&mp, 1024, 100);
    assert_int_equal(mp.free_count, 1);
    assert_int_equal(mp.free_bytes, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_cancelled),
            cmocka_unit_test(test_beside_a_talker),
            cmocka_unit_test(test_largest_extra),
            cmocka_unit_test(test_unridden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
