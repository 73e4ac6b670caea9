/*
 * Hosts: local time, synchronisation, the environment that am-core runs in.
 */
#include "host/host.h"

#include "host/copy.h"
#include "kernel/engine.h"

/* As a process's usual one, so that programs of nodes need not care.  Only what
 * is used takes memory. */
#define STACK_BYTES (8 * 1024 * 1024)

/* ------------------------------------------------------------------- fibers */

static void host_main(void *arg)
{
    struct ns_host *host = arg;

    host->body(host->body_arg, host);
}

static void host_run(struct ns_event *event)
{
    struct ns_host *host = am_container(event, struct ns_host, event);

    host->switches++;
    ns_fiber_resume(host->fiber);
    if (ns_fiber_ended(host->fiber)) {
        host->ended(host->ended_arg, host);
    }
}

/* While the shared fiber was at other hosts, this one's time went on. */
static void catch_up(struct ns_host *host)
{
    uint64_t now_ps = ns_engine_now(host->component.engine);

    if (host->shared && host->now_ps < now_ps) {
        host->now_ps = now_ps;
    }
}

/* What interrupts took while the host waited. */
static void stolen_add(struct ns_host *host)
{
    host->now_ps += host->stolen_ps;
    host->stolen_ps = 0;
}

void ns_host_sync(struct ns_host *host)
{
    catch_up(host);
    host->syncs++;
    host->idle.syncs++;
    host->idle.sync_ps = host->now_ps;
    if (!ns_engine_advance(&host->component, NS_PHASE_HOST, host->now_ps)) {
        ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                          host->now_ps);
        ns_fiber_yield(host->fiber);
    }
    stolen_add(host);
}

void ns_host_block(struct ns_host *host)
{
    ns_fiber_yield(host->fiber);
    host->now_ps = ns_engine_now(host->component.engine);
    stolen_add(host);
}

void ns_host_resume(struct ns_host *host)
{
    ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                      ns_engine_now(host->component.engine));
}

void ns_host_steal(struct ns_host *host, uint64_t ps)
{
    host->stolen_ps += ps;
    ns_host_notify(host);
}

/* --------------------------------------------------------------- interrupts */

/* The interrupt, and the signal that the program's function is called by, take
 * their time; what is left of the computation comes after that. */
void ns_host_compute(struct ns_host *host, uint64_t ps)
{
    uint64_t end_ps;

    ns_host_sync(host);
    host->idle.news = true;
    end_ps = host->now_ps + ps;
    while (host->now_ps < end_ps) {
        host->computing = true;
        ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                          end_ps);
        ns_host_block(host);
        host->computing = false;
        if (host->interrupted) {
            uint64_t from_ps = host->now_ps;

            host->interrupted = false;
            host->now_ps += host->cost->interrupt_ps;
            host->interrupt(host->interrupt_arg);
            ns_host_sync(host);
            end_ps += host->now_ps - from_ps;
        }
    }
}

bool ns_host_interrupt(struct ns_host *host)
{
    if (!host->computing || host->interrupt == NULL || host->interrupted) {
        return false;
    }
    host->interrupted = true;
    ns_event_cancel(host->component.engine, &host->event);
    ns_host_resume(host);
    return true;
}

/* -------------------------------------------------------------- environment */

static struct ns_host *host_of(struct am_env *env)
{
    return am_container(env, struct ns_host, env);
}

static uint64_t host_now(struct am_env *env)
{
    catch_up(host_of(env));
    return host_of(env)->now_ps;
}

static void host_charge(struct am_env *env, am_cost_t kind, uint64_t units)
{
    struct ns_host *host = host_of(env);
    const struct ns_host_settings *cost = host->cost;

    switch (kind) {
    case AM_COST_DISPATCH:
        host->now_ps += cost->am_dispatch_ps * units;
        break;
    case AM_COST_SEND:
        host->now_ps += cost->am_send_ps + cost->am_word_ps * units;
        break;
    case AM_COST_MATCH:
        host->now_ps += cost->am_match_ps * units;
        break;
    case AM_COST_COPY:
        host->now_ps += ns_copy_ps(cost, NS_MEMORY_OWN, units);
        break;
    case AM_COST_ALLOC:
        host->now_ps += cost->am_alloc_ps * units;
        break;
    case AM_COST_POLL:
        host->now_ps += cost->am_poll_ps * units;
        break;
    case AM_COST_CALL:
        host->now_ps += cost->call_ps * units;
        break;
    case AM_COST_COUNT:
        break;
    }
}

/* splitmix64 */
static uint64_t host_random(struct am_env *env)
{
    struct ns_host *host = host_of(env);
    uint64_t z = host->random += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/*
 * Idle polling.  A loop that finds nothing calls relax once a round:
 *
 *   R0 ..look.. R1 ..look.. R2 ..look..     R(k) = R0 + k * period
 *       O0          O1          O2          O(k) = R(k) + seen
 *
 * When the last rounds were alike and each looked exactly once at memory that
 * had not changed (as far as a miss in a coherent cache tells),
 * nothing can differ before the first look O(k) that is not before the next
 * change of memory.  So the fiber sleeps until that change and goes on as if
 * it were at R(k): later accesses happen at the times at which spinning would
 * make them.  In every other case the round is spun.  Where misses tell of all
 * changes, one round is enough that is like those which were skipped before.
 */
static bool idle_learn(struct ns_host *host)
{
    struct ns_idle *idle = &host->idle;
    uint64_t period_ps = host->now_ps - idle->last_ps;
    uint64_t seen_ps = idle->sync_ps - idle->last_ps;
    bool plain = idle->syncs == 1 && !idle->news && period_ps > 0;

    if (plain && period_ps == idle->period_ps && seen_ps == idle->seen_ps) {
        idle->same++;
    } else {
        idle->same = 0;
    }
    idle->period_ps = period_ps;
    idle->seen_ps = seen_ps;
    idle->last_ps = host->now_ps;
    idle->syncs = 0;
    idle->news = false;
    if (idle->same >= 2) {
        idle->known_period_ps = period_ps;
        idle->known_seen_ps = seen_ps;
    }
    return (idle->same >= 2 || (plain && host->memory.coherent &&
                                period_ps == idle->known_period_ps &&
                                seen_ps == idle->known_seen_ps)) &&
           !host->no_jump && !host->shared;
}

/* Rounds from `base` to the first at or after `time_ps`. */
static uint64_t rounds_to(uint64_t base_ps, uint64_t period_ps,
                          uint64_t time_ps)
{
    return time_ps <= base_ps ? 0
                              : (time_ps - base_ps + period_ps - 1) / period_ps;
}

/* Go on at the beginning of round `round`. */
static void idle_land(struct ns_host *host, uint64_t round, uint64_t event_ps)
{
    struct ns_idle *idle = &host->idle;

    idle->jumping = false;
    host->rounds_skipped += round;
    host->now_ps = idle->last_ps + round * idle->period_ps;
    idle->last_ps = host->now_ps;
    ns_event_cancel(host->component.engine, &host->event);
    ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST, event_ps);
}

void ns_host_notify(struct ns_host *host)
{
    struct ns_idle *idle = &host->idle;
    uint64_t look_ps = idle->last_ps + idle->seen_ps;
    uint64_t round;

    if (!idle->jumping) {
        return;
    }
    round = rounds_to(look_ps, idle->period_ps,
                      ns_engine_now(host->component.engine));
    if (round < idle->deadline_round) {
        idle_land(host, round, look_ps + round * idle->period_ps);
    }
}

static void host_relax(struct am_env *env, uint64_t deadline_ps)
{
    struct ns_host *host = host_of(env);
    struct ns_idle *idle = &host->idle;

    if (idle->syncs == 0 && host->now_ps == idle->last_ps &&
        deadline_ps != NS_NEVER && deadline_ps > host->now_ps) {
        host->now_ps = deadline_ps; /* a loop that only waits: computation */
        idle->last_ps = deadline_ps;
        return;
    }
    if (!idle_learn(host)) {
        return;
    }
    idle->deadline_round = NS_NEVER;
    if (deadline_ps != NS_NEVER) {
        idle->deadline_round =
                rounds_to(idle->last_ps, idle->period_ps, deadline_ps);
    }
    if (idle->deadline_round == 0) {
        return;
    }
    idle->jumping = true;
    host->jumps++;
    if (idle->deadline_round != NS_NEVER) {
        ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                          idle->last_ps +
                                  idle->deadline_round * idle->period_ps);
    }
    ns_fiber_yield(host->fiber);
    if (idle->jumping) { /* the deadline's own event */
        idle->jumping = false;
        host->now_ps = ns_engine_now(host->component.engine);
        idle->last_ps = host->now_ps;
    }
}

static const struct am_env_ops host_env_ops = {
        .now = host_now,
        .charge = host_charge,
        .relax = host_relax,
        .random = host_random,
};

/* ------------------------------------------------------------------- set-up */

int ns_host_init(struct ns_host *host, struct ns_engine *engine, uint32_t node,
                 uint32_t nodes, const struct ns_machine *machine, bool no_jump)
{
    *host = (struct ns_host){
            .cost = &machine->host,
            .no_jump = no_jump,
            .random = ns_engine_seed(engine) +
                      node * UINT64_C(0x632be59bd9b4e019),
    };
    host->env.ops = &host_env_ops;
    host->env.simulated = true;
    host->env.port = &host->port;
    host->port = (struct ns_port){
            .ops = &ns_host_port_ops,
            .nic = machine->nic,
            .node = node,
            .nodes = nodes,
            .line_bytes = (uint32_t)machine->host.line_bytes,
    };
    ns_component_init(&host->component, engine, "host", node);
    ns_event_init(&host->event, host_run);
    ns_bus_init(&host->bus, engine, node, &machine->bus);
    return ns_memory_init(&host->memory, (uint32_t)machine->host.shared_bytes,
                          (uint32_t)machine->host.line_bytes,
                          machine->coherent);
}

void ns_host_fini(struct ns_host *host)
{
    if (!host->shared) {
        ns_fiber_close(host->fiber);
    }
    ns_memory_fini(&host->memory);
}

int ns_host_start(struct ns_host *host, ns_fiber_kind_t kind,
                  void (*body)(void *arg, struct ns_host *host), void *body_arg,
                  void (*ended)(void *arg, struct ns_host *host),
                  void *ended_arg)
{
    host->body = body;
    host->body_arg = body_arg;
    host->ended = ended;
    host->ended_arg = ended_arg;
    host->fiber = ns_fiber_open(kind, host_main, host, STACK_BYTES);
    if (host->fiber == NULL) {
        return -1;
    }
    ns_host_resume(host);
    return 0;
}
