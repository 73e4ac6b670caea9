/*
 * Cores that are farther from each other than the kernel says: lines that come late show
 * it, and costs are those of cores that share no cache until lines come quickly again.
 */
#include "support/cm.h"
#include "support/msg_world.h"

#include "am/ctx.h"
#include "dev/shm/shm_inl.h"

enum {
    H_NOTHING = AM_HANDLER_USER,
    RING_SLOTS = 256,
    ENOUGH = 40 * RING_SLOTS /* packets in which the sender looks often enough */
};

/* The tests' environment says no. */
static const struct am_option learns[] = {{"AM_DEVICES", "shm"},
                                          {"AM_LEARN", "much"},
                                          {NULL, NULL}};

static void on_nothing(struct am_token *token, const uint64_t *words,
                       uint32_t count, void *data, size_t bytes)
{
}

static struct shm_ep *sender(struct world *world)
{
    return shm_ep_of_local(shm_dev_of(world->ctx[0]->devs[0]), 1);
}

static void open_two(struct world *world, const struct am_option *list)
{
    const struct am_option *options[] = {list, list};

    world_open(world, 2, options);
    world_settle(world);
    am_handler_register(world->ctx[1], H_NOTHING, on_nothing, NULL, "nothing");
}

/* Do ranks share cores?  What the machine says of that may change. */
static bool crowded;

/* Lines come late, or quickly, while so many short packets are sent. */
static void send_packets(struct world *world, bool late, int count)
{
    struct shm_dev *dev = shm_dev_of(world->ctx[0]->devs[0]);
    uint64_t word = 1;

    dev->near_ps = late ? 0 : UINT64_MAX;
    for (int i = 0; i < count; i++) {
        dev->crowded = crowded;
        assert_int_equal(am_ctx_try_request(world->ctx[0], 1, H_NOTHING, &word,
                                            1, NULL, 0),
                         AM_OK);
        world_poll(world);
    }
}

/* What two cores with one cache count as: the kernel may say something else here. */
static am_distance_t beyond(am_distance_t told)
{
    return told == AM_DISTANCE_CACHE ? AM_DISTANCE_NODE : told;
}

static void test_far(void **state)
{
    am_distance_t told;
    struct world world;

    (void)state;
    open_two(&world, learns);
    send_packets(&world, false, ENOUGH);
    told = sender(&world)->ep.meter->distance;
    for (int i = 0; i < 3; i++) {
        send_packets(&world, true, RING_SLOTS); /* once says little */
        send_packets(&world, false, RING_SLOTS);
        assert_int_equal(sender(&world)->ep.meter->distance, told);
        send_packets(&world, true, ENOUGH);
        assert_int_equal(sender(&world)->ep.meter->distance, beyond(told));
        send_packets(&world, false, RING_SLOTS);
        send_packets(&world, true, RING_SLOTS);
        assert_int_equal(sender(&world)->ep.meter->distance, beyond(told));
        send_packets(&world, false, ENOUGH);
        assert_int_equal(sender(&world)->ep.meter->distance, told);
    }
    world_close(&world);
}

/* Where nothing is to be learned, or ranks share cores, nothing is. */
static void test_not_asked(void **state)
{
    static const struct am_option list[] = {
            {"AM_DEVICES", "shm"}, {"AM_LEARN", "no"}, {NULL, NULL}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        am_distance_t told;
        struct world world;

        open_two(&world, i == 0 ? list : learns);
        send_packets(&world, false, ENOUGH);
        told = sender(&world)->ep.meter->distance;
        crowded = i == 1;
        send_packets(&world, true, ENOUGH);
        crowded = false;
        assert_false(sender(&world)->is_far);
        assert_int_equal(sender(&world)->ep.meter->distance, told);
        world_close(&world);
    }
}

/* A ring that is full, of which nothing has been consumed, says nothing. */
static void test_full(void **state)
{
    struct world world;
    uint64_t word = 1;

    (void)state;
    open_two(&world, learns);
    send_packets(&world, false, ENOUGH);
    shm_dev_of(world.ctx[0]->devs[0])->near_ps = 0;
    for (int i = 0; i < ENOUGH; i++) {
        (void)am_ctx_try_request(world.ctx[0], 1, H_NOTHING, &word, 1, NULL, 0);
    }
    assert_false(sender(&world)->is_far);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_far),
            cmocka_unit_test(test_not_asked),
            cmocka_unit_test(test_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
