/*
 * The torus's queues: what their first packets want of the router, packets in
 * and out, injection.  Set-up is torus_init.c.
 */
#include "net/torus_inner.h"

/* The packet that `index` others are before in queue q; 0: the first.  Of all
 * queues the first few are together, as most have no more, large packets. */
static struct ns_torus_entry *entry_of(const struct ns_torus *torus,
                                       uint32_t node, uint32_t q,
                                       uint32_t index)
{
    size_t queue = node * NS_TORUS_QUEUES + q;
    size_t plane = index / PLANE * (size_t)torus->nodes * NS_TORUS_QUEUES;

    return &torus->entries[(plane + queue) * PLANE + index % PLANE];
}

/* Ways that a packet may take from where it is. */
static uint8_t wants_of(const struct ns_torus_route *route)
{
    uint8_t wants = 0;

    for (int d = 0; d < 3; d++) {
        if (route->hops[d] > 0) {
            wants |= (uint8_t)(1u << route->way[d]);
            if ((route->flags & NS_TORUS_ADAPTIVE) == 0) {
                break;
            }
        }
    }
    if (wants == 0 ||
        ((route->flags & NS_TORUS_DEPOSIT) != 0 && !route->left_here)) {
        wants |= HERE_BIT;
    }
    return wants;
}

/* The way that the deterministic route takes. */
static uint32_t first_way(const struct ns_torus_route *route)
{
    int d = route->hops[0] > 0 ? 0 : route->hops[1] > 0 ? 1 : 2;

    return route->way[d];
}

/* Room behind a link in its better dynamic channel. */
static uint16_t room_of(const struct ns_torus_router *router, uint32_t way)
{
    const uint16_t *room = &router->room[way * NS_TORUS_VCS];

    return room[0] > room[1] ? room[0] : room[1];
}

static void bit_set(uint32_t *set, uint32_t q, bool on)
{
    *set = (*set & ~(1u << q)) | (uint32_t)on << q;
}

/* What arbitration will ask of the first packet of queue q. */
static void head_set(const struct ns_torus *torus,
                     struct ns_torus_router *router, uint32_t q,
                     const struct ns_torus_entry *entry, uint8_t wants)
{
    const struct ns_torus_route *route = &entry->route;

    router->head[q] = (struct ns_torus_head){route->chunks, wants};
    bit_set(&router->adaptive, q, (route->flags & NS_TORUS_ADAPTIVE) != 0);
    bit_set(&router->coming, q, entry->ready > torus->cycle);
    if (wants != HERE_BIT) {
        router->first[first_way(route)] |= 1u << q;
    }
}

/* A packet is the first of its queue now: the ways that it may take step when
 * it is ready, the one with the most room first. */
void ns_torus_queue_head(struct ns_torus *torus, uint32_t node, uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    const struct ns_torus_entry *entry = ns_torus_first_of(torus, node, q);
    uint32_t left = wants_of(&entry->route);

    head_set(torus, router, q, entry, (uint8_t)left);
    while (left != 0) {
        uint32_t best = (uint32_t)__builtin_ctz(left);

        for (uint32_t rest = left & (left - 1) & (HERE_BIT - 1); rest != 0;
             rest &= rest - 1) {
            uint32_t way = (uint32_t)__builtin_ctz(rest);

            if (room_of(router, way) > room_of(router, best)) {
                best = way;
            }
        }
        left &= ~(1u << best);
        router->want[best] |= 1u << q;
        ns_torus_kick(torus, node, best,
                      best == NS_TORUS_HERE ? entry->ready + entry->route.cycles
                                            : entry->ready);
    }
}

void ns_torus_queue_unwant(struct ns_torus_router *router, uint32_t q)
{
    for (uint32_t left = router->head[q].wants; left != 0; left &= left - 1) {
        uint32_t way = (uint32_t)__builtin_ctz(left);

        router->want[way] &= ~(1u << q);
        if (way < NS_TORUS_WAYS) {
            router->first[way] &= ~(1u << q);
        }
    }
}

void ns_torus_queue_push(struct ns_torus *torus, uint32_t node, uint32_t q,
                         const struct ns_torus_entry *entry)
{
    uint32_t count = torus->routers[node].count[q]++;

    *entry_of(torus, node, q, count) = *entry;
    if (count == 0) {
        ns_torus_queue_head(torus, node, q);
    }
}

/* Take the first packet out; who waited for its room may go on. */
struct ns_torus_entry ns_torus_queue_pop(struct ns_torus *torus, uint32_t node,
                                         uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_entry first = *ns_torus_first_of(torus, node, q);
    uint16_t chunks = first.route.chunks;
    uint32_t count = --router->count[q];

    ns_torus_queue_unwant(router, q);
    for (uint32_t i = 0; i < count; i++) {
        *entry_of(torus, node, q, i) = *entry_of(torus, node, q, i + 1);
    }
    if (q < NS_TORUS_LINKS) {
        uint32_t way = q / NS_TORUS_VCS;
        uint32_t before = router->neighbour[way ^ 1];
        struct ns_torus_router *from = &torus->routers[before];

        from->room[q] = (uint16_t)(from->room[q] + chunks);
        if (from->want[way] != 0) {
            ns_torus_kick(torus, before, way, torus->cycle);
        }
    } else {
        uint16_t *room = &router->inject[q - NS_TORUS_LINKS];

        *room = (uint16_t)(*room + chunks);
    }
    if (count > 0) {
        ns_torus_queue_head(torus, node, q);
    }
    return first;
}

/* ---------------------------------------------------------------- injection */

bool ns_torus_has_room(const struct ns_torus *torus,
                       const struct ns_torus_packet *packet)
{
    struct ns_torus_router *router = &torus->routers[packet->source];

    if (router->inject[first_way(&packet->route)] >= packet->route.chunks) {
        return true;
    }
    router->told = true;
    return false;
}

void ns_torus_inject(struct ns_torus *torus, struct ns_torus_packet *packet)
{
    struct ns_torus_router *router = &torus->routers[packet->source];
    uint32_t way = first_way(&packet->route);
    const struct ns_torus_entry entry = {packet, ns_torus_now(torus),
                                         packet->route};

    NS_CHECK(packet->source != packet->destination &&
             router->inject[way] >= entry.route.chunks);
    router->inject[way] = (uint16_t)(router->inject[way] - entry.route.chunks);
    torus->stats.injected++;
    ns_torus_queue_push(torus, packet->source, NS_TORUS_LINKS + way, &entry);
    if (!torus->running) {
        ns_clocked_wake(&torus->clocked);
    }
}
