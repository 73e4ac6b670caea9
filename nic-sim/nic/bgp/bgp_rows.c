/*
 * The settings of machines with the Blue Gene/P node.
 */
#include "nic/bgp/bgp.h"

#define HOST(_name)  offsetof(struct ns_machine, host._name)
#define BGP(_name)   offsetof(struct ns_machine, bgp._name)
#define TORUS(_name) offsetof(struct ns_machine, torus._name)
#define TREE(_name)  offsetof(struct ns_machine, tree._name)

static const char *const no_yes[] = {"no", "yes", NULL};

const struct ns_machine_row ns_bgp_rows[] = {
        NS_ROW("host.driver_put", TIME, 0, NS_ROW_MS, HOST(put_ps)),
        NS_ROW("host.interrupt", TIME, 0, NS_ROW_MS, BGP(interrupt_ps)),
        NS_ROW("nic.clock", FREQUENCY, 1, 1000000, BGP(clock_ps)),
        NS_ROW("nic.descriptor", CYCLES, 1, 1000000, BGP(descriptor_cycles)),
        NS_ROW("nic.packet", CYCLES, 1, 1000000, BGP(packet_cycles)),
        NS_ROW("nic.injection_fifo", COUNT, 32, 65536, BGP(injection_entries)),
        NS_ROW("nic.remote_fifos", COUNT, 1, NS_BGP_INJECTION_FIFOS - 1,
               BGP(remote_fifos)),
        NS_ROW("nic.remote_fifo", COUNT, 1, 65536, BGP(remote_entries)),
        NS_ROW("nic.remote_fifo_max", COUNT, 1, 65536, BGP(remote_entries_max)),
        NS_ROW("nic.reception_fifo", BYTES, 1024, 1 << 24,
               BGP(reception_bytes)),
        NS_ROW("nic.mtu", BYTES, 240, 4096, BGP(mtu_bytes)),
        NS_ROW_WORD("nic.put", no_yes, BGP(put), "yes"),
        NS_ROW("nic.processes", COUNT, 1, 4, BGP(processes)),
        NS_ROW("net.clock", FREQUENCY, 1, 1000000, TORUS(clock_ps)),
        NS_ROW("net.hop", CYCLES, 1, 512, TORUS(hop_cycles)),
        NS_ROW("net.overhead", BYTES, 0, 64, TORUS(overhead_bytes)),
        NS_ROW("net.buffer", BYTES, 256, 65536, TORUS(buffer_bytes)),
        NS_ROW("net.nack", BYTES, 0, 256, TORUS(nack_bytes)),
        NS_ROW("net.resend", TIME, 1, NS_ROW_MS, TORUS(resend_ps)),
        NS_ROW("net.tree_rate", RATE, 1000000, NS_ROW_TB,
               TREE(bytes_per_second)),
        NS_ROW("net.tree_overhead", BYTES, 0, 64, TREE(overhead_bytes)),
        NS_ROW("net.tree_hop", TIME, 1, NS_ROW_MS, TREE(hop_ps)),
        NS_ROW("net.tree_arity", COUNT, 1, 16, TREE(arity)),
        NS_ROW("net.tree_buffer", COUNT, 2, 65536, TREE(buffer_packets)),
        NS_ROW("net.tree_nack", BYTES, 0, 256, TREE(nack_bytes)),
        NS_ROW("net.tree_resend", TIME, 1, NS_ROW_MS, TREE(resend_ps)),
        NS_ROW("net.barrier", TIME, 1, NS_ROW_MS, TREE(barrier_ps)),
};

const uint32_t ns_bgp_row_count = sizeof(ns_bgp_rows) / sizeof(ns_bgp_rows[0]);

const char *ns_bgp_check(const struct ns_machine *machine)
{
    const uint32_t cube[3] = {2, 2, 2};
    uint64_t fifo = machine->bgp.remote_entries;

    if (machine->bgp.processes == 3) {
        return "nic.processes must be 1 (SMP), 2 (dual) or 4 (quad)";
    }
    while (fifo < machine->bgp.remote_entries_max) {
        fifo *= 2; /* what each interrupt does */
    }
    if (fifo != machine->bgp.remote_entries_max) {
        return "nic.remote_fifo_max must be nic.remote_fifo or 2, 4, 8... "
               "times as much";
    }
    if (machine->torus.buffer_bytes % NS_TORUS_CHUNK != 0 ||
        machine->bgp.reception_bytes % NS_BGP_GRANULE != 0) {
        return "net.buffer and nic.reception_fifo must be multiples of 32 B";
    }
    /* The smallest torus that has all turns stands for the others. */
    return ns_torus_deadlock(&machine->torus, cube, ns_torus_turns);
}
