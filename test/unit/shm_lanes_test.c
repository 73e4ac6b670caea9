/*
 * Polls look at all lanes that something comes by, and by turns at those that
 * have been quiet: none is forgotten, whoever talks beside it.
 */
#include "support/cm.h"
#include "support/msg_world.h"
#include "support/seed.h"

#include "am/ctx.h"
#include "dev/shm/shm.h"

#include <am.h>
#include <string.h>

enum {
    H_COUNT = AM_HANDLER_USER,
    SORTED = 3 * 4096, /* polls after which the lanes have been sorted twice */
    FAIR = 16          /* polls in which a quiet lane is looked at, here */
};

static struct {
    uint64_t sent[WORLD_MAX], arrived[WORLD_MAX]; /* by rank: numbers of messages */
    bool wrong;
} got;

static void on_count(struct am_token *token, const uint64_t *words,
                     uint32_t count, void *data, size_t bytes)
{
    uint32_t from = am_token_source(token);

    got.wrong |= count != 1 || words[0] != got.arrived[from];
    got.arrived[from]++;
}

static void send_one(struct world *world, uint32_t from)
{
    assert_int_equal(am_ctx_request(world->ctx[from], 0, H_COUNT,
                                    &got.sent[from], 1, NULL, 0),
                     AM_OK);
    got.sent[from]++;
}

static struct shm_dev *receiver(struct world *world)
{
    struct am_dev *dev = NULL;

    for (uint32_t i = 0; i < world->ctx[0]->dev_count; i++) {
        if (world->ctx[0]->devs[i]->ops == &am_shm_ops) {
            dev = world->ctx[0]->devs[i];
        }
    }
    assert_non_null(dev);
    return shm_dev_of(dev);
}

/* Everybody has sent one message to rank 0. */
static struct shm_dev *open_all(struct world *world, uint32_t size)
{
    static const struct am_option small[] = {
            {"AM_SHM_RING", "16k"}, {"AM_SHM_SLOTS", "16"}, {NULL}};
    const struct am_option *options[WORLD_MAX];

    for (uint32_t rank = 0; rank < size; rank++) {
        options[rank] = small;
    }
    memset(&got, 0, sizeof(got));
    world_open(world, size, options);
    world_settle(world);
    am_handler_register(world->ctx[0], H_COUNT, on_count, NULL, "count");
    for (uint32_t from = 1; from < size; from++) {
        send_one(world, from);
    }
    world_settle(world);
    for (uint32_t from = 1; from < size; from++) {
        assert_int_equal(got.arrived[from], 1);
    }
    return receiver(world);
}

/* Ranks 1 to `loud` talk to rank 0, for so long that all others are quiet. */
static void talk(struct world *world, uint32_t loud)
{
    for (int i = 0; i < SORTED; i++) {
        if (i % 64 == 0) {
            for (uint32_t from = 1; from <= loud; from++) {
                send_one(world, from);
            }
        }
        am_ctx_poll(world->ctx[0]);
    }
}

static void test_quiet(void **state)
{
    struct world world;
    struct shm_dev *dev = open_all(&world, WORLD_MAX);

    assert_int_equal(dev->active_count, WORLD_MAX - 1);
    talk(&world, 3);
    assert_int_equal(dev->busy_count, 3);
    assert_int_equal(dev->active_count, WORLD_MAX - 1);
    for (uint32_t from = WORLD_MAX - 1; from > 0; from--) {
        send_one(&world, from);
        for (int i = 0; i < FAIR; i++) { /* whoever talks beside it */
            send_one(&world, 1 + (uint32_t)i % 3);
            am_ctx_poll(world.ctx[0]);
        }
        assert_true(got.arrived[from] > 1);
    }
    assert_false(got.wrong);
    assert_int_equal(dev->busy_count, WORLD_MAX - 1);
    talk(&world, 0);
    assert_int_equal(dev->busy_count, 0);
    world_close(&world);
}

/* Who knows few peers looks at each in each poll. */
static void test_few(void **state)
{
    struct world world;
    struct shm_dev *dev = open_all(&world, 5);

    talk(&world, 0);
    assert_int_equal(dev->busy_count, 4);
    world_close(&world);
}

/* A context that would sleep looks at the quiet lanes, too. */
static void test_sleep(void **state)
{
    struct world world;
    struct shm_dev *dev = open_all(&world, WORLD_MAX);

    talk(&world, 0);
    assert_false(shm_has_packet(dev));
    send_one(&world, 20);
    assert_true(shm_has_packet(dev));
    while (got.arrived[20] == 1) {
        am_ctx_poll_wait(world.ctx[0]);
    }
    assert_int_equal(dev->busy_count, 1);
    world_close(&world);
}

/* Lanes close in both groups, in any order. */
static void test_close(void **state)
{
    struct am_prng prng = test_prng("shm_lanes");
    struct world world;
    struct shm_dev *dev = open_all(&world, WORLD_MAX);
    struct shm_ep *left[WORLD_MAX];

    talk(&world, 12);
    assert_int_equal(dev->busy_count, 12);
    memcpy(left, dev->active, dev->active_count * sizeof(left[0]));
    for (uint32_t count = dev->active_count; count > 0; count--) {
        uint32_t i = (uint32_t)(am_prng_next(&prng) % count);

        shm_lanes_remove(dev, left[i]);
        left[i] = left[count - 1];
        assert_int_equal(dev->active_count, count - 1);
        assert_true(dev->busy_count <= dev->active_count);
        for (uint32_t k = 0; k < count - 1; k++) {
            bool found = false;

            for (uint32_t j = 0; j < dev->active_count; j++) {
                found |= dev->active[j] == left[k];
            }
            assert_true(found);
        }
    }
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_quiet),
            cmocka_unit_test(test_few),
            cmocka_unit_test(test_sleep),
            cmocka_unit_test(test_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
