/*
 * The NIC with work queues: its registers, set-up, network.
 */
#include "nic/wq/wq.h"

#include "host/copy.h"

#include <stdlib.h>
#include <string.h>

static const struct am_stat_row stat_rows[NS_WQ_STAT_COUNT] = {
        [NS_NIC_STAT_SENT] = {"sent", "packets", "packets put on the network"},
        [NS_NIC_STAT_RECEIVED] = {"received", "packets", "packets taken in"},
        [NS_NIC_STAT_DROPPED] = {"dropped", "packets", "packets lost"},
        [NS_NIC_STAT_CLOSED] = {"closed", "packets",
                                "packets that came when the host had closed"},
        [NS_WQ_STAT_BAD] = {"bad", "packets",
                            "descriptors and packets that name what there is "
                            "not"},
        [NS_WQ_STAT_INLINE] = {"inline", "packets",
                               "packets that the host wrote into the NIC"},
        [NS_WQ_STAT_WRITTEN_BYTES] = {"written_bytes", "bytes",
                                      "bytes that peers wrote into memory"},
        [NS_WQ_STAT_READ_BYTES] = {"read_bytes", "bytes",
                                   "bytes that peers read from memory"},
        [NS_WQ_STAT_STALLS] = {"stalls", "packets",
                               "packets that waited for a free buffer"},
};

/* ---------------------------------------------------------------- registers */

static uint32_t wq_reg_load(void *nic, uint32_t reg, uint32_t bytes)
{
    (void)nic;
    (void)reg;
    (void)bytes;
    NS_CHECK(!"a register of the NIC");
    return 0;
}

static void range_add(struct ns_wq *wq)
{
    if (wq->range_count == wq->range_room) {
        uint32_t room = 2 * wq->range_room + 8;
        struct ns_wq_range *ranges =
                realloc(wq->ranges, room * sizeof(*ranges));

        NS_CHECK(ranges != NULL);
        wq->ranges = ranges;
        wq->range_room = room;
    }
    wq->ranges[wq->range_count++] =
            (struct ns_wq_range){wq->memory[0], wq->memory[1]};
}

static void range_remove(struct ns_wq *wq)
{
    for (uint32_t i = wq->range_count; i-- > 0;) {
        if (wq->ranges[i].base == wq->memory[0] &&
            wq->ranges[i].bytes == wq->memory[1]) {
            wq->ranges[i] = wq->ranges[--wq->range_count];
            return;
        }
    }
    NS_CHECK(!"memory that was added");
}

static bool is_memory(uint32_t reg)
{
    return reg >= NS_WQ_REG_MEMORY_BASE && reg < NS_WQ_REG_MEMORY_ADD;
}

static void memory_store(struct ns_wq *wq, uint32_t reg, uint32_t value)
{
    uint32_t index = (reg - NS_WQ_REG_MEMORY_BASE) / 4;
    uint64_t *word = &wq->memory[index / 2];
    uint32_t shift = 32 * (index % 2);

    *word = (*word & ~(UINT64_C(0xffffffff) << shift)) | (uint64_t)value
                                                                 << shift;
}

/* The host opens with all of its buffers free, or closes. */
static void open_set(struct ns_wq *wq, bool open)
{
    wq->open = open;
    wq->bell = wq->done = wq->done_told = 0;
    wq->posted = wq->used = wq->completed = 0;
    if (open) {
        wq->posted = (uint32_t)wq->settings->receive_entries;
    } else {
        ns_wq_forget(wq);
        wq->range_count = 0; /* it may be freed now */
    }
    wq->stalled = false;
    ns_wq_receive_start(wq);
}

static void wq_reg_store(void *nic, uint32_t reg, uint32_t value,
                         uint32_t bytes)
{
    struct ns_wq *wq = nic;

    NS_CHECK(bytes == 4);
    if (is_memory(reg)) {
        memory_store(wq, reg, value);
        return;
    }
    switch (reg) {
    case NS_WQ_REG_SEND:
        wq->send_ring = value;
        break;
    case NS_WQ_REG_RECEIVE:
        wq->receive_ring = value;
        break;
    case NS_WQ_REG_COMPLETE:
        wq->completions = value;
        break;
    case NS_WQ_REG_DONE:
        wq->done_at = value;
        break;
    case NS_WQ_REG_OPEN:
        open_set(wq, value != 0);
        break;
    case NS_WQ_REG_BELL:
        ns_wq_rung(wq, value);
        break;
    case NS_WQ_REG_POST:
        wq->posted = value;
        wq->stalled = false;
        ns_wq_receive_start(wq);
        break;
    case NS_WQ_REG_MEMORY_ADD:
        range_add(wq);
        break;
    case NS_WQ_REG_MEMORY_REMOVE:
        range_remove(wq);
        break;
    default:
        NS_CHECK(!"a register of the NIC");
    }
}

static void wq_reg_write(void *nic, uint32_t reg, const void *from,
                         uint32_t bytes)
{
    NS_CHECK(reg >= NS_WQ_REG_INLINE);
    ns_wq_inline(nic, reg - NS_WQ_REG_INLINE, from, bytes);
}

static const struct ns_nic_ops wq_ops = {
        .reg_load = wq_reg_load,
        .reg_store = wq_reg_store,
        .reg_is_address = is_memory,
        .reg_write = wq_reg_write,
};

/* ------------------------------------------------------------------- set-up */

static bool wq_busy(const void *nic)
{
    const struct ns_wq *wq = nic;

    return !am_list_is_empty(&wq->works) || !am_list_is_empty(&wq->answers) ||
           wq->out_count > 0 || !am_list_is_empty(&wq->in_queue) ||
           wq->landing > 0;
}

static void facts_set(struct ns_wq_facts *facts,
                      const struct ns_machine *machine)
{
    const struct ns_wq_settings *wq = &machine->wq;

    *facts = (struct ns_wq_facts){
            .send_entries = (uint32_t)wq->send_entries,
            .receive_entries = (uint32_t)wq->receive_entries,
            .mtu_bytes = (uint32_t)wq->mtu_bytes,
            .inline_bytes = (uint32_t)wq->inline_bytes,
            .bell_batch = (uint32_t)wq->bell_batch,
            .post_batch = (uint32_t)wq->post_batch,
            .rdma = wq->rdma != 0,
            .send_ps = machine->host.send_ps + machine->host.pio_ps,
            .receive_ps = machine->host.receive_ps,
            .copy_byte_fs = ns_copy_byte_fs(&machine->host, NS_MEMORY_SHARED,
                                            (uint32_t)wq->mtu_bytes),
            .put_ps = machine->host.put_ps + machine->host.pio_ps,
            .wire_ps = 2 * wq->pcie_ps + wq->write_ps + wq->send_ps +
                       wq->receive_ps + machine->myrinet.switch_ps +
                       2 * machine->myrinet.fibre_ps,
            .packet_ps = wq->packet_ps,
            .bytes_per_second = machine->myrinet.link_bytes_per_second,
    };
}

static void wq_close(void *nic)
{
    struct ns_wq *wq = nic;

    ns_wq_send_fini(wq);
    free(wq->ranges);
    free(wq);
}

static void *wq_open(struct ns_host *host, void *net,
                     const struct ns_machine *machine)
{
    struct ns_wq *wq = calloc(1, sizeof(*wq));
    uint32_t node = host->component.node;

    if (wq == NULL) {
        return NULL;
    }
    wq->net = net;
    wq->host = host;
    wq->machine = machine;
    wq->settings = &machine->wq;
    facts_set(&wq->facts, machine);
    ns_component_init(&wq->component, host->component.engine, "wq", node);
    ns_wq_send_init(wq);
    ns_wq_receive_init(wq);
    ns_myrinet_attach(net, node, wq, ns_wq_deliver, ns_wq_left);
    host->nic_ops = &wq_ops;
    host->nic = wq;
    host->cpu.port.facts = &wq->facts;
    return wq;
}

/* What comes to it from outside reaches memory across PCIe; but a packet that
 * leaves makes place for one whose descriptor is there to be read. */
static void wq_ahead(const void *nic, uint64_t next_ps, struct ns_ahead *ahead)
{
    const struct ns_wq *wq = nic;
    bool full = wq->out_count >= wq->settings->buffer_packets;

    ahead->bus_ps = NS_NEVER;
    ahead->store_bus_ps = NS_NEVER;
    ahead->store_touch_ps = wq->settings->pcie_ps;
    ahead->touch_ps = ns_ahead_first(
            ns_ahead_after(next_ps, full ? 0 : wq->settings->pcie_ps),
            ns_component_next_ps(&wq->component));
}

static const uint64_t *wq_stats(const void *nic)
{
    return ((const struct ns_wq *)nic)->stats;
}

/* ------------------------------------------------------------------ network */

static struct ns_myrinet_settings net_settings(const struct ns_machine *machine)
{
    struct ns_myrinet_settings settings = machine->myrinet;

    settings.clos = 1;
    return settings;
}

static uint32_t wq_nodes_max(const struct ns_machine *machine)
{
    const struct ns_myrinet_settings settings = net_settings(machine);

    return ns_myrinet_nodes_max(&settings);
}

static void *wq_net_open(struct ns_engine *engine,
                         const struct ns_machine *machine, uint32_t nodes)
{
    const struct ns_myrinet_settings settings = net_settings(machine);

    (void)nodes;
    return ns_myrinet_open(engine, &settings,
                           (uint32_t)machine->wq.buffer_packets);
}

static void wq_net_close(void *net)
{
    ns_myrinet_close(net);
}

static bool wq_net_quiet(const void *net)
{
    return ns_myrinet_quiet(net);
}

const struct ns_nic_kind ns_wq_kind = {
        .name = "wq",
        .network = "clos",
        .coherent = true,
        .facts_bytes = sizeof(struct ns_wq_facts),
        .rows = ns_wq_rows,
        .row_count = &ns_wq_row_count,
        .check = ns_wq_check,
        .nodes_max = wq_nodes_max,
        .net_open = wq_net_open,
        .net_close = wq_net_close,
        .net_quiet = wq_net_quiet,
        .open = wq_open,
        .close = wq_close,
        .busy = wq_busy,
        .ahead = wq_ahead,
        .stat_rows = stat_rows,
        .stat_count = NS_WQ_STAT_COUNT,
        .stats = wq_stats,
};
