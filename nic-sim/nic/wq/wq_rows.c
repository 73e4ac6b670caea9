/*
 * The settings of a machine whose NICs have work queues, on one large switch.
 */
#include "nic/wq/wq.h"

#define HOST(_name)    offsetof(struct ns_machine, host._name)
#define WQ(_name)      offsetof(struct ns_machine, wq._name)
#define MYRINET(_name) offsetof(struct ns_machine, myrinet._name)

static const char *const answers[] = {"no", "yes", NULL};

const struct ns_machine_row ns_wq_rows[] = {
        NS_ROW("host.memory_latency", TIME, 0, NS_ROW_MS,
               HOST(memory_latency_ps)),
        NS_ROW("host.pio_stream", RATE, 1000000, NS_ROW_TB,
               HOST(pio_stream_bytes_per_second)),
        NS_ROW_OR("host.driver_put", TIME, 0, NS_ROW_MS, HOST(put_ps), "0 ps"),
        NS_ROW("nic.pcie", TIME, 0, NS_ROW_MS, WQ(pcie_ps)),
        NS_ROW("nic.read", TIME, 0, NS_ROW_MS, WQ(read_ps)),
        NS_ROW("nic.write", TIME, 0, NS_ROW_MS, WQ(write_ps)),
        NS_ROW("nic.send", TIME, 0, NS_ROW_MS, WQ(send_ps)),
        NS_ROW("nic.receive", TIME, 0, NS_ROW_MS, WQ(receive_ps)),
        NS_ROW("nic.packet", TIME, 1, NS_ROW_MS, WQ(packet_ps)),
        NS_ROW("nic.inline", BYTES, 0, 1024, WQ(inline_bytes)),
        NS_ROW("nic.send_ring", COUNT, 32, 4096, WQ(send_entries)),
        NS_ROW("nic.receive_ring", COUNT, 2, 65536, WQ(receive_entries)),
        NS_ROW("nic.bell_batch", COUNT, 1, 64, WQ(bell_batch)),
        NS_ROW("nic.post_batch", COUNT, 1, 4096, WQ(post_batch)),
        NS_ROW("nic.buffer", COUNT, 1, 4096, WQ(buffer_packets)),
        NS_ROW("nic.mtu", BYTES, 256, 4096, WQ(mtu_bytes)),
        NS_ROW("nic.overhead", BYTES, 1, 256, WQ(overhead_bytes)),
        NS_ROW_WORD("nic.rdma", answers, WQ(rdma), "yes"),
        NS_ROW("net.link", RATE, 1000000, NS_ROW_TB,
               MYRINET(link_bytes_per_second)),
        NS_ROW("net.switch", TIME, 1, NS_ROW_MS, MYRINET(switch_ps)),
        NS_ROW("net.side", COUNT, 1, 64, MYRINET(side)),
        NS_ROW("net.cable", TIME, 0, NS_ROW_MS, MYRINET(fibre_ps)),
        NS_ROW("net.buffer", COUNT, 1, 1024, MYRINET(buffer_packets)),
};

const uint32_t ns_wq_row_count = sizeof(ns_wq_rows) / sizeof(ns_wq_rows[0]);

const char *ns_wq_check(const struct ns_machine *machine)
{
    const struct ns_wq_settings *settings = &machine->wq;

    if (settings->post_batch > settings->receive_entries / 2) {
        return "nic.post_batch is more than half of nic.receive_ring";
    }
    if (settings->inline_bytes > settings->mtu_bytes) {
        return "nic.inline is more than nic.mtu";
    }
    if ((machine->fault.drop | machine->fault.corrupt |
         machine->fault.overflow) >>
                32 !=
        0) {
        return "net.fault.drop, net.fault.corrupt and net.fault.overflow lose "
               "packets, and nothing sends them again here";
    }
    return NULL;
}
