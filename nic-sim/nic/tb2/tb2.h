/*
 * The TB2 adapter: an i860 that watches the packet-length array, a DMA engine
 * between the MicroChannel and the adapter's FIFO, another between FIFO and
 * switch.
 *
 *   host entry --left DMA--> out half of FIFO --right DMA--> switch
 *   host entry <--left DMA-- in half of FIFO  <--right DMA-- switch
 *
 * The i860 is a clocked component: at an edge at which it is free it takes up
 * one task, sending or receiving in turn when both wait, and is busy for the
 * task's cycles; then it sets the left DMA engine going, which takes `dma_start`
 * more, during which the i860 and a transfer before this one go on.
 *
 *   task     starts when                          at its end
 *   send     slot filled, space in the out half   left DMA host -> FIFO
 *   receive  packet in the in half                left DMA FIFO -> host, or
 *                                                 drop: host's FIFO is full,
 *                                                 or the CRC is wrong
 */
#ifndef NS_NIC_TB2_H
#define NS_NIC_TB2_H

#include "host/host.h"
#include "net/sp.h"
#include "nic/nic.h"
#include "nicsim_tb2.h"

typedef enum {
    NS_TB2_IDLE,
    NS_TB2_SEND,
    NS_TB2_RECEIVE
} ns_tb2_task_t;

/* One transfer of the left DMA engine. */
struct ns_tb2_job {
    struct ns_packet *packet;
    uint32_t address; /* of the host's entry */
    uint32_t slot;    /* send: to clear when done */
    bool in;
    uint64_t ready_ps; /* not before */
};

#define NS_TB2_JOBS 64

enum {
    NS_TB2_STAT_BAD = NS_NIC_STAT_COMMON,
    NS_TB2_STAT_CORRUPT,
    NS_TB2_STAT_SENT_BYTES,
    NS_TB2_STAT_RECEIVED_BYTES,
    NS_TB2_STAT_FW_BUSY,
    NS_TB2_STAT_COUNT
};

struct ns_tb2 {
    struct ns_component component;
    struct ns_host *host;
    struct ns_sp *net;
    const struct ns_tb2_settings *settings;
    struct ns_tb2_facts facts;
    /* registers */
    uint8_t *length; /* settings->send_entries slots */
    uint32_t tx_base, rx_base, rx_count;
    /* firmware */
    struct ns_clock clock;
    struct ns_clocked i860;
    ns_tb2_task_t task, last_task, finished;
    uint64_t busy_until_ps;
    uint32_t tx_next;        /* slot that the send task looks at */
    uint32_t out_used;       /* bytes of the out half in use */
    struct am_list in_queue; /* packets whose tail is in */

    struct {            /* latched by sample */
        uint32_t bytes; /* of the next slot */
        bool out_space, in_waits;
    } latched;

    /* receive FIFO in host memory */
    uint32_t rx_next, rx_used;
    uint16_t *rx_from;  /* by entry: whose packet it holds */
    uint32_t *rx_share; /* by node: entries that its packets hold */
    /* left DMA engine: jobs in order */
    struct ns_tb2_job jobs[NS_TB2_JOBS];
    uint32_t job_head, job_count;
    struct ns_bus_request left;
    struct ns_event left_start; /* the first job's ready_ps */
    uint64_t packet_count;
    uint64_t stats[NS_TB2_STAT_COUNT];
};

/* tb2_fw.c: the clocked component, the left engine's start, and space in the
 * out half when a packet has left. */
extern const struct ns_clocked_ops ns_tb2_i860_ops;
void ns_tb2_left_start(struct ns_event *event);
void ns_tb2_out_free(void *tb2);

/* tb2_rows.c: the machine file's settings. */
extern const struct ns_machine_row ns_tb2_rows[];
extern const uint32_t ns_tb2_row_count;
const char *ns_tb2_check(const struct ns_machine *machine);

#endif
