/*
 * DCMF's sends, many of them: in order or not, several clients side by side,
 * multicast and many-to-many, and more than the answers have room for.
 */
#include "support/client_inbox.h"
#include "support/cm.h"

#include <am.h>
#include <stdlib.h>
#include <string.h>

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

        am_send(ordered[0], 1, &i, 4, &send, inbox_count_done, &done);
        am_send(unordered[0], 1, &i, 4, &send, inbox_count_done, &done);
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
            am_send(client[0], 1, &first, 4, &nothing, inbox_count_done, &done),
            AM_OK);
    assert_int_equal(done, 0);
    for (int i = 0; i < 100; i++) {
        (void)am_ctx_poll(world.ctx[1]);
    }
    assert_int_equal(am_send(client[0], 1, &second, 4, &nothing,
                             inbox_count_done, &done),
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
    inbox_fill(data, 4 * 50000, 1);
    assert_int_equal(am_multicast(client[2], dests, 5, "m", 1, &send,
                                  inbox_count_done, &done),
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
    assert_int_equal(am_many_to_many(client[0], many, 4, NULL, 0,
                                     inbox_count_done, &done),
                     AM_OK);
    world_settle(&world);
    assert_int_equal(done, 2);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(inbox[i + 1].bytes, 10000 * (i + 1));
        assert_memory_equal(inbox[i + 1].memory, data + i * 50000,
                            10000 * (i + 1));
    }
    assert_int_equal(am_multicast(client[0], dests, 0, NULL, 0, &send,
                                  inbox_count_done, &done),
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
            cmocka_unit_test(test_order_and_clients),
            cmocka_unit_test(test_overtaking),
            cmocka_unit_test(test_multisend),
            cmocka_unit_test(test_many_unanswered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
