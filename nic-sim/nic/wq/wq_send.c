/*
 * The sending side of the NIC with work queues: descriptors, their packets, what
 * is told of them.
 */
#include "nic/wq/wq.h"

#include <stdlib.h>
#include <string.h>

static void send_start(struct ns_wq *wq);

/* A DMA read's answer begins to come back after this. */
static uint64_t read_ps(const struct ns_wq *wq)
{
    return 2 * wq->settings->pcie_ps + wq->settings->read_ps;
}

/* ------------------------------------------------------------------- memory */

bool ns_wq_reaches(const struct ns_wq *wq, uint64_t base, uint64_t bytes)
{
    for (uint32_t i = wq->range_count; i-- > 0;) {
        const struct ns_wq_range *range = &wq->ranges[i];

        if (base >= range->base && base - range->base <= range->bytes &&
            bytes <= range->bytes - (base - range->base)) {
            return true;
        }
    }
    return false;
}

/* --------------------------------------------------------------------- work */

static struct ns_wq_work *work_new(struct ns_wq *wq, bool own)
{
    struct ns_wq_work *work = calloc(1, sizeof(*work));

    NS_CHECK(work != NULL);
    work->own = own;
    am_list_push(own ? &wq->works : &wq->answers, &work->link);
    return work;
}

void ns_wq_rung(struct ns_wq *wq, uint32_t bell)
{
    NS_CHECK(bell - wq->done <= wq->settings->send_entries);
    ns_mark(wq->component.engine, NS_STAGE_BELL, ns_wq_now(wq));
    for (; wq->bell != bell; wq->bell++) {
        struct ns_wq_work *work = work_new(wq, true);

        work->slot = wq->bell % (uint32_t)wq->settings->send_entries;
        work->ready_ps =
                ns_wq_now(wq) + wq->settings->pcie_ps + read_ps(wq);
    }
    send_start(wq);
}

/* All stores of an inline packet are here. */
static void inline_take(struct ns_wq *wq)
{
    struct ns_wq_work *work = work_new(wq, true);

    memcpy(&work->what, wq->inlined, NS_WQ_SEND_BYTES);
    NS_CHECK(work->what.kind == NS_WQ_SEND && work->what.node < wq->net->nodes);
    work->fetched = work->is_inline = true;
    work->ready_ps = ns_wq_now(wq) + wq->settings->pcie_ps;
    work->packet = ns_packet_get(&wq->net->pool);
    NS_CHECK(work->packet != NULL);
    memcpy(work->packet->data + sizeof(struct ns_wq_header),
           wq->inlined + NS_WQ_SEND_BYTES, work->what.bytes);
    wq->bell++;
    wq->inlined_bytes = 0;
    wq->stats[NS_WQ_STAT_INLINE]++;
    ns_mark(wq->component.engine, NS_STAGE_BELL, ns_wq_now(wq));
    send_start(wq);
}

void ns_wq_inline(struct ns_wq *wq, uint32_t at, const void *from,
                  uint32_t bytes)
{
    struct ns_wq_descriptor what = {0};

    NS_CHECK(at == wq->inlined_bytes && at + bytes <= sizeof(wq->inlined));
    memcpy(wq->inlined + at, from, bytes);
    wq->inlined_bytes += bytes;
    if (wq->inlined_bytes < NS_WQ_SEND_BYTES) {
        return;
    }
    memcpy(&what, wq->inlined, NS_WQ_SEND_BYTES);
    NS_CHECK(what.bytes <= wq->settings->inline_bytes);
    if (wq->inlined_bytes == NS_WQ_SEND_BYTES + what.bytes) {
        inline_take(wq);
    }
}

void ns_wq_answer(struct ns_wq *wq, const struct ns_wq_descriptor *what,
                  bool fault)
{
    struct ns_wq_work *work = work_new(wq, false);

    work->what = *what;
    work->fault = fault;
    work->fetched = true;
    work->ready_ps = ns_wq_now(wq);
    send_start(wq);
}

/* ------------------------------------------------------------------ packets */

/* So many descriptors were sent: the host is told, with what comes meanwhile. */
static void done_tell(struct ns_wq *wq)
{
    if (!ns_event_pending(&wq->done_event) && wq->done_told != wq->done) {
        wq->done_telling = wq->done;
        ns_event_schedule(&wq->component, &wq->done_event, NS_PHASE_NIC,
                          ns_wq_now(wq) + wq->settings->pcie_ps +
                                  wq->settings->write_ps);
    }
}

static void done_run(struct ns_event *event)
{
    struct ns_wq *wq = am_container(event, struct ns_wq, done_event);

    wq->done_told = wq->done_telling;
    if (wq->open) {
        ns_memory_dma_write(&wq->host->cpu.memory, wq->done_at, &wq->done_told,
                            sizeof(wq->done_told));
        ns_host_notify(wq->host);
    }
    done_tell(wq);
}

static uint32_t slot_at(const struct ns_wq *wq, uint32_t slot)
{
    return wq->send_ring +
           slot * ns_wq_stride((uint32_t)wq->settings->mtu_bytes);
}

/* What the packet carries, as it is in memory now. */
static void packet_fill(struct ns_wq *wq, struct ns_packet *packet,
                        struct ns_wq_header *header)
{
    struct ns_memory *memory = &wq->host->cpu.memory;
    uint8_t *to = packet->data + sizeof(*header);
    uint64_t address = header->address;

    header->address = 0; /* it was where to read */
    if (header->kind == NS_WQ_SEND) {
        ns_memory_dma_read(memory, (uint32_t)address, to, header->payload);
    } else if (header->kind == NS_WQ_WRITE ||
               (!header->fault &&
                ns_wq_reaches(wq, address, header->payload))) {
        (void)ns_memory_own_read(memory, address, to, header->payload);
    } else {
        header->fault = 1; /* no longer there to be read */
        memset(to, 0, header->payload);
    }
}

static void packet_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_wq *wq = packet->receiver;
    struct ns_wq_header header;

    memcpy(&header, packet->data, sizeof(header));
    if (header.payload > 0 && header.address != 0) {
        packet_fill(wq, packet, &header);
        memcpy(packet->data, &header, sizeof(header));
    }
    if (header.kind <= NS_WQ_READ && header.last) {
        wq->done++;
        done_tell(wq);
    }
    wq->stats[NS_NIC_STAT_SENT]++;
    ns_trace(&wq->component, NS_TRACE_DMA_OUT, packet->id, packet->bytes);
    ns_mark(wq->component.engine, NS_STAGE_DMA_OUT, ns_wq_now(wq));
    ns_myrinet_inject(wq->net, packet);
}

/* Of the work's next packet: what it says, and how much of memory is in it. */
static struct ns_wq_header header_of(const struct ns_wq *wq,
                                     const struct ns_wq_work *work)
{
    const struct ns_wq_descriptor *what = &work->what;
    uint32_t left = what->bytes - work->sent_bytes;
    uint32_t mtu = (uint32_t)wq->settings->mtu_bytes;
    bool carries = what->kind != NS_WQ_READ && what->kind != NS_WQ_ACK;
    struct ns_wq_header header = {
            .kind = what->kind,
            .op = what->op,
            .fault = work->fault,
            .payload = (uint16_t)(!carries ? 0 : left < mtu ? left : mtu),
            .total = what->bytes,
            .remote = what->remote + (carries ? work->sent_bytes : 0),
            .address = what->address + (carries ? work->sent_bytes : 0),
    };

    header.last = !carries || header.payload == left;
    memcpy(header.user, what->user, sizeof(header.user));
    if (what->kind == NS_WQ_SEND) {
        header.address = work->is_inline
                                 ? 0 /* the payload is here */
                                 : slot_at(wq, work->slot) + NS_WQ_SEND_BYTES;
    }
    return header;
}

/* When the packet's last byte is in the NIC and it may go: PCIe answers several
 * reads one after the other. */
static uint64_t inject_time(struct ns_wq *wq, const struct ns_wq_work *work,
                            uint32_t payload)
{
    uint64_t time_ps = ns_wq_now(wq);

    if (payload > 0 && !work->is_inline) {
        time_ps += read_ps(wq);
        if (time_ps < wq->read_free_ps) {
            time_ps = wq->read_free_ps;
        }
        time_ps += ns_bus_dma_ps(&wq->machine->bus, payload);
        wq->read_free_ps = time_ps;
    }
    time_ps += wq->settings->send_ps;
    if (time_ps < wq->inject_ps) {
        time_ps = wq->inject_ps; /* packets do not overtake */
    }
    wq->inject_ps = time_ps;
    return time_ps;
}

static void packet_begin(struct ns_wq *wq, struct ns_wq_work *work)
{
    struct ns_wq_header header = header_of(wq, work);
    struct ns_packet *packet = work->packet;

    if (packet == NULL) {
        packet = ns_packet_get(&wq->net->pool);
        NS_CHECK(packet != NULL);
    }
    work->packet = NULL;
    packet->id = (uint64_t)wq->component.node << 40 | wq->packet_count++;
    packet->source = wq->component.node;
    packet->destination = work->what.node;
    packet->route = 0;
    packet->bytes = (uint32_t)wq->settings->overhead_bytes + header.payload;
    packet->receiver = wq; /* until it leaves */
    memcpy(packet->data, &header, sizeof(header));
    wq->out_count++;
    work->sent_bytes += header.payload;
    ns_trace(&wq->component, NS_TRACE_FW, header.kind, packet->id);
    ns_mark(wq->component.engine, NS_STAGE_FW_OUT, ns_wq_now(wq));
    ns_event_init(&packet->event, packet_run);
    ns_event_schedule(&wq->component, &packet->event, NS_PHASE_NIC,
                      inject_time(wq, work, header.payload));
    if (header.last) {
        (void)am_list_pop(work->own ? &wq->works : &wq->answers);
        free(work);
    }
}

void ns_wq_left(void *arg)
{
    struct ns_wq *wq = arg;

    wq->out_count--;
    send_start(wq);
}

/* --------------------------------------------------------------- the engine */

/* Fetch what the descriptor says; false, and it is dropped, when it is wrong. */
static bool work_fetch(struct ns_wq *wq, struct ns_wq_work *work)
{
    struct ns_wq_descriptor *what = &work->what;

    if (work->fetched) {
        return true;
    }
    ns_memory_dma_read(&wq->host->cpu.memory, slot_at(wq, work->slot), what,
                       NS_WQ_REMOTE_BYTES);
    work->fetched = true;
    if (what->kind < NS_WQ_SEND || what->kind > NS_WQ_READ ||
        what->node >= wq->net->nodes ||
        (what->kind == NS_WQ_SEND && what->bytes > wq->settings->mtu_bytes) ||
        (what->kind != NS_WQ_SEND &&
         (what->bytes == 0 || wq->settings->rdma == 0))) {
        wq->stats[NS_WQ_STAT_BAD]++;
        (void)am_list_pop(&wq->works);
        free(work);
        wq->done++;
        done_tell(wq);
        return false;
    }
    if (what->kind == NS_WQ_READ && what->op < NS_WQ_OPS) {
        wq->op[what->op] = (struct ns_wq_op){true, what->address, what->bytes};
    }
    return true;
}

/* The work whose packet is next: own ones and peers' in turn; NULL: none. */
static struct ns_wq_work *work_next(struct ns_wq *wq)
{
    bool own = !am_list_is_empty(&wq->works);
    bool answers = !am_list_is_empty(&wq->answers);
    struct am_list *list = answers && (!own || wq->answers_turn) ? &wq->answers
                                                                 : &wq->works;
    struct ns_wq_work *work;

    if (!own && !answers) {
        return NULL;
    }
    work = am_container(list->next, struct ns_wq_work, link);
    if (work->ready_ps > ns_wq_now(wq) && answers && list == &wq->works) {
        /* its descriptor is on the way: a peer's work need not wait */
        work = am_container(wq->answers.next, struct ns_wq_work, link);
    }
    return work;
}

static void send_run(struct ns_event *event)
{
    struct ns_wq *wq = am_container(event, struct ns_wq, send_event);
    struct ns_wq_work *work = work_next(wq);

    if (work != NULL && work->ready_ps <= ns_wq_now(wq) &&
        wq->out_count < wq->settings->buffer_packets && work_fetch(wq, work)) {
        ns_mark(wq->component.engine, NS_STAGE_SEEN, ns_wq_now(wq));
        wq->answers_turn = work->own;
        wq->send_free_ps = ns_wq_now(wq) + wq->settings->packet_ps;
        packet_begin(wq, work);
    }
    send_start(wq);
}

/* Let the engine look again when there may be a packet to begin with. */
static void send_start(struct ns_wq *wq)
{
    struct ns_wq_work *work = work_next(wq);
    uint64_t time_ps = ns_wq_now(wq);

    if (work == NULL || wq->out_count >= wq->settings->buffer_packets) {
        return; /* work, or a packet that leaves, starts it */
    }
    time_ps = time_ps < wq->send_free_ps ? wq->send_free_ps : time_ps;
    time_ps = time_ps < work->ready_ps ? work->ready_ps : time_ps;
    if (ns_event_pending(&wq->send_event)) {
        if (wq->send_event.time_ps <= time_ps) {
            return;
        }
        ns_event_cancel(wq->component.engine, &wq->send_event);
    }
    ns_event_schedule(&wq->component, &wq->send_event, NS_PHASE_NIC, time_ps);
}

void ns_wq_send_init(struct ns_wq *wq)
{
    am_list_init(&wq->works);
    am_list_init(&wq->answers);
    ns_event_init(&wq->send_event, send_run);
    ns_event_init(&wq->done_event, done_run);
}

static void works_drop(struct ns_wq *wq, struct am_list *works)
{
    while (!am_list_is_empty(works)) {
        struct ns_wq_work *work =
                am_container(am_list_pop(works), struct ns_wq_work, link);

        if (work->packet != NULL) {
            ns_packet_put(&wq->net->pool, work->packet);
        }
        free(work);
    }
}

void ns_wq_forget(struct ns_wq *wq)
{
    works_drop(wq, &wq->works);
}

void ns_wq_send_fini(struct ns_wq *wq)
{
    works_drop(wq, &wq->works);
    works_drop(wq, &wq->answers);
}
