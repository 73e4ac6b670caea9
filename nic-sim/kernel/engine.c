/*
 * The engine: components, events in order, the run loop.  Nothing is allocated
 * for an event.
 */
#include "kernel/engine.h"
#include "nicsim_port.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* order: phase 4 bits, component 20 bits, sequence 40 bits */
#define ORDER_PHASE_SHIFT     60
#define ORDER_COMPONENT_SHIFT 40
#define COMPONENTS_MAX        (UINT32_C(1) << 20)

static uint64_t trace_now(struct am_env *env)
{
    return am_container(env, struct ns_engine, trace_env)->trace_ps;
}

static const struct am_env_ops trace_env_ops = {.now = trace_now};

/* One ring for each node and one for the network. */
static int traces_open(struct ns_engine *engine)
{
    engine->traces = calloc(engine->node_count + 1, sizeof(*engine->traces));
    if (engine->traces == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i <= engine->node_count; i++) {
        engine->traces[i] = am_trace_open(&engine->trace_env, i,
                                          engine->params.trace_records);
        if (engine->traces[i] == NULL) {
            return -1;
        }
        ns_timeline_names(engine->traces[i]);
    }
    return 0;
}

struct ns_engine *ns_engine_open(const struct ns_engine_params *params,
                                 uint32_t node_count)
{
    struct ns_engine *engine = calloc(1, sizeof(*engine));

    if (engine == NULL) {
        return NULL;
    }
    engine->params = *params;
    if (engine->params.limit_ps == 0) {
        engine->params.limit_ps = NS_NEVER;
    }
    engine->node_count = node_count;
    engine->trace_env.ops = &trace_env_ops;
    engine->trace_env.simulated = true;
    if (ns_queue_init(&engine->queue) != 0 || traces_open(engine) != 0) {
        ns_engine_close(engine);
        return NULL;
    }
    return engine;
}

void ns_engine_close(struct ns_engine *engine)
{
    if (engine == NULL) {
        return;
    }
    for (uint32_t i = 0; engine->traces != NULL && i <= engine->node_count;
         i++) {
        am_trace_close(engine->traces[i]);
    }
    free(engine->traces);
    ns_slices_close(engine);
    ns_queue_fini(&engine->queue);
    free(engine);
}

uint64_t ns_engine_now(const struct ns_engine *engine)
{
    return engine->now_ps;
}

uint64_t ns_engine_seed(const struct ns_engine *engine)
{
    return engine->params.seed;
}

bool ns_engine_no_sleep(const struct ns_engine *engine)
{
    return engine->params.no_sleep;
}

uint64_t ns_engine_events(const struct ns_engine *engine)
{
    uint64_t sum = 0;

    for (uint32_t phase = 0; phase < NS_PHASE_COUNT; phase++) {
        sum += engine->events[phase];
    }
    return sum;
}

uint64_t ns_engine_hardware_events(const struct ns_engine *engine)
{
    return engine->events[NS_PHASE_WIRE] + engine->events[NS_PHASE_NIC] +
           engine->events[NS_PHASE_CLOCK];
}

void ns_engine_events_stand(struct ns_engine *engine, uint64_t count)
{
    engine->events[engine->order >> ORDER_PHASE_SHIFT] += count - 1;
}

ns_phase_t ns_engine_phase(const struct ns_engine *engine)
{
    return (ns_phase_t)(engine->order >> ORDER_PHASE_SHIFT);
}

void ns_component_init(struct ns_component *component, struct ns_engine *engine,
                       const char *name, uint32_t node)
{
    uint32_t ring = node == NS_NODE_NONE ? engine->node_count : node;

    NS_CHECK(ring <= engine->node_count);
    NS_CHECK(engine->component_count < COMPONENTS_MAX);
    *component = (struct ns_component){
            .engine = engine,
            .name = name,
            .id = engine->component_count++,
            .node = node,
            .trace = engine->traces[ring],
    };
}

void ns_event_init(struct ns_event *event, void (*run)(struct ns_event *event))
{
    *event = (struct ns_event){.run = run};
}

/* ------------------------------------------------------------------ events */

uint64_t ns_engine_order(const struct ns_component *component, ns_phase_t phase)
{
    return (uint64_t)phase << ORDER_PHASE_SHIFT |
           (uint64_t)component->id << ORDER_COMPONENT_SHIFT;
}

static uint64_t order_next(struct ns_component *component, ns_phase_t phase)
{
    return ns_engine_order(component, phase) | component->sequence++;
}

void ns_event_schedule(struct ns_component *component, struct ns_event *event,
                       ns_phase_t phase, uint64_t time_ps)
{
    struct ns_engine *engine = component->engine;

    NS_CHECK(!ns_event_pending(event));
    NS_CHECK(time_ps >= engine->now_ps && time_ps != NS_NEVER);
    event->time_ps = time_ps;
    event->order = order_next(component, phase);
    ns_queue_add(&engine->queue, event);
}

void ns_event_cancel(struct ns_engine *engine, struct ns_event *event)
{
    if (ns_event_pending(event)) {
        ns_queue_remove(&engine->queue, event);
    }
}

bool ns_engine_advance(struct ns_component *component, ns_phase_t phase,
                       uint64_t time_ps)
{
    struct ns_engine *engine = component->engine;
    uint64_t order = ns_engine_order(component, phase) | component->sequence;
    const struct ns_heap_entry *first = ns_queue_first(&engine->queue);

    NS_CHECK(time_ps >= engine->now_ps);
    if (time_ps > engine->params.limit_ps || engine->stop) {
        return false;
    }
    if (first != NULL &&
        (first->time_ps < time_ps ||
         (first->time_ps == time_ps && first->order < order))) {
        return false;
    }
    component->sequence++;
    engine->now_ps = time_ps;
    engine->order = order;
    engine->events[engine->order >> ORDER_PHASE_SHIFT]++;
    return true;
}

uint64_t ns_component_next_ps(const struct ns_component *component)
{
    struct ns_queue *queue = &component->engine->queue;
    uint64_t first_ps = NS_NEVER;

    (void)ns_queue_first(queue); /* it is near */
    first_ps = queue->near_end_ps;
    for (uint32_t i = 0; i < queue->near.count; i++) {
        const struct ns_heap_entry *entry = &queue->near.entries[i];

        if ((entry->order >> ORDER_COMPONENT_SHIFT & (COMPONENTS_MAX - 1)) ==
                    component->id &&
            entry->time_ps < first_ps) {
            first_ps = entry->time_ps;
        }
    }
    return first_ps;
}

ns_run_t ns_engine_step(struct ns_engine *engine)
{
    const struct ns_heap_entry *first = ns_queue_first(&engine->queue);
    struct ns_event *event;

    if (first == NULL) {
        return NS_RUN_IDLE;
    }
    if (first->time_ps > engine->params.limit_ps) {
        return NS_RUN_LIMIT;
    }
    event = first->event;
    engine->now_ps = first->time_ps;
    engine->order = first->order;
    engine->events[engine->order >> ORDER_PHASE_SHIFT]++;
    ns_queue_pop(&engine->queue);
    event->run(event);
    return NS_RUN_STOPPED;
}

ns_run_t ns_engine_run(struct ns_engine *engine)
{
    ns_run_t why = NS_RUN_STOPPED;

    engine->stop = false;
    while (!engine->stop && why == NS_RUN_STOPPED) {
        for (uint32_t i = 0;
             i < NS_TICK_EVENTS && !engine->stop && why == NS_RUN_STOPPED;
             i++) {
            why = ns_engine_step(engine);
        }
        if (engine->params.tick != NULL && !engine->stop) {
            engine->params.tick(engine->params.tick_arg, engine->now_ps);
        }
    }
    return why;
}

void ns_engine_stop(struct ns_engine *engine)
{
    engine->stop = true;
}

/* ------------------------------------------------------------------- trace */

void ns_trace_at(struct ns_component *component, uint64_t time_ps,
                 ns_trace_t kind, uint64_t a, uint64_t b)
{
    component->engine->trace_ps = time_ps;
    am_trace_add(component->trace, (uint16_t)kind, 'i', a, b);
}

void ns_trace_span(struct ns_component *component, ns_trace_t kind, char phase,
                   uint64_t a, uint64_t b)
{
    component->engine->trace_ps = component->engine->now_ps;
    am_trace_add(component->trace, (uint16_t)kind, phase, a, b);
}

/* ------------------------------------------------------------------- marks */

void ns_marks_arm(struct ns_engine *engine)
{
    engine->marks = (struct ns_marks){.armed = true};
}

void ns_mark(struct ns_engine *engine, uint32_t stage, uint64_t time_ps)
{
    struct ns_marks *marks = &engine->marks;

    if (marks->armed && !marks->seen[stage]) {
        marks->seen[stage] = true;
        marks->time_ps[stage] = time_ps;
        marks->armed = stage + 1 != NS_STAGE_COUNT;
    }
}

const struct ns_marks *ns_marks_get(const struct ns_engine *engine)
{
    return &engine->marks;
}

uint64_t ns_engine_hash(const struct ns_engine *engine)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (uint32_t i = 0; i <= engine->node_count; i++) {
        hash = (hash ^ am_trace_hash(engine->traces[i])) *
               UINT64_C(0x100000001b3);
    }
    return hash;
}
