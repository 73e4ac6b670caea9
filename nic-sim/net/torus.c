/*
 * The torus at work: queues, arbitration, links.  Set-up is torus_init.c.
 */
#include "net/torus_inner.h"

#include <string.h>

#define HERE_BIT (1u << NS_TORUS_HERE)

/* ------------------------------------------------------------------- queues */

/* Ways that a packet may take from where it is. */
static uint8_t wants_of(const struct ns_torus_packet *packet)
{
    uint8_t wants = 0;

    for (int d = 0; d < 3; d++) {
        if (packet->hops[d] > 0) {
            wants |= (uint8_t)(1u << packet->way[d]);
            if ((packet->flags & NS_TORUS_ADAPTIVE) == 0) {
                break;
            }
        }
    }
    if (wants == 0 ||
        ((packet->flags & NS_TORUS_DEPOSIT) != 0 && !packet->left_here)) {
        wants |= HERE_BIT;
    }
    return wants;
}

/* Room behind a link in its better dynamic channel. */
static uint16_t room_of(const struct ns_torus_router *router, uint32_t way)
{
    const uint16_t *room = &router->room[way * NS_TORUS_VCS];

    return room[0] > room[1] ? room[0] : room[1];
}

/* A packet is the first of its queue now: the ways that it may take step when
 * it is ready, the one with the most room first. */
static void queue_head(struct ns_torus *torus, uint32_t node, uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_packet *packet = router->queue[q].first;
    uint32_t left = packet->wants = wants_of(packet);

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
                      best == NS_TORUS_HERE ? packet->ready + packet->cycles
                                            : packet->ready);
    }
}

static void queue_unwant(struct ns_torus_router *router, uint32_t q)
{
    for (uint32_t left = router->queue[q].first->wants; left != 0;
         left &= left - 1) {
        router->want[__builtin_ctz(left)] &= ~(1u << q);
    }
}

static void queue_push(struct ns_torus *torus, uint32_t node, uint32_t q,
                       struct ns_torus_packet *packet)
{
    struct ns_torus_queue *queue = &torus->routers[node].queue[q];

    packet->next = NULL;
    if (queue->first == NULL) {
        queue->first = packet;
        queue->last = packet;
        queue_head(torus, node, q);
    } else {
        queue->last->next = packet;
        queue->last = packet;
    }
}

/* Take the first packet out; who waited for its room may go on. */
static struct ns_torus_packet *queue_pop(struct ns_torus *torus, uint32_t node,
                                         uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_queue *queue = &router->queue[q];
    struct ns_torus_packet *packet = queue->first;

    queue_unwant(router, q);
    queue->first = packet->next;
    if (q < NS_TORUS_LINKS) {
        uint32_t way = q / NS_TORUS_VCS;
        uint32_t before = router->neighbour[way ^ 1];
        struct ns_torus_router *from = &torus->routers[before];

        from->room[q] = (uint16_t)(from->room[q] + packet->chunks);
        if (from->want[way] != 0) {
            ns_torus_kick(torus, before, way, torus->cycle);
        }
    } else {
        uint16_t *room = &router->inject[q - NS_TORUS_LINKS];

        *room = (uint16_t)(*room + packet->chunks);
    }
    if (queue->first != NULL) {
        queue_head(torus, node, q);
    }
    return packet;
}

/* -------------------------------------------------------------------- links */

/* The way that the deterministic route takes. */
static uint32_t first_way(const struct ns_torus_packet *packet)
{
    int d = packet->hops[0] > 0 ? 0 : packet->hops[1] > 0 ? 1 : 2;

    return packet->way[d];
}

/* The channel in which the packet may leave queue q by `way` now;
 * NS_TORUS_VCS: none. */
static uint32_t channel_for(const struct ns_torus_router *router, uint32_t q,
                            const struct ns_torus_packet *packet, uint32_t way)
{
    const uint16_t *room = &router->room[way * NS_TORUS_VCS];
    uint32_t needs = packet->chunks;

    if ((packet->flags & NS_TORUS_ADAPTIVE) != 0) {
        uint32_t vc = room[1] > room[0];

        if (room[vc] >= needs) {
            return vc;
        }
        if (way != first_way(packet)) {
            return NS_TORUS_VCS;
        }
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

/* Send the first packet of queue q over the link. */
static void link_send(struct ns_torus *torus, uint32_t node, uint32_t way,
                      uint32_t q, uint32_t vc)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_packet *packet = router->queue[q].first;
    uint64_t cycle = torus->cycle;
    uint32_t to = router->neighbour[way];

    router->out[way].free = cycle + packet->cycles;
    if (q >= NS_TORUS_LINKS) {
        packet->started_ps = cycle * torus->clock.period_ps;
    }
    router->turn[way] = (uint8_t)((q + 1) % NS_TORUS_QUEUES);
    if ((packet->wants & HERE_BIT) != 0) {
        /* the copy goes on, what stays is for this node only */
        queue_unwant(router, q);
        packet = packet_copy(torus, packet);
        router->queue[q].first->flags &= (uint8_t)~NS_TORUS_DEPOSIT;
        memset(router->queue[q].first->hops, 0, sizeof(packet->hops));
        queue_head(torus, node, q);
    } else {
        packet = queue_pop(torus, node, q);
    }
    if (router->want[way] != 0) {
        ns_torus_kick(torus, node, way, cycle);
    }
    router->room[way * NS_TORUS_VCS + vc] =
            (uint16_t)(router->room[way * NS_TORUS_VCS + vc] - packet->chunks);
    packet->hops[way / 2]--;
    packet->left_here = false;
    packet->ready = cycle + torus->hop_cycles;
    torus->stats.hops++;
    torus->stats.link_cycles += packet->cycles;
    torus->stats.escapes +=
            vc == NS_TORUS_BUBBLE && (packet->flags & NS_TORUS_ADAPTIVE) != 0;
    queue_push(torus, to, way * NS_TORUS_VCS + vc, packet);
}

/* Give the first packet of queue q to this node's adapter. */
static void here_take(struct ns_torus *torus, uint32_t node, uint32_t q)
{
    struct ns_torus_router *router = &torus->routers[node];
    struct ns_torus_packet *packet = router->queue[q].first;

    router->turn[NS_TORUS_HERE] = (uint8_t)((q + 1) % NS_TORUS_QUEUES);
    router->takes = false;
    torus->stats.delivered++;
    if (packet->wants == HERE_BIT) {
        packet = queue_pop(torus, node, q);
    } else {
        queue_unwant(router, q);
        packet->left_here = true;
        packet = packet_copy(torus, packet);
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
        const struct ns_torus_packet *packet = router->queue[q].first;
        uint64_t tail = packet->ready + packet->cycles;

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

static void step_link(struct ns_torus *torus, uint32_t node, uint32_t way)
{
    struct ns_torus_router *router = &torus->routers[node];
    uint32_t turn = router->turn[way];
    uint64_t soonest = NS_NEVER;

    for (uint32_t left = turned(router->want[way], turn); left != 0;
         left &= left - 1) {
        uint32_t q = (turn + (uint32_t)__builtin_ctz(left)) % NS_TORUS_QUEUES;
        struct ns_torus_packet *packet = router->queue[q].first;
        uint32_t vc;

        if (packet->ready > torus->cycle) {
            soonest = packet->ready < soonest ? packet->ready : soonest;
            continue;
        }
        vc = channel_for(router, q, packet, way);
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

    if (router->inject[first_way(packet)] >= packet->chunks) {
        return true;
    }
    router->told = true;
    return false;
}

void ns_torus_inject(struct ns_torus *torus, struct ns_torus_packet *packet)
{
    struct ns_torus_router *router = &torus->routers[packet->source];
    uint32_t way = first_way(packet);

    NS_CHECK(packet->source != packet->destination &&
             router->inject[way] >= packet->chunks);
    router->inject[way] = (uint16_t)(router->inject[way] - packet->chunks);
    packet->ready = ns_torus_now(torus);
    torus->stats.injected++;
    queue_push(torus, packet->source, NS_TORUS_LINKS + way, packet);
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
