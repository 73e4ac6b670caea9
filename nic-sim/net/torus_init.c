/*
 * The torus: shape, routes, packets, set-up.
 */
#include "net/torus_inner.h"

#include "kernel/large.h"

#include <stdlib.h>

/* Packets of the first slab; each of the next is twice as large, so often. */
#define SLAB_FIRST     256
#define SLAB_DOUBLINGS 5

/* -------------------------------------------------------------------- shape */

void ns_torus_sides(uint32_t nodes, uint32_t side[3])
{
    uint32_t best = UINT32_MAX;

    side[0] = nodes;
    side[1] = 1;
    side[2] = 1;
    for (uint32_t z = 1; z * z * z <= nodes; z++) {
        for (uint32_t y = z; nodes % z == 0 && y * y <= nodes / z; y++) {
            uint32_t x = nodes / z / y;

            if (nodes / z % y == 0 && x + y + z < best) {
                best = x + y + z;
                side[0] = x;
                side[1] = y;
                side[2] = z;
            }
        }
    }
}

static uint32_t coordinate(const struct ns_torus *torus, uint32_t node, int d)
{
    if (d > 0) {
        node /= torus->side[0];
    }
    return (d == 2 ? node / torus->side[1] : node) % torus->side[d];
}

uint32_t ns_torus_neighbour(const struct ns_torus *torus, uint32_t node,
                            uint32_t way)
{
    int d = (int)way / 2;
    uint32_t side = torus->side[d];
    uint32_t at = coordinate(torus, node, d);
    uint32_t to = way % 2 == 0 ? (at + 1) % side : (at + side - 1) % side;
    uint32_t step = d == 0   ? 1
                    : d == 1 ? torus->side[0]
                             : torus->side[0] * torus->side[1];

    return node - at * step + to * step;
}

void ns_torus_shape(const struct ns_torus *torus, uint32_t shape[3])
{
    for (int d = 0; d < 3; d++) {
        shape[d] = torus->side[d];
    }
}

uint32_t ns_torus_distance(const struct ns_torus *torus, uint32_t from,
                           uint32_t to)
{
    uint32_t hops = 0;

    for (int d = 0; d < 3; d++) {
        uint32_t side = torus->side[d];
        uint32_t up =
                (coordinate(torus, to, d) + side - coordinate(torus, from, d)) %
                side;

        hops += up <= side - up ? up : side - up;
    }
    return hops;
}

/* The shorter way in each dimension; between two equal ones the source's
 * place decides, so that half of the nodes take either. */
void ns_torus_route(const struct ns_torus *torus,
                    struct ns_torus_packet *packet)
{
    struct ns_torus_route *route = &packet->route;
    uint32_t parity = 0;

    for (int d = 0; d < 3; d++) {
        parity += coordinate(torus, packet->source, d);
    }
    for (int d = 0; d < 3; d++) {
        uint32_t side = torus->side[d];
        uint32_t up = (coordinate(torus, packet->destination, d) + side -
                       coordinate(torus, packet->source, d)) %
                      side;
        bool down = 2 * up > side || (2 * up == side && parity % 2 == 1);

        route->way[d] = (uint8_t)(2 * d + (down ? 1 : 0));
        route->hops[d] = (uint16_t)(down ? side - up : up);
    }
    route->chunks =
            (uint8_t)((packet->bytes + NS_TORUS_CHUNK - 1) / NS_TORUS_CHUNK);
    route->cycles = (uint16_t)(packet->bytes + torus->settings.overhead_bytes);
    route->flags = packet->flags;
    route->left_here = true; /* no copy stays where it starts */
}

/* ------------------------------------------------------------------ packets */

static bool slab_add(struct ns_torus *torus)
{
    struct ns_torus_packet **slabs =
            realloc(torus->slabs, (torus->slab_count + 1) * sizeof(*slabs));
    uint32_t doublings = torus->slab_count < SLAB_DOUBLINGS ? torus->slab_count
                                                            : SLAB_DOUBLINGS;
    uint32_t count = SLAB_FIRST << doublings;
    struct ns_torus_packet *slab;

    if (slabs == NULL) {
        return false;
    }
    torus->slabs = slabs;
    slab = ns_large_calloc(count, sizeof(*slab));
    if (slab == NULL) {
        return false;
    }
    torus->slabs[torus->slab_count++] = slab;
    for (uint32_t i = 0; i < count; i++) {
        slab[i].next = torus->unused;
        torus->unused = &slab[i];
    }
    return true;
}

struct ns_torus_packet *ns_torus_packet_get(struct ns_torus *torus)
{
    struct ns_torus_packet *packet;

    if (torus->unused == NULL && !slab_add(torus)) {
        return NULL;
    }
    packet = torus->unused;
    torus->unused = packet->next;
    packet->next = NULL;
    packet->flags = 0;
    torus->out++;
    return packet;
}

void ns_torus_packet_put(struct ns_torus *torus, struct ns_torus_packet *packet)
{
    NS_CHECK(torus->out > 0);
    packet->next = torus->unused;
    torus->unused = packet;
    torus->out--;
}

/* ------------------------------------------------------------------- set-up */

static void router_init(struct ns_torus *torus, uint32_t node)
{
    struct ns_torus_router *router = &torus->routers[node];

    for (uint32_t way = 0; way < OUTS; way++) {
        router->out[way].at = NS_NEVER;
    }
    for (uint32_t i = 0; i < NS_TORUS_LINKS; i++) {
        router->room[i] = (uint16_t)torus->buffer_chunks;
    }
    for (uint32_t way = 0; way < NS_TORUS_WAYS; way++) {
        router->inject[way] = (uint16_t)torus->buffer_chunks;
        router->neighbour[way] = ns_torus_neighbour(torus, node, way);
    }
    router->takes = true;
}

/* Not touched until there are packets: most of it never is. */
static size_t entries_bytes(const struct ns_torus *torus)
{
    size_t planes = (torus->buffer_chunks + PLANE - 1) / PLANE;

    return planes * PLANE * torus->nodes * NS_TORUS_QUEUES *
           sizeof(*torus->entries);
}

struct ns_torus *ns_torus_open(struct ns_engine *engine,
                               const struct ns_torus_settings *settings,
                               uint32_t nodes)
{
    struct ns_torus *torus = calloc(1, sizeof(*torus));

    if (torus == NULL) {
        return NULL;
    }
    torus->settings = *settings;
    torus->nodes = nodes;
    ns_torus_sides(nodes, torus->side);
    torus->buffer_chunks = (uint32_t)settings->buffer_bytes / NS_TORUS_CHUNK;
    torus->hop_cycles = (uint32_t)settings->hop_cycles;
    NS_CHECK(settings->hop_cycles + NS_TORUS_BYTES_MAX +
                     settings->overhead_bytes <
             WHEEL_SLOTS / 2);
    NS_CHECK(ns_torus_deadlock(settings, torus->side, ns_torus_turns) == NULL);
    for (uint32_t i = 0; i < WHEEL_SLOTS; i++) {
        torus->wheel[i] = (struct ns_torus_slot){OUT_NONE, OUT_NONE};
    }
    ns_clock_init(&torus->clock, engine, "torus clock", NS_NODE_NONE,
                  settings->clock_ps);
    ns_clocked_init(&torus->clocked, &torus->clock, &ns_torus_clocked_ops);
    torus->routers = ns_large_calloc(nodes, sizeof(*torus->routers));
    torus->entries = ns_large_alloc(entries_bytes(torus));
    if (torus->routers == NULL || torus->entries == NULL ||
        ns_torus_fault_init(torus) != 0) {
        ns_torus_close(torus);
        return NULL;
    }
    for (uint32_t i = 0; i < nodes; i++) {
        router_init(torus, i);
    }
    return torus;
}

void ns_torus_close(struct ns_torus *torus)
{
    if (torus == NULL) {
        return;
    }
    for (uint32_t i = 0; i < torus->slab_count; i++) {
        free(torus->slabs[i]);
    }
    free(torus->slabs);
    free(torus->ports);
    free(torus->entries);
    free(torus->routers);
    free(torus);
}

void ns_torus_attach(struct ns_torus *torus, uint32_t node, void *nic,
                     const struct ns_torus_ops *ops)
{
    torus->routers[node].nic = nic;
    torus->routers[node].ops = ops;
}

/* --------------------------------------------------------------- statistics */

bool ns_torus_quiet(const struct ns_torus *torus)
{
    const struct ns_torus_stats *stats = &torus->stats;
    bool quiet = torus->out == 0 &&
                 stats->injected + stats->copied == stats->delivered;

    for (uint32_t i = 0; i < torus->nodes && quiet; i++) {
        const struct ns_torus_router *router = &torus->routers[i];

        for (uint32_t k = 0; k < NS_TORUS_LINKS; k++) {
            quiet = quiet && router->room[k] == torus->buffer_chunks;
        }
        for (uint32_t way = 0; way < NS_TORUS_WAYS; way++) {
            quiet = quiet && router->inject[way] == torus->buffer_chunks;
        }
    }
    return quiet;
}

const struct ns_torus_stats *ns_torus_stats(const struct ns_torus *torus)
{
    return &torus->stats;
}

uint64_t ns_torus_alone_ps(const struct ns_torus *torus, uint32_t hops,
                           uint32_t bytes)
{
    return (hops * torus->settings.hop_cycles + bytes +
            torus->settings.overhead_bytes) *
           torus->clock.period_ps;
}
