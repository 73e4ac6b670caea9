/*
 * Links: serialisation, latency, virtual channels and their credits.
 */
#include "kernel/engine.h"

/* ------------------------------------------------------------------ credits */

uint32_t ns_link_units(const struct ns_link *link, uint32_t bytes)
{
    return link->unit_bytes == 0
                   ? 1
                   : (bytes + link->unit_bytes - 1) / link->unit_bytes;
}

/* May the packet start on this channel, as far as credits go? */
static bool credits_for(const struct ns_link *link, uint32_t vc, uint32_t bytes,
                        uint32_t spare)
{
    return link->vc[vc].credits >= ns_link_units(link, bytes) + spare;
}

bool ns_link_ready(const struct ns_link *link, uint32_t vc, uint32_t bytes,
                   uint32_t spare)
{
    return !link->busy && link->vc[vc].queued == 0 &&
           credits_for(link, vc, bytes, spare);
}

/* The first packet of a queue if there are credits for it, else NULL. */
static struct ns_packet *queue_look(const struct ns_link *link, uint32_t vc,
                                    const struct am_list *queue)
{
    struct ns_packet *packet;

    if (am_list_is_empty(queue)) {
        return NULL;
    }
    packet = am_container(queue->next, struct ns_packet, link);
    return credits_for(link, vc, packet->bytes, packet->spare) ? packet : NULL;
}

static void stall_begin(struct ns_link_vc *vc, uint64_t now_ps)
{
    if (!vc->stalled) {
        vc->stalled = true;
        vc->stall_from_ps = now_ps;
    }
}

static void stall_end(struct ns_link_vc *vc, uint64_t now_ps)
{
    if (vc->stalled) {
        vc->stalled = false;
        vc->stall_ps += now_ps - vc->stall_from_ps;
    }
}

/* Take the packet that goes next, channel by channel in turn; NULL: none. */
static struct ns_packet *link_pick(struct ns_link *link, uint64_t now_ps)
{
    uint32_t at = link->vc_turn;

    for (uint32_t i = 0; i < link->vc_count; i++) {
        struct ns_link_vc *vc = &link->vc[at];
        struct ns_packet *packet = NULL;

        if (vc->queued > 0) {
            packet = queue_look(link, at, &vc->queue);
            packet = packet != NULL ? packet
                                    : queue_look(link, at, &vc->entering);
        }
        if (packet != NULL) {
            am_list_remove(&packet->link);
            vc->queued--;
            link->queued--;
            return packet;
        }
        if (vc->queued > 0) {
            stall_begin(vc, now_ps);
        }
        at = at + 1 == link->vc_count ? 0 : at + 1;
    }
    return NULL;
}

/* -------------------------------------------------------------------- links */

/* The tail of a packet that the link loses is over. */
static void lost_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_packet_pool *pool = packet->pool;

    ns_link_release(packet);
    pool->lost++;
    pool->lost_bytes += packet->bytes;
    ns_packet_put(pool, packet);
}

/* The head arrives: the packet's own event, as a head is at one place. */
static void head_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_link *link = packet->at;

    if (link->fault.fault != NULL && ns_fault_arrive(link, packet)) {
        ns_trace(&link->component, NS_TRACE_DROP, packet->id, packet->bytes);
        ns_event_init(&packet->event, lost_run);
        ns_event_schedule(&link->component, &packet->event, NS_PHASE_WIRE,
                          packet->tail_ps);
        return;
    }
    packet->hop++;
    link->sink(link->sink_arg, link, packet);
}

/*
 * Put the packet on the wire.  Its tail leaves no sooner than it is in: a
 * faster link after a slower one waits for it.
 */
static void packet_start(struct ns_link *link, struct ns_packet *packet,
                         uint64_t now_ps)
{
    struct ns_link_vc *vc = &link->vc[packet->vc];
    uint64_t stall_ps =
            link->fault.fault == NULL
                    ? 0
                    : ns_fault_stall_ps(&link->fault, link->component.engine);
    uint64_t from_ps = now_ps + stall_ps;
    uint64_t end_ps =
            from_ps + ns_bytes_ps(packet->bytes, link->bytes_per_second);

    end_ps = end_ps > packet->tail_ps ? end_ps : packet->tail_ps;
    stall_end(vc, now_ps);
    link->vc_turn = packet->vc + 1u == link->vc_count ? 0 : packet->vc + 1u;
    link->busy = true;
    link->behind = packet->at;
    link->behind_vc = packet->at_vc;
    link->behind_units = packet->at_units;
    link->route = packet->route;
    link->packets++;
    link->bytes += packet->bytes;
    link->busy_ps += end_ps - now_ps;
    packet->started_ps = packet->hop == 0 ? from_ps : packet->started_ps;
    packet->at = link;
    packet->at_vc = packet->vc;
    packet->at_units = ns_link_units(link, packet->bytes);
    vc->credits -= packet->at_units;
    packet->spare = 0;
    packet->tail_ps = end_ps + link->latency_ps;
    ns_trace_span(&link->component, NS_TRACE_LINK, 'B', packet->id,
                  (uint64_t)link->component.id << 32 | packet->bytes);
    ns_event_schedule(&link->component, &link->tail, NS_PHASE_WIRE, end_ps);
    ns_event_init(&packet->event, head_run);
    ns_event_schedule(&link->component, &packet->event, NS_PHASE_WIRE,
                      from_ps + link->latency_ps);
}

/* Start the next packet if the wire and its far buffer are free. */
static void link_start(struct ns_link *link)
{
    if (!link->busy && link->queued > 0) {
        uint64_t now_ps = ns_engine_now(link->component.engine);
        struct ns_packet *packet = link_pick(link, now_ps);

        if (packet != NULL) {
            packet_start(link, packet, now_ps);
        }
    }
}

/* Something has changed for the better: start a packet, or let the owner. */
static void link_freed(struct ns_link *link)
{
    link_start(link);
    if (!link->busy && link->freed != NULL) {
        link->freed(link->freed_arg, link);
    }
}

static void tail_run(struct ns_event *event)
{
    struct ns_link *link = am_container(event, struct ns_link, tail);
    struct ns_link *behind = link->behind;

    ns_trace_span(&link->component, NS_TRACE_LINK, 'E', 0,
                  (uint64_t)link->component.id << 32);
    link->busy = false;
    link->behind = NULL;
    if (behind != NULL) {
        ns_link_credit(behind, link->behind_vc, link->behind_units);
    }
    if (link->left != NULL) {
        link->left(link->sink_arg);
    }
    link_freed(link);
}

void ns_link_open(struct ns_link *link, struct ns_engine *engine,
                  const struct ns_link_params *params)
{
    *link = (struct ns_link){
            .latency_ps = params->latency_ps,
            .bytes_per_second = params->bytes_per_second,
            .unit_bytes = params->unit_bytes,
            .vc_count = params->vc_count,
            .sink = params->sink,
            .sink_arg = params->sink_arg,
    };
    NS_CHECK(params->bytes_per_second > 0);
    NS_CHECK(params->vc_count >= 1 && params->vc_count <= NS_LINK_VCS);
    for (uint32_t i = 0; i < params->vc_count; i++) {
        NS_CHECK(params->credits[i] > 0);
        link->vc[i].credits = params->credits[i];
        link->vc[i].credits_max = params->credits[i];
        am_list_init(&link->vc[i].queue);
        am_list_init(&link->vc[i].entering);
    }
    ns_component_init(&link->component, engine, params->name, params->node);
    ns_event_init(&link->tail, tail_run);
    ns_fault_init(link);
}

void ns_link_init(struct ns_link *link, struct ns_engine *engine,
                  const char *name, uint32_t node, uint64_t latency_ps,
                  uint64_t bytes_per_second, uint32_t credits,
                  ns_link_sink_fn sink, void *sink_arg)
{
    const struct ns_link_params params = {
            .name = name,
            .node = node,
            .latency_ps = latency_ps,
            .bytes_per_second = bytes_per_second,
            .vc_count = 1,
            .credits = {credits},
            .sink = sink,
            .sink_arg = sink_arg,
    };

    ns_link_open(link, engine, &params);
}

void ns_link_send(struct ns_link *link, struct ns_packet *packet)
{
    struct ns_link_vc *vc = &link->vc[packet->vc];

    NS_CHECK(packet->vc < link->vc_count);
    NS_CHECK(ns_link_units(link, packet->bytes) + packet->spare <=
             vc->credits_max);
    am_list_push(packet->spare == 0 ? &vc->queue : &vc->entering,
                 &packet->link);
    vc->queued++;
    link->queued++;
    link_start(link);
}

void ns_link_credit(struct ns_link *link, uint32_t vc, uint32_t units)
{
    NS_CHECK(vc < link->vc_count);
    NS_CHECK(units <= link->vc[vc].credits_max - link->vc[vc].credits);
    link->vc[vc].credits += units;
    if (!link->busy) {
        link_freed(link);
    }
}

void ns_link_release(struct ns_packet *packet)
{
    NS_CHECK(packet->at != NULL);
    ns_link_credit(packet->at, packet->at_vc, packet->at_units);
    packet->at = NULL;
}

bool ns_link_home(const struct ns_link *link)
{
    bool home = !link->busy && link->queued == 0;

    for (uint32_t i = 0; i < link->vc_count; i++) {
        home = home && link->vc[i].credits == link->vc[i].credits_max;
    }
    return home;
}

uint64_t ns_link_stall_ps(const struct ns_link *link)
{
    uint64_t stall_ps = 0;

    for (uint32_t i = 0; i < link->vc_count; i++) {
        stall_ps += link->vc[i].stall_ps;
    }
    return stall_ps;
}
