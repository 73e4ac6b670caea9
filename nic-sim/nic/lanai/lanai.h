/*
 * The LANai: a processor that does one task at a time, a DMA engine to and
 * from host memory, engines to and from the network, SRAM buffers, and credits
 * between every pair of NIs (I-sdma of the LCI paper).
 *
 *   descriptor -SEND-> host DMA -> [credit?] -> network
 *   network -> RECEIVE -> host DMA -> host buffer      (ACK, F&A: no DMA)
 *
 *   task      starts when                             cycles
 *   RECEIVE   a packet is in, and a host buffer free  receive
 *   SEND      a descriptor is valid                   send
 *   ACK       W/2 buffers of a sender were released   send
 *   CLEANUP   a packet has left, or is with the host  cleanup, in steps
 *
 * RECEIVE goes before SEND, ACK, CLEANUP; a CLEANUP gives back the send slot,
 * or the sender's credit, so what is put off comes back as lack of those.  It
 * is done in steps, between which the processor looks for the other tasks.
 */
#ifndef NS_NIC_LANAI_H
#define NS_NIC_LANAI_H

#include "net/myrinet.h"
#include "nic/nic.h"
#include "nicsim_lanai.h"

typedef enum {
    NS_LANAI_IDLE,
    NS_LANAI_RECEIVE,
    NS_LANAI_SEND,
    NS_LANAI_ACK,
    NS_LANAI_CLEANUP
} ns_lanai_task_t;

/* Types of packets between NIs. */
enum {
    NS_LANAI_DATA = 1,
    NS_LANAI_CREDITS, /* nothing but credits */
    NS_LANAI_FADD,    /* value to add */
    NS_LANAI_FADDED   /* what it was before */
};

#define NS_LANAI_WIRE_BYTES 8 /* route, type, credits, CRC */

/* What packet->data begins with between NIs; then header and data. */
struct ns_lanai_wire {
    uint8_t type;
    uint8_t pad;
    uint16_t credits; /* buffers that the sender has released */
    uint32_t value;   /* of a fetch-and-add */
};

/* One transfer between SRAM and host memory. */
struct ns_lanai_job {
    struct ns_packet *packet; /* NULL: the status word */
    uint32_t address;
    bool in;
};

struct ns_lanai_peer {
    uint32_t credits;       /* packets that may go to it */
    uint32_t owed;          /* its packets released and not told */
    struct am_list blocked; /* packets that wait for a credit */
};

enum {
    NS_LANAI_STAT_CREDIT_WAIT = NS_NIC_STAT_COMMON,
    NS_LANAI_STAT_ACKS,
    NS_LANAI_STAT_BAD,
    NS_LANAI_STAT_BUSY,
    NS_LANAI_STAT_COUNT
};

struct ns_lanai {
    struct ns_component component;
    struct ns_host *host;
    struct ns_myrinet *net;
    const struct ns_lanai_settings *settings;
    struct ns_lanai_facts facts;
    uint32_t nodes;
    struct ns_lanai_peer *peers;
    uint32_t window; /* W: buffers for each sender */
    bool open;
    /* send descriptors: address and length words */
    uint32_t *descriptors; /* 2 * send_buffers */
    uint32_t send_next, send_done;
    uint32_t status_address;
    /* free host buffers, a ring */
    uint32_t *free_buffers;
    uint32_t free_head, free_count;
    uint32_t sequence;
    uint32_t variable; /* of fetch-and-add */
    /* the processor */
    struct ns_clock clock;
    struct ns_clocked processor;
    ns_lanai_task_t task, finished;
    uint64_t busy_until_ps;
    struct am_list in_queue;   /* packets whose tail is in */
    uint32_t sent_cleanups;    /* slots to give back */
    uint64_t cleaned_cycles;   /* of the first cleanup */
    uint32_t ack_next;         /* peer to look at first for ACK */
    struct am_list done_queue; /* packets with the host, to be released */
    ns_lanai_task_t latched;
    /* host DMA engine */
    struct ns_lanai_job *jobs;
    uint32_t jobs_max, job_head, job_count;
    struct ns_bus_request dma;
    uint64_t packet_count;
    uint64_t stats[NS_LANAI_STAT_COUNT];
};

/* lanai_fw.c */
extern const struct ns_clocked_ops ns_lanai_processor_ops;

/* lanai_dma.c */
void ns_lanai_mark(struct ns_lanai *lanai, uint32_t stage);
void ns_lanai_wake(struct ns_lanai *lanai);
/* A new packet of `bytes` after the wire header. */
struct ns_packet *ns_lanai_packet_new(struct ns_lanai *lanai, uint32_t to,
                                      uint8_t type, uint32_t value,
                                      uint32_t bytes);
/* Put a packet on the network with all the credits its receiver is owed. */
void ns_lanai_inject(struct ns_lanai *lanai, struct ns_packet *packet);
/* The same when there is a credit for it, and in order. */
void ns_lanai_send_with_credit(struct ns_lanai *lanai,
                               struct ns_packet *packet);
/* Packets for which credits have come go. */
void ns_lanai_unblock(struct ns_lanai *lanai, struct ns_lanai_peer *peer);
/* A transfer of the host DMA engine, after those before it. */
void ns_lanai_job_queue(struct ns_lanai *lanai, struct ns_lanai_job job);
void ns_lanai_left(void *nic);
void ns_lanai_deliver(void *nic, struct ns_packet *packet);

/* lanai_rows.c: the machine file's settings. */
extern const struct ns_machine_row ns_lanai_rows[];
extern const uint32_t ns_lanai_row_count;

#endif
