/*
 * Opens a driver and exchanges addresses as a context does.
 */
#include "support/sim_dev.h"

#include "support/cm.h"

#include "dev/snic/snic.h"

struct am_dev *sim_dev_open(struct ns_sim_node *view,
                            struct am_dev_params params, void *const *users,
                            struct am_dev_ep **eps)
{
    uint8_t mine[32], all[sizeof(mine) * SIM_DEV_NODES_MAX];
    const void *parts[SIM_DEV_NODES_MAX];
    size_t bytes[SIM_DEV_NODES_MAX];
    struct am_dev *dev;

    assert_true(view->size <= SIM_DEV_NODES_MAX);
    params.env = view->env;
    params.rank = view->rank;
    params.size = view->size;
    assert_int_equal(am_dev_snic_ops.open(&params, &dev), AM_OK);
    bytes[0] = dev->ops->address(dev, mine, sizeof(mine));
    assert_int_equal(ns_sim_allgather(view, mine, all, sizeof(mine)), 0);
    for (uint32_t i = 0; i < view->size; i++) {
        parts[i] = all + i * sizeof(mine);
        bytes[i] = bytes[0];
    }
    dev->ops->connect_all(dev, parts, bytes, view->size);
    for (uint32_t i = 0; i < view->size; i++) {
        if (i != view->rank) {
            assert_int_equal(dev->ops->connect(dev, parts[i], bytes[i], i,
                                               users[i], &eps[i]),
                             AM_OK);
        }
    }
    return dev;
}

static void *accept_peer(void *arg, struct am_dev_ep *ep, uint32_t rank)
{
    struct sim_peer *peers = arg;

    assert_true(rank < SIM_DEV_NODES_MAX);
    peers[rank].ep = ep;
    return &peers[rank];
}

struct am_dev *sim_dev_open_peers(struct ns_sim_node *view,
                                  struct am_dev_params params, void *node,
                                  struct sim_peer *peers)
{
    struct am_dev_ep *eps[SIM_DEV_NODES_MAX] = {NULL};
    void *users[SIM_DEV_NODES_MAX];
    struct am_dev *dev;

    params.up.arg = peers;
    params.up.accept = accept_peer;
    for (uint32_t i = 0; i < view->size; i++) {
        peers[i].node = node;
        users[i] = &peers[i];
    }
    dev = sim_dev_open(view, params, users, eps);
    for (uint32_t i = 0; i < view->size; i++) {
        peers[i].ep = eps[i];
    }
    ns_sim_barrier(view);
    return dev;
}

void sim_dev_poll(struct am_dev *dev)
{
    if (dev->ops->poll(dev, 64) == 0) {
        dev->ops->wait(dev, 1, AM_DEV_REST_LONG);
    }
}

static void poll_arg(void *arg)
{
    sim_dev_poll(arg);
}

void sim_dev_meet(struct ns_sim_node *view, struct am_dev *dev)
{
    ns_sim_meet(view, poll_arg, dev);
}

void sim_dev_close(struct ns_sim_node *view, struct am_dev *dev)
{
    sim_dev_meet(view, dev);
    ns_sim_barrier(view);
    dev->ops->close(dev);
}
