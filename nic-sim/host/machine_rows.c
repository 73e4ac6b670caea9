/*
 * The settings that every machine has: host, bus, and faults of links, which
 * there are none of unless a run asks for them.
 */
#include "host/machine_rows.h"

#define HOST(_name)  offsetof(struct ns_machine, host._name)
#define BUS(_name)   offsetof(struct ns_machine, bus._name)
#define FAULT(_name) offsetof(struct ns_machine, fault._name)

const struct ns_machine_row ns_machine_rows[] = {
        NS_ROW("host.clock", FREQUENCY, 1, 1000000, HOST(clock_ps)),
        NS_ROW("host.cache_line", BYTES, 16, 256, HOST(line_bytes)),
        NS_ROW("host.memory_bus", RATE, 1000000, NS_ROW_TB,
               HOST(memory_bytes_per_second)),
        NS_ROW("host.copy", RATE, 1000000, NS_ROW_TB,
               HOST(copy.bytes_per_second)),
        NS_ROW_OR("host.copy_start", TIME, 0, NS_ROW_MS, HOST(copy.start_ps),
                  "0 ps"),
        NS_ROW_OR("host.cache", BYTES, 0, UINT64_C(1) << 40,
                  HOST(copy.cache_bytes[0]), "0 B"),
        NS_ROW_OR("host.copy_cached", RATE, 0, NS_ROW_TB,
                  HOST(copy.cached_bytes_per_second[0]), "0 MB/s"),
        NS_ROW_OR("host.cache2", BYTES, 0, UINT64_C(1) << 40,
                  HOST(copy.cache_bytes[1]), "0 B"),
        NS_ROW_OR("host.copy_cached2", RATE, 0, NS_ROW_TB,
                  HOST(copy.cached_bytes_per_second[1]), "0 MB/s"),
        NS_ROW_OR("host.copy_shared", RATE, 0, NS_ROW_TB,
                  HOST(copy.shared_bytes_per_second), "0 MB/s"),
        NS_ROW_OR("host.copy_shared_start", TIME, 0, NS_ROW_MS,
                  HOST(copy.shared_start_ps), "0 ps"),
        NS_ROW("host.shared_memory", BYTES, 4096, UINT64_C(1) << 30,
               HOST(shared_bytes)),
        NS_ROW("host.pio", TIME, 1, NS_ROW_MS, HOST(pio_ps)),
        NS_ROW("host.driver_send", TIME, 0, NS_ROW_MS, HOST(send_ps)),
        NS_ROW("host.driver_receive", TIME, 0, NS_ROW_MS, HOST(receive_ps)),
        NS_ROW("host.driver_poll", TIME, 1, NS_ROW_MS, HOST(poll_ps)),
        NS_ROW("host.am_send", TIME, 0, NS_ROW_MS, HOST(am_send_ps)),
        NS_ROW("host.am_word", TIME, 0, NS_ROW_MS, HOST(am_word_ps)),
        NS_ROW("host.am_dispatch", TIME, 0, NS_ROW_MS, HOST(am_dispatch_ps)),
        NS_ROW("host.am_match", TIME, 0, NS_ROW_MS, HOST(am_match_ps)),
        NS_ROW("host.am_alloc", TIME, 0, NS_ROW_MS, HOST(am_alloc_ps)),
        NS_ROW("host.am_poll", TIME, 0, NS_ROW_MS, HOST(am_poll_ps)),
        NS_ROW_OR("host.mpi_call", TIME, 0, NS_ROW_MS, HOST(call_ps), "0 ps"),
        NS_ROW_OR("host.clock_read", TIME, 0, NS_ROW_MS, HOST(clock_read_ps),
                  "100 ns"),
        NS_ROW_OR("host.operation", TIME, 0, NS_ROW_MS, HOST(operation_ps),
                  "0 ps"),
        NS_ROW("bus.rate", RATE, 1000000, NS_ROW_TB, BUS(bytes_per_second)),
        NS_ROW("bus.arbitration", TIME, 0, NS_ROW_MS, BUS(arbitration_ps)),
        NS_ROW("bus.burst", BYTES, 4, 65536, BUS(burst_bytes)),
        NS_ROW_OR("net.fault.port", NAME, 0, 0, FAULT(port), "any"),
        NS_ROW_OR("net.fault.drop", RATIO, 0, UINT64_MAX, FAULT(drop), "0"),
        NS_ROW_OR("net.fault.corrupt", RATIO, 0, UINT64_MAX, FAULT(corrupt),
                  "0"),
        NS_ROW_OR("net.fault.stall", RATIO, 0, UINT64_MAX, FAULT(stall), "0"),
        NS_ROW_OR("net.fault.stall_time", TIME, 1, NS_ROW_MS, FAULT(stall_ps),
                  "10 us"),
        NS_ROW_OR("net.fault.overflow", RATIO, 0, UINT64_MAX, FAULT(overflow),
                  "0"),
        NS_ROW_OR("net.fault.overflow_time", TIME, 1, NS_ROW_MS,
                  FAULT(overflow_ps), "10 us"),
};

const uint32_t ns_machine_row_count =
        sizeof(ns_machine_rows) / sizeof(ns_machine_rows[0]);
