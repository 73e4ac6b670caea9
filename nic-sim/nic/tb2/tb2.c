/*
 * The TB2 adapter's registers, its side of the switch, set-up.
 */
#include "nic/tb2/tb2.h"

#include "host/copy.h"

#include <stdlib.h>
#include <string.h>

static const struct am_stat_row stat_rows[NS_TB2_STAT_COUNT] = {
        [NS_NIC_STAT_SENT] = {"sent", "packets", "packets put on the switch"},
        [NS_NIC_STAT_RECEIVED] = {"received", "packets",
                                  "packets put into host memory"},
        [NS_NIC_STAT_DROPPED] = {"dropped", "packets",
                                 "packets lost: the receive FIFO was full, or "
                                 "the CRC was wrong"},
        [NS_NIC_STAT_CLOSED] = {"closed", "packets",
                                "packets that came when the host had closed"},
        [NS_TB2_STAT_BAD] = {"bad", "packets",
                             "packets with an impossible header"},
        [NS_TB2_STAT_CORRUPT] = {"corrupt", "packets",
                                 "dropped packets whose CRC was wrong"},
        [NS_TB2_STAT_SENT_BYTES] = {"sent_bytes", "bytes",
                                    "bytes fetched from host memory"},
        [NS_TB2_STAT_RECEIVED_BYTES] = {"received_bytes", "bytes",
                                        "bytes put into host memory"},
        [NS_TB2_STAT_FW_BUSY] = {"fw_busy", "ps",
                                 "time that the i860 spent in tasks"},
};

/* ------------------------------------------------------------------- switch */

/* The packet's tail is in the in half of the FIFO. */
static void tail_run(struct ns_event *event)
{
    struct ns_packet *packet = am_container(event, struct ns_packet, event);
    struct ns_tb2 *tb2 = packet->receiver;

    ns_trace(&tb2->component, NS_TRACE_ARRIVE, packet->id, packet->bytes);
    ns_mark(tb2->component.engine, NS_STAGE_TAIL,
            ns_engine_now(tb2->component.engine));
    am_list_push(&tb2->in_queue, &packet->link);
    ns_clocked_wake(&tb2->i860);
}

static void tb2_deliver(void *nic, struct ns_packet *packet)
{
    struct ns_tb2 *tb2 = nic;
    struct ns_engine *engine = tb2->component.engine;
    uint64_t now_ps = ns_engine_now(engine);

    ns_mark(engine, NS_STAGE_INJECT, packet->started_ps);
    ns_mark(engine, NS_STAGE_HEAD, now_ps);
    packet->receiver = tb2;
    ns_event_init(&packet->event, tail_run);
    ns_event_schedule(&tb2->component, &packet->event, NS_PHASE_NIC,
                      packet->tail_ps);
}

/* ---------------------------------------------------------------- registers */

static bool is_length(const struct ns_tb2 *tb2, uint32_t reg, uint32_t bytes)
{
    return bytes <= 4 && reg + bytes <= tb2->settings->send_entries;
}

static uint32_t tb2_reg_load(void *nic, uint32_t reg, uint32_t bytes)
{
    struct ns_tb2 *tb2 = nic;
    uint32_t value = 0;

    if (reg == NS_TB2_REG_BUSY) {
        return tb2->job_count;
    }
    NS_CHECK(is_length(tb2, reg, bytes));
    for (uint32_t i = 0; i < bytes; i++) {
        value |= (uint32_t)tb2->length[reg + i] << (8 * i);
    }
    return value;
}

static void length_store(struct ns_tb2 *tb2, uint32_t reg, uint32_t value,
                         uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        uint8_t length = (uint8_t)(value >> (8 * i));

        NS_CHECK(length <= NS_TB2_ENTRY_BYTES / NS_TB2_LENGTH_UNIT);
        NS_CHECK(tb2->length[reg + i] == 0);
        tb2->length[reg + i] = length;
    }
    ns_mark(tb2->component.engine, NS_STAGE_BELL,
            ns_engine_now(tb2->component.engine));
    ns_clocked_wake(&tb2->i860);
}

/* The host has freed its oldest `count` entries. */
static void entries_pop(struct ns_tb2 *tb2, uint32_t count)
{
    NS_CHECK(count <= tb2->rx_used);
    for (; count > 0; count--) {
        uint32_t oldest =
                (tb2->rx_next + tb2->rx_count - tb2->rx_used) % tb2->rx_count;

        tb2->rx_share[tb2->rx_from[oldest]]--;
        tb2->rx_used--;
    }
}

static void rx_count_set(struct ns_tb2 *tb2, uint32_t count)
{
    NS_CHECK(count <= tb2->settings->receive_entries * tb2->net->nodes);
    tb2->rx_count = count;
    tb2->rx_next = 0;
    tb2->rx_used = 0;
    memset(tb2->rx_share, 0, tb2->net->nodes * sizeof(*tb2->rx_share));
}

static void tb2_reg_store(void *nic, uint32_t reg, uint32_t value,
                          uint32_t bytes)
{
    struct ns_tb2 *tb2 = nic;

    if (is_length(tb2, reg, bytes)) {
        length_store(tb2, reg, value, bytes);
        return;
    }
    switch (reg) {
    case NS_TB2_REG_TX_BASE:
        tb2->tx_base = value;
        tb2->tx_next = 0; /* the driver closes with no slot filled */
        break;
    case NS_TB2_REG_RX_BASE:
        tb2->rx_base = value;
        break;
    case NS_TB2_REG_RX_COUNT:
        rx_count_set(tb2, value);
        break;
    case NS_TB2_REG_RX_POP:
        entries_pop(tb2, value);
        break;
    default:
        NS_CHECK(!"a register of the adapter");
    }
}

/* Lengths are: only packets that were fetched clear them. */
static bool tb2_reg_is_steady(uint32_t reg)
{
    return reg < NS_TB2_REG_TX_BASE;
}

static const struct ns_nic_ops tb2_ops = {
        .reg_is_steady = tb2_reg_is_steady,
        .reg_load = tb2_reg_load,
        .reg_store = tb2_reg_store,
};

/* ------------------------------------------------------------------- set-up */

static bool tb2_busy(const void *nic)
{
    const struct ns_tb2 *tb2 = nic;

    return tb2->task != NS_TB2_IDLE || tb2->job_count > 0 ||
           tb2->out_used > 0 || tb2->length[tb2->tx_next] != 0 ||
           !am_list_is_empty(&tb2->in_queue);
}

static void facts_set(struct ns_tb2_facts *facts,
                      const struct ns_machine *machine)
{
    *facts = (struct ns_tb2_facts){
            .send_entries = (uint32_t)machine->tb2.send_entries,
            .receive_entries = (uint32_t)machine->tb2.receive_entries,
            .routes = (uint32_t)machine->sp.routes,
            .pop_batch = (uint32_t)machine->tb2.pop_batch,
            .length_batch = (uint32_t)machine->tb2.length_batch,
            .send_ps = machine->host.send_ps + machine->host.pio_ps,
            .receive_ps = machine->host.receive_ps,
            .copy_byte_fs = ns_copy_byte_fs(&machine->host, NS_MEMORY_SHARED,
                                            NS_TB2_ENTRY_BYTES),
            .wire_ps = 2 * machine->tb2.packet_cycles * machine->tb2.clock_ps +
                       NS_SP_HOPS * machine->sp.hop_ps,
            .packet_ps = machine->tb2.packet_cycles * machine->tb2.clock_ps,
            .bytes_per_second = machine->sp.link_bytes_per_second,
    };
}

static void tb2_close(void *nic)
{
    struct ns_tb2 *tb2 = nic;

    free(tb2->length);
    free(tb2->rx_from);
    free(tb2->rx_share);
    free(tb2);
}

static void *tb2_open(struct ns_host *host, void *net,
                      const struct ns_machine *machine)
{
    struct ns_tb2 *tb2 = calloc(1, sizeof(*tb2));
    struct ns_engine *engine = host->component.engine;
    uint32_t node = host->component.node;

    if (tb2 == NULL) {
        return NULL;
    }
    tb2->net = net;
    tb2->length = calloc(machine->tb2.send_entries, 1);
    tb2->rx_from = calloc(machine->tb2.receive_entries * tb2->net->nodes,
                          sizeof(*tb2->rx_from));
    tb2->rx_share = calloc(tb2->net->nodes, sizeof(*tb2->rx_share));
    if (tb2->length == NULL || tb2->rx_from == NULL || tb2->rx_share == NULL) {
        tb2_close(tb2);
        return NULL;
    }
    tb2->host = host;
    tb2->settings = &machine->tb2;
    facts_set(&tb2->facts, machine);
    am_list_init(&tb2->in_queue);
    ns_event_init(&tb2->left_start, ns_tb2_left_start);
    ns_component_init(&tb2->component, engine, "tb2", node);
    ns_clock_init(&tb2->clock, engine, "i860", node, machine->tb2.clock_ps);
    ns_clocked_init(&tb2->i860, &tb2->clock, &ns_tb2_i860_ops);
    ns_sp_attach(net, node, tb2, tb2_deliver, ns_tb2_out_free);
    host->nic_ops = &tb2_ops;
    host->nic = tb2;
    host->cpu.port.facts = &tb2->facts;
    return tb2;
}

/* Jobs are done one after the other: the first at `time_ps` at the soonest. */
static void jobs_ahead(const struct ns_tb2 *tb2, uint64_t time_ps,
                       uint64_t dma_ps, struct ns_ahead *ahead)
{
    for (uint32_t i = 0; i < tb2->job_count; i++) {
        bool in = tb2->jobs[(tb2->job_head + i) % NS_TB2_JOBS].in;
        uint64_t *first_ps = in ? &ahead->look_ps : &ahead->reg_ps;

        *first_ps = ns_ahead_first(*first_ps, time_ps);
        time_ps += dma_ps;
    }
}

/* The engine is free at `free_ps` for job `index`, if there is one. */
static void next_job_ahead(const struct ns_tb2 *tb2, uint64_t free_ps,
                           uint32_t index, struct ns_ahead *ahead)
{
    const struct ns_tb2_job *job =
            &tb2->jobs[(tb2->job_head + index) % NS_TB2_JOBS];

    if (ahead->bus_ps < free_ps) {
        ahead->bus_ps = free_ps;
    }
    if (index < tb2->job_count) {
        ns_bus_ahead_dma(&tb2->host->bus,
                         job->ready_ps > free_ps ? job->ready_ps : free_ps,
                         job->packet->bytes, ahead);
    }
}

/*
 * A packet passes three stages before it touches memory, each at least so long:
 *
 *   out: length seen -task- job -dma_start- asks for the bus -DMA- memory is read,
 *                                                           length cleared
 *   in:  tail is in  -task- job -dma_start- asks for the bus -DMA- it is written
 */
static void tb2_ahead(const void *nic, uint64_t next_ps, struct ns_ahead *ahead)
{
    const struct ns_tb2 *tb2 = nic;
    uint64_t start_ps = tb2->settings->dma_start_ps;
    uint64_t task_ps = tb2->settings->packet_cycles * tb2->clock.period_ps;
    uint64_t dma_ps = ns_bus_dma_ps(&tb2->host->bus.settings, 1);
    uint64_t bus_ps = ns_ahead_after(next_ps, task_ps + start_ps);

    ahead->look_ps = ahead->reg_ps = ns_ahead_after(bus_ps, dma_ps);
    if (tb2->task != NS_TB2_IDLE) {
        uint64_t *first_ps =
                tb2->task == NS_TB2_RECEIVE ? &ahead->look_ps : &ahead->reg_ps;

        bus_ps = ns_ahead_first(bus_ps, tb2->busy_until_ps + start_ps);
        *first_ps = ns_ahead_first(*first_ps, bus_ps + dma_ps);
    }
    ahead->bus_ps = bus_ps;
    if (ns_event_pending(&tb2->left_start)) {
        next_job_ahead(tb2, tb2->left_start.time_ps, 0, ahead);
        jobs_ahead(tb2, tb2->left_start.time_ps + dma_ps, dma_ps, ahead);
    } else if (tb2->job_count > 0) { /* it waits for the bus, or has it */
        next_job_ahead(tb2, tb2->host->bus.event.time_ps, 1, ahead);
        jobs_ahead(tb2, tb2->host->bus.event.time_ps, dma_ps, ahead);
    }
    ahead->touch_ps = ns_ahead_first(ahead->look_ps, ahead->reg_ps);
    ahead->store_bus_ps = task_ps + start_ps;
    ahead->store_touch_ps = ahead->store_bus_ps + dma_ps;
}

static const uint64_t *tb2_stats(const void *nic)
{
    return ((const struct ns_tb2 *)nic)->stats;
}

/* ------------------------------------------------------------------ network */

static uint32_t tb2_nodes_max(const struct ns_machine *machine)
{
    return (uint32_t)machine->sp.nodes_max;
}

/* As many packets may be under way to an adapter as its in half holds. */
static void *tb2_net_open(struct ns_engine *engine,
                          const struct ns_machine *machine, uint32_t nodes)
{
    return ns_sp_open(
            engine, &machine->sp, nodes,
            (uint32_t)(machine->tb2.fifo_bytes / 2 / NS_TB2_ENTRY_BYTES));
}

static void tb2_net_close(void *net)
{
    ns_sp_close(net);
}

static bool tb2_net_quiet(const void *net)
{
    return ns_sp_quiet(net);
}

const struct ns_nic_kind ns_tb2_kind = {
        .name = "tb2",
        .facts_bytes = sizeof(struct ns_tb2_facts),
        .network = "sp",
        .rows = ns_tb2_rows,
        .row_count = &ns_tb2_row_count,
        .check = ns_tb2_check,
        .nodes_max = tb2_nodes_max,
        .net_open = tb2_net_open,
        .net_close = tb2_net_close,
        .net_quiet = tb2_net_quiet,
        .open = tb2_open,
        .close = tb2_close,
        .busy = tb2_busy,
        .ahead = tb2_ahead,
        .stat_rows = stat_rows,
        .stat_count = NS_TB2_STAT_COUNT,
        .stats = tb2_stats,
};
