/*
 * An I/O bus: one user at a time.  Programmed I/O holds it for a fixed time;
 * DMA goes in bursts, each with its arbitration, and between bursts whoever
 * asked first is served (so a waiting host gets in between two bursts).
 */
#ifndef NS_HOST_BUS_H
#define NS_HOST_BUS_H

#include "host/ahead.h"
#include "nicsim_machine.h"

/* One use of the bus; embedded in its owner, pending at most once. */
struct ns_bus_request {
    struct am_list link;
    bool dma;
    uint64_t bytes_left; /* DMA */
    uint64_t hold_ps;    /* PIO */
    void (*done)(struct ns_bus_request *request);
};

struct ns_bus {
    struct ns_component component;
    struct ns_event event;
    struct ns_bus_settings settings;
    struct am_list queue;
    struct ns_bus_request *current;
    uint64_t busy_ps, dma_bytes, pio_count; /* statistics */
};

void ns_bus_init(struct ns_bus *bus, struct ns_engine *engine, uint32_t node,
                 const struct ns_bus_settings *settings);
/* `done` is called, in phase NIC, when the whole transfer is over. */
void ns_bus_dma(struct ns_bus *bus, struct ns_bus_request *request,
                uint64_t bytes, void (*done)(struct ns_bus_request *request));
void ns_bus_pio(struct ns_bus *bus, struct ns_bus_request *request,
                uint64_t hold_ps, void (*done)(struct ns_bus_request *request));
/* An adapter with one DMA engine will ask for the bus at `time_ps`, for `bytes`:
 * what `ahead` says of that. */
void ns_bus_ahead_dma(const struct ns_bus *bus, uint64_t time_ps,
                      uint64_t bytes, struct ns_ahead *ahead);
/* What `ahead` says of the bus itself, when the adapter has filled it in. */
void ns_bus_ahead(const struct ns_bus *bus, struct ns_ahead *ahead);
/* Time of a DMA of `bytes` on an idle bus. */
uint64_t ns_bus_dma_ps(const struct ns_bus_settings *settings, uint64_t bytes);

#endif
