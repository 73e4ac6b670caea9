/*
 * DCMF's sends: reception callbacks that land, defer, take or refuse, of every
 * size, and how the sender is told (many sends: am_client_order_test).
 */
#include "support/client_inbox.h"
#include "support/cm.h"

#include "am/ctx.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

static void test_sizes(void **state)
{
    static const size_t sizes[] = {0, 1, 40, 4096, 16000, 16384, SIZE_MAX_HERE};
    static const size_t infos[] = {0, 1, 8, AM_INFO_BYTES_MAX};
    struct duo duo = {.streamed = false};

    duo_open(&duo);
    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (size_t f = 0; f < sizeof(infos) / sizeof(infos[0]); f++) {
            struct am_data send = am_data_contig(duo.data, sizes[s]);
            unsigned char info[AM_INFO_BYTES_MAX];

            duo.done = 0;
            inbox_fill(duo.data, sizes[s], (unsigned)(s + f));
            inbox_fill(info, infos[f], (unsigned)f);
            memset(duo.inbox[1].memory, 0, SIZE_MAX_HERE);
            assert_int_equal(am_send(duo.client[0], 1, info, infos[f], &send,
                                     inbox_count_done, &duo.done),
                             AM_OK);
            world_settle(&duo.world);
            assert_int_equal(duo.done, 1);
            assert_int_equal(duo.inbox[1].bytes, sizes[s]);
            assert_int_equal(duo.inbox[1].info_bytes, infos[f]);
            assert_memory_equal(duo.inbox[1].info, info, infos[f]);
            assert_memory_equal(duo.inbox[1].memory, duo.data, sizes[s]);
        }
    }
    assert_int_equal(duo.inbox[1].arrived, duo.inbox[1].landed);
    duo_close(&duo);
}

static void test_deferred(void **state)
{
    static const size_t sizes[] = {0, 100, 10000, SIZE_MAX_HERE};
    struct duo duo = {.streamed = false};

    duo_open(&duo);
    duo.inbox[1].defer = true;
    inbox_fill(duo.data, SIZE_MAX_HERE, 3);
    for (int i = 0; i < 4; i++) {
        struct am_data send = am_data_contig(duo.data, sizes[i]);

        assert_int_equal(am_send(duo.client[0], 1, NULL, 0, &send,
                                 inbox_count_done, &duo.done),
                         AM_OK);
    }
    world_settle(&duo.world);
    assert_int_equal(duo.inbox[1].kept_count, 4);
    for (int i = 3; i >= 0; i--) { /* supplied in another order */
        struct am_data landing =
                am_data_contig(duo.inbox[1].memory, SIZE_MAX_HERE);
        struct am_data small =
                am_data_contig(duo.inbox[1].memory, sizes[i] / 2);

        memset(duo.inbox[1].memory, 0, SIZE_MAX_HERE);
        if (sizes[i] > 0) {
            assert_int_equal(am_recv_supply(duo.inbox[1].kept[i], &small,
                                            inbox_on_landed, &duo.inbox[1]),
                             AM_ERR_TRUNCATE);
        }
        assert_int_equal(am_recv_supply(duo.inbox[1].kept[i], &landing,
                                        inbox_on_landed, &duo.inbox[1]),
                         AM_OK);
        world_settle(&duo.world);
        assert_memory_equal(duo.inbox[1].memory, duo.data, sizes[i]);
    }
    assert_int_equal(duo.inbox[1].landed, 4);
    assert_int_equal(duo.done, 4);
    duo_close(&duo);
}

/* Short payloads are used in the callback, long ones land as usual. */
static void test_taken(void **state)
{
    static const size_t sizes[] = {1, 100, 4096, SIZE_MAX_HERE};
    struct duo duo = {.streamed = false};

    duo_open(&duo);
    duo.inbox[1].take = true;
    for (unsigned i = 0; i < 4; i++) {
        struct am_data send = am_data_contig(duo.data, sizes[i]);

        inbox_fill(duo.data, sizes[i], i);
        assert_int_equal(am_send(duo.client[0], 1, "i", 1, &send,
                                 inbox_count_done, &duo.done),
                         AM_OK);
        world_settle(&duo.world);
        assert_int_equal(duo.inbox[1].bytes, sizes[i]);
        assert_memory_equal(duo.inbox[1].memory, duo.data, sizes[i]);
    }
    assert_int_equal(duo.done, 4);
    assert_int_equal(duo.inbox[1].arrived, 4);
    assert_int_equal(duo.inbox[1].taken + duo.inbox[1].landed, 4);
    assert_true(duo.inbox[1].taken >= 2);
    assert_true(duo.inbox[1].landed >= 1);
    duo_close(&duo);
}

/* How a send ended. */
struct sent {
    int count;
    am_status_t status;
};

static void note_sent(void *arg, am_status_t status)
{
    struct sent *sent = arg;

    sent->count++;
    sent->status = status;
}

/* A landing that is too small ends the receive, and tells a sender that still
 * waits; a short send is over before. */
static void test_too_small(void **state)
{
    static const size_t sizes[] = {100, SIZE_MAX_HERE};
    static const am_status_t ends[] = {AM_OK, AM_ERR_TRUNCATE};
    struct duo duo = {.streamed = false};

    duo_open(&duo);
    duo.inbox[1].landing_bytes = 99;
    duo.inbox[1].expected = AM_ERR_TRUNCATE;
    for (int i = 0; i < 2; i++) {
        struct am_data send = am_data_contig(duo.data, sizes[i]);

        struct sent sent = {0};

        assert_int_equal(
                am_send(duo.client[0], 1, NULL, 0, &send, note_sent, &sent),
                AM_OK);
        world_settle(&duo.world);
        assert_int_equal(sent.count, 1);
        assert_int_equal(sent.status, ends[i]);
        assert_int_equal(duo.inbox[1].landed, i + 1);
    }
    duo_close(&duo);
}

/* A client may refuse; the sender of a long send learns why.  AM_DONE is no
 * answer to a long send, which has brought no payload. */
static void test_refused(void **state)
{
    static const am_status_t answers[] = {AM_ERR_MEMORY, AM_ERR_INVALID,
                                          AM_DONE};
    struct duo duo = {.streamed = false};

    duo_open(&duo);
    for (int i = 0; i < 3; i++) {
        struct am_data data = am_data_contig(duo.data, SIZE_MAX_HERE);
        struct sent sent = {0};

        duo.inbox[1].refusal = answers[i];
        assert_int_equal(
                am_send(duo.client[0], 1, NULL, 0, &data, note_sent, &sent),
                AM_OK);
        world_settle(&duo.world);
        assert_int_equal(sent.count, 1);
        assert_int_equal(sent.status,
                         answers[i] == AM_DONE ? AM_ERR_INVALID : answers[i]);
        assert_int_equal(duo.inbox[1].landed, 0);
    }
    duo_close(&duo);
}

/* There is no client of that id at the other rank. */
static void test_no_client(void **state)
{
    struct duo duo = {.streamed = false};
    struct am_client *third;
    struct am_data data;
    struct sent sent = {0};

    duo_open(&duo);
    data = am_data_contig(duo.data, SIZE_MAX_HERE);
    assert_int_equal(am_client_register(duo.world.ctx[0], AM_ORDERED,
                                        inbox_on_receive, &duo.inbox[0],
                                        &third),
                     AM_OK);
    assert_int_equal(am_send(third, 1, NULL, 0, &data, note_sent, &sent),
                     AM_OK);
    world_settle(&duo.world);
    assert_int_equal(sent.count, 1);
    assert_int_equal(sent.status, AM_ERR_INVALID);
    assert_int_equal(world_counter(&duo.world, 1, "rx_bad_packet"), 1);
    duo_close(&duo);
}

/* The receiver's get fails: neither side may take it for received. */
static void test_failed_get(void **state)
{
    struct duo duo = {.streamed = true};
    struct am_data data;
    struct sent sent = {0};
    struct am_ctx *ctx;
    uint32_t closed = 0;

    duo_open(&duo);
    ctx = duo.world.ctx[0];
    duo.inbox[1].expected = AM_ERR_INVALID;
    data = am_data_contig(duo.data, SIZE_MAX_HERE);
    assert_int_equal(
            am_send(duo.client[0], 1, NULL, 0, &data, note_sent, &sent), AM_OK);
    for (uint32_t i = 0; i < ctx->handle_count; i++) {
        if (ctx->handles[i].kind == AM_HANDLE_REGION) {
            am_region_close(ctx->handles[i].object);
            closed++;
        }
    }
    assert_int_equal(closed, 1);
    world_settle(&duo.world);
    assert_int_equal(sent.count, 1);
    assert_int_equal(sent.status, AM_ERR_INVALID);
    assert_int_equal(duo.inbox[1].landed, 1);
    duo_close(&duo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_sizes),
            cmocka_unit_test(test_deferred),
            cmocka_unit_test(test_taken),
            cmocka_unit_test(test_too_small),
            cmocka_unit_test(test_refused),
            cmocka_unit_test(test_no_client),
            cmocka_unit_test(test_failed_get),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
