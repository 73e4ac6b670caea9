/*
 * A NIC with work queues: it fetches descriptors and what they send by DMA reads
 * across PCIe, many at a time, puts what comes into host memory by posted
 * writes, and reads and writes remote memory without the host there.
 *
 *   bell --pcie--> descriptor <--read--> packet <--read--> send --> link
 *   inline -----------------pcie---------------------------^
 *   link --> receive --pcie, write--> buffer, completion
 *
 * Packets follow one another by `packet` at least, or by what they take on
 * PCIe; how long each is under way inside is `send` or `receive` more.  No packet
 * is lost: where no buffer of the host is free, packets wait in the NIC, which
 * holds up its link.
 *
 *   work      from            its packets         at their end
 *   SEND      own ring        one                 `done` is written
 *   WRITE     own ring        memory here         the last one is answered: ACK
 *   READ      own ring        a request           the peer has work: ANSWER
 *   ANSWER    a peer's READ   memory here         the last one completes it
 *   ACK       a peer's WRITE  one, empty          completes it
 */
#ifndef NS_NIC_WQ_H
#define NS_NIC_WQ_H

#include "host/host.h"
#include "net/myrinet.h"
#include "nic/nic.h"
#include "nicsim_wq.h"

/* Kinds of packets and of work besides ns_wq_kind_t. */
enum {
    NS_WQ_ANSWER = NS_WQ_READ + 1,
    NS_WQ_ACK,
    NS_WQ_KINDS
};

/* What a packet begins with; the link carries settings->overhead_bytes for it. */
struct ns_wq_header {
    uint8_t kind, op;
    uint8_t last; /* of its work */
    uint8_t fault;
    uint8_t user[6];
    uint16_t payload; /* bytes that follow */
    uint32_t total;   /* READ: bytes wanted */
    uint64_t remote;  /* WRITE, ANSWER: where it goes; READ: what is wanted */
    uint64_t address; /* READ: where the answer goes */
};

/* Packets that are to be sent, one by one. */
struct ns_wq_work {
    struct am_list link;
    struct ns_wq_descriptor what;
    uint64_t ready_ps; /* its descriptor is in the NIC */
    uint32_t slot;     /* of the send ring: where `what` is fetched from */
    bool fetched, own; /* `what` is known; it is of the send ring */
    bool is_inline, fault;
    uint32_t sent_bytes;
    struct ns_packet *packet; /* inline: it is here already */
};

struct ns_wq_range {
    uint64_t base, bytes;
};

/* A READ under way: the answer may write there only. */
struct ns_wq_op {
    bool reads;
    uint64_t address, bytes;
};

enum {
    NS_WQ_STAT_BAD = NS_NIC_STAT_COMMON,
    NS_WQ_STAT_INLINE,
    NS_WQ_STAT_WRITTEN_BYTES,
    NS_WQ_STAT_READ_BYTES,
    NS_WQ_STAT_STALLS,
    NS_WQ_STAT_COUNT
};

struct ns_wq {
    struct ns_component component;
    struct ns_host *host;
    struct ns_myrinet *net;
    const struct ns_machine *machine;
    const struct ns_wq_settings *settings;
    struct ns_wq_facts facts;
    /* registers */
    uint32_t send_ring, receive_ring, completions, done_at;
    bool open;
    uint32_t bell;       /* descriptors put in so far */
    uint32_t posted;     /* buffers freed so far */
    uint64_t memory[2];  /* base, bytes: written in halves */
    struct ns_wq_range *ranges;
    uint32_t range_count, range_room;
    uint8_t inlined[NS_WQ_SEND_BYTES + NS_PACKET_BYTES_MAX]; /* so far */
    uint32_t inlined_bytes;
    /* sending */
    struct am_list works, answers; /* of the own ring; for peers */
    bool answers_turn;
    struct ns_event send_event; /* the next packet may begin */
    uint64_t send_free_ps;      /* not before */
    uint64_t read_free_ps;      /* PCIe's way to the NIC */
    uint64_t inject_ps;         /* of the last packet: they keep their order */
    uint32_t out_count;         /* packets from their begin to their tail's end */
    uint32_t done;              /* descriptors sent */
    uint32_t done_told, done_telling;
    struct ns_event done_event;
    /* receiving */
    struct am_list in_queue;
    struct ns_event receive_event;
    uint64_t receive_free_ps, write_free_ps, land_ps;
    uint32_t landing;   /* packets on their way to host memory */
    uint32_t used;      /* buffers used so far */
    uint32_t completed; /* completions written so far */
    bool stalled;
    struct ns_wq_op op[NS_WQ_OPS];
    uint64_t packet_count;
    uint64_t stats[NS_WQ_STAT_COUNT];
};

static inline uint64_t ns_wq_now(const struct ns_wq *wq)
{
    return ns_engine_now(wq->component.engine);
}

/* wq_send.c */
void ns_wq_send_init(struct ns_wq *wq);
/* The bell says that so many descriptors are there. */
void ns_wq_rung(struct ns_wq *wq, uint32_t bell);
/* A run of stores into NS_WQ_REG_INLINE. */
void ns_wq_inline(struct ns_wq *wq, uint32_t at, const void *from,
                  uint32_t bytes);
/* Work for a peer. */
void ns_wq_answer(struct ns_wq *wq, const struct ns_wq_descriptor *what,
                  bool fault);
/* A packet's tail has left the NIC. */
void ns_wq_left(void *wq);
/* May peers reach these bytes? */
bool ns_wq_reaches(const struct ns_wq *wq, uint64_t base, uint64_t bytes);
/* What is in the own ring will not be sent. */
void ns_wq_forget(struct ns_wq *wq);
void ns_wq_send_fini(struct ns_wq *wq);

/* wq_receive.c */
void ns_wq_receive_init(struct ns_wq *wq);
void ns_wq_deliver(void *wq, struct ns_packet *packet);
/* There may be a buffer now. */
void ns_wq_receive_start(struct ns_wq *wq);

/* wq_rows.c: the machine file's settings. */
extern const struct ns_machine_row ns_wq_rows[];
extern const uint32_t ns_wq_row_count;
const char *ns_wq_check(const struct ns_machine *machine);

#endif
