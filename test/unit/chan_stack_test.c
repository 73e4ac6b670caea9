/*
 * The channel over a device: when there is one, what its variables do, and
 * reliability end to end over the fault device at drop, duplicate, reorder and
 * corrupt of 0 to 20%, each and mixed.
 */
#include "chan/window.h"
#include "conform/dev_world.h"
#include "support/cm.h"
#include "support/dev_open.h"
#include "support/seed.h"

#include <string.h>

#define SOUND (AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED)

/* --------------------------------------------------------------- when, what */

static const char *stack_name(uint32_t caps, const char *reliability,
                              const char *fault)
{
    const struct world_case stack = {
            .ops = &pipe_dev_ops,
            .pipe_caps = caps,
            .options = {{"AM_RELIABILITY", reliability}, {"AM_FAULT", fault}}};
    struct world *world = world_open_quiet(&stack, 2);
    const char *name = world->nodes[0].dev->ops->name;

    world_close(world);
    return name;
}

static void test_stack(void **state)
{
    assert_string_equal(stack_name(SOUND, "auto", ""), "pipe");
    assert_string_equal(stack_name(0, "auto", ""), "chan");
    assert_string_equal(stack_name(AM_DEV_CAP_RELIABLE, "auto", ""), "chan");
    assert_string_equal(stack_name(AM_DEV_CAP_ORDERED, "auto", ""), "chan");
    assert_string_equal(stack_name(0, "none", ""), "pipe");
    assert_string_equal(stack_name(SOUND, "nack", ""), "chan");
    assert_string_equal(stack_name(SOUND, "timer", ""), "chan");
    assert_string_equal(stack_name(SOUND, "auto", "drop=1/10"), "chan");
    assert_string_equal(stack_name(SOUND, "none", "drop=1/10"), "fault");
    assert_string_equal(stack_name(SOUND, "auto", "seed=4"), "pipe");
}

static void test_bad_value(void **state)
{
    static const struct am_option bad[][1] = {
            {{"AM_FAULT", "drop=2/1"}},
            {{"AM_RELIABILITY", "perhaps"}},
            {{"AM_CHAN_CHUNK", "-1"}},
    };
    struct pipe_net net;
    struct am_log log = {0};
    char error[300];

    pipe_net_init(&net, 0);
    for (size_t i = 0; i < 3; i++) {
        struct am_dev_params params = {.env = &net.env,
                                       .log = &log,
                                       .error = error,
                                       .error_bytes = sizeof(error)};
        struct am_dev *dev = NULL;

        error[0] = '\0';
        assert_int_equal(
                dev_open_options(&pipe_dev_ops, &params, bad[i], 1, &dev),
                AM_ERR_CONFIG);
        assert_null(dev);
        assert_non_null(strstr(error, bad[i][0].name));
        assert_non_null(strstr(error, bad[i][0].value));
    }
    assert_null(net.nodes[0]); /* nothing was left open */
}

/* A few messages each way over any stack. */
static void exchange(const struct world_case *stack, int messages)
{
    struct world *world = world_open(stack, 2);

    for (int i = 0; i < messages; i++) {
        for (uint32_t class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
            world_push(world, 0, 1, class, i % 2 == 0);
            world_push(world, 1, 0, class, i % 2 == 1);
        }
    }
    world_settle(world);
    world_close(world);
}

/* Each variable at 0, 1 and the largest number; the ends need not agree. */
static void test_any_value(void **state)
{
    static const char *const names[] = {
            "AM_CHAN_REQUEST_WINDOW", "AM_CHAN_REPLY_WINDOW",
            "AM_CHAN_CHUNK",          "AM_CHAN_CHUNKS",
            "AM_CHAN_PACKET_BYTES",   "AM_CHAN_ACK_FRACTION",
            "AM_CHAN_KEEPALIVE",      "AM_CHAN_RTO",
            "AM_CHAN_RTO_MAX",        "AM_CHAN_ACK_DELAY",
            "AM_CHAN_GIVE_UP"};
    static const char *const values[] = {"0", "1", "7", "max"};
    static const char *const reliabilities[] = {"nack", "timer"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        for (size_t k = 0; k < 8; k++) {
            const struct world_case stack = {
                    .ops = &pipe_dev_ops,
                    .options = {{"AM_CHAN_LINGER", "0"},
                                {"AM_RELIABILITY", reliabilities[k / 4]},
                                {names[i], values[k % 4]}}};

            exchange(&stack, 20);
        }
    }
}

/* ---------------------------------------------------------------- end to end */

static void shape_large(const struct world *world, uint32_t class,
                        uint64_t number, size_t *hdr_bytes, size_t *data_bytes)
{
    *hdr_bytes = 16;
    *data_bytes = number % 5 == 4 ? number * 97 % (world->packet_max - 15)
                                  : number % 30;
}

static void run(const char *reliability, const char *fault)
{
    const struct world_case stack = {
            .ops = &pipe_dev_ops,
            .options = {{"AM_RELIABILITY", reliability},
                        {"AM_FAULT", fault},
                        {"AM_CHAN_LINGER", "0"},
                        {"AM_CHAN_KEEPALIVE", "30"},
                        {"AM_CHAN_RTO", "6"},
                        {"AM_CHAN_RTO_MAX", "40"},
                        {"AM_CHAN_ACK_DELAY", "1"}}};
    struct world *world = world_open(&stack, 2);

    world->shape = shape_large;
    for (int i = 0; i < 60; i++) {
        for (uint32_t class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
            world_push(world, 0, 1, class, false);
            world_push(world, 1, 0, class, false);
        }
    }
    world_settle(world); /* every byte was compared, once, in order */
    world_close(world);
}

static void run_grid(const char *reliability, uint64_t seed)
{
    static const char *const kinds[] = {"drop", "dup", "reorder", "corrupt"};
    struct am_prng prng;
    char fault[200];

    for (int kind = 0; kind < 4; kind++) {
        for (int percent = 0; percent <= 20; percent += 5) {
            snprintf(fault, sizeof(fault), "%s=%d/100,seed=%u", kinds[kind],
                     percent, (unsigned)seed++);
            run(reliability, fault);
        }
    }
    am_prng_seed(&prng, seed);
    for (int i = 0; i < 8; i++) {
        snprintf(fault, sizeof(fault),
                 "drop=%d/100,dup=%d/100,reorder=%d/100,corrupt=%d/100,"
                 "delay=%d/100:9,stall=%d/100:5,seed=%u",
                 (int)am_prng_below(&prng, 21), (int)am_prng_below(&prng, 21),
                 (int)am_prng_below(&prng, 21), (int)am_prng_below(&prng, 21),
                 (int)am_prng_below(&prng, 21), (int)am_prng_below(&prng, 21),
                 (unsigned)am_prng_below(&prng, 1u << 31));
        run(reliability, fault);
    }
}

static void test_nack(void **state)
{
    struct am_prng prng = test_prng("nack");

    run_grid("nack", am_prng_next(&prng) >> 33);
}

static void test_timer(void **state)
{
    struct am_prng prng = test_prng("timer");

    run_grid("timer", am_prng_next(&prng) >> 33);
}

/* Damage is found by the checksum, and shows in the counters. */
static void test_counters(void **state)
{
    const struct world_case stack = {
            .ops = &pipe_dev_ops,
            .options = {{"AM_FAULT", "corrupt=1/5,drop=1/10,seed=3"},
                        {"AM_CHAN_LINGER", "0"},
                        {"AM_CHAN_KEEPALIVE", "30"}}};
    struct world *world = world_open(&stack, 2);
    const uint64_t *stats;
    uint32_t count = 0;
    char text[1000];

    for (int i = 0; i < 500; i++) {
        world_push(world, 0, 1, AM_DEV_REQUEST, false);
    }
    world_settle(world);
    stats = am_chan_stats(world->nodes[1].dev, &count);
    assert_non_null(stats);
    assert_int_equal(count, AM_CHAN_STAT_COUNT);
    assert_true(stats[AM_CHAN_STAT_RX_BAD_CRC] > 50);
    assert_true(stats[AM_CHAN_STAT_TX_NACK] > 20);
    assert_int_equal(stats[AM_CHAN_STAT_RX_BAD], 0);
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(am_chan_stat_rows[i].name);
        assert_non_null(am_chan_stat_rows[i].help);
    }
    world->nodes[0].dev->ops->describe(world->nodes[0].dev, text, sizeof(text));
    assert_non_null(strstr(text, "chan_tx_retransmitted"));
    assert_non_null(strstr(text, "corrupt"));
    world_close(world);
}

/* --------------------------------------------------------------------- leaving */

/* The last message and the news of leaving arrive whatever is lost: the first
 * to close waits for it, and the other need not wait for ever. */
static void test_leave(void **state)
{
    for (unsigned seed = 1; seed < 40; seed++) {
        char fault[100];
        const struct world_case stack = {
                .ops = &pipe_dev_ops,
                .options = {{"AM_FAULT", fault},
                            {"AM_CHAN_LINGER", "0"},
                            {"AM_CHAN_KEEPALIVE", "10"}}};
        struct world *world;
        struct world_link *link;
        struct am_dev *dev;
        uint32_t steps = 0;

        snprintf(fault, sizeof(fault), "drop=1/5,dup=1/10,reorder=1/10,seed=%u",
                 seed);
        world = world_open(&stack, 2);
        dev = world->nodes[1].dev;
        link = world_link(world, 0, 1);
        for (int i = 0; i < 5; i++) {
            world_push(world, 0, 1, AM_DEV_REQUEST, false);
            world_push(world, 1, 0, AM_DEV_REQUEST, false);
        }
        world->nodes[0].dev->ops->disconnect(link->ep);
        link->ep = NULL;
        world->exact = false; /* node 0 hears nothing any more */
        while (world_got(world, 0, 1, AM_DEV_REQUEST) <
                       link->sent[AM_DEV_REQUEST] ||
               !dev->ops->drained(dev)) {
            assert_true(steps++ < 20000);
            world_poll(world);
        }
        world_close(world);
    }
}

/* ---------------------------------------------------------------- dead peers */

#define PS_PER_MS UINT64_C(1000000000)

/* Poll node 0, and node 1 in one step of `every` (0: never), for so long in
 * virtual time or until the peer is said to be dead; the time that took. */
static uint64_t poll_for(struct world *world, uint64_t ms, uint32_t every)
{
    uint64_t start_ps = world->net.now_ps;
    struct am_dev *dev = world->nodes[0].dev;

    for (uint32_t i = 1; world->net.now_ps - start_ps < ms * PS_PER_MS &&
                         world->nodes[0].dead == 0;
         i++) {
        dev->ops->poll(dev, 64);
        if (i % 50 == 0) {
            dev->ops->check(dev);
        }
        if (every != 0 && i % every == 0) {
            world->nodes[1].dev->ops->poll(world->nodes[1].dev, 64);
        }
    }
    return (world->net.now_ps - start_ps) / PS_PER_MS;
}

static struct world *open_give_up(const char *reliability, const char *fault,
                                  const char *seconds, uint64_t start_ps)
{
    static struct world_case stack;
    struct world *world;

    stack = (struct world_case){.ops = &pipe_dev_ops,
                                .options = {{"AM_RELIABILITY", reliability},
                                            {"AM_FAULT", fault},
                                            {"AM_CHAN_LINGER", "0"},
                                            {"AM_CHAN_GIVE_UP", seconds}}};
    world = world_open_quiet(&stack, 2);
    world->net.poll_ps = PS_PER_MS;
    world->net.now_ps += start_ps;
    return world;
}

/* A peer that nothing reaches is dead after the time, once, and then refuses
 * what is sent; with 0 it never is; one that answers seldom never is.  So it
 * is while the clock goes round, too. */
static void test_give_up(void **state)
{
    static const char *const reliabilities[] = {"nack", "timer", "nack",
                                                "timer"};

    for (int i = 0; i < 4; i++) {
        uint64_t start_ps = i < 2 ? 0 : UINT64_MAX - 2000 * PS_PER_MS;
        struct world *world =
                open_give_up(reliabilities[i], "drop=1/1", "3", start_ps);
        struct am_dev_ep *ep;
        uint64_t took_ms, word = 0;

        world_push(world, 0, 1, AM_DEV_REQUEST, false);
        took_ms = poll_for(world, 60000, 3);
        assert_int_equal(world->nodes[0].dead, 1);
        assert_in_range(took_ms, 3000, 3200);
        ep = world_link(world, 0, 1)->ep;
        assert_int_equal(
                ep->dev->ops->send(ep, AM_DEV_REQUEST, &word, 8, NULL, 0),
                AM_ERR_PEER);
        poll_for(world, 9000, 3);
        assert_int_equal(world->nodes[0].dead, 1);
        world_close(world);

        world = open_give_up(reliabilities[i], "drop=1/1", "0", start_ps);
        world_push(world, 0, 1, AM_DEV_REQUEST, false);
        assert_in_range(poll_for(world, 60000, 3), 60000, 60001);
        assert_int_equal(world->nodes[0].dead, 0);
        world_close(world);

        world = open_give_up(reliabilities[i], "", "3", start_ps);
        for (int k = 0; k < 30; k++) {
            world_push(world, 0, 1, AM_DEV_REQUEST, false);
            poll_for(world, 3000, 1400);
        }
        assert_int_equal(world->nodes[0].dead, 0);
        world_close(world);
    }
}

/* ------------------------------------------------------------------ slow polls */

/* Where others have the core, and a yield lasts as long as their turn, what was
 * sent is acknowledged all the same before the program that flushes gets
 * impatient: MPI_Finalize took half a minute. */
static void test_slow_polls(void **state)
{
    static const char *const reliabilities[] = {"nack", "timer"};

    for (int i = 0; i < 2; i++) {
        struct world *world = open_give_up(reliabilities[i], "", "0", 0);
        struct am_dev *dev = world->nodes[0].dev;
        uint64_t start_ps = world->net.now_ps;

        world->net.poll_ps = 3 * PS_PER_MS;
        world_push(world, 0, 1, AM_DEV_REQUEST, false);
        do {
            world_poll(world);
        } while (world_got(world, 0, 1, AM_DEV_REQUEST) == 0 ||
                 !dev->ops->drained(dev));
        assert_true(world->net.now_ps - start_ps < 100 * PS_PER_MS);
        world_close(world);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_stack),     cmocka_unit_test(test_bad_value),
            cmocka_unit_test(test_any_value), cmocka_unit_test(test_nack),
            cmocka_unit_test(test_timer),     cmocka_unit_test(test_counters),
            cmocka_unit_test(test_leave),     cmocka_unit_test(test_give_up),
            cmocka_unit_test(test_slow_polls),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
