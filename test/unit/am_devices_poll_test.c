/*
 * Two devices in one context: how often each is polled, with or without peers, and
 * which of them waits.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/two_devs.h"

#include "am/ctx.h"

enum {
    POLL_PS = 100000,    /* 100 ns */
    UNUSED_POLLS = 1000, /* in 100 us: between two of a device not in use */
    SOUND = AM_DEV_CAP_RELIABLE | AM_DEV_CAP_ORDERED
};

static uint64_t polls_of_pipe(struct am_ctx *ctx, uint32_t polls)
{
    uint64_t before = two_net.polls;

    for (uint32_t i = 0; i < polls; i++) {
        two_net.now_ps += POLL_PS;
        (void)am_ctx_poll(ctx);
    }
    return two_net.polls - before;
}

/* A device that reaches nobody is looked at rarely, by the clock; one that does each
 * time. */
static void test_unused_device(void **state)
{
    enum {
        POLLS = 256 * 64
    };

    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&world, 2, NULL);
    two_each_to_each(&world, &calls);
    assert_int_equal(calls, 4);
    /* the clock is read every 256 polls */
    assert_in_range(polls_of_pipe(world.ctx[0], POLLS),
                    POLLS / (UNUSED_POLLS + 256), POLLS / UNUSED_POLLS + 1);
    world_close(&world);
    world_open(&world, 3, NULL);
    two_each_to_each(&world, &calls);
    assert_int_equal(polls_of_pipe(world.ctx[0], POLLS), POLLS);
    world_close(&world);
}

/* A stranger comes by a device that was not used until then. */
static void test_stranger_by_unused(void **state)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world job, other;
    uint32_t calls = 0, peer;

    two_devs_init(TWO_NEAR, SOUND);
    world_open(&job, 2, NULL);
    world_open(&other, 3, NULL); /* rank 2 is on another node */
    world_settle(&job);
    world_settle(&other);
    am_handler_register(job.ctx[0], TWO_USER, two_count, &calls, "user");
    assert_int_equal(job.ctx[0]->used_count, 1);
    am_address(job.ctx[0], blob);
    assert_int_equal(am_connect(other.ctx[2], blob, &peer), AM_OK);
    assert_int_equal(
            am_ctx_try_request(other.ctx[2], peer, TWO_USER, NULL, 0, NULL, 0),
            AM_ERR_AGAIN); /* after the introduction */
    (void)am_ctx_poll(other.ctx[2]);
    assert_int_equal(
            am_ctx_try_request(other.ctx[2], peer, TWO_USER, NULL, 0, NULL, 0),
            AM_OK);
    for (int i = 0; i < 1000 && calls == 0; i++) {
        two_net.now_ps += POLL_PS;
        (void)am_ctx_poll(job.ctx[0]);
    }
    assert_int_equal(calls, 1);
    assert_int_equal(job.ctx[0]->used_count, 2);
    world_close(&job);
    world_close(&other);
}

/* A stranger of the own host comes to a rank that has no peer there, and so looks
 * at shared memory rarely: within some thousand polls it is let in. */
static void test_stranger_by_unused_memory(void **state)
{
    unsigned char blob[AM_ADDRESS_BYTES];
    struct world job, other;
    uint32_t calls = 0, peer;

    two_devs_init(TWO_FAR, SOUND);
    world_open(&job, 2, NULL);
    world_open(&other, 2, NULL);
    world_settle(&job);
    world_settle(&other);
    am_handler_register(job.ctx[0], TWO_USER, two_count, &calls, "user");
    am_address(job.ctx[0], blob);
    assert_int_equal(am_connect(other.ctx[0], blob, &peer), AM_OK);
    assert_int_equal(other.ctx[0]->peers[peer]->dev->bottom->number,
                     AM_DEV_NUMBER_SHM);
    assert_int_equal(
            am_ctx_request(other.ctx[0], peer, TWO_USER, NULL, 0, NULL, 0),
            AM_OK);
    for (int i = 0; i < 64 * 256 && calls == 0; i++) {
        two_net.now_ps += POLL_PS;
        (void)am_ctx_poll(other.ctx[0]);
        (void)am_ctx_poll(job.ctx[0]);
    }
    assert_int_equal(calls, 1);
    world_close(&job);
    world_close(&other);
}

/* Empty polls of a device that says that they cost much get rare, down to what
 * it allows; when something came each poll of the context polls it again. */
static void test_rest(void **state)
{
    enum {
        REST = 31,
        POLLS = 100 * (REST + 1)
    };

    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_NEAR, SOUND);
    two_net.poll_rest_max = REST;
    world_open(&world, 3, NULL);
    two_each_to_each(&world, &calls);
    (void)polls_of_pipe(world.ctx[0], 100 * POLLS);
    assert_in_range(polls_of_pipe(world.ctx[0], POLLS), 99, 101);
    assert_int_equal(
            am_ctx_try_request(world.ctx[2], 0, TWO_USER, NULL, 0, NULL, 0),
            AM_OK);
    calls = 0;
    for (int i = 0; i <= REST; i++) {
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_int_equal(calls, 1);
    calls = 0;
    assert_int_equal(
            am_ctx_try_request(world.ctx[2], 0, TWO_USER, NULL, 0, NULL, 0),
            AM_OK);
    while (calls == 0) {
        (void)am_ctx_poll(world.ctx[0]);
    }
    assert_int_equal(polls_of_pipe(world.ctx[0], 10), 10);
    world_close(&world);
}

static bool wait_long(struct am_dev *dev, uint64_t idle, am_dev_rest_t rest)
{
    (void)dev, (void)idle, (void)rest;
    two_net.now_ps += UINT64_C(3000000000); /* others have the core */
    return false;
}

/* After a wait that took long every device is polled, however rare its polls have
 * become: a packet would wait for dozens of such waits. */
static void test_rest_of_a_wait(void **state)
{
    enum {
        WAITS = 100
    };

    const struct am_dev_ops *old[3];
    struct am_dev_ops ops[3];
    uint32_t calls = 0, used;
    struct world world;
    uint64_t polls;

    two_devs_init(TWO_FAR, SOUND);
    two_net.poll_rest_max = 31;
    world_open(&world, 3, NULL);
    two_each_to_each(&world, &calls);
    (void)polls_of_pipe(world.ctx[1], 100 * 32 * 32);
    used = world.ctx[1]->used_count;
    assert_in_range(used, 2, 3); /* both, and the loop-back */
    for (uint32_t i = 0; i < used; i++) {
        old[i] = world.ctx[1]->used[i].dev->ops;
        ops[i] = *old[i];
        ops[i].wait = wait_long;
        world.ctx[1]->used[i].dev->ops = &ops[i];
    }
    for (int i = 0; i < 10; i++) { /* the first are not asked */
        (void)am_ctx_poll_wait(world.ctx[1]);
    }
    polls = two_net.polls;
    for (int i = 0; i < WAITS; i++) {
        (void)am_ctx_poll_wait(world.ctx[1]);
    }
    assert_in_range(two_net.polls - polls, WAITS, 2 * WAITS);
    for (uint32_t i = 0; i < used; i++) {
        world.ctx[1]->used[i].dev->ops = old[i];
    }
    world_close(&world);
}

/* Who waits with two devices does so as AM_WAIT says, by shared memory, in
 * whatever order the devices came to be used. */
static void test_who_waits(void **state)
{
    const struct am_option list[] = {{"AM_WAIT", "sleep"}, {NULL, NULL}};
    const struct am_option *options[] = {list, list, list};
    uint32_t calls = 0;
    struct world world;

    two_devs_init(TWO_FAR, SOUND);
    world_open(&world, 3, options);
    two_each_to_each(&world, &calls);
    assert_int_equal(world.ctx[1]->used[0].dev->bottom->number,
                     AM_DEV_NUMBER_TEST);
    assert_int_equal(world.ctx[1]->used[1].dev->bottom->number,
                     AM_DEV_NUMBER_SHM);
    for (int i = 0; i < 10; i++) {
        (void)am_ctx_poll_wait(world.ctx[1]);
    }
    assert_int_not_equal(world_counter(&world, 1, "shm_sleep"), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_unused_device),
            cmocka_unit_test(test_stranger_by_unused),
            cmocka_unit_test(test_stranger_by_unused_memory),
            cmocka_unit_test(test_rest),
            cmocka_unit_test(test_rest_of_a_wait),
            cmocka_unit_test(test_who_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
