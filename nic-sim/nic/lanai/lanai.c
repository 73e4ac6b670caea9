/*
 * The LANai's registers and set-up.
 */
#include "nic/lanai/lanai.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct am_stat_row stat_rows[NS_LANAI_STAT_COUNT] = {
        [NS_NIC_STAT_SENT] = {"sent", "packets", "packets put on the network"},
        [NS_NIC_STAT_RECEIVED] = {"received", "packets",
                                  "packets put into host memory, or used up"},
        [NS_NIC_STAT_DROPPED] = {"dropped", "packets", "lost, or not wanted"},
        [NS_NIC_STAT_CLOSED] = {"closed", "packets",
                                "packets that came when the host had closed"},
        [NS_LANAI_STAT_WAIT] = {"window_wait", "packets",
                                "packets that waited for credits or a window"},
        [NS_LANAI_STAT_ACKS] = {"acks", "packets",
                                "packets sent for what they tell only"},
        [NS_LANAI_STAT_RESENT] = {"resent", "packets", "packets sent again"},
        [NS_LANAI_STAT_CORRUPT] = {"corrupt", "packets",
                                   "packets with a wrong CRC"},
        [NS_LANAI_STAT_NO_ROOM] = {"no_room", "packets",
                                   "packets that found no buffer"},
        [NS_LANAI_STAT_NUMBER] = {"number", "packets",
                                  "packets before or after the one wanted"},
        [NS_LANAI_STAT_MISSES] =
                {"tlb_misses", "packets",
                 "remote copies to a page the NI did not know"},
        [NS_LANAI_STAT_INTERRUPTS] = {"interrupts", "times",
                                      "the host had not polled in time"},
        [NS_LANAI_STAT_BAD] = {"bad", "packets",
                               "descriptors with an impossible node"},
        [NS_LANAI_STAT_BUSY] = {"busy", "ps", "time spent in tasks"},
};

/* ---------------------------------------------------------------- registers */

static uint32_t lanai_reg_load(void *nic, uint32_t reg, uint32_t bytes)
{
    const struct ns_lanai *lanai = nic;

    (void)bytes;
    NS_CHECK(reg == NS_LANAI_REG_BUSY);
    return lanai->job_count;
}

static void descriptor_store(struct ns_lanai *lanai, uint32_t reg,
                             uint32_t value)
{
    uint32_t index = reg / NS_LANAI_DESC_BYTES;
    uint32_t word = reg % NS_LANAI_DESC_BYTES / 4;
    uint32_t *descriptor = &lanai->descriptors[4 * index];

    NS_CHECK(index < lanai->facts.send_slots && reg % 4 == 0);
    if (word == NS_LANAI_DESC_LENGTH / 4) {
        NS_CHECK(descriptor[word] == 0 && value != 0);
        NS_CHECK((value & NS_LANAI_BYTES_MASK) <=
                 ns_lanai_mtu(lanai->settings));
        ns_mark(lanai->component.engine, NS_STAGE_BELL,
                ns_engine_now(lanai->component.engine));
    }
    descriptor[word] = value;
}

/* A driver opens: what the last one left is forgotten. */
static void host_opens(struct ns_lanai *lanai, uint32_t status_address)
{
    lanai->status_address = status_address;
    lanai->open = true;
    lanai->send_next = 0;
    lanai->send_done = 0;
    lanai->send_told = 0;
    lanai->sequence = 0;
    lanai->free_count = 0;
    lanai->given = 0;
    lanai->arrived = 0;
    lanai->polled = 0;
    lanai->interrupts = false;
    memset(lanai->child_count, 0, lanai->nodes);
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        lanai->peers[i].misses = 0;
    }
    memset(lanai->tlb_frame, 0xff, sizeof(lanai->tlb_frame)); /* TLB_NONE */
}

/* What still waits for one of its buffers has come too late. */
static void host_closes(struct ns_lanai *lanai)
{
    lanai->open = false;
    lanai->interrupts = false;
    while (!am_list_is_empty(&lanai->host_queue)) {
        struct ns_packet *packet = am_container(am_list_pop(&lanai->host_queue),
                                                struct ns_packet, link);

        lanai->stats[NS_NIC_STAT_CLOSED]++;
        if (ns_lanai_group_host(lanai, packet)) {
            ns_lanai_release(lanai, packet);
        }
    }
}

static void buffer_free(struct ns_lanai *lanai, uint32_t address)
{
    uint32_t max = (uint32_t)lanai->settings->host_buffers;

    NS_CHECK(lanai->free_count < max);
    lanai->free_buffers[(lanai->free_head + lanai->free_count) % max] = address;
    lanai->free_count++;
    lanai->polled += lanai->given >= max;
    lanai->given++;
    ns_lanai_host_queue_run(lanai);
}

static void lanai_reg_store(void *nic, uint32_t reg, uint32_t value,
                            uint32_t bytes)
{
    struct ns_lanai *lanai = nic;

    (void)bytes;
    switch (reg) {
    case NS_LANAI_REG_FREE:
        buffer_free(lanai, value);
        break;
    case NS_LANAI_REG_STATUS:
        host_opens(lanai, value);
        break;
    case NS_LANAI_REG_CLOSE:
        host_closes(lanai);
        break;
    case NS_LANAI_REG_FORWARD:
        ns_lanai_forward_set(lanai, value);
        break;
    case NS_LANAI_REG_TLB_PAGE:
        lanai->tlb_written = value;
        break;
    case NS_LANAI_REG_TLB_FRAME:
        ns_lanai_tlb_write(lanai, value);
        break;
    case NS_LANAI_REG_COPIED:
        NS_CHECK(value < lanai->nodes && lanai->peers[value].misses > 0);
        lanai->peers[value].misses--;
        break;
    case NS_LANAI_REG_INTERRUPT:
        lanai->interrupts = value != 0;
        break;
    default:
        descriptor_store(lanai, reg, value);
        break;
    }
    ns_lanai_wake(lanai);
}

static void lanai_reg_write(void *nic, uint32_t reg, const void *from,
                            uint32_t bytes)
{
    struct ns_lanai *lanai = nic;
    uint64_t at = reg - NS_LANAI_SLOTS;

    NS_CHECK(reg >= NS_LANAI_SLOTS &&
             at + bytes <=
                     lanai->facts.send_slots * ns_lanai_mtu(lanai->settings));
    memcpy(lanai->slots + at, from, bytes);
}

static const struct ns_nic_ops lanai_ops = {
        .reg_load = lanai_reg_load,
        .reg_store = lanai_reg_store,
        .reg_write = lanai_reg_write,
};

/* ------------------------------------------------------------------- set-up */

static void lanai_close(void *nic)
{
    struct ns_lanai *lanai = nic;

    free(lanai->peers);
    free(lanai->descriptors);
    free(lanai->slots);
    free(lanai->free_buffers);
    free(lanai->children);
    free(lanai->child_count);
    free(lanai->groups);
    free(lanai->jobs);
    free(lanai);
}

static bool lanai_alloc(struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;
    size_t slots = lanai->facts.send_slots;
    size_t groups = slots + ns_lanai_buffers(settings);

    lanai->jobs_max =
            (uint32_t)(2 * slots + settings->host_buffers + groups + 1);
    lanai->peers = calloc(lanai->nodes, sizeof(*lanai->peers));
    lanai->descriptors = calloc(4 * slots, sizeof(*lanai->descriptors));
    lanai->slots = calloc(slots, ns_lanai_mtu(settings));
    lanai->free_buffers =
            calloc(settings->host_buffers, sizeof(*lanai->free_buffers));
    lanai->children = calloc((size_t)lanai->nodes * NS_LANAI_CHILDREN_MAX,
                             sizeof(*lanai->children));
    lanai->child_count = calloc(lanai->nodes, 1);
    lanai->groups = calloc(groups, sizeof(*lanai->groups));
    lanai->jobs = calloc(lanai->jobs_max, sizeof(*lanai->jobs));
    if (lanai->peers == NULL || lanai->descriptors == NULL ||
        lanai->slots == NULL || lanai->free_buffers == NULL ||
        lanai->children == NULL || lanai->child_count == NULL ||
        lanai->groups == NULL || lanai->jobs == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < groups; i++) {
        lanai->groups[i].next_free = i + 1 < groups ? i + 1 : NS_LANAI_NO_GROUP;
    }
    return true;
}

static void flow_init(struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;

    lanai->window = settings->reliability == NS_LANAI_NONE
                            ? ns_lanai_share(settings, lanai->nodes)
                            : (uint32_t)settings->retransmit_packets;
    /* Two buffers stay for what comes and for what is looked at. */
    lanai->room = ns_lanai_buffers(settings) - 2;
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        struct ns_lanai_peer *peer = &lanai->peers[i];

        peer->credits = lanai->window;
        peer->resend_at_ps = NS_NEVER;
        peer->tell_at_ps = NS_NEVER;
        am_list_init(&peer->blocked);
        am_list_init(&peer->unacked);
    }
}

static struct ns_lanai *lanai_new(const struct ns_machine *machine,
                                  uint32_t nodes)
{
    struct ns_lanai *lanai = calloc(1, sizeof(*lanai));

    if (lanai == NULL) {
        return NULL;
    }
    lanai->settings = &machine->lanai;
    lanai->nodes = nodes;
    ns_lanai_facts_set(&lanai->facts, machine);
    if (!lanai_alloc(lanai)) {
        lanai_close(lanai);
        return NULL;
    }
    flow_init(lanai);
    am_list_init(&lanai->in_queue);
    am_list_init(&lanai->done_queue);
    am_list_init(&lanai->host_queue);
    am_list_init(&lanai->forward_queue);
    ns_lanai_goback_init(lanai);
    ns_event_init(&lanai->watchdog, ns_lanai_watchdog_run);
    ns_event_init(&lanai->dma_start, ns_lanai_dma_start_run);
    return lanai;
}

static void *lanai_open(struct ns_host *host, void *net,
                        const struct ns_machine *machine)
{
    struct ns_lanai *lanai = lanai_new(machine, host->cpu.port.nodes);
    struct ns_engine *engine = host->component.engine;
    uint32_t node = host->component.node;

    if (lanai == NULL) {
        return NULL;
    }
    lanai->host = host;
    lanai->net = net;
    ns_component_init(&lanai->component, engine, "lanai", node);
    ns_clock_init(&lanai->clock, engine, "lanai clock", node,
                  machine->lanai.clock_ps);
    ns_clocked_init(&lanai->processor, &lanai->clock, &ns_lanai_processor_ops);
    ns_myrinet_attach(net, node, lanai, ns_lanai_deliver, ns_lanai_left);
    host->nic_ops = &lanai_ops;
    host->nic = lanai;
    host->cpu.port.facts = &lanai->facts;
    return lanai;
}

static const char *lanai_failure(const void *nic)
{
    return ((const struct ns_lanai *)nic)->failure;
}

static const uint64_t *lanai_stats(const void *nic)
{
    return ((const struct ns_lanai *)nic)->stats;
}

/* ------------------------------------------------------------------ network */

/* The shortest task, of those that end with a host DMA. */
static uint64_t task_ps(const struct ns_lanai *lanai)
{
    const struct ns_lanai_settings *settings = lanai->settings;
    uint64_t cycles =
            ns_time_first(settings->receive_cycles, settings->send_cycles);

    if (lanai->slot_cleanups > 0 || lanai->fetched_cleanups > 0 ||
        !am_list_is_empty(&lanai->done_queue)) {
        return 0; /* how much of it is left is not looked at */
    }
    return ns_time_first(cycles, settings->done_cycles) *
           lanai->clock.period_ps;
}

/* All that touches the host are jobs: a task makes one, or a buffer that the host
 * gives while packets wait for it. */
static void lanai_ahead(const void *nic, uint64_t next_ps,
                        struct ns_ahead *ahead)
{
    const struct ns_lanai *lanai = nic;
    uint64_t start_ps = lanai->settings->dma_start_ps;
    uint64_t dma_ps = ns_bus_dma_ps(&lanai->host->bus.settings, 1);
    uint64_t bus_ps = ns_time_after(next_ps, task_ps(lanai) + start_ps);

    if (lanai->task != NS_LANAI_IDLE) {
        bus_ps = ns_time_first(bus_ps, lanai->busy_until_ps + start_ps);
    }
    ahead->bus_ps = bus_ps;
    ahead->touch_ps = ns_time_after(bus_ps, dma_ps);
    if (ns_event_pending(&lanai->dma_start)) {
        uint64_t time_ps = lanai->dma_start.time_ps;

        ahead->touch_ps = ns_time_first(ahead->touch_ps, time_ps + dma_ps);
        ns_bus_ahead_dma(&lanai->host->bus, time_ps,
                         ns_lanai_job_bytes(lanai, 0), ahead);
    } else if (lanai->job_count > 0) { /* it waits for the bus, or has it */
        uint64_t done_ps = lanai->host->bus.event.time_ps;

        ahead->touch_ps = ns_time_first(ahead->touch_ps, done_ps);
        ahead->bus_ps = bus_ps < done_ps ? done_ps : bus_ps;
        if (lanai->job_count > 1) {
            ns_bus_ahead_dma(&lanai->host->bus, done_ps + start_ps,
                             ns_lanai_job_bytes(lanai, 1), ahead);
        }
    }
    ahead->store_bus_ps =
            start_ps + (am_list_is_empty(&lanai->host_queue)
                                ? task_ps(lanai)
                                : 0);
    ahead->store_touch_ps = ahead->store_bus_ps + dma_ps;
}

static uint32_t lanai_nodes_max(const struct ns_machine *machine)
{
    return ns_myrinet_nodes_max(&machine->myrinet);
}

/* A buffer for each packet that may be on its way in; credits and
 * acknowledgements come on top of them. */
static void *lanai_net_open(struct ns_engine *engine,
                            const struct ns_machine *machine, uint32_t nodes)
{
    return ns_myrinet_open(engine, &machine->myrinet,
                           ns_lanai_buffers(&machine->lanai) + nodes);
}

static void lanai_net_close(void *net)
{
    ns_myrinet_close(net);
}

static bool lanai_net_quiet(const void *net)
{
    return ns_myrinet_quiet(net);
}

const struct ns_nic_kind ns_lanai_kind = {
        .name = "lanai",
        .facts_bytes = sizeof(struct ns_lanai_facts),
        .network = "myrinet",
        .coherent = true,
        .rows = ns_lanai_rows,
        .row_count = &ns_lanai_row_count,
        .check = ns_lanai_check,
        .nodes_max = lanai_nodes_max,
        .fits = ns_lanai_fits,
        .net_open = lanai_net_open,
        .net_close = lanai_net_close,
        .net_quiet = lanai_net_quiet,
        .open = lanai_open,
        .close = lanai_close,
        .busy = ns_lanai_busy,
        .whole = ns_lanai_whole,
        .failure = lanai_failure,
        .ahead = lanai_ahead,
        .stat_rows = stat_rows,
        .stat_count = NS_LANAI_STAT_COUNT,
        .stats = lanai_stats,
};
