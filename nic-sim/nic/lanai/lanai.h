/*
 * The LANai: a processor that does one task at a time, a DMA engine to and
 * from host memory, engines to and from the network, SRAM buffers.
 *
 *   descriptor -SEND-> host DMA -> [flow control] -> network
 *   network -> RECEIVE -> host DMA -> host buffer      (ACK, F&A: no DMA)
 *
 *   task      starts when
 *   FORWARD   a multicast has not gone to all children yet; one at a time
 *   RECEIVE   a packet is in
 *   SEND      a descriptor is valid
 *   ACK       a sender is to be told what has become of its packets
 *   RESEND    packets were not acknowledged in time, or are asked for again
 *   CLEANUP   a packet has left for good, or is with the host
 *
 * Earlier ones go first.  A CLEANUP gives back the send slot, or the receive
 * buffer, so what is put off comes back as lack of those.  It is done in steps,
 * between which the processor looks for the other tasks.
 *
 * Flow control is a setting (lanai.reliability), each in its file:
 *   none  lanai_window.c  credits between every pair of NIs; trusts the network
 *   ni    lanai_goback.c  go-back-N between NIs
 *   host  lanai_goback.c  nothing: what finds no room is lost
 */
#ifndef NS_NIC_LANAI_H
#define NS_NIC_LANAI_H

#include "net/myrinet.h"
#include "nic/nic.h"
#include "nicsim_lanai.h"

typedef enum {
    NS_LANAI_IDLE,
    NS_LANAI_FORWARD,
    NS_LANAI_RECEIVE,
    NS_LANAI_SEND,
    NS_LANAI_ACK,
    NS_LANAI_RESEND,
    NS_LANAI_CLEANUP
} ns_lanai_task_t;

/* Types of packets between NIs. */
enum {
    NS_LANAI_TOLD = 1, /* nothing but credits, or an acknowledgement */
    NS_LANAI_AGAIN,    /* ni: the same, and send again from there on */
    NS_LANAI_DATA,
    NS_LANAI_FADD,   /* value to add */
    NS_LANAI_FADDED, /* what it was before */
    NS_LANAI_MCAST,  /* data, from `root` */
    NS_LANAI_COPY,   /* remote copy to address `value`; `root`: its notice */
    NS_LANAI_COPIED  /* `value`: notice of the copy that is in place */
};

/* What packet->data begins with between NIs; then header and data. */
struct ns_lanai_wire {
    uint8_t type;
    uint8_t notice; /* remote copy: its number, 0: nobody waits for it */
    uint16_t told; /* none: buffers released; ni: number of the packet wanted */
    uint16_t number; /* ni: of this packet */
    uint16_t root;   /* of a multicast; remote copy: its region's generation */
    uint32_t value;
    uint32_t crc; /* of all else */
};

#define NS_LANAI_WIRE_BYTES 16

/* What a packet's `route` says at its sender: what its leaving frees.  (The
 * switches find the way themselves.) */
enum {
    NS_LANAI_FREES_NOTHING,
    NS_LANAI_FREES_SLOT,    /* that the host has filled */
    NS_LANAI_FREES_FETCHED, /* that DMA has filled: the host wants to know */
    NS_LANAI_FREES_GROUP    /* + index: a part of a multicast */
};

/* One transfer between SRAM and host memory. */
struct ns_lanai_job {
    struct ns_packet *packet; /* NULL: the status word */
    uint32_t address;
    bool in;
};

/* A multicast's buffer and who still needs it. */
struct ns_lanai_group {
    uint32_t left;           /* children, and 1 for the host */
    uint32_t frees;          /* at the root, NS_LANAI_FREES_... */
    struct ns_packet *from;  /* elsewhere the received packet */
    struct am_list link;     /* of those that go on to children */
    struct ns_packet *model; /* what each child gets */
    uint32_t root, child;    /* index of the next child */
    uint32_t next_free;
};

struct ns_lanai_peer {
    struct am_list blocked; /* packets that may not go yet */
    uint32_t owed;          /* its packets released (ni: taken) and not told */
    uint32_t credits;       /* none: packets that may go to it */
    /* ni */
    struct am_list unacked; /* they stay in SRAM until acknowledged */
    uint32_t unacked_count;
    uint16_t number;       /* of the next packet to it */
    uint16_t wanted;       /* number of its packet that is taken next */
    bool refused;          /* the packet wanted was dropped for lack of room */
    uint32_t forwarding; /* its packets that not all children have taken yet */
    bool ask, asked;       /* for packets again: to do, done */
    bool resend;           /* all that is unacknowledged */
    uint32_t backoff;      /* doublings of the time since an acknowledgement */
    uint64_t resend_at_ps; /* NS_NEVER: nothing is unacknowledged */
    uint64_t tell_at_ps;   /* NS_NEVER: nothing is owed */
    /* remote copies */
    uint32_t misses; /* that the host has not copied yet */
};

enum {
    NS_LANAI_STAT_WAIT = NS_NIC_STAT_COMMON,
    NS_LANAI_STAT_ACKS,
    NS_LANAI_STAT_RESENT,
    NS_LANAI_STAT_CORRUPT,
    NS_LANAI_STAT_NO_ROOM,
    NS_LANAI_STAT_NUMBER,
    NS_LANAI_STAT_MISSES,
    NS_LANAI_STAT_INTERRUPTS,
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
    uint32_t window;     /* none: buffers for each sender; ni: unacknowledged */
    uint32_t room;       /* ni, host: packets that may be in SRAM... */
    uint32_t taken;      /* ... and are: accepted and not released */
    uint32_t forwarding; /* ni: of these, those that go on to children */
    uint32_t forwarders; /* ... and the peers that they came from */
    const char *failure; /* why the NI has stopped; NULL */
    bool open;
    /* send descriptors of 4 words, and the slots that the host writes */
    uint32_t *descriptors;
    uint8_t *slots;
    uint32_t send_next, send_done, send_told;
    uint32_t status_address;
    /* free host buffers, a ring; packets that wait for one */
    uint32_t *free_buffers;
    uint32_t free_head, free_count;
    struct am_list host_queue;
    uint32_t sequence;
    uint32_t variable; /* of fetch-and-add */
    /* multicast */
    uint16_t *children; /* [root][NS_LANAI_CHILDREN_MAX] */
    uint8_t *child_count;
    struct ns_lanai_group *groups;
    uint32_t group_free; /* index, or NS_LANAI_NO_GROUP */
    struct am_list forward_queue;
    /* remote copies */
    uint32_t tlb_page[NS_LANAI_TLB_ENTRIES], tlb_frame[NS_LANAI_TLB_ENTRIES];
    uint32_t tlb_written; /* name of the page whose entry is being written */
    /* the processor */
    struct ns_clock clock;
    struct ns_clocked processor;
    ns_lanai_task_t task, finished, latched;
    uint64_t busy_until_ps;
    struct am_list in_queue;     /* packets whose tail is in */
    struct am_list done_queue;   /* packets with the host, to be released */
    uint32_t slot_cleanups;      /* slots to give back */
    uint32_t fetched_cleanups;   /* slots to give back and to tell */
    uint64_t cleaned_cycles;     /* of the first cleanup */
    uint32_t tell_next;          /* peer to look at first for ACK */
    uint32_t resend_next;        /* the same for RESEND */
    uint32_t resending;          /* whose packets RESEND sends */
    struct ns_event timer;       /* ni */
    struct ns_event watchdog;    /* interrupts */
    bool interrupts;             /* the host wants them */
    uint64_t arrived, polled;    /* packets with the host; taken by it */
    uint64_t polled_then, given; /* when the watchdog was set; buffers given */
    /* host DMA engine */
    struct ns_lanai_job *jobs;
    uint32_t jobs_max, job_head, job_count;
    struct ns_bus_request dma;
    struct ns_event dma_start;
    uint64_t packet_count;
    uint64_t stats[NS_LANAI_STAT_COUNT];
};

#define NS_LANAI_NO_GROUP UINT32_MAX

/* lanai_facts.c */
void ns_lanai_facts_set(struct ns_lanai_facts *facts,
                        const struct ns_machine *machine);

/* lanai_check.c */
bool ns_lanai_busy(const void *nic);
bool ns_lanai_whole(void *const *nics, uint32_t count, char *error,
                    size_t error_bytes);
/* One sentence if the machine's buffers do not fit for so many nodes. */
bool ns_lanai_fits(const struct ns_machine *machine, uint32_t nodes,
                   char *error, size_t error_bytes);
/* Send slots and receive buffers of SRAM, and the share of each sender. */
uint64_t ns_lanai_slots(const struct ns_lanai_settings *settings);
uint32_t ns_lanai_buffers(const struct ns_lanai_settings *settings);
uint32_t ns_lanai_share(const struct ns_lanai_settings *settings,
                        uint32_t nodes);

/* lanai_fw.c: the processor */
extern const struct ns_clocked_ops ns_lanai_processor_ops;

/* lanai_task.c: what the tasks do when their time is over, and take */
void ns_lanai_send_finish(struct ns_lanai *lanai);
void ns_lanai_receive_finish(struct ns_lanai *lanai);
void ns_lanai_cleanup_finish(struct ns_lanai *lanai);
uint64_t ns_lanai_cleanup_step(const struct ns_lanai *lanai);
uint64_t ns_lanai_send_cycles(const struct ns_lanai *lanai);
uint64_t ns_lanai_receive_cycles(const struct ns_lanai *lanai);
/* A packet that came leaves SRAM: taken in, or dropped. */
void ns_lanai_release(struct ns_lanai *lanai, struct ns_packet *packet);
/* Header with number and source, then DMA, when a host buffer is free. */
void ns_lanai_to_host(struct ns_lanai *lanai, struct ns_packet *packet);
void ns_lanai_host_queue_run(struct ns_lanai *lanai);
/* What `route` says is free now. */
void ns_lanai_frees(struct ns_lanai *lanai, uint32_t route);

/* lanai_mcast.c */
void ns_lanai_forward_set(struct ns_lanai *lanai, uint32_t value);
uint32_t ns_lanai_child_count(const struct ns_lanai *lanai, uint32_t root);
/* Does the NI itself send a multicast of this root on? */
bool ns_lanai_forwards(const struct ns_lanai *lanai, uint32_t root);
/* Send `packet` (filled in but for its destination; put back into the pool) to
 * all children; then `frees`. */
void ns_lanai_mcast_start(struct ns_lanai *lanai, struct ns_packet *packet,
                          uint32_t root, uint32_t frees);
/* A multicast's packet came: to the host and, if the NI does that, on. */
void ns_lanai_mcast_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                            uint32_t root);
void ns_lanai_forward_finish(struct ns_lanai *lanai);
void ns_lanai_group_part(struct ns_lanai *lanai, uint32_t index);
/* Its packet is with the host: released now, or when all have it. */
bool ns_lanai_group_host(struct ns_lanai *lanai, struct ns_packet *packet);

/* lanai_copy.c: remote copies */
void ns_lanai_copy_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                           const struct ns_lanai_wire *wire);
void ns_lanai_copy_done(struct ns_lanai *lanai, struct ns_packet *packet);
void ns_lanai_tlb_write(struct ns_lanai *lanai, uint32_t frame);
void ns_lanai_copied_send(struct ns_lanai *lanai, uint32_t to, uint32_t notice);

/* Flow control.  lanai_window.c for none, lanai_goback.c for the others. */
/* Cycles of it for each packet on either side. */
uint64_t ns_lanai_flow_cycles(const struct ns_lanai *lanai);
/* Send a packet as soon as it may go, in order. */
void ns_lanai_flow_send(struct ns_lanai *lanai, struct ns_packet *packet);
/* A packet came: take in what it tells; false when it has been dropped, or was
 * nothing else and has been used up. */
bool ns_lanai_flow_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                           const struct ns_lanai_wire *wire);
/* Its buffer is free again. */
void ns_lanai_flow_released(struct ns_lanai *lanai, uint32_t from);
/* The peer to be told something, `nodes`: none. */
uint32_t ns_lanai_tell_peer(const struct ns_lanai *lanai);
void ns_lanai_tell_finish(struct ns_lanai *lanai);

/* lanai_window.c */
void ns_lanai_window_send(struct ns_lanai *lanai, struct ns_packet *packet);
void ns_lanai_window_told(struct ns_lanai *lanai, struct ns_lanai_peer *peer,
                          uint32_t credits);

/* lanai_goback.c */
void ns_lanai_goback_init(struct ns_lanai *lanai);
void ns_lanai_goback_send(struct ns_lanai *lanai, struct ns_packet *packet);
bool ns_lanai_goback_receive(struct ns_lanai *lanai, struct ns_packet *packet,
                             const struct ns_lanai_wire *wire);
bool ns_lanai_host_receive(struct ns_lanai *lanai, struct ns_packet *packet);
/* The peer whose packets are to be sent again, `nodes`: none. */
uint32_t ns_lanai_resend_peer(const struct ns_lanai *lanai);
/* Those of `resending` have been. */
void ns_lanai_resend_finish(struct ns_lanai *lanai);
void ns_lanai_room(struct ns_lanai *lanai);
/* A packet of `peer` goes on to children; all of them have taken it. */
void ns_lanai_forwarding_begin(struct ns_lanai *lanai,
                               struct ns_lanai_peer *peer);
void ns_lanai_forwarding_end(struct ns_lanai *lanai,
                             struct ns_lanai_peer *peer);

/* lanai_dma.c */
void ns_lanai_mark(struct ns_lanai *lanai, uint32_t stage);
void ns_lanai_wake(struct ns_lanai *lanai);
/* A new packet of `bytes` after the wire header; all else of that 0. */
struct ns_packet *ns_lanai_packet_new(struct ns_lanai *lanai, uint32_t to,
                                      uint8_t type, uint32_t value,
                                      uint32_t bytes);
/* Another with the same bytes. */
struct ns_packet *ns_lanai_packet_copy(struct ns_lanai *lanai,
                                       const struct ns_packet *packet);

static inline struct ns_lanai_wire *ns_lanai_wire_of(struct ns_packet *packet)
{
    return (struct ns_lanai_wire *)(void *)packet->data;
}

/* Put a packet on the network with all that its receiver is to be told. */
void ns_lanai_inject(struct ns_lanai *lanai, struct ns_packet *packet);
/* Is it as it was injected? */
bool ns_lanai_crc_good(const struct ns_lanai *lanai, struct ns_packet *packet);
/* Out of SRAM; its sender is told nothing. */
void ns_lanai_drop(struct ns_lanai *lanai, struct ns_packet *packet,
                   uint32_t stat);
/* A transfer of the host DMA engine, after those before it. */
void ns_lanai_job_queue(struct ns_lanai *lanai, struct ns_lanai_job job);
void ns_lanai_left(void *nic);
void ns_lanai_deliver(void *nic, struct ns_packet *packet);
void ns_lanai_watchdog_run(struct ns_event *event);
void ns_lanai_dma_start_run(struct ns_event *event);
/* Bytes that the job after `index` others transfers. */
uint64_t ns_lanai_job_bytes(const struct ns_lanai *lanai, uint32_t index);

/* lanai_rows.c: the machine file's settings. */
extern const struct ns_machine_row ns_lanai_rows[];
extern const uint32_t ns_lanai_row_count;
/* What is wrong between them, or NULL. */
const char *ns_lanai_check(const struct ns_machine *machine);

/* Bytes of a packet, with the header that the host sees. */
static inline uint32_t ns_lanai_mtu(const struct ns_lanai_settings *settings)
{
    return UINT32_C(1024) << settings->mtu;
}

#endif
