/*
 * The table of settings: key, unit, what is possible, where it goes.
 */
#include "host/machine_rows.h"

#define HOST(_name)    offsetof(struct ns_machine, host._name)
#define BUS(_name)     offsetof(struct ns_machine, bus._name)
#define TB2(_name)     offsetof(struct ns_machine, tb2._name)
#define LANAI(_name)   offsetof(struct ns_machine, lanai._name)
#define MYRINET(_name) offsetof(struct ns_machine, myrinet._name)
#define SP(_name)      offsetof(struct ns_machine, sp._name)
#define MS             UINT64_C(1000000000)
#define TB             UINT64_C(1000000000000)

const struct ns_machine_row ns_machine_rows[NS_MACHINE_ROWS] = {
        {NULL, "host.clock", NS_UNIT_FREQUENCY, 1, 1000000, HOST(clock_ps)},
        {NULL, "host.cache_line", NS_UNIT_BYTES, 16, 256, HOST(line_bytes)},
        {NULL, "host.memory_bus", NS_UNIT_RATE, 1000000, TB,
         HOST(memory_bytes_per_second)},
        {NULL, "host.copy", NS_UNIT_RATE, 1000000, TB,
         HOST(copy_bytes_per_second)},
        {NULL, "host.shared_memory", NS_UNIT_BYTES, 4096, UINT64_C(1) << 30,
         HOST(shared_bytes)},
        {NULL, "host.pio", NS_UNIT_TIME, 1, MS, HOST(pio_ps)},
        {NULL, "host.driver_send", NS_UNIT_TIME, 0, MS, HOST(send_ps)},
        {NULL, "host.driver_receive", NS_UNIT_TIME, 0, MS, HOST(receive_ps)},
        {NULL, "host.driver_poll", NS_UNIT_TIME, 1, MS, HOST(poll_ps)},
        {NULL, "host.am_send", NS_UNIT_TIME, 0, MS, HOST(am_send_ps)},
        {NULL, "host.am_word", NS_UNIT_TIME, 0, MS, HOST(am_word_ps)},
        {NULL, "host.am_dispatch", NS_UNIT_TIME, 0, MS, HOST(am_dispatch_ps)},
        {NULL, "host.am_match", NS_UNIT_TIME, 0, MS, HOST(am_match_ps)},
        {NULL, "host.am_alloc", NS_UNIT_TIME, 0, MS, HOST(am_alloc_ps)},
        {NULL, "host.am_poll", NS_UNIT_TIME, 0, MS, HOST(am_poll_ps)},
        {NULL, "bus.rate", NS_UNIT_RATE, 1000000, TB, BUS(bytes_per_second)},
        {NULL, "bus.arbitration", NS_UNIT_TIME, 0, MS, BUS(arbitration_ps)},
        {NULL, "bus.burst", NS_UNIT_BYTES, 4, 65536, BUS(burst_bytes)},
        {"tb2", "nic.clock", NS_UNIT_FREQUENCY, 1, 1000000, TB2(clock_ps)},
        {"tb2", "nic.packet", NS_UNIT_CYCLES, 1, 1000000, TB2(packet_cycles)},
        {"tb2", "nic.dma_start", NS_UNIT_TIME, 0, MS, TB2(dma_start_ps)},
        {"tb2", "nic.send_fifo", NS_UNIT_COUNT, 4, 4096, TB2(send_entries)},
        {"tb2", "nic.receive_fifo", NS_UNIT_COUNT, 2, 4096,
         TB2(receive_entries)},
        {"tb2", "nic.fifo", NS_UNIT_BYTES, 512, 1 << 20, TB2(fifo_bytes)},
        {"tb2", "nic.pop_batch", NS_UNIT_COUNT, 1, 64, TB2(pop_batch)},
        {"tb2", "nic.length_batch", NS_UNIT_COUNT, 1, 4, TB2(length_batch)},
        {"tb2", "net.link", NS_UNIT_RATE, 1000000, TB,
         SP(link_bytes_per_second)},
        {"tb2", "net.hop", NS_UNIT_TIME, 1, MS, SP(hop_ps)},
        {"tb2", "net.routes", NS_UNIT_COUNT, 1, 16, SP(routes)},
        {"tb2", "net.chip_ports", NS_UNIT_COUNT, 1, 64, SP(chip_ports)},
        {"tb2", "net.buffer", NS_UNIT_COUNT, 1, 1024, SP(buffer_packets)},
        {"tb2", "net.nodes", NS_UNIT_COUNT, 2, 65536, SP(nodes_max)},
        {"lanai", "host.memory_latency", NS_UNIT_TIME, 0, MS,
         HOST(memory_latency_ps)},
        {"lanai", "nic.clock", NS_UNIT_FREQUENCY, 1, 1000000, LANAI(clock_ps)},
        {"lanai", "nic.send", NS_UNIT_CYCLES, 1, 1000000, LANAI(send_cycles)},
        {"lanai", "nic.receive", NS_UNIT_CYCLES, 1, 1000000,
         LANAI(receive_cycles)},
        {"lanai", "nic.cleanup", NS_UNIT_CYCLES, 1, 1000000,
         LANAI(cleanup_cycles)},
        {"lanai", "nic.step", NS_UNIT_CYCLES, 1, 1000000, LANAI(step_cycles)},
        {"lanai", "nic.fetch_add", NS_UNIT_CYCLES, 1, 1000000,
         LANAI(fetch_add_cycles)},
        {"lanai", "nic.receive_buffers", NS_UNIT_COUNT, 2, 65536,
         LANAI(receive_buffers)},
        {"lanai", "nic.send_buffers", NS_UNIT_COUNT, 2, 4096,
         LANAI(send_buffers)},
        {"lanai", "nic.host_buffers", NS_UNIT_COUNT, 2, 4096,
         LANAI(host_buffers)},
        {"lanai", "nic.mtu", NS_UNIT_BYTES, 256, 4096, LANAI(mtu_bytes)},
        {"lanai", "net.link", NS_UNIT_RATE, 1000000, TB,
         MYRINET(link_bytes_per_second)},
        {"lanai", "net.switch", NS_UNIT_TIME, 1, MS, MYRINET(switch_ps)},
        {"lanai", "net.side", NS_UNIT_COUNT, 1, 16, MYRINET(side)},
        {"lanai", "net.buffer", NS_UNIT_COUNT, 1, 1024,
         MYRINET(buffer_packets)},
};
