/*
 * The NIC with work queues and its driver: short packets that are written into
 * the NIC and long ones that it fetches keep their order; a host without a free
 * buffer holds up its peers and loses nothing; puts and gets in pieces, more of
 * them than can be under way, and of memory that is no longer there; the same
 * trace however it is run.
 */
#include "support/cm.h"
#include "support/sim_dev.h"
#include "support/sim_ping.h"

#include "dev/snic/snic.h"
#include "nic/wq/wq.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum {
    NODES = 4,
    PACKETS = 400,
    GETS = 150, /* more than can be under way */
    PIECES = 3,
    BYTES = 10000, /* packets and a rest */
    GUARD = 0xa5
};

struct node {
    struct ns_sim_node *view;
    struct am_dev *dev;
    struct sim_peer peers[NODES];
    uint64_t stats[AM_DEV_STAT_COUNT];
    char error[128];
    uint64_t got, done, refused;
};

struct world {
    void (*body)(struct node *node);
    struct ns_sim_params params;
    uint64_t stats[NS_WQ_STAT_COUNT]; /* of all NICs */
    struct ns_sim_result result;
};

/* Packet number n of a sender: some are written into the NIC, some fetched. */
static size_t packet_bytes(uint64_t number)
{
    return 8 + number * 37 % 600;
}

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct sim_peer *peer = user;
    struct node *node = peer->node;
    uint64_t number;

    (void)class;
    assert_int_equal(hdr_bytes, sizeof(number));
    memcpy(&number, hdr, sizeof(number));
    assert_int_equal(number, peer->next++);
    assert_int_equal(data_bytes, packet_bytes(number));
    for (size_t i = 0; i < data_bytes; i++) {
        assert_int_equal(((uint8_t *)data)[i], (uint8_t)(number + i));
    }
    node->got++;
}

static void world_body(void *arg, struct ns_sim_node *view)
{
    const struct world *world = arg;
    struct node *node = calloc(1, sizeof(*node));
    const struct am_dev_params params = {
            .up = {.packet = packet},
            .stats = node->stats,
            .error = node->error,
            .error_bytes = sizeof(node->error),
    };

    node->view = view;
    node->dev = sim_dev_open_peers(view, params, node, node->peers);
    world->body(node);
    sim_dev_close(view, node->dev);
    free(node);
}

static void world_run(struct world *world)
{
    char error[256] = "";
    struct ns_machine *machine =
            ns_machine_load("pcie4", NULL, 0, error, sizeof(error));
    struct ns_sim *sim;

    world->params.nodes = NODES;
    world->params.limit_ps = NS_PS_PER_SECOND;
    sim = machine == NULL
                  ? NULL
                  : ns_sim_open(machine, &world->params, error, sizeof(error));
    if (sim == NULL || ns_sim_run(sim, world_body, world, &world->result, error,
                                  sizeof(error)) != 0) {
        fail_msg("%s", error);
    }
    for (uint32_t stat = 0; stat < NS_WQ_STAT_COUNT; stat++) {
        world->stats[stat] = 0;
        for (uint32_t i = 0; i < sim->node_count; i++) {
            world->stats[stat] += sim->kind->stats(sim->nodes[i].nic)[stat];
        }
    }
    ns_sim_close(sim);
    free(machine);
}

/* -------------------------------------------------------------------- packets */

static void send_all(struct node *node, uint32_t peer)
{
    uint8_t data[608];

    for (uint64_t number = 0; number < PACKETS; number++) {
        size_t bytes = packet_bytes(number);

        for (size_t i = 0; i < bytes; i++) {
            data[i] = (uint8_t)(number + i);
        }
        while (node->dev->ops->send(node->peers[peer].ep, AM_DEV_REQUEST,
                                    &number, sizeof(number), data,
                                    bytes) == AM_ERR_AGAIN) {
            sim_dev_poll(node->dev);
        }
    }
}

static void body_packets(struct node *node)
{
    send_all(node, (node->view->rank + 1) % NODES);
    send_all(node, (node->view->rank + 2) % NODES);
    while (node->got < 2 * PACKETS) {
        sim_dev_poll(node->dev);
    }
    sim_dev_meet(node->view, node->dev);
}

static void test_packets(void **state)
{
    struct world world = {.body = body_packets};

    (void)state;
    world_run(&world);
    assert_int_equal(world.result.dropped, 0);
    assert_in_range(world.stats[NS_WQ_STAT_INLINE], NODES * PACKETS / 4,
                    NODES * PACKETS * 2 - 1);
}

/* A host that does not look for long has no buffer left. */
static void test_no_loss(void **state)
{
    struct scene scene = {.params = {.nodes = 16},
                          .flood = 60,
                          .flood_bytes = 2000,
                          .slow = true,
                          .set = "nic.receive_ring=128 entries"};

    (void)state;
    ping_run(&scene, "pcie4");
    assert_int_equal(scene.flood_received, 900);
    assert_int_equal(scene.result.dropped, 0);
    ping_close(&scene);
}

/* ------------------------------------------------------------- puts and gets */

static uint8_t byte_of(uint32_t rank, size_t at)
{
    return (uint8_t)(rank * 31 + at * 7 + (at >> 8));
}

static void on_done(void *arg, am_status_t status)
{
    struct node *node = arg;

    node->done++;
    node->refused += status == AM_ERR_INVALID;
    assert_true(status == AM_OK || status == AM_ERR_INVALID);
}

/* BYTES in three pieces, one of them empty. */
static void op_start(struct node *node, bool get, uint32_t peer, uint8_t *data,
                     const struct am_dev_key *key)
{
    const struct iovec local[PIECES] = {
            {data, 5000}, {data, 0}, {data + 5000, BYTES - 5000}};

    while ((get ? node->dev->ops->get : node->dev->ops->put)(
                   node->peers[peer].ep, local, PIECES, key, 0, on_done,
                   node) == AM_ERR_AGAIN) {
        sim_dev_poll(node->dev);
    }
}

static void done_wait(struct node *node, uint64_t count)
{
    while (node->done < count) {
        sim_dev_poll(node->dev);
    }
}

static void body_remote(struct node *node)
{
    uint32_t rank = node->view->rank, next = (rank + 1) % NODES;
    uint32_t before = (rank + NODES - 1) % NODES;
    uint8_t *mine = malloc(BYTES), *place = calloc(1, BYTES);
    uint8_t *got = calloc(GETS, BYTES);
    struct am_dev_key key[2], keys[NODES][2];

    for (size_t i = 0; i < BYTES; i++) {
        mine[i] = byte_of(rank, i);
    }
    (void)node->dev->ops->mem_register(node->dev, mine, BYTES,
                                       AM_DEV_RIGHTS_ALL, &key[0]);
    (void)node->dev->ops->mem_register(node->dev, place, BYTES,
                                       AM_DEV_RIGHTS_ALL, &key[1]);
    ns_sim_allgather(node->view, key, keys, sizeof(key));
    for (uint32_t i = 0; i < GETS; i++) {
        op_start(node, true, next, got + (size_t)i * BYTES, &keys[next][0]);
    }
    op_start(node, false, next, mine, &keys[next][1]);
    done_wait(node, GETS + 1);
    assert_int_equal(node->refused, 0);
    for (size_t i = 0; i < (size_t)GETS * BYTES; i++) {
        assert_int_equal(got[i], byte_of(next, i % BYTES));
    }
    sim_dev_meet(node->view, node->dev);
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(place[i], byte_of(before, i));
    }

    /* Memory that is no longer registered: told, and nothing is touched. */
    node->dev->ops->mem_deregister(node->dev, &key[0]);
    node->dev->ops->mem_deregister(node->dev, &key[1]);
    memset(got, GUARD, BYTES);
    sim_dev_meet(node->view, node->dev);
    op_start(node, true, next, got, &keys[next][0]);
    op_start(node, false, next, mine, &keys[next][1]);
    done_wait(node, GETS + 3);
    assert_int_equal(node->refused, 2);
    sim_dev_meet(node->view, node->dev);
    for (size_t i = 0; i < BYTES; i++) {
        assert_int_equal(place[i], byte_of(before, i));
        assert_int_equal(got[i], GUARD);
    }
    free(mine);
    free(place);
    free(got);
}

static void test_remote(void **state)
{
    struct world world = {.body = body_remote};

    (void)state;
    world_run(&world);
    assert_int_equal(world.stats[NS_WQ_STAT_READ_BYTES],
                     (uint64_t)NODES * GETS * BYTES);
    assert_int_equal(world.stats[NS_WQ_STAT_WRITTEN_BYTES],
                     (uint64_t)NODES * BYTES);
    assert_true(world.stats[NS_WQ_STAT_BAD] > 0); /* the last ones */
}

/* Links that lose packets are none for this NIC. */
static void test_faults_refused(void **state)
{
    static const char *const faults[] = {"net.fault.drop=1/9",
                                         "net.fault.corrupt=1/9",
                                         "net.fault.overflow=1/9"};
    char error[256];

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        assert_null(ns_machine_load("pcie4", &faults[i], 1, error,
                                    sizeof(error)));
        assert_non_null(strstr(error, "nothing sends them again"));
    }
}

static void test_determinism(void **state)
{
    static const struct ns_sim_params ways[] = {
            {.no_sleep = true},
            {.no_jump = true},
            {.threads = true},
    };
    void (*const bodies[])(struct node *node) = {body_packets, body_remote};

    (void)state;
    for (uint32_t b = 0; b < 2; b++) {
        struct world world = {.body = bodies[b]};
        uint64_t hash;

        world_run(&world);
        hash = world.result.hash;
        for (uint32_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
            world.params = ways[i];
            world_run(&world);
            assert_true(world.result.hash == hash);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_packets),
            cmocka_unit_test(test_no_loss),
            cmocka_unit_test(test_remote),
            cmocka_unit_test(test_faults_refused),
            cmocka_unit_test(test_determinism),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
