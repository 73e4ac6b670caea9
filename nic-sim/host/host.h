/*
 * A simulated host: one fiber with a local time that runs ahead of the
 * engine.  Work only adds to the local time; whatever a NIC could see or
 * change first waits until the engine's time has caught up (ns_host_sync), so
 * its order among all events is exact.
 */
#ifndef NS_HOST_HOST_H
#define NS_HOST_HOST_H

#include "host/bus.h"
#include "host/memory.h"
#include "nicsim_machine.h"
#include "nicsim_port.h"

/* What a NIC offers to its host's bus. */
struct ns_nic_ops {
    uint32_t (*reg_load)(void *nic, uint32_t reg, uint32_t bytes);
    void (*reg_store)(void *nic, uint32_t reg, uint32_t value, uint32_t bytes);
    /* Does the register take addresses of this process?  They are not traced,
     * as they differ from run to run.  NULL: none does. */
    bool (*reg_is_address)(uint32_t reg);
    /* A run of stores; NULL: it has no memory that the host may write. */
    void (*reg_write)(void *nic, uint32_t reg, const void *from,
                      uint32_t bytes);
};

/* How an idle poll loop goes round, learnt from its calls of relax. */
struct ns_idle {
    uint64_t last_ps;        /* local time of the last call */
    uint64_t period_ps;      /* from one call to the next */
    uint64_t seen_ps;        /* from a call to the look at memory after it */
    uint32_t syncs;          /* since the last call */
    uint64_t sync_ps;        /* local time of the last of them */
    bool news;               /* one of them was not a look at memory, or at
                              * memory that had changed */
    uint32_t same;           /* rounds that were all alike */
    uint64_t known_period_ps, known_seen_ps; /* of the last round skipped */
    bool jumping;            /* the fiber waits for ns_host_notify */
    uint64_t deadline_round; /* must be back then; NS_NEVER */
};

struct ns_host {
    struct am_env env;
    struct ns_port port;
    struct ns_component component;
    struct ns_event event; /* resumes the fiber */
    struct ns_fiber *fiber;
    bool shared; /* one fiber runs all hosts in turn: see ns_sim_run_shared */
    const struct ns_host_settings *cost;
    uint64_t now_ps;    /* local time */
    uint64_t stolen_ps; /* by interrupts, not yet in now_ps */
    uint64_t random;
    struct ns_memory memory;
    struct ns_bus bus;
    struct ns_bus_request pio;
    uint32_t pio_reg, pio_value, pio_bytes;
    bool pio_is_load;
    const uint8_t *pio_from; /* of a run of stores: what is left */
    size_t pio_left;
    const struct ns_nic_ops *nic_ops;
    void *nic;
    bool no_jump; /* spin instead, for tests */
    bool computing, interrupted;
    void (*interrupt)(void *arg); /* the program's; NULL: it wants none */
    void *interrupt_arg;
    struct ns_idle idle;
    uint64_t syncs, switches, jumps, rounds_skipped; /* statistics */
    void (*ended)(void *arg, struct ns_host *host);
    void *ended_arg;
    void (*body)(void *arg, struct ns_host *host);
    void *body_arg;
};

/* `cost` lives as long as the host.  0, or -1 when out of memory. */
int ns_host_init(struct ns_host *host, struct ns_engine *engine, uint32_t node,
                 uint32_t nodes, const struct ns_machine *machine,
                 bool no_jump);
void ns_host_fini(struct ns_host *host);
/* Start `body(arg, host)` in a fiber at virtual time 0; `ended` when done. */
int ns_host_start(struct ns_host *host, ns_fiber_kind_t kind,
                  void (*body)(void *arg, struct ns_host *host), void *body_arg,
                  void (*ended)(void *arg, struct ns_host *host),
                  void *ended_arg);

/* host/port.c */
extern const struct ns_port_ops ns_host_port_ops;

/* From inside the fiber: wait until engine time is local time. */
void ns_host_sync(struct ns_host *host);
/* From inside: sleep until ns_host_resume; local time is then the engine's. */
void ns_host_block(struct ns_host *host);
/* From an event: let a blocked fiber go on now. */
void ns_host_resume(struct ns_host *host);
/* From inside: `ps` of computation, during which interrupts come. */
void ns_host_compute(struct ns_host *host, uint64_t ps);
/* From the NIC: false when the host does not compute, or wants none. */
bool ns_host_interrupt(struct ns_host *host);
/* From an event: an interrupt takes so much of the host's time. */
void ns_host_steal(struct ns_host *host, uint64_t ps);
/* From the NIC: something that the host can see has just changed. */
void ns_host_notify(struct ns_host *host);

#endif
