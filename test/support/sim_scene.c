/*
 * The scenes of sim_scene.h.
 */
#include "support/sim_scene.h"

#include "support/cm.h"

#include <stdlib.h>
#include <string.h>

uint8_t data_byte(uint64_t source, uint64_t number, uint64_t at)
{
    return (uint8_t)(source * 7 + number * 13 + at);
}

static void packet(void *user, uint32_t class, const void *hdr,
                   size_t hdr_bytes, void *data, size_t data_bytes)
{
    struct sim_peer *peer = user;
    struct node *node = peer->node;
    uint64_t source = (uint64_t)(peer - node->peers);
    uint64_t number;

    (void)class;
    assert_int_equal(hdr_bytes, sizeof(number));
    memcpy(&number, hdr, sizeof(number));
    assert_int_equal(number, peer->next++);
    for (size_t i = 0; i < data_bytes; i++) {
        assert_int_equal(((uint8_t *)data)[i], data_byte(source, number, i));
    }
    node->got++;
}

struct node *node_open(struct ns_sim_node *view)
{
    struct node *node = calloc(1, sizeof(*node));
    const struct am_dev_params params = {
            .up = {.packet = packet},
            .stats = node->stats,
            .error = node->error,
            .error_bytes = sizeof(node->error),
    };

    node->view = view;
    node->dev = sim_dev_open_peers(view, params, node, node->peers);
    return node;
}

void node_close(struct node *node)
{
    sim_dev_close(node->view, node->dev);
    free(node);
}

static void scene_body(void *arg, struct ns_sim_node *view)
{
    struct scene *scene = arg;

    scene->body(scene, view);
}

int scene_run(struct scene *scene, const char *name)
{
    struct ns_machine *machine =
            ns_machine_load(name, scene->sets, scene->set_count, scene->error,
                            sizeof(scene->error));
    struct ns_sim *sim = NULL;
    int status = -1;

    scene->params.limit_ps = 20 * NS_PS_PER_SECOND;
    if (machine != NULL) {
        sim = ns_sim_open(machine, &scene->params, scene->error,
                          sizeof(scene->error));
    }
    if (sim != NULL) {
        status = ns_sim_run(sim, scene_body, scene, &scene->result,
                            scene->error, sizeof(scene->error));
    }
    ns_sim_close(sim);
    free(machine);
    return status;
}

void scene_good(struct scene *scene, const char *name)
{
    if (scene_run(scene, name) != 0) {
        fail_msg("%s", scene->error);
    }
}
