/*
 * The world of dev_world.h.
 */
#include "conform/dev_world.h"

#include "support/cm.h"
#include "support/dev_open.h"

#include <stdlib.h>
#include <string.h>

/* Polls of a network whose packets the kernel carries later, if it has to. */
#define REAL_STEPS_FACTOR  50
#define SETTLE_QUIET_POLLS 5000 /* no news for so long: nothing is coming */

uint32_t world_steps_max(const struct world *world)
{
    return world->dev_case->real ? REAL_STEPS_FACTOR * WORLD_STEPS_MAX
                                 : WORLD_STEPS_MAX;
}

/* ----------------------------------------------------------------- messages */

/* Of the index, byte by byte: 13 is odd. */
#define PATTERN_PERIOD ((size_t)256)

static uint8_t pattern(uint32_t from, uint32_t class, uint64_t number,
                       size_t index)
{
    return (uint8_t)(number * 29 + index * 13 + class * 101 + from * 7 + 3);
}

static void shape_default(const struct world *world, uint32_t class,
                          uint64_t number, size_t *hdr_bytes,
                          size_t *data_bytes)
{
    *hdr_bytes = 16;
    *data_bytes = 24;
}

struct filler {
    uint32_t from, class;
    uint64_t number;
    size_t hdr_bytes;
    size_t asked_bytes; /* what fill was called with */
    uint32_t calls;
};

static void fill_pattern(void *arg, void *to, size_t bytes)
{
    struct filler *filler = arg;
    uint8_t *at = to;

    filler->calls++;
    filler->asked_bytes = bytes;
    for (size_t i = 0; i < bytes && i < PATTERN_PERIOD; i++) {
        at[i] = pattern(filler->from, filler->class, filler->number,
                        filler->hdr_bytes + i);
    }
    for (size_t i = PATTERN_PERIOD; i < bytes; i += PATTERN_PERIOD) {
        size_t rest = bytes - i;

        memcpy(at + i, at, rest < PATTERN_PERIOD ? rest : PATTERN_PERIOD);
    }
}

/* The first 8 bytes of a header that has them are the number. */
static void fill_hdr(const struct filler *filler, uint64_t *hdr)
{
    uint8_t *at = (uint8_t *)hdr;

    for (size_t i = 0; i < filler->hdr_bytes; i++) {
        at[i] = pattern(filler->from, filler->class, filler->number, i);
    }
    if (filler->hdr_bytes >= sizeof(uint64_t)) {
        memcpy(hdr, &filler->number, sizeof(uint64_t));
    }
}

am_status_t world_send(struct world *world, uint32_t from, uint32_t to,
                       uint32_t class, bool fill)
{
    struct world_link *link = world_link(world, from, to);
    const struct am_dev_ops *ops = world->nodes[from].dev->ops;
    struct filler filler = {from, class, link->sent[class], 0, 0, 0};
    uint64_t hdr[WORLD_HDR_MAX / sizeof(uint64_t)];
    size_t data_bytes;
    uint8_t *data;
    am_status_t status;

    world->shape(world, class, filler.number, &filler.hdr_bytes, &data_bytes);
    fill_hdr(&filler, hdr);
    if (fill) {
        status = ops->send_fill(link->ep, class, hdr, filler.hdr_bytes,
                                fill_pattern, &filler, data_bytes);
        /* Filled once and as asked, and not at all on AGAIN. */
        if (status != AM_OK) {
            assert_int_equal(filler.calls, 0);
        } else if (data_bytes > 0) {
            assert_int_equal(filler.calls, 1);
            assert_int_equal(filler.asked_bytes, data_bytes);
        }
    } else {
        data = malloc(data_bytes + 1);
        assert_non_null(data);
        fill_pattern(&filler, data, data_bytes);
        status = ops->send(link->ep, class, hdr, filler.hdr_bytes, data,
                           data_bytes);
        memset(data, 0xee, data_bytes); /* consumed, or not at all */
        free(data);
    }
    assert_true(status == AM_OK || status == AM_ERR_AGAIN);
    link->sent[class] += status == AM_OK;
    return status;
}

void world_push(struct world *world, uint32_t from, uint32_t to, uint32_t class,
                bool fill)
{
    uint32_t steps = 0;

    while (world_send(world, from, to, class, fill) != AM_OK) {
        assert_true(steps++ < world_steps_max(world));
        world_poll(world);
    }
}

uint64_t world_got(const struct world *world, uint32_t from, uint32_t to,
                   uint32_t class)
{
    return world->nodes[to].links[from].got[class];
}

/* ------------------------------------------------------------------ upcalls */

/* Which message is this?  The next one, or what its header says. */
static uint64_t number_of(const struct world *world, struct world_link *link,
                          uint32_t class, const void *hdr, size_t hdr_bytes)
{
    uint64_t number = link->got[class];

    if (!world->exact) {
        assert_true(hdr_bytes >= sizeof(number));
        memcpy(&number, hdr, sizeof(number));
    }
    return number;
}

static void check_packet(struct world_link *link, uint32_t class,
                         const void *hdr, size_t hdr_bytes, const void *data,
                         size_t data_bytes)
{
    struct world *world = link->node->world;
    struct filler filler = {.from = link->peer, .class = class};
    uint64_t expected[WORLD_HDR_MAX / sizeof(uint64_t)];
    size_t expected_bytes;
    uint8_t *bytes;

    filler.number = number_of(world, link, class, hdr, hdr_bytes);
    assert_true(filler.number <
                world->nodes[link->peer].links[link->node->rank].sent[class]);
    world->shape(world, class, filler.number, &filler.hdr_bytes,
                 &expected_bytes);
    assert_int_equal(hdr_bytes, filler.hdr_bytes);
    assert_int_equal(data_bytes, expected_bytes);
    assert_int_equal((uintptr_t)hdr % 8, 0);
    fill_hdr(&filler, expected);
    assert_memory_equal(hdr, expected, hdr_bytes);
    if (data_bytes > 0) {
        bytes = malloc(data_bytes);
        assert_non_null(bytes);
        fill_pattern(&filler, bytes, data_bytes);
        assert_memory_equal(data, bytes, data_bytes);
        free(bytes);
    }
}

/* A reply of the largest size, from inside the upcall. */
static void reply_largest(struct world_link *link)
{
    struct node *node = link->node;
    am_status_t status = world_send(node->world, node->rank, link->peer,
                                    AM_DEV_REPLY, false);

    node->replied++;
    node->reply_refused += status != AM_OK;
}

static void up_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct world_link *link = user;

    assert_true(class < AM_DEV_CLASS_COUNT);
    assert_true(class == AM_DEV_REPLY || link->node->ready);
    check_packet(link, class, hdr, hdr_bytes, data, data_bytes);
    link->got[class]++;
    if (class == AM_DEV_REQUEST && link->node->replies) {
        reply_largest(link);
    }
}

static bool up_ready(void *user)
{
    return ((struct world_link *)user)->node->ready;
}

static void *up_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct node *node = arg;

    assert_true(rank < node->world->count);
    assert_null(node->links[rank].ep);
    if (!node->accepts) {
        node->refused++;
        return NULL;
    }
    node->links[rank].ep = ep;
    return &node->links[rank];
}

static void up_dead(void *user, const char *why)
{
    ((struct world_link *)user)->node->dead++;
}

/* -------------------------------------------------------------- open, close */

static uint32_t option_count(const struct world_case *dev_case)
{
    uint32_t count = 0;

    while (count < WORLD_OPTIONS_MAX && dev_case->options[count].name != NULL) {
        count++;
    }
    return count;
}

static void node_open(struct world *world, struct node *node, uint64_t nonce)
{
    const struct world_case *dev_case = world->dev_case;
    bool is_pipe = dev_case->ops == &pipe_dev_ops;
    struct am_dev_params params = {
            .env = is_pipe     ? &world->net.env
                   : world_env ? world_env()
                               : am_env_real(),
            .log = &world->log,
            .rank = node->rank,
            .size = world->count,
            .nonce = nonce + node->rank,
            .up = {node, up_packet, up_ready, up_accept, up_dead},
            .stats = node->stats,
            .error = world->error,
            .error_bytes = sizeof(world->error),
    };
    am_status_t status;

    status = dev_open_options(dev_case->ops, &params, dev_case->options,
                              option_count(dev_case), &node->dev);
    if (status != AM_OK) {
        fail_msg("%s: %s: %s", dev_case->name, am_status_text(status),
                 world->error);
    }
}

static void world_connect_all(struct world *world)
{
    uint8_t blobs[WORLD_NODES_MAX][AM_ADDRESS_BYTES];
    const void *parts[WORLD_NODES_MAX];
    size_t part_bytes[WORLD_NODES_MAX];
    uint32_t steps = 0, connected = 0;

    for (uint32_t i = 0; i < world->count; i++) {
        struct am_dev *dev = world->nodes[i].dev;

        part_bytes[i] = dev->ops->address(dev, blobs[i], sizeof(blobs[i]));
        assert_in_range(part_bytes[i], 1, sizeof(blobs[i]));
        parts[i] = blobs[i];
    }
    for (uint32_t i = 0; i < world->count; i++) {
        struct am_dev *dev = world->nodes[i].dev;

        assert_int_equal(
                dev->ops->connect_all(dev, parts, part_bytes, world->count),
                AM_OK);
    }
    while (connected < world->count) {
        assert_true(steps++ < world_steps_max(world));
        world_poll(world);
        for (connected = 0; connected < world->count; connected++) {
            struct am_dev *dev = world->nodes[connected].dev;

            if (!dev->ops->connected(dev)) {
                break;
            }
        }
    }
}

struct world *world_open_quiet(const struct world_case *dev_case,
                               uint32_t count)
{
    struct world *world = calloc(1, sizeof(*world));
    uint64_t nonce = am_env_random(am_env_real());
    const struct am_dev_attr *attr;

    assert_non_null(world);
    world->dev_case = dev_case;
    world->count = dev_case->alone ? 1 : count;
    world->shape = shape_default;
    pipe_net_init(&world->net, dev_case->pipe_caps);
    for (uint32_t i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];

        node->world = world;
        node->rank = i;
        node->ready = node->accepts = true;
        for (uint32_t peer = 0; peer < WORLD_NODES_MAX; peer++) {
            node->links[peer].node = node;
            node->links[peer].peer = peer;
        }
        node_open(world, node, nonce);
    }
    attr = &world->nodes[0].dev->attr;
    world->exact = (attr->caps & AM_DEV_CAP_RELIABLE) != 0 &&
                   (attr->caps & AM_DEV_CAP_ORDERED) != 0;
    world->hdr_max = attr->hdr_bytes_max < WORLD_HDR_MAX ? attr->hdr_bytes_max
                                                         : WORLD_HDR_MAX;
    world->hdr_max &= ~(size_t)7; /* headers are whole words */
    world->packet_max = attr->packet_bytes_max;
    world->reply_max = attr->reply_bytes_max;
    world_connect_all(world);
    return world;
}

struct world *world_open(const struct world_case *dev_case, uint32_t count)
{
    struct world *world = world_open_quiet(dev_case, count);

    for (uint32_t from = 0; from < world->count; from++) {
        for (uint32_t to = 0; to < world->count; to++) {
            uint32_t steps = 0;

            if (from == to && !dev_case->alone) {
                continue;
            }
            do { /* more than one when the device loses */
                world_push(world, from, to, AM_DEV_REQUEST, false);
                world_poll(world);
                assert_true(steps++ < world_steps_max(world) / 400);
            } while (!world->exact &&
                     world_got(world, from, to, AM_DEV_REQUEST) == 0);
        }
    }
    world_settle(world);
    return world;
}

void node_close(struct node *node)
{
    if (node->dev != NULL) {
        node->dev->ops->close(node->dev);
        node->dev = NULL;
    }
}

void world_close(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        node_close(&world->nodes[i]);
    }
    free(world);
}

struct world_link *world_link(struct world *world, uint32_t from, uint32_t to)
{
    struct world_link *link = &world->nodes[from].links[to];
    struct am_dev *dev = world->nodes[from].dev;
    struct am_dev *peer = world->nodes[to].dev;
    uint8_t blob[AM_ADDRESS_BYTES];
    size_t bytes;

    if (link->ep == NULL) {
        bytes = peer->ops->address(peer, blob, sizeof(blob));
        assert_int_equal(
                dev->ops->connect(dev, blob, bytes, to, link, &link->ep),
                AM_OK);
        assert_ptr_equal(link->ep->dev, dev);
    }
    return link;
}

/* ----------------------------------------------------------------- progress */

int world_poll(struct world *world)
{
    int count = 0;

    for (uint32_t i = 0; i < world->count; i++) {
        struct am_dev *dev = world->nodes[i].dev;

        if (dev != NULL) {
            int polled = dev->ops->poll(dev, 64);

            assert_true(polled >= 0);
            count += polled;
        }
    }
    if (count == 0 && world->dev_case->real) {
        am_env_relax(am_env_real(), 0);
    }
    return count;
}

void world_poll_for(struct world *world, uint32_t least, uint32_t from,
                    uint32_t to, uint32_t class, uint64_t count)
{
    for (uint32_t i = 0;
         i < least || (i < world_steps_max(world) &&
                       world_got(world, from, to, class) < count);
         i++) {
        world_poll(world);
    }
}

static bool world_all_got(const struct world *world)
{
    for (uint32_t from = 0; from < world->count; from++) {
        for (uint32_t to = 0; to < world->count; to++) {
            const uint64_t *sent = world->nodes[from].links[to].sent;
            const uint64_t *got = world->nodes[to].links[from].got;

            if (sent[0] != got[0] || sent[1] != got[1]) {
                return false;
            }
        }
    }
    return true;
}

static bool world_all_drained(const struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        struct am_dev *dev = world->nodes[i].dev;

        if (!dev->ops->drained(dev)) {
            return false;
        }
    }
    return true;
}

void world_settle(struct world *world)
{
    uint32_t steps = 0, quiet = 0;

    while (world->exact ? !world_all_got(world) || !world_all_drained(world)
                        : quiet < SETTLE_QUIET_POLLS) {
        assert_true(steps++ < world_steps_max(world));
        quiet = world_poll(world) > 0 ? 0 : quiet + 1;
    }
}
