/*
 * The wheel of the torus: for each of the next cycles the outputs that have
 * something to do in it, in the order in which they were told.
 */
#include "net/torus_inner.h"

void ns_torus_unkick(struct ns_torus *torus, struct ns_torus_out *out)
{
    uint64_t index = out->at % WHEEL_SLOTS;
    struct ns_torus_slot *slot = &torus->wheel[index];

    if (out->prev == OUT_NONE) {
        slot->first = out->next;
    } else {
        ns_torus_out_of(torus, out->prev)->next = out->next;
    }
    if (out->next == OUT_NONE) {
        slot->last = out->prev;
    } else {
        ns_torus_out_of(torus, out->next)->prev = out->prev;
    }
    if (slot->first == OUT_NONE) {
        torus->busy[index / 64] &= ~(UINT64_C(1) << index % 64);
    }
    out->at = NS_NEVER;
}

static void wheel_add(struct ns_torus *torus, struct ns_torus_out *out,
                      uint32_t index, uint64_t cycle)
{
    uint64_t at = cycle % WHEEL_SLOTS;
    struct ns_torus_slot *slot = &torus->wheel[at];

    out->at = cycle;
    out->next = OUT_NONE;
    out->prev = slot->last;
    if (slot->last == OUT_NONE) {
        slot->first = index;
        torus->busy[at / 64] |= UINT64_C(1) << at % 64;
    } else {
        ns_torus_out_of(torus, slot->last)->next = index;
    }
    slot->last = index;
}

uint64_t ns_torus_next(const struct ns_torus *torus)
{
    uint64_t from = torus->cycle + 1;
    uint64_t word = from % WHEEL_SLOTS / 64;
    uint64_t bits = torus->busy[word] & (UINT64_MAX << from % 64);

    /* once round, and the beginning of the first word again */
    for (uint64_t i = 0; i <= WHEEL_SLOTS / 64; i++) {
        if (bits != 0) {
            uint64_t at = word * 64 + (uint64_t)__builtin_ctzll(bits);

            return from + (at - from) % WHEEL_SLOTS;
        }
        word = (word + 1) % (WHEEL_SLOTS / 64);
        bits = torus->busy[word];
    }
    return NS_NEVER;
}

uint64_t ns_torus_now_outside(const struct ns_torus *torus)
{
    const struct ns_engine *engine = torus->clock.component.engine;
    uint64_t now_ps;

    now_ps = ns_engine_now(engine) +
             (ns_engine_phase(engine) >= NS_PHASE_CLOCK ? 1 : 0);
    return (now_ps + torus->clock.period_ps - 1) / torus->clock.period_ps;
}

void ns_torus_wheel_move(struct ns_torus *torus, uint32_t node, uint32_t way,
                         uint64_t cycle)
{
    struct ns_torus_out *out = &torus->routers[node].out[way];
    uint64_t farthest = ns_torus_now(torus) + WHEEL_SLOTS / 2;

    /* Faults make a link busy for longer than the wheel is round: look in
     * between. */
    if (cycle > farthest) {
        cycle = farthest;
        if (out->at <= cycle) {
            return;
        }
    }
    if (out->at != NS_NEVER) {
        ns_torus_unkick(torus, out);
    }
    wheel_add(torus, out, node * OUTS + way, cycle);
}
