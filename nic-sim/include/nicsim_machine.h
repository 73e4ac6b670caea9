/*
 * Machine files: every number of a simulated machine, with unit, kind and
 * source.  A setting is
 *     key = ["value unit", "kind", "source"];
 * in a group ("host", "bus", "nic", "net"), kind one of
 *     fact        from a source that is named
 *     derived     computed from facts; the source says how
 *     calibrated  fitted to one target figure, which the source names
 *     assumed     no source known; the text says why this value
 * Settings that have a default may be left out.
 */
#ifndef NS_NICSIM_MACHINE_H
#define NS_NICSIM_MACHINE_H

#include "nicsim_link.h"

#define NS_MACHINE_TEXT 160

/* Cost of n units: fixed_ps + n * unit_fs / 1000. */
struct ns_cost {
    uint64_t fixed_ps;
    uint64_t unit_ps;
};

#define NS_CACHES 2

/* Copies: see host/copy.c.  0: no such cache, no such rate. */
struct ns_copy_settings {
    uint64_t bytes_per_second; /* of large ones, in memory */
    uint64_t start_ps;
    uint64_t cache_bytes[NS_CACHES]; /* the smaller one first */
    uint64_t cached_bytes_per_second[NS_CACHES];
    /* to and from memory that DMA reaches; 0: as large ones */
    uint64_t shared_bytes_per_second, shared_start_ps;
};

struct ns_host_settings {
    uint64_t clock_ps;
    uint64_t line_bytes;
    uint64_t memory_bytes_per_second; /* of the memory bus */
    uint64_t memory_latency_ps;       /* of a fetched line, besides */
    struct ns_copy_settings copy;
    uint64_t pio_ps;
    uint64_t send_ps, receive_ps, poll_ps; /* driver */
    uint64_t am_send_ps, am_word_ps;       /* AM_COST_SEND */
    uint64_t am_dispatch_ps, am_match_ps;  /* 1 each */
    uint64_t am_alloc_ps, am_poll_ps;
    /* Myrinet's driver; see snic_lanai.c */
    uint64_t fetch_ps; /* of a packet that the NI fetches, besides send_ps */
    uint64_t pio_stream_bytes_per_second; /* of a run of PIO stores */
    uint64_t reliable_send_ps, reliable_receive_ps;
    uint64_t tlb_ps, pin_ps, notice_ps, interrupt_ps;
    uint64_t put_ps;       /* driver: starting a put or get (bgp) */
    uint64_t call_ps;      /* AM_COST_CALL; 0: no source is known */
    uint64_t clock_read_ps; /* AM_COST_CLOCK: what waits for a time gets there */
    uint64_t operation_ps; /* that a program declares; 0: no source is known */
    uint64_t shared_bytes; /* of memory that the NIC reaches */
};

struct ns_bus_settings {
    uint64_t bytes_per_second;
    uint64_t arbitration_ps;
    uint64_t burst_bytes;
};

struct ns_tb2_settings {
    uint64_t clock_ps;
    uint64_t packet_cycles;
    uint64_t dma_start_ps;
    uint64_t send_entries, receive_entries;
    uint64_t fifo_bytes;
    uint64_t pop_batch, length_batch;
};

struct ns_sp_settings {
    uint64_t link_bytes_per_second;
    uint64_t hop_ps;
    uint64_t routes;
    uint64_t chip_ports; /* nodes of one chip */
    uint64_t buffer_packets;
    uint64_t nodes_max;
};

/* The first five choose among the LCI paper's implementations: nicsim_lanai.h. */
struct ns_lanai_settings {
    uint64_t reliability, transfer;
    uint64_t mtu;            /* 0: 1 KiB, 1: 2 KiB, 2: 4 KiB */
    uint64_t multicast_host; /* the host forwards, not the NI */
    uint64_t binomial;       /* the tree, not binary */
    uint64_t clock_ps;
    /* cycles of the NI's processor: see lanai_fw.c */
    uint64_t send_cycles, receive_cycles, host_dma_cycles;
    uint64_t window_cycles, retransmit_cycles, remote_cycles;
    uint64_t done_cycles, fetched_cycles, fetch_add_cycles;
    uint64_t step_cycles; /* of what is done after a packet, at a time */
    uint64_t dma_start_ps; /* of the host DMA engine, before it has the bus */
    uint64_t sram_bytes, firmware_bytes;
    uint64_t receive_bytes, send_bytes; /* of SRAM, for packets */
    uint64_t host_buffers;              /* of the host, for what arrives */
    uint64_t retransmit_packets;        /* unacknowledged, to one peer */
    uint64_t retransmit_ps, ack_delay_ps;
    uint64_t watchdog_ps; /* from an arrival to the interrupt */
};

struct ns_myrinet_settings {
    uint64_t link_bytes_per_second;
    uint64_t switch_ps;
    uint64_t clos; /* one large switch, not the grid */
    uint64_t side; /* switches of the grid in each direction; hosts of a leaf */
    uint64_t fibre_ps; /* of each host's link: to light and back */
    uint64_t buffer_packets;
    uint64_t corrupt; /* ratio of packets that are spoilt */
};

struct ns_bgp_settings {
    uint64_t clock_ps;
    uint64_t descriptor_cycles; /* to fetch and begin one */
    uint64_t packet_cycles;     /* of each DMA engine */
    uint64_t interrupt_ps;
    uint64_t injection_entries, remote_entries, remote_entries_max;
    uint64_t remote_fifos; /* of a group's injection FIFOs */
    uint64_t reception_bytes;
    uint64_t mtu_bytes;
    uint64_t put;       /* does the driver use direct put and remote get? */
    uint64_t processes; /* of a node: SMP 1, dual 2, quad 4 */
};

/* A NIC with work queues: nicsim_wq.h. */
struct ns_wq_settings {
    uint64_t pcie_ps;             /* one way between host and NIC */
    uint64_t read_ps, write_ps;   /* the host's memory, at the end of that */
    uint64_t send_ps, receive_ps; /* of a packet inside the NIC */
    uint64_t packet_ps;           /* from one packet to the next at least */
    uint64_t inline_bytes;
    uint64_t send_entries, receive_entries;
    uint64_t bell_batch, post_batch;
    uint64_t buffer_packets; /* in the NIC, of either direction */
    uint64_t mtu_bytes;
    uint64_t overhead_bytes; /* of a packet, on the link */
    uint64_t rdma;           /* does it read and write remote memory? */
};

/* The torus, and the collective and global interrupt networks. */
struct ns_torus_settings {
    uint64_t clock_ps; /* a byte each on every link */
    uint64_t hop_cycles;
    uint64_t overhead_bytes; /* of a packet, on the link */
    uint64_t buffer_bytes;   /* of a virtual channel */
    uint64_t nack_bytes;     /* an answer of the link to a spoilt packet */
    uint64_t resend_ps; /* longer than for that a sender waits for any answer */
};

struct ns_tree_settings {
    uint64_t bytes_per_second;
    uint64_t overhead_bytes;
    uint64_t hop_ps;
    uint64_t arity;
    uint64_t buffer_packets;
    uint64_t nack_bytes, resend_ps; /* as the torus's */
    uint64_t barrier_ps; /* from the last node's coming to all knowing */
};

/* One setting as it is in force, for the head of a run's output. */
struct ns_setting {
    const char *key; /* "host.pio" */
    char value[NS_MACHINE_TEXT];
    char kind[16];
    char source[NS_MACHINE_TEXT];
};

#define NS_SETTINGS_MAX 128

struct ns_machine {
    char name[32];
    char nic[16], network[16];
    struct ns_host_settings host;
    struct ns_bus_settings bus;
    struct ns_fault fault;
    struct ns_tb2_settings tb2;
    struct ns_sp_settings sp;
    struct ns_lanai_settings lanai;
    struct ns_myrinet_settings myrinet;
    struct ns_bgp_settings bgp;
    struct ns_torus_settings torus;
    struct ns_tree_settings tree;
    struct ns_wq_settings wq;
    bool coherent; /* DMA and the host's cache agree */
    struct ns_setting settings[NS_SETTINGS_MAX];
    uint32_t setting_count;
};

/*
 * Load machine `name`: a path when it has a '/' or ends in ".conf", else one
 * of the built-in files.  `sets` are overrides "key=value".  Returns the
 * machine, owned by the caller (free), or NULL with one sentence in `error`
 * that names file and line.
 */
NS_API struct ns_machine *ns_machine_load(const char *name,
                                          const char *const *sets,
                                          uint32_t set_count, char *error,
                                          size_t error_bytes);
/* The text of a built-in file, NULL if there is none of that name. */
NS_API const char *ns_machine_text(const char *name);
/* Names of the built-in files, NULL past the last. */
NS_API const char *ns_machine_name(uint32_t index);

/* The text of a built-in file of targets, NULL past the last. */
NS_API const char *ns_machine_targets(uint32_t index);

/* Parse "1.5 us" of the given type into its base unit (ps, bytes, B/s, 1).
 * Returns NULL, or what is wrong with it. */
typedef enum {
    NS_UNIT_TIME,
    NS_UNIT_BYTES,
    NS_UNIT_RATE,
    NS_UNIT_COUNT,
    NS_UNIT_CYCLES,
    NS_UNIT_FREQUENCY, /* becomes its period in ps */
    NS_UNIT_RATIO,     /* "1/100" or "0"; numerator << 32 | denominator */
    NS_UNIT_WORD,      /* one of a list; its index (ns_unit_parse: none) */
    NS_UNIT_NAME,      /* up to 31 characters (ns_unit_parse: none) */
} ns_unit_t;

NS_API const char *ns_unit_parse(const char *text, ns_unit_t type,
                                 uint64_t *value_p);

#endif
