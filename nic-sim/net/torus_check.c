/*
 * Can the torus deadlock?  The channels of the bubble network and who may wait
 * for whom: a channel waits for those that its packets may enter next.  A ring
 * (the channels of one way along one line) may wait for itself, because the
 * bubble rule always leaves a packet's room in it; so rings are what the graph
 * is made of, and it must have no cycle.  Dynamic channels add nothing: each
 * of their packets may always wait for the bubble channel too.
 */
#include "net/torus.h"

#include <stdlib.h>

const uint8_t ns_torus_turns[NS_TORUS_WAYS] = {
        /* +x: x again (the ring), y, z */
        [0] = 1u << 0 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5,
        [1] = 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5,
        [2] = 1u << 2 | 1u << 4 | 1u << 5,
        [3] = 1u << 3 | 1u << 4 | 1u << 5,
        [4] = 1u << 4,
        [5] = 1u << 5,
};

struct graph {
    uint32_t side[3];
    uint32_t rings;                    /* of all ways */
    uint32_t first[NS_TORUS_WAYS + 1]; /* number of a way's first ring */
    uint32_t *waiting; /* rings that may wait for this one, not yet removed */
    uint32_t *ready;   /* rings for which nobody waits any more */
};

/* The two other dimensions. */
static void others(uint32_t way, uint32_t *a, uint32_t *b)
{
    *a = way / 2 == 0 ? 1 : 0;
    *b = way / 2 == 2 ? 1 : 2;
}

/* The ring of `way` through a node. */
static uint32_t ring_of(const struct graph *graph, uint32_t way,
                        const uint32_t at[3])
{
    uint32_t a, b;

    others(way, &a, &b);
    return graph->first[way] + at[a] + at[b] * graph->side[a];
}

/* Call `fn` for each ring that ring `ring` of `way` may wait for, one call for
 * each node where they cross. */
static void each_next(struct graph *graph, uint32_t ring, uint32_t way,
                      const uint8_t turns[NS_TORUS_WAYS],
                      void (*fn)(struct graph *graph, uint32_t next))
{
    uint32_t at[3], a, b, place = ring - graph->first[way];

    others(way, &a, &b);
    at[a] = place % graph->side[a];
    at[b] = place / graph->side[a];
    for (at[way / 2] = 0; at[way / 2] < graph->side[way / 2]; at[way / 2]++) {
        for (uint32_t to = 0; to < NS_TORUS_WAYS; to++) {
            if (to != way && (turns[way] >> to & 1) != 0) {
                fn(graph, ring_of(graph, to, at));
            }
        }
    }
}

static void wait_add(struct graph *graph, uint32_t next)
{
    graph->waiting[next]++;
}

static void wait_remove(struct graph *graph, uint32_t next)
{
    if (--graph->waiting[next] == 0) {
        graph->ready[graph->rings++] = next;
    }
}

static uint32_t way_of(const struct graph *graph, uint32_t ring)
{
    uint32_t way = 0;

    while (ring >= graph->first[way + 1]) {
        way++;
    }
    return way;
}

/* Remove rings for which nobody waits until none is left, or none can be. */
static bool has_cycle(struct graph *graph, const uint8_t turns[NS_TORUS_WAYS])
{
    uint32_t all = graph->first[NS_TORUS_WAYS];

    for (uint32_t ring = 0; ring < all; ring++) {
        each_next(graph, ring, way_of(graph, ring), turns, wait_add);
    }
    graph->rings = 0;
    for (uint32_t ring = 0; ring < all; ring++) {
        if (graph->waiting[ring] == 0) {
            graph->ready[graph->rings++] = ring;
        }
    }
    for (uint32_t i = 0; i < graph->rings; i++) {
        uint32_t ring = graph->ready[i];

        each_next(graph, ring, way_of(graph, ring), turns, wait_remove);
    }
    return graph->rings < all;
}

const char *ns_torus_deadlock(const struct ns_torus_settings *settings,
                              const uint32_t side[3],
                              const uint8_t turns[NS_TORUS_WAYS])
{
    struct graph graph = {.side = {side[0], side[1], side[2]}};
    const char *wrong = NULL;

    if (settings->buffer_bytes < 2 * NS_TORUS_BYTES_MAX) {
        return "net.buffer must hold two packets, 512 B, or a ring can fill up";
    }
    for (uint32_t way = 0; way < NS_TORUS_WAYS; way++) {
        graph.first[way + 1] =
                graph.first[way] + side[0] * side[1] * side[2] / side[way / 2];
    }
    graph.waiting = calloc(graph.first[NS_TORUS_WAYS], sizeof(uint32_t));
    graph.ready = calloc(graph.first[NS_TORUS_WAYS], sizeof(uint32_t));
    if (graph.waiting == NULL || graph.ready == NULL) {
        wrong = "out of memory";
    } else if (has_cycle(&graph, turns)) {
        wrong = "rings of different dimensions wait for each other";
    }
    free(graph.waiting);
    free(graph.ready);
    return wrong;
}
