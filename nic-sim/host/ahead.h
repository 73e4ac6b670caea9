/*
 * How far a host's program may go ahead of the engine without being wrong: what
 * its adapter and its bus will not have done before some time, as long as the
 * program leaves them alone.  All times are lower bounds.
 */
#ifndef NS_HOST_AHEAD_H
#define NS_HOST_AHEAD_H

#include "nicsim.h"

struct ns_ahead {
    uint64_t touch_ps; /* the adapter touches the host's memory, or takes its
                        * time, no sooner */
    uint64_t look_ps;  /* nor changes what the host sees there, */
    uint64_t reg_ps;   /* nor its registers that are steady; 0: it has none */
    uint64_t bus_ps;   /* nor asks for the bus, but for the next transfer; 0: the
                        * bus cannot be foretold */
    uint64_t next_ps, next_bus_ps; /* which asks at next_ps, NS_NEVER: there is
                                    * none, and has the bus for next_bus_ps */
    uint64_t store_touch_ps, store_bus_ps; /* the same from a store to it on */
    uint64_t free_ps; /* until then the bus is in use */
    bool shared;      /* somebody else goes on at free_ps */
};

/* So much after a time that may never come. */
static inline uint64_t ns_ahead_after(uint64_t time_ps, uint64_t ps)
{
    return time_ps > NS_NEVER - ps ? NS_NEVER : time_ps + ps;
}

static inline uint64_t ns_ahead_first(uint64_t a_ps, uint64_t b_ps)
{
    return a_ps < b_ps ? a_ps : b_ps;
}

/*
 * An access of `hold_ps` to the adapter from `from_ps` on: when it is over, with
 * what that changes in `ahead`; 0: nobody knows, and `ahead` is spoilt.
 */
uint64_t ns_ahead_access(struct ns_ahead *ahead, uint64_t from_ps,
                         uint64_t hold_ps);
/* The same of `count` stores of `hold_ps` and a last one of `last_ps`. */
uint64_t ns_ahead_stores(struct ns_ahead *ahead, uint64_t from_ps,
                         uint64_t count, uint64_t hold_ps, uint64_t last_ps);

#endif
