/*
 * Receives that are not just posted: probes, claimed messages, what ends a poll,
 * and receives that are cancelled (sends: msg_cancel_test).
 */
#include "support/cm.h"
#include "support/msg_world.h"

static void test_probe(void **state)
{
    static const char *const protos[] = {"eager", "buffered", "prefix", "get",
                                         "put"};

    for (int i = 0; i < 5; i++) {
        const struct am_option options[] = {{"AM_PROTO", protos[i]},
                                            {NULL, NULL}};
        const struct am_option *lists[] = {options, options};
        const struct am_msg_envelope first = {1, 5, 70}, second = {1, 5, 71};
        const struct am_msg_envelope any = {1, 0, 0};
        const struct am_msg_mask mask = MASK_EXACT;
        const struct am_msg_mask open_mask = {UINT32_MAX, 0, 0};
        struct world world;
        struct shaped source, target;
        struct ended sent[2], received;
        struct am_msg_status status;
        struct am_msg_req *message, *req;
        am_status_t result;

        world_open(&world, 2, lists);
        assert_int_equal(am_msg_iprobe(world.ctx[1], &any, &open_mask, &status),
                         AM_ERR_AGAIN);
        shaped_open(&source, SHAPE_CONTIG, 9000);
        shaped_open(&target, SHAPE_CONTIG, 9000);
        shaped_fill(&source, 4);
        world_send(&world, 0, 1, first, &source.data, 0, &sent[0]);
        world_send(&world, 0, 1, second, &source.data, 0, &sent[1]);
        world_settle(&world);
        assert_int_equal(am_msg_iprobe(world.ctx[1], &any, &open_mask, &status),
                         AM_DONE);
        assert_int_equal(status.envelope.tag, 70);
        assert_int_equal(status.bytes, 9000);
        assert_int_equal(status.bytes_sent, 9000);
        assert_int_equal(am_msg_iprobe(world.ctx[1], &second, &mask, &status),
                         AM_DONE);
        assert_int_equal(status.envelope.tag, 71);
        assert_int_equal(am_msg_improbe(world.ctx[1], &any, &open_mask, &status,
                                        &message),
                         AM_DONE);
        assert_int_equal(status.envelope.tag, 70);
        /* claimed: nobody else sees it */
        assert_int_equal(am_msg_iprobe(world.ctx[1], &first, &mask, &status),
                         AM_ERR_AGAIN);
        received = (struct ended){0};
        result = am_msg_imrecv(message, &target.data, ended_done, &received,
                               &received.status, &req);
        received.count += result == AM_DONE;
        world_wait(&world, &received);
        assert_int_equal(received.status.envelope.tag, 70);
        shaped_check(&target, 4, 9000);
        world_recv(&world, 1, any, open_mask, &target.data, &received);
        world_wait(&world, &received);
        assert_int_equal(received.status.envelope.tag, 71);
        world_wait(&world, &sent[0]);
        world_wait(&world, &sent[1]);
        shaped_close(&source);
        shaped_close(&target);
        world_close(&world);
    }
}

static int messages_stored(struct world *world, uint32_t rank)
{
    return (int)world_counter(world, rank, "msg_unexpected_messages");
}

/* A long message without a receive ends the poll, so that the receives of
 * those behind it may be posted; short ones are all taken. */
static void test_poll_ends(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 2};
    struct shaped source, target[3];
    struct ended sent[4], received[4];
    struct world world;

    if (world_env != NULL) {
        return; /* a simulated adapter hands on what it has */
    }
    world_open(&world, 2, NULL);
    shaped_open(&source, SHAPE_CONTIG, 4096);
    shaped_fill(&source, 3);
    world_send(&world, 0, 1, envelope, &source.data, 0, &sent[0]);
    world_settle(&world); /* the first finds the way */
    assert_int_equal(messages_stored(&world, 1), 1);
    for (int i = 0; i < 3; i++) {
        world_send(&world, 0, 1, envelope, &source.data, 0, &sent[i + 1]);
    }
    am_ctx_poll(world.ctx[1]);
    assert_int_equal(messages_stored(&world, 1), 2);
    for (int i = 0; i < 3; i++) {
        shaped_open(&target[i], SHAPE_CONTIG, 4096);
        world_recv(&world, 1, envelope, MASK_EXACT, &target[i].data,
                   &received[i]);
    }
    am_ctx_poll(world.ctx[1]);
    assert_int_equal(messages_stored(&world, 1), 3);
    assert_int_equal(received[2].count, 1);
    for (int i = 0; i < 3; i++) {
        shaped_check(&target[i], 3, 4096);
        shaped_close(&target[i]);
    }
    source.data.bytes = 8;
    for (int i = 0; i < 3; i++) {
        world_send(&world, 0, 1, envelope, &source.data, 0, &sent[i]);
    }
    am_ctx_poll(world.ctx[1]);
    assert_int_equal(messages_stored(&world, 1), 6);
    source.data.bytes = 4096;
    shaped_close(&source);
    world_close(&world);
}

static void test_cancel(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 3};
    struct world world;
    struct ended a, b, sent;
    char byte_a = 0, byte_b = 0, byte = 9;
    struct am_data data_a = am_data_contig(&byte_a, 1);
    struct am_data data_b = am_data_contig(&byte_b, 1);
    struct am_data data = am_data_contig(&byte, 1);

    world_open(&world, 2, NULL);
    world_recv(&world, 1, envelope, MASK_EXACT, &data_a, &a);
    world_recv(&world, 1, envelope, MASK_EXACT, &data_b, &b);
    assert_int_equal(am_msg_cancel(a.req), AM_DONE);
    world_send(&world, 0, 1, envelope, &data, 0, &sent);
    world_wait(&world, &b);
    assert_int_equal(byte_a, 0);
    assert_int_equal(byte_b, 9);
    assert_int_equal(a.count, 0);
    /* one that matched is not cancelled */
    {
        struct shaped source, target;

        shaped_open(&source, SHAPE_CONTIG, 500000);
        shaped_open(&target, SHAPE_CONTIG, 500000);
        shaped_fill(&source, 1);
        world_settle(&world);
        world_recv(&world, 1, envelope, MASK_EXACT, &target.data, &a);
        world_send(&world, 0, 1, envelope, &source.data, 0, &sent);
        while (am_ctx_poll(world.ctx[1]) == 0) {
        }
        /* On a channel the first events are packets of the message. */
        for (int i = 0; world_env && i < 2000; i++) {
            am_ctx_poll(world.ctx[1]);
        }
        if (a.count == 0) {
            assert_int_equal(am_msg_cancel(a.req), AM_ERR_AGAIN);
        }
        world_wait(&world, &a);
        world_wait(&world, &sent);
        shaped_check(&target, 1, 500000);
        shaped_close(&source);
        shaped_close(&target);
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_probe),
            cmocka_unit_test(test_poll_ends),
            cmocka_unit_test(test_cancel),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
