/*
 * The torus at work: links, arbitration, reception.  Its queues are
 * torus_queue.c, set-up is torus_init.c.
 */
#include "net/torus_inner.h"

#include <string.h>

/* -------------------------------------------------------------------- links */

/* On a large torus the next router to look at is in no near cache. */
static void router_prefetch(const struct ns_torus *torus, uint32_t node)
{
    const char *router = (const char *)&torus->routers[node];

    for (size_t i = 0; i < sizeof(struct ns_torus_router); i += 64) {
        __builtin_prefetch(router + i, 1);
    }
}

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
    struct ns_torus_entry *here = ns_torus_first_of(torus, node, q);
    struct ns_torus_entry on = *here;

    ns_torus_queue_unwant(&torus->routers[node], q);
    on.packet = packet_copy(torus, here->packet);
    here->route.flags &= (uint8_t)~NS_TORUS_DEPOSIT;
    memset(here->route.hops, 0, sizeof(here->route.hops));
    ns_torus_queue_head(torus, node, q);
    return on;
}

/* Where a packet goes next. */
static void hop_prefetch(const struct ns_torus *torus, uint32_t node,
                         uint32_t q)
{
    const struct ns_torus_entry *queue = ns_torus_first_of(torus, node, q);

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

    if (torus->ports != NULL) {
        cycle += ns_torus_fault_cycles(
                torus, node, way, ns_torus_first_of(torus, node, q)->packet);
    }
    hop_prefetch(torus, router->neighbour[way], way * NS_TORUS_VCS + vc);
    if (q < NS_TORUS_LINKS) {
        router_prefetch(torus, router->neighbour[q / NS_TORUS_VCS ^ 1]);
    }
    router->turn[way] = (uint8_t)((q + 1) % NS_TORUS_QUEUES);
    router->out[way].free =
            cycle + ns_torus_first_of(torus, node, q)->route.cycles;
    entry = (router->head[q].wants & HERE_BIT) != 0
                    ? deposit(torus, node, q)
                    : ns_torus_queue_pop(torus, node, q);
    if (q >= NS_TORUS_LINKS) {
        entry.packet->started_ps = torus->cycle * torus->clock.period_ps;
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
    ns_torus_queue_push(torus, router->neighbour[way], way * NS_TORUS_VCS + vc,
                        &entry);
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
        packet = ns_torus_queue_pop(torus, node, q).packet;
    } else {
        struct ns_torus_entry *entry = ns_torus_first_of(torus, node, q);

        ns_torus_queue_unwant(router, q);
        entry->route.left_here = true;
        packet = packet_copy(torus, entry->packet);
        ns_torus_queue_head(torus, node, q);
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
        const struct ns_torus_entry *entry = ns_torus_first_of(torus, node, q);
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
        uint64_t ready = ns_torus_first_of(torus, node, q)->ready;

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

    if (router->out[way].free > torus->cycle) { /* farther than the wheel */
        ns_torus_kick(torus, node, way, torus->cycle);
        return;
    }
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
    uint64_t next, moved = torus->stats.hops + torus->stats.delivered;

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
    moved = torus->stats.hops + torus->stats.delivered - moved;
    if (moved > 1) {
        ns_engine_events_stand(torus->clock.component.engine, moved);
    }
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
