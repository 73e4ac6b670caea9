/*
 * The settings of a machine with the TB2 and the SP's switch.
 */
#include "nic/tb2/tb2.h"

#define TB2(_name) offsetof(struct ns_machine, tb2._name)
#define SP(_name)  offsetof(struct ns_machine, sp._name)

const struct ns_machine_row ns_tb2_rows[] = {
        NS_ROW("nic.clock", FREQUENCY, 1, 1000000, TB2(clock_ps)),
        NS_ROW("nic.packet", CYCLES, 1, 1000000, TB2(packet_cycles)),
        NS_ROW("nic.dma_start", TIME, 0, NS_ROW_MS, TB2(dma_start_ps)),
        /* the driver keeps 16 for replies: with no more, no request goes */
        NS_ROW("nic.send_fifo", COUNT, 20, 4096, TB2(send_entries)),
        NS_ROW("nic.receive_fifo", COUNT, 2, 4096, TB2(receive_entries)),
        NS_ROW("nic.fifo", BYTES, 512, 1 << 20, TB2(fifo_bytes)),
        NS_ROW("nic.pop_batch", COUNT, 1, 4096, TB2(pop_batch)),
        NS_ROW("nic.length_batch", COUNT, 1, 4, TB2(length_batch)),
        NS_ROW("net.link", RATE, 1000000, NS_ROW_TB, SP(link_bytes_per_second)),
        NS_ROW("net.hop", TIME, 1, NS_ROW_MS, SP(hop_ps)),
        NS_ROW("net.routes", COUNT, 1, 16, SP(routes)),
        NS_ROW("net.chip_ports", COUNT, 1, 64, SP(chip_ports)),
        NS_ROW("net.buffer", COUNT, 1, 1024, SP(buffer_packets)),
        NS_ROW("net.nodes", COUNT, 2, 4096, SP(nodes_max)),
};

const uint32_t ns_tb2_row_count = sizeof(ns_tb2_rows) / sizeof(ns_tb2_rows[0]);

const char *ns_tb2_check(const struct ns_machine *machine)
{
    if (machine->tb2.send_entries % 4 != 0) {
        return "nic.send_fifo must be a multiple of 4 entries";
    }
    if (machine->tb2.pop_batch > machine->tb2.receive_entries) {
        return "nic.pop_batch is more than nic.receive_fifo";
    }
    if (4 % machine->tb2.length_batch != 0) {
        return "nic.length_batch must be 1, 2 or 4 lengths";
    }
    return NULL;
}
