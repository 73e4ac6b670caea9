/*
 * The inside of a simulated machine.
 */
#ifndef NS_SIM_H
#define NS_SIM_H

#include "host/host.h"
#include "nic/nic.h"
#include "nicsim_sim.h"

struct ns_node {
    struct ns_sim_node view;
    struct ns_host host;
    void *nic;
    bool gather_waits;
};

/* Two buffers, so that a fast node may start the next gather while a slow one
 * still copies the last. */
struct ns_gather {
    uint8_t *buffer[2];
    size_t bytes[2];
    uint32_t count;
    uint32_t turn;
};

struct ns_sim {
    const struct ns_machine *machine;
    struct ns_sim_params params;
    struct ns_engine *engine;
    const struct ns_nic_kind *kind;
    void *net;
    struct ns_node *nodes;
    uint32_t node_count; /* initialised so far */
    uint32_t running;
    bool aborted;
    uint64_t end_ps;
    struct ns_gather gather;
    uint64_t met; /* arrivals at ns_sim_meet, of all nodes */
    void (*body)(void *arg, struct ns_sim_node *node);
    void *body_arg;
};

#endif
