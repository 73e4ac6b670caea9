/*
 * The settings of a machine with a LANai on Myrinet.
 */
#include "nic/lanai/lanai.h"

#define HOST(_name)    offsetof(struct ns_machine, host._name)
#define LANAI(_name)   offsetof(struct ns_machine, lanai._name)
#define MYRINET(_name) offsetof(struct ns_machine, myrinet._name)

/* The words stand for 0, 1, 2 as in nicsim_machine.h. */
static const char *const reliabilities[] = {"none", "ni", "host", NULL};
static const char *const transfers[] = {"dma", "pio", "rcpy", NULL};
static const char *const mtus[] = {"1k", "2k", "4k", NULL};
static const char *const multicasts[] = {"ni", "host", NULL};
static const char *const trees[] = {"binary", "binomial", NULL};
static const char *const topologies[] = {"grid", "clos", NULL};

const struct ns_machine_row ns_lanai_rows[] = {
        NS_ROW_WORD("lanai.reliability", reliabilities, LANAI(reliability),
                    "none"),
        NS_ROW_WORD("lanai.transfer", transfers, LANAI(transfer), "dma"),
        NS_ROW_WORD("lanai.mtu", mtus, LANAI(mtu), "2k"),
        NS_ROW_WORD("lanai.multicast", multicasts, LANAI(multicast_host), "ni"),
        NS_ROW_WORD("lanai.tree", trees, LANAI(binomial), "binary"),
        NS_ROW("host.memory_latency", TIME, 0, NS_ROW_MS,
               HOST(memory_latency_ps)),
        NS_ROW("host.pio_stream", RATE, 1000000, NS_ROW_TB,
               HOST(pio_stream_bytes_per_second)),
        NS_ROW_OR("host.driver_fetch", TIME, 0, NS_ROW_MS, HOST(fetch_ps),
                  "0 ps"),
        NS_ROW("host.reliable_send", TIME, 0, NS_ROW_MS,
               HOST(reliable_send_ps)),
        NS_ROW("host.reliable_receive", TIME, 0, NS_ROW_MS,
               HOST(reliable_receive_ps)),
        NS_ROW("host.tlb", TIME, 0, NS_ROW_MS, HOST(tlb_ps)),
        NS_ROW("host.pin", TIME, 0, NS_ROW_MS, HOST(pin_ps)),
        NS_ROW("host.notice", TIME, 0, NS_ROW_MS, HOST(notice_ps)),
        NS_ROW("host.interrupt", TIME, 0, NS_ROW_MS, HOST(interrupt_ps)),
        NS_ROW("nic.clock", FREQUENCY, 1, 1000000, LANAI(clock_ps)),
        NS_ROW("nic.send", CYCLES, 0, 1000000, LANAI(send_cycles)),
        NS_ROW("nic.receive", CYCLES, 0, 1000000, LANAI(receive_cycles)),
        NS_ROW("nic.host_dma", CYCLES, 0, 1000000, LANAI(host_dma_cycles)),
        NS_ROW("nic.window", CYCLES, 0, 1000000, LANAI(window_cycles)),
        NS_ROW("nic.retransmit", CYCLES, 0, 1000000, LANAI(retransmit_cycles)),
        NS_ROW("nic.remote", CYCLES, 0, 1000000, LANAI(remote_cycles)),
        NS_ROW("nic.done", CYCLES, 0, 1000000, LANAI(done_cycles)),
        NS_ROW("nic.fetched", CYCLES, 0, 1000000, LANAI(fetched_cycles)),
        NS_ROW("nic.fetch_add", CYCLES, 0, 1000000, LANAI(fetch_add_cycles)),
        NS_ROW("nic.step", CYCLES, 1, 1000000, LANAI(step_cycles)),
        NS_ROW_OR("nic.dma_start", TIME, 0, NS_ROW_MS, LANAI(dma_start_ps),
                  "0 ps"),
        NS_ROW("nic.sram", BYTES, 1024, 1 << 30, LANAI(sram_bytes)),
        NS_ROW("nic.firmware", BYTES, 1024, 1 << 30, LANAI(firmware_bytes)),
        NS_ROW("nic.receive_memory", BYTES, 1024, 1 << 30,
               LANAI(receive_bytes)),
        NS_ROW("nic.send_memory", BYTES, 1024, 1 << 30, LANAI(send_bytes)),
        NS_ROW("nic.host_buffers", COUNT, 2, 4096, LANAI(host_buffers)),
        NS_ROW("nic.retransmit_window", COUNT, 2, 4096,
               LANAI(retransmit_packets)),
        NS_ROW("nic.retransmit_after", TIME, 1, NS_ROW_MS,
               LANAI(retransmit_ps)),
        NS_ROW("nic.ack_delay", TIME, 1, NS_ROW_MS, LANAI(ack_delay_ps)),
        NS_ROW("nic.watchdog", TIME, 1, NS_ROW_MS, LANAI(watchdog_ps)),
        NS_ROW("net.link", RATE, 1000000, NS_ROW_TB,
               MYRINET(link_bytes_per_second)),
        NS_ROW("net.switch", TIME, 1, NS_ROW_MS, MYRINET(switch_ps)),
        NS_ROW_WORD("net.topology", topologies, MYRINET(clos), "grid"),
        NS_ROW("net.side", COUNT, 1, 64, MYRINET(side)),
        NS_ROW("net.fibre", TIME, 0, NS_ROW_MS, MYRINET(fibre_ps)),
        NS_ROW("net.buffer", COUNT, 1, 1024, MYRINET(buffer_packets)),
};

const uint32_t ns_lanai_row_count =
        sizeof(ns_lanai_rows) / sizeof(ns_lanai_rows[0]);

const char *ns_lanai_check(const struct ns_machine *machine)
{
    const struct ns_lanai_settings *settings = &machine->lanai;

    if (ns_myrinet_nodes_max(&machine->myrinet) > UINT16_MAX) {
        return "net.side can be 1 to 40 ports of a grid, as a node's number "
               "has 16 bits";
    }
    if (settings->reliability == NS_LANAI_HOST &&
        settings->transfer == NS_LANAI_RCPY) {
        return "lanai.reliability=host does not go with lanai.transfer=rcpy: a "
               "remote copy passes no host that could ask for it again";
    }
    if (settings->reliability == NS_LANAI_NONE &&
        (machine->fault.drop | machine->fault.overflow) >> 32 != 0) {
        return "net.fault.drop and net.fault.overflow lose packets, and with "
               "lanai.reliability=none nothing sends them again";
    }
    return NULL;
}
