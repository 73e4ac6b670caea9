/*
 * The collective network and the global interrupt at work.  Set-up is
 * tree_init.c.
 */
#include "net/tree_inner.h"

/* -------------------------------------------------------------------- rings */

static bool ring_full(const struct ns_tree *tree,
                      const struct ns_tree_ring *ring)
{
    return ring->count == tree->settings.buffer_packets;
}

static void ring_push(struct ns_tree *tree, struct ns_tree_ring *ring,
                      const struct ns_tree_packet *packet, uint64_t head_ps)
{
    uint32_t max = (uint32_t)tree->settings.buffer_packets;
    uint32_t at = (ring->first + ring->count) % max;

    NS_CHECK(ring->count < max);
    ring->packet[at] = *packet;
    ring->head_ps[at] = head_ps;
    ring->count++;
    tree->sent++;
}

static void ring_pop(struct ns_tree *tree, struct ns_tree_ring *ring)
{
    ring->first = (ring->first + 1) % (uint32_t)tree->settings.buffer_packets;
    ring->count--;
    tree->sent--;
}

/* When its first packet's head is here; NS_NEVER: there is none. */
static uint64_t ring_head_ps(const struct ns_tree_ring *ring)
{
    return ring->count == 0 ? NS_NEVER : ring->head_ps[ring->first];
}

/* ---------------------------------------------------------------------- ALU */

static uint32_t alu(ns_bgp_tree_op_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case NS_BGP_TREE_ADD:
        return a + b;
    case NS_BGP_TREE_MAX:
        return a > b ? a : b;
    case NS_BGP_TREE_MIN:
        return a < b ? a : b;
    case NS_BGP_TREE_AND:
        return a & b;
    case NS_BGP_TREE_OR:
        return a | b;
    case NS_BGP_TREE_XOR:
        return a ^ b;
    default:
        return b;
    }
}

static void combine(struct ns_tree_packet *to,
                    const struct ns_tree_packet *from)
{
    NS_CHECK(to->word == from->word); /* all nodes make the same call */
    for (uint32_t i = 0; i < NS_BGP_TREE_BYTES / 4; i++) {
        to->data[i] = alu((ns_bgp_tree_op_t)(to->word >> 24), to->data[i],
                          from->data[i]);
    }
}

/* ----------------------------------------------------------------- routers */

static uint64_t now_of(const struct ns_tree_router *router)
{
    return ns_engine_now(router->component.engine);
}

/* Let `event` run at `time_ps`, or now if that is over, or earlier if it will
 * anyhow. */
static void wake(struct ns_tree_router *router, struct ns_event *event,
                 uint64_t time_ps)
{
    uint64_t now_ps = now_of(router);

    if (time_ps == NS_NEVER) {
        return;
    }
    time_ps = time_ps > now_ps ? time_ps : now_ps;
    if (ns_event_pending(event)) {
        if (event->time_ps <= time_ps) {
            return;
        }
        ns_event_cancel(router->component.engine, event);
    }
    ns_event_schedule(&router->component, event, NS_PHASE_WIRE, time_ps);
}

/* How much later than now the faults of a link let a packet begin. */
static uint64_t late(struct ns_tree_router *router, struct ns_fault_port *port)
{
    struct ns_tree *tree = router->tree;
    uint64_t late_ps;

    if (port->fault == NULL) {
        return 0;
    }
    late_ps = ns_fault_resend_ps(port, &router->component, &tree->resend);
    if (late_ps == NS_NEVER) {
        tree->broken = true;
        ns_engine_stop(router->component.engine);
        return 0;
    }
    return late_ps;
}

/* Where what goes up from here comes in. */
static struct ns_tree_ring *up_target(struct ns_tree_router *router,
                                      uint32_t class)
{
    struct ns_tree_router *parent = &router->tree->routers[router->parent];

    return router->index == 0
                   ? &router->down
                   : &parent->up[(router->index - parent->child) * CLASSES +
                                 class];
}

/* Pass a packet on to the parent, or turn it round at the top. */
static void up_send(struct ns_tree_router *router, uint32_t class,
                    const struct ns_tree_packet *packet)
{
    struct ns_tree *tree = router->tree;
    struct ns_tree_router *parent = &tree->routers[router->parent];
    uint64_t now_ps = now_of(router);

    if (router->index == 0) {
        ring_push(tree, &router->down, packet, now_ps);
        wake(router, &router->down_event, now_ps);
        return;
    }
    now_ps += late(router, &router->up_port);
    router->up_free_ps = now_ps + tree->packet_ps;
    ring_push(tree, up_target(router, class), packet,
              now_ps + tree->settings.hop_ps);
    wake(parent, &parent->up_event, now_ps + tree->settings.hop_ps);
    wake(router, &router->up_event, router->up_free_ps);
}

/* Room is free again in ring `from` (of a child, or its own). */
static void up_room(struct ns_tree_router *router, uint32_t from)
{
    if (from < router->children) {
        struct ns_tree_router *child =
                &router->tree->routers[router->child + from];

        wake(child, &child->up_event, now_of(router));
    }
}

/* All have sent: combine.  Returns when all heads will be here. */
static uint64_t up_combine(struct ns_tree_router *router)
{
    uint64_t head_ps = 0;
    struct ns_tree_packet packet;

    for (uint32_t i = 0; i <= router->children; i++) {
        uint64_t one_ps = ring_head_ps(&router->up[i * CLASSES]);

        head_ps = one_ps > head_ps ? one_ps : head_ps;
    }
    if (head_ps > now_of(router) ||
        ring_full(router->tree, up_target(router, CLASS_COMBINE))) {
        return head_ps > now_of(router) ? head_ps : NS_NEVER;
    }
    for (uint32_t i = 0; i <= router->children; i++) {
        struct ns_tree_ring *ring = &router->up[i * CLASSES];

        if (i == 0) {
            packet = ring->packet[ring->first];
        } else {
            combine(&packet, &ring->packet[ring->first]);
        }
        ring_pop(router->tree, ring);
        up_room(router, i);
    }
    up_send(router, CLASS_COMBINE, &packet);
    return now_of(router);
}

static uint64_t up_broadcast(struct ns_tree_router *router)
{
    uint64_t soonest_ps = NS_NEVER;

    for (uint32_t i = 0; i <= router->children; i++) {
        struct ns_tree_ring *ring = &router->up[i * CLASSES + CLASS_BROADCAST];
        uint64_t head_ps = ring_head_ps(ring);
        struct ns_tree_packet packet;

        if (head_ps > now_of(router)) {
            soonest_ps = head_ps < soonest_ps ? head_ps : soonest_ps;
        } else if (!ring_full(router->tree,
                              up_target(router, CLASS_BROADCAST))) {
            packet = ring->packet[ring->first];
            ring_pop(router->tree, ring);
            up_room(router, i);
            up_send(router, CLASS_BROADCAST, &packet);
            return now_of(router);
        }
    }
    return soonest_ps;
}

void ns_tree_up_run(struct ns_event *event)
{
    struct ns_tree_router *router =
            am_container(event, struct ns_tree_router, up_event);
    uint64_t next_ps;

    if (router->up_free_ps > now_of(router)) {
        wake(router, event, router->up_free_ps);
        return;
    }
    next_ps = up_combine(router);
    if (next_ps == now_of(router)) {
        wake(router, event, router->up_free_ps);
        return;
    }
    wake(router, event, next_ps);
    next_ps = up_broadcast(router);
    wake(router, event,
         next_ps == now_of(router) ? router->up_free_ps : next_ps);
}

/* To every child and the own port, when all have room. */
void ns_tree_down_run(struct ns_event *event)
{
    struct ns_tree_router *router =
            am_container(event, struct ns_tree_router, down_event);
    struct ns_tree *tree = router->tree;
    struct ns_tree_ring *ring = &router->down;
    uint64_t now_ps = now_of(router);
    uint64_t ready_ps = ring_head_ps(ring), last_ps = 0;
    bool room = !ring_full(tree, &router->port);
    const struct ns_tree_packet *packet;

    if (ready_ps == NS_NEVER) {
        return;
    }
    ready_ps =
            ready_ps > router->down_free_ps ? ready_ps : router->down_free_ps;
    if (ready_ps > now_ps) {
        wake(router, event, ready_ps);
        return;
    }
    for (uint32_t i = 0; i < router->children; i++) {
        room = room && !ring_full(tree, &tree->routers[router->child + i].down);
    }
    if (!room) {
        return;
    }
    packet = &ring->packet[ring->first];
    for (uint32_t i = 0; i < router->children; i++) {
        struct ns_tree_router *child = &tree->routers[router->child + i];
        uint64_t late_ps = late(router, &child->down_port);
        uint64_t head_ps = now_ps + late_ps + tree->settings.hop_ps;

        last_ps = late_ps > last_ps ? late_ps : last_ps;
        ring_push(tree, &child->down, packet, head_ps);
        wake(child, &child->down_event, head_ps);
    }
    ring_push(tree, &router->port, packet, now_ps + tree->packet_ps);
    wake(router, &router->port_event, now_ps + tree->packet_ps);
    ring_pop(tree, ring);
    /* the next one goes to all children at once, after the last resend */
    router->down_free_ps = now_ps + last_ps + tree->packet_ps;
    wake(router, event, router->down_free_ps);
    if (router->index == 0) {
        wake(router, &router->up_event, now_ps);
    } else {
        struct ns_tree_router *parent = &tree->routers[router->parent];

        wake(parent, &parent->down_event, now_ps);
    }
}

/* A tail is in; the next one that is on its way has its turn after it. */
void ns_tree_port_run(struct ns_event *event)
{
    struct ns_tree_router *router =
            am_container(event, struct ns_tree_router, port_event);
    struct ns_tree *tree = router->tree;
    uint32_t max = (uint32_t)tree->settings.buffer_packets;
    uint64_t now_ps = now_of(router);

    for (uint32_t i = 0; i < router->port.count; i++) {
        uint64_t tail_ps = router->port.head_ps[(router->port.first + i) % max];

        if (tail_ps == now_ps) {
            router->arrived(router->nic);
        } else if (tail_ps > now_ps) {
            wake(router, event, tail_ps);
            return;
        }
    }
}

/* -------------------------------------------------------------------- ports */

bool ns_tree_send(struct ns_tree *tree, uint32_t node,
                  const struct ns_tree_packet *packet)
{
    struct ns_tree_router *router = &tree->routers[node];
    uint32_t class = packet->word >> 24 == NS_BGP_TREE_BROADCAST
                             ? CLASS_BROADCAST
                             : CLASS_COMBINE;
    struct ns_tree_ring *ring = &router->up[router->children * CLASSES + class];

    if (ring_full(tree, ring)) {
        return false;
    }
    ring_push(tree, ring, packet, now_of(router));
    wake(router, &router->up_event, now_of(router));
    return true;
}

bool ns_tree_take(struct ns_tree *tree, uint32_t node,
                  struct ns_tree_packet *packet)
{
    struct ns_tree_router *router = &tree->routers[node];

    if (ring_head_ps(&router->port) > now_of(router)) {
        return false;
    }
    *packet = router->port.packet[router->port.first];
    ring_pop(tree, &router->port);
    wake(router, &router->down_event, now_of(router));
    return true;
}

/* ----------------------------------------------------------------- barrier */

void ns_tree_barrier_run(struct ns_event *event)
{
    struct ns_tree *tree = am_container(event, struct ns_tree, barrier);

    for (uint32_t i = 0; i < tree->members; i++) {
        tree->member[i].barrier(tree->member[i].nic);
    }
}

void ns_tree_enter(struct ns_tree *tree)
{
    NS_CHECK(tree->entered < tree->members);
    if (++tree->entered < tree->members) {
        return;
    }
    tree->entered = 0;
    ns_event_schedule(&tree->component, &tree->barrier, NS_PHASE_WIRE,
                      ns_engine_now(tree->component.engine) +
                              tree->settings.barrier_ps);
}
