/*
 * Flow: floods against a small cap, receives out of order that want a message
 * held back, bad input.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/core.h"
#include "msg/msg_wire.h"

#include <string.h>

/* ----------------------------------------------------------------- floods */

enum {
    FLOOD = 60000,
    WINDOW = 256,
    FLOOD_BYTES_MAX = 3000
};

/* One sender of a flood: a window of sends, the next when one is done. */
struct flood_send {
    struct flooder *flooder;
    bool busy;
    char bytes[FLOOD_BYTES_MAX];
};

struct flooder {
    int sent, done;
    struct flood_send window[WINDOW];
};

static void flood_done(void *arg, const struct am_msg_status *status)
{
    struct flood_send *send = arg;

    assert_true(send->busy);
    assert_int_equal(status->status, AM_OK);
    send->busy = false;
    send->flooder->done++;
}

static void flood_more(struct world *world, uint32_t from,
                       struct flooder *flooder, int total, size_t bytes)
{
    const struct am_msg_envelope envelope = {1, from, 2};

    for (int i = 0; i < WINDOW && flooder->sent < total &&
                    flooder->sent - flooder->done < WINDOW;
         i++) {
        struct flood_send *send = &flooder->window[i];
        struct am_data data = am_data_contig(send->bytes, bytes);
        uint64_t value = (uint64_t)flooder->sent;
        struct am_msg_req *req;
        am_status_t status;

        if (send->busy) {
            continue;
        }
        memcpy(send->bytes, &value, sizeof(value));
        send->flooder = flooder;
        send->busy = true;
        flooder->sent++;
        status = am_msg_isend(world->ctx[from], 0, &envelope, &data, 0,
                              flood_done, send, &req);
        assert_true(status >= AM_OK);
        if (status == AM_DONE) {
            send->busy = false;
            flooder->done++;
        }
    }
}

static void flood_receive(struct world *world, struct flooder *flooders,
                          int total, size_t bytes)
{
    const struct am_msg_mask mask = {UINT32_MAX, 0, UINT32_MAX};
    const struct am_msg_envelope envelope = {1, 0, 2};
    uint64_t next[3] = {0, 0, 0};
    static char buffer[FLOOD_BYTES_MAX];

    for (int i = 0; i < 3 * total; i++) {
        struct am_data data = am_data_contig(buffer, bytes);
        struct ended ended;
        uint64_t value;

        world_recv(world, 0, envelope, mask, &data, &ended);
        while (ended.count == 0) {
            world_poll(world);
            for (uint32_t k = 0; k < 3; k++) {
                flood_more(world, k + 1, &flooders[k], total, bytes);
            }
        }
        memcpy(&value, buffer, sizeof(value));
        assert_int_equal(value, next[ended.status.peer - 1]++);
    }
}

/* Three senders, a receiver that polls but receives late: what waits there
 * stays within the cap, and all arrives in order. */
static void flood(const char *unexp_max, uint64_t cap, int total, size_t bytes)
{
    const struct am_option options[] = {{"AM_UNEXP_MAX", unexp_max},
                                        {NULL, NULL}};
    const struct am_option *lists[] = {options, options, options, options};
    static struct flooder flooders[3];
    struct world world;

    memset(flooders, 0, sizeof(flooders));
    world_open(&world, 4, lists);
    for (int i = 0; i < 3000; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            flood_more(&world, k + 1, &flooders[k], total, bytes);
        }
        world_poll(&world);
    }
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_int_equal(world_counter(&world, rank, "msg_rx_bad_credit"), 0);
    }
    assert_true(flooders[0].sent < total); /* held back, not swallowed */
    assert_int_equal(world_counter(&world, 0, "msg_credit_extra"), 0);
    flood_receive(&world, flooders, total, bytes);
    world_settle(&world);
    assert_true(world_counter(&world, 0, "msg_unexpected_bytes_peak") <= cap);
    /* at least 16 messages for each peer, else one for each 256 bytes */
    assert_true(world_counter(&world, 0, "msg_unexpected_messages_peak") <=
                4 * 16 + cap / 256);
    for (uint32_t k = 0; k < 3; k++) {
        assert_int_equal(flooders[k].done, total);
    }
    world_close(&world);
}

static void test_flood(void **state)
{
    flood("64k", 64 * 1024, FLOOD, 8);
    flood("0", 0, 4000, 8);
    flood("100", 100, 4000, 8);
    flood("1m", 1024 * 1024, 6000, 3000);
}

/* A receiver with a smaller cap than its senders corrects them: past the first
 * share that they assume, nothing more is stored. */
static void test_unequal_caps(void **state)
{
    const struct am_option small[] = {{"AM_UNEXP_MAX", "8k"}, {NULL, NULL}};
    const struct am_option large[] = {{"AM_UNEXP_MAX", "64m"}, {NULL, NULL}};
    const struct am_option *lists[] = {small, large, large, large};
    static struct flooder flooders[3];
    struct world world;

    memset(flooders, 0, sizeof(flooders));
    world_open(&world, 4, lists);
    for (int i = 0; i < 200; i++) {
        for (uint32_t k = 0; k < 3; k++) {
            flood_more(&world, k + 1, &flooders[k], 4000, 8);
        }
        world_poll(&world);
    }
    flood_receive(&world, flooders, 4000, 8);
    world_settle(&world);
    assert_true(world_counter(&world, 0, "msg_unexpected_bytes_peak") <=
                8 * 1024 + 3 * 64 * 1024);
    world_close(&world);
}

/* ------------------------------------------------------------- starvation */

enum {
    HIDDEN = 500
};

/* The wanted message is the last of many that are not: all are sent at once,
 * none but the first few have credit.  By a receive, and by a probe. */
static void out_of_order(bool probe)
{
    const struct am_option options[] = {{"AM_UNEXP_MAX", "0"}, {NULL, NULL}};
    const struct am_option *lists[] = {options, options};
    static struct ended sent[HIDDEN];
    static uint32_t value[HIDDEN];
    struct world world;

    world_open(&world, 2, lists);
    for (uint32_t i = 0; i < HIDDEN; i++) {
        struct am_data data = am_data_contig(&value[i], sizeof(value[i]));

        value[i] = i;
        world_send(&world, 1, 0, (struct am_msg_envelope){1, 1, i}, &data, 0,
                   &sent[i]);
    }
    for (uint32_t i = HIDDEN; i-- > 0;) {
        const struct am_msg_envelope envelope = {1, 1, i};
        const struct am_msg_mask mask = MASK_EXACT;
        struct am_msg_status status;
        uint32_t got = UINT32_MAX;
        struct am_data data = am_data_contig(&got, sizeof(got));
        struct ended ended;

        for (int k = 0; probe && am_msg_iprobe(world.ctx[0], &envelope, &mask,
                                               &status) != AM_DONE;
             k++) {
            assert_true(k < 100000);
            world_poll(&world);
        }
        world_recv(&world, 0, envelope, mask, &data, &ended);
        world_wait(&world, &ended);
        assert_int_equal(got, i);
        world_wait(&world, &sent[i]);
    }
    assert_true(world_counter(&world, 0, "msg_credit_extra") > 0);
    assert_int_equal(world_counter(&world, 0, "msg_rx_bad_credit"), 0);
    assert_int_equal(world_counter(&world, 1, "msg_rx_bad_credit"), 0);
    world_settle(&world);
    /* the extra grant is taken in again: a new flood meets the old cap */
    for (uint32_t i = 0; i < HIDDEN; i++) {
        struct am_data data = am_data_contig(&value[i], sizeof(value[i]));

        world_send(&world, 1, 0, (struct am_msg_envelope){1, 1, 0}, &data, 0,
                   &sent[i]);
    }
    world_settle(&world);
    {
        uint64_t before = world_counter(&world, 0, "msg_unexpected_messages");

        for (uint32_t i = 0; i < HIDDEN; i++) {
            uint32_t got = UINT32_MAX;
            struct am_data data = am_data_contig(&got, sizeof(got));
            struct ended ended;

            world_recv(&world, 0, (struct am_msg_envelope){1, 1, 0}, MASK_EXACT,
                       &data, &ended);
            world_wait(&world, &ended);
            assert_int_equal(got, i);
            world_wait(&world, &sent[i]);
        }
        assert_true(before > 0);
    }
    world_close(&world);
}

static void test_out_of_order(void **state)
{
    out_of_order(false);
    out_of_order(true);
}

/* ---------------------------------------------------------------- bad input */

/* What a peer may send by mistake or malice: counted, dropped, and messages
 * still work.  Words are drawn over the handlers of msg. */
static void test_bad_input(void **state)
{
    const struct am_msg_envelope envelope = {1, 0, 3};
    struct world world;
    struct ended sent, received;
    struct shaped source, target;
    uint64_t bad = 0;
    static const char *const names[] = {"msg_rx_bad_id", "msg_rx_bad_length",
                                        "msg_rx_bad_credit",
                                        "msg_rx_bad_region"};

    world_open(&world, 2, NULL);
    for (uint32_t handler = AM_MSG_H_MORE; handler < AM_MSG_H_LAST; handler++) {
        for (uint32_t word_count = 0; word_count <= AM_WORDS_MAX;
             word_count++) {
            uint64_t words[AM_WORDS_MAX];

            if (handler == AM_MSG_H_REGION_ASK || handler == AM_MSG_H_STALL ||
                handler == AM_MSG_H_REGION_WANT ||
                (handler == AM_MSG_H_HELLO && word_count == 1) ||
                (handler == AM_MSG_H_REGION_FREE && word_count == 0)) {
                continue; /* these are legal whatever they say */
            }
            for (uint32_t i = 0; i < AM_WORDS_MAX; i++) {
                words[i] = UINT64_MAX / (i + 1) - word_count;
            }
            while (am_ctx_try_request(world.ctx[0], 1, handler, words,
                                      word_count, NULL, 0) == AM_ERR_AGAIN) {
                world_poll(&world);
            }
            world_poll(&world);
            world_poll(&world);
        }
    }
    world_settle(&world);
    for (int i = 0; i < 4; i++) {
        bad += world_counter(&world, 1, names[i]);
        assert_true(world_counter(&world, 1, names[i]) > 0);
    }
    assert_true(bad >= 100);
    shaped_open(&source, SHAPE_CONTIG, 300000);
    shaped_open(&target, SHAPE_CONTIG, 300000);
    shaped_fill(&source, 8);
    world_recv(&world, 1, envelope, MASK_EXACT, &target.data, &received);
    world_send(&world, 0, 1, envelope, &source.data, 0, &sent);
    world_wait(&world, &received);
    world_wait(&world, &sent);
    shaped_check(&target, 8, 300000);
    shaped_close(&source);
    shaped_close(&target);
    world_close(&world);
}

/* A peer that ignores its credit: what it sends beyond is dropped. */
static void test_overdraft(void **state)
{
    const struct am_option options[] = {{"AM_UNEXP_MAX", "1m"}, {NULL, NULL}};
    const struct am_option *lists[] = {options, options};
    static const char payload[1000];
    struct world world;

    world_open(&world, 2, lists);
    for (uint64_t i = 0; i < 5000; i++) {
        const uint64_t key = UINT64_C(1) << 32;

        while (am_ctx_try_request(world.ctx[0], 1, AM_MSG_H_EAGER, &key, 1,
                                  payload, sizeof(payload)) == AM_ERR_AGAIN) {
            world_poll(&world);
        }
        world_poll(&world);
    }
    world_settle(&world);
    assert_true(world_counter(&world, 1, "msg_rx_bad_credit") > 0);
    assert_in_range(world_counter(&world, 1, "msg_unexpected_bytes_peak"), 1,
                    512 * 1024);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_flood),
            cmocka_unit_test(test_unequal_caps),
            cmocka_unit_test(test_out_of_order),
            cmocka_unit_test(test_bad_input),
            cmocka_unit_test(test_overdraft),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
