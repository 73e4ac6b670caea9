/*
 * What a LANai's driver is told of it: sizes, settings, and what messages cost,
 * for the choice of protocols.
 */
#include "nic/lanai/lanai.h"

#include "host/copy.h"

/* A remote copy between pages that both TLBs know, and its notice.  Both NIs
 * and both buses work at a time: the slowest stage tells the rate. */
static void put_facts_set(struct ns_lanai_facts *facts,
                          const struct ns_machine *machine)
{
    const struct ns_lanai_settings *lanai = &machine->lanai;
    const struct ns_host_settings *host = &machine->host;
    uint64_t bytes = facts->mtu_bytes - NS_LANAI_HEADER_BYTES;
    uint64_t remote_ps = lanai->remote_cycles * lanai->clock_ps;
    /* with the word that tells the sender's host */
    uint64_t bus_ps = 2 * lanai->dma_start_ps +
                      ns_bus_dma_ps(&machine->bus, bytes) +
                      ns_bus_dma_ps(&machine->bus, sizeof(uint32_t));
    uint64_t nic_ps = facts->packet_ps + remote_ps +
                      lanai->fetched_cycles * lanai->clock_ps;

    facts->put_ps = facts->send_ps + host->tlb_ps + 2 * host->pio_ps +
                    2 * facts->wire_ps - lanai->dma_start_ps + 2 * remote_ps +
                    facts->receive_ps; /* no DMA fetches the notice */
    facts->put_byte_fs = (bus_ps > nic_ps ? bus_ps : nic_ps) * 1000 / bytes;
}

/* What a packet takes of the slower one, the processor or the DMA engine, which
 * also tells the sender's host. */
static uint64_t gap_ps(const struct ns_lanai_settings *lanai,
                       uint64_t in_cycles)
{
    uint64_t nic_ps = (in_cycles + lanai->done_cycles) * lanai->clock_ps;
    uint64_t dma_ps =
            (lanai->transfer == NS_LANAI_PIO ? 1 : 2) * lanai->dma_start_ps;

    return nic_ps > dma_ps ? nic_ps : dma_ps;
}

/* A hop of a multicast: an NI takes a packet and sends it on, or its host does. */
static void forward_facts_set(struct ns_lanai_facts *facts,
                              const struct ns_machine *machine)
{
    const struct ns_lanai_settings *lanai = &machine->lanai;
    uint64_t link_fs =
            UINT64_C(1000000000000000) / machine->myrinet.link_bytes_per_second;

    facts->forward_ps =
            (lanai->receive_cycles + lanai->send_cycles) * lanai->clock_ps +
            2 * (machine->myrinet.switch_ps + machine->myrinet.fibre_ps);
    facts->forward_byte_fs = link_fs;
    if (facts->multicast_host != 0) {
        facts->forward_ps =
                facts->receive_ps + facts->send_ps + facts->wire_ps;
        facts->forward_byte_fs = link_fs + 2 * facts->copy_byte_fs;
    }
}

void ns_lanai_facts_set(struct ns_lanai_facts *facts,
                        const struct ns_machine *machine)
{
    const struct ns_lanai_settings *lanai = &machine->lanai;
    const struct ns_host_settings *host = &machine->host;
    uint64_t flow = lanai->reliability == NS_LANAI_NONE ? lanai->window_cycles
                    : lanai->reliability == NS_LANAI_NI
                            ? lanai->retransmit_cycles
                            : 0;
    uint64_t in = lanai->receive_cycles + lanai->host_dma_cycles + flow;
    uint64_t out =
            lanai->send_cycles + flow +
            (lanai->transfer == NS_LANAI_PIO ? 0 : lanai->host_dma_cycles);

    *facts = (struct ns_lanai_facts){
            .send_slots = (uint32_t)ns_lanai_slots(lanai),
            .receive_buffers = (uint32_t)lanai->host_buffers,
            .mtu_bytes = ns_lanai_mtu(lanai),
            .reliability = (uint32_t)lanai->reliability,
            .transfer = (uint32_t)lanai->transfer,
            .multicast_host = (uint32_t)lanai->multicast_host,
            .binomial = (uint32_t)lanai->binomial,
            .send_ps = host->send_ps + 2 * host->pio_ps +
                       (lanai->transfer == NS_LANAI_PIO ? 0 : host->fetch_ps),
            .receive_ps = host->receive_ps + host->pio_ps,
            .copy_byte_fs = ns_copy_byte_fs(host, NS_MEMORY_SHARED,
                                            ns_lanai_mtu(lanai)),
            .wire_ps = (in + out) * lanai->clock_ps +
                       (lanai->transfer == NS_LANAI_PIO ? 1 : 2) *
                               lanai->dma_start_ps +
                       2 * machine->myrinet.switch_ps +
                       2 * machine->myrinet.fibre_ps,
            .packet_ps = gap_ps(lanai, in),
            .bytes_per_second = machine->bus.bytes_per_second,
    };
    forward_facts_set(facts, machine);
    if (lanai->transfer == NS_LANAI_RCPY) {
        put_facts_set(facts, machine);
    }
}
