/*
 * The collective network: its tree, set-up.
 */
#include "net/tree_inner.h"

#include "host/ahead.h"

#include <stdlib.h>

static bool ring_init(struct ns_tree_ring *ring, uint32_t max)
{
    ring->packet = calloc(max, sizeof(*ring->packet));
    ring->head_ps = calloc(max, sizeof(*ring->head_ps));
    return ring->packet != NULL && ring->head_ps != NULL;
}

static void ring_fini(struct ns_tree_ring *ring)
{
    free(ring->packet);
    free(ring->head_ps);
}

static bool router_init(struct ns_tree *tree, struct ns_engine *engine,
                        uint32_t index)
{
    struct ns_tree_router *router = &tree->routers[index];
    uint64_t arity = tree->settings.arity;
    uint64_t child = (uint64_t)index * arity + 1;
    uint32_t max = (uint32_t)tree->settings.buffer_packets;
    bool good;

    ns_component_init(&router->component, engine, "tree", NS_NODE_NONE);
    ns_event_init(&router->up_event, ns_tree_up_run);
    ns_event_init(&router->down_event, ns_tree_down_run);
    ns_event_init(&router->port_event, ns_tree_port_run);
    router->tree = tree;
    if (index > 0 && ns_engine_faulty(engine)) {
        uint64_t stream = (router->component.id + UINT64_C(1)) << 32;

        ns_fault_port_init(&router->up_port, engine, "tree-up", stream);
        ns_fault_port_init(&router->down_port, engine, "tree-down", stream + 1);
    }
    router->index = index;
    router->parent = index == 0 ? 0 : (uint32_t)((index - 1) / arity);
    router->child = (uint32_t)(child < tree->nodes ? child : 0);
    router->children = child >= tree->nodes ? 0
                       : tree->nodes - child < arity
                               ? (uint32_t)(tree->nodes - child)
                               : (uint32_t)arity;
    router->up = calloc((router->children + 1) * CLASSES,
                        sizeof(struct ns_tree_ring));
    good = router->up != NULL && ring_init(&router->down, max) &&
           ring_init(&router->port, max);
    for (uint32_t i = 0; good && i < (router->children + 1) * CLASSES; i++) {
        good = ring_init(&router->up[i], max);
    }
    return good;
}

struct ns_tree *ns_tree_open(struct ns_engine *engine,
                             const struct ns_tree_settings *settings,
                             uint32_t nodes, uint32_t members)
{
    struct ns_tree *tree = calloc(1, sizeof(*tree));
    bool good;

    if (tree == NULL) {
        return NULL;
    }
    tree->settings = *settings;
    tree->nodes = nodes;
    tree->members = members;
    tree->packet_ps = ns_bytes_ps(NS_BGP_TREE_BYTES + settings->overhead_bytes,
                                  settings->bytes_per_second);
    tree->resend.head_ps = settings->hop_ps;
    tree->resend.spoilt_ps =
            tree->packet_ps + 2 * settings->hop_ps +
            ns_bytes_ps(settings->nack_bytes, settings->bytes_per_second);
    tree->resend.lost_ps = tree->resend.spoilt_ps + settings->resend_ps;
    tree->resend.bytes = NS_BGP_TREE_BYTES;
    ns_component_init(&tree->component, engine, "tree", NS_NODE_NONE);
    ns_event_init(&tree->barrier, ns_tree_barrier_run);
    tree->routers = calloc(nodes, sizeof(*tree->routers));
    tree->member = calloc(members, sizeof(*tree->member));
    good = tree->routers != NULL && tree->member != NULL;
    for (uint32_t i = 0; good && i < nodes; i++) {
        good = router_init(tree, engine, i);
    }
    if (!good) {
        ns_tree_close(tree);
        return NULL;
    }
    return tree;
}

void ns_tree_close(struct ns_tree *tree)
{
    for (uint32_t i = 0; tree->routers != NULL && i < tree->nodes; i++) {
        struct ns_tree_router *router = &tree->routers[i];

        for (uint32_t k = 0;
             router->up != NULL && k < (router->children + 1) * CLASSES; k++) {
            ring_fini(&router->up[k]);
        }
        free(router->up);
        ring_fini(&router->down);
        ring_fini(&router->port);
    }
    free(tree->routers);
    free(tree->member);
    free(tree);
}

void ns_tree_attach(struct ns_tree *tree, uint32_t node, void *nic,
                    ns_tree_arrived_fn arrived)
{
    tree->routers[node].nic = nic;
    tree->routers[node].arrived = arrived;
}

void ns_tree_member(struct ns_tree *tree, uint32_t member, void *nic,
                    ns_tree_barrier_fn barrier)
{
    tree->member[member] = (struct ns_tree_member){nic, barrier};
}

bool ns_tree_broken(const struct ns_tree *tree)
{
    return tree->broken;
}

bool ns_tree_quiet(const struct ns_tree *tree)
{
    return tree->sent == 0;
}

uint64_t ns_tree_ahead_ps(const struct ns_tree *tree, uint64_t next_ps)
{
    uint64_t packet_ps =
            ns_tree_quiet(tree) ? ns_ahead_after(next_ps, tree->packet_ps)
                                : next_ps;
    uint64_t barrier_ps =
            ns_event_pending(&tree->barrier)
                    ? tree->barrier.time_ps
                    : ns_ahead_after(next_ps, tree->settings.barrier_ps);

    return ns_ahead_first(packet_ps, barrier_ps);
}

uint32_t ns_tree_depth(const struct ns_tree *tree)
{
    uint32_t depth = 0;

    for (uint32_t i = tree->nodes - 1; i != 0; i = tree->routers[i].parent) {
        depth++;
    }
    return depth;
}

uint64_t ns_tree_alone_ps(const struct ns_tree *tree, uint32_t depth)
{
    return (ns_tree_depth(tree) + depth) * tree->settings.hop_ps +
           tree->packet_ps;
}
