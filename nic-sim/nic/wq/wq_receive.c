/*
 * The receiving side of the NIC with work queues: packets go to buffers of the
 * host, to memory, or make work for this NIC.
 */
#include "nic/wq/wq.h"

#include <string.h>

static struct ns_wq_header header_of(const struct ns_packet *packet)
{
    struct ns_wq_header header;

    memcpy(&header, packet->data, sizeof(header));
    return header;
}

/* --------------------------------------------------------------- completions */

static void completion_write(struct ns_wq *wq, struct ns_wq_completion entry)
{
    uint32_t entries =
            ns_wq_completions((uint32_t)wq->settings->receive_entries);
    uint32_t at = wq->completions +
                  wq->completed % entries * NS_WQ_COMPLETION_BYTES;

    entry.count = ++wq->completed;
    ns_memory_dma_write(&wq->host->cpu.memory, at, &entry, sizeof(entry));
    ns_host_notify(wq->host);
}

static void op_complete(struct ns_wq *wq, uint32_t op, bool fault)
{
    if (op >= NS_WQ_OPS || !wq->open) {
        return;
    }
    wq->op[op].reads = false;
    completion_write(wq, (struct ns_wq_completion){
                                 .done = 1, .op = (uint8_t)op, .fault = fault});
}

/* ------------------------------------------------------------- kinds of packets */

static void land_send(struct ns_wq *wq, const struct ns_packet *packet,
                      const struct ns_wq_header *header)
{
    uint32_t buffer =
            wq->used++ % (uint32_t)wq->settings->receive_entries;
    struct ns_wq_completion entry = {.node = packet->source,
                                     .bytes = header->payload};

    memcpy(entry.user, header->user, sizeof(entry.user));
    ns_memory_dma_write(&wq->host->cpu.memory,
                        wq->receive_ring +
                                buffer * (uint32_t)wq->settings->mtu_bytes,
                        packet->data + sizeof(*header), header->payload);
    completion_write(wq, entry);
}

/* Into memory that peers may reach; the last packet is answered. */
static void land_write(struct ns_wq *wq, const struct ns_packet *packet,
                       const struct ns_wq_header *header)
{
    const struct ns_wq_descriptor what = {
            .kind = NS_WQ_ACK, .op = header->op, .node = packet->source};
    bool fault = !ns_wq_reaches(wq, header->remote, header->payload);

    if (fault) {
        wq->stats[NS_WQ_STAT_BAD]++;
    } else {
        (void)ns_memory_own_write(&wq->host->cpu.memory, header->remote,
                                  packet->data + sizeof(*header),
                                  header->payload);
        wq->stats[NS_WQ_STAT_WRITTEN_BYTES] += header->payload;
    }
    if (header->last && header->op != NS_WQ_OP_NONE) {
        ns_wq_answer(wq, &what, fault);
    }
}

static void land_read(struct ns_wq *wq, const struct ns_packet *packet,
                      const struct ns_wq_header *header)
{
    struct ns_wq_descriptor what = {
            .kind = NS_WQ_ANSWER,
            .op = header->op,
            .node = packet->source,
            .bytes = header->total,
            .address = header->remote,
            .remote = header->address,
    };
    bool fault = !ns_wq_reaches(wq, header->remote, header->total);

    if (fault) {
        wq->stats[NS_WQ_STAT_BAD]++;
        what.kind = NS_WQ_ACK;
    } else {
        wq->stats[NS_WQ_STAT_READ_BYTES] += header->total;
    }
    ns_wq_answer(wq, &what, fault);
}

/* What was read has come: into the memory of that READ and no other. */
static void land_answer(struct ns_wq *wq, const struct ns_packet *packet,
                        const struct ns_wq_header *header)
{
    const struct ns_wq_op *op =
            header->op < NS_WQ_OPS ? &wq->op[header->op] : NULL;

    if (op == NULL || !op->reads || header->remote < op->address ||
        header->payload > op->bytes ||
        header->remote - op->address > op->bytes - header->payload) {
        wq->stats[NS_WQ_STAT_BAD]++;
        return;
    }
    (void)ns_memory_own_write(&wq->host->cpu.memory, header->remote,
                              packet->data + sizeof(*header), header->payload);
    if (header->last) {
        op_complete(wq, header->op, header->fault != 0);
    }
}

static void land(struct ns_wq *wq, struct ns_packet *packet)
{
    const struct ns_wq_header header = header_of(packet);

    switch (header.kind) {
    case NS_WQ_SEND:
        land_send(wq, packet, &header);
        break;
    case NS_WQ_WRITE:
        land_write(wq, packet, &header);
        break;
    case NS_WQ_READ:
        land_read(wq, packet, &header);
        break;
    case NS_WQ_ANSWER:
        land_answer(wq, packet, &header);
        break;
    case NS_WQ_ACK:
        op_complete(wq, header.op, header.fault != 0);
        break;
    default:
        wq->stats[NS_WQ_STAT_BAD]++;
        break;
    }
}

static void land_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_wq *wq = packet->receiver;

    wq->landing--;
    if (!wq->open && header_of(packet).kind == NS_WQ_SEND) {
        wq->stats[NS_NIC_STAT_CLOSED]++;
    } else {
        land(wq, packet);
        wq->stats[NS_NIC_STAT_RECEIVED]++;
    }
    ns_trace(&wq->component, NS_TRACE_DMA_IN, packet->id, packet->bytes);
    ns_mark(wq->component.engine, NS_STAGE_DMA_IN, ns_wq_now(wq));
    ns_packet_put(&wq->net->pool, packet);
    ns_myrinet_taken(wq->net, wq->component.node);
    wq->stalled = false; /* it may have been no packet for a buffer */
    ns_wq_receive_start(wq);
}

/* --------------------------------------------------------------- the engine */

/* Is a buffer free that no packet on its way will use? */
static bool buffer_free(const struct ns_wq *wq)
{
    return wq->posted - wq->used > wq->landing;
}

/* When the packet is in memory: PCIe takes one after the other. */
static uint64_t land_time(struct ns_wq *wq, uint32_t payload)
{
    uint64_t time_ps = ns_wq_now(wq) + wq->settings->receive_ps;

    if (time_ps < wq->write_free_ps) {
        time_ps = wq->write_free_ps;
    }
    time_ps += ns_bus_dma_ps(&wq->machine->bus,
                             payload + NS_WQ_COMPLETION_BYTES);
    wq->write_free_ps = time_ps;
    time_ps += wq->settings->pcie_ps + wq->settings->write_ps;
    if (time_ps < wq->land_ps) {
        time_ps = wq->land_ps;
    }
    wq->land_ps = time_ps;
    return time_ps;
}

static void receive_run(struct ns_event *event)
{
    struct ns_wq *wq = am_container(event, struct ns_wq, receive_event);
    struct ns_packet *packet =
            am_container(wq->in_queue.next, struct ns_packet, link);
    const struct ns_wq_header header = header_of(packet);

    if (header.kind == NS_WQ_SEND && wq->open && !buffer_free(wq)) {
        wq->stats[NS_WQ_STAT_STALLS]++;
        wq->stalled = true; /* until the host posts one */
        return;
    }
    (void)am_list_pop(&wq->in_queue);
    ns_mark(wq->component.engine, NS_STAGE_FW_WAIT, ns_wq_now(wq));
    wq->receive_free_ps = ns_wq_now(wq) + wq->settings->packet_ps;
    wq->landing++;
    ns_event_init(&packet->event, land_run);
    ns_event_schedule(&wq->component, &packet->event, NS_PHASE_NIC,
                      land_time(wq, header.payload));
    ns_mark(wq->component.engine, NS_STAGE_FW_IN,
            ns_wq_now(wq) + wq->settings->receive_ps);
    ns_wq_receive_start(wq);
}

void ns_wq_receive_start(struct ns_wq *wq)
{
    uint64_t now_ps = ns_wq_now(wq);

    if (!am_list_is_empty(&wq->in_queue) &&
        !ns_event_pending(&wq->receive_event) && !wq->stalled) {
        ns_event_schedule(&wq->component, &wq->receive_event, NS_PHASE_NIC,
                          now_ps < wq->receive_free_ps ? wq->receive_free_ps
                                                       : now_ps);
    }
}

/* The packet's tail is in the NIC. */
static void tail_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_wq *wq = packet->receiver;

    ns_trace(&wq->component, NS_TRACE_ARRIVE, packet->id, packet->bytes);
    ns_mark(wq->component.engine, NS_STAGE_TAIL, ns_wq_now(wq));
    am_list_push(&wq->in_queue, &packet->link);
    ns_wq_receive_start(wq);
}

void ns_wq_deliver(void *nic, struct ns_packet *packet)
{
    struct ns_wq *wq = nic;

    ns_mark(wq->component.engine, NS_STAGE_INJECT, packet->started_ps);
    ns_mark(wq->component.engine, NS_STAGE_HEAD, ns_wq_now(wq));
    packet->receiver = wq;
    ns_event_init(&packet->event, tail_run);
    ns_event_schedule(&wq->component, &packet->event, NS_PHASE_NIC,
                      packet->tail_ps);
}

void ns_wq_receive_init(struct ns_wq *wq)
{
    am_list_init(&wq->in_queue);
    ns_event_init(&wq->receive_event, receive_run);
}
