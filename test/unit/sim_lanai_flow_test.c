/*
 * Flow control between NIs of Myrinet where it is hard: all nodes multicast at
 * once, and no NI has buffers for all that it is to forward.
 */
#include "support/cm.h"
#include "support/sim_scene.h"

#include "dev/snic/snic.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_all_roots),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
