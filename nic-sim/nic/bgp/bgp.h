/*
 * The Blue Gene/P node's DMA: an engine that injects and one that receives,
 * one packet at a time each, for the FIFOs and counters of four groups.
 *
 *   injection FIFOs ----in turn--> [descriptor] packet -> torus
 *                                                      \-> this node itself
 *   torus, this node --one by one--> packet -> reception FIFO   (memory FIFO)
 *                                           -> memory, counter  (direct put)
 *                                           -> injection FIFO   (remote get)
 *
 * A packet that has no place (a reception FIFO is full) stops the receiving
 * engine, and so the torus.  A remote get whose injection FIFO is full stops the
 * torus until an interrupt has made the FIFO larger, or a descriptor has left it;
 * the node's own packets go on, as what is to leave it may be for the node.  In dual and quad mode the
 * groups are divided among the processes of the node.
 */
#ifndef NS_NIC_BGP_H
#define NS_NIC_BGP_H

#include "net/torus.h"
#include "net/tree.h"
#include "nic/nic.h"
#include "nicsim_bgp.h"

enum {
    NS_BGP_STAT_DESCRIPTORS = NS_NIC_STAT_COMMON,
    NS_BGP_STAT_LOCAL,
    NS_BGP_STAT_PUT_BYTES,
    NS_BGP_STAT_REMOTE_GETS,
    NS_BGP_STAT_INTERRUPTS,
    NS_BGP_STAT_STALLS,
    NS_BGP_STAT_FAULTS,
    NS_BGP_STAT_BAD,
    NS_BGP_STAT_COUNT
};

struct ns_bgp_fifo {
    uint32_t start, size, size_max; /* descriptors */
    uint32_t head, tail;            /* ever sent, ever put in */
    uint32_t sent_bytes;            /* of the present descriptor */
    uint64_t ready_ps;              /* `present`, once begun, is here */
    uint64_t turn;                  /* the node's when it last had its own */
    struct ns_bgp_descriptor present;
    struct ns_torus_packet *packet; /* its next one, without payload yet */
};

struct ns_bgp_reception {
    uint32_t start, bytes;
    uint32_t head, tail; /* ever taken out, ever put in */
};

struct ns_bgp_counter {
    uint64_t base;
    uint32_t limit, value;
};

/* Injection FIFOs of a group, a bit for each: that are not empty, and of these
 * those whose first descriptor has been asked for. */
struct ns_bgp_sets {
    uint32_t active, begun;
};

struct ns_bgp_process;

struct ns_bgp_group {
    struct ns_bgp_process *process;
    uint32_t status_address;
    bool open;
    struct ns_bgp_status status;
    struct ns_bgp_sets *sets; /* the node's for this group */
    struct ns_bgp_fifo injection[NS_BGP_INJECTION_FIFOS];
    struct ns_bgp_reception reception[NS_BGP_RECEPTION_FIFOS];
    struct ns_bgp_counter in[NS_BGP_COUNTERS];
    uint32_t out[NS_BGP_COUNTERS];
};

/* A host on the node. */
struct ns_bgp_range {
    uint64_t base, bytes;
};

struct ns_bgp_process {
    struct ns_host *host;
    struct ns_bgp_node *node;
    uint32_t group, groups; /* its first, and how many */
    struct ns_bgp_range *ranges;
    uint32_t range_count, range_max;
    uint32_t memory_words[4];
    struct ns_bgp_facts facts;
    struct ns_tree_packet tree_out, tree_in; /* at the core's ports */
    uint32_t tree_out_words, tree_in_words;
    uint64_t packet_count;
    uint64_t stats[NS_BGP_STAT_COUNT];
};

/* An engine: at most one packet in its hands. */
struct ns_bgp_engine {
    struct ns_event event;
    struct ns_torus_packet *packet;
    bool busy;
};

struct ns_bgp_node {
    struct ns_component component;
    struct ns_bgp_net *net;
    uint32_t index;
    struct ns_bgp_sets sets[NS_BGP_GROUPS];
    struct ns_bgp_engine inject, receive;
    struct ns_event fetched; /* a descriptor that an idle engine waits for */
    uint64_t turn;           /* packets injected so far */
    uint32_t likely;         /* FIFO that may well have waited longest */
    struct ns_bgp_fifo *injecting; /* whose packet the engine has */
    struct ns_bgp_group *injecting_group;
    struct ns_torus_packet *offered;            /* by the torus */
    struct ns_torus_packet *local, *local_last; /* from this node itself */
    uint32_t local_count;
    bool local_turn;
    bool held; /* receive.packet has no place */
    struct ns_torus_packet *parked,
            *parked_last; /* remote gets without place */
    struct ns_event interrupt;
    struct ns_bgp_group *full_group; /* whose remote FIFO is full */
    uint32_t full_fifo;
    struct ns_bgp_group group[NS_BGP_GROUPS];
};

struct ns_bgp_net {
    const struct ns_machine *machine;
    struct ns_torus *torus;
    struct ns_tree *tree;
    uint32_t processes; /* of the machine */
    uint32_t node_count;
    struct ns_bgp_node *nodes;
    struct ns_bgp_process **process; /* by number */
};

/* Time of `cycles` of the DMA's clock. */
static inline uint64_t ns_bgp_cycles_ps(const struct ns_bgp_net *net,
                                        uint64_t cycles)
{
    return cycles * net->machine->bgp.clock_ps;
}

/* A message is at a stage now. */
static inline void ns_bgp_mark(struct ns_bgp_node *node, uint32_t stage)
{
    ns_mark(node->component.engine, stage,
            ns_engine_now(node->component.engine));
}

/* bgp_inject.c: let the engine look for work. */
void ns_bgp_inject_init(struct ns_bgp_node *node);
void ns_bgp_inject_start(struct ns_bgp_node *node);
/* Put a descriptor into a FIFO that has room for it. */
void ns_bgp_fifo_push(struct ns_bgp_group *group, uint32_t fifo,
                      const struct ns_bgp_descriptor *descriptor);

/* bgp_receive.c */
extern const struct ns_torus_ops ns_bgp_torus_ops;
void ns_bgp_receive_init(struct ns_bgp_node *node);
void ns_bgp_receive_start(struct ns_bgp_node *node);
void ns_bgp_local(struct ns_bgp_node *node, struct ns_torus_packet *packet);
/* The packet that had no place may have one now. */
void ns_bgp_receive_retry(struct ns_bgp_node *node);

/* bgp_land.c: land a packet; false: it has no place. */
bool ns_bgp_land(struct ns_bgp_node *node, struct ns_torus_packet *packet);
/* Is it a remote get? */
bool ns_bgp_is_get(const struct ns_torus_packet *packet);
/* What has changed of the status block, to memory: its beginning, a head. */
void ns_bgp_status_write(struct ns_bgp_group *group);
void ns_bgp_head_write(struct ns_bgp_group *group, uint32_t fifo);
/* May the DMA touch these bytes of the process? */
bool ns_bgp_reaches(const struct ns_bgp_process *process, uint64_t base,
                    uint64_t bytes);

/* bgp_rows.c */
extern const struct ns_machine_row ns_bgp_rows[];
extern const uint32_t ns_bgp_row_count;
const char *ns_bgp_check(const struct ns_machine *machine);

/* bgp_reg.c */
extern const struct ns_nic_ops ns_bgp_nic_ops;

#endif
