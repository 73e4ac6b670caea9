/*
 * The settings of a machine with a LANai on Myrinet.
 */
#include "nic/lanai/lanai.h"

#define HOST(_name)    offsetof(struct ns_machine, host._name)
#define LANAI(_name)   offsetof(struct ns_machine, lanai._name)
#define MYRINET(_name) offsetof(struct ns_machine, myrinet._name)

const struct ns_machine_row ns_lanai_rows[] = {
        NS_ROW("host.memory_latency", TIME, 0, NS_ROW_MS,
               HOST(memory_latency_ps)),
        NS_ROW("nic.clock", FREQUENCY, 1, 1000000, LANAI(clock_ps)),
        NS_ROW("nic.send", CYCLES, 1, 1000000, LANAI(send_cycles)),
        NS_ROW("nic.receive", CYCLES, 1, 1000000, LANAI(receive_cycles)),
        NS_ROW("nic.cleanup", CYCLES, 1, 1000000, LANAI(cleanup_cycles)),
        NS_ROW("nic.step", CYCLES, 1, 1000000, LANAI(step_cycles)),
        NS_ROW("nic.fetch_add", CYCLES, 1, 1000000, LANAI(fetch_add_cycles)),
        NS_ROW("nic.receive_buffers", COUNT, 2, 65536, LANAI(receive_buffers)),
        NS_ROW("nic.send_buffers", COUNT, 2, 4096, LANAI(send_buffers)),
        NS_ROW("nic.host_buffers", COUNT, 2, 4096, LANAI(host_buffers)),
        NS_ROW("nic.mtu", BYTES, 256, 4096, LANAI(mtu_bytes)),
        NS_ROW("net.link", RATE, 1000000, NS_ROW_TB,
               MYRINET(link_bytes_per_second)),
        NS_ROW("net.switch", TIME, 1, NS_ROW_MS, MYRINET(switch_ps)),
        NS_ROW("net.side", COUNT, 1, 16, MYRINET(side)),
        NS_ROW("net.buffer", COUNT, 1, 1024, MYRINET(buffer_packets)),
};

const uint32_t ns_lanai_row_count =
        sizeof(ns_lanai_rows) / sizeof(ns_lanai_rows[0]);
