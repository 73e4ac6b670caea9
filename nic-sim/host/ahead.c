/*
 * The bus as a host's program foretells it: when its accesses will be over.
 */
#include "host/ahead.h"

/* The adapter's next transfer comes before an access from `from_ps` on. */
static void next_pass(struct ns_ahead *ahead, uint64_t from_ps)
{
    if (ahead->next_ps > from_ps) {
        return;
    }
    if (ahead->free_ps < ahead->next_ps) {
        ahead->free_ps = ahead->next_ps;
    }
    ahead->free_ps += ahead->next_bus_ps;
    ahead->next_ps = NS_NEVER;
    if (ahead->bus_ps < ahead->free_ps) {
        ahead->bus_ps = ahead->free_ps;
    }
}

uint64_t ns_ahead_access(struct ns_ahead *ahead, uint64_t from_ps,
                         uint64_t hold_ps)
{
    if (ahead->shared) {
        if (from_ps >= ahead->free_ps) {
            return 0;
        }
        ahead->shared = false; /* what comes after it is not known */
    } else {
        next_pass(ahead, from_ps);
        if (from_ps >= ahead->bus_ps) {
            return 0;
        }
    }
    ahead->free_ps =
            (from_ps > ahead->free_ps ? from_ps : ahead->free_ps) + hold_ps;
    return ahead->free_ps;
}

/* A store is over at `end_ps`: the adapter may do something about it. */
static void store_over(struct ns_ahead *ahead, uint64_t end_ps)
{
    uint64_t touch_ps = ns_ahead_after(end_ps, ahead->store_touch_ps);

    ahead->bus_ps = ns_ahead_first(
            ahead->bus_ps, ns_ahead_after(end_ps, ahead->store_bus_ps));
    ahead->touch_ps = ns_ahead_first(ahead->touch_ps, touch_ps);
    ahead->look_ps = ns_ahead_first(ahead->look_ps, touch_ps);
    ahead->reg_ps = 0;
}

uint64_t ns_ahead_stores(struct ns_ahead *ahead, uint64_t from_ps,
                         uint64_t count, uint64_t hold_ps, uint64_t last_ps)
{
    uint64_t end_ps = from_ps;

    for (uint64_t i = 0; i <= count; i++) {
        if (i > 0 && ahead->next_ps == end_ps) {
            return 0; /* both ask at once */
        }
        end_ps = ns_ahead_access(ahead, end_ps, i < count ? hold_ps : last_ps);
        if (end_ps == 0) {
            return 0;
        }
        store_over(ahead, end_ps);
    }
    return end_ps;
}
