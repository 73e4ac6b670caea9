/*
 * Blue Gene/P: the machine's networks, nodes and their processes.
 */
#include "nic/bgp/bgp.h"

#include "host/copy.h"
#include "kernel/large.h"

#include <stdlib.h>

static const struct am_stat_row stat_rows[NS_BGP_STAT_COUNT] = {
        [NS_NIC_STAT_SENT] = {"sent", "packets",
                              "packets injected, and copies left on the way"},
        [NS_NIC_STAT_RECEIVED] = {"received", "packets",
                                  "packets that the DMA has put away"},
        [NS_NIC_STAT_DROPPED] = {"dropped", "packets",
                                 "packets for FIFOs that do not exist"},
        [NS_NIC_STAT_CLOSED] = {"closed", "packets",
                                "packets that came when the host had closed"},
        [NS_BGP_STAT_DESCRIPTORS] = {"descriptors", "descriptors",
                                     "descriptors begun"},
        [NS_BGP_STAT_LOCAL] = {"local", "packets",
                               "packets that stayed in the node"},
        [NS_BGP_STAT_PUT_BYTES] = {"put_bytes", "bytes",
                                   "bytes that direct puts wrote"},
        [NS_BGP_STAT_REMOTE_GETS] = {"remote_gets", "descriptors",
                                     "descriptors that peers put in"},
        [NS_BGP_STAT_INTERRUPTS] = {"interrupts", "interrupts",
                                    "remote get FIFOs made larger"},
        [NS_BGP_STAT_STALLS] = {"stalls", "packets",
                                "tries to receive a packet without place"},
        [NS_BGP_STAT_FAULTS] = {"faults", "packets",
                                "packets for memory that may not be reached"},
        [NS_BGP_STAT_BAD] = {"bad", "packets",
                             "impossible descriptors and headers"},
};

/* ------------------------------------------------------------------ machine */

static uint32_t bgp_nodes_max(const struct ns_machine *machine)
{
    (void)machine;
    return 65536;
}

static void node_init(struct ns_bgp_net *net, struct ns_engine *engine,
                      uint32_t index)
{
    struct ns_bgp_node *node = &net->nodes[index];
    uint32_t first = index * (uint32_t)net->machine->bgp.processes;

    node->net = net;
    node->index = index;
    ns_component_init(&node->component, engine, "dma", first);
    ns_bgp_inject_init(node);
    ns_bgp_receive_init(node);
    ns_torus_attach(net->torus, index, node, &ns_bgp_torus_ops);
}

static void bgp_net_close(void *arg)
{
    struct ns_bgp_net *net = arg;

    ns_torus_close(net->torus);
    if (net->tree != NULL) {
        ns_tree_close(net->tree);
    }
    free(net->nodes);
    free(net->process);
    free(net);
}

static void *bgp_net_open(struct ns_engine *engine,
                          const struct ns_machine *machine, uint32_t processes)
{
    uint32_t per_node = (uint32_t)machine->bgp.processes;
    struct ns_bgp_net *net = calloc(1, sizeof(*net));

    if (net == NULL) {
        return NULL;
    }
    net->machine = machine;
    net->processes = processes;
    net->node_count = (processes + per_node - 1) / per_node;
    net->torus = ns_torus_open(engine, &machine->torus, net->node_count);
    net->tree =
            ns_tree_open(engine, &machine->tree, net->node_count, processes);
    net->nodes = ns_large_calloc(net->node_count, sizeof(*net->nodes));
    net->process = calloc(processes, sizeof(*net->process));
    if (net->torus == NULL || net->tree == NULL || net->nodes == NULL ||
        net->process == NULL) {
        bgp_net_close(net);
        return NULL;
    }
    for (uint32_t i = 0; i < net->node_count; i++) {
        node_init(net, engine, i);
    }
    return net;
}

static bool bgp_net_quiet(const void *arg)
{
    const struct ns_bgp_net *net = arg;

    return ns_torus_quiet(net->torus) && ns_tree_quiet(net->tree);
}

/* ---------------------------------------------------------------- processes */

static void facts_set(struct ns_bgp_facts *facts,
                      const struct ns_machine *machine)
{
    const struct ns_bgp_settings *bgp = &machine->bgp;
    uint64_t dma_ps =
            (bgp->descriptor_cycles + 2 * bgp->packet_cycles) * bgp->clock_ps;

    *facts = (struct ns_bgp_facts){
            .injection_entries = (uint32_t)bgp->injection_entries,
            .remote_entries = (uint32_t)bgp->remote_entries,
            .remote_entries_max = (uint32_t)bgp->remote_entries_max,
            .remote_fifos = (uint32_t)bgp->remote_fifos,
            .reception_bytes = (uint32_t)bgp->reception_bytes,
            .mtu_bytes = (uint32_t)bgp->mtu_bytes,
            .put = (uint32_t)bgp->put,
            .processes = (uint32_t)bgp->processes,
            .send_ps = machine->host.send_ps + machine->host.pio_ps,
            .receive_ps = machine->host.receive_ps + machine->host.pio_ps,
            .put_ps = machine->host.put_ps,
            .copy_byte_fs = ns_copy_byte_fs(&machine->host, NS_MEMORY_SHARED,
                                            machine->bgp.mtu_bytes),
            .wire_ps = dma_ps +
                       machine->torus.hop_cycles * machine->torus.clock_ps,
            .packet_ps = bgp->descriptor_cycles * bgp->clock_ps,
            /* payload of full packets on one link */
            .bytes_per_second =
                    NS_PS_PER_SECOND / machine->torus.clock_ps *
                    NS_BGP_PAYLOAD_BYTES /
                    (NS_TORUS_BYTES_MAX + machine->torus.overhead_bytes),
            .barrier_ps = machine->tree.barrier_ps,
            .pio_ps = machine->host.pio_ps,
            .poll_ps = machine->host.poll_ps,
    };
}

/* The core's port of the collective network: process 0 of a node has it. */
static void tree_arrived(void *nic)
{
    struct ns_bgp_node *node = nic;
    struct ns_bgp_group *group = &node->group[0];

    group->status.collected++;
    ns_bgp_status_write(group);
    ns_host_notify(group->process->host);
}

static void barrier_over(void *nic)
{
    struct ns_bgp_process *process = nic;
    struct ns_bgp_group *group = &process->node->group[process->group];

    group->status.barriers++;
    ns_bgp_status_write(group);
    ns_host_notify(process->host);
}

static void *bgp_open(struct ns_host *host, void *arg,
                      const struct ns_machine *machine)
{
    struct ns_bgp_net *net = arg;
    uint32_t number = host->component.node;
    uint32_t per_node = (uint32_t)machine->bgp.processes;
    struct ns_bgp_node *node = &net->nodes[number / per_node];
    struct ns_bgp_process *process = calloc(1, sizeof(*process));

    if (process == NULL) {
        return NULL;
    }
    process->host = host;
    process->node = node;
    process->groups = NS_BGP_GROUPS / per_node;
    process->group = number % per_node * process->groups;
    for (uint32_t i = 0; i < process->groups; i++) {
        uint32_t group = process->group + i;

        node->group[group].process = process;
        node->group[group].sets = &node->sets[group];
    }
    net->process[number] = process;
    facts_set(&process->facts, machine);
    ns_torus_shape(net->torus, process->facts.side);
    process->facts.tree_ps =
            ns_tree_alone_ps(net->tree, ns_tree_depth(net->tree));
    if (number % per_node == 0) {
        process->facts.tree_packets = (uint32_t)machine->tree.buffer_packets;
        ns_tree_attach(net->tree, node->index, node, tree_arrived);
    }
    ns_tree_member(net->tree, number, process, barrier_over);
    host->nic_ops = &ns_bgp_nic_ops;
    host->nic = process;
    host->cpu.port.facts = &process->facts;
    return process;
}

static void bgp_close(void *nic)
{
    struct ns_bgp_process *process = nic;

    free(process->ranges);
    free(process);
}

static bool bgp_busy(const void *nic)
{
    const struct ns_bgp_process *process = nic;
    const struct ns_bgp_node *node = process->node;
    bool busy = node->inject.busy || node->receive.busy ||
                node->parked != NULL || node->offered != NULL ||
                node->local != NULL;

    for (uint32_t i = 0; i < process->groups; i++) {
        busy = busy || node->sets[process->group + i].active != 0;
    }
    return busy;
}

static const char *bgp_failure(const void *nic)
{
    const struct ns_bgp_net *net =
            ((const struct ns_bgp_process *)nic)->node->net;

    return ns_torus_broken(net->torus) || ns_tree_broken(net->tree)
                   ? "a link was given up: faults let nothing through"
                   : NULL;
}

static void first_of(uint64_t *time_ps, const struct ns_event *event,
                     uint64_t ps)
{
    if (ns_event_pending(event)) {
        *time_ps = ns_time_first(*time_ps, event->time_ps + ps);
    }
}

/* Its DMA has ways of its own to memory: the bus is the host's alone.  A packet
 * touches memory at the end of the time that it takes in an engine, a store at
 * once. */
static void bgp_ahead(const void *nic, uint64_t next_ps, struct ns_ahead *ahead)
{
    const struct ns_bgp_process *process = nic;
    const struct ns_bgp_node *node = process->node;
    const struct ns_machine *machine = node->net->machine;
    bool is_stalled = node->held || node->parked != NULL;
    uint64_t packet_ps =
            ns_bgp_cycles_ps(node->net, machine->bgp.packet_cycles) +
            ns_bus_dma_ps(&machine->bus, 1);

    ahead->bus_ps = NS_NEVER;
    ahead->store_bus_ps = NS_NEVER;
    ahead->touch_ps =
            ns_time_first(ns_time_after(next_ps, is_stalled ? 0 : packet_ps),
                          ns_tree_ahead_ps(node->net->tree, next_ps));
    first_of(&ahead->touch_ps, &node->inject.event, 0);
    first_of(&ahead->touch_ps, &node->receive.event, 0);
    first_of(&ahead->touch_ps, &node->interrupt, 0);
    first_of(&ahead->touch_ps, &node->fetched, packet_ps);
}

static const uint64_t *bgp_stats(const void *nic)
{
    return ((const struct ns_bgp_process *)nic)->stats;
}

const struct ns_nic_kind ns_bgp_kind = {
        .name = "bgp",
        .facts_bytes = sizeof(struct ns_bgp_facts),
        .network = "torus",
        .coherent = true,
        .rows = ns_bgp_rows,
        .row_count = &ns_bgp_row_count,
        .check = ns_bgp_check,
        .nodes_max = bgp_nodes_max,
        .net_open = bgp_net_open,
        .net_close = bgp_net_close,
        .net_quiet = bgp_net_quiet,
        .open = bgp_open,
        .close = bgp_close,
        .busy = bgp_busy,
        .failure = bgp_failure,
        .ahead = bgp_ahead,
        .stat_rows = stat_rows,
        .stat_count = NS_BGP_STAT_COUNT,
        .stats = bgp_stats,
};
