/*
 * The LANai's DMA engines: to and from the network, with credits, and to and
 * from host memory.
 */
#include "nic/lanai/lanai.h"

#include <string.h>

/* A packet's `route`, which the switches work out themselves, tells whether it
 * holds a send slot. */
enum {
    FROM_SLOT = 1
};

void ns_lanai_mark(struct ns_lanai *lanai, uint32_t stage)
{
    ns_mark(lanai->component.engine, stage,
            ns_engine_now(lanai->component.engine));
}

void ns_lanai_wake(struct ns_lanai *lanai)
{
    ns_clocked_wake(&lanai->processor);
}

/* ------------------------------------------------------------------ network */

/* Put a packet on the network with all the credits that its receiver is owed. */
void ns_lanai_inject(struct ns_lanai *lanai, struct ns_packet *packet)
{
    struct ns_lanai_peer *peer = &lanai->peers[packet->destination];
    struct ns_lanai_wire wire;

    memcpy(&wire, packet->data, sizeof(wire));
    wire.credits = (uint16_t)peer->owed;
    peer->owed = 0;
    memcpy(packet->data, &wire, sizeof(wire));
    lanai->stats[NS_NIC_STAT_SENT]++;
    ns_trace(&lanai->component, NS_TRACE_INJECT, packet->id, packet->bytes);
    ns_myrinet_inject(lanai->net, packet);
}

/* Packets for which credits have come go, in order. */
void ns_lanai_unblock(struct ns_lanai *lanai, struct ns_lanai_peer *peer)
{
    while (peer->credits > 0 && !am_list_is_empty(&peer->blocked)) {
        peer->credits--;
        ns_lanai_inject(lanai, am_container(am_list_pop(&peer->blocked),
                                            struct ns_packet, link));
    }
}

void ns_lanai_send_with_credit(struct ns_lanai *lanai, struct ns_packet *packet)
{
    struct ns_lanai_peer *peer = &lanai->peers[packet->destination];

    am_list_push(&peer->blocked, &packet->link);
    if (peer->credits == 0) {
        lanai->stats[NS_LANAI_STAT_CREDIT_WAIT]++;
    }
    ns_lanai_unblock(lanai, peer);
}

/* A new packet of `bytes` after the wire header. */
struct ns_packet *ns_lanai_packet_new(struct ns_lanai *lanai, uint32_t to,
                                      uint8_t type, uint32_t value,
                                      uint32_t bytes)
{
    struct ns_packet *packet = ns_packet_get(&lanai->net->pool);
    struct ns_lanai_wire wire = {.type = type, .value = value};

    NS_CHECK(packet != NULL);
    packet->id = (uint64_t)lanai->component.node << 40 | lanai->packet_count++;
    packet->source = lanai->component.node;
    packet->destination = to;
    packet->bytes = NS_LANAI_WIRE_BYTES + bytes;
    packet->route = type == NS_LANAI_DATA ? FROM_SLOT : 0;
    memcpy(packet->data, &wire, sizeof(wire));
    return packet;
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

/* A packet's tail has left: its send slot is to be given back.  Credits and
 * answers of the NI's own came from no slot. */
void ns_lanai_left(void *nic)
{
    struct ns_lanai *lanai = nic;

    lanai->sent_cleanups +=
            lanai->net->ports[lanai->component.node].inject.route == FROM_SLOT;
    ns_lanai_wake(lanai);
}

/* ----------------------------------------------------------- host DMA engine */

static void job_done(struct ns_bus_request *request);

static void job_start(struct ns_lanai *lanai)
{
    const struct ns_packet *packet = lanai->jobs[lanai->job_head].packet;

    ns_bus_dma(&lanai->host->bus, &lanai->dma,
               packet == NULL ? sizeof(uint32_t)
                              : packet->bytes - NS_LANAI_WIRE_BYTES,
               job_done);
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

    ns_memory_dma_read(&lanai->host->memory, job->address,
                       packet->data + NS_LANAI_WIRE_BYTES,
                       packet->bytes - NS_LANAI_WIRE_BYTES);
    ns_trace(&lanai->component, NS_TRACE_DMA_OUT, packet->id, packet->bytes);
    ns_lanai_mark(lanai, NS_STAGE_DMA_OUT);
    ns_lanai_send_with_credit(lanai, packet);
    ns_lanai_wake(lanai);
}

/* A packet is with the host: its SRAM buffer is to be released. */
static void in_done(struct ns_lanai *lanai, const struct ns_lanai_job *job)
{
    struct ns_packet *packet = job->packet;

    ns_memory_dma_write(&lanai->host->memory, job->address,
                        packet->data + NS_LANAI_WIRE_BYTES,
                        packet->bytes - NS_LANAI_WIRE_BYTES);
    lanai->stats[NS_NIC_STAT_RECEIVED]++;
    ns_trace(&lanai->component, NS_TRACE_DMA_IN, packet->id, packet->bytes);
    ns_lanai_mark(lanai, NS_STAGE_DMA_IN);
    am_list_push(&lanai->done_queue, &packet->link);
    ns_host_notify(lanai->host);
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
        ns_memory_dma_write(&lanai->host->memory, job.address,
                            &lanai->send_done, sizeof(lanai->send_done));
        ns_host_notify(lanai->host);
    } else if (job.in) {
        in_done(lanai, &job);
    } else {
        out_done(lanai, &job);
    }
}
