/*
 * DCMF's sends: several clients side by side, reception callbacks that land or
 * defer, multicast and many-to-many.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_MAX_HERE = 200000
};

/* One client's receiving side: lands in `memory`, or keeps what arrives. */
struct inbox {
    unsigned char *memory;
    struct am_recv *kept[64];
    uint32_t kept_count, arrived, landed;
    size_t bytes;
    size_t landing_bytes; /* that the callback names */
    am_status_t expected; /* of what lands */
    unsigned char info[AM_INFO_BYTES_MAX];
    size_t info_bytes;
    uint32_t order[4096];
    bool defer;
    am_status_t refusal; /* what the callback answers, if not AM_OK */
    bool take;           /* use the payload in the callback where it is there */
    uint32_t taken;
};

static void on_landed(void *arg, am_status_t status)
{
    struct inbox *inbox = arg;

    assert_int_equal(status, inbox->expected);
    inbox->landed++;
}

static am_status_t on_receive(void *arg, struct am_recv *recv, uint32_t source,
                              const void *info, size_t info_bytes, size_t bytes,
                              struct am_data *landing, am_done_fn *done,
                              void **done_arg)
{
    struct inbox *inbox = arg;

    assert_true(info_bytes <= sizeof(inbox->info));
    if (info_bytes > 0) {
        memcpy(inbox->info, info, info_bytes);
    }
    if (info_bytes >= 4 && inbox->arrived < 4096) {
        memcpy(&inbox->order[inbox->arrived], info, 4);
    }
    inbox->info_bytes = info_bytes;
    inbox->bytes = bytes;
    inbox->arrived++;
    if (inbox->take && am_recv_payload(recv) != NULL) {
        memcpy(inbox->memory, am_recv_payload(recv), bytes);
        inbox->taken++;
        return AM_DONE;
    }
    if (inbox->refusal != AM_OK) {
        return inbox->refusal;
    }
    if (inbox->defer) {
        inbox->kept[inbox->kept_count++] = recv;
        return AM_ERR_AGAIN;
    }
    *landing = am_data_contig(inbox->memory, inbox->landing_bytes);
    *done = on_landed;
    *done_arg = inbox;
    return AM_OK;
}

static void inboxes_open(struct world *world, struct inbox *inbox,
                         struct am_client **client, am_order_t order)
{
    for (uint32_t r = 0; r < world->size; r++) {
        memset(&inbox[r], 0, sizeof(inbox[r]));
        inbox[r].memory = calloc(1, SIZE_MAX_HERE);
        inbox[r].landing_bytes = SIZE_MAX_HERE;
        assert_int_equal(am_client_register(world->ctx[r], order, on_receive,
                                            &inbox[r], &client[r]),
                         AM_OK);
    }
}

/* Two contexts with a client and an inbox each, and what is sent. */
struct duo {
    struct world world;
    struct inbox inbox[2];
    struct am_client *client[2];
    unsigned char *data; /* SIZE_MAX_HERE */
    int done;
    bool streamed;
};

static void duo_open(struct duo *duo)
{
    /* no single copy, which would not ask the sender */
    static const struct am_option stream[] = {{"AM_SHM_CMA", "off"},
                                              {NULL, NULL}};
    const struct am_option *options[] = {stream, stream};

    duo->data = malloc(SIZE_MAX_HERE);
    duo->done = 0;
    world_open(&duo->world, 2, duo->streamed ? options : NULL);
    inboxes_open(&duo->world, duo->inbox, duo->client, AM_ORDERED);
}

static void duo_close(struct duo *duo)
{
    world_close(&duo->world);
    free(duo->inbox[0].memory);
    free(duo->inbox[1].memory);
    free(duo->data);
}

static void count_done(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(int *)arg;
}

static void fill(unsigned char *data, size_t bytes, unsigned seed)
{
    for (size_t i = 0; i < bytes; i++) {
        data[i] = (unsigned char)(i * 13 + i / 251 + seed);
    }
}

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
            fill(duo.data, sizes[s], (unsigned)(s + f));
            fill(info, infos[f], (unsigned)f);
            memset(duo.inbox[1].memory, 0, SIZE_MAX_HERE);
            assert_int_equal(am_send(duo.client[0], 1, info, infos[f], &send,
                                     count_done, &duo.done),
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
    fill(duo.data, SIZE_MAX_HERE, 3);
    for (int i = 0; i < 4; i++) {
        struct am_data send = am_data_contig(duo.data, sizes[i]);

        assert_int_equal(am_send(duo.client[0], 1, NULL, 0, &send, count_done,
                                 &duo.done),
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
                                            on_landed, &duo.inbox[1]),
                             AM_ERR_TRUNCATE);
        }
        assert_int_equal(am_recv_supply(duo.inbox[1].kept[i], &landing,
                                        on_landed, &duo.inbox[1]),
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

        fill(duo.data, sizes[i], i);
        assert_int_equal(
                am_send(duo.client[0], 1, "i", 1, &send, count_done, &duo.done),
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
                                        on_receive, &duo.inbox[0], &third),
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

/* Two clients; ordered sends of mixed sizes arrive in order at each. */
static void test_order_and_clients(void **state)
{
    struct inbox first[2], second[2];
    struct am_client *ordered[2], *unordered[2];
    unsigned char *data = calloc(1, SIZE_MAX_HERE);
    struct world world;

    enum {
        COUNT = 1000
    };

    int done = 0;

    world_open(&world, 2, NULL);
    inboxes_open(&world, first, ordered, AM_ORDERED);
    inboxes_open(&world, second, unordered, AM_UNORDERED);
    for (uint32_t i = 0; i < COUNT; i++) {
        struct am_data send =
                am_data_contig(data, i % 7 == 0 ? 100000 : i % 3 * 3000);

        am_send(ordered[0], 1, &i, 4, &send, count_done, &done);
        am_send(unordered[0], 1, &i, 4, &send, count_done, &done);
        if (i % 16 == 0) {
            world_poll(&world);
        }
    }
    world_settle(&world);
    assert_int_equal(done, 2 * COUNT);
    assert_int_equal(first[1].landed, COUNT);
    assert_int_equal(second[1].landed, COUNT);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(first[1].order[i], i);
    }
    world_close(&world);
    for (int r = 0; r < 2; r++) {
        free(first[r].memory);
        free(second[r].memory);
    }
    free(data);
}

static void on_filler(struct am_token *token, const uint64_t *words,
                      uint32_t count, void *data, size_t bytes)
{
}

/*
 * A send finds no space and waits; then there is space, and another follows
 * before the first is tried again.  Ordered, it must wait behind the first.
 * Unordered, it goes at once if the sender sees the space without a poll of its
 * own, and overtakes: over shared memory always; on a simulated NIC, over ofi and
 * over udp, where one poll may take in a single packet, perhaps.
 */
static void overtake(am_order_t order)
{
    struct inbox inbox[2];
    struct am_client *client[2];
    struct am_data nothing = am_data_contig(NULL, 0);
    struct world world;
    uint32_t first = 1, second = 2;
    const char *devices = getenv("AM_DEVICES");
    bool sees = world_env == NULL &&
                (devices == NULL || (strstr(devices, "ofi") == NULL &&
                                     strstr(devices, "udp") == NULL));
    int done = 0;

    world_open(&world, 2, NULL);
    inboxes_open(&world, inbox, client, order);
    am_handler_register(world.ctx[1], AM_HANDLER_USER, on_filler, NULL,
                        "filler");
    world_settle(&world);
    while (am_ctx_try_request(world.ctx[0], 1, AM_HANDLER_USER, NULL, 0, NULL,
                              0) == AM_OK) {
    }
    assert_int_equal(
            am_send(client[0], 1, &first, 4, &nothing, count_done, &done),
            AM_OK);
    assert_int_equal(done, 0);
    for (int i = 0; i < 100; i++) {
        (void)am_ctx_poll(world.ctx[1]);
    }
    assert_int_equal(
            am_send(client[0], 1, &second, 4, &nothing, count_done, &done),
            AM_OK);
    world_settle(&world);
    assert_int_equal(done, 2);
    assert_int_equal(inbox[1].arrived, 2);
    assert_int_equal(inbox[1].order[0] + inbox[1].order[1], first + second);
    if (order == AM_ORDERED || sees) {
        assert_int_equal(inbox[1].order[0],
                         order == AM_ORDERED ? first : second);
    }
    world_close(&world);
    free(inbox[0].memory);
    free(inbox[1].memory);
}

static void test_overtaking(void **state)
{
    overtake(AM_ORDERED);
    overtake(AM_UNORDERED);
}

static void test_multisend(void **state)
{
    struct inbox inbox[5];
    struct am_client *client[5];
    unsigned char *data = malloc(4 * 50000);
    uint32_t dests[] = {0, 1, 2, 3, 4};
    struct am_data send = am_data_contig(data, 50000);
    struct am_many many[4];
    struct world world;
    int done = 0;

    world_open(&world, 5, NULL);
    inboxes_open(&world, inbox, client, AM_UNORDERED);
    fill(data, 4 * 50000, 1);
    assert_int_equal(
            am_multicast(client[2], dests, 5, "m", 1, &send, count_done, &done),
            AM_OK);
    world_settle(&world);
    assert_int_equal(done, 1); /* once for all */
    for (int r = 0; r < 5; r++) {
        assert_int_equal(inbox[r].landed, 1);
        assert_memory_equal(inbox[r].memory, data, 50000);
    }
    for (uint32_t i = 0; i < 4; i++) {
        many[i].dest = i + 1;
        many[i].data = am_data_contig(data + i * 50000, 10000 * (i + 1));
    }
    assert_int_equal(
            am_many_to_many(client[0], many, 4, NULL, 0, count_done, &done),
            AM_OK);
    world_settle(&world);
    assert_int_equal(done, 2);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(inbox[i + 1].bytes, 10000 * (i + 1));
        assert_memory_equal(inbox[i + 1].memory, data + i * 50000,
                            10000 * (i + 1));
    }
    assert_int_equal(am_multicast(client[0], dests, 0, NULL, 0, &send,
                                  count_done, &done),
                     AM_OK);
    assert_int_equal(done, 3); /* to nobody: done at once */
    world_close(&world);
    for (int r = 0; r < 5; r++) {
        free(inbox[r].memory);
    }
    free(data);
}

static void count_end(void *arg, am_status_t status)
{
    *(uint32_t *)arg += status == AM_ERR_INVALID;
}

/* A receiver that polls more often than who sends many: each send ends, however
 * many answers wait. */
static void test_many_unanswered(void **state)
{
    enum {
        SENDS = 140000,
        POLLS = 64
    };
    struct duo duo = {.streamed = true};
    struct am_data data;
    uint32_t ended = 0;

    duo_open(&duo);
    data = am_data_contig(duo.data, SIZE_MAX_HERE);
    duo.inbox[1].refusal = AM_ERR_INVALID;
    for (int i = 0; i < SENDS; i++) {
        assert_int_equal(
                am_send(duo.client[0], 1, NULL, 0, &data, count_end, &ended),
                AM_OK);
    }
    for (int i = 0; i < SENDS && ended < SENDS; i++) {
        (void)am_ctx_poll(duo.world.ctx[0]);
        for (int n = 0; n < POLLS; n++) {
            (void)am_ctx_poll(duo.world.ctx[1]);
        }
    }
    assert_int_equal(ended, SENDS);
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
            cmocka_unit_test(test_order_and_clients),
            cmocka_unit_test(test_overtaking),
            cmocka_unit_test(test_multisend),
            cmocka_unit_test(test_many_unanswered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
