/*
 * The receiving engine: packets from the torus and from this node, one by one,
 * and what is done about those that have no place.  bgp_land.c places them.
 */
#include "nic/bgp/bgp.h"

/* --------------------------------------------------------------- the engine */

static void interrupt_raise(struct ns_bgp_node *node)
{
    const struct ns_bgp_fifo *fifo;

    if (node->full_group == NULL || ns_event_pending(&node->interrupt)) {
        return;
    }
    fifo = &node->full_group->injection[node->full_fifo];
    if (fifo->size == fifo->size_max) {
        return; /* a descriptor that leaves it makes room */
    }
    ns_event_schedule(&node->component, &node->interrupt, NS_PHASE_NIC,
                      ns_engine_now(node->component.engine) +
                              node->net->machine->bgp.interrupt_ps);
}

/* Put a packet where it belongs; false: it has no place. */
static bool packet_land(struct ns_bgp_node *node,
                        struct ns_torus_packet *packet)
{
    if (!ns_bgp_land(node, packet)) {
        node->group[0].process->stats[NS_BGP_STAT_STALLS]++;
        return false;
    }
    ns_torus_packet_put(node->net->torus, packet);
    return true;
}

/* A remote get without place waits behind those that do. */
static void park(struct ns_bgp_node *node, struct ns_torus_packet *packet)
{
    packet->next = NULL;
    if (node->parked == NULL) {
        node->parked = packet;
        interrupt_raise(node);
    } else {
        node->parked_last->next = packet;
    }
    node->parked_last = packet;
}

/* Put the engine's packet where it belongs, or aside, and go on; or stop. */
static void receive_land(struct ns_bgp_node *node)
{
    struct ns_torus_packet *packet = node->receive.packet;

    node->held = false;
    if (!ns_bgp_is_get(packet)) {
        node->held = !packet_land(node, packet);
    } else if (node->parked != NULL || !packet_land(node, packet)) {
        park(node, packet);
    }
    if (!node->held) {
        node->receive.busy = false;
        node->receive.packet = NULL;
        ns_bgp_receive_start(node);
    }
}

/* The remote gets that wait, as far as they have a place now. */
static void parked_land(struct ns_bgp_node *node)
{
    struct ns_torus_packet *packet;

    while ((packet = node->parked) != NULL) {
        struct ns_torus_packet *next = packet->next;

        node->parked = next;
        node->full_group = NULL;
        if (!packet_land(node, packet)) {
            packet->next = node->parked;
            node->parked_last = next == NULL ? packet : node->parked_last;
            node->parked = packet;
            interrupt_raise(node);
            return;
        }
        /* its FIFO has drained; the next that is full has one of its own */
        ns_event_cancel(node->component.engine, &node->interrupt);
    }
    ns_bgp_receive_start(node);
}

static void receive_run(struct ns_event *event)
{
    receive_land(am_container(event, struct ns_bgp_node, receive.event));
}

static struct ns_torus_packet *local_pop(struct ns_bgp_node *node)
{
    struct ns_torus_packet *packet = node->local;

    node->local = packet->next;
    node->local_count--;
    node->local_turn = false;
    return packet;
}

/* The next packet, from the torus and this node in turn. */
static struct ns_torus_packet *receive_next(struct ns_bgp_node *node)
{
    struct ns_torus_packet *packet = node->offered;

    if (node->local != NULL &&
        (packet == NULL || node->local_turn || node->parked != NULL)) {
        packet = local_pop(node);
        ns_bgp_inject_start(node);
        return packet;
    }
    if (node->parked != NULL) {
        return NULL; /* the torus waits */
    }
    if (packet != NULL) {
        node->offered = NULL;
        node->local_turn = true;
        ns_torus_ready(node->net->torus, node->index);
    }
    return packet;
}

void ns_bgp_receive_start(struct ns_bgp_node *node)
{
    struct ns_bgp_net *net = node->net;
    struct ns_torus_packet *packet;

    if (node->receive.busy) {
        return;
    }
    packet = receive_next(node);
    if (packet == NULL || node->receive.busy) {
        return;
    }
    ns_bgp_mark(node, NS_STAGE_FW_WAIT);
    node->receive.busy = true;
    node->receive.packet = packet;
    ns_event_schedule(
            &node->component, &node->receive.event, NS_PHASE_NIC,
            ns_engine_now(node->component.engine) +
                    ns_bgp_cycles_ps(net, net->machine->bgp.packet_cycles) +
                    ns_bus_dma_ps(&net->machine->bus, packet->bytes));
}

void ns_bgp_receive_retry(struct ns_bgp_node *node)
{
    if (node->parked != NULL) {
        parked_land(node);
    }
    if (node->held) {
        receive_land(node);
    }
}

void ns_bgp_local(struct ns_bgp_node *node, struct ns_torus_packet *packet)
{
    packet->next = NULL;
    if (node->local == NULL) {
        node->local = packet;
    } else {
        node->local_last->next = packet;
    }
    node->local_last = packet;
    node->local_count++;
    ns_bgp_receive_start(node);
}

/* When the packet began, its head and its tail came. */
static void mark_way(struct ns_bgp_node *node,
                     const struct ns_torus_packet *packet)
{
    struct ns_engine *engine = node->component.engine;
    const struct ns_bgp_net *net = node->net;
    uint32_t hops = ns_torus_distance(net->torus, packet->source, node->index);

    ns_mark(engine, NS_STAGE_INJECT, packet->started_ps);
    ns_mark(engine, NS_STAGE_HEAD,
            packet->started_ps + hops * net->machine->torus.hop_cycles *
                                         net->machine->torus.clock_ps);
    ns_bgp_mark(node, NS_STAGE_TAIL);
}

static void torus_deliver(void *nic, struct ns_torus_packet *packet)
{
    struct ns_bgp_node *node = nic;

    if (packet->destination != node->index) { /* a copy that was left here */
        node->group[0].process->stats[NS_NIC_STAT_SENT]++;
    }
    if (ns_marks_get(node->component.engine)->armed) {
        mark_way(node, packet);
    }
    NS_CHECK(node->offered == NULL);
    node->offered = packet;
    ns_bgp_receive_start(node);
}

static void torus_room(void *nic)
{
    ns_bgp_inject_start(nic);
}

const struct ns_torus_ops ns_bgp_torus_ops = {.deliver = torus_deliver,
                                              .room = torus_room};

/* ---------------------------------------------------------------- interrupt */

/* The handler makes the remote FIFO twice as large: what is in it keeps its
 * order, and moves, if at all, to the new half. */
static void interrupt_run(struct ns_event *event)
{
    struct ns_bgp_node *node =
            am_container(event, struct ns_bgp_node, interrupt);
    struct ns_bgp_group *group = node->full_group;
    struct ns_bgp_fifo *fifo = &group->injection[node->full_fifo];
    struct ns_memory *memory = &group->process->host->cpu.memory;
    struct ns_bgp_descriptor moved;

    NS_CHECK(fifo->size < fifo->size_max);
    node->full_group = NULL;
    group->process->stats[NS_BGP_STAT_INTERRUPTS]++;
    ns_host_steal(group->process->host, node->net->machine->bgp.interrupt_ps);
    for (uint32_t i = fifo->head; i != fifo->tail; i++) {
        uint32_t from = i % fifo->size, to = i % (2 * fifo->size);

        ns_memory_dma_read(memory, fifo->start + from * NS_BGP_DESCRIPTOR_BYTES,
                           &moved, sizeof(moved));
        ns_memory_dma_write(memory, fifo->start + to * NS_BGP_DESCRIPTOR_BYTES,
                            &moved, sizeof(moved));
    }
    fifo->size *= 2;
    ns_bgp_receive_retry(node);
}

void ns_bgp_receive_init(struct ns_bgp_node *node)
{
    ns_event_init(&node->receive.event, receive_run);
    ns_event_init(&node->interrupt, interrupt_run);
}
