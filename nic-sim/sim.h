/*
 * The inside of a simulated machine.
 */
#ifndef NS_SIM_H
#define NS_SIM_H

#include "cosim/rank.h"
#include "cosim/seat.h"
#include "host/host.h"
#include "nic/nic.h"
#include "nicsim_door.h"
#include "nicsim_sim.h"

struct ns_node {
    struct ns_sim_node view;
    struct ns_host host;
    void *nic;
    bool gather_waits;
    struct ns_seat seat;  /* of the process that runs its program */
    struct ns_rank *rank; /* in that process; NULL: the engine is here */
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
    char failed[256]; /* why the run was ended, one sentence, or "" */
    uint64_t end_ps;
    struct ns_gather gather;
    uint64_t met; /* arrivals at ns_sim_meet, of all nodes */
    void (*body)(void *arg, struct ns_sim_node *node);
    void *body_arg;
    struct ns_cores cores; /* before ns_sim_fork */
};

/* End the run, for a reason; the first counts. */
void ns_sim_fail(struct ns_sim *sim, const char *format, ...)
        __attribute__((format(printf, 2, 3)));
/* The node comes to ns_sim_meet; how many arrivals it waits for. */
uint64_t ns_sim_meet_enter(struct ns_node *node);

/* cosim/fork.c: start a process for each node, which runs the body.  0, or -1
 * with one sentence in `failed`. */
int ns_sim_fork(struct ns_sim *sim);
/* The run is over: tell those that still wait, and wait for our own children. */
void ns_sim_reap(struct ns_sim *sim, bool ours);

#endif
