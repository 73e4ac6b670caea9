/*
 * Blue Gene/P's collective network and global interrupt, with the values that
 * they give: in nodes of one process, and of four, of which one has the port.
 */
#include "support/cm.h"
#include "support/sim_bgp.h"

#include "dev/snic/snic.h"

static void body_collective(struct bgp_scene *scene, struct ns_sim_node *view)
{
    struct bgp_node *node = bgp_node_open(view);
    uint32_t words[WORDS] = {0};

    assert_true((node->dev->attr.caps & AM_DEV_CAP_COLLECTIVE) != 0);
    assert_int_equal(
            snic_network_ops.combine(node->dev, NS_BGP_TREE_XOR + 1, words),
            AM_ERR_INVALID);
    for (uint32_t op = NS_BGP_TREE_ADD; op <= NS_BGP_TREE_XOR; op++) {
        bgp_combine_all(node, op);
    }
    bgp_broadcast_all(node);
    bgp_barrier_all(scene, node);
    bgp_node_close(node);
}

static void test_collective(void **state)
{
    static const uint32_t sizes[] = {1, 2, 8, 13};

    for (uint32_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct bgp_scene scene = {.params.nodes = sizes[i],
                                  .body = body_collective};
        uint64_t hash;

        bgp_scene_run(&scene);
        hash = scene.result.hash;
        scene.params.threads = i == 2;
        scene.params.no_sleep = true;
        bgp_scene_run(&scene);
        assert_true(scene.result.hash == hash);
    }
}

/* In quad mode a node's first process has the port. */
static void body_port(struct bgp_scene *scene, struct ns_sim_node *view)
{
    struct bgp_node *node = bgp_node_open(view);
    uint32_t words[WORDS] = {view->rank}, op;
    bool port = (node->dev->attr.caps & AM_DEV_CAP_COLLECTIVE) != 0;

    assert_int_equal(port, view->rank % 4 == 0);
    if (port) {
        assert_int_equal(
                snic_network_ops.combine(node->dev, NS_BGP_TREE_ADD, words),
                AM_OK);
        bgp_take(node, NS_BGP_TREE_ADD, words);
        assert_int_equal(words[0], 0 + 4 + 8);
    } else {
        assert_int_equal(
                snic_network_ops.combine(node->dev, NS_BGP_TREE_ADD, words),
                AM_ERR_UNSUPPORTED);
        assert_int_equal(snic_network_ops.combined(node->dev, &op, words),
                         AM_ERR_UNSUPPORTED);
    }
    bgp_barrier_all(scene, node); /* which all processes have */
    bgp_node_close(node);
}

static void test_port(void **state)
{
    struct bgp_scene scene = {.sets = {"nic.processes=4 processes"},
                              .params.nodes = 12,
                              .body = body_port};

    bgp_scene_run(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_collective),
            cmocka_unit_test(test_port),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
