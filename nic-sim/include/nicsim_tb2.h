/*
 * The TB2 adapter as its driver sees it: registers, FIFO entries, facts.
 * Shared by nic-sim/nic/tb2 and am-core/dev/snic.
 *
 * Source: Chang, Czajkowski, Hawblitzel, von Eicken 1996, "Low-latency
 * communication on the IBM RISC System/6000 SP", section 2.
 *
 *   host memory                     adapter memory
 *   send FIFO   [entry][entry]...   length array [slot][slot]...
 *   receive FIFO[entry][entry]...   FIFO bases, pop count
 */
#ifndef NS_NICSIM_TB2_H
#define NS_NICSIM_TB2_H

#include <stdint.h>

#define NS_TB2_ENTRY_BYTES  256 /* one packet: 32 of header, 224 of data */
#define NS_TB2_HEADER_BYTES 8   /* of these the adapter's own */
#define NS_TB2_LENGTH_UNIT  4   /* a slot counts these, so one byte is enough */

/* Adapter memory across the MicroChannel. */
enum {
    NS_TB2_REG_LENGTH = 0,        /* one byte for each send FIFO entry */
    NS_TB2_REG_TX_BASE = 0x1000,  /* address of the send FIFO */
    NS_TB2_REG_RX_BASE = 0x1004,  /* address of the receive FIFO */
    NS_TB2_REG_RX_COUNT = 0x1008, /* its entries */
    NS_TB2_REG_BUSY = 0x1010,     /* read: transfers to host memory under way */
    NS_TB2_REG_RX_POP = 0x100c,   /* write n: n more entries are free */
};

/* The first bytes of an entry. */
struct ns_tb2_header {
    uint16_t node;   /* destination; the receiving adapter puts the source */
    uint8_t route;   /* 0 .. routes - 1 */
    uint8_t valid;   /* set by the receiving adapter, cleared by its host */
    uint8_t user[4]; /* the driver's */
};

/* What the driver must know of this machine. */
struct ns_tb2_facts {
    uint32_t send_entries;
    uint32_t receive_entries; /* for each node */
    uint32_t routes;
    uint32_t pop_batch;    /* entries popped with one access */
    uint32_t length_batch; /* lengths written with one access in bulk */
    /* for the choice of protocols */
    uint64_t send_ps, receive_ps, copy_byte_fs;
    uint64_t wire_ps, packet_ps, bytes_per_second;
};

#endif
