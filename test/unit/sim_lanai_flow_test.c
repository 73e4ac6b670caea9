/*
 * Flow control between NIs of Myrinet where it is hard: all nodes multicast at
 * once, and no NI has buffers for all that it is to forward; packets of several
 * peers are to be sent again; a driver leaves remote copies behind.
 */
#include "support/cm.h"
#include "support/sim_scene.h"

#include "dev/snic/snic.h"
#include "nic/lanai/lanai.h"
#include "sim.h"

#include <stdlib.h>
#include <string.h>

enum {
    PACKETS = 60,
    BYTES = 1000
};

static void multicast(struct node *node, uint64_t number)
{
    uint8_t data[BYTES];

    for (size_t i = 0; i < BYTES; i++) {
        data[i] = data_byte(node->view->rank, number, i);
    }
    while (snic_network_ops.multicast(node->dev, &number, sizeof(number), data,
                                      BYTES) == AM_ERR_AGAIN) {
        sim_dev_poll(node->dev);
    }
}

static void body_all_roots(struct scene *scene, struct ns_sim_node *view)
{
    struct node *node = node_open(view);

    for (uint64_t number = 0; number < PACKETS; number++) {
        multicast(node, number);
    }
    while (node->got < PACKETS * (view->size - 1)) {
        sim_dev_poll(node->dev);
    }
    node_close(node);
    scene->answer++;
}

/* Trees of different roots do not wait for each other in a circle. */
static void test_all_roots(void **state)
{
    static const char *const trees[] = {"lanai.tree=binary",
                                        "lanai.tree=binomial"};
    static const char *const memory[] = {"nic.receive_memory=30 KiB",
                                         "nic.receive_memory=64 KiB"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct scene scene = {
                .sets = {"lanai.reliability=ni", trees[i & 1], memory[i >> 1]},
                .set_count = 3,
                .params = {.nodes = 13},
                .body = body_all_roots};

        scene_good(&scene, "myrinet-p3");
        assert_int_equal(scene.answer, 13);
        assert_true(scene.result.dropped > 0);
    }
}

/* All have their turn, and who is to be sent to meanwhile has it later. */
static void test_resend_turns(void **state)
{
    const struct ns_lanai_settings settings = {.reliability = NS_LANAI_NI};
    struct ns_lanai_peer peers[3] = {
            {.resend = true}, {.resend = false}, {.resend = true}};
    struct ns_lanai lanai = {.settings = &settings, .nodes = 3, .peers = peers};

    (void)state;
    for (uint32_t i = 0; i < 3; i++) {
        am_list_init(&peers[i].unacked);
    }
    lanai.resending = ns_lanai_resend_peer(&lanai);
    assert_int_equal(lanai.resending, 0);
    ns_lanai_resend_finish(&lanai);
    peers[0].resend = true; /* again */
    lanai.resending = ns_lanai_resend_peer(&lanai);
    assert_int_equal(lanai.resending, 2);
    peers[1].resend = true;
    ns_lanai_resend_finish(&lanai);
    assert_true(peers[0].resend && peers[1].resend && !peers[2].resend);
    assert_int_equal(ns_lanai_resend_peer(&lanai), 0);
}

/* ------------------------------------------------------------ a second driver */

static void landed(void *arg, am_status_t status)
{
    assert_int_equal(status, AM_OK);
    ++*(uint64_t *)arg;
}

/* Node 0 puts `bytes` into the memory of node 1. */
static void put(struct node *node, uint8_t *memory, size_t bytes)
{
    const struct iovec local = {memory, bytes};
    struct am_dev_key mine, keys[2];

    assert_int_equal(node->dev->ops->mem_register(node->dev, memory, bytes,
                                                  AM_DEV_RIGHTS_ALL, &mine),
                     AM_OK);
    (void)ns_sim_allgather(node->view, &mine, keys, sizeof(mine));
    if (node->view->rank == 0) {
        assert_int_equal(node->dev->ops->put(node->peers[1].ep, &local, 1,
                                             &keys[1], 0, landed, &node->done),
                         AM_OK);
    }
}

/* The NI of node 1 has a byte for its host, which looks at nothing and closes;
 * the next driver's first words come in place. */
static void body_left(struct scene *scene, struct ns_sim_node *view)
{
    static uint64_t memory[2][512];
    const uint64_t *stats = view->sim->kind->stats(view->sim->nodes[1].nic);
    struct node *node = node_open(view);
    uint64_t before;

    put(node, (uint8_t *)memory[view->rank], 1);
    ns_sim_compute(view, 1000 * UINT64_C(1000000));
    assert_int_equal(stats[NS_LANAI_STAT_MISSES], 1);
    ns_sim_barrier(view);
    node->dev->ops->close(node->dev);
    free(node);
    node = node_open(view);
    put(node, (uint8_t *)memory[view->rank], sizeof(memory[0])); /* pins */
    while (view->rank == 0 && node->done < 1) {
        sim_dev_poll(node->dev);
    }
    sim_dev_meet(view, node->dev);
    before = stats[NS_LANAI_STAT_MISSES];
    ns_sim_barrier(view);
    put(node, (uint8_t *)memory[view->rank], sizeof(memory[0]));
    while (view->rank == 0 && node->done < 2) {
        sim_dev_poll(node->dev);
    }
    node_close(node);
    assert_int_equal(stats[NS_LANAI_STAT_MISSES], before);
    scene->answer++;
}

static void test_left(void **state)
{
    struct scene scene = {.sets = {"lanai.transfer=rcpy"},
                          .set_count = 1,
                          .params = {.nodes = 2},
                          .body = body_left};

    (void)state;
    scene_good(&scene, "myrinet-ppro");
    assert_int_equal(scene.answer, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_all_roots),
            cmocka_unit_test(test_resend_turns),
            cmocka_unit_test(test_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
