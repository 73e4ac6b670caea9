/*
 * A kind of adapter with its network, as the simulated machine sees it.  One
 * table each in nic/<kind>; the machine file's `adapter` chooses.
 */
#ifndef NS_NIC_NIC_H
#define NS_NIC_NIC_H

#include "host/host.h"
#include "host/machine_rows.h"

/* Every adapter counts these first; sent = received + dropped + closed. */
enum {
    NS_NIC_STAT_SENT,     /* packets put on the network */
    NS_NIC_STAT_RECEIVED, /* packets put into host memory */
    NS_NIC_STAT_DROPPED,  /* packets lost */
    NS_NIC_STAT_CLOSED,   /* packets for a host that has closed */
    NS_NIC_STAT_COMMON
};

struct ns_nic_kind {
    const char *name;    /* `adapter` of the machine file */
    const char *network; /* its `network` */
    bool coherent;       /* DMA and the host's cache agree */
    size_t facts_bytes;  /* of port.facts */
    const struct ns_machine_row *rows;
    const uint32_t *row_count;
    /* What is wrong between rows, as a sentence; NULL: nothing.  May be NULL. */
    const char *(*check)(const struct ns_machine *machine);
    uint32_t (*nodes_max)(const struct ns_machine *machine);
    /* Do its buffers fit for so many nodes?  If not, one sentence.  NULL: they
     * always do. */
    bool (*fits)(const struct ns_machine *machine, uint32_t nodes, char *error,
                 size_t error_bytes);
    /* The network of the machine; NULL: out of memory. */
    void *(*net_open)(struct ns_engine *engine,
                      const struct ns_machine *machine, uint32_t nodes);
    void (*net_close)(void *net);
    /* No packet is in the network and every link has its credits back. */
    bool (*net_quiet)(const void *net);
    /* A node's adapter; sets the host's nic_ops, nic and port.facts.  NULL: out
     * of memory. */
    void *(*open)(struct ns_host *host, void *net,
                  const struct ns_machine *machine);
    void (*close)(void *nic);
    /* Is a packet anywhere in it, or waiting for it in the host? */
    bool (*busy)(const void *nic);
    /* At the end, nothing being under way: are all credits and buffers of all
     * adapters where they belong?  If not, one sentence.  NULL: no such. */
    bool (*whole)(void *const *nics, uint32_t count, char *error,
                  size_t error_bytes);
    /* Why the adapter has stopped the run, or NULL; may be NULL itself. */
    const char *(*failure)(const void *nic);
    /* What it will not do to its host, if the host leaves it alone and nothing
     * happens outside of it before `next_ps`: fills in `ahead` but for what the
     * bus knows. */
    void (*ahead)(const void *nic, uint64_t next_ps, struct ns_ahead *ahead);
    const struct am_stat_row *stat_rows;
    uint32_t stat_count;
    const uint64_t *(*stats)(const void *nic);
};

extern const struct ns_nic_kind ns_tb2_kind;
extern const struct ns_nic_kind ns_lanai_kind;
extern const struct ns_nic_kind ns_bgp_kind;
extern const struct ns_nic_kind ns_wq_kind;

/* All of them, NULL at the end. */
extern const struct ns_nic_kind *const ns_nic_kinds[];
/* NULL: there is none of that name. */
const struct ns_nic_kind *ns_nic_kind_find(const char *name);

#endif
