/*
 * Slices of what programs do, for the timeline: a ring for each node, whose kinds
 * are the names that came so far.
 */
#include "kernel/engine.h"

#include <stdlib.h>
#include <string.h>

enum {
    NAMES_MAX = 1024, /* am_trace has as many kinds */
    DEPTH_MAX = 16    /* deeper ones are left out */
};

/* Of one node. */
struct slices {
    struct am_trace *trace; /* NULL: it has none yet */
    uint32_t depth;
    bool any;                 /* one has been there */
    uint16_t open[DEPTH_MAX]; /* kinds */
};

struct ns_slices {
    char names[NAMES_MAX][NS_SLICE_NAME_BYTES];
    uint32_t name_count;
    struct slices nodes[];
};

static struct ns_slices *slices_of(struct ns_engine *engine)
{
    struct ns_slices *slices = engine->slices;

    if (slices == NULL && engine->params.trace_records > 0) {
        slices = calloc(1, sizeof(*slices) +
                                   engine->node_count * sizeof(struct slices));
        engine->slices = slices;
    }
    return slices;
}

/* The node's, with a ring; NULL: it can have none. */
static struct slices *node_of(struct ns_engine *engine, uint32_t node)
{
    struct ns_slices *slices = slices_of(engine);
    struct slices *of_node;

    if (slices == NULL || node >= engine->node_count) {
        return NULL;
    }
    of_node = &slices->nodes[node];
    if (of_node->trace == NULL) {
        of_node->trace = am_trace_open(&engine->trace_env, node,
                                       engine->params.trace_records);
    }
    return of_node->trace == NULL ? NULL : of_node;
}

/* A name's kind; NAMES_MAX when there are too many. */
static uint32_t kind_of(struct ns_slices *slices, const char *name)
{
    uint32_t kind = 0;

    while (kind < slices->name_count &&
           strcmp(slices->names[kind], name) != 0) {
        kind++;
    }
    if (kind == slices->name_count && kind < NAMES_MAX) {
        strncpy(slices->names[kind], name, NS_SLICE_NAME_BYTES - 1);
        slices->name_count++;
    }
    return kind;
}

static void slice_add(struct ns_engine *engine, struct slices *slices,
                      uint64_t time_ps, uint32_t kind, char phase)
{
    am_trace_name(slices->trace, (uint16_t)kind, engine->slices->names[kind]);
    am_trace_track(slices->trace, (uint16_t)kind, NS_TRACK_CALLS, false);
    engine->trace_ps = time_ps;
    am_trace_add(slices->trace, (uint16_t)kind, phase, 0, 0);
    slices->any = true;
}

static void slice_begin(struct ns_engine *engine, struct slices *slices,
                        uint64_t time_ps, uint32_t kind)
{
    if (slices->depth < DEPTH_MAX) {
        slices->open[slices->depth++] = (uint16_t)kind;
        slice_add(engine, slices, time_ps, kind, 'B');
    }
}

void ns_slice(struct ns_component *component, uint64_t time_ps,
              const char *name, bool begins)
{
    struct ns_engine *engine = component->engine;
    struct slices *slices = node_of(engine, component->node);
    uint32_t kind = slices == NULL ? NAMES_MAX : kind_of(engine->slices, name);

    if (kind == NAMES_MAX) {
        return;
    }
    if (begins) {
        slice_begin(engine, slices, time_ps, kind);
        return;
    }
    if (!slices->any) {
        slice_begin(engine, slices, 0, kind);
    }
    if (slices->depth > 0 && slices->open[slices->depth - 1] == kind) {
        slices->depth--;
        slice_add(engine, slices, time_ps, kind, 'E');
    }
}

void ns_slices_end(struct ns_component *component, uint64_t time_ps)
{
    struct ns_engine *engine = component->engine;
    struct slices *slices = engine->slices == NULL
                                    ? NULL
                                    : &engine->slices->nodes[component->node];

    while (slices != NULL && slices->depth > 0) {
        slices->depth--;
        slice_add(engine, slices, time_ps, slices->open[slices->depth], 'E');
    }
}

const struct am_trace *ns_slices_trace(const struct ns_engine *engine,
                                       uint32_t node)
{
    return engine->slices == NULL ? NULL : engine->slices->nodes[node].trace;
}

void ns_slices_close(struct ns_engine *engine)
{
    for (uint32_t i = 0; engine->slices != NULL && i < engine->node_count;
         i++) {
        am_trace_close(engine->slices->nodes[i].trace);
    }
    free(engine->slices);
    engine->slices = NULL;
}
