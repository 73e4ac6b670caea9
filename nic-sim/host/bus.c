/*
 * Bus arbitration.
 */
#include "host/bus.h"

/* Time of the next burst, or of the whole programmed access. */
static uint64_t grant_ps(struct ns_bus *bus, struct ns_bus_request *request)
{
    uint64_t burst = request->bytes_left;

    if (!request->dma) {
        return request->hold_ps;
    }
    if (burst > bus->settings.burst_bytes) {
        burst = bus->settings.burst_bytes;
    }
    request->bytes_left -= burst;
    bus->dma_bytes += burst;
    return bus->settings.arbitration_ps +
           ns_bytes_ps(burst, bus->settings.bytes_per_second);
}

static void bus_grant(struct ns_bus *bus)
{
    struct am_list *node = am_list_pop(&bus->queue);
    uint64_t hold_ps;

    if (node == NULL) {
        bus->current = NULL;
        return;
    }
    bus->current = am_container(node, struct ns_bus_request, link);
    hold_ps = grant_ps(bus, bus->current);
    bus->busy_ps += hold_ps;
    ns_event_schedule(&bus->component, &bus->event, NS_PHASE_NIC,
                      ns_engine_now(bus->component.engine) + hold_ps);
}

static void bus_run(struct ns_event *event)
{
    struct ns_bus *bus = am_container(event, struct ns_bus, event);
    struct ns_bus_request *request = bus->current;
    bool over = !request->dma || request->bytes_left == 0;

    if (!over) {
        am_list_push(&bus->queue, &request->link);
    }
    bus_grant(bus);
    if (over) {
        request->done(request);
    }
}

static void bus_request(struct ns_bus *bus, struct ns_bus_request *request)
{
    am_list_push(&bus->queue, &request->link);
    if (bus->current == NULL) {
        bus_grant(bus);
    }
}

void ns_bus_init(struct ns_bus *bus, struct ns_engine *engine, uint32_t node,
                 const struct ns_bus_settings *settings)
{
    *bus = (struct ns_bus){.settings = *settings};
    am_list_init(&bus->queue);
    ns_component_init(&bus->component, engine, "bus", node);
    ns_event_init(&bus->event, bus_run);
}

void ns_bus_dma(struct ns_bus *bus, struct ns_bus_request *request,
                uint64_t bytes, void (*done)(struct ns_bus_request *request))
{
    *request = (struct ns_bus_request){
            .dma = true, .bytes_left = bytes, .done = done};
    bus_request(bus, request);
}

void ns_bus_pio(struct ns_bus *bus, struct ns_bus_request *request,
                uint64_t hold_ps, void (*done)(struct ns_bus_request *request))
{
    *request = (struct ns_bus_request){.hold_ps = hold_ps, .done = done};
    bus->pio_count++;
    bus_request(bus, request);
}

void ns_bus_ahead_dma(const struct ns_bus *bus, uint64_t time_ps,
                      uint64_t bytes, struct ns_ahead *ahead)
{
    uint64_t dma_ps = ns_bus_dma_ps(&bus->settings, bytes);

    if (bytes > bus->settings.burst_bytes) { /* others get in between */
        ahead->bus_ps = ns_ahead_first(ahead->bus_ps, time_ps);
        return;
    }
    ahead->next_ps = time_ps;
    ahead->next_bus_ps = dma_ps;
    if (ahead->bus_ps < time_ps + dma_ps) {
        ahead->bus_ps = time_ps + dma_ps; /* it does one after the other */
    }
}

void ns_bus_ahead(const struct ns_bus *bus, struct ns_ahead *ahead)
{
    if (bus->current != NULL) {
        ahead->free_ps = bus->event.time_ps;
        ahead->shared = bus->current->dma && bus->current->bytes_left > 0;
    }
    if (ahead->shared || !am_list_is_empty(&bus->queue)) {
        ahead->next_ps = NS_NEVER;
        ahead->bus_ps = 0;
    }
}

uint64_t ns_bus_dma_ps(const struct ns_bus_settings *settings, uint64_t bytes)
{
    uint64_t total_ps = 0;

    while (bytes > 0) {
        uint64_t burst =
                bytes < settings->burst_bytes ? bytes : settings->burst_bytes;

        total_ps += settings->arbitration_ps +
                    ns_bytes_ps(burst, settings->bytes_per_second);
        bytes -= burst;
    }
    return total_ps;
}
