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

const char *ns_engine_fault_wrong(const struct ns_engine *engine, char *text,
                                  size_t bytes)
{
    const struct ns_fault *fault = engine->params.fault;
    size_t used;

    if (fault == NULL || engine->faulty_links > 0 ||
        (fault->drop | fault->corrupt | fault->stall | fault->overflow) >> 32 ==
                0) {
        return NULL;
    }
    if (engine->links[0].name == NULL) {
        snprintf(text, bytes, "links of this network do not fail");
        return text;
    }
    used = (size_t)snprintf(text, bytes,
                            "net.fault.port is \"%s\"; there are any",
                            fault->port);
    for (uint32_t i = 0;
         i < NS_LINK_NAMES && used < bytes && engine->links[i].name != NULL;
         i++) {
        used += (size_t)snprintf(text + used, bytes - used, ", %s, %s.0 to %u",
                                 engine->links[i].name, engine->links[i].name,
                                 engine->links[i].count - 1);
    }
    return text;
}

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

static bool port_is(const struct ns_link *link, const char *port)
{
    const char *name = link->component.name;
    char own[64];

    snprintf(own, sizeof(own), "%s.%u", name, link->number);
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

static uint64_t draw(struct ns_link *link)
{
    return mix(link->fault_random += STEP);
}

void ns_fault_init(struct ns_link *link)
{
    struct ns_engine *engine = link->component.engine;
    const struct ns_fault *fault = engine->params.fault;

    link->number = number_take(engine, link->component.name);
    link->next_link = engine->first_link;
    engine->first_link = link;
    if (fault != NULL && port_is(link, fault->port)) {
        link->fault = fault;
        engine->faulty_links++;
        /* Mixed, or a link would draw its neighbour's numbers one later. */
        link->fault_random =
                mix(engine->params.seed ^ (link->component.id + 1) * STEP);
    }
}

static bool hit(struct ns_link *link, uint64_t ratio)
{
    return ratio >> 32 != 0 && draw(link) % (uint32_t)ratio < ratio >> 32;
}

uint64_t ns_fault_stall_ps(struct ns_link *link)
{
    if (!hit(link, link->fault->stall)) {
        return 0;
    }
    link->component.engine->faults.stalled++;
    return link->fault->stall_ps;
}

static void packet_corrupt(struct ns_link *link, struct ns_packet *packet)
{
    uint32_t room = packet->pool->data_bytes == 0 ? NS_PACKET_BYTES_MAX
                                                  : packet->pool->data_bytes;
    uint64_t bit =
            draw(link) % (8 * (packet->bytes < room ? packet->bytes : room));

    packet->data[bit / 8] ^= (uint8_t)(1u << bit % 8);
    packet->corrupt = true;
    link->component.engine->faults.corrupted++;
}

bool ns_fault_arrive(struct ns_link *link, struct ns_packet *packet)
{
    struct ns_engine *engine = link->component.engine;

    if (hit(link, link->fault->overflow)) {
        link->overflow_until_ps = engine->now_ps + link->fault->overflow_ps;
    }
    if (engine->now_ps < link->overflow_until_ps) {
        engine->faults.overflowed++;
        return true;
    }
    if (hit(link, link->fault->drop)) {
        engine->faults.dropped++;
        return true;
    }
    if (hit(link, link->fault->corrupt)) {
        packet_corrupt(link, packet);
    }
    return false;
}
