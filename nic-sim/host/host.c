/*
 * Hosts: local time, synchronisation, the environment that am-core runs in.
 */
#include "host/host.h"

#include "kernel/engine.h"

#define STACK_BYTES (256 * 1024)

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

void ns_host_sync(struct ns_host *host)
{
    host->syncs++;
    host->idle.syncs++;
    host->idle.sync_ps = host->now_ps;
    if (ns_engine_advance(&host->component, NS_PHASE_HOST, host->now_ps)) {
        return;
    }
    ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                      host->now_ps);
    ns_fiber_yield(host->fiber);
}

void ns_host_block(struct ns_host *host)
{
    ns_fiber_yield(host->fiber);
    host->now_ps = ns_engine_now(host->component.engine);
}

void ns_host_resume(struct ns_host *host)
{
    ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                      ns_engine_now(host->component.engine));
}

/* -------------------------------------------------------------- environment */

static struct ns_host *host_of(struct am_env *env)
{
    return am_container(env, struct ns_host, env);
}

static uint64_t host_now(struct am_env *env)
{
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
        host->now_ps += ns_bytes_ps(units, cost->copy_bytes_per_second);
        break;
    case AM_COST_ALLOC:
        host->now_ps += cost->am_alloc_ps * units;
        break;
    case AM_COST_POLL:
        host->now_ps += cost->am_poll_ps * units;
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
 * When the last rounds were alike and each looked at memory exactly once,
 * nothing can differ before the first look O(k) that is not before the next
 * change of memory.  So the fiber sleeps until that change and goes on as if
 * it were at R(k): later accesses happen at the times at which spinning would
 * make them.  In every other case the round is spun.
 */
static bool idle_learn(struct ns_host *host)
{
    struct ns_idle *idle = &host->idle;
    uint64_t period_ps = host->now_ps - idle->last_ps;
    uint64_t seen_ps = idle->sync_ps - idle->last_ps;
    bool plain = idle->syncs == 1 && !idle->pio && period_ps > 0;

    if (plain && period_ps == idle->period_ps && seen_ps == idle->seen_ps) {
        idle->same++;
    } else {
        idle->same = 0;
    }
    idle->period_ps = period_ps;
    idle->seen_ps = seen_ps;
    idle->last_ps = host->now_ps;
    idle->syncs = 0;
    idle->pio = false;
    return idle->same >= 2 && !host->no_jump;
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

/* --------------------------------------------------------------------- port */

static struct ns_host *port_host(struct ns_port *port)
{
    return am_container(port, struct ns_host, port);
}

static uint32_t port_alloc(struct ns_port *port, size_t bytes, size_t align)
{
    return ns_memory_alloc(&port_host(port)->memory, bytes, align);
}

/* Time of `lines` cache lines over the memory bus. */
static uint64_t lines_ps(const struct ns_host *host, uint64_t lines)
{
    return ns_bytes_ps(lines * host->cost->line_bytes,
                       host->cost->memory_bytes_per_second);
}

static void port_load(struct ns_port *port, uint32_t address, void *to,
                      size_t bytes)
{
    struct ns_host *host = port_host(port);
    uint32_t misses = ns_memory_misses(&host->memory, address, bytes);

    if (misses > 0) {
        ns_host_sync(host);
        host->now_ps += lines_ps(host, misses);
    }
    ns_memory_load(&host->memory, address, to, bytes);
    host->now_ps += ns_bytes_ps(bytes, host->cost->copy_bytes_per_second);
}

static void port_store(struct ns_port *port, uint32_t address, const void *from,
                       size_t bytes)
{
    struct ns_host *host = port_host(port);
    uint32_t misses = ns_memory_store_misses(&host->memory, address, bytes);

    if (misses > 0) {
        ns_host_sync(host);
        host->now_ps += lines_ps(host, misses);
    }
    ns_memory_store(&host->memory, address, from, bytes);
    host->now_ps += ns_bytes_ps(bytes, host->cost->copy_bytes_per_second);
}

static void port_flush(struct ns_port *port, uint32_t address, size_t bytes)
{
    struct ns_host *host = port_host(port);
    uint32_t dirty = ns_memory_dirty(&host->memory, address, bytes);

    if (dirty > 0) {
        ns_host_sync(host);
    }
    ns_memory_flush(&host->memory, address, bytes);
    host->now_ps += lines_ps(host, dirty) +
                    ns_memory_lines(&host->memory, address, bytes) *
                            host->cost->clock_ps;
}

/* The access is over: it takes effect at the NIC now. */
static void pio_done(struct ns_bus_request *request)
{
    struct ns_host *host = am_container(request, struct ns_host, pio);

    ns_trace(&host->component, NS_TRACE_PIO, host->pio_reg, host->pio_value);
    if (host->pio_is_load) {
        host->pio_value = host->nic_ops->reg_load(host->nic, host->pio_reg,
                                                  host->pio_bytes);
    } else {
        host->nic_ops->reg_store(host->nic, host->pio_reg, host->pio_value,
                                 host->pio_bytes);
    }
    ns_host_resume(host);
}

static void pio_access(struct ns_host *host, uint32_t reg, uint32_t value,
                       uint32_t bytes, bool is_load)
{
    host->pio_reg = reg;
    host->pio_value = value;
    host->pio_bytes = bytes;
    host->pio_is_load = is_load;
    host->idle.pio = true;
    ns_host_sync(host);
    ns_bus_pio(&host->bus, &host->pio, host->cost->pio_ps, pio_done);
    ns_host_block(host);
}

static uint32_t port_pio_load(struct ns_port *port, uint32_t reg,
                              uint32_t bytes)
{
    struct ns_host *host = port_host(port);

    pio_access(host, reg, 0, bytes, true);
    return host->pio_value;
}

static void port_pio_store(struct ns_port *port, uint32_t reg, uint32_t value,
                           uint32_t bytes)
{
    pio_access(port_host(port), reg, value, bytes, false);
}

static void port_charge(struct ns_port *port, ns_work_t work, uint64_t units)
{
    struct ns_host *host = port_host(port);
    const uint64_t cost_ps[NS_WORK_COUNT] = {
            [NS_WORK_SEND] = host->cost->send_ps,
            [NS_WORK_RECEIVE] = host->cost->receive_ps,
            [NS_WORK_POLL] = host->cost->poll_ps,
    };

    host->now_ps += cost_ps[work] * units;
}

static void port_sent(struct ns_port *port, uint32_t peer, size_t bytes)
{
    struct ns_host *host = port_host(port);

    ns_trace_at(&host->component, host->now_ps, NS_TRACE_SEND, peer, bytes);
}

static void port_received(struct ns_port *port, uint32_t peer, size_t bytes)
{
    struct ns_host *host = port_host(port);

    ns_trace_at(&host->component, host->now_ps, NS_TRACE_RECEIVE, peer, bytes);
}

static void port_mark(struct ns_port *port, ns_stage_t stage)
{
    struct ns_host *host = port_host(port);

    ns_mark(host->component.engine, stage, host->now_ps);
}

static const struct ns_port_ops host_port_ops = {
        .alloc = port_alloc,
        .load = port_load,
        .store = port_store,
        .flush = port_flush,
        .pio_load = port_pio_load,
        .pio_store = port_pio_store,
        .charge = port_charge,
        .sent = port_sent,
        .received = port_received,
        .mark = port_mark,
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
            .ops = &host_port_ops,
            .nic = machine->nic,
            .node = node,
            .nodes = nodes,
            .line_bytes = (uint32_t)machine->host.line_bytes,
    };
    ns_component_init(&host->component, engine, "host", node);
    ns_event_init(&host->event, host_run);
    ns_bus_init(&host->bus, engine, node, &machine->bus);
    return ns_memory_init(&host->memory, (uint32_t)machine->host.shared_bytes,
                          (uint32_t)machine->host.line_bytes);
}

void ns_host_fini(struct ns_host *host)
{
    ns_fiber_close(host->fiber);
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
