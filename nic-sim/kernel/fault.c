/*
 * Links that fail: packets dropped, bits flipped, stalls, buffers that overflow.
 */
#include "kernel/engine.h"

#include <stdio.h>
#include <string.h>

const struct ns_fault_counts *ns_engine_faults(const struct ns_engine *engine)
{
    return &engine->faults;
}

bool ns_engine_faulty(const struct ns_engine *engine)
{
    const struct ns_fault *fault = engine->params.fault;

    return fault != NULL &&
           (fault->drop | fault->corrupt | fault->stall | fault->overflow) >>
                           32 !=
                   0;
}

const char *ns_engine_fault_wrong(const struct ns_engine *engine, char *text,
                                  size_t bytes)
{
    size_t used;

    if (!ns_engine_faulty(engine) || engine->faulty_links > 0) {
        return NULL;
    }
    used = (size_t)snprintf(text, bytes,
                            "net.fault.port is \"%s\"; there are any",
                            engine->params.fault->port);
    for (uint32_t i = 0;
         i < NS_LINK_NAMES && used < bytes && engine->links[i].name != NULL;
         i++) {
        used += (size_t)snprintf(text + used, bytes - used, ", %s, %s.0 to %u",
                                 engine->links[i].name, engine->links[i].name,
                                 engine->links[i].count - 1);
    }
    return text;
}

/* --------------------------------------------------------------------- ports */

/* How many links of this name there were before. */
static uint32_t number_take(struct ns_engine *engine, const char *name)
{
    for (uint32_t i = 0; i < NS_LINK_NAMES; i++) {
        if (engine->links[i].name == NULL) {
            engine->links[i].name = name;
        }
        if (strcmp(engine->links[i].name, name) == 0) {
            return engine->links[i].count++;
        }
    }
    NS_CHECK(!"fewer names of links");
    return 0;
}

static bool port_is(const char *name, uint32_t number, const char *port)
{
    char own[64];

    snprintf(own, sizeof(own), "%s.%u", name, number);
    return strcmp(port, "any") == 0 || strcmp(port, name) == 0 ||
           strcmp(port, own) == 0;
}

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* splitmix64 */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t ns_fault_port_init(struct ns_fault_port *port,
                            struct ns_engine *engine, const char *name,
                            uint64_t stream)
{
    const struct ns_fault *fault = engine->params.fault;
    uint32_t number = number_take(engine, name);

    *port = (struct ns_fault_port){0};
    if (fault != NULL && port_is(name, number, fault->port)) {
        port->fault = fault;
        engine->faulty_links++;
        /* Mixed, or a link would draw its neighbour's numbers one later. */
        port->random = mix(engine->params.seed ^ stream * STEP);
    }
    return number;
}

void ns_fault_init(struct ns_link *link)
{
    struct ns_engine *engine = link->component.engine;

    link->number =
            ns_fault_port_init(&link->fault, engine, link->component.name,
                               link->component.id + UINT64_C(1));
    link->next_link = engine->first_link;
    engine->first_link = link;
}

/* -------------------------------------------------------------------- faults */

/* What becomes of a packet on a link. */
typedef enum {
    WELL,
    LOST,
    SPOILT
} verdict_t;

static uint64_t draw(struct ns_fault_port *port)
{
    return mix(port->random += STEP);
}

static bool hit(struct ns_fault_port *port, uint64_t ratio)
{
    return ratio >> 32 != 0 && draw(port) % (uint32_t)ratio < ratio >> 32;
}

uint64_t ns_fault_stall_ps(struct ns_fault_port *port, struct ns_engine *engine)
{
    if (!hit(port, port->fault->stall)) {
        return 0;
    }
    engine->faults.stalled++;
    return port->fault->stall_ps;
}

/* What becomes of a packet whose head arrives at `time_ps`. */
static verdict_t verdict(struct ns_fault_port *port, struct ns_engine *engine,
                         uint64_t time_ps)
{
    const struct ns_fault *fault = port->fault;

    if (hit(port, fault->overflow)) {
        port->overflow_until_ps = time_ps + fault->overflow_ps;
    }
    if (time_ps < port->overflow_until_ps) {
        engine->faults.overflowed++;
        return LOST;
    }
    if (hit(port, fault->drop)) {
        engine->faults.dropped++;
        return LOST;
    }
    if (hit(port, fault->corrupt)) {
        engine->faults.corrupted++;
        return SPOILT;
    }
    return WELL;
}

static void packet_corrupt(struct ns_link *link, struct ns_packet *packet)
{
    uint32_t room = packet->pool->data_bytes == 0 ? NS_PACKET_BYTES_MAX
                                                  : packet->pool->data_bytes;
    uint64_t bit = draw(&link->fault) %
                   (8 * (packet->bytes < room ? packet->bytes : room));

    packet->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    packet->corrupt = true;
}

bool ns_fault_arrive(struct ns_link *link, struct ns_packet *packet)
{
    struct ns_engine *engine = link->component.engine;

    switch (verdict(&link->fault, engine, engine->now_ps)) {
    case LOST:
        return true;
    case SPOILT:
        packet_corrupt(link, packet);
        return false;
    default:
        return false;
    }
}

uint64_t ns_fault_resend_ps(struct ns_fault_port *port,
                            struct ns_component *component,
                            const struct ns_resend *resend)
{
    struct ns_engine *engine = component->engine;
    uint64_t late_ps = ns_fault_stall_ps(port, engine);

    for (uint32_t i = 0; i < NS_RESEND_MAX; i++) {
        uint64_t head_ps = engine->now_ps + late_ps + resend->head_ps;

        switch (verdict(port, engine, head_ps)) {
        case LOST:
            late_ps += resend->lost_ps;
            break;
        case SPOILT:
            late_ps += resend->spoilt_ps;
            break;
        default:
            return late_ps;
        }
        engine->faults.resent++;
        ns_trace_at(component, head_ps, NS_TRACE_DROP, resend->packet,
                    resend->bytes);
    }
    return NS_NEVER;
}
