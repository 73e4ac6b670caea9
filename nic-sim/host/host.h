/*
 * A simulated host: one fiber with a local time that runs ahead of the
 * engine.  Work only adds to the local time; whatever a NIC could see or
 * change first waits until the engine's time has caught up (ns_host_sync), so
 * its order among all events is exact.
 */
#ifndef NS_HOST_HOST_H
#define NS_HOST_HOST_H

#include "host/bus.h"
#include "host/cpu.h"

/* What a NIC offers to its host's bus. */
struct ns_nic_ops {
    uint32_t (*reg_load)(void *nic, uint32_t reg, uint32_t bytes);
    void (*reg_store)(void *nic, uint32_t reg, uint32_t value, uint32_t bytes);
    /* Does the register take addresses of this process?  They are not traced,
     * as they differ from run to run.  NULL: none does. */
    bool (*reg_is_address)(uint32_t reg);
    /* Does it change at ns_ahead.reg_ps at the soonest, if the host does not store
     * to the adapter, and does a load of it change nothing?  NULL: none does. */
    bool (*reg_is_steady)(uint32_t reg);
    /* A run of stores; NULL: it has no memory that the host may write. */
    void (*reg_write)(void *nic, uint32_t reg, const void *from,
                      uint32_t bytes);
};

struct ns_host {
    struct ns_cpu cpu;
    struct ns_component component;
    struct ns_event event; /* resumes the fiber */
    struct ns_fiber *fiber;
    struct ns_bus bus;
    struct ns_bus_request pio;
    struct ns_access access;
    const uint8_t *pio_from; /* of a run of stores: what is left */
    size_t pio_left;
    const struct ns_nic_ops *nic_ops;
    void *nic;
    bool computing, interrupted;
    void (*interrupt)(void *arg); /* the program's; NULL: it wants none */
    void *interrupt_arg;
    uint64_t syncs, switches, jumps, rounds_skipped; /* statistics */
    void (*ended)(void *arg, struct ns_host *host);
    void *ended_arg;
    void (*body)(void *arg, struct ns_host *host);
    void *body_arg;
};

/* `machine` lives as long as the host; `room` as ns_memory_init's.  0, or -1
 * when out of memory. */
int ns_host_init(struct ns_host *host, struct ns_engine *engine, uint32_t node,
                 uint32_t nodes, const struct ns_machine *machine, bool no_jump,
                 uint8_t *room);
void ns_host_fini(struct ns_host *host);
/* Start `body(arg, host)` in a fiber at virtual time 0; `ended` when done. */
int ns_host_start(struct ns_host *host, ns_fiber_kind_t kind,
                  void (*body)(void *arg, struct ns_host *host), void *body_arg,
                  void (*ended)(void *arg, struct ns_host *host),
                  void *ended_arg);

/* host/pio.c: accesses of its cpu, from inside the fiber. */
uint32_t ns_host_access(struct ns_host *host, const struct ns_access *access);
void ns_host_write(struct ns_host *host, uint32_t reg, const void *from,
                   size_t bytes);

/* From inside the fiber: wait until engine time is local time. */
void ns_host_sync(struct ns_host *host);
/* From inside: sleep until ns_host_resume; local time is then the engine's. */
void ns_host_block(struct ns_host *host);
/* From an event: let a blocked fiber go on now. */
void ns_host_resume(struct ns_host *host);
/* From inside: its idle loop waits for ns_host_notify, or its deadline. */
void ns_host_jump(struct ns_host *host);
/* From inside: `ps` of computation, during which interrupts come. */
void ns_host_compute(struct ns_host *host, uint64_t ps);
/* From the NIC: false when the host does not compute, or wants none. */
bool ns_host_interrupt(struct ns_host *host);
/* From an event: an interrupt takes so much of the host's time. */
void ns_host_steal(struct ns_host *host, uint64_t ps);
/* From the NIC: something that the host can see has just changed. */
void ns_host_notify(struct ns_host *host);

#endif
