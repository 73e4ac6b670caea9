/*
 * The LANai's DMA engines: to and from the network, with the CRC, and to and
 * from host memory, with the watchdog of what the host has not taken.
 */
#include "nic/lanai/lanai.h"

#include <string.h>

void ns_lanai_mark(struct ns_lanai *lanai, uint32_t stage)
{
    ns_mark(lanai->component.engine, stage,
            ns_engine_now(lanai->component.engine));
}

void ns_lanai_wake(struct ns_lanai *lanai)
{
    ns_clocked_wake(&lanai->processor);
}

/* ---------------------------------------------------------------------- CRC */

/* Of a whole packet, as if its field were 0. */
static uint32_t packet_crc(const struct ns_lanai *lanai,
                           struct ns_packet *packet)
{
    struct ns_lanai_wire *wire = ns_lanai_wire_of(packet);
    uint32_t kept = wire->crc;
    uint32_t crc;

    wire->crc = 0;
    crc = am_crc32c_add(&lanai->net->crc32c, 0, packet->data, packet->bytes);
    wire->crc = kept;
    return crc;
}

bool ns_lanai_crc_good(const struct ns_lanai *lanai, struct ns_packet *packet)
{
    return ns_lanai_wire_of(packet)->crc == packet_crc(lanai, packet);
}

/* ------------------------------------------------------------------ packets */

static struct ns_packet *packet_get(struct ns_lanai *lanai)
{
    struct ns_packet *packet = ns_packet_get(&lanai->net->pool);

    NS_CHECK(packet != NULL);
    packet->id = (uint64_t)lanai->component.node << 40 | lanai->packet_count++;
    packet->source = lanai->component.node;
    packet->route = NS_LANAI_FREES_NOTHING;
    return packet;
}

struct ns_packet *ns_lanai_packet_new(struct ns_lanai *lanai, uint32_t to,
                                      uint8_t type, uint32_t value,
                                      uint32_t bytes)
{
    struct ns_packet *packet = packet_get(lanai);

    packet->destination = to;
    packet->bytes = NS_LANAI_WIRE_BYTES + bytes;
    *ns_lanai_wire_of(packet) =
            (struct ns_lanai_wire){.type = type, .value = value};
    return packet;
}

struct ns_packet *ns_lanai_packet_copy(struct ns_lanai *lanai,
                                       const struct ns_packet *packet)
{
    struct ns_packet *copy = packet_get(lanai);

    copy->destination = packet->destination;
    copy->bytes = packet->bytes;
    memcpy(copy->data, packet->data, packet->bytes);
    return copy;
}

void ns_lanai_drop(struct ns_lanai *lanai, struct ns_packet *packet,
                   uint32_t stat)
{
    lanai->stats[NS_NIC_STAT_DROPPED]++;
    lanai->stats[stat]++;
    ns_trace(&lanai->component, NS_TRACE_DROP, packet->id, packet->bytes);
    ns_packet_put(&lanai->net->pool, packet);
    ns_myrinet_taken(lanai->net, lanai->component.node);
}

/* ------------------------------------------------------------------ network */

void ns_lanai_inject(struct ns_lanai *lanai, struct ns_packet *packet)
{
    struct ns_lanai_peer *peer = &lanai->peers[packet->destination];
    struct ns_lanai_wire *wire = ns_lanai_wire_of(packet);

    if (lanai->settings->reliability == NS_LANAI_NONE) {
        wire->told = (uint16_t)peer->owed;
    } else {
        wire->told = peer->wanted;
    }
    peer->owed = 0;
    peer->tell_at_ps = NS_NEVER;
    wire->crc = packet_crc(lanai, packet);
    lanai->stats[NS_NIC_STAT_SENT]++;
    ns_trace(&lanai->component, NS_TRACE_INJECT, packet->id, packet->bytes);
    ns_myrinet_inject(lanai->net, packet);
}

static void tail_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_lanai *lanai = packet->receiver;

    ns_trace(&lanai->component, NS_TRACE_ARRIVE, packet->id, packet->bytes);
    ns_lanai_mark(lanai, NS_STAGE_TAIL);
    am_list_push(&lanai->in_queue, &packet->link);
    ns_lanai_wake(lanai);
}

void ns_lanai_deliver(void *nic, struct ns_packet *packet)
{
    struct ns_lanai *lanai = nic;
    struct ns_engine *engine = lanai->component.engine;

    ns_mark(engine, NS_STAGE_INJECT, packet->started_ps);
    ns_lanai_mark(lanai, NS_STAGE_HEAD);
    packet->receiver = lanai;
    ns_event_init(&packet->event, tail_run);
    ns_event_schedule(
            &lanai->component, &packet->event, NS_PHASE_NIC,
            ns_engine_now(engine) +
                    ns_bytes_ps(packet->bytes,
                                lanai->net->settings.link_bytes_per_second));
}

/* A packet's tail has left. */
void ns_lanai_left(void *nic)
{
    struct ns_lanai *lanai = nic;

    ns_lanai_frees(lanai,
                   lanai->net->ports[lanai->component.node].inject.route);
    ns_lanai_wake(lanai);
}

/* ----------------------------------------------------------- host DMA engine */

static void job_done(struct ns_bus_request *request);

uint64_t ns_lanai_job_bytes(const struct ns_lanai *lanai, uint32_t index)
{
    const struct ns_packet *packet =
            lanai->jobs[(lanai->job_head + index) % lanai->jobs_max].packet;

    return packet == NULL ? sizeof(uint32_t)
                          : packet->bytes - NS_LANAI_WIRE_BYTES;
}

void ns_lanai_dma_start_run(struct ns_event *event)
{
    struct ns_lanai *lanai = am_container(event, struct ns_lanai, dma_start);

    ns_bus_dma(&lanai->host->bus, &lanai->dma, ns_lanai_job_bytes(lanai, 0),
               job_done);
}

/* The engine and the bridge need their time first, whatever the NI's clock is;
 * the bus is free for others meanwhile. */
static void job_start(struct ns_lanai *lanai)
{
    uint64_t start_ps = lanai->settings->dma_start_ps;

    if (start_ps == 0) {
        ns_lanai_dma_start_run(&lanai->dma_start);
        return;
    }
    ns_event_schedule(&lanai->component, &lanai->dma_start, NS_PHASE_NIC,
                      ns_engine_now(lanai->component.engine) + start_ps);
}

void ns_lanai_job_queue(struct ns_lanai *lanai, struct ns_lanai_job job)
{
    NS_CHECK(lanai->job_count < lanai->jobs_max);
    lanai->jobs[(lanai->job_head + lanai->job_count) % lanai->jobs_max] = job;
    lanai->job_count++;
    if (lanai->job_count == 1) {
        job_start(lanai);
    }
}

/* What is sent has come into SRAM. */
static void out_done(struct ns_lanai *lanai, const struct ns_lanai_job *job)
{
    struct ns_packet *packet = job->packet;
    uint32_t root = ns_lanai_wire_of(packet)->root;

    ns_memory_dma_read(&lanai->host->cpu.memory, job->address,
                       packet->data + NS_LANAI_WIRE_BYTES,
                       packet->bytes - NS_LANAI_WIRE_BYTES);
    ns_trace(&lanai->component, NS_TRACE_DMA_OUT, packet->id, packet->bytes);
    ns_lanai_mark(lanai, NS_STAGE_DMA_OUT);
    if (ns_lanai_wire_of(packet)->type == NS_LANAI_MCAST) {
        ns_lanai_mcast_start(lanai, packet, root, packet->route);
    } else {
        ns_lanai_flow_send(lanai, packet);
    }
    ns_lanai_wake(lanai);
}

/* Has the host taken something since it was last looked at?  If not, it is
 * interrupted. */
void ns_lanai_watchdog_run(struct ns_event *event)
{
    struct ns_lanai *lanai = am_container(event, struct ns_lanai, watchdog);

    if (!lanai->interrupts || lanai->arrived == lanai->polled) {
        return;
    }
    if (lanai->polled == lanai->polled_then && ns_host_interrupt(lanai->host)) {
        lanai->stats[NS_LANAI_STAT_INTERRUPTS]++;
    }
    lanai->polled_then = lanai->polled;
    ns_event_schedule(&lanai->component, event, NS_PHASE_NIC,
                      ns_engine_now(lanai->component.engine) +
                              lanai->settings->watchdog_ps);
}

/* The host has something to see. */
static void arrived(struct ns_lanai *lanai)
{
    lanai->arrived++;
    ns_host_notify(lanai->host);
    if (lanai->interrupts && !ns_event_pending(&lanai->watchdog)) {
        lanai->polled_then = lanai->polled;
        ns_event_schedule(&lanai->component, &lanai->watchdog, NS_PHASE_NIC,
                          ns_engine_now(lanai->component.engine) +
                                  lanai->settings->watchdog_ps);
    }
}

/* A packet is with the host: its SRAM buffer is to be released. */
static void in_done(struct ns_lanai *lanai, const struct ns_lanai_job *job)
{
    struct ns_packet *packet = job->packet;

    ns_memory_dma_write(&lanai->host->cpu.memory, job->address,
                        packet->data + NS_LANAI_WIRE_BYTES,
                        packet->bytes - NS_LANAI_WIRE_BYTES);
    lanai->stats[NS_NIC_STAT_RECEIVED]++;
    ns_trace(&lanai->component, NS_TRACE_DMA_IN, packet->id, packet->bytes);
    ns_lanai_mark(lanai, NS_STAGE_DMA_IN);
    if (ns_lanai_wire_of(packet)->type == NS_LANAI_COPY) {
        ns_lanai_copy_done(lanai, packet);
        ns_host_notify(lanai->host);
    } else {
        arrived(lanai);
    }
    if (ns_lanai_group_host(lanai, packet)) {
        am_list_push(&lanai->done_queue, &packet->link);
    }
    ns_lanai_wake(lanai);
}

static void job_done(struct ns_bus_request *request)
{
    struct ns_lanai *lanai = am_container(request, struct ns_lanai, dma);
    struct ns_lanai_job job = lanai->jobs[lanai->job_head];

    lanai->job_head = (lanai->job_head + 1) % lanai->jobs_max;
    lanai->job_count--;
    if (lanai->job_count > 0) {
        job_start(lanai);
    }
    if (job.packet == NULL) {
        ns_memory_dma_write(&lanai->host->cpu.memory, job.address,
                            &lanai->send_done, sizeof(lanai->send_done));
        ns_host_notify(lanai->host);
    } else if (job.in) {
        in_done(lanai, &job);
    } else {
        out_done(lanai, &job);
    }
}
