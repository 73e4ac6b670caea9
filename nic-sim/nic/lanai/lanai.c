/*
 * The LANai's registers and set-up.
 */
#include "nic/lanai/lanai.h"

#include <stdlib.h>
#include <string.h>

static const struct am_stat_row stat_rows[NS_LANAI_STAT_COUNT] = {
        [NS_NIC_STAT_SENT] = {"sent", "packets", "packets put on the network"},
        [NS_NIC_STAT_RECEIVED] = {"received", "packets",
                                  "packets put into host memory, or used up"},
        [NS_NIC_STAT_DROPPED] = {"dropped", "packets", "packets lost"},
        [NS_NIC_STAT_CLOSED] = {"closed", "packets",
                                "packets that came when the host had closed"},
        [NS_LANAI_STAT_CREDIT_WAIT] = {"credit_wait", "packets",
                                       "packets that waited for a credit"},
        [NS_LANAI_STAT_ACKS] = {"acks", "packets",
                                "packets sent for their credits only"},
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
    uint32_t *descriptor = &lanai->descriptors[2 * index];

    NS_CHECK(index < lanai->settings->send_buffers);
    if (reg % NS_LANAI_DESC_BYTES == NS_LANAI_DESC_ADDRESS) {
        descriptor[0] = value;
        return;
    }
    NS_CHECK(reg % NS_LANAI_DESC_BYTES == NS_LANAI_DESC_LENGTH);
    NS_CHECK(descriptor[1] == 0 && value != 0);
    NS_CHECK((value & 0xffff) == NS_LANAI_FETCH_ADD ||
             (value & 0xffff) <= lanai->settings->mtu_bytes);
    descriptor[1] = value;
    ns_mark(lanai->component.engine, NS_STAGE_BELL,
            ns_engine_now(lanai->component.engine));
}

static void lanai_reg_store(void *nic, uint32_t reg, uint32_t value,
                            uint32_t bytes)
{
    struct ns_lanai *lanai = nic;
    uint32_t max = (uint32_t)lanai->settings->host_buffers;

    (void)bytes;
    switch (reg) {
    case NS_LANAI_REG_FREE:
        NS_CHECK(lanai->free_count < max);
        lanai->free_buffers[(lanai->free_head + lanai->free_count) % max] =
                value;
        lanai->free_count++;
        break;
    case NS_LANAI_REG_STATUS:
        lanai->status_address = value;
        lanai->open = true;
        lanai->send_next = 0;
        lanai->send_done = 0;
        lanai->sequence = 0;
        lanai->free_count = 0;
        break;
    case NS_LANAI_REG_CLOSE:
        lanai->open = false;
        break;
    default:
        descriptor_store(lanai, reg, value);
        break;
    }
    ns_clocked_wake(&lanai->processor);
}

static const struct ns_nic_ops lanai_ops = {
        .reg_load = lanai_reg_load,
        .reg_store = lanai_reg_store,
};

/* ------------------------------------------------------------------- set-up */

static void facts_set(struct ns_lanai_facts *facts,
                      const struct ns_machine *machine)
{
    const struct ns_lanai_settings *lanai = &machine->lanai;
    uint64_t ni_ps =
            (lanai->send_cycles + lanai->receive_cycles) * lanai->clock_ps;

    *facts = (struct ns_lanai_facts){
            .send_slots = (uint32_t)lanai->send_buffers,
            .receive_buffers = (uint32_t)lanai->host_buffers,
            .mtu_bytes = (uint32_t)lanai->mtu_bytes,
            .send_ps = machine->host.send_ps + 2 * machine->host.pio_ps,
            .receive_ps = machine->host.receive_ps + machine->host.pio_ps,
            .copy_byte_fs = UINT64_C(1000000000000000) /
                            machine->host.copy_bytes_per_second,
            .wire_ps = ni_ps + 2 * machine->myrinet.switch_ps,
            .packet_ps = (lanai->receive_cycles + lanai->cleanup_cycles) *
                         lanai->clock_ps,
            .bytes_per_second = machine->bus.bytes_per_second,
    };
}

static void lanai_close(void *nic)
{
    struct ns_lanai *lanai = nic;

    free(lanai->peers);
    free(lanai->descriptors);
    free(lanai->free_buffers);
    free(lanai->jobs);
    free(lanai);
}

static struct ns_lanai *lanai_new(const struct ns_machine *machine,
                                  uint32_t nodes)
{
    const struct ns_lanai_settings *settings = &machine->lanai;
    struct ns_lanai *lanai = calloc(1, sizeof(*lanai));

    if (lanai == NULL) {
        return NULL;
    }
    lanai->settings = settings;
    lanai->nodes = nodes;
    lanai->jobs_max =
            (uint32_t)(2 * settings->send_buffers + settings->host_buffers + 1);
    lanai->peers = calloc(nodes, sizeof(*lanai->peers));
    lanai->descriptors =
            calloc(2 * settings->send_buffers, sizeof(*lanai->descriptors));
    lanai->free_buffers =
            calloc(settings->host_buffers, sizeof(*lanai->free_buffers));
    lanai->jobs = calloc(lanai->jobs_max, sizeof(*lanai->jobs));
    if (lanai->peers == NULL || lanai->descriptors == NULL ||
        lanai->free_buffers == NULL || lanai->jobs == NULL) {
        lanai_close(lanai);
        return NULL;
    }
    return lanai;
}

/* Each sender has its share of the receive buffers. */
static void credits_init(struct ns_lanai *lanai)
{
    uint32_t others = lanai->nodes > 1 ? lanai->nodes - 1 : 1;

    lanai->window = (uint32_t)lanai->settings->receive_buffers / others;
    NS_CHECK(lanai->window > 0);
    for (uint32_t i = 0; i < lanai->nodes; i++) {
        lanai->peers[i].credits = lanai->window;
        am_list_init(&lanai->peers[i].blocked);
    }
}

static void *lanai_open(struct ns_host *host, void *net,
                        const struct ns_machine *machine)
{
    struct ns_lanai *lanai = lanai_new(machine, host->port.nodes);
    struct ns_engine *engine = host->component.engine;
    uint32_t node = host->component.node;

    if (lanai == NULL) {
        return NULL;
    }
    lanai->host = host;
    lanai->net = net;
    credits_init(lanai);
    am_list_init(&lanai->in_queue);
    am_list_init(&lanai->done_queue);
    facts_set(&lanai->facts, machine);
    ns_component_init(&lanai->component, engine, "lanai", node);
    ns_clock_init(&lanai->clock, engine, "lanai clock", node,
                  machine->lanai.clock_ps);
    ns_clocked_init(&lanai->processor, &lanai->clock, &ns_lanai_processor_ops);
    ns_myrinet_attach(net, node, lanai, ns_lanai_deliver, ns_lanai_left);
    host->nic_ops = &lanai_ops;
    host->nic = lanai;
    host->port.facts = &lanai->facts;
    return lanai;
}

static bool lanai_busy(const void *nic)
{
    const struct ns_lanai *lanai = nic;
    bool busy = lanai->task != NS_LANAI_IDLE || lanai->job_count > 0 ||
                lanai->sent_cleanups > 0 ||
                lanai->descriptors[2 * lanai->send_next + 1] != 0 ||
                !am_list_is_empty(&lanai->in_queue) ||
                !am_list_is_empty(&lanai->done_queue);

    for (uint32_t i = 0; i < lanai->nodes && !busy; i++) {
        busy = !am_list_is_empty(&lanai->peers[i].blocked);
    }
    return busy;
}

static const uint64_t *lanai_stats(const void *nic)
{
    return ((const struct ns_lanai *)nic)->stats;
}

/* ------------------------------------------------------------------ network */

static uint32_t lanai_nodes_max(const struct ns_machine *machine)
{
    uint64_t side = machine->myrinet.side;
    uint64_t nodes = side * side * side;

    /* Each sender needs a buffer. */
    return (uint32_t)(nodes <= machine->lanai.receive_buffers
                              ? nodes
                              : machine->lanai.receive_buffers);
}

/* The window guarantees a buffer for data; credits come on top of them. */
static void *lanai_net_open(struct ns_engine *engine,
                            const struct ns_machine *machine, uint32_t nodes)
{
    return ns_myrinet_open(engine, &machine->myrinet,
                           (uint32_t)machine->lanai.receive_buffers + nodes);
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
        .network = "myrinet",
        .coherent = true,
        .rows = ns_lanai_rows,
        .row_count = &ns_lanai_row_count,
        .nodes_max = lanai_nodes_max,
        .net_open = lanai_net_open,
        .net_close = lanai_net_close,
        .net_quiet = lanai_net_quiet,
        .open = lanai_open,
        .close = lanai_close,
        .busy = lanai_busy,
        .stat_rows = stat_rows,
        .stat_count = NS_LANAI_STAT_COUNT,
        .stats = lanai_stats,
};
