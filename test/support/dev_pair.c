/*
 * Two devices, their upcalls, and a first message.
 */
#include "support/dev_pair.h"

#include "support/cm.h"
#include "support/dev_open.h"

#include <am.h>
#include <stdio.h>
#include <string.h>

static void up_packet(void *user, uint32_t class, const void *hdr,
                      size_t hdr_bytes, void *data, size_t data_bytes)
{
    assert_int_equal(hdr_bytes, 16);
    assert_int_equal(data_bytes, 0);
    ((struct dev_node *)user)->got++;
}

static void *up_accept(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct dev_node *node = arg;

    assert_int_equal(rank, 1 - node->rank);
    node->ep = ep;
    return node;
}

static void up_dead(void *user, const char *why)
{
    struct dev_node *node = user;

    node->dead++;
    snprintf(node->why, sizeof(node->why), "%s", why);
}

void dev_pair_poll(struct dev_node nodes[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        nodes[i].dev->ops->poll(nodes[i].dev, 64);
    }
    am_env_relax(am_env_real(), 0);
}

void dev_pair_send(struct dev_node nodes[2])
{
    uint64_t hdr[2] = {0};
    uint32_t got = nodes[1].got;

    assert_int_equal(nodes[0].dev->ops->send(nodes[0].ep, AM_DEV_REQUEST, hdr,
                                             sizeof(hdr), NULL, 0),
                     AM_OK);
    for (int i = 0; nodes[1].got == got; i++) {
        assert_true(i < DEV_PAIR_POLLS_MAX);
        dev_pair_poll(nodes);
    }
    assert_int_equal(nodes[1].got, got + 1);
}

void dev_pair_meet(struct dev_node nodes[2], const struct am_dev_ops *ops,
                   struct am_env *env, const struct am_option *options,
                   uint32_t option_count)
{
    uint8_t addresses[2][AM_ADDRESS_BYTES];
    const void *parts[2] = {addresses[0], addresses[1]};
    size_t bytes[2];
    uint64_t nonce = am_env_random(am_env_real());

    memset(nodes, 0, 2 * sizeof(nodes[0]));
    for (uint32_t i = 0; i < 2; i++) {
        struct dev_node *node = &nodes[i];
        struct am_dev_params params = {
                .env = env,
                .log = &node->log,
                .rank = i,
                .size = 2,
                .nonce = nonce + i,
                .up = {node, up_packet, NULL, up_accept, up_dead},
                .stats = node->stats,
                .wait = AM_WAIT_SLEEP,
                .error = node->error,
                .error_bytes = sizeof(node->error)};

        node->rank = i;
        if (dev_open_options(ops, &params, options, option_count, &node->dev) !=
            AM_OK) {
            fail_msg("%s", node->error);
        }
        bytes[i] = node->dev->ops->address(node->dev, addresses[i],
                                           sizeof(addresses[i]));
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(
                nodes[i].dev->ops->connect_all(nodes[i].dev, parts, bytes, 2),
                AM_OK);
    }
    assert_int_equal(nodes[0].dev->ops->connect(nodes[0].dev, parts[1],
                                                bytes[1], 1, &nodes[0],
                                                &nodes[0].ep),
                     AM_OK);
}

void dev_pair_open(struct dev_node nodes[2], const struct am_dev_ops *ops,
                   struct am_env *env, const struct am_option *options,
                   uint32_t option_count)
{
    dev_pair_meet(nodes, ops, env, options, option_count);
    dev_pair_send(nodes);
}

void dev_pair_close(struct dev_node nodes[2])
{
    for (uint32_t i = 0; i < 2; i++) {
        nodes[i].dev->ops->close(nodes[i].dev);
    }
}
