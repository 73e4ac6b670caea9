/*
 * The device conformance suite: what dev.h promises, unchanged for every
 * device and every stack of devices.  What a device does not claim to have
 * (its capability bits) is not asked of it.
 */
#include "config.h"

#include "conform/dev_conform.h"
#include "support/cm.h"
#include "support/seed.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------- what it says */

static void test_attr(void **state)
{
    struct world *world = world_open_quiet(*state, 2);
    const struct am_dev_attr *attr = world_attr(world);
    const struct am_dev_ops *ops = world->nodes[0].dev->ops;

    assert_non_null(ops->name);
    assert_true(attr->packet_bytes_max >= 200);
    assert_true(attr->reply_bytes_max >= 200);
    assert_true(attr->reply_bytes_max <= attr->packet_bytes_max);
    assert_in_range(attr->hdr_bytes_max, 8 + 8 * AM_WORDS_MAX, WORLD_HDR_MAX);
    assert_true(attr->depth >= 1);
    /* A bit that is clear: its op is the default one, or says no. */
    if ((attr->caps & AM_DEV_CAP_MAPPED) == 0 && ops->alloc != NULL) {
        struct am_dev_key key;

        assert_null(ops->alloc(world->nodes[0].dev, 64, &key));
    }
    world_close(world);
}

static void test_address(void **state)
{
    struct world *world = world_open_quiet(*state, 2);
    struct am_dev *dev = world->nodes[0].dev;
    struct am_dev *peer = world->nodes[world_other(world)].dev;
    uint8_t blob[AM_ADDRESS_BYTES];
    size_t bytes = peer->ops->address(peer, blob, sizeof(blob));

    assert_in_range(bytes, 1, AM_ADDRESS_BYTES - 8);
    assert_true(dev->ops->reachable(dev, blob, bytes));
    assert_false(dev->ops->reachable(dev, blob, bytes - 1));
    assert_false(dev->ops->reachable(dev, blob, bytes + 1));
    memset(blob, 0xa5, sizeof(blob));
    assert_false(dev->ops->reachable(dev, blob, bytes));
    world_close(world);
}

/* ------------------------------------------------------------- what it sends */

static void shape_mixed(const struct world *world, uint32_t class,
                        uint64_t number, size_t *hdr_bytes, size_t *data_bytes)
{
    size_t max = class == AM_DEV_REPLY ? world->reply_max : world->packet_max;
    uint64_t mix = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);

    *hdr_bytes = 8 + ((mix >> 40) % (world->hdr_max - 8) & ~(size_t)7);
    max -= *hdr_bytes;
    *data_bytes = (mix >> 20) % (number % 4 == 0 || max < 40 ? max + 1 : 40);
}

/* Both classes, both ways, mixed lengths: once each, in order, byte by byte. */
static void test_order(void **state)
{
    struct world *world = world_open(*state, 2);
    uint32_t last = world_other(world);

    world->shape = shape_mixed;
    for (int i = 0; i < 400; i++) {
        for (uint32_t class = 0; class < AM_DEV_CLASS_COUNT; class ++) {
            world_push(world, 0, last, class, i % 3 == 0);
            world_push(world, last, 0, class, i % 3 == 1);
        }
    }
    world_settle(world);
    assert_true(world_got(world, 0, last, AM_DEV_REQUEST) > 0);
    assert_true(world_got(world, 0, last, AM_DEV_REPLY) > 0);
    world_close(world);
}

/* Every length of header (whole words), and data at the edges of 8, of a cache line, of a
 * packet. */
static void shape_sweep(const struct world *world, uint32_t class,
                        uint64_t number, size_t *hdr_bytes, size_t *data_bytes)
{
    size_t max = class == AM_DEV_REPLY ? world->reply_max : world->packet_max;
    size_t min = world->exact ? 0 : 8;
    uint64_t index = number - (class == AM_DEV_REQUEST); /* after the first */

    if (number == 0 && class == AM_DEV_REQUEST) { /* world_open's own */
        *hdr_bytes = 16;
        *data_bytes = 24;
        return;
    }
    *hdr_bytes = (min + index % (world->hdr_max - min + 1)) & ~(size_t)7;
    if (index < 260) {
        *data_bytes = index;
    } else {
        *data_bytes = max - *hdr_bytes - (index - 260) % 20;
    }
    if (*data_bytes > max - *hdr_bytes) {
        *data_bytes = max - *hdr_bytes;
    }
}

static void sizes(const struct world_case *dev_case, bool fill)
{
    struct world *world = world_open(dev_case, 2);
    uint32_t last = world_other(world);

    if (world->exact) {
        world->shape = shape_sweep;
        for (int i = 0; i < 300; i++) {
            world_push(world, 0, last, AM_DEV_REQUEST, fill);
            world_push(world, 0, last, AM_DEV_REPLY, fill);
        }
        world_settle(world);
    }
    world_close(world);
}

static void test_sizes(void **state)
{
    sizes(*state, false);
}

static void test_fill(void **state)
{
    sizes(*state, true);
}

static void shape_largest(const struct world *world, uint32_t class,
                          uint64_t number, size_t *hdr_bytes,
                          size_t *data_bytes)
{
    size_t max = class == AM_DEV_REPLY ? world->reply_max : world->packet_max;

    *hdr_bytes = world->hdr_max;
    *data_bytes = max - world->hdr_max;
    if (number == 0 && class == AM_DEV_REQUEST) {
        *hdr_bytes = 16;
        *data_bytes = 24;
    }
}

/* Send until there is no more space; how many went. */
static uint32_t send_to_limit(struct world *world, uint32_t to, uint32_t class,
                              bool fill)
{
    uint32_t count = 0;

    while (world_send(world, 0, to, class, fill) == AM_OK) {
        assert_true(count++ < 100000 || !world->exact);
        if (count == 2000 && !world->exact) {
            break; /* who loses packets may take them for ever */
        }
    }
    return count;
}

/* AGAIN is told in time, harms nothing, and space comes back. */
static void again(const struct world_case *dev_case, uint32_t class, bool fill,
                  bool largest)
{
    struct world *world = world_open(dev_case, 2);
    uint32_t to = world_other(world);

    if (largest && world->exact) {
        world->shape = shape_largest;
    }
    for (int round = 0; round < 5; round++) {
        uint32_t count = send_to_limit(world, to, class, fill);

        assert_true(count > 0 || !world->exact);
        for (int i = 0; i < 10 && world->exact; i++) { /* still no harm */
            assert_int_equal(world_send(world, 0, to, class, !fill),
                             AM_ERR_AGAIN);
        }
        world_settle(world);
    }
    world_close(world);
}

static void test_again(void **state)
{
    again(*state, AM_DEV_REQUEST, false, false);
    again(*state, AM_DEV_REQUEST, true, true);
    again(*state, AM_DEV_REPLY, true, false);
    again(*state, AM_DEV_REPLY, false, true);
}

/* ------------------------------------------------------------ what holds back */

/* Requests fill their space and wait; replies have space of their own. */
static void test_classes(void **state)
{
    struct world *world = world_open(*state, 2);
    uint32_t last = world_other(world);
    uint64_t before = world_got(world, 0, last, AM_DEV_REQUEST);
    uint64_t sent;

    world->nodes[last].ready = false;
    for (int i = 0; i < 200; i++) {
        if (world_send(world, 0, last, AM_DEV_REQUEST, false) != AM_OK) {
            world_poll(world);
        }
    }
    send_to_limit(world, last, AM_DEV_REQUEST, false);
    for (int i = 0; i < 20; i++) {
        world_push(world, 0, last, AM_DEV_REPLY, i % 2 == 0);
    }
    sent = world->nodes[0].links[last].sent[AM_DEV_REPLY];
    world_poll_for(world, 5000, 0, last, AM_DEV_REPLY,
                   world->exact ? sent : 0);
    assert_int_equal(world_got(world, 0, last, AM_DEV_REQUEST), before);
    if (world->exact) {
        assert_int_equal(world_got(world, 0, last, AM_DEV_REPLY), sent);
    }
    world->nodes[last].ready = true;
    if ((world_attr(world)->caps & AM_DEV_CAP_DROPS) != 0) {
        world_push(world, 0, last, AM_DEV_REQUEST, false); /* the others went */
    }
    world_settle(world);
    assert_true(world_got(world, 0, last, AM_DEV_REQUEST) > before);
    world_close(world);
}

/* A request comes only when there is room for the largest reply to it. */
static void test_reply_room(void **state)
{
    struct world *world = world_open(*state, 2);
    uint32_t last = world_other(world);
    struct node *node = &world->nodes[last];

    world->shape = world->exact ? shape_largest : world->shape;
    node->replies = true;
    for (int i = 0; i < 100; i++) {
        uint32_t steps = 0;

        while (world_send(world, 0, last, AM_DEV_REQUEST, false) != AM_OK) {
            /* Only the replier is polled, until it must stop. */
            for (int k = 0; k < 20; k++) {
                node->dev->ops->poll(node->dev, 64);
            }
            world_poll(world);
            assert_true(steps++ < world_steps_max(world));
        }
    }
    world_settle(world);
    assert_true(node->replied >= (world->exact ? 100 : 1));
    assert_int_equal(node->reply_refused, 0);
    world_close(world);
}

/* reply_ready tells the truth about the next reply. */
static void test_reply_ready(void **state)
{
    struct world *world = world_open(*state, 2);
    uint32_t last = world_other(world);
    struct world_link *link = world_link(world, 0, last);
    const struct am_dev_ops *ops = world->nodes[0].dev->ops;
    uint32_t count = 0;

    world->shape = world->exact ? shape_largest : world->shape;
    for (uint32_t steps = 0; count < 100; steps++) {
        assert_true(steps < world_steps_max(world));
        if (ops->reply_ready(link->ep)) {
            assert_int_equal(
                    world_send(world, 0, last, AM_DEV_REPLY, count % 2 == 0),
                    AM_OK);
            count++;
        } else {
            world_poll(world);
        }
    }
    world_settle(world);
    world_close(world);
}

/* -------------------------------------------------------- coming and leaving */

/* Close with packets on their way, in both orders. */
static void test_close(void **state)
{
    for (uint32_t first = 0; first < 2; first++) {
        struct world *world = world_open(*state, 2);
        uint32_t last = world_other(world);

        for (int i = 0; i < 20; i++) {
            world_send(world, 0, last, AM_DEV_REQUEST, false);
            world_send(world, last, 0, AM_DEV_REPLY, false);
        }
        node_close(&world->nodes[first == 0 ? 0 : last]);
        for (int i = 0; i < 100; i++) {
            world_poll(world);
        }
        world_close(world);
    }
}

static void test_open_close(void **state)
{
    for (int i = 0; i < 5; i++) {
        world_close(world_open_quiet(*state, 3));
    }
}

/* A peer without an endpoint here is announced, and may be refused. */
static void test_refused(void **state)
{
    struct world *world = world_open_quiet(*state, 3);

    if (world->count == 3) {
        world->nodes[1].accepts = false;
        for (int i = 0; i < 30; i++) {
            world_send(world, 0, 1, AM_DEV_REQUEST, false);
            world_push(world, 0, 2, AM_DEV_REQUEST, false);
            world_poll(world);
        }
        world_poll_for(world, 2000, 0, 2, AM_DEV_REQUEST, 1);
        for (uint32_t i = 0;
             i < world_steps_max(world) && world->nodes[1].refused == 0; i++) {
            world_poll(world); /* a network may have to connect first */
        }
        assert_true(world->nodes[1].refused > 0);
        assert_int_equal(world_got(world, 0, 1, AM_DEV_REQUEST), 0);
        assert_true(world_got(world, 0, 2, AM_DEV_REQUEST) > 0);
    }
    world_close(world);
}

/* After a disconnect there are no upcalls for the endpoint. */
static void test_disconnect(void **state)
{
    struct world *world = world_open(*state, 3);
    struct world_link *link = &world->nodes[1].links[0];
    struct am_dev *dev = world->nodes[world->count - 1].dev;

    if (world->count == 3) {
        for (int i = 0; i < 10; i++) {
            world_push(world, 0, 2, AM_DEV_REQUEST, false);
            world_send(world, 0, 1, AM_DEV_REQUEST, false);
        }
        world->nodes[1].accepts = false;
        world->nodes[1].dev->ops->disconnect(link->ep);
        link->ep = NULL;
        link->got[AM_DEV_REQUEST] = UINT64_MAX; /* an upcall would fail */
        world_poll_for(world, 2000, 0, 2, AM_DEV_REQUEST, 6);
        assert_true(link->got[AM_DEV_REQUEST] == UINT64_MAX);
        assert_true(world_got(world, 0, 2, AM_DEV_REQUEST) > 5);
    }
    dev->ops->check(dev);
    world_close(world);
}

/* Everybody to everybody, as fast as it goes. */
static void test_many(void **state)
{
    struct world *world = world_open_quiet(*state, WORLD_NODES_MAX);

    world->shape = shape_mixed;
    for (int i = 0; i < 40; i++) {
        for (uint32_t from = 0; from < world->count; from++) {
            for (uint32_t to = 0; to < world->count; to++) {
                if (from != to || world->count == 1) {
                    world_push(world, from, to, (uint32_t)i % 2, i % 3 == 0);
                }
            }
        }
    }
    world_settle(world);
    world_close(world);
}

/* What was sent is known to have arrived, in the end. */
static void test_drained(void **state)
{
    struct world *world = world_open(*state, 2);
    struct am_dev *dev = world->nodes[0].dev;
    uint32_t steps = 0;

    for (int i = 0; i < 30; i++) {
        world_push(world, 0, world_other(world), (uint32_t)i % 2, false);
    }
    while (!dev->ops->drained(dev)) {
        assert_true(steps++ < world_steps_max(world));
        world_poll(world);
    }
    if (world->exact && strncmp(dev->ops->name, "chan", 4) == 0) {
        assert_int_equal(world_got(world, 0, world_other(world), AM_DEV_REPLY),
                         15);
    }
    world_settle(world);
    world_close(world);
}

static void test_describe(void **state)
{
    struct world *world = world_open(*state, 2);
    struct am_dev *dev = world->nodes[0].dev;
    char text[1024], small[8];
    size_t length = dev->ops->describe(dev, text, sizeof(text));

    assert_in_range(length, 0, sizeof(text) - 1);
    assert_int_equal(strlen(text), length);
    memset(small, 'x', sizeof(small));
    dev->ops->describe(dev, small, 4);
    assert_int_equal(small[4], 'x');
    dev->ops->wait(dev, 0, AM_DEV_REST_BRIEF);
    world_close(world);
}

/* ---------------------------------------------------------------------- main */

#define TEST(_name)   \
    {                 \
#_name, _name \
    }

static const struct {
    const char *name;
    CMUnitTestFunction run;
} tests[] = {
        TEST(test_attr),    TEST(test_address),    TEST(test_order),
        TEST(test_sizes),   TEST(test_fill),       TEST(test_again),
        TEST(test_classes), TEST(test_reply_room), TEST(test_reply_ready),
        TEST(test_put_get), TEST(test_regions),    TEST(test_fetch_add),
        TEST(test_mapped),  TEST(test_close),      TEST(test_open_close),
        TEST(test_refused), TEST(test_disconnect), TEST(test_many),
        TEST(test_drained), TEST(test_describe),
};

#define TEST_COUNT (sizeof(tests) / sizeof(tests[0]))

/* All tests on all cases, or on those named on the command line. */
static bool wanted(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc == 1;
}

int main(int argc, char **argv)
{
    int failed = 0;

    for (size_t i = 0; i < conform_case_count; i++) {
        const struct world_case *at = &conform_cases[i];
        struct CMUnitTest group[TEST_COUNT];
        char names[TEST_COUNT][64];

        if (!wanted(argc, argv, at->name)) {
            continue;
        }
        for (size_t k = 0; k < TEST_COUNT; k++) {
            snprintf(names[k], sizeof(names[k]), "%s/%s", at->name,
                     tests[k].name);
            group[k] = (struct CMUnitTest){
                    .name = names[k],
                    .test_func = tests[k].run,
                    .initial_state = (void *)(uintptr_t)at};
        }
        failed += _cmocka_run_group_tests(at->name, group, TEST_COUNT, NULL,
                                          NULL);
    }
    return failed;
}
