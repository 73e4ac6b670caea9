/*
 * What a host offers to its driver: shared memory through the cache, accesses
 * across the bus, work that costs time.
 */
#include "host/cpu.h"

#include "host/copy.h"

static struct ns_cpu *port_cpu(struct ns_port *port)
{
    return am_container(port, struct ns_cpu, port);
}

static uint32_t port_alloc(struct ns_port *port, size_t bytes, size_t align)
{
    return ns_memory_alloc(&port_cpu(port)->memory, bytes, align);
}

static void port_release(struct ns_port *port)
{
    port_cpu(port)->ops->sync(port_cpu(port));
    ns_memory_release(&port_cpu(port)->memory);
}

/* Time of `lines` cache lines over the memory bus. */
static uint64_t lines_ps(const struct ns_cpu *cpu, uint64_t lines)
{
    return ns_bytes_ps(lines * cpu->cost->line_bytes,
                       cpu->cost->memory_bytes_per_second);
}

/* The same when they are fetched: memory answers after its latency. */
static uint64_t fetch_ps(const struct ns_cpu *cpu, uint64_t lines)
{
    return lines_ps(cpu, lines) + lines * cpu->cost->memory_latency_ps;
}

static void port_load(struct ns_port *port, uint32_t address, void *to,
                      size_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);
    uint32_t misses;

    cpu->accesses++;
    if (cpu->memory.coherent ||
        ns_memory_misses(&cpu->memory, address, bytes) > 0) {
        /* DMA may change it, and take coherent lines away, at any time: wait,
         * then look. */
        cpu->ops->sync(cpu);
    }
    misses = ns_memory_load(&cpu->memory, address, to, bytes);
    if (misses > 0) {
        cpu->now_ps += fetch_ps(cpu, misses);
        cpu->idle.news = cpu->idle.news || cpu->memory.coherent;
    }
    cpu->now_ps += ns_copy_ps(cpu->cost, NS_MEMORY_SHARED, bytes);
}

static void port_store(struct ns_port *port, uint32_t address, const void *from,
                       size_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);
    uint32_t misses = ns_memory_store_misses(&cpu->memory, address, bytes);

    cpu->accesses++;
    if (misses > 0) {
        cpu->ops->sync(cpu);
        cpu->now_ps += fetch_ps(cpu, misses);
    }
    ns_memory_store(&cpu->memory, address, from, bytes);
    cpu->now_ps += ns_copy_ps(cpu->cost, NS_MEMORY_SHARED, bytes);
}

static void port_flush(struct ns_port *port, uint32_t address, size_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);
    uint32_t dirty = ns_memory_dirty(&cpu->memory, address, bytes);

    cpu->accesses++;
    if (dirty > 0) {
        cpu->ops->sync(cpu);
    }
    ns_memory_flush(&cpu->memory, address, bytes);
    cpu->now_ps +=
            lines_ps(cpu, dirty) +
            ns_memory_lines(&cpu->memory, address, bytes) * cpu->cost->clock_ps;
}

static uint32_t port_pio_load(struct ns_port *port, uint32_t reg,
                              uint32_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);
    const struct ns_access access = {reg, 0, bytes, true};

    cpu->accesses++;
    cpu->idle.news = true;
    return cpu->ops->access(cpu, &access);
}

static void port_pio_store(struct ns_port *port, uint32_t reg, uint32_t value,
                           uint32_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);
    const struct ns_access access = {reg, value, bytes, false};

    cpu->accesses++;
    cpu->idle.news = true;
    (void)cpu->ops->access(cpu, &access);
}

static void port_pio_write(struct ns_port *port, uint32_t reg, const void *from,
                           size_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);

    cpu->accesses++;
    NS_CHECK(bytes > 0);
    cpu->idle.news = true;
    cpu->ops->write(cpu, reg, from, bytes);
}

static uint32_t port_pin(struct ns_port *port, void *page)
{
    struct ns_cpu *cpu = port_cpu(port);

    cpu->now_ps += cpu->cost->pin_ps;
    return ns_memory_pin(&cpu->memory, page);
}

static void port_unpin(struct ns_port *port, uint32_t address)
{
    struct ns_cpu *cpu = port_cpu(port);

    /* No transfer of before may still be under way. */
    cpu->now_ps += cpu->cost->pin_ps;
    cpu->ops->sync(cpu);
    ns_memory_unpin(&cpu->memory, address);
}

static void port_charge(struct ns_port *port, ns_work_t work, uint64_t units)
{
    struct ns_cpu *cpu = port_cpu(port);
    const uint64_t cost_ps[NS_WORK_COUNT] = {
            [NS_WORK_SEND] = cpu->cost->send_ps,
            [NS_WORK_FETCH] = cpu->cost->fetch_ps,
            [NS_WORK_RECEIVE] = cpu->cost->receive_ps,
            [NS_WORK_POLL] = cpu->cost->poll_ps,
            [NS_WORK_RELIABLE_SEND] = cpu->cost->reliable_send_ps,
            [NS_WORK_RELIABLE_RECEIVE] = cpu->cost->reliable_receive_ps,
            [NS_WORK_TLB] = cpu->cost->tlb_ps,
            [NS_WORK_NOTICE] = cpu->cost->notice_ps,
            [NS_WORK_PUT] = cpu->cost->put_ps,
    };

    cpu->now_ps += cost_ps[work] * units;
}

static void port_sent(struct ns_port *port, uint32_t peer, size_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);

    cpu->ops->trace(cpu, NS_TRACE_SEND, peer, bytes);
}

static void port_received(struct ns_port *port, uint32_t peer, size_t bytes)
{
    struct ns_cpu *cpu = port_cpu(port);

    cpu->ops->trace(cpu, NS_TRACE_RECEIVE, peer, bytes);
}

static void port_mark(struct ns_port *port, ns_stage_t stage)
{
    struct ns_cpu *cpu = port_cpu(port);

    cpu->ops->mark(cpu, stage);
}

const struct ns_port_ops ns_cpu_port_ops = {
        .alloc = port_alloc,
        .release = port_release,
        .load = port_load,
        .store = port_store,
        .flush = port_flush,
        .pio_load = port_pio_load,
        .pio_store = port_pio_store,
        .pio_write = port_pio_write,
        .pin = port_pin,
        .unpin = port_unpin,
        .charge = port_charge,
        .sent = port_sent,
        .received = port_received,
        .mark = port_mark,
};
