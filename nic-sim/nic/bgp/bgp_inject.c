/*
 * The injecting engine: in turn over the FIFOs that have descriptors, a packet
 * at a time; one whose way is full waits, the others go on.  A FIFO's
 * first descriptor is fetched while the engine serves other FIFOs.
 */
#include "nic/bgp/bgp.h"

#include "base/assert.h"

#include <string.h>

/* Packets to this node itself that may wait for the receiving engine. */
#define LOCAL_MAX 4

AM_STATIC_ASSERT(sizeof(struct ns_bgp_descriptor) == NS_BGP_DESCRIPTOR_BYTES,
                 "a descriptor");
AM_STATIC_ASSERT(sizeof(struct ns_bgp_header) == NS_BGP_HEADER_BYTES,
                 "a packet's header");
AM_STATIC_ASSERT(NS_BGP_HEADER_BYTES + NS_BGP_PAYLOAD_BYTES ==
                         NS_TORUS_BYTES_MAX,
                 "a full packet");

static uint32_t fifo_address(const struct ns_bgp_fifo *fifo, uint32_t number)
{
    return fifo->start + number % fifo->size * NS_BGP_DESCRIPTOR_BYTES;
}

void ns_bgp_fifo_push(struct ns_bgp_group *group, uint32_t index,
                      const struct ns_bgp_descriptor *descriptor)
{
    struct ns_bgp_fifo *fifo = &group->injection[index];

    NS_CHECK(fifo->tail - fifo->head < fifo->size);
    ns_memory_dma_write(&group->process->host->cpu.memory,
                        fifo_address(fifo, fifo->tail), descriptor,
                        sizeof(*descriptor));
    fifo->tail++;
    group->sets->active |= 1u << index;
    ns_bgp_inject_start(group->process->node);
}

/* Is the descriptor one that can be sent?  Remote ones came from peers. */
static bool descriptor_good(const struct ns_bgp_net *net,
                            const struct ns_bgp_descriptor *d)
{
    return d->kind >= NS_BGP_MEMORY_FIFO && d->kind <= NS_BGP_REMOTE_GET &&
           d->destination < net->processes && d->group < NS_BGP_GROUPS &&
           (d->kind != NS_BGP_MEMORY_FIFO || d->bytes <= UINT16_MAX) &&
           (d->kind != NS_BGP_REMOTE_GET ||
            d->bytes == NS_BGP_DESCRIPTOR_BYTES);
}

static void descriptor_end(struct ns_bgp_group *group, struct ns_bgp_fifo *fifo)
{
    uint32_t index = (uint32_t)(fifo - group->injection);

    group->sets->begun &= ~(1u << index);
    fifo->head++;
    if (fifo->head == fifo->tail) {
        group->sets->active &= ~(1u << index);
    }
    group->status.heads[index] = fifo->head;
    if (fifo->size_max != 0) { /* a remote get may be waiting for the place */
        ns_bgp_receive_retry(group->process->node);
        return;
    }
    group->status.injected++;
    ns_bgp_status_write(group);
    ns_bgp_head_write(group, index);
    ns_host_notify(group->process->host);
}

/* Fetch the first descriptor; a bad one is dropped. */
static void descriptor_begin(struct ns_bgp_group *group,
                             struct ns_bgp_fifo *fifo)
{
    struct ns_bgp_process *process = group->process;

    ns_memory_dma_read(&process->host->cpu.memory,
                       fifo_address(fifo, fifo->head), &fifo->present,
                       sizeof(fifo->present));
    fifo->sent_bytes = 0;
    group->sets->begun |= 1u << (fifo - group->injection);
    fifo->ready_ps =
            ns_engine_now(process->node->component.engine) +
            ns_bgp_cycles_ps(
                    process->node->net,
                    process->node->net->machine->bgp.descriptor_cycles);
    if (!descriptor_good(process->node->net, &fifo->present)) {
        process->stats[NS_BGP_STAT_BAD]++;
        descriptor_end(group, fifo);
        return;
    }
    process->stats[NS_BGP_STAT_DESCRIPTORS]++;
}

/* The header of the FIFO's next packet. */
static void packet_begin(struct ns_bgp_group *group, struct ns_bgp_fifo *fifo)
{
    struct ns_bgp_process *process = group->process;
    struct ns_bgp_net *net = process->node->net;
    const struct ns_bgp_descriptor *d = &fifo->present;
    uint32_t left = d->bytes - fifo->sent_bytes;
    struct ns_bgp_header header = {
            .source = process->host->component.node,
            .kind = d->kind,
            .index = d->index,
            .payload = left < NS_BGP_PAYLOAD_BYTES ? (uint8_t)left
                                                   : NS_BGP_PAYLOAD_BYTES,
            .group = d->group,
    };
    struct ns_torus_packet *packet = ns_torus_packet_get(net->torus);

    NS_CHECK(packet != NULL);
    if (d->kind == NS_BGP_DIRECT_PUT) {
        header.u.offset = d->offset + fifo->sent_bytes;
    } else {
        memcpy(header.u.message.user, d->user, sizeof(d->user));
        header.u.message.total = (uint16_t)d->bytes;
        header.u.message.place = (uint16_t)fifo->sent_bytes;
    }
    packet->id = (uint64_t)header.source << 40 | process->packet_count++;
    packet->source = process->node->index;
    packet->destination = net->process[d->destination]->node->index;
    packet->receiver = d->destination;
    packet->bytes = (uint16_t)(NS_BGP_HEADER_BYTES + header.payload);
    packet->flags = d->flags & (NS_TORUS_ADAPTIVE | NS_TORUS_DEPOSIT);
    memcpy(packet->data, &header, sizeof(header));
    ns_torus_route(net->torus, packet);
    fifo->packet = packet;
}

static bool packet_has_room(const struct ns_bgp_node *node,
                            const struct ns_torus_packet *packet)
{
    return packet->destination == node->index
                   ? node->local_count < LOCAL_MAX
                   : ns_torus_has_room(node->net->torus, packet);
}

/* The payload as it is in memory now; zero, and a fault, where the DMA may not
 * read (a remote get names what its sender likes). */
static void packet_fill(struct ns_bgp_group *group, struct ns_bgp_fifo *fifo)
{
    const struct ns_bgp_descriptor *d = &fifo->present;
    struct ns_torus_packet *packet = fifo->packet;
    uint8_t *to = packet->data + NS_BGP_HEADER_BYTES;
    uint32_t bytes = packet->bytes - NS_BGP_HEADER_BYTES;
    uint64_t address = d->address + fifo->sent_bytes;
    struct ns_bgp_header header;

    if ((d->flags & NS_BGP_SHARED) != 0) {
        ns_memory_dma_read(&group->process->host->cpu.memory, (uint32_t)address,
                           to, bytes);
    } else if (fifo->size_max == 0 ||
               ns_bgp_reaches(group->process, address, bytes)) {
        (void)ns_memory_own_read(&group->process->host->cpu.memory, address, to,
                                 bytes);
    } else {
        group->process->stats[NS_BGP_STAT_FAULTS]++;
        memcpy(&header, packet->data, sizeof(header));
        header.group |= NS_BGP_FAULT;
        memcpy(packet->data, &header, sizeof(header));
        memset(to, 0, bytes);
    }
}

static void inject_run(struct ns_event *event)
{
    struct ns_bgp_node *node =
            am_container(event, struct ns_bgp_node, inject.event);
    struct ns_bgp_fifo *fifo = node->injecting;
    struct ns_bgp_group *group = node->injecting_group;
    struct ns_torus_packet *packet = fifo->packet;
    uint64_t *stats = group->process->stats;
    uint32_t payload = packet->bytes - NS_BGP_HEADER_BYTES;

    packet_fill(group, fifo);
    fifo->packet = NULL;
    fifo->sent_bytes += payload;
    stats[NS_NIC_STAT_SENT]++;
    ns_trace(&group->process->host->component, NS_TRACE_INJECT, packet->id,
             packet->bytes);
    ns_bgp_mark(node, NS_STAGE_DMA_OUT);
    if (fifo->present.count < NS_BGP_COUNTERS) {
        group->out[fifo->present.count] -= payload;
    }
    if (fifo->sent_bytes == fifo->present.bytes) {
        descriptor_end(group, fifo);
    }
    node->inject.busy = false;
    if (packet->destination == node->index) {
        stats[NS_BGP_STAT_LOCAL]++;
        ns_bgp_local(node, packet);
    } else {
        ns_torus_inject(node->net->torus, packet);
    }
    ns_bgp_inject_start(node);
}

/* The engine, which is idle, has to look again at `time_ps`. */
static void fetch_wait(struct ns_bgp_node *node, uint64_t time_ps)
{
    if (ns_event_pending(&node->fetched)) {
        if (node->fetched.time_ps <= time_ps) {
            return;
        }
        ns_event_cancel(node->component.engine, &node->fetched);
    }
    ns_event_schedule(&node->component, &node->fetched, NS_PHASE_NIC, time_ps);
}

/* May the FIFO's next packet go: is it here, and has its way room? */
static bool inject_ready(struct ns_bgp_node *node, struct ns_bgp_group *group,
                         struct ns_bgp_fifo *fifo)
{
    if (fifo->ready_ps > ns_engine_now(node->component.engine)) {
        fetch_wait(node, fifo->ready_ps);
        return false;
    }
    if (fifo->packet == NULL) {
        packet_begin(group, fifo);
    }
    return packet_has_room(node, fifo->packet);
}

static void inject_begin(struct ns_bgp_node *node, struct ns_bgp_group *group,
                         struct ns_bgp_fifo *fifo)
{
    const struct ns_machine *machine = node->net->machine;

    ns_bgp_mark(node, NS_STAGE_FW_OUT);
    fifo->turn = ++node->turn;
    node->likely =
            (uint32_t)(fifo - group->injection + 1) % NS_BGP_INJECTION_FIFOS;
    node->injecting = fifo;
    node->injecting_group = group;
    node->inject.busy = true;
    ns_event_schedule(
            &node->component, &node->inject.event, NS_PHASE_NIC,
            ns_engine_now(node->component.engine) +
                    ns_bgp_cycles_ps(node->net, machine->bgp.packet_cycles) +
                    ns_bus_dma_ps(&machine->bus, fifo->packet->bytes));
}

/* Ask for the first descriptors of all FIFOs; bad ones are dropped at once. */
static void fetch_all(struct ns_bgp_node *node)
{
    for (uint32_t g = 0; g < NS_BGP_GROUPS; g++) {
        const struct ns_bgp_sets *sets = &node->sets[g];
        struct ns_bgp_group *group = &node->group[g];
        uint32_t left;

        while ((left = sets->active & ~sets->begun) != 0) {
            ns_bgp_mark(node, NS_STAGE_SEEN);
            descriptor_begin(group, &group->injection[__builtin_ctz(left)]);
        }
    }
}

/* Bit i is FIFO (first + i) modulo their number. */
static uint32_t rotated(uint32_t fifos, uint32_t first)
{
    return fifos >> first |
           fifos << (NS_BGP_INJECTION_FIFOS - first) % NS_BGP_INJECTION_FIFOS;
}

/* Of the FIFOs that can, the one goes on that has waited longest.  Turns by
 * number alone would starve some: where all ways are full, whichever frees its
 * own next has two FIFOs, and always the same of these is nearer to the turn. */
void ns_bgp_inject_start(struct ns_bgp_node *node)
{
    struct ns_bgp_group *group = NULL;
    struct ns_bgp_fifo *next = NULL;

    fetch_all(node);
    for (uint32_t g = 0; g < NS_BGP_GROUPS && !node->inject.busy; g++) {
        uint32_t left = rotated(node->sets[g].active, node->likely);

        for (; left != 0; left &= left - 1) {
            uint32_t f = (uint32_t)__builtin_ctz(left) + node->likely;
            struct ns_bgp_fifo *fifo =
                    &node->group[g].injection[f % NS_BGP_INJECTION_FIFOS];

            if ((next == NULL || fifo->turn < next->turn) &&
                inject_ready(node, &node->group[g], fifo)) {
                next = fifo;
                group = &node->group[g];
            }
        }
    }
    if (next != NULL) {
        inject_begin(node, group, next);
    }
}

static void fetched_run(struct ns_event *event)
{
    ns_bgp_inject_start(am_container(event, struct ns_bgp_node, fetched));
}

void ns_bgp_inject_init(struct ns_bgp_node *node)
{
    ns_event_init(&node->inject.event, inject_run);
    ns_event_init(&node->fetched, fetched_run);
}
