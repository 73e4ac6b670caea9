/*
 * What a simulated host offers to its driver, am-core/dev/snic: the only way
 * from am-core to the simulator.  It is a table of functions, found through
 * the environment (am_env.port), so libam needs no symbol of the simulator.
 *
 * Memory that the NIC reaches by DMA ("shared" memory) is named by 32-bit
 * addresses and touched through load, store and flush only: they go through a
 * write-back cache that DMA does not see, cost host time, and wait until
 * virtual time has caught up wherever the NIC could see or change what they
 * touch.  A driver that forgets a flush reads stale data here as it would on
 * the machine.
 */
#ifndef NS_NICSIM_PORT_H
#define NS_NICSIM_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ns_port;

/* Where a message's time went; marks of one packet follow each other. */
typedef enum {
    NS_STAGE_CALL,    /* the program calls */
    NS_STAGE_BUILD,   /* the host has built and flushed the packet */
    NS_STAGE_BELL,    /* the store that rings the NIC is done */
    NS_STAGE_SEEN,    /* the NI processor has seen it */
    NS_STAGE_FW_OUT,  /* the NI processor has handled it */
    NS_STAGE_DMA_OUT, /* it is in the NIC */
    NS_STAGE_INJECT,  /* its first byte leaves the NIC */
    NS_STAGE_HEAD,    /* its first byte arrives: links and switches */
    NS_STAGE_TAIL,    /* its last byte arrives: serialisation */
    NS_STAGE_FW_WAIT, /* the receiving NI processor takes it up */
    NS_STAGE_FW_IN,   /* and has handled it */
    NS_STAGE_DMA_IN,  /* it is in host memory */
    NS_STAGE_POLLED,  /* the receiving host has noticed it */
    NS_STAGE_COPIED,  /* copied out and flushed by the driver */
    NS_STAGE_HANDLER, /* the program's handler runs */
    NS_STAGE_COUNT
} ns_stage_t;

/* Host work inside a driver; costs come from the machine file. */
typedef enum {
    NS_WORK_SEND,             /* building a packet (1 each) */
    NS_WORK_FETCH,            /* making it ready for DMA (1 each) */
    NS_WORK_RECEIVE,          /* taking a packet (1 each) */
    NS_WORK_POLL,             /* looking whether there is one (1 each) */
    NS_WORK_RELIABLE_SEND,    /* host-level reliability (1 packet each) */
    NS_WORK_RELIABLE_RECEIVE, /* the same */
    NS_WORK_TLB,              /* looking a page up (1 each) */
    NS_WORK_NOTICE,           /* of a remote copy that is in (1 each) */
    NS_WORK_PUT,              /* starting a put or get of the NIC's (1 each) */
    NS_WORK_COUNT
} ns_work_t;

struct ns_port_ops {
    /* `bytes` of shared memory for the node's life; NS_ADDRESS_NONE when
     * there is no more. */
    uint32_t (*alloc)(struct ns_port *port, size_t bytes, size_t align);
    /* The driver closes: all of it is free again, and zero. */
    void (*release)(struct ns_port *port);
    void (*load)(struct ns_port *port, uint32_t address, void *to,
                 size_t bytes);
    void (*store)(struct ns_port *port, uint32_t address, const void *from,
                  size_t bytes);
    /* Write back and forget the lines that [address, address+bytes) touches */
    void (*flush)(struct ns_port *port, uint32_t address, size_t bytes);
    /* One access of 1 to 4 bytes across the I/O bus. */
    uint32_t (*pio_load)(struct ns_port *port, uint32_t reg, uint32_t bytes);
    void (*pio_store)(struct ns_port *port, uint32_t reg, uint32_t value,
                      uint32_t bytes);
    /* A run of stores across the bus, which puts them together. */
    void (*pio_write)(struct ns_port *port, uint32_t reg, const void *from,
                      size_t bytes);
    /* Make `page`, NS_PIN_BYTES of ordinary memory, reachable by DMA at the
     * address that is returned, or NS_ADDRESS_NONE; and end that. */
    uint32_t (*pin)(struct ns_port *port, void *page);
    void (*unpin)(struct ns_port *port, uint32_t address);
    void (*charge)(struct ns_port *port, ns_work_t work, uint64_t units);
    /* For the timeline and --explain; cost nothing. */
    void (*sent)(struct ns_port *port, uint32_t peer, size_t bytes);
    void (*received)(struct ns_port *port, uint32_t peer, size_t bytes);
    void (*mark)(struct ns_port *port, ns_stage_t stage);
};

#define NS_ADDRESS_NONE UINT32_MAX
#define NS_PIN_BYTES    4096
#define NS_PIN_BASE     UINT32_C(0x80000000) /* shared memory is below */

struct ns_port {
    const struct ns_port_ops *ops;
    const char *nic; /* "tb2": whose registers these are */
    uint32_t node, nodes;
    uint32_t line_bytes; /* cache line */
    const void *facts;   /* of the NIC: struct ns_tb2_facts... */
};

#endif
