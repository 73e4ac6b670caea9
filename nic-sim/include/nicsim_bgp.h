/*
 * The Blue Gene/P node's message hardware as its driver sees it: the DMA's
 * FIFOs, descriptors and counters, the collective network, the global
 * interrupt, facts.  Shared by nic-sim/nic/bgp and am-core/dev/snic.
 *
 * Source: Kumar et al. 2008, "The Deep Computing Messaging Framework" (ICS).
 *
 *   host memory                           DMA, four groups
 *   injection FIFO [descriptor]...        head <- DMA, tail <- host
 *   reception FIFO [header|data]...       tail <- DMA, head <- host
 *   status block   tails, heads, hits     written by the DMA, a copy for each
 *                                         group of what the host polls
 *   any memory     payload of descriptors, where direct puts land
 *
 * A process has 4 / (processes of its node) groups, numbered from 0.
 */
#ifndef NS_NICSIM_BGP_H
#define NS_NICSIM_BGP_H

#include <stdint.h>

enum {
    NS_BGP_GROUPS = 4,
    NS_BGP_INJECTION_FIFOS = 32, /* of a group */
    NS_BGP_RECEPTION_FIFOS = 8,
    NS_BGP_COUNTERS = 64, /* and as many of injection */
    NS_BGP_COUNTER_MEMORY = NS_BGP_COUNTERS,
    NS_BGP_COUNTER_NONE = 0xff
};

/* Registers: group << 20 | block << 16 | index << 4 | register. */
enum {
    NS_BGP_INJECTION = 0,
    NS_BGP_RECEPTION = 1,
    NS_BGP_COUNT_IN = 2,  /* reception counters */
    NS_BGP_COUNT_OUT = 3, /* injection counters */
    NS_BGP_GROUP = 4,
    NS_BGP_TREE = 5,
    NS_BGP_GLOBAL = 6,
    NS_BGP_MEMORY = 7
};

#define NS_BGP_REG(_group, _block, _index, _register)      \
    ((uint32_t)(_group) << 20 | (uint32_t)(_block) << 16 | \
     (uint32_t)(_index) << 4 | (uint32_t)(_register))

enum {
    /* NS_BGP_INJECTION and NS_BGP_RECEPTION, index: the FIFO */
    NS_BGP_FIFO_START = 0,    /* write: address */
    NS_BGP_FIFO_SIZE = 1,     /* write: descriptors (injection), bytes */
    NS_BGP_FIFO_TAIL = 2,     /* injection, write: descriptors put in so far */
    NS_BGP_FIFO_HEAD = 3,     /* reception, write: bytes taken out so far */
    NS_BGP_FIFO_SIZE_MAX = 4, /* injection, write: what an interrupt may
                               enlarge it to; the memory is there */
    /* counters, index: the counter */
    NS_BGP_COUNTER_LOW = 0, /* write: base address */
    NS_BGP_COUNTER_HIGH = 1,
    NS_BGP_COUNTER_LIMIT = 2, /* write: bytes behind the base */
    NS_BGP_COUNTER_VALUE = 3, /* write: bytes to come; clears its hit */
    /* NS_BGP_GROUP */
    NS_BGP_GROUP_STATUS = 0, /* write: address of the status block; opens */
    NS_BGP_GROUP_CLOSE = 1,  /* write: nothing to memory any more, and what
                                has not been sent is forgotten */
    NS_BGP_GROUP_BUSY = 2,   /* read: does it still read memory? */
    /* NS_BGP_TREE: a packet is 64 words of 4 bytes, then SEND */
    NS_BGP_TREE_DATA = 0, /* write, read: the next 4 bytes */
    NS_BGP_TREE_SEND = 1, /* write: NS_BGP_TREE_WORD, the packet goes */
    NS_BGP_TREE_TAKE = 2, /* read: the next packet's NS_BGP_TREE_WORD; its data
                           * are read after it */
    /* NS_BGP_GLOBAL */
    NS_BGP_GLOBAL_ENTER = 0, /* write: this process has come */
    /* NS_BGP_MEMORY: what direct puts with NS_BGP_COUNTER_MEMORY and remote
     * gets may reach: base and bytes, 32 bits each, then ADD or REMOVE */
    NS_BGP_MEMORY_BASE = 0,  /* and 1 */
    NS_BGP_MEMORY_BYTES = 2, /* and 3 */
    NS_BGP_MEMORY_ADD = 4,
    NS_BGP_MEMORY_REMOVE = 5
};

typedef enum {
    NS_BGP_MEMORY_FIFO = 1, /* packets land in a reception FIFO */
    NS_BGP_DIRECT_PUT,      /* payload lands at counter's base + offset */
    NS_BGP_REMOTE_GET       /* payload is a descriptor, injected there */
} ns_bgp_kind_t;

enum {
    NS_BGP_ADAPTIVE = 1 << 0, /* any minimal route: may overtake */
    NS_BGP_DEPOSIT = 1 << 1,  /* a copy at every node of the line */
    NS_BGP_SHARED = 1 << 2    /* payload in shared memory, by its address */
};

/* One entry of an injection FIFO. */
struct ns_bgp_descriptor {
    uint8_t kind, flags;
    uint8_t group; /* of the destination, counted from its first */
    uint8_t index; /* there: reception FIFO, counter, injection FIFO */
    uint8_t count; /* injection counter of this group, or NONE */
    uint8_t user[3];
    uint32_t destination; /* process */
    uint32_t bytes;
    uint64_t address; /* of the payload */
    uint64_t offset;  /* direct put: from the counter's base */
};

#define NS_BGP_DESCRIPTOR_BYTES 32

/* What a packet begins with, in a reception FIFO too. */
struct ns_bgp_header {
    uint32_t source; /* process */
    uint8_t kind;
    uint8_t index;   /* as in the descriptor */
    uint8_t payload; /* bytes that follow */
    uint8_t group;   /* with NS_BGP_FAULT */

    union {
        uint64_t offset; /* direct put */

        struct { /* memory FIFO */
            uint8_t user[4];
            uint16_t total, place; /* bytes of the message, before these */
        } message;
    } u;
};

#define NS_BGP_HEADER_BYTES  16
#define NS_BGP_PAYLOAD_BYTES 240
#define NS_BGP_GRANULE       32 /* packets in a reception FIFO begin at these */
#define NS_BGP_FAULT         0x80

/* Written by the DMA for group g; the host only loads it. */
struct ns_bgp_status {
    uint32_t received;  /* tail of reception FIFO 0: bytes ever put in */
    uint32_t injected;  /* descriptors ever sent from all injection FIFOs, but
                         * those that peers put in */
    uint64_t hits;      /* reception counters that have come to zero */
    uint64_t faults;    /* ... and missed some memory on the way */
    uint32_t barriers;  /* global interrupts so far */
    uint32_t collected; /* packets of the collective network so far */
    /* head of each injection FIFO: descriptors ever sent from it */
    uint32_t heads[NS_BGP_INJECTION_FIFOS];
};

#define NS_BGP_STATUS_BYTES 160
#define NS_BGP_STATUS_SHORT 32 /* all but the heads */

/* The collective network. */
typedef enum {
    NS_BGP_TREE_BROADCAST, /* only the root's packet goes down */
    NS_BGP_TREE_ADD,       /* 32-bit words, unsigned */
    NS_BGP_TREE_MAX,
    NS_BGP_TREE_MIN,
    NS_BGP_TREE_AND,
    NS_BGP_TREE_OR,
    NS_BGP_TREE_XOR
} ns_bgp_tree_op_t;

#define NS_BGP_TREE_BYTES 256 /* payload of a packet */
/* SEND's word: the operation, and the root of a broadcast. */
#define NS_BGP_TREE_WORD(_op, _root) ((uint32_t)(_op) << 24 | (uint32_t)(_root))

struct ns_bgp_facts {
    uint32_t injection_entries, remote_entries, remote_entries_max;
    uint32_t remote_fifos; /* the last ones; peers put remote gets in there */
    uint32_t reception_bytes, mtu_bytes;
    uint32_t put; /* may the driver use direct put and remote get? */
    uint32_t tree_packets; /* that the collective network's port holds; 0: the
                            * node's first process has the port */
    uint32_t side[3], processes; /* of the torus, in nodes; of a node */
    /* for the choice of protocols */
    uint64_t send_ps, receive_ps, put_ps, copy_byte_fs;
    uint64_t wire_ps, packet_ps, bytes_per_second;
    uint64_t tree_ps, barrier_ps; /* of the whole network, alone */
    uint64_t pio_ps, poll_ps;
};

#endif
