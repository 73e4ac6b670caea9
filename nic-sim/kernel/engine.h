/*
 * The inside of the engine, for the files of nic-sim/kernel.
 */
#ifndef NS_KERNEL_ENGINE_H
#define NS_KERNEL_ENGINE_H

#include "nicsim.h"

struct ns_heap_entry {
    uint64_t time_ps;
    uint64_t order;
    struct ns_event *event;
};

struct ns_engine {
    struct ns_engine_params params;
    uint64_t now_ps;
    uint64_t order; /* of the event that runs */
    struct ns_heap_entry *heap;
    uint32_t heap_count, heap_max;
    bool stop;
    uint64_t events;
    uint32_t component_count;
    uint32_t node_count;
    struct am_env trace_env; /* its now is trace_ps */
    uint64_t trace_ps;
    struct am_trace **traces; /* node_count + 1 */
    struct ns_marks marks;
};

#endif
