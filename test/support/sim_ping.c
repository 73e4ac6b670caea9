/*
 * The runs of sim_ping.h.
 */
#include "support/sim_ping.h"

#include "support/cm.h"
#include "support/sim_dev.h"

#include "nicsim_port.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 16

enum {
    PING = 1,
    PONG,
    FLOOD
};

struct node {
    struct scene *scene;
    struct ns_sim_node *view;
    struct am_dev *dev;
    struct sim_peer peers[NODES_MAX]; /* their floods come in order */
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint32_t pongs, floods;
    bool ready;
};

static void send_word(struct sim_peer *peer, uint32_t class, uint64_t kind,
                      uint64_t value, uint32_t data_bytes)
{
    const uint64_t hdr = kind << 48 | value;
    static const uint8_t data[4096];
    struct am_dev *dev = ((struct node *)peer->node)->dev;

    while (dev->ops->send(peer->ep, class, &hdr, sizeof(hdr), data,
                          data_bytes) == AM_ERR_AGAIN) {
    }
}

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct sim_peer *peer = user;
    struct node *node = peer->node;
    uint64_t word;

    (void)data;
    (void)data_bytes;
    assert_int_equal(hdr_bytes, sizeof(word));
    memcpy(&word, hdr, sizeof(word));
    switch (word >> 48) {
    case PING:
        assert_int_equal(class, AM_DEV_REQUEST);
        send_word(peer, AM_DEV_REPLY, PONG, 0, 0);
        node->pongs++;
        break;
    case PONG:
        assert_int_equal(class, AM_DEV_REPLY);
        node->pongs++;
        break;
    default:
        assert_int_equal(word >> 48, FLOOD);
        assert_true(node->ready);
        assert_true((word & 0xffffffff) >= peer->next);
        peer->next = (word & 0xffffffff) + 1;
        node->floods++;
        break;
    }
}

static bool ready(void *user)
{
    const struct sim_peer *peer = user;

    return ((const struct node *)peer->node)->ready;
}

static void node_open(struct node *node, struct scene *scene,
                      struct ns_sim_node *view)
{
    const struct am_dev_params params = {
            .up = {.packet = packet, .ready = ready},
            .stats = node->stats,
            .error = node->error,
            .error_bytes = sizeof(node->error),
    };

    assert_true(view->size <= NODES_MAX);
    *node = (struct node){.scene = scene, .view = view, .ready = true};
    node->dev = sim_dev_open_peers(view, params, node, node->peers);
}

static void poll_until(struct node *node, const uint32_t *count,
                       uint32_t wanted)
{
    while (*count < wanted) {
        if (node->dev->ops->poll(node->dev, 64) == 0) {
            node->dev->ops->wait(node->dev, 1, AM_DEV_REST_LONG);
        }
    }
}

static void ping_pong(struct node *node)
{
    struct scene *scene = node->scene;
    struct ns_engine *engine = ns_sim_engine(node->view->sim);
    uint64_t from_ps = am_env_now(node->view->env);

    for (uint32_t i = 0; i < scene->pings; i++) {
        if (node->view->rank == 0) {
            if (i + 1 == scene->pings) { /* after a quiet time */
                ns_sim_work(node->view, 400 * UINT64_C(1000000));
                node->dev->ops->poll(node->dev, 1); /* virtual time follows */
                ns_marks_arm(engine);
                ns_mark(engine, NS_STAGE_CALL, am_env_now(node->view->env));
            }
            send_word(&node->peers[1], AM_DEV_REQUEST, PING, i, 0);
        }
        poll_until(node, &node->pongs, i + 1);
    }
    if (node->view->rank == 0 && scene->pings > 0) {
        scene->half_round_trip_ps =
                (am_env_now(node->view->env) - from_ps) / (2 * scene->pings);
    }
}

/* Polls a number of times; with a pause that lets everything arrive first. */
static void flood_receive(struct node *node)
{
    struct scene *scene = node->scene;
    uint32_t all = scene->flood * (node->view->size - 1);

    if (scene->slow) {
        ns_sim_work(node->view, 8000 * UINT64_C(1000000));
        for (int i = 0; i < 2000; i++) {
            node->dev->ops->poll(node->dev, 64);
        }
    } else if (scene->not_ready) {
        node->ready = false;
        for (int i = 0; i < 100; i++) {
            node->dev->ops->poll(node->dev, 64);
        }
        node->ready = true;
        poll_until(node, &node->floods, all);
    } else {
        poll_until(node, &node->floods, all);
    }
    scene->flood_received = node->floods;
}

static void body(void *arg, struct ns_sim_node *view)
{
    struct scene *scene = arg;
    struct node node;

    node_open(&node, scene, view);
    if (view->rank < 2) {
        ping_pong(&node);
    }
    if (scene->flood > 0 && view->rank == 0) {
        flood_receive(&node);
    }
    for (uint32_t i = 0; i < scene->flood && view->rank > 0; i++) {
        send_word(&node.peers[0], AM_DEV_REQUEST, FLOOD, i, scene->flood_bytes);
    }
    if (view->rank > 0) {
        node.dev->ops->poll(node.dev, 1);
    }
    ns_sim_barrier(view);
    node.dev->ops->close(node.dev);
}

uint64_t ping_run(struct scene *scene, const char *machine)
{
    char error[256] = "";
    struct ns_sim *sim;

    scene->machine = ns_machine_load(machine, &scene->set, scene->set != NULL,
                                     error, sizeof(error));
    assert_non_null(scene->machine);
    scene->params.limit_ps = 10 * NS_PS_PER_SECOND;
    sim = ns_sim_open(scene->machine, &scene->params, error, sizeof(error));
    assert_non_null(sim);
    if (ns_sim_run(sim, body, scene, &scene->result, error, sizeof(error)) !=
        0) {
        fail_msg("%s", error);
    }
    scene->marks = *ns_marks_get(ns_sim_engine(sim));
    ns_sim_close(sim);
    return scene->result.hash;
}

void ping_close(struct scene *scene)
{
    free(scene->machine);
}
