/*
 * Cancelled sends: one that nobody receives is dropped, with its memory, space
 * and credit, by every protocol; one that is received ends as usual.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "msg/msg_core.h"
#include "msg/msg_wire.h"

#include <stdlib.h>
#include <string.h>

static const char *const protos[] = {"eager", "buffered", "prefix", "get",
                                     "put"};
static const size_t sizes[] = {0, 8, 1000, 20000, 300000};

enum {
    PROTOS = sizeof(protos) / sizeof(protos[0]),
    SIZES = sizeof(sizes) / sizeof(sizes[0]),
    TURNS = 30
};

static const struct am_msg_envelope envelope = {1, 0, 3};

/* A small ring, so that long messages are streams which wait for space. */
static void forced_open(struct world *world, const char *proto,
                        const char *unexp_max)
{
    const struct am_option options[] = {{"AM_PROTO", proto},
                                        {"AM_BUFFER_BYTES", "1m"},
                                        {"AM_UNEXP_MAX", unexp_max},
                                        {"AM_SHM_RING", "64k"},
                                        {NULL, NULL}};
    const struct am_option *lists[] = {options, options};

    world_open(world, 2, lists);
}

/* Nothing is left of what was cancelled, and nobody saw anything bad. */
static void all_clean(struct world *world)
{
    static const char *const names[] = {
            "msg_rx_bad_id", "msg_rx_bad_length", "msg_rx_bad_credit",
            "msg_rx_bad_region", "msg_unexpected_bytes"};

    world_settle(world);
    for (int i = 0; i < 5; i++) {
        if (world_counter(world, 1, names[i]) != 0 ||
            world_counter(world, 0, names[i]) != 0) {
            fail_msg("%s is not 0", names[i]);
        }
    }
}

static void receive(struct world *world, const struct am_data *data,
                    struct ended *ended)
{
    world_recv(world, 1, envelope, MASK_EXACT, data, ended);
    world_wait(world, ended);
    assert_int_equal(ended->status.status, AM_OK);
}

/* Send, cancel, send another that takes its place. */
static void one(struct world *world, size_t bytes, unsigned flags, bool late)
{
    struct shaped first, second, target;
    struct ended sent, again, received;
    am_status_t status;

    shaped_open(&first, SHAPE_CONTIG, bytes);
    shaped_open(&second, SHAPE_CONTIG, bytes);
    shaped_open(&target, SHAPE_CONTIG, bytes);
    shaped_fill(&first, 1);
    shaped_fill(&second, 2);
    world_send(world, 0, 1, envelope, &first.data, flags, &sent);
    if (late) {
        world_settle(world);
    }
    status = sent.count != 0 ? AM_ERR_AGAIN : am_msg_cancel(sent.req);
    if (status == AM_OK) {
        assert_int_equal(am_msg_cancel(sent.req), AM_OK); /* and once more */
        world_wait(world, &sent);
        assert_int_equal(sent.status.status, AM_ERR_CANCELLED);
        assert_int_equal(sent.count, 1);
    } else if (status == AM_ERR_AGAIN) {
        assert_int_equal(flags, 0);
        receive(world, &target.data, &received);
        world_wait(world, &sent);
        assert_int_equal(sent.status.status, AM_OK);
        shaped_check(&target, 1, bytes);
    }
    world_send(world, 0, 1, envelope, &second.data, 0, &again);
    receive(world, &target.data, &received);
    world_wait(world, &again);
    shaped_check(&target, 2, bytes);
    shaped_close(&first);
    shaped_close(&second);
    shaped_close(&target);
}

static void test_each(void **state)
{
    for (int proto = 0; proto < PROTOS; proto++) {
        struct world world;

        forced_open(&world, protos[proto], "1m");
        for (int i = 0; i < SIZES * TURNS; i++) {
            one(&world, sizes[i % SIZES], AM_MSG_SYNC, i % 2 == 0);
            one(&world, sizes[i % SIZES], 0, i % 3 == 0);
        }
        all_clean(&world);
        world_close(&world);
    }
}

/* One that its receiver has matched completes, whatever is asked later. */
static void test_matched(void **state)
{
    for (int proto = 0; proto < PROTOS; proto++) {
        struct world world;

        forced_open(&world, protos[proto], "1m");
        for (int i = 0; i < SIZES; i++) {
            struct shaped source, target;
            struct ended sent, received;

            shaped_open(&source, SHAPE_CONTIG, sizes[i]);
            shaped_open(&target, SHAPE_CONTIG, sizes[i]);
            shaped_fill(&source, 5);
            world_recv(&world, 1, envelope, MASK_EXACT, &target.data,
                       &received);
            world_send(&world, 0, 1, envelope, &source.data, AM_MSG_SYNC,
                       &sent);
            if (sent.count == 0) {
                am_msg_cancel(sent.req);
            }
            world_wait(&world, &sent);
            world_wait(&world, &received);
            assert_int_equal(sent.status.status, AM_OK);
            shaped_check(&target, 5, sizes[i]);
            shaped_close(&source);
            shaped_close(&target);
        }
        all_clean(&world);
        world_close(&world);
    }
}

/* A send that nobody cancelled is not: neither by its receiver's word, nor by
 * that of a third rank to the receiver. */
static void test_forged(void **state)
{
    const uint32_t handlers[] = {AM_MSG_H_END, AM_MSG_H_CANCEL,
                                 AM_MSG_H_CANCEL};
    const uint32_t from[] = {1, 2, 2}, to[] = {0, 1, 1};
    const struct am_msg_envelope third = {1, 2, 3}; /* which may come first */
    char byte = 7, back = 0;
    struct am_data data = am_data_contig(&byte, 1);
    struct am_data landing = am_data_contig(&back, 1);
    struct ended sent, other, received;
    struct world world;

    (void)state;
    world_open(&world, 3, NULL);
    world_send(&world, 0, 1, envelope, &data, AM_MSG_SYNC, &sent);
    world_send(&world, 2, 1, third, &data, 0, &other); /* opens the way */
    world_settle(&world);
    for (int i = 0; i < 3; i++) {
        struct am_peer *peer = world.ctx[from[i]]->peers[to[i]];
        uint64_t words[2] = {i == 2 ? 0 : sent.req->id,
                             (uint64_t)(int64_t)AM_ERR_CANCELLED};

        assert_int_equal(peer->send(peer->ep, AM_DEV_REPLY,
                                    am_hdr_bits(handlers[i], 0, i == 0 ? 2 : 1),
                                    words, NULL, 0),
                         AM_OK);
        world_settle(&world);
    }
    assert_int_equal(sent.count, 0);
    assert_int_equal(world_counter(&world, 0, "msg_rx_bad_id"), 1);
    receive(&world, &landing, &received);
    world_wait(&world, &sent);
    assert_int_equal(sent.status.status, AM_OK);
    assert_int_equal(back, 7);
    world_close(&world);
}

/* ------------------------------------------------------------------- random */

enum {
    SENDS = 800,
    OPEN = 200,
    BURST = 100, /* sends between which there are few polls */
    BYTES = 60000
};

struct send {
    struct ended ended;
    bool cancelled, received;
    uint32_t *words; /* the first is its number */
};

struct storm {
    struct world world;
    struct am_prng prng;
    struct send sends[SENDS];
    int sent;
    struct ended receives[SENDS];
    uint32_t *landings[SENDS];
    int posted;
};

static uint32_t draw(struct storm *storm, uint32_t below)
{
    return (uint32_t)am_prng_below(&storm->prng, below);
}

static void storm_send(struct storm *storm)
{
    static const size_t lengths[] = {4, 4, 400, 9000, BYTES};
    struct send *send = &storm->sends[storm->sent];
    struct am_data data;

    send->words = calloc(1, BYTES);
    send->words[0] = (uint32_t)storm->sent++;
    data = am_data_contig(send->words, lengths[draw(storm, 5)]);
    world_send(&storm->world, 0, 1, envelope, &data,
               draw(storm, 3) == 0 ? 0 : AM_MSG_SYNC, &send->ended);
}

static void storm_receive(struct storm *storm)
{
    uint32_t *landing = calloc(1, BYTES);
    struct am_data data = am_data_contig(landing, BYTES);

    storm->landings[storm->posted] = landing;
    world_recv(&storm->world, 1, envelope, MASK_EXACT, &data,
               &storm->receives[storm->posted++]);
}

static void storm_cancel(struct storm *storm)
{
    struct send *send = &storm->sends[draw(storm, (uint32_t)storm->sent)];

    if (send->ended.count == 0 && !send->cancelled &&
        am_msg_cancel(send->ended.req) == AM_DONE) {
        send->cancelled = true;
    }
}

/* What was not cancelled was received, each once and in the order sent. */
static void storm_check(struct storm *storm)
{
    uint32_t last = 0;
    int missing = 0;

    for (int i = 0; i < storm->posted; i++) {
        if (storm->receives[i].count != 0) {
            uint32_t number = storm->landings[i][0];

            assert_true(i == 0 || number > last);
            storm->sends[number].received = true;
            last = number;
        }
    }
    for (int i = 0; i < storm->sent; i++) {
        struct send *send = &storm->sends[i];

        if (send->ended.count != 0 &&
            send->ended.status.status == AM_ERR_CANCELLED) {
            send->cancelled = true;
        }
        missing += send->cancelled == send->received;
        assert_int_equal(send->ended.count == 0,
                         send->cancelled &&
                                 send->ended.status.status != AM_ERR_CANCELLED);
    }
    assert_int_equal(missing, 0);
}

static void storm_end(struct storm *storm)
{
    for (int i = 0; i < storm->sent; i++) {
        free(storm->sends[i].words);
    }
    for (int i = 0; i < storm->posted; i++) {
        free(storm->landings[i]);
    }
    free(storm);
}

/* How many sends have neither ended nor been cancelled here. */
static int storm_open(const struct storm *storm)
{
    int open = 0;

    for (int i = 0; i < storm->sent; i++) {
        open += storm->sends[i].ended.count == 0 && !storm->sends[i].cancelled;
    }
    return open;
}

/* Much memory for unexpected messages: streams, which wait for space. Little:
 * sends are held. */
static void storm_run(const char *proto, const char *unexp_max,
                      struct am_prng *prng)
{
    struct storm *storm = calloc(1, sizeof(*storm));

    storm->prng = *prng;
    forced_open(&storm->world, proto, unexp_max);
    while (storm->sent < SENDS) {
        uint32_t kind = draw(storm, 10);

        if (kind < 4 && storm_open(storm) < OPEN) {
            storm_send(storm);
        } else if (kind < 6 && storm->posted < storm->sent) {
            storm_receive(storm);
        } else if (kind < 8 && storm->sent > 0) {
            storm_cancel(storm);
        } else if (storm->sent / BURST % 2 == 0 || draw(storm, 100) == 0) {
            world_poll(&storm->world);
        }
    }
    while (storm->posted < SENDS) {
        storm_receive(storm);
        world_poll(&storm->world);
    }
    for (int i = 0; i < 10000 && storm_open(storm) != 0; i++) {
        world_settle(&storm->world);
    }
    storm_check(storm);
    for (int i = 0; i < storm->posted; i++) {
        if (storm->receives[i].count == 0) {
            assert_int_equal(am_msg_cancel(storm->receives[i].req), AM_DONE);
        }
    }
    all_clean(&storm->world);
    *prng = storm->prng;
    world_close(&storm->world);
    storm_end(storm);
}

static void test_storm(void **state)
{
    struct am_prng prng = test_prng("msg_cancel");

    for (int i = 0; i < PROTOS; i++) {
        storm_run(protos[i], "8k", &prng);
        storm_run(protos[i], "8m", &prng);
    }
    storm_run("auto", "64k", &prng);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_each),
            cmocka_unit_test(test_matched),
            cmocka_unit_test(test_forged),
            cmocka_unit_test(test_storm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
