/*
 * Hosts: fibers, synchronisation with the engine, interrupts.
 */
#include "host/host.h"

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

    if (host->cpu.shared && host->cpu.now_ps < now_ps) {
        host->cpu.now_ps = now_ps;
    }
}

void ns_host_sync(struct ns_host *host)
{
    catch_up(host);
    host->syncs++;
    ns_cpu_looked(&host->cpu);
    if (!ns_engine_advance(&host->component, NS_PHASE_HOST, host->cpu.now_ps)) {
        ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                          host->cpu.now_ps);
        ns_fiber_yield(host->fiber);
    }
    ns_cpu_stolen(&host->cpu);
}

void ns_host_block(struct ns_host *host)
{
    ns_fiber_yield(host->fiber);
    host->cpu.now_ps = ns_engine_now(host->component.engine);
    ns_cpu_stolen(&host->cpu);
}

void ns_host_resume(struct ns_host *host)
{
    ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                      ns_engine_now(host->component.engine));
}

void ns_host_steal(struct ns_host *host, uint64_t ps)
{
    host->cpu.stolen_ps += ps;
    ns_host_notify(host);
}

/* --------------------------------------------------------------- interrupts */

/* The interrupt, and the signal that the program's function is called by, take
 * their time; what is left of the computation comes after that. */
void ns_host_compute(struct ns_host *host, uint64_t ps)
{
    uint64_t end_ps;

    ns_host_sync(host);
    host->cpu.idle.news = true;
    end_ps = host->cpu.now_ps + ps;
    while (host->cpu.now_ps < end_ps) {
        host->computing = true;
        ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                          end_ps);
        ns_host_block(host);
        host->computing = false;
        if (host->interrupted) {
            uint64_t from_ps = host->cpu.now_ps;

            host->interrupted = false;
            host->cpu.now_ps += host->cpu.cost->interrupt_ps;
            host->interrupt(host->interrupt_arg);
            ns_host_sync(host);
            end_ps += host->cpu.now_ps - from_ps;
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

/* ------------------------------------------------------------ idle polling */

/* Go on at the beginning of round `round`. */
static void idle_land(struct ns_host *host, uint64_t round, uint64_t event_ps)
{
    struct ns_idle *idle = &host->cpu.idle;

    idle->jumping = false;
    host->rounds_skipped += round;
    host->cpu.now_ps = idle->last_ps + round * idle->period_ps;
    idle->last_ps = host->cpu.now_ps;
    ns_event_cancel(host->component.engine, &host->event);
    ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST, event_ps);
}

void ns_host_notify(struct ns_host *host)
{
    struct ns_idle *idle = &host->cpu.idle;
    uint64_t look_ps = idle->last_ps + idle->seen_ps;
    uint64_t round;

    if (!idle->jumping) {
        return;
    }
    round = ns_cpu_rounds(look_ps, idle->period_ps,
                          ns_engine_now(host->component.engine));
    if (round < idle->deadline_round) {
        idle_land(host, round, look_ps + round * idle->period_ps);
    }
}

void ns_host_jump(struct ns_host *host)
{
    struct ns_idle *idle = &host->cpu.idle;

    host->jumps++;
    if (idle->deadline_round != NS_NEVER) {
        ns_event_schedule(&host->component, &host->event, NS_PHASE_HOST,
                          idle->last_ps +
                                  idle->deadline_round * idle->period_ps);
    }
    ns_fiber_yield(host->fiber);
    if (idle->jumping) { /* the deadline's own event */
        idle->jumping = false;
        host->cpu.now_ps = ns_engine_now(host->component.engine);
        idle->last_ps = host->cpu.now_ps;
    }
}

/* ------------------------------------------------------ its cpu, as a fiber */

static struct ns_host *host_of(struct ns_cpu *cpu)
{
    return am_container(cpu, struct ns_host, cpu);
}

static void fiber_sync(struct ns_cpu *cpu)
{
    ns_host_sync(host_of(cpu));
}

static uint32_t fiber_access(struct ns_cpu *cpu, const struct ns_access *access)
{
    return ns_host_access(host_of(cpu), access);
}

static void fiber_write(struct ns_cpu *cpu, uint32_t reg, const void *from,
                        size_t bytes)
{
    ns_host_write(host_of(cpu), reg, from, bytes);
}

static void fiber_jump(struct ns_cpu *cpu)
{
    ns_host_jump(host_of(cpu));
}

static void fiber_catch_up(struct ns_cpu *cpu)
{
    catch_up(host_of(cpu));
}

static void fiber_trace(struct ns_cpu *cpu, ns_trace_t kind, uint64_t a,
                        uint64_t b)
{
    ns_trace_at(&host_of(cpu)->component, cpu->now_ps, kind, a, b);
}

static void fiber_mark(struct ns_cpu *cpu, ns_stage_t stage)
{
    ns_mark(host_of(cpu)->component.engine, stage, cpu->now_ps);
}

static const struct ns_cpu_ops fiber_ops = {
        .sync = fiber_sync,
        .access = fiber_access,
        .write = fiber_write,
        .jump = fiber_jump,
        .catch_up = fiber_catch_up,
        .trace = fiber_trace,
        .mark = fiber_mark,
};

/* ------------------------------------------------------------------- set-up */

int ns_host_init(struct ns_host *host, struct ns_engine *engine, uint32_t node,
                 uint32_t nodes, const struct ns_machine *machine, bool no_jump,
                 uint8_t *room)
{
    *host = (struct ns_host){0};
    host->cpu.no_jump = no_jump;
    host->cpu.random =
            ns_engine_seed(engine) + node * UINT64_C(0x632be59bd9b4e019);
    host->cpu.port =
            (struct ns_port){.nic = machine->nic, .node = node, .nodes = nodes};
    ns_cpu_init(&host->cpu, &fiber_ops, &machine->host);
    ns_component_init(&host->component, engine, "host", node);
    ns_event_init(&host->event, host_run);
    ns_bus_init(&host->bus, engine, node, &machine->bus);
    return ns_memory_init(
            &host->cpu.memory, (uint32_t)machine->host.shared_bytes,
            (uint32_t)machine->host.line_bytes, machine->coherent, room);
}

void ns_host_fini(struct ns_host *host)
{
    if (!host->cpu.shared) {
        ns_fiber_close(host->fiber);
    }
    ns_memory_fini(&host->cpu.memory);
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
