/*
 * Links: serialisation, latency, credits; and the pool of packets.
 */
#include "nicsim.h"

#include <stdlib.h>

#define SLAB_PACKETS 64

/* ------------------------------------------------------------------ packets */

static bool slab_add(struct ns_packet_pool *pool)
{
    struct ns_packet **slabs =
            realloc(pool->slabs, (pool->slab_count + 1) * sizeof(*pool->slabs));
    struct ns_packet *slab;

    if (slabs == NULL) {
        return false;
    }
    pool->slabs = slabs;
    slab = calloc(SLAB_PACKETS, sizeof(*slab));
    if (slab == NULL) {
        return false;
    }
    pool->slabs[pool->slab_count++] = slab;
    for (uint32_t i = 0; i < SLAB_PACKETS; i++) {
        slab[i].free_next = pool->free;
        pool->free = &slab[i];
    }
    return true;
}

struct ns_packet *ns_packet_get(struct ns_packet_pool *pool)
{
    struct ns_packet *packet;

    if (pool->free == NULL && !slab_add(pool)) {
        return NULL;
    }
    packet = pool->free;
    pool->free = packet->free_next;
    pool->out++;
    am_list_init(&packet->link);
    packet->event.slot = 0;
    packet->hop = 0;
    packet->at = NULL;
    return packet;
}

void ns_packet_put(struct ns_packet_pool *pool, struct ns_packet *packet)
{
    NS_CHECK(pool->out > 0 && packet->event.slot == 0);
    packet->free_next = pool->free;
    pool->free = packet;
    pool->out--;
}

void ns_packet_pool_fini(struct ns_packet_pool *pool)
{
    for (uint32_t i = 0; i < pool->slab_count; i++) {
        free(pool->slabs[i]);
    }
    free(pool->slabs);
    *pool = (struct ns_packet_pool){0};
}

/* -------------------------------------------------------------------- links */

/* The head arrives: the packet's own event, as a head is at one place. */
static void head_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_link *link = packet->at;

    packet->hop++;
    link->sink(link->sink_arg, link, packet);
}

/* Start the first packet of the queue if wire and far buffer are free. */
static void link_start(struct ns_link *link)
{
    uint64_t now_ps = ns_engine_now(link->component.engine);
    struct ns_packet *packet;
    uint64_t wire_ps;

    if (link->busy || am_list_is_empty(&link->queue)) {
        return;
    }
    if (link->credits == 0) {
        link->stall_from_ps = now_ps;
        return;
    }
    packet = am_container(am_list_pop(&link->queue), struct ns_packet, link);
    link->queued--;
    link->credits--;
    link->busy = true;
    link->behind = packet->at;
    link->route = packet->route;
    packet->started_ps = packet->hop == 0 ? now_ps : packet->started_ps;
    packet->at = link;
    wire_ps = ns_bytes_ps(packet->bytes, link->bytes_per_second);
    link->packets++;
    link->bytes += packet->bytes;
    link->busy_ps += wire_ps;
    ns_event_schedule(&link->component, &link->tail, NS_PHASE_WIRE,
                      now_ps + wire_ps);
    ns_event_init(&packet->event, head_run);
    ns_event_schedule(&link->component, &packet->event, NS_PHASE_WIRE,
                      now_ps + link->latency_ps);
}

static void tail_run(struct ns_event *event)
{
    struct ns_link *link = am_container(event, struct ns_link, tail);
    struct ns_link *behind = link->behind;

    link->busy = false;
    link->behind = NULL;
    if (behind != NULL) {
        ns_link_credit(behind);
    }
    if (link->left != NULL) {
        link->left(link->sink_arg);
    }
    link_start(link);
}

void ns_link_init(struct ns_link *link, struct ns_engine *engine,
                  const char *name, uint32_t node, uint64_t latency_ps,
                  uint64_t bytes_per_second, uint32_t credits,
                  ns_link_sink_fn sink, void *sink_arg)
{
    *link = (struct ns_link){
            .latency_ps = latency_ps,
            .bytes_per_second = bytes_per_second,
            .credits = credits,
            .credits_max = credits,
            .sink = sink,
            .sink_arg = sink_arg,
    };
    NS_CHECK(credits > 0 && bytes_per_second > 0);
    am_list_init(&link->queue);
    ns_component_init(&link->component, engine, name, node);
    ns_event_init(&link->tail, tail_run);
}

void ns_link_send(struct ns_link *link, struct ns_packet *packet)
{
    am_list_push(&link->queue, &packet->link);
    link->queued++;
    link_start(link);
}

void ns_link_credit(struct ns_link *link)
{
    NS_CHECK(link->credits < link->credits_max);
    if (link->credits == 0 && !link->busy && link->queued > 0) {
        link->stall_ps +=
                ns_engine_now(link->component.engine) - link->stall_from_ps;
    }
    link->credits++;
    link_start(link);
}
