/*
 * The Myrinet NI (LANai) as its driver sees it: SRAM that the host may write,
 * buffers in host memory, facts.  Shared by nic-sim/nic/lanai and
 * am-core/dev/snic.
 *
 * Source: Verstoep, Bhoedjang, Ruhl, Bal, Hofman 2004, "Cluster communication
 * protocols for parallel-programming systems" (TOCS): the base implementation
 * I-sdma and its alternatives, which are settings here.
 *
 *   host                                   NI SRAM
 *   send slots [header|data] <--DMA---     send descriptors (last word written:
 *   (or PIO into the slots of SRAM)        LENGTH)
 *   receive buffers [header|data] <-DMA-   queue of their addresses (FREE)
 *   status word <--DMA---                  number of send slots free again
 */
#ifndef NS_NICSIM_LANAI_H
#define NS_NICSIM_LANAI_H

#include <stdint.h>

/* Which of the LCI paper's implementations; in the order of their names. */
enum {
    NS_LANAI_NONE, /* trusts the network: credits between NIs */
    NS_LANAI_NI,   /* go-back-N between NIs */
    NS_LANAI_HOST  /* the host's channel; the NI may lose packets */
};

enum {
    NS_LANAI_DMA, /* the NI fetches what is sent */
    NS_LANAI_PIO, /* the host writes it into NI memory */
    NS_LANAI_RCPY /* the same as DMA, and remote copies without a copy */
};

enum {
    /* a send descriptor: 16 bytes for each send slot */
    NS_LANAI_DESC_BYTES = 16,
    NS_LANAI_DESC_ADDRESS =
            0,                /* in host memory; of a fetch-and-add its value */
    NS_LANAI_DESC_LENGTH = 4, /* node << 16 | kind << 13 | bytes: makes it
                                * valid; a multicast's node is its root */
    NS_LANAI_DESC_REMOTE = 8, /* where a remote copy goes */
    NS_LANAI_DESC_NOTICE = 12,   /* its region's generation << 16 | its number,
                                  * or 0: nobody waits for it */
    NS_LANAI_REG_FREE = 0x10000, /* write: address of a free buffer */
    NS_LANAI_REG_STATUS =
            0x10004,              /* write: address of the status word; opens */
    NS_LANAI_REG_CLOSE = 0x10008, /* write: no more packets to the host */
    NS_LANAI_REG_BUSY = 0x1000c,  /* read: transfers under way */
    NS_LANAI_REG_FORWARD =
            0x10010, /* write: root << 16 | a child in its tree */
    NS_LANAI_REG_TLB_PAGE = 0x10014,  /* write: virtual page's name */
    NS_LANAI_REG_TLB_FRAME = 0x10018, /* write: its address, or TLB_NONE */
    NS_LANAI_REG_COPIED = 0x1001c,    /* write: node whose miss is done */
    NS_LANAI_REG_INTERRUPT = 0x10020, /* write: 1, the host wants interrupts */
    NS_LANAI_SLOTS = 0x100000, /* the send slots in SRAM, mtu_bytes each */
};

/* What a send descriptor asks for. */
enum {
    NS_LANAI_SEND_FETCH,      /* a packet, by DMA from ADDRESS */
    NS_LANAI_SEND_SLOT,       /* a packet that the host has put into its slot */
    NS_LANAI_SEND_FETCH_ADD,  /* on the NI's variable */
    NS_LANAI_SEND_MCAST,      /* as FETCH, to all children in the root's tree */
    NS_LANAI_SEND_MCAST_SLOT, /* as SLOT, to them */
    NS_LANAI_SEND_COPY,       /* remote copy, by DMA from ADDRESS */
    NS_LANAI_SEND_COPY_SLOT,  /* remote copy of what is in the slot */
    NS_LANAI_SEND_COPIED,     /* tell the sender of copy NOTICE that it is in */
};

/* Descriptors that there are registers for, before NS_LANAI_REG_FREE. */
#define NS_LANAI_SLOTS_MAX  (0x10000 / NS_LANAI_DESC_BYTES)
#define NS_LANAI_KIND_SHIFT 13
#define NS_LANAI_BYTES_MASK 0x1fff
#define NS_LANAI_TLB_NONE   UINT32_MAX
/* Of a COPIED's number: the address was in no region. */
#define NS_LANAI_NOTICE_REFUSED (UINT32_C(1) << 31)

/* The first bytes of a slot and of a receive buffer. */
struct ns_lanai_header {
    uint32_t sequence; /* written by the receiving NI: 1, 2, 3... */
    uint16_t node;     /* the receiving NI puts the source */
    uint16_t bytes;    /* after the header */
    uint8_t user[8];   /* the driver's; or as USER_... below */
};

#define NS_LANAI_HEADER_BYTES 16

/* user[0] of what comes from the NI and not from a driver; user[4..7] holds a
 * word. */
enum {
    NS_LANAI_USER_FETCHED = 0xff, /* result of a fetch-and-add: the word */
    NS_LANAI_USER_COPIED = 0xfe,  /* remote copy `word` is in place */
    NS_LANAI_USER_MISS = 0xfd, /* data of a remote copy whose page the NI does
                                   * not know: to be copied to address `word`;
                                   * user[1]: its number, user[2..3]: its
                                   * region's generation */
};

enum {
    NS_LANAI_PAGE_BYTES = 4096,
    NS_LANAI_PAGE_BITS = 19,       /* of a virtual page's number */
    NS_LANAI_GENERATION_BITS = 13, /* of the region that has the page */
    NS_LANAI_TLB_ENTRIES = 1024,   /* direct mapped; the host's own as well */
    NS_LANAI_CHILDREN_MAX = 16,    /* of a node in a tree */
};

/* A virtual page as a TLB knows it: the page of a later region is another. */
static inline uint32_t ns_lanai_page_name(uint32_t page, uint32_t generation)
{
    return generation << NS_LANAI_PAGE_BITS | page;
}

struct ns_lanai_facts {
    uint32_t send_slots, receive_buffers;
    uint32_t mtu_bytes; /* of a slot, with its header */
    /* the settings of the same names */
    uint32_t reliability, transfer;
    uint32_t multicast_host, binomial;
    /* for the choice of protocols */
    uint64_t send_ps, receive_ps, copy_byte_fs;
    uint64_t wire_ps, packet_ps, bytes_per_second;
    uint64_t put_ps, put_byte_fs; /* a remote copy, until its notice */
    uint64_t forward_ps, forward_byte_fs; /* a packet of a multicast, each hop */
};

#endif
