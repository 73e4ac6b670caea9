/*
 * The torus at work: queues, arbitration, links.  Set-up is torus_init.c.
 */
#include "net/torus_inner.h"

#include <string.h>

#define HERE_BIT (1u << NS_TORUS_HERE)

/* ------------------------------------------------------------------- queues */

/* On a large torus the next router to look at is in no near cache. */
static void router_prefetch(const struct ns_torus *torus, uint32_t node)
{
    const char *router = (const char *)&torus->routers[node];

    for (size_t i = 0; i < sizeof(struct ns_torus_router); i += 64) {
        __builtin_prefetch(router + i, 1);
    }
}

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

static struct ns_torus_entry *first_of(const struct ns_torus *torus,
                                       uint32_t node, uint32_t q)
{
    return &torus->entries[(size_t)(node * NS_TORUS_QUEUES + q) * PLANE];
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
static void queue_head(struct ns_torus *torus, uint32_t node, uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    const struct ns_torus_entry *entry = first_of(torus, node, q);
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

static void queue_unwant(struct ns_torus_router *router, uint32_t q)
{
    for (uint32_t left = router->head[q].wants; left != 0; left &= left - 1) {
        uint32_t way = (uint32_t)__builtin_ctz(left);

        router->want[way] &= ~(1u << q);
        if (way < NS_TORUS_WAYS) {
            router->first[way] &= ~(1u << q);
        }
    }
}

static void queue_push(struct ns_torus *torus, uint32_t node, uint32_t q,
                       const struct ns_torus_entry *entry)
{
    uint32_t count = torus->routers[node].count[q]++;

    *entry_of(torus, node, q, count) = *entry;
    if (count == 0) {
        queue_head(torus, node, q);
    }
}

/* Take the first packet out; who waited for its room may go on. */
static struct ns_torus_entry queue_pop(struct ns_torus *torus, uint32_t node,
                                       uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_entry first = *first_of(torus, node, q);
    uint16_t chunks = first.route.chunks;
    uint32_t count = --router->count[q];

    queue_unwant(router, q);
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
        queue_head(torus, node, q);
    }
    return first;
}

/* -------------------------------------------------------------------- links */

/* Queues whose first packet may find room behind a link; none of the others
 * does. */
static uint32_t roomy(const struct ns_torus_router *router, uint32_t way)
{
    const uint16_t *room = &router->room[way * NS_TORUS_VCS];
    uint32_t queues = (room[0] | room[1]) != 0 ? router->adaptive : 0;

    if (room[NS_TORUS_BUBBLE] > NS_TORUS_CHUNKS_MAX) {
        queues |= router->first[way];
    } else if (room[NS_TORUS_BUBBLE] > 0) {
        queues |= router->first[way] &
                  1u << (way * NS_TORUS_VCS + NS_TORUS_BUBBLE);
    }
    return queues;
}

/* The channel in which the first packet may leave queue q by `way` now;
 * NS_TORUS_VCS: none. */
static uint32_t channel_for(const struct ns_torus_router *router, uint32_t q,
                            uint32_t way)
{
    const uint16_t *room = &router->room[way * NS_TORUS_VCS];
    uint32_t needs = router->head[q].chunks;

    if ((router->adaptive >> q & 1) != 0) {
        uint32_t vc = room[1] > room[0];

        if (room[vc] >= needs) {
            return vc;
        }
    }
    if ((router->first[way] >> q & 1) == 0) {
        return NS_TORUS_VCS;
    }
    if (q != way * NS_TORUS_VCS + NS_TORUS_BUBBLE) {
        needs += NS_TORUS_CHUNKS_MAX; /* it enters a ring: leave a bubble */
    }
    return room[NS_TORUS_BUBBLE] >= needs ? NS_TORUS_BUBBLE : NS_TORUS_VCS;
}

static struct ns_torus_packet *packet_copy(struct ns_torus *torus,
                                           const struct ns_torus_packet *packet)
{
    struct ns_torus_packet *copy = ns_torus_packet_get(torus);

    NS_CHECK(copy != NULL);
    *copy = *packet;
    torus->stats.copied++;
    return copy;
}

/* What goes on of a packet that leaves a copy here: what stays is for this node
 * only. */
static struct ns_torus_entry deposit(struct ns_torus *torus, uint32_t node,
                                     uint32_t q)
{
    struct ns_torus_entry *here = first_of(torus, node, q);
    struct ns_torus_entry on = *here;

    queue_unwant(&torus->routers[node], q);
    on.packet = packet_copy(torus, here->packet);
    here->route.flags &= (uint8_t)~NS_TORUS_DEPOSIT;
    memset(here->route.hops, 0, sizeof(here->route.hops));
    queue_head(torus, node, q);
    return on;
}

/* Where a packet goes next. */
static void hop_prefetch(const struct ns_torus *torus, uint32_t node,
                         uint32_t q)
{
    const struct ns_torus_entry *queue = first_of(torus, node, q);

    router_prefetch(torus, node);
    __builtin_prefetch(queue, 1);
    __builtin_prefetch(queue + 2, 1);
}

/* Send the first packet of queue q over the link. */
static void link_send(struct ns_torus *torus, uint32_t node, uint32_t way,
                      uint32_t q, uint32_t vc)
{
    struct ns_torus_router *router = &torus->routers[node];
    uint16_t *room = &router->room[way * NS_TORUS_VCS + vc];
    struct ns_torus_entry entry;
    uint64_t cycle = torus->cycle;

    hop_prefetch(torus, router->neighbour[way], way * NS_TORUS_VCS + vc);
    if (q < NS_TORUS_LINKS) {
        router_prefetch(torus, router->neighbour[q / NS_TORUS_VCS ^ 1]);
    }
    router->turn[way] = (uint8_t)((q + 1) % NS_TORUS_QUEUES);
    router->out[way].free = cycle + first_of(torus, node, q)->route.cycles;
    entry = (router->head[q].wants & HERE_BIT) != 0 ? deposit(torus, node, q)
                                                    : queue_pop(torus, node, q);
    if (q >= NS_TORUS_LINKS) {
        entry.packet->started_ps = cycle * torus->clock.period_ps;
    }
    if (router->want[way] != 0) {
        ns_torus_kick(torus, node, way, cycle);
    }
    *room = (uint16_t)(*room - entry.route.chunks);
    entry.route.hops[way / 2]--;
    entry.route.left_here = false;
    entry.ready = cycle + torus->hop_cycles;
    torus->stats.hops++;
    torus->stats.link_cycles += entry.route.cycles;
    torus->stats.escapes += vc == NS_TORUS_BUBBLE &&
                            (entry.route.flags & NS_TORUS_ADAPTIVE) != 0;
    queue_push(torus, router->neighbour[way], way * NS_TORUS_VCS + vc, &entry);
}

/* Give the first packet of queue q to this node's adapter. */
static void here_take(struct ns_torus *torus, uint32_t node, uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_packet *packet;

    router->turn[NS_TORUS_HERE] = (uint8_t)((q + 1) % NS_TORUS_QUEUES);
    router->takes = false;
    torus->stats.delivered++;
    if (router->head[q].wants == HERE_BIT) {
        packet = queue_pop(torus, node, q).packet;
    } else {
        struct ns_torus_entry *entry = first_of(torus, node, q);

        queue_unwant(router, q);
        entry->route.left_here = true;
        packet = packet_copy(torus, entry->packet);
        queue_head(torus, node, q);
    }
    router->ops->deliver(router->nic, packet);
}

/* ------------------------------------------------------------- arbitration */

/* The queues that want a way, from the one whose turn it is: bit i is queue
 * (turn + i) modulo their number. */
static uint32_t turned(uint32_t wanted, uint32_t turn)
{
    return (wanted >> turn | wanted << (NS_TORUS_QUEUES - turn)) &
           ((1u << NS_TORUS_QUEUES) - 1);
}

static void step_here(struct ns_torus *torus, uint32_t node)
{
    struct ns_torus_router *router = &torus->routers[node];
    uint32_t turn = router->turn[NS_TORUS_HERE];
    uint64_t soonest = NS_NEVER;

    if (!router->takes) {
        return;
    }
    for (uint32_t left = turned(router->want[NS_TORUS_HERE], turn); left != 0;
         left &= left - 1) {
        uint32_t q = (turn + (uint32_t)__builtin_ctz(left)) % NS_TORUS_QUEUES;
        const struct ns_torus_entry *entry = first_of(torus, node, q);
        uint64_t tail = entry->ready + entry->route.cycles;

        if (tail <= torus->cycle) {
            here_take(torus, node, q);
            return;
        }
        soonest = tail < soonest ? tail : soonest;
    }
    if (soonest != NS_NEVER) {
        ns_torus_kick(torus, node, NS_TORUS_HERE, soonest);
    }
}

/* The queues of `wanted` whose first packet is not here yet; when the first of
 * these will be. */
static uint32_t still_coming(const struct ns_torus *torus, uint32_t node,
                             uint32_t wanted, uint64_t *soonest_p)
{
    struct ns_torus_router *router = &torus->routers[node];
    uint32_t coming = 0;

    for (uint32_t left = wanted & router->coming; left != 0; left &= left - 1) {
        uint32_t q = (uint32_t)__builtin_ctz(left);
        uint64_t ready = first_of(torus, node, q)->ready;

        if (ready <= torus->cycle) {
            router->coming &= ~(1u << q);
        } else {
            coming |= 1u << q;
            *soonest_p = ready < *soonest_p ? ready : *soonest_p;
        }
    }
    return coming;
}

static void step_link(struct ns_torus *torus, uint32_t node, uint32_t way)
{
    struct ns_torus_router *router = &torus->routers[node];
    uint32_t turn = router->turn[way];
    uint32_t wanted = router->want[way];
    uint64_t soonest = NS_NEVER;

    wanted &= ~still_coming(torus, node, wanted, &soonest);
    for (uint32_t left = turned(wanted & roomy(router, way), turn); left != 0;
         left &= left - 1) {
        uint32_t q = (turn + (uint32_t)__builtin_ctz(left)) % NS_TORUS_QUEUES;
        uint32_t vc = channel_for(router, q, way);

        if (vc != NS_TORUS_VCS) {
            link_send(torus, node, way, q, vc);
            if (q >= NS_TORUS_LINKS && router->told) {
                router->told = false;
                router->ops->room(router->nic);
            }
            return;
        }
    }
    if (soonest != NS_NEVER) {
        ns_torus_kick(torus, node, way, soonest);
    }
}

static void torus_sample(struct ns_clocked *clocked)
{
    (void)clocked;
}

static uint64_t torus_evaluate(struct ns_clocked *clocked)
{
    struct ns_torus *torus = am_container(clocked, struct ns_torus, clocked);
    uint64_t period_ps = torus->clock.period_ps;
    struct ns_torus_slot *slot;
    uint64_t next;

    torus->cycle = ns_engine_now(torus->clock.component.engine) / period_ps;
    torus->running = true;
    slot = &torus->wheel[torus->cycle % WHEEL_SLOTS];
    while (slot->first != OUT_NONE) {
        uint32_t index = slot->first;
        struct ns_torus_out *out = ns_torus_out_of(torus, index);

        NS_CHECK(out->at == torus->cycle);
        ns_torus_unkick(torus, out);
        if (slot->first != OUT_NONE) {
            router_prefetch(torus, slot->first / OUTS);
        }
        if (index % OUTS == NS_TORUS_HERE) {
            step_here(torus, index / OUTS);
        } else {
            step_link(torus, index / OUTS, index % OUTS);
        }
    }
    torus->running = false;
    next = ns_torus_next(torus);
    return next == NS_NEVER ? NS_NEVER : next * period_ps;
}

static void torus_commit(struct ns_clocked *clocked)
{
    (void)clocked;
}

const struct ns_clocked_ops ns_torus_clocked_ops = {
        .sample = torus_sample,
        .evaluate = torus_evaluate,
        .commit = torus_commit,
};

/* ----------------------------------------------------------- from the nodes */

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
    queue_push(torus, packet->source, NS_TORUS_LINKS + way, &entry);
    if (!torus->running) {
        ns_clocked_wake(&torus->clocked);
    }
}

void ns_torus_ready(struct ns_torus *torus, uint32_t node)
{
    torus->routers[node].takes = true;
    if (torus->routers[node].want[NS_TORUS_HERE] == 0) {
        return;
    }
    ns_torus_kick(torus, node, NS_TORUS_HERE, ns_torus_now(torus));
    if (!torus->running) {
        ns_clocked_wake(&torus->clocked);
    }
}
