/*
 * The simulator's kernel: engine, components, events, clock domains, fibers;
 * links are nicsim_link.h.  Time is integer picoseconds.  Includes
 * am-core/base only (trace records are shared with am-core).
 *
 * Order.  Events run by (time, phase, component, per-component sequence).
 * Component numbers come from the order of construction and the sequence from
 * the component that schedules, so the order does not depend on how events of
 * different components were interleaved when they were inserted.
 */
#ifndef NS_NICSIM_H
#define NS_NICSIM_H

#include "base/env.h"
#include "base/list.h"
#include "base/stats.h"
#include "base/trace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_API __attribute__((visibility("default")))

#define NS_NEVER         UINT64_MAX /* a time that does not come */
#define NS_PS_PER_SECOND UINT64_C(1000000000000)
#define NS_NODE_NONE     UINT32_MAX /* components of no node (the network) */

/* What happens first among events of one instant. */
typedef enum {
    NS_PHASE_WIRE,  /* links: heads and tails of packets */
    NS_PHASE_NIC,   /* buses, DMA completions */
    NS_PHASE_CLOCK, /* edges of clock domains */
    NS_PHASE_HOST,  /* hosts: they see all of the above */
    NS_PHASE_STAT,  /* observers */
    NS_PHASE_COUNT
} ns_phase_t;

/* Always on: an own invariant of the simulator does not hold. */
#define NS_CHECK(_condition)                                  \
    do {                                                      \
        if (__builtin_expect(!(_condition), 0)) {             \
            ns_check_failed(#_condition, __FILE__, __LINE__); \
        }                                                     \
    } while (0)
void ns_check_failed(const char *what, const char *file, int line)
        __attribute__((noreturn));
/* End this process at once, with a line on stderr unless `format` is NULL. */
void ns_end(int code, const char *format, ...)
        __attribute__((noreturn, format(printf, 2, 3)));

/* ------------------------------------------------------- engine and events */

struct ns_engine;

struct ns_fault;

struct ns_engine_params {
    uint64_t seed;
    const struct ns_fault *fault; /* on which links what fails; NULL: nothing.
                                     Borrowed */
    uint64_t limit_ps;            /* virtual time at which a run gives up */
    uint32_t trace_records; /* kept for each node, for the timeline; 0: hash */
    bool no_sleep;          /* clocked components never sleep (for tests) */
    /* Called every NS_TICK_EVENTS events, for those who watch; NULL: nobody. */
    void (*tick)(void *arg, uint64_t now_ps);
    void *tick_arg;
};

#define NS_TICK_EVENTS (1 << 16)

/* Why ns_engine_run returned. */
typedef enum {
    NS_RUN_STOPPED, /* ns_engine_stop was called */
    NS_RUN_IDLE,    /* no event is left */
    NS_RUN_LIMIT,   /* limit_ps was reached */
} ns_run_t;

/* Something with events: a link, a bus, a NIC, a host.  Embed it. */
struct ns_component {
    struct ns_engine *engine;
    const char *name; /* static storage */
    uint32_t id;      /* order of construction, from 0 */
    uint32_t node;    /* or NS_NODE_NONE */
    uint64_t sequence;
    struct am_trace *trace; /* the node's ring, owned by the engine */
};

/* One thing that will happen; embedded in its owner, pending at most once. */
struct ns_event {
    uint64_t time_ps;
    uint64_t order;        /* phase, component, sequence */
    uint32_t slot;         /* index in a heap of the queue */
    uint8_t where;         /* in the queue; 0: not pending */
    struct ns_event *next; /* in a bucket of the queue */
    void (*run)(struct ns_event *event);
};

/* An engine for `node_count` nodes; NULL when out of memory. */
NS_API struct ns_engine *ns_engine_open(const struct ns_engine_params *params,
                                        uint32_t node_count);
NS_API void ns_engine_close(struct ns_engine *engine);
NS_API uint64_t ns_engine_now(const struct ns_engine *engine);
NS_API uint64_t ns_engine_seed(const struct ns_engine *engine);
NS_API bool ns_engine_no_sleep(const struct ns_engine *engine);
/* Events run so far; of these, those of networks and NICs (not of hosts). */
NS_API uint64_t ns_engine_events(const struct ns_engine *engine);
NS_API uint64_t ns_engine_hardware_events(const struct ns_engine *engine);
/* The event that runs stands for so many: an edge of a clock at which many
 * packets move. */
NS_API void ns_engine_events_stand(struct ns_engine *engine, uint64_t count);
NS_API ns_run_t ns_engine_run(struct ns_engine *engine);
/* Run one event.  NS_RUN_STOPPED, or NS_RUN_IDLE or NS_RUN_LIMIT without. */
NS_API ns_run_t ns_engine_step(struct ns_engine *engine);
/* Make ns_engine_run return after the present event. */
NS_API void ns_engine_stop(struct ns_engine *engine);
/* FNV-1a over the trace records of all nodes: equal runs have equal hashes. */
NS_API uint64_t ns_engine_hash(const struct ns_engine *engine);
/* One Chrome-trace JSON array of all nodes.  0, or -1 with errno. */
NS_API int ns_engine_trace_write(const struct ns_engine *engine, FILE *file);

NS_API void ns_component_init(struct ns_component *component,
                              struct ns_engine *engine, const char *name,
                              uint32_t node);

/* When its first event is that is pending, or some time before that. */
NS_API uint64_t ns_component_next_ps(const struct ns_component *component);

NS_API void ns_event_init(struct ns_event *event,
                          void (*run)(struct ns_event *event));
/* Run `event` at `time_ps`, which is not in the past. */
NS_API void ns_event_schedule(struct ns_component *component,
                              struct ns_event *event, ns_phase_t phase,
                              uint64_t time_ps);
/* Take it back; nothing happens when it is not pending. */
NS_API void ns_event_cancel(struct ns_engine *engine, struct ns_event *event);

static inline bool ns_event_pending(const struct ns_event *event)
{
    return event->where != 0;
}

/*
 * If an event of `component` in `phase` at `time_ps` would be the next to run,
 * make its instant the present and return true: the caller goes on as if it
 * were that event, which costs no heap and no switch.
 */
NS_API bool ns_engine_advance(struct ns_component *component, ns_phase_t phase,
                              uint64_t time_ps);
/* The phase of the event that runs now. */
NS_API ns_phase_t ns_engine_phase(const struct ns_engine *engine);

/* ------------------------------------------------------------------- trace */

typedef enum {
    NS_TRACE_PIO,     /* a: register, b: value */
    NS_TRACE_DMA_OUT, /* host memory to NIC done. a: packet, b: bytes */
    NS_TRACE_DMA_IN,  /* NIC to host memory done. a: packet, b: bytes */
    NS_TRACE_FW,      /* firmware task ends. a: task, b: packet */
    NS_TRACE_INJECT,  /* packet enters the network. a: packet, b: bytes */
    NS_TRACE_ARRIVE,  /* its tail is in. a: packet, b: bytes */
    NS_TRACE_DROP,    /* a: packet, b: bytes */
    NS_TRACE_SEND,    /* driver queued a packet. a: peer, b: bytes */
    NS_TRACE_RECEIVE, /* driver took a packet. a: peer, b: bytes */
    NS_TRACE_USER,    /* a program's own mark */
    NS_TRACE_LINK,    /* a link carries a packet. a: packet, b: link, bytes */
    NS_TRACE_COUNT
} ns_trace_t;

/* A record at `time_ps` on the component's node; `b` as in the list above. */
NS_API void ns_trace_at(struct ns_component *component, uint64_t time_ps,
                        ns_trace_t kind, uint64_t a, uint64_t b);

/* The same as the beginning ('B') or end ('E') of something. */
NS_API void ns_trace_span(struct ns_component *component, ns_trace_t kind,
                          char phase, uint64_t a, uint64_t b);

static inline void ns_trace(struct ns_component *component, ns_trace_t kind,
                            uint64_t a, uint64_t b)
{
    ns_trace_at(component, ns_engine_now(component->engine), kind, a, b);
}

/*
 * What the program of a node does, by name: slices that lie inside each other, on
 * a track of their own.  They are for the timeline only: neither in the hash nor
 * with the node's records, which many of them would push out.  One that ends and
 * has not begun began at time 0, when it is the first.
 */
#define NS_SLICE_NAME_BYTES 64

NS_API void ns_slice(struct ns_component *component, uint64_t time_ps,
                     const char *name, bool begins);
/* The program is over: all that it has begun ends. */
NS_API void ns_slices_end(struct ns_component *component, uint64_t time_ps);

/* ------------------------------------------------------------------- marks */

/*
 * The stages of one message, for --explain: ns_marks_arm, then the first mark
 * of each stage counts, until the last stage is marked.  ns_stage_t is in
 * nicsim_port.h.
 */
#define NS_MARKS_MAX 16

struct ns_marks {
    bool armed;
    bool seen[NS_MARKS_MAX];
    uint64_t time_ps[NS_MARKS_MAX];
};

NS_API void ns_marks_arm(struct ns_engine *engine);
NS_API void ns_mark(struct ns_engine *engine, uint32_t stage, uint64_t time_ps);
NS_API const struct ns_marks *ns_marks_get(const struct ns_engine *engine);

/* ----------------------------------------------------------- clock domains */

struct ns_clocked;

/*
 * All components of a domain do one phase before any does the next: `sample`
 * latches what others have published, `evaluate` computes from that only,
 * `commit` publishes.  `evaluate` returns the time before which it need not
 * run again: 0 for the next edge, NS_NEVER to sleep until ns_clocked_wake.
 * Being run earlier must change nothing (a test runs with sleeping off).
 */
struct ns_clocked_ops {
    void (*sample)(struct ns_clocked *clocked);
    uint64_t (*evaluate)(struct ns_clocked *clocked);
    void (*commit)(struct ns_clocked *clocked);
};

struct ns_clock {
    struct ns_component component;
    struct ns_event edge;
    uint64_t period_ps;
    struct ns_clocked *first, **last;
    uint64_t edges; /* statistics */
};

struct ns_clocked {
    struct ns_clock *clock;
    const struct ns_clocked_ops *ops;
    struct ns_clocked *next;
    uint64_t wake_ps; /* evaluate not before */
    bool awake;       /* in the present edge */
};

NS_API void ns_clock_init(struct ns_clock *clock, struct ns_engine *engine,
                          const char *name, uint32_t node, uint64_t period_ps);
/* Asleep at first. */
NS_API void ns_clocked_init(struct ns_clocked *clocked, struct ns_clock *clock,
                            const struct ns_clocked_ops *ops);
/* Evaluate at the next edge that has not begun. */
NS_API void ns_clocked_wake(struct ns_clocked *clocked);

/* ------------------------------------------------------------------ fibers */

struct ns_fiber;

typedef enum {
    NS_FIBER_CONTEXT, /* a stack with guard pages below it */
    NS_FIBER_THREAD,  /* a thread that runs only when resumed */
} ns_fiber_kind_t;

/* A fiber that will run `fn(arg)`; NULL when out of memory. */
NS_API struct ns_fiber *ns_fiber_open(ns_fiber_kind_t kind,
                                      void (*fn)(void *arg), void *arg,
                                      size_t stack_bytes);
/* Run it until it yields or ends.  Never from inside a fiber. */
NS_API void ns_fiber_resume(struct ns_fiber *fiber);
/* From inside it: back to who resumed it. */
NS_API void ns_fiber_yield(struct ns_fiber *fiber);
/* Is it below the fiber's stack, where nothing may be?  Safe in signal handlers;
 * always false of threads. */
NS_API bool ns_fiber_guards(const struct ns_fiber *fiber, const void *address);
NS_API bool ns_fiber_ended(const struct ns_fiber *fiber);
/* Free it; what an unfinished fiber owns on its stack is lost. */
NS_API void ns_fiber_close(struct ns_fiber *fiber);

#endif
