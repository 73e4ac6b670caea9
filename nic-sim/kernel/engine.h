/*
 * The inside of the engine, for the files of nic-sim/kernel.
 */
#ifndef NS_KERNEL_ENGINE_H
#define NS_KERNEL_ENGINE_H

#include "kernel/queue.h"
#include "nicsim_link.h"

#define NS_LINK_NAMES 32

struct ns_engine {
    struct ns_engine_params params;
    uint64_t now_ps;
    uint64_t order; /* of the event that runs */
    struct ns_queue queue;
    bool stop;
    uint64_t events[NS_PHASE_COUNT];
    uint32_t component_count;
    uint32_t node_count;
    struct am_env trace_env; /* its now is trace_ps */
    uint64_t trace_ps;
    struct am_trace **traces; /* node_count + 1 */
    struct ns_slices *slices; /* NULL: there are none */
    struct ns_marks marks;
    struct ns_link *first_link; /* all of them, the newest first */
    struct ns_fault_counts faults;
    uint32_t faulty_links;

    struct {
        const char *name;
        uint32_t count;
    } links[NS_LINK_NAMES]; /* how many links there are of each name */
};

/* The order of the component's next event, its sequence left out. */
uint64_t ns_engine_order(const struct ns_component *component,
                         ns_phase_t phase);

/* Tracks of a node in the timeline. */
enum {
    NS_TRACK_CALLS,
    NS_TRACK_HOST,
    NS_TRACK_BUS,
    NS_TRACK_NIC,
    NS_TRACK_PORT,
    NS_TRACK_LINKS /* and more: one each */
};

/* slices.c: the node's ring, or NULL; free all. */
const struct am_trace *ns_slices_trace(const struct ns_engine *engine,
                                       uint32_t node);
void ns_slices_close(struct ns_engine *engine);

/* timeline.c: names and tracks of a ring's records. */
void ns_timeline_names(struct am_trace *trace);

/* fault.c: does the link fail?  Sets its number and its random numbers. */
void ns_fault_init(struct ns_link *link);
/* How long the link waits before the next packet. */
uint64_t ns_fault_stall_ps(struct ns_fault_port *port,
                           struct ns_engine *engine);
/* The packet's head arrives: may change it; true if the link loses it. */
bool ns_fault_arrive(struct ns_link *link, struct ns_packet *packet);

#endif
