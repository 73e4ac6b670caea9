/*
 * The inside of the engine, for the files of nic-sim/kernel.
 */
#ifndef NS_KERNEL_ENGINE_H
#define NS_KERNEL_ENGINE_H

#include "kernel/queue.h"

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
    struct ns_marks marks;
};

#endif
