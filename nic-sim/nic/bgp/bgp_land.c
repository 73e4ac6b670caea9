/*
 * Where packets of each kind land: in memory, FIFOs and counters, and the
 * status block.  Which packet is next is bgp_receive.c's.
 */
#include "nic/bgp/bgp.h"

#include <string.h>

void ns_bgp_status_write(struct ns_bgp_group *group)
{
    if (group->open) {
        ns_memory_dma_write(&group->process->host->cpu.memory,
                            group->status_address, &group->status,
                            NS_BGP_STATUS_SHORT);
    }
}

void ns_bgp_head_write(struct ns_bgp_group *group, uint32_t fifo)
{
    const uint32_t *head = &group->status.heads[fifo];

    if (group->open) {
        ns_memory_dma_write(&group->process->host->cpu.memory,
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
    struct ns_memory *memory = &group->process->host->cpu.memory;
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

/* The address of `offset` of a counter, 0 if it has not so much. */
static uint64_t counter_memory(const struct ns_bgp_group *group,
                               const struct ns_bgp_header *header)
{
    const struct ns_bgp_counter *counter = &group->in[header->index];
    uint64_t offset = header->u.offset;

    if (header->index == NS_BGP_COUNTER_MEMORY) {
        return ns_bgp_reaches(group->process, offset, header->payload) ? offset
                                                                       : 0;
    }
    return header->payload <= counter->value && offset <= counter->limit &&
                           header->payload <= counter->limit - offset
                   ? counter->base + offset
                   : 0;
}

static void land_put(struct ns_bgp_group *group,
                     const struct ns_bgp_header *header,
                     const struct ns_torus_packet *packet)
{
    uint64_t *stats = group->process->stats;
    struct ns_bgp_counter *counter = &group->in[header->index];
    bool counted = header->index != NS_BGP_COUNTER_MEMORY;
    uint64_t to = counter_memory(group, header);
    bool fault = to == 0 || (header->group & NS_BGP_FAULT) != 0;

    if (!fault) {
        (void)ns_memory_own_write(&group->process->host->cpu.memory, to,
                                  packet->data + NS_BGP_HEADER_BYTES,
                                  header->payload);
        stats[NS_BGP_STAT_PUT_BYTES] += header->payload;
    }
    stats[NS_BGP_STAT_FAULTS] += to == 0;
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

bool ns_bgp_is_get(const struct ns_torus_packet *packet)
{
    struct ns_bgp_header header;

    memcpy(&header, packet->data, sizeof(header));
    return header.kind == NS_BGP_REMOTE_GET;
}

bool ns_bgp_land(struct ns_bgp_node *node, struct ns_torus_packet *packet)
{
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
    ns_bgp_mark(node, NS_STAGE_DMA_IN);
    ns_host_notify(group->process->host);
    return true;
}
