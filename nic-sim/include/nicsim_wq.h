/*
 * A NIC with work queues as its driver sees it: descriptors in a send ring, a
 * doorbell, buffers in a receive ring, a completion queue, and reads and writes
 * of remote memory.  Shared by nic-sim/nic/wq and am-core/dev/snic.
 *
 *   host memory                          NIC
 *   send ring    [descriptor|packet]...  BELL: descriptors put in so far
 *   receive ring [buffer]...             POST: buffers free so far
 *   completions  [entry]...              written by the NIC, in order
 *   done         descriptors sent so far, written by the NIC
 *
 * A short packet need not be fetched: the host writes descriptor and packet into
 * NS_WQ_REG_INLINE, which is its bell, too.
 */
#ifndef NS_NICSIM_WQ_H
#define NS_NICSIM_WQ_H

#include <stdint.h>

enum {
    NS_WQ_REG_SEND = 0x00,     /* write: address of the send ring */
    NS_WQ_REG_RECEIVE = 0x04,  /* of the receive ring */
    NS_WQ_REG_COMPLETE = 0x08, /* of the completion queue */
    NS_WQ_REG_DONE = 0x0c,     /* of the word that tells what has been sent */
    NS_WQ_REG_OPEN = 0x10,     /* write 1: go; 0: nothing to memory any more,
                                * what has not been sent is forgotten */
    NS_WQ_REG_BELL = 0x14,     /* write: descriptors put in so far */
    NS_WQ_REG_POST = 0x18,     /* write: buffers freed so far, all at first */
    /* what peers may reach: 64 bits in two registers each, then ADD, REMOVE */
    NS_WQ_REG_MEMORY_BASE = 0x20,
    NS_WQ_REG_MEMORY_BYTES = 0x28,
    NS_WQ_REG_MEMORY_ADD = 0x30,
    NS_WQ_REG_MEMORY_REMOVE = 0x34,
    NS_WQ_REG_INLINE = 0x1000
};

enum {
    NS_WQ_OPS = 64,        /* reads and writes under way */
    NS_WQ_OP_NONE = 0xff,  /* a write that tells nothing */
    NS_WQ_SEND_BYTES = 16, /* of a descriptor, before its packet */
    NS_WQ_REMOTE_BYTES = 48,
    NS_WQ_COMPLETION_BYTES = 32
};

typedef enum {
    NS_WQ_SEND = 1, /* the packet behind it, into a buffer of the receiver */
    NS_WQ_WRITE,    /* memory, into memory there; completes when it is there */
    NS_WQ_READ      /* memory there, into memory; completes when it is here */
} ns_wq_kind_t;

struct ns_wq_descriptor {
    uint8_t kind;    /* ns_wq_kind_t */
    uint8_t op;      /* WRITE and READ: its number in the completion */
    uint8_t user[6]; /* the driver's */
    uint32_t node;
    uint32_t bytes; /* of the packet, or of the memory */
    /* WRITE and READ only */
    uint64_t address; /* of the memory here */
    uint64_t remote;  /* and there */
    uint64_t unused[2];
};

/* The NIC writes `count` last: entry n, from 0, has n + 1 there when it is in. */
struct ns_wq_completion {
    uint32_t count;
    uint8_t done;    /* a WRITE or READ is over; 0: a packet has come */
    uint8_t op;      /* of what is done */
    uint8_t fault;   /* it could not be done */
    uint8_t unused;
    uint32_t node;   /* the packet's sender */
    uint32_t bytes;  /* of the packet, which is in the next buffer */
    uint8_t user[6]; /* the sender's */
    uint8_t pad[10];
};

/* What the driver must know of this machine. */
struct ns_wq_facts {
    uint32_t send_entries, receive_entries;
    uint32_t mtu_bytes;
    uint32_t inline_bytes; /* longest packet that the host writes itself */
    uint32_t bell_batch;   /* full packets for one bell */
    uint32_t post_batch;   /* buffers freed with one access */
    uint32_t rdma;         /* it reads and writes remote memory */
    /* for the choice of protocols */
    uint64_t send_ps, receive_ps, copy_byte_fs, put_ps;
    uint64_t wire_ps, packet_ps, bytes_per_second;
};

/* Bytes from one entry of the send ring to the next. */
static inline uint32_t ns_wq_stride(uint32_t mtu_bytes)
{
    return (NS_WQ_REMOTE_BYTES + mtu_bytes + 63) / 64 * 64;
}

/* Completions that can be there at once. */
static inline uint32_t ns_wq_completions(uint32_t receive_entries)
{
    return receive_entries + NS_WQ_OPS;
}

#endif
