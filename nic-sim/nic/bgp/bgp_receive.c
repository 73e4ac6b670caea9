/*
 * The receiving engine: where packets of each kind land, counters, and what is
 * done about packets that have no place.
 */
#include "nic/bgp/bgp.h"

#include <string.h>

static void mark(struct ns_bgp_node *node, uint32_t stage)
{
    ns_mark(node->component.engine, stage,
            ns_engine_now(node->component.engine));
}

void ns_bgp_status_write(struct ns_bgp_group *group)
{
    if (group->open) {
        ns_memory_dma_write(&group->process->host->memory,
                            group->status_address, &group->status,
                            NS_BGP_STATUS_SHORT);
    }
}

void ns_bgp_head_write(struct ns_bgp_group *group, uint32_t fifo)
{
    const uint32_t *head = &group->status.heads[fifo];

    if (group->open) {
        ns_memory_dma_write(&group->process->host->memory,
                            group->status_address +
                                    (uint32_t)((const uint8_t *)head -
                                               (const uint8_t *)&group->status),
                            head, sizeof(*head));
    }
}

bool ns_bgp_reaches(const struct ns_bgp_process *process, uint64_t base,
                    uint64_t bytes)
{
    for (uint32_t i = process->range_count; i-- > 0;) {
        const struct ns_bgp_range *range = &process->ranges[i];

        if (base >= range->base && base - range->base <= range->bytes &&
            bytes <= range->bytes - (base - range->base)) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------ kinds of them */

/* Bytes of a packet in a reception FIFO. */
static uint32_t fifo_bytes(const struct ns_torus_packet *packet)
{
    return (packet->bytes + NS_BGP_GRANULE - 1u) / NS_BGP_GRANULE *
           NS_BGP_GRANULE;
}

/* Into the FIFO, which goes round: at its end a packet may be in two parts. */
static bool land_fifo(struct ns_bgp_group *group, uint32_t index,
                      const struct ns_torus_packet *packet)
{
    struct ns_bgp_reception *fifo = &group->reception[index];
    struct ns_memory *memory = &group->process->host->memory;
    uint32_t bytes = fifo_bytes(packet);
    uint32_t at, first;

    if (fifo->tail - fifo->head + bytes > fifo->bytes) {
        return false;
    }
    at = fifo->tail % fifo->bytes;
    first = packet->bytes < fifo->bytes - at ? packet->bytes : fifo->bytes - at;
    ns_memory_dma_write(memory, fifo->start + at, packet->data, first);
    if (first < packet->bytes) {
        ns_memory_dma_write(memory, fifo->start, packet->data + first,
                            packet->bytes - first);
    }
    fifo->tail += bytes;
    if (index == 0) {
        group->status.received = fifo->tail;
        ns_bgp_status_write(group);
    }
    return true;
}

/* The memory at `offset` of a counter, NULL if it has not so much. */
static void *counter_memory(const struct ns_bgp_group *group,
                            const struct ns_bgp_header *header)
{
    const struct ns_bgp_counter *counter = &group->in[header->index];
    uint64_t offset = header->u.offset;

    if (header->index == NS_BGP_COUNTER_MEMORY) {
        return ns_bgp_reaches(group->process, offset, header->payload)
                       ? (void *)(uintptr_t)offset
                       : NULL;
    }
    return header->payload <= counter->value && offset <= counter->limit &&
                           header->payload <= counter->limit - offset
                   ? (void *)(uintptr_t)(counter->base + offset)
                   : NULL;
}

static void land_put(struct ns_bgp_group *group,
                     const struct ns_bgp_header *header,
                     const struct ns_torus_packet *packet)
{
    uint64_t *stats = group->process->stats;
    struct ns_bgp_counter *counter = &group->in[header->index];
    bool counted = header->index != NS_BGP_COUNTER_MEMORY;
    void *to = counter_memory(group, header);
    bool fault = to == NULL || (header->group & NS_BGP_FAULT) != 0;

    if (!fault) {
        memcpy(to, packet->data + NS_BGP_HEADER_BYTES, header->payload);
        stats[NS_BGP_STAT_PUT_BYTES] += header->payload;
    }
    stats[NS_BGP_STAT_FAULTS] += to == NULL;
    if (!counted || header->payload > counter->value) {
        return;
    }
    counter->value -= header->payload;
    if (fault) {
        group->status.faults |= UINT64_C(1) << header->index;
    }
    if (counter->value == 0) {
        group->status.hits |= UINT64_C(1) << header->index;
        ns_bgp_status_write(group);
    }
}

static bool land_get(struct ns_bgp_group *group,
                     const struct ns_bgp_header *header,
                     const struct ns_torus_packet *packet)
{
    struct ns_bgp_fifo *fifo = &group->injection[header->index];
    struct ns_bgp_node *node = group->process->node;
    struct ns_bgp_descriptor descriptor;

    if (fifo->tail - fifo->head == fifo->size) {
        node->full_group = group;
        node->full_fifo = header->index;
        return false;
    }
    memcpy(&descriptor, packet->data + NS_BGP_HEADER_BYTES, sizeof(descriptor));
    if (descriptor.kind != NS_BGP_DIRECT_PUT ||
        (descriptor.flags & NS_BGP_SHARED) != 0) {
        group->process->stats[NS_BGP_STAT_BAD]++;
        return true;
    }
    group->process->stats[NS_BGP_STAT_REMOTE_GETS]++;
    ns_bgp_fifo_push(group, header->index, &descriptor);
    return true;
}

/* Is the header one that this group can serve? */
static bool header_good(const struct ns_bgp_group *group,
                        const struct ns_bgp_header *header,
                        const struct ns_torus_packet *packet)
{
    switch (header->kind) {
    case NS_BGP_MEMORY_FIFO:
        return header->index < NS_BGP_RECEPTION_FIFOS &&
               group->reception[header->index].bytes > 0;
    case NS_BGP_DIRECT_PUT:
        return header->index <= NS_BGP_COUNTER_MEMORY;
    default:
        return header->index < NS_BGP_INJECTION_FIFOS &&
               group->injection[header->index].size_max > 0 &&
               packet->bytes == NS_BGP_HEADER_BYTES + NS_BGP_DESCRIPTOR_BYTES;
    }
}

/* The process and group that a packet is for: a deposited copy is for the
 * same one of the node that it was left at. */
static struct ns_bgp_group *group_of(struct ns_bgp_node *node,
                                     const struct ns_torus_packet *packet,
                                     const struct ns_bgp_header *header)
{
    uint32_t per_node = (uint32_t)node->net->machine->bgp.processes;
    uint32_t groups = NS_BGP_GROUPS / per_node;
    uint32_t group = header->group & ~(uint32_t)NS_BGP_FAULT;

    if (group >= groups) {
        return NULL;
    }
    return &node->group[packet->receiver % per_node * groups + group];
}

/* Land the engine's packet.  False: it has no place now. */
static bool land(struct ns_bgp_node *node)
{
    struct ns_torus_packet *packet = node->receive.packet;
    struct ns_bgp_header header;
    struct ns_bgp_group *group;
    uint64_t *stats;

    memcpy(&header, packet->data, sizeof(header));
    group = group_of(node, packet, &header);
    if (group == NULL || group->process == NULL) {
        group = &node->group[0];
        group->process->stats[NS_BGP_STAT_BAD]++;
        group->process->stats[NS_NIC_STAT_DROPPED]++;
        return true;
    }
    stats = group->process->stats;
    if (!group->open) {
        stats[NS_NIC_STAT_CLOSED]++;
        return true;
    }
    if (!header_good(group, &header, packet)) {
        stats[NS_BGP_STAT_BAD]++;
        stats[NS_NIC_STAT_DROPPED]++;
        return true;
    }
    if (header.kind == NS_BGP_DIRECT_PUT) {
        land_put(group, &header, packet);
    } else if (!(header.kind == NS_BGP_MEMORY_FIFO
                         ? land_fifo(group, header.index, packet)
                         : land_get(group, &header, packet))) {
        return false;
    }
    stats[NS_NIC_STAT_RECEIVED]++;
    ns_trace(&group->process->host->component, NS_TRACE_DMA_IN, packet->id,
             packet->bytes);
    mark(node, NS_STAGE_DMA_IN);
    ns_host_notify(group->process->host);
    return true;
}

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

/* Put the engine's packet where it belongs and go on, or stop. */
static void receive_land(struct ns_bgp_node *node)
{
    struct ns_torus_packet *packet = node->receive.packet;
    struct ns_bgp_process *first = node->group[0].process;

    node->stalled = !land(node);
    if (node->stalled) {
        first->stats[NS_BGP_STAT_STALLS]++;
        interrupt_raise(node);
        return;
    }
    node->receive.busy = false;
    node->receive.packet = NULL;
    node->full_group = NULL;
    ns_torus_packet_put(node->net->torus, packet);
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

    if (node->local != NULL && (packet == NULL || node->local_turn)) {
        packet = local_pop(node);
        ns_bgp_inject_start(node);
        return packet;
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
    mark(node, NS_STAGE_FW_WAIT);
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
    if (node->stalled) {
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
    mark(node, NS_STAGE_TAIL);
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
    struct ns_bgp_fifo *fifo;
    struct ns_memory *memory;
    struct ns_bgp_descriptor moved;

    if (group == NULL) {
        return; /* it has drained meanwhile */
    }
    fifo = &group->injection[node->full_fifo];
    memory = &group->process->host->memory;
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
