/*
 * What a host offers to its driver: shared memory through the cache, accesses
 * across the bus, work that costs time.
 */
#include "host/host.h"

#include "host/copy.h"

static struct ns_host *port_host(struct ns_port *port)
{
    return am_container(port, struct ns_host, port);
}

static uint32_t port_alloc(struct ns_port *port, size_t bytes, size_t align)
{
    return ns_memory_alloc(&port_host(port)->memory, bytes, align);
}

static void port_release(struct ns_port *port)
{
    ns_host_sync(port_host(port));
    ns_memory_release(&port_host(port)->memory);
}

/* Time of `lines` cache lines over the memory bus. */
static uint64_t lines_ps(const struct ns_host *host, uint64_t lines)
{
    return ns_bytes_ps(lines * host->cost->line_bytes,
                       host->cost->memory_bytes_per_second);
}

/* The same when they are fetched: memory answers after its latency. */
static uint64_t fetch_ps(const struct ns_host *host, uint64_t lines)
{
    return lines_ps(host, lines) + lines * host->cost->memory_latency_ps;
}

static void port_load(struct ns_port *port, uint32_t address, void *to,
                      size_t bytes)
{
    struct ns_host *host = port_host(port);
    uint32_t misses;

    if (host->memory.coherent ||
        ns_memory_misses(&host->memory, address, bytes) > 0) {
        /* DMA may change it, and take coherent lines away, at any time: wait,
         * then look. */
        ns_host_sync(host);
    }
    misses = ns_memory_load(&host->memory, address, to, bytes);
    if (misses > 0) {
        host->now_ps += fetch_ps(host, misses);
        host->idle.news = host->idle.news || host->memory.coherent;
    }
    host->now_ps += ns_copy_ps(host->cost, NS_MEMORY_SHARED, bytes);
}

static void port_store(struct ns_port *port, uint32_t address, const void *from,
                       size_t bytes)
{
    struct ns_host *host = port_host(port);
    uint32_t misses = ns_memory_store_misses(&host->memory, address, bytes);

    if (misses > 0) {
        ns_host_sync(host);
        host->now_ps += fetch_ps(host, misses);
    }
    ns_memory_store(&host->memory, address, from, bytes);
    host->now_ps += ns_copy_ps(host->cost, NS_MEMORY_SHARED, bytes);
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

    ns_trace(&host->component, NS_TRACE_PIO, host->pio_reg,
             host->nic_ops->reg_is_address != NULL &&
                             host->nic_ops->reg_is_address(host->pio_reg)
                     ? 0
                     : host->pio_value);
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
    host->idle.news = true;
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

/* One line after the other, so that DMA gets in between. */
static void pio_write_next(struct ns_host *host);

static void pio_write_done(struct ns_bus_request *request)
{
    struct ns_host *host = am_container(request, struct ns_host, pio);
    uint32_t bytes = host->pio_bytes;

    host->nic_ops->reg_write(host->nic, host->pio_reg, host->pio_from, bytes);
    host->pio_reg += bytes;
    host->pio_from += bytes;
    host->pio_left -= bytes;
    if (host->pio_left > 0) {
        pio_write_next(host);
    } else {
        ns_host_resume(host);
    }
}

static void pio_write_next(struct ns_host *host)
{
    uint64_t line = host->cost->line_bytes;

    host->pio_bytes = (uint32_t)(host->pio_left < line ? host->pio_left : line);
    ns_bus_pio(&host->bus, &host->pio,
               ns_copy_ps(host->cost, NS_MEMORY_ADAPTER, host->pio_bytes),
               pio_write_done);
}

static void port_pio_write(struct ns_port *port, uint32_t reg, const void *from,
                           size_t bytes)
{
    struct ns_host *host = port_host(port);

    NS_CHECK(host->nic_ops->reg_write != NULL && bytes > 0);
    host->pio_reg = reg;
    host->pio_from = from;
    host->pio_left = bytes;
    host->idle.news = true;
    ns_host_sync(host);
    ns_trace(&host->component, NS_TRACE_PIO, reg, bytes);
    pio_write_next(host);
    ns_host_block(host);
}

static uint32_t port_pin(struct ns_port *port, void *page)
{
    struct ns_host *host = port_host(port);

    host->now_ps += host->cost->pin_ps;
    return ns_memory_pin(&host->memory, page);
}

static void port_unpin(struct ns_port *port, uint32_t address)
{
    struct ns_host *host = port_host(port);

    /* No transfer of before may still be under way. */
    host->now_ps += host->cost->pin_ps;
    ns_host_sync(host);
    ns_memory_unpin(&host->memory, address);
}

static void port_charge(struct ns_port *port, ns_work_t work, uint64_t units)
{
    struct ns_host *host = port_host(port);
    const uint64_t cost_ps[NS_WORK_COUNT] = {
            [NS_WORK_SEND] = host->cost->send_ps,
            [NS_WORK_RECEIVE] = host->cost->receive_ps,
            [NS_WORK_POLL] = host->cost->poll_ps,
            [NS_WORK_RELIABLE_SEND] = host->cost->reliable_send_ps,
            [NS_WORK_RELIABLE_RECEIVE] = host->cost->reliable_receive_ps,
            [NS_WORK_TLB] = host->cost->tlb_ps,
            [NS_WORK_NOTICE] = host->cost->notice_ps,
            [NS_WORK_PUT] = host->cost->put_ps,
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

const struct ns_port_ops ns_host_port_ops = {
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
