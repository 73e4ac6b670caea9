/*
 * The Myrinet NI (LANai) as its driver sees it: SRAM that the host may write,
 * buffers in host memory, facts.  Shared by nic-sim/nic/lanai and
 * am-core/dev/snic.
 *
 * Source: Verstoep, Bhoedjang, Ruhl, Bal, Hofman 2004, "Cluster communication
 * protocols for parallel-programming systems" (TOCS), the base implementation
 * I-sdma: the NI fetches what is sent by DMA, NIs have credits for each other.
 *
 *   host                                   NI SRAM
 *   send slots [header|data] <--DMA---     send descriptors (written last: LENGTH)
 *   receive buffers [header|data] <-DMA-   queue of their addresses (FREE)
 *   status word <--DMA---                  number of send slots free again
 */
#ifndef NS_NICSIM_LANAI_H
#define NS_NICSIM_LANAI_H

#include <stdint.h>

enum {
    /* a send descriptor: 16 bytes for each send slot */
    NS_LANAI_DESC_BYTES = 16,
    NS_LANAI_DESC_ADDRESS =
            0,                /* of the slot, or the value of a fetch-and-add */
    NS_LANAI_DESC_LENGTH = 4, /* node << 16 | bytes; makes it valid */
    NS_LANAI_REG_FREE = 0x10000, /* write: address of a free buffer */
    NS_LANAI_REG_STATUS =
            0x10004,              /* write: address of the status word; opens */
    NS_LANAI_REG_CLOSE = 0x10008, /* write: no more packets to the host */
    NS_LANAI_REG_BUSY = 0x1000c,  /* read: transfers under way */
};

/* bytes == NS_LANAI_FETCH_ADD: a fetch-and-add on the NI's variable */
#define NS_LANAI_FETCH_ADD 0xffff

/* The first bytes of a slot and of a receive buffer. */
struct ns_lanai_header {
    uint32_t sequence; /* written by the receiving NI: 1, 2, 3... */
    uint16_t node;     /* the receiving NI puts the source */
    uint16_t bytes;    /* after the header */
    uint8_t user[8];   /* the driver's; of a fetch-and-add its result */
};

#define NS_LANAI_HEADER_BYTES 16
#define NS_LANAI_USER_FETCHED 0xff /* user[0] of a fetch-and-add's result */

struct ns_lanai_facts {
    uint32_t send_slots, receive_buffers;
    uint32_t mtu_bytes; /* of a slot, with its header */
    /* for the choice of protocols */
    uint64_t send_ps, receive_ps, copy_byte_fs;
    uint64_t wire_ps, packet_ps, bytes_per_second;
};

#endif
