/*
 * The processor of a simulated host, as the program that runs on it sees it:
 * local time, the environment, the driver's port, shared memory through the
 * cache.  All that others could see or change goes through ns_cpu_ops, so the
 * same code runs beside the engine (host/host.c) and in another process
 * (cosim/rank.c).  Includes am-core/base only.
 */
#ifndef NS_HOST_CPU_H
#define NS_HOST_CPU_H

#include "host/memory.h"
#include "nicsim_machine.h"
#include "nicsim_port.h"

/* How an idle poll loop goes round, learnt from its calls of relax. */
struct ns_idle {
    uint64_t last_ps;   /* local time of the last call */
    uint64_t period_ps; /* from one call to the next */
    uint64_t seen_ps;   /* from a call to the look at memory after it */
    uint32_t syncs;     /* since the last call */
    uint64_t sync_ps;   /* local time of the last of them */
    bool news;          /* one of them was not a look at memory, or at
                              * memory that had changed */
    uint32_t same;      /* rounds that were all alike */
    uint64_t known_period_ps, known_seen_ps; /* of the last round skipped */
    bool jumping;            /* it waits for news, or for the deadline */
    uint64_t deadline_round; /* must be back then; NS_NEVER */
};

/* One access across the I/O bus. */
struct ns_access {
    uint32_t reg, value, bytes;
    bool is_load;
};

struct ns_cpu;

/* What the engine has a part in.  Each waits first until the engine's time is
 * local time, but `catch_up`, `trace` and `mark`. */
struct ns_cpu_ops {
    void (*sync)(struct ns_cpu *cpu);
    /* The value, of a load. */
    uint32_t (*access)(struct ns_cpu *cpu, const struct ns_access *access);
    /* A run of stores. */
    void (*write)(struct ns_cpu *cpu, uint32_t reg, const void *from,
                  size_t bytes);
    /* idle.jumping is set: until it need not wait any more. */
    void (*jump)(struct ns_cpu *cpu);
    /* Of a `shared` one: its time went on while others had their turn. */
    void (*catch_up)(struct ns_cpu *cpu);
    void (*trace)(struct ns_cpu *cpu, ns_trace_t kind, uint64_t a, uint64_t b);
    void (*mark)(struct ns_cpu *cpu, ns_stage_t stage);
};

struct ns_cpu {
    struct am_env env;
    struct ns_port port;
    const struct ns_cpu_ops *ops;
    const struct ns_host_settings *cost;
    uint64_t now_ps;    /* local time */
    uint64_t stolen_ps; /* by interrupts, not yet in now_ps */
    uint64_t random;
    struct ns_memory memory;
    struct ns_idle idle;
    uint64_t accesses; /* of its port: statistics */
    bool no_jump; /* spin instead, for tests */
    bool shared;  /* one program runs on all of them in turn */
};

/* Environment and port of a cpu whose ops, cost and memory are set. */
void ns_cpu_init(struct ns_cpu *cpu, const struct ns_cpu_ops *ops,
                 const struct ns_host_settings *cost);
/* A look of the program's at what others change, at its local time. */
void ns_cpu_looked(struct ns_cpu *cpu);
/* What interrupts took while the program waited. */
void ns_cpu_stolen(struct ns_cpu *cpu);

/* Rounds of an idle loop from `base` to the first at or after `time_ps`. */
uint64_t ns_cpu_rounds(uint64_t base_ps, uint64_t period_ps, uint64_t time_ps);

/* host/port.c */
extern const struct ns_port_ops ns_cpu_port_ops;

#endif
