/*
 * Clock domains: the three phases of an edge, and sleeping.  An edge at which
 * no component of the domain is awake is not run at all.
 */
#include "nicsim.h"

static uint64_t edge_at_or_after(const struct ns_clock *clock, uint64_t time_ps)
{
    uint64_t edges = (time_ps + clock->period_ps - 1) / clock->period_ps;

    return edges * clock->period_ps;
}

/* The first edge that has not begun: the edge phase of now may be over. */
static uint64_t edge_next(const struct ns_clock *clock)
{
    const struct ns_engine *engine = clock->component.engine;
    uint64_t now_ps = ns_engine_now(engine);

    if (ns_engine_phase(engine) >= NS_PHASE_CLOCK) {
        now_ps++;
    }
    return edge_at_or_after(clock, now_ps);
}

static void edge_schedule(struct ns_clock *clock, uint64_t time_ps)
{
    if (ns_event_pending(&clock->edge)) {
        if (clock->edge.time_ps <= time_ps) {
            return;
        }
        ns_event_cancel(clock->component.engine, &clock->edge);
    }
    ns_event_schedule(&clock->component, &clock->edge, NS_PHASE_CLOCK, time_ps);
}

/* Mark who is awake at this edge. */
static void edge_begin(struct ns_clock *clock, uint64_t now_ps)
{
    bool all = ns_engine_no_sleep(clock->component.engine);

    for (struct ns_clocked *c = clock->first; c != NULL; c = c->next) {
        c->awake = all || c->wake_ps <= now_ps;
        if (c->awake) {
            c->wake_ps = NS_NEVER;
            c->ops->sample(c);
        }
    }
}

static void edge_run(struct ns_event *event)
{
    struct ns_clock *clock = am_container(event, struct ns_clock, edge);
    struct ns_engine *engine = clock->component.engine;
    uint64_t now_ps = ns_engine_now(engine);
    uint64_t next_ps = NS_NEVER;

    clock->edges++;
    edge_begin(clock, now_ps);
    for (struct ns_clocked *c = clock->first; c != NULL; c = c->next) {
        if (c->awake) {
            uint64_t wake_ps = c->ops->evaluate(c);

            c->wake_ps = wake_ps < c->wake_ps ? wake_ps : c->wake_ps;
        }
    }
    for (struct ns_clocked *c = clock->first; c != NULL; c = c->next) {
        if (c->awake) {
            c->ops->commit(c);
        }
    }
    for (struct ns_clocked *c = clock->first; c != NULL; c = c->next) {
        next_ps = c->wake_ps < next_ps ? c->wake_ps : next_ps;
    }
    if (ns_engine_no_sleep(engine) || next_ps <= now_ps) {
        next_ps = now_ps + clock->period_ps;
    }
    if (next_ps != NS_NEVER) {
        edge_schedule(clock, edge_at_or_after(clock, next_ps));
    }
}

void ns_clock_init(struct ns_clock *clock, struct ns_engine *engine,
                   const char *name, uint32_t node, uint64_t period_ps)
{
    *clock = (struct ns_clock){.period_ps = period_ps};
    NS_CHECK(period_ps > 0);
    clock->last = &clock->first;
    ns_component_init(&clock->component, engine, name, node);
    ns_event_init(&clock->edge, edge_run);
}

void ns_clocked_init(struct ns_clocked *clocked, struct ns_clock *clock,
                     const struct ns_clocked_ops *ops)
{
    *clocked = (struct ns_clocked){
            .clock = clock, .ops = ops, .wake_ps = NS_NEVER};
    *clock->last = clocked;
    clock->last = &clocked->next;
    if (ns_engine_no_sleep(clock->component.engine)) {
        edge_schedule(clock, edge_next(clock));
    }
}

void ns_clocked_wake(struct ns_clocked *clocked)
{
    uint64_t edge_ps = edge_next(clocked->clock);

    if (clocked->wake_ps > edge_ps) {
        clocked->wake_ps = edge_ps;
        edge_schedule(clocked->clock, edge_ps);
    }
}
