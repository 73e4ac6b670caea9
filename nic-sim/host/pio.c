/*
 * Accesses across a host's I/O bus: when the bus is free, and what they do at
 * the NIC.
 */
#include "host/host.h"

#include "host/copy.h"

/* The access is over: it takes effect at the NIC now. */
static void access_done(struct ns_bus_request *request)
{
    struct ns_host *host = am_container(request, struct ns_host, pio);
    struct ns_access *access = &host->access;

    ns_trace(&host->component, NS_TRACE_PIO, access->reg,
             host->nic_ops->reg_is_address != NULL &&
                             host->nic_ops->reg_is_address(access->reg)
                     ? 0
                     : access->value);
    if (access->is_load) {
        access->value =
                host->nic_ops->reg_load(host->nic, access->reg, access->bytes);
    } else {
        host->nic_ops->reg_store(host->nic, access->reg, access->value,
                                 access->bytes);
    }
    ns_host_resume(host);
}

uint32_t ns_host_access(struct ns_host *host, const struct ns_access *access)
{
    host->access = *access;
    ns_host_sync(host);
    ns_bus_pio(&host->bus, &host->pio, host->cpu.cost->pio_ps, access_done);
    ns_host_block(host);
    return host->access.value;
}

/* One line after the other, so that DMA gets in between. */
static void write_next(struct ns_host *host);

static void write_done(struct ns_bus_request *request)
{
    struct ns_host *host = am_container(request, struct ns_host, pio);
    uint32_t bytes = host->access.bytes;

    host->nic_ops->reg_write(host->nic, host->access.reg, host->pio_from,
                             bytes);
    host->access.reg += bytes;
    host->pio_from += bytes;
    host->pio_left -= bytes;
    if (host->pio_left > 0) {
        write_next(host);
    } else {
        ns_host_resume(host);
    }
}

static void write_next(struct ns_host *host)
{
    uint64_t line = host->cpu.cost->line_bytes;

    host->access.bytes =
            (uint32_t)(host->pio_left < line ? host->pio_left : line);
    ns_bus_pio(
            &host->bus, &host->pio,
            ns_copy_ps(host->cpu.cost, NS_MEMORY_ADAPTER, host->access.bytes),
            write_done);
}

void ns_host_write(struct ns_host *host, uint32_t reg, const void *from,
                   size_t bytes)
{
    NS_CHECK(host->nic_ops->reg_write != NULL);
    host->access = (struct ns_access){.reg = reg};
    host->pio_from = from;
    host->pio_left = bytes;
    ns_host_sync(host);
    ns_trace(&host->component, NS_TRACE_PIO, reg, bytes);
    write_next(host);
    ns_host_block(host);
}
